"""Every choice with its members, in one table; the first member of each is the default.

The defaults together are the policy `ocp`. A member is explained where it is read.

Source: SPEC_NOTES.md, by the note numbers N1 to N39.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from typing import Final

from mxref.exact.format_table import domain_error

DETERMINISTIC: Final = (
    "ties_to_even",
    "ties_to_away",
    "ties_to_zero",
    "toward_zero",
    "toward_positive",
    "toward_negative",
    "to_odd",
)
STOCHASTIC: Final = ("stochastic_a", "stochastic_b", "stochastic_c")

ELEMENT_CHOICES: Final[Mapping[str, tuple[str, ...]]] = {
    "rounding": DETERMINISTIC + STOCHASTIC,
    "overflow": ("saturate", "nonsaturating", "nonsaturating_ieee", "propagate"),
    "clamp": ("after_rounding", "before_rounding"),
    "nan": ("positive", "signed", "negative", "signed_quiet"),
    "nan_to_finite": ("max", "signed_max", "zero", "signed_zero", "opposite_zero", "error"),
    "zero_sign": ("kept", "dropped"),
    "underflow_sign": ("kept", "dropped"),
    "int8_range": ("symmetric", "full"),
}

INPUT_CHOICES: Final[Mapping[str, tuple[str, ...]]] = {
    "subnormal_inputs": ("kept", "flushed"),
    "pre_rounding": ("none", "float32", "bfloat16", "float16"),
}

SHARED_SCALE_CHOICES: Final[Mapping[str, tuple[str, ...]]] = {
    "zero_block": ("code_00", "code_01", "one", "minus_emax", "nan"),
    "scale_overflow": ("clamp", "nan", "wrap"),
    "scale_underflow": ("clamp", "nan", "wrap", "flush", "flush_subnormal"),
    "amax_type": ("source", "float32", "bfloat16", "float16"),
    "int8_emax": ("zero", "one"),
}

BLOCK_CHOICES: Final[Mapping[str, tuple[str, ...]]] = {
    "block_nan": ("nan_block", "ignore"),
    "block_inf": ("nan_block", "largest_scale", "ignore"),
    "nan_block_codes": ("zeros", "ones"),
    "scaling": ("divide", "reciprocal_flushed"),
}

FLOAT_SCALE_CHOICES: Final[Mapping[str, tuple[str, ...]]] = {
    "amax_floor": ("none", "1e-12", "1e-10", "1e-4", "scale"),
    "scale_from": ("quotient", "source_quotient", "reciprocal", "multiplier", "multiplier_or_one"),
    "scale_power": ("any", "bit_ceiling", "exp2_ceil_log2"),
    "element_from": ("exact", "quotient", "reciprocal", "multiplier"),
    "block_nan": BLOCK_CHOICES["block_nan"],
}

ENCODE_SCALE_CHOICES: Final[Mapping[str, tuple[str, ...]]] = {
    "rounding": ("toward_zero", *(r for r in DETERMINISTIC if r != "toward_zero")),
    "scale_overflow": SHARED_SCALE_CHOICES["scale_overflow"],
    "scale_of_zero": ("code_00", "nan"),
    "scale_of_negative": ("magnitude", "nan", "code_00", "code_00_if_finite"),
    "scale_of_inf": ("nan", "largest"),
    "tiny_scale": ("exact", "as_if_zero", "always_up"),
    "pre_rounding": INPUT_CHOICES["pre_rounding"],
}

DECODE_SCALE_CHOICES: Final[Mapping[str, tuple[str, ...]]] = {
    "scale_00": ("power", "zero"),
    "scale_ff": ("nan", "inf", "power"),
}

DECODED_ZERO: Final[Mapping[str, tuple[str, ...]]] = {"decoded_zero": ("kept", "dropped")}

PRODUCT_CHOICES: Final[Mapping[str, tuple[str, ...]]] = {
    "product_overflow": ("inf", "nan", "saturate"),
    "product_rounding": ("once", "scale_first"),
    **DECODED_ZERO,
}

DEQUANTIZE_CHOICES: Final[Mapping[str, tuple[str, ...]]] = {
    **DECODE_SCALE_CHOICES,
    **PRODUCT_CHOICES,
}


def settle(given: Mapping[str, str], *tables: Mapping[str, tuple[str, ...]]) -> dict[str, str]:
    """Return a member for every choice of the tables: the one given, or the first.

    An unknown choice raises TypeError, an unknown member ValueError.

    >>> settle({"zero_sign": "dropped"}, {"zero_sign": ("kept", "dropped"), "clamp": ("after",)})
    {'zero_sign': 'dropped', 'clamp': 'after'}
    """
    settled = {name: members[0] for table in tables for name, members in table.items()}
    for name in given:
        if name not in settled:
            raise TypeError(f"{name!r} is not a choice here; the choices are {', '.join(settled)}")
    for table in tables:
        for name, members in table.items():
            settled[name] = check_member(name, given.get(name, members[0]), members)
    return settled


def check_member(name: str, member: str, members: Iterable[str]) -> str:
    """Return the member, after checking that it is one of the members.

    >>> check_member("clamp", "never", ("after_rounding", "before_rounding"))
    Traceback (most recent call last):
        ...
    ValueError: clamp must be one of after_rounding, before_rounding; got 'never'
    """
    members = tuple(members)
    if member not in members:
        raise domain_error(name, "one of " + ", ".join(members), member)
    return member
