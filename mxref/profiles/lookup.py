"""The profile of a name."""

from __future__ import annotations

from mxref.profiles.definition import Profile
from mxref.profiles.registry import PROFILES
from mxref.support.text import unknown_name

__all__ = ["profile"]


def profile(name: str) -> Profile:
    """The profile of that name.

    Raises:
        ValueError: the name is unknown; the sentence suggests the nearest one.
        TypeError: no string.
    """
    if not isinstance(name, str):
        raise TypeError(f"profile must be a name, got {type(name).__name__}")
    if name.startswith("ocp+"):
        policy = "is given to `mxref.quantize` and the like, or by --policy NAME of commands"
        raise ValueError(f"profile must be a name of one, got the policy {name!r}: it {policy}")
    if name not in PROFILES:
        raise ValueError(unknown_name("profile", name, PROFILES))
    return PROFILES[name]
