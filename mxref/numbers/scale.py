"""Scales: numbers to E8M0 codes and back, and shared scales from largest magnitudes."""

from __future__ import annotations

import dataclasses
import functools
from typing import Any, Unpack

import numpy as np
from numpy.typing import ArrayLike, DTypeLike, NDArray

from mxref.bits.floats import (
    U8,
    Bits,
    FloatLayout,
    Floats,
    Parts,
    compose,
    float_array,
    layout_of,
    patterns,
)
from mxref.bits.out import array_out
from mxref.bits.pairs import Table
from mxref.formats.catalog import E8M0, ElementFormat, ScaleFormat, element_format
from mxref.numbers.codes import codes_of, every_code
from mxref.numbers.e8m0 import Powers
from mxref.numbers.scale_steps import OTHER, scale_codes, scale_steps
from mxref.numbers.source import Source
from mxref.numbers.table import decoded, encode_in_chunks
from mxref.policy.choices import Scale00, ScaleFF, ScaleOverflow
from mxref.policy.groups import DecodePolicy
from mxref.policy.keywords import DecodeScaleChoices, EncodeScaleChoices, SharedScaleChoices
from mxref.policy.policy import Policy, resolve
from mxref.policy.scale_rule import ScaleRule
from mxref.support.scratch import scratch
from mxref.support.text import short
from mxref.support.threads import in_chunks


def encode_scale(
    values: ArrayLike,
    policy: str | Policy = "ocp",
    *,
    out: U8 | None = None,
    threads: int | None = None,
    **choices: Unpack[EncodeScaleChoices],
) -> U8:
    """E8M0 codes of the magnitudes of numbers.

    Args:
        values: floats or integers, any shape.
        policy: a `Policy` or its spelling.
        out: where the codes go: a writable C-contiguous uint8 array of the shape of `values`.
        threads: as in `encode`.
        choices: single choices of the policy; `scale_rounding` acts on the magnitude.

    Returns:
        uint8 codes of the same shape; c < 255 stands for 2**(c - 127). In `ocp` numbers are rounded
        toward zero whatever their sign; zero and numbers below 2**-127 give 00, numbers beyond
        2**127 give FE, infinities and NaN give FF.

    Raises:
        TypeError: values of another type.
        ValueError: unknown policy or choice; an `out` that does not fit.

    Source: OCP MX v1.0 5.4.1; SPEC_NOTES N7, N8, N23.

    >>> encode_scale(np.float32([1.0, 1.5, -4.0, 0.0, np.nan]))
    array([127, 127, 129,   0, 255], dtype=uint8)
    >>> encode_scale(np.float32([1.25, 1.5]), scale_rounding="ties_to_away")
    array([127, 128], dtype=uint8)
    """
    whole = resolve("encode_scale", policy, choices)
    chosen = whole.scale
    if chosen.scale_overflow is ScaleOverflow.WRAP:
        raise ValueError("scale_overflow must be clamp or nan for encode_scale, got wrap")
    source = Source.of(values, whole.element)
    return encode_in_chunks(Powers(chosen), source, out, threads)


def decode_scale(
    codes: ArrayLike,
    dtype: DTypeLike = np.float32,
    policy: str | Policy = "ocp",
    *,
    out: Floats | None = None,
    threads: int | None = None,
    **choices: Unpack[DecodeScaleChoices],
) -> Floats:
    """The scales that E8M0 codes stand for.

    Args:
        codes: unsigned integers below 256, or a float8_e8m0fnu array, any shape.
        dtype: float64, float32, float16 or bfloat16. All but float16 hold every scale exactly;
            beyond its range float16 gives 0 or infinity.
        policy: a `Policy` or its spelling.
        out: where the floats go: a writable C-contiguous array of the shape of `codes` and the
            dtype.
        threads: as in `encode`.
        choices: `scale_00`, `scale_ff`.

    Returns:
        Floats of the same shape. In `ocp` 2**(c - 127), with 00 the subnormal 2**-127; FF is NaN.

    Raises:
        TypeError: codes or dtype of another type.
        ValueError: a code out of range, an unknown choice, an `out` that does not fit.

    Source: OCP MX v1.0 5.4.1; SPEC_NOTES N22.

    >>> decode_scale([127, 130, 255])
    array([ 1.,  8., nan], dtype=float32)
    """
    layout = layout_of(dtype)
    chosen = resolve("decode_scale", policy, choices).decode
    return decoded(_decode_table(chosen, layout), codes_of(codes, E8M0), layout, out, threads)


@functools.lru_cache(maxsize=64)
def _decode_table(policy: DecodePolicy, layout: FloatLayout) -> Table:
    return Table(compose(scale_parts(policy), layout))


@functools.cache
def scale_parts(policy: DecodePolicy, scale: ScaleFormat = E8M0) -> Parts:
    """Every code of powers of two in integer parts, as a policy reads the first (00) and the last.

    The last code, NaN in `ocp`, is FF in E8M0.
    """
    parts, nan = every_code(scale), scale.max_code + 1
    significand, exponent = parts.significand.copy(), parts.exponent.copy()
    is_inf, is_nan = parts.is_inf.copy(), parts.is_nan.copy()
    if policy.scale_00 is Scale00.ZERO:
        significand[0] = 0
    if policy.scale_ff is not ScaleFF.NAN:
        is_nan[nan] = False
        is_inf[nan] = policy.scale_ff is ScaleFF.INF
        significand[nan], exponent[nan] = 1, scale.emax + 1
    return dataclasses.replace(
        parts, significand=significand, exponent=exponent, is_inf=is_inf, is_nan=is_nan
    )


def shared_scale(
    amax: ArrayLike,
    format: str | ElementFormat,
    rule: str | ScaleRule = "floor",
    *,
    policy: str | Policy = "ocp",
    out: U8 | None = None,
    threads: int | None = None,
    **choices: Unpack[SharedScaleChoices],
) -> U8:
    """E8M0 codes of the scales for blocks with these largest magnitudes.

    Exact for every input, subnormals included: works on the bit pattern, never on a logarithm.

    Args:
        amax: largest magnitudes, float64, float32, float16 or bfloat16, any shape.
        format: element format or its name, on which the limit of the rule depends.
        rule: which scale, see `ScaleRule`; `floor` is floor(log2 amax) - emax.
        policy: a `Policy` or its spelling; its `scale_rule` counts where `rule` is `floor`.
        out: where the codes go: a writable C-contiguous uint8 array of the shape of `amax`.
        threads: as in `encode`.
        choices: `zero_block`, `scale_overflow`, `scale_underflow`, `amax_type`, `int8_emax`.

    Returns:
        uint8 codes of the same shape. In `ocp` 0 to 254 are 2**(code - 127), clamped to that range;
        zero gives 00, NaN and infinity give FF.

    Raises:
        TypeError: amax of another type.
        ValueError: a negative amax, an unknown format, rule or choice, an `out` that does not fit.

    Source: OCP MX v1.0 6.3 step 1; SPEC_NOTES N1 to N8, N34.

    >>> shared_scale(np.float32([1.0, 448.0, 0.0, np.inf]), "e4m3")
    array([119, 127,   0, 255], dtype=uint8)
    >>> amax = np.float32([448.0, 464.0, 480.0, 496.0])
    >>> {rule: shared_scale(amax, "e4m3", rule).tolist() for rule in ("rceil", "tosa", "even")}
    {'rceil': [127, 128, 128, 128], 'tosa': [127, 127, 128, 128], 'even': [127, 127, 127, 128]}
    """
    fmt = element_format(format)
    if isinstance(rule, Policy) or str(rule).startswith("ocp"):
        raise ValueError(f"rule must be a scale rule, got {short(rule)}: pass a policy as policy=")
    named = _named(rule) if isinstance(rule, str | ScaleRule) else _named.__wrapped__(rule)
    chosen = resolve("shared_scale", policy, choices).scale
    if named is not ScaleRule.FLOOR:
        if chosen.scale_rule not in (ScaleRule.FLOOR, named):
            raise ValueError(
                f"rule={named.value} contradicts the policy's {chosen.scale_rule.value}: keep one"
            )
        chosen = dataclasses.replace(chosen, scale_rule=named)
    array, layout = float_array(amax, "amax")
    codes = array_out(out, np.dtype(np.uint8), array.shape, array)
    steps = scale_steps(fmt, chosen, layout)

    def chunk(target: U8, part: NDArray[Any]) -> None:
        bits = patterns(part, layout)
        if bits.max(initial=0) > layout.sign_bit:
            _refuse_negative(bits, layout)
        magnitude = scratch("amax", bits.size, layout.uint)
        np.bitwise_and(bits, layout.uint.type(layout.sign_bit - 1), out=magnitude)
        words = steps.words(magnitude, scratch("words", bits.size, np.int32))
        np.copyto(target, words, casting="unsafe")  # their low bytes
        if words.max(initial=0) >= OTHER:
            other = words == OTHER
            target[other] = scale_codes(magnitude[other], layout, fmt, chosen).codes

    in_chunks(chunk, threads, codes, array)
    return codes


@functools.lru_cache(maxsize=64)
def _named(rule: str | ScaleRule) -> ScaleRule:
    """The scale rule of a name."""
    return Policy().replace(scale_rule=rule).scale.scale_rule


def _refuse_negative(bits: Bits, layout: FloatLayout) -> None:
    bad = (bits > layout.sign_bit) & (bits <= layout.sign_bit | layout.inf_bits)
    if bad.any():
        raise ValueError(
            "amax must not be negative, since it is a largest magnitude: "
            f"got {float(bits[bad].view(layout.dtype)[0])}"
        )
