"""Which profiles do each member of a choice: by their policy, or in a stage of their own."""

from __future__ import annotations

import functools
from collections.abc import Mapping

from mxref.formats.catalog import FLOAT_SCALED_FORMATS
from mxref.policy.choices import BlockNaN
from mxref.policy.policy import READS, Policy
from mxref.profiles.definition import Profile
from mxref.profiles.registry import PROFILES

__all__ = ["OWN_STAGE", "who_does"]

#: What `who_does` says of profiles whose replaced stage decides the choice.
OWN_STAGE = "a stage of its own"

_OF_ELEMENTS = READS["encode"]
_OF_SCALES = ("scale_rule", "zero_block", "scale_overflow", "scale_underflow", "int8_emax")
#: choice -> the stages that decide it, for blocks and for casts to E8M0.
_DECIDED_IN: Mapping[str, tuple[str, ...]] = {
    **dict.fromkeys(_OF_ELEMENTS, ("divide", "element", "nonfinite")),
    **dict.fromkeys(_OF_SCALES, ("scale",)),
    **dict.fromkeys(("block_nan", "block_inf"), ("amax", "scale", "nonfinite")),
    "amax_type": ("amax", "scale"),
    "nan_block_codes": ("nonfinite",),
    "scaling": ("divide",),
    **dict.fromkeys(READS["dequantize"], ("decode",)),
    "scale_arithmetic": ("blocks",),
    "fp6_packing": ("pack",),  # FP4 packings are always those of the policy
    **dict.fromkeys(("scale_of_zero", "scale_of_negative", "scale_of_inf"), ("e8m0",)),
    **dict.fromkeys(("scale_rounding", "tiny_scale"), ("e8m0",)),
}
#: choice -> the endings of the names of the formats that it is about; all formats if absent.
_FORMATS: Mapping[str, tuple[str, ...]] = {
    "fp4_packing": ("e2m1",),
    "fp6_packing": ("e3m2", "e2m3"),
    **dict.fromkeys(("int8_range", "int8_emax"), ("int8",)),
    "nan_to_finite": ("e3m2", "e2m3", "e2m1", "int8"),
    "scale_arithmetic": ("nvfp4", "ue4m3", "ue5m3"),
}
#: `quantize` to formats whose scales are float32 numbers, which reads choices of its own.
_FLOAT_SCALED = {("quantize", format) for format in FLOAT_SCALED_FORMATS}


@functools.cache
def who_does(choice: str) -> Mapping[str, tuple[str, ...]]:
    """The profiles that do each member of a choice, by the member's spelling.

    A profile is listed if it has an operation and a format in which the choice is read. If a stage
    that decides the choice is replaced and the policy has the member of `ocp`, the policy says
    nothing, and the profile is listed under `OWN_STAGE`.

    >>> who_does("scale_ff")["nan"][:2], who_does("scale_ff")["power"]
    (('ocp', 'ml_dtypes'), ('gguf_mxfp4',))

    Raises:
        ValueError: no such choice.
    """
    default = Policy().member(choice).value
    found: dict[str, list[str]] = {one.value: [] for one in Policy.members(choice)}
    found[OWN_STAGE] = []
    for name, profile in PROFILES.items():
        if not _reads(profile, choice):
            continue
        value = profile.policy.member(choice).value
        own = {*_DECIDED_IN.get(choice, ())} & {*profile.replaced}
        # The policy's arithmetic says what the number of the tensor is, a stage all the rest.
        own = own if value == default or choice == "scale_arithmetic" else set()
        found[OWN_STAGE if own else value].append(name)
    return {member: tuple(names) for member, names in found.items()}


def _reads(profile: Profile, choice: str) -> bool:
    """Whether an operation that a profile models reads a choice; `ocp` models all."""
    if profile.formats is None:
        return True
    whole_blocks = profile.policy.scale.block_nan is BlockNaN.NAN_BLOCK
    if choice in ("nan", "nan_to_finite") and whole_blocks and "encode" not in profile.formats:
        return False  # no element is NaN where its block is
    ends = _FORMATS.get(choice, ("",))
    return any(
        name.endswith(ends) and choice in READS[_reader(op, name)]
        for op, names in profile.formats.items()
        for name in names
    )


def _reader(op: str, format: str) -> str:
    """The name of what reads the choices of an operation on a format."""
    return "quantize of float32 scales" if (op, format) in _FLOAT_SCALED else op
