"""Profiles: named, sourced models that equal real implementations, each in what it speaks of.

>>> import mxref
>>> str(mxref.profile("ml_dtypes").policy)[:50]
'ocp+overflow=nonsaturating+nan=signed_quiet+nan_to'
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from mxref.support.lazy_names import lazy_names

if TYPE_CHECKING:
    from mxref.profiles.definition import Profile
    from mxref.profiles.lookup import profile, registered
    from mxref.profiles.registry import PROFILES

__all__ = ["PROFILES", "Profile", "profile", "registered"]

if not TYPE_CHECKING:
    _HOMES = {
        "mxref.profiles.definition": ("Profile",),
        "mxref.profiles.lookup": ("profile", "registered"),
        "mxref.profiles.registry": ("PROFILES",),
    }
    __getattr__ = lazy_names(__name__, _HOMES)
