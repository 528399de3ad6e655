"""Shared scales: from a block's largest magnitude, and E8M0 codes to numbers and back."""

from __future__ import annotations

import numpy as np
from numpy.typing import ArrayLike, DTypeLike

from mxref._bits import (
    U8,
    Bits,
    FloatLayout,
    Floats,
    bits_of,
    floor_log2,
    layout_of,
    round_to_code,
    split,
)
from mxref._codes import codes_of
from mxref._text import unknown_name
from mxref.element import decode_codes
from mxref.formats import E8M0, ElementFormat, element_format
from mxref.policy import Policy, resolve
from mxref.scale_rule import ScaleRule

__all__ = ["decode_scale", "encode_scale", "shared_scale"]

_ENCODE_READS = ("scale_rounding",)


def encode_scale(values: ArrayLike, policy: str | Policy = "ocp", **choices: str) -> U8:
    """E8M0 codes of the magnitudes of numbers.

    Args:
        values: float64, float32, float16 or bfloat16, any shape; the sign is ignored.
        policy: a `Policy` or its spelling.
        choices: `scale_rounding`, applied to the magnitude; `toward_zero` in `ocp`.

    Returns:
        uint8 codes of the same shape; c < 255 stands for 2**(c - 127). Zero and numbers below
        2**-127 give 00, numbers beyond 2**127 give FE, infinities and NaN give FF.

    Raises:
        TypeError: values of another type.
        ValueError: unknown policy or choice.

    Source: OCP MX v1.0 §5.4.1; SPEC_NOTES N7, N8, N23.

    >>> encode_scale(np.float32([1.0, 1.5, -4.0, 0.0, np.nan]))
    array([127, 127, 129,   0, 255], dtype=uint8)
    >>> encode_scale(np.float32([1.25, 1.5]), scale_rounding="ties_to_away")
    array([127, 128], dtype=uint8)
    """
    rounding = resolve("encode_scale", _ENCODE_READS, policy, choices).scale.scale_rounding
    parts = split(*bits_of(values))
    code = round_to_code(
        parts.significand,
        parts.exponent,
        np.zeros_like(parts.negative),
        E8M0.mantissa_bits,
        E8M0.emin,
        rounding.increments(),
        first_code=1 << E8M0.mantissa_bits,
    )
    code = np.clip(code, 0, E8M0.max_code)
    codes: U8 = np.where(parts.is_nan | parts.is_inf, 0xFF, code).astype(np.uint8)
    return codes


def decode_scale(codes: ArrayLike, dtype: DTypeLike = np.float32) -> Floats:
    """The scales that E8M0 codes stand for.

    Args:
        codes: unsigned integers below 256, or a float8_e8m0fnu array, any shape.
        dtype: float64, float32, float16 or bfloat16. All but float16 hold every scale exactly;
            beyond its range float16 gives 0 or infinity.

    Returns:
        Floats of the same shape: 2**(c - 127), with 00 the subnormal 2**-127; FF is NaN.

    Raises:
        TypeError: codes or dtype of another type.
        ValueError: a code out of range.

    Source: OCP MX v1.0 §5.4.1; SPEC_NOTES N22.

    >>> decode_scale([127, 130, 255])
    array([ 1.,  8., nan], dtype=float32)
    """
    return decode_codes(codes_of(codes, E8M0), E8M0, layout_of(dtype))


def shared_scale(
    amax: ArrayLike, format: str | ElementFormat, rule: str | ScaleRule = "floor"
) -> U8:
    """E8M0 codes of the scales for blocks with these largest magnitudes.

    Exact for every input, subnormals included: works on the bit pattern, never on a logarithm.

    Args:
        amax: largest magnitudes, float64, float32, float16 or bfloat16, any shape.
        format: element format or its name; what its rule's limit depends on.
        rule: which scale, see `ScaleRule`; `floor` is floor(log2 amax) - emax.

    Returns:
        uint8 codes of the same shape: 0 to 254 are 2**(code - 127), clamped to that range; zero
        gives 00, NaN and infinity give FF.

    Raises:
        TypeError: amax of another type.
        ValueError: a negative amax, or an unknown format or rule.

    Source: OCP MX v1.0 §6.3 step 1; SPEC_NOTES N1, N2, N4 to N8.

    >>> amax = np.float32([448.0, 464.0, 480.0, 496.0])
    >>> {rule: shared_scale(amax, "e4m3", rule).tolist() for rule in ("rceil", "tosa", "even")}
    {'rceil': [127, 128, 128, 128], 'tosa': [127, 127, 128, 128], 'even': [127, 127, 127, 128]}

    >>> shared_scale(np.float32([1.0, 448.0, 0.0, np.inf]), "e4m3")
    array([119, 127,   0, 255], dtype=uint8)
    """
    fmt = element_format(format)
    chosen = _scale_rule(rule)
    bits, layout = bits_of(amax, "amax")
    bad = (bits > layout.sign_bit) & (bits <= layout.sign_bit | layout.inf_bits)
    if bad.any():
        raise ValueError(
            "amax must not be negative, since it is a largest magnitude: "
            f"got {bits[bad].view(layout.dtype)[0]}"
        )
    return scale_codes(bits & layout.uint.type(layout.sign_bit - 1), layout, fmt, chosen)


def _scale_rule(rule: str | ScaleRule) -> ScaleRule:
    known = {member.value: member for member in ScaleRule}
    if isinstance(rule, ScaleRule):
        return rule
    if rule not in known:
        raise ValueError(unknown_name("rule", rule, known))
    return known[rule]


def scale_codes(amax: Bits, layout: FloatLayout, fmt: ElementFormat, rule: ScaleRule) -> U8:
    """`shared_scale` on magnitude patterns."""
    parts = split(amax, layout)
    # The significand with 52 fraction bits; the smallest scale is one binade up if it is too large.
    shift = floor_log2(parts.significand)
    binade, too_large = rule.limit(fmt).threshold(52)
    bump = parts.significand << (52 - shift) >= too_large
    exponent = parts.exponent + shift - binade + bump
    code = np.clip(exponent, E8M0.emin, E8M0.emax) + E8M0.bias
    code = np.where(parts.significand == 0, 0, code)
    codes: U8 = np.where(parts.is_inf | parts.is_nan, 0xFF, code).astype(np.uint8)
    return codes
