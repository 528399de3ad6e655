"""Profiles: named, sourced models that equal real implementations, each in what it speaks of.

>>> import mxref
>>> str(mxref.profile("ml_dtypes").policy)[:50]
'ocp+overflow=nonsaturating+nan=signed_quiet+nan_to'
"""

from __future__ import annotations

from mxref.profiles.definition import Profile
from mxref.profiles.lookup import profile, registered
from mxref.profiles.registry import PROFILES

__all__ = ["PROFILES", "Profile", "profile", "registered"]
