"""The profile of a name, and profiles of a user that have one for a while."""

from __future__ import annotations

import contextlib
from collections.abc import Iterator
from typing import cast

from mxref.profiles.definition import Profile
from mxref.profiles.registry import PROFILES
from mxref.support.text import unknown_name

__all__ = ["profile", "registered"]


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


@contextlib.contextmanager
def registered(*profiles: Profile) -> Iterator[None]:
    """Let everything know profiles of a user by their names while the context lasts.

    Raises:
        ValueError: a name that another profile has, or that is a policy.

    >>> import mxref
    >>> from mxref.profiles import Profile, registered
    >>> mine = Profile("mine", mxref.Policy.parse("ocp+scale_rule=ceil"), "my library", "1.0")
    >>> with registered(mine):
    ...     profile("mine").about
    'my library 1.0'
    """
    for one in profiles:
        if PROFILES.get(one.name, one) != one or not one.name or one.name.startswith("ocp+"):
            raise ValueError(f"a profile must have a name of its own, got {one.name!r}")
    known = cast("dict[str, Profile]", PROFILES)
    new = {one.name: one for one in profiles if one.name not in known}
    known |= new
    try:
        yield
    finally:
        for name in new:
            del known[name]
