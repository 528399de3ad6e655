"""Shared scales: from a block's largest magnitude, and E8M0 codes to numbers and back."""

from __future__ import annotations

import dataclasses
import functools
from collections.abc import Callable
from dataclasses import dataclass
from typing import TYPE_CHECKING

import numpy as np
from numpy.typing import ArrayLike, DTypeLike

from mxref._bits import (
    CHUNK,
    I64,
    U8,
    Bits,
    Bool,
    FloatLayout,
    Floats,
    Parts,
    bits_of,
    compose,
    floats_from,
    floor_log2,
    layout_of,
    round_to_code,
    split,
)
from mxref._codes import codes_of, parts_of
from mxref._quirks import quirk_exponents
from mxref._sources import narrowed, numbers_of
from mxref.choices import (
    Int8Emax,
    Rounding,
    Scale00,
    ScaleFF,
    ScaleOfInf,
    ScaleOfNegative,
    ScaleOfZero,
    ScaleOverflow,
    ScaleRounding,
    ScaleUnderflow,
    TinyScale,
    ZeroBlock,
)
from mxref.formats import E8M0, ElementFormat, element_format
from mxref.policy import DecodePolicy, Policy, ScalePolicy, resolve
from mxref.scale_rule import ScaleRule

if TYPE_CHECKING:
    from typing_extensions import Unpack

    from mxref.policy import DecodeScaleChoices, EncodeScaleChoices, SharedScaleChoices

__all__ = ["decode_scale", "encode_scale", "shared_scale"]

_NAN = 0xFF


def encode_scale(
    values: ArrayLike, policy: str | Policy = "ocp", **choices: Unpack[EncodeScaleChoices]
) -> U8:
    """E8M0 codes of the magnitudes of numbers.

    Args:
        values: floats or integers, any shape.
        policy: a `Policy` or its spelling.
        choices: single choices of the policy; `scale_rounding` acts on the magnitude.

    Returns:
        uint8 codes of the same shape; c < 255 stands for 2**(c - 127). In `ocp` numbers are rounded
        toward zero whatever their sign; zero and numbers below 2**-127 give 00, numbers beyond
        2**127 give FE, infinities and NaN give FF.

    Raises:
        TypeError: values of another type.
        ValueError: unknown policy or choice.

    Source: OCP MX v1.0 §5.4.1; SPEC_NOTES N7, N8, N23.

    >>> encode_scale(np.float32([1.0, 1.5, -4.0, 0.0, np.nan]))
    array([127, 127, 129,   0, 255], dtype=uint8)
    >>> encode_scale(np.float32([1.25, 1.5]), scale_rounding="ties_to_away")
    array([127, 128], dtype=uint8)
    """
    whole = resolve("encode_scale", policy, choices)
    chosen = whole.scale
    if chosen.scale_overflow is ScaleOverflow.WRAP:
        raise ValueError("scale_overflow must be clamp or nan for encode_scale, got wrap")
    bits, layout = numbers_of(values, whole.element)
    return _in_chunks(bits, lambda part: _encode(split(part, layout), chosen))


def _in_chunks(bits: Bits, codes_of_part: Callable[[Bits], I64]) -> U8:
    """Codes of patterns, a chunk at a time, so that memory stays small."""
    flat = bits.reshape(-1)
    codes = np.empty(flat.size, np.uint8)
    for start in range(0, flat.size, CHUNK):
        part = slice(start, start + CHUNK)
        codes[part] = codes_of_part(flat[part])
    return codes.reshape(bits.shape)


def _encode(parts: Parts, chosen: ScalePolicy) -> I64:
    """E8M0 codes of numbers in integer parts."""
    code = round_to_code(
        parts.significand,
        parts.exponent,
        np.zeros_like(parts.negative),
        E8M0.mantissa_bits,
        E8M0.emin,
        Rounding[chosen.scale_rounding.name].increments(),
        first_code=1 << E8M0.mantissa_bits,
    )
    if chosen.tiny_scale is not TinyScale.EXACT:
        code = _tiny_codes(code, parts, chosen)
    code = _within(code, chosen.scale_overflow, ScaleUnderflow.CLAMP)
    infinite = E8M0.max_code if chosen.scale_of_inf is ScaleOfInf.LARGEST else _NAN
    zero = _NAN if chosen.scale_of_zero is ScaleOfZero.NAN else 0
    code = np.where(parts.significand == 0, zero, code)
    code = np.where(parts.is_inf, infinite, code)
    code = np.where(parts.is_nan, _NAN, code)
    if chosen.scale_of_negative is ScaleOfNegative.CODE_00:
        code = np.where(parts.negative, 0, code)
    elif chosen.scale_of_negative is ScaleOfNegative.NAN:
        code = np.where(parts.negative & (parts.significand != 0), _NAN, code)
    return code


def decode_scale(
    codes: ArrayLike,
    dtype: DTypeLike = np.float32,
    policy: str | Policy = "ocp",
    **choices: Unpack[DecodeScaleChoices],
) -> Floats:
    """The scales that E8M0 codes stand for.

    Args:
        codes: unsigned integers below 256, or a float8_e8m0fnu array, any shape.
        dtype: float64, float32, float16 or bfloat16. All but float16 hold every scale exactly;
            beyond its range float16 gives 0 or infinity.
        policy: a `Policy` or its spelling.
        choices: `scale_00`, `scale_ff`.

    Returns:
        Floats of the same shape. In `ocp` 2**(c - 127), with 00 the subnormal 2**-127; FF is NaN.

    Raises:
        TypeError: codes or dtype of another type.
        ValueError: a code out of range, an unknown choice.

    Source: OCP MX v1.0 §5.4.1; SPEC_NOTES N22.

    >>> decode_scale([127, 130, 255])
    array([ 1.,  8., nan], dtype=float32)
    """
    layout = layout_of(dtype)
    chosen = resolve("decode_scale", policy, choices).decode
    table = compose(scale_parts(chosen), layout)
    return floats_from(np.asarray(table[codes_of(codes, E8M0)]), layout)


@functools.cache
def scale_parts(policy: DecodePolicy) -> Parts:
    """Every E8M0 code in integer parts, as a policy reads 00 and FF."""
    parts = parts_of(E8M0)
    significand, exponent = parts.significand.copy(), parts.exponent.copy()
    is_inf, is_nan = parts.is_inf.copy(), parts.is_nan.copy()
    if policy.scale_00 is Scale00.ZERO:
        significand[0] = 0
    if policy.scale_ff is not ScaleFF.NAN:
        is_nan[_NAN] = False
        is_inf[_NAN] = policy.scale_ff is ScaleFF.INF
        significand[_NAN], exponent[_NAN] = 1, E8M0.emax + 1
    return dataclasses.replace(
        parts, significand=significand, exponent=exponent, is_inf=is_inf, is_nan=is_nan
    )


def shared_scale(
    amax: ArrayLike,
    format: str | ElementFormat,
    rule: str | ScaleRule = "floor",
    policy: str | Policy = "ocp",
    **choices: Unpack[SharedScaleChoices],
) -> U8:
    """E8M0 codes of the scales for blocks with these largest magnitudes.

    Exact for every input, subnormals included: works on the bit pattern, never on a logarithm.

    Args:
        amax: largest magnitudes, float64, float32, float16 or bfloat16, any shape.
        format: element format or its name, on which the limit of the rule depends.
        rule: which scale, see `ScaleRule`; `floor` is floor(log2 amax) - emax.
        policy: a `Policy` or its spelling; its `scale_rule` counts where `rule` is `floor`.
        choices: `zero_block`, `scale_overflow`, `scale_underflow`, `amax_type`.

    Returns:
        uint8 codes of the same shape. In `ocp` 0 to 254 are 2**(code - 127), clamped to that range;
        zero gives 00, NaN and infinity give FF.

    Raises:
        TypeError: amax of another type.
        ValueError: a negative amax, or an unknown format, rule or choice.

    Source: OCP MX v1.0 §6.3 step 1; SPEC_NOTES N1 to N8, N34.

    >>> shared_scale(np.float32([1.0, 448.0, 0.0, np.inf]), "e4m3")
    array([119, 127,   0, 255], dtype=uint8)
    >>> amax = np.float32([448.0, 464.0, 480.0, 496.0])
    >>> {rule: shared_scale(amax, "e4m3", rule).tolist() for rule in ("rceil", "tosa", "even")}
    {'rceil': [127, 128, 128, 128], 'tosa': [127, 127, 128, 128], 'even': [127, 127, 127, 128]}
    """
    fmt = element_format(format)
    named = Policy().replace(scale_rule=rule).scale.scale_rule
    chosen = resolve("shared_scale", policy, choices).scale
    if named is not ScaleRule.FLOOR:
        if chosen.scale_rule not in (ScaleRule.FLOOR, named):
            raise ValueError(
                f"rule={named.value} contradicts the policy's {chosen.scale_rule.value}: keep one"
            )
        chosen = dataclasses.replace(chosen, scale_rule=named)
    bits, layout = bits_of(amax, "amax")
    bad = (bits > layout.sign_bit) & (bits <= layout.sign_bit | layout.inf_bits)
    if bad.any():
        raise ValueError(
            "amax must not be negative, since it is a largest magnitude: "
            f"got {float(bits[bad].view(layout.dtype)[0])}"
        )
    magnitude = bits & layout.uint.type(layout.sign_bit - 1)

    def some(part: Bits) -> I64:
        codes = scale_codes(part, layout, fmt, chosen).codes
        return np.where(part < layout.inf_bits, codes, _NAN)

    return _in_chunks(magnitude, some)


#: Rules that look at the largest number, not at the largest power of two.
_WITHOUT_EMAX = (
    ScaleRule.RCEIL,
    ScaleRule.TOSA,
    ScaleRule.NEAREST,
    ScaleRule.NEAREST_LOG2,
    ScaleRule.RCEIL_RECIPROCAL,
)


@dataclass(frozen=True, slots=True)
class ScaleCodes:
    """Scale codes of blocks, which blocks they make NaN, and which are flushed to zeros."""

    codes: I64
    is_nan: Bool
    flushed: Bool


def scale_codes(
    amax: Bits, layout: FloatLayout, fmt: ElementFormat, policy: ScalePolicy
) -> ScaleCodes:
    """Scale codes for finite magnitude patterns."""
    parts = split(*narrowed(amax, layout, policy.amax_type))
    if policy.scale_rule.is_quirk:
        code = quirk_exponents(parts, policy.scale_rule, fmt) + E8M0.bias
    else:
        code = _exponents(parts, *_threshold(policy.scale_rule, fmt)) + E8M0.bias
    octave = int(fmt.twos_complement and policy.int8_emax is Int8Emax.ONE)
    if policy.scale_rule not in _WITHOUT_EMAX:
        code = code - octave
    # An amax that the conversion to a narrower type made infinite gives too large a scale.
    code = np.where(parts.is_inf, E8M0.max_code + 1, code)
    is_zero = (parts.significand == 0) & ~parts.is_inf
    low, high = (code < 0) & ~is_zero, (code > E8M0.max_code) & ~is_zero
    wrapped = low & (policy.scale_underflow is ScaleUnderflow.WRAP)
    wrapped |= high & (policy.scale_overflow is ScaleOverflow.WRAP)
    code = _within(code, policy.scale_overflow, policy.scale_underflow)
    zero = {
        ZeroBlock.CODE_00: 0,
        ZeroBlock.CODE_01: 1,
        ZeroBlock.ONE: E8M0.bias,
        ZeroBlock.MINUS_EMAX: E8M0.bias - fmt.emax - octave,
        ZeroBlock.NAN: _NAN,
    }[policy.zero_block]
    code = np.where(is_zero, zero, code)
    return ScaleCodes(
        codes=code,
        is_nan=(code == _NAN) & ~wrapped,
        flushed=low & (policy.scale_underflow is ScaleUnderflow.FLUSH),
    )


def _exponents(parts: Parts, binade: int, too_large: int) -> I64:
    """Exponents of the smallest scales within a rule's limit."""
    shift = floor_log2(parts.significand)
    # The significand with 52 fraction bits; the scale is one binade up if it is too large.
    bump = parts.significand << (52 - shift) >= too_large
    return parts.exponent + shift - binade + bump


@functools.cache
def _threshold(rule: ScaleRule, fmt: ElementFormat) -> tuple[int, int]:
    return rule.limit(fmt).threshold(52)


def _within(code: I64, overflow: ScaleOverflow, underflow: ScaleUnderflow) -> I64:
    """Codes brought into 00 to FE as the policy says, or FF."""
    wrapped = code % 256
    high = {ScaleOverflow.NAN: _NAN}.get(overflow, E8M0.max_code)
    low = {ScaleUnderflow.NAN: _NAN}.get(underflow, 0)
    code = np.where(code > E8M0.max_code, wrapped if overflow is ScaleOverflow.WRAP else high, code)
    return np.where(code < 0, wrapped if underflow is ScaleUnderflow.WRAP else low, code)


def _tiny_codes(code: I64, parts: Parts, policy: ScalePolicy) -> I64:
    """Codes below 2**-126 of implementations that round as if code 00 stood for zero."""
    below = floor_log2(parts.significand) + parts.exponent  # floor(log2 |x|)
    tiny = (below <= E8M0.emin) & (parts.significand != 0)
    if policy.scale_rounding.value.startswith("ties_"):
        is_power = parts.significand & (parts.significand - 1) == 0
        return np.where(tiny, (below == E8M0.emin) & ~is_power, code)
    up = policy.scale_rounding is ScaleRounding.TOWARD_POSITIVE
    return np.where(tiny & (up and policy.tiny_scale is TinyScale.ALWAYS_UP), 1, code)
