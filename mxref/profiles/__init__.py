"""Named policies of real implementations, each for those operations and formats it is proven of.

>>> import mxref
>>> str(mxref.profile("ml_dtypes").policy)[:50]
'ocp+overflow=nonsaturating+nan=signed_quiet+nan_to'
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass

from mxref._text import unknown_name
from mxref.policy import Policy

__all__ = ["PROFILES", "Profile", "profile"]


@dataclass(frozen=True, slots=True)
class Profile:
    """A policy that equals an implementation, bit for bit, in what it speaks of.

    Args:
        name: its name.
        policy: the policy.
        source: whose it is, and where that is proven.
        version: of the implementation.
        formats: the formats that it speaks of, by operation; everything if None.
    """

    name: str
    policy: Policy
    source: str
    version: str
    formats: Mapping[str, tuple[str, ...]] | None = None

    def speaks_of(self, op: str, format: str) -> bool:
        """Whether the profile says anything of an operation on a format.

        >>> profile("ml_dtypes").speaks_of("encode", "int8")
        False
        """
        return self.formats is None or format in self.formats.get(op, ())


_ML_DTYPES = ("e5m2", "e4m3", "e3m2", "e2m3", "e2m1")

_KNOWN = (
    Profile("ocp", Policy(), "the default of mxref: SPEC_NOTES, the ocp policy in one table", "1"),
    Profile(
        "ml_dtypes",
        Policy.parse(
            "ocp+overflow=nonsaturating+nan=signed_quiet+nan_to_finite=opposite_zero"
            "+pre_rounding=float32+scale_rounding=ties_to_away+scale_overflow=nan"
            "+scale_of_zero=nan+scale_of_negative=nan+tiny_scale=as_if_zero"
        ),
        "jax-ml/ml_dtypes, casts of arrays (SPEC_NOTES N13, N14, N23, N36); tests/test_profiles.py",
        "0.6.0",
        {
            "encode": _ML_DTYPES,
            "decode": _ML_DTYPES,
            "encode_scale": ("e8m0",),
            "decode_scale": ("e8m0",),
        },
    ),
)

#: Every profile by its name.
PROFILES: Mapping[str, Profile] = {one.name: one for one in _KNOWN}


def profile(name: str) -> Profile:
    """The profile of that name.

    Raises:
        ValueError: the name is unknown; the sentence suggests the nearest one.
    """
    if name not in PROFILES:
        raise ValueError(unknown_name("profile", name, PROFILES))
    return PROFILES[name]
