"""Class S: stochastic rounding gone wrong."""

from __future__ import annotations

from functools import partial
from typing import Any

import numpy as np

from mxref.bits.floats import U8
from mxref.formats.catalog import element_format
from mxref.mutants.mutant import ELEMENTS, FP, Function, Mutants, wrong
from mxref.numbers.element import encode

__all__ = ["STOCHASTIC"]


def _drawing(change: Any, variant: str = "a") -> Function:
    """Stochastic rounding that changes the random bits first."""

    def run(values: Any, random_bits: Any, random_width: int, format: str) -> U8:
        draws = change(random_bits.astype(np.int64), random_width, values)
        rounding = f"stochastic_{variant}"
        return encode(
            values, format, rounding=rounding, random_bits=draws, random_width=random_width
        )

    return run


def _nearest(values: Any, random_bits: Any, random_width: int, format: str) -> U8:
    return encode(values, format)


def _subnormals_truncated(values: Any, random_bits: Any, random_width: int, format: str) -> U8:
    fmt = element_format(format)
    drawn = encode(
        values, fmt, rounding="stochastic_a", random_bits=random_bits, random_width=random_width
    )
    cut = encode(values, fmt, rounding="toward_zero")
    small = (cut & (fmt.sign_bit - 1)) < 1 << fmt.mantissa_bits
    return np.where(small, cut, drawn).astype(np.uint8)


def _carry_lost(values: Any, random_bits: Any, random_width: int, format: str) -> U8:
    """Fractions that round up to the next binade, as zero in the binade below."""
    fmt = element_format(format)
    drawn = encode(
        values, fmt, rounding="stochastic_a", random_bits=random_bits, random_width=random_width
    )
    cut = encode(values, fmt, rounding="toward_zero")
    fraction = (1 << fmt.mantissa_bits) - 1
    lost = (drawn != cut) & (cut & fraction == fraction)
    return np.where(lost, cut - fraction, drawn).astype(np.uint8)


def _reversed(draws: Any, width: int, values: Any) -> Any:
    return sum(((draws >> bit) & 1) << (width - 1 - bit) for bit in range(width))


def _signed(draws: Any, width: int, values: Any) -> Any:
    return np.where(np.signbit(values.astype(np.float64)), (1 << width) - 1 - draws, draws)


_encodes = partial(
    wrong,
    op="encode_stochastic",
    formats=ELEMENTS,
    floats=("f32", "bf16"),
    model="M15",
    policy="ocp+rounding=stochastic_a",
)

STOCHASTIC: Mutants = {
    "S1 random_bits_ignored: rounds to nearest whatever the random bits": _encodes(_nearest),
    "S2 random_bits_too_low: adds the random bits one place too low, so that half of what is "
    "cut off is never lost": _encodes(_drawing(lambda draws, width, values: draws >> 1)),
    "S3 random_bits_reversed: takes the random bits from the other end": _encodes(
        _drawing(_reversed)
    ),
    "S4 random_bits_toward_infinity: adds the random bits to the signed number, so that "
    "negative numbers use the complement": _encodes(_drawing(_signed)),
    "S5 half_added: adds half of the last random bit, too": _encodes(
        _drawing(lambda draws, width, values: draws, "b")
    ),
    "S6 subnormals_truncated: draws for normal numbers only, and cuts subnormal ones off": _encodes(
        _subnormals_truncated,
        formats=FP,
    ),
    "S7 seven_random_bits: uses all random bits but the lowest": _encodes(
        _drawing(lambda draws, width, values: draws & -2)
    ),
    "S8 drawn_carry_lost: loses the carry of a fraction rounded up to the next power of two": (
        _encodes(_carry_lost, formats=FP)
    ),
}
