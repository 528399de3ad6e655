"""Class C on amax alone: `shared_scale` gone wrong."""

from __future__ import annotations

from collections.abc import Callable
from fractions import Fraction
from functools import partial
from typing import Any

import numpy as np
from numpy.typing import NDArray

from mxref.bits.floats import I64, U8, Parts, bits_of, floor_log2, split
from mxref.formats.catalog import ELEMENT_FORMATS, ElementFormat
from mxref.mutants.mutant import ELEMENTS, FP, SHARED, Function, Mutant, wrong
from mxref.numbers.scale import shared_scale

__all__ = ["SCALES", "scaler"]

_NAN = 0xFF
Exponent = Callable[[Parts, ElementFormat], I64]


def binade(parts: Parts) -> I64:
    """floor(log2 amax)."""
    return floor_log2(parts.significand) + parts.exponent


def significand(parts: Parts) -> I64:
    """The significand from 1 to 2, in units of 2**-52."""
    return parts.significand << (52 - floor_log2(parts.significand))


def floor(parts: Parts, fmt: ElementFormat) -> I64:
    """The exponent of the scale under `ocp`, before it is clamped."""
    return binade(parts) - fmt.emax


def scaler(
    exponent: Exponent = floor,
    finish: Callable[[I64], I64] = lambda code: np.clip(code, 0, 254),
    zero: int = 0,
    bias: int = 127,
) -> Function:
    """A `shared_scale` made of these stages; the defaults are right.

    >>> scaler()(np.float32([448.0, 0.0]), "e4m3")
    array([127,   0], dtype=uint8)
    """

    def shared_scale(amax: NDArray[Any], format: str) -> U8:
        bits, layout = bits_of(amax)
        parts = split(bits, layout)
        code = finish(exponent(parts, ELEMENT_FORMATS[format]) + bias)
        code = np.where(parts.significand == 0, zero, code)
        return np.where(parts.is_inf | parts.is_nan, _NAN, code).astype(np.uint8)

    return shared_scale


def _by_policy(rule: str = "floor", **choices: Any) -> Function:
    return lambda amax, format: shared_scale(amax, format, rule, **choices)


def _log2_float64(parts: Parts, fmt: ElementFormat) -> Any:
    """A rounded float64 logarithm: one too large just below 2**k for all k but -2 to 2.

    For large |k| more numbers are affected; only the last one below 2**k is changed here.
    """
    below = significand(parts) == (1 << 53) - 1
    return floor(parts, fmt) + (below & (np.abs(binade(parts) + 1) >= 3))


def _truncated_log2(parts: Parts, fmt: ElementFormat) -> Any:
    """int(log2 amax), which rounds a negative logarithm up."""
    power = parts.significand & (parts.significand - 1) == 0
    return floor(parts, fmt) + ((binade(parts) < 0) & ~power)


def _limit(fmt: ElementFormat) -> int:
    """The significand of the largest number in units of 2**-52."""
    largest = Fraction(fmt.max_normal) * 2**52 / 2**fmt.emax
    return int(largest)


def _floor_of_quotient(parts: Parts, fmt: ElementFormat) -> I64:
    """floor(log2(amax / max)), with the largest number (448) for the largest power (256)."""
    return floor(parts, fmt) - (significand(parts) < _limit(fmt))


def _rceil_at(parts: Parts, fmt: ElementFormat) -> I64:
    """RCEIL that goes up where amax is exactly the largest number."""
    return floor(parts, fmt) + (significand(parts) >= _limit(fmt))


def _rceil_of_high_bits(parts: Parts, fmt: ElementFormat) -> I64:
    """RCEIL that compares only the upper bits of amax with the largest number."""
    return floor(parts, fmt) + (significand(parts) >> 45 > _limit(fmt) >> 45)


def _even_with(bits: Callable[[ElementFormat], int]) -> Exponent:
    """EVEN that rounds amax to another number of fraction bits."""
    return lambda parts, fmt: (
        floor(parts, fmt) + (significand(parts) >= (1 << 53) - (1 << 51 - bits(fmt)))
    )


def _stepped(step: int) -> Exponent:
    return lambda parts, fmt: floor(parts, fmt) + step


def _wrong_between(low: float, high: float) -> Exponent:
    """Floor, but one more for significands of amax in an interval."""

    def exponent(parts: Parts, fmt: ElementFormat) -> I64:
        own = significand(parts)
        return floor(parts, fmt) + ((own >= low * 2**52) & (own < high * 2**52))

    return exponent


_scales = partial(wrong, op="shared_scale", formats=ELEMENTS, floats=SHARED, model="M8")

SCALES: dict[str, Mutant] = {
    "C1 log2_in_float32: rounds log2(amax) to float32: too large just below a power": _scales(
        _by_policy("floor_log2_float32"),
    ),
    "C1b log2_in_float64: rounds log2(amax) to float64: too large just below a power": _scales(
        scaler(_log2_float64)
    ),
    "C2 log2_truncated: converts a negative log2 to an integer toward zero": _scales(
        scaler(_truncated_log2),
    ),
    "C3 ceil: takes the next power of two up": _scales(_by_policy("ceil")),
    "C4 log2_to_nearest: rounds log2(amax) to the nearest integer": _scales(
        _by_policy("nearest_log2_power")
    ),
    "C5a emax_small: takes an emax that is one too small, or a bias of 128: "
    "every scale is 1 code too large": _scales(scaler(_stepped(1))),
    "C5b emax_large: takes an emax that is one too large, or a bias of 126: "
    "every scale is 1 code too small": _scales(scaler(_stepped(-1))),
    "C5c emax_forgotten: does not subtract emax: every scale is emax codes too large": _scales(
        scaler(lambda parts, fmt: binade(parts)), formats=FP
    ),
    "C5d emax_added: adds emax: every scale is twice emax codes too large": _scales(
        scaler(lambda parts, fmt: binade(parts) + fmt.emax), formats=FP
    ),
    "C7 exponent_field: reads the exponent field of amax in float32, "
    "a subnormal's as it is": _scales(_by_policy("floor_exponent_field")),
    "C12 code_00_missing: never writes scale code 00": _scales(
        scaler(finish=lambda code: np.clip(code, 1, 254), zero=1)
    ),
    "C13 clamped_at_253: never writes scale code FE": _scales(
        scaler(finish=lambda code: np.clip(code, 0, 253))
    ),
    "C13b too_large_is_nan: makes a scale that is too large NaN": _scales(
        _by_policy(scale_overflow="nan")
    ),
    "C13c too_small_is_nan: makes a scale that is too small NaN": _scales(
        _by_policy(scale_underflow="nan")
    ),
    "C14 exponent_wraps: keeps the low eight bits of a negative biased exponent": _scales(
        _by_policy(scale_underflow="wrap")
    ),
    "C15a zeros_scaled_by_one: writes the scale 1 for a block of zeros": _scales(
        _by_policy(zero_block="one"), model="M1"
    ),
    "C15b zeros_are_nan: writes a NaN scale for a block of zeros": _scales(
        _by_policy(zero_block="nan"), model="M1"
    ),
    "C15c zeros_scaled_by_emax: writes the scale 2**-emax for a block of zeros": _scales(
        _by_policy(zero_block="minus_emax"), model="M1"
    ),
    "C17 rceil_at_the_limit: means RCEIL but goes up where amax is the largest number": _scales(
        scaler(_rceil_at), policy="ocp+scale_rule=rceil"
    ),
    "C18 even_of_fp4: means EVEN but rounds to one fraction bit whatever the format": _scales(
        scaler(_even_with(lambda fmt: 1)),
        policy="ocp+scale_rule=even",
    ),
    "C18b even_one_bit_more: means EVEN but rounds to one fraction bit more": _scales(
        scaler(_even_with(lambda fmt: fmt.mantissa_bits + 1)),
        formats=FP,
        policy="ocp+scale_rule=even",
    ),
    "C17b rceil_of_high_bits: means RCEIL but compares the upper eight bits only": _scales(
        scaler(_rceil_of_high_bits), policy="ocp+scale_rule=rceil"
    ),
    "C19 amax_in_bfloat16: rounds amax to bfloat16 first": _scales(
        _by_policy(amax_type="bfloat16")
    ),
    "C19b amax_in_float16: rounds amax to float16 first": _scales(_by_policy(amax_type="float16")),
    "C20 largest_for_power: divides amax by the largest number, then takes the floor": _scales(
        scaler(_floor_of_quotient)
    ),
    "C20b power_for_largest: means RCEIL but divides by the largest power of two": _scales(
        _by_policy("ceil"), policy="ocp+scale_rule=rceil"
    ),
    "C18c even_of_int8: means EVEN but rounds INT8 to one fraction bit more": _scales(
        scaler(_even_with(lambda fmt: 7)), formats=("int8",), policy="ocp+scale_rule=even"
    ),
    "D3b rceil_by_reciprocal: means RCEIL but multiplies by a float32 of 1 / max": _scales(
        _by_policy("rceil_reciprocal"),
        floats=("f64",),
        policy="ocp+scale_rule=rceil",
    ),
    "D3c rceil_by_reciprocal_of_f32: means RCEIL but multiplies by a float32 of 1 / max": _scales(
        _by_policy("rceil_reciprocal"), formats=FP, floats=("f32",), policy="ocp+scale_rule=rceil"
    ),
    "C21 interval_of_sqrt_2: takes twice the scale where the significand of amax is from 1.414 to "
    "1.422": _scales(scaler(_wrong_between(1.414, 1.422))),
    **{
        f"C21{letter} interval_{n}_64ths: takes twice the scale where the significand of amax is "
        f"from {n}/64 to {n + 1}/64": _scales(scaler(_wrong_between(n / 64, (n + 1) / 64)))
        for letter, n in zip("abcdefghijklmnop", range(65, 128, 4), strict=True)
    },
}
