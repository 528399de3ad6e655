"""Class P: mistakes where two elements, or two blocks, disturb each other."""

from __future__ import annotations

from collections.abc import Callable
from functools import partial
from typing import Any

import numpy as np
from numpy.typing import NDArray

from mxref.bits.floats import U8, Bool, bits_of
from mxref.mutants.mutant import POWER_BLOCKS, Function, Mutants, wrong
from mxref.mutants.quotients import Quantized, quantized
from mxref.numbers.element import encode

__all__ = ["PAIRS"]

Values = NDArray[Any]
Pair = tuple[U8, U8]
#: The float types that have vectors of all pairs.
FLOATS = ("f32", "bf16")


def _patterns(values: Values) -> tuple[NDArray[np.int64], int, int]:
    """Patterns without their signs, the sign bit, and the pattern of infinity."""
    bits, layout = bits_of(values)
    return bits.astype(np.int64) & (layout.sign_bit - 1), layout.sign_bit, layout.inf_bits


def _altered(change: Callable[[Values, U8, U8], None]) -> Function:
    """A `quantize` whose right scales and codes are then changed in place."""

    def run(values: Values, format: str) -> Pair:
        right = quantized(values, format)
        scales, codes = right.scales[:, 0].copy(), right.codes.copy()
        change(values, scales, codes)
        return scales, codes

    return run


def _maximum_lost(values: Values, *, first: bool) -> Bool:
    """Where the first or second of two elements stands that share the largest magnitude."""
    magnitudes, *_ = _patterns(values)
    largest = (magnitudes == magnitudes.max(axis=1, keepdims=True)) & (magnitudes > 0)
    order = np.cumsum(largest, axis=1)
    two = order[:, -1:] == 2
    found: Bool = largest & two & (order == (1 if first else 2))
    return found


def _lose(*, first: bool) -> Function:
    def change(values: Values, scales: U8, codes: U8) -> None:
        codes[_maximum_lost(values, first=first)] = 0

    return _altered(change)


def _as_zeros(which: Callable[[Values], Bool]) -> Function:
    """A `quantize` that takes some blocks as all zeros."""

    def change(values: Values, scales: U8, codes: U8) -> None:
        empty = which(values) & (scales != 0xFF)
        scales[empty] = 0
        codes[empty] = 0

    return _altered(change)


def _opposite(values: Values) -> Bool:
    """Where the largest and the smallest number add up to zero."""
    bits, layout = bits_of(values)
    magnitudes = bits.astype(np.int64) & (layout.sign_bit - 1)
    signed = np.where(bits.astype(np.uint64) >= layout.sign_bit, -magnitudes, magnitudes)
    found: Bool = signed.max(axis=1) == -signed.min(axis=1)
    return found


def _constant(values: Values) -> Bool:
    bits, _ = bits_of(values)
    found: Bool = (bits == bits[:, :1]).all(axis=1)
    return found


def _alone(values: Values) -> Bool:
    magnitudes, *_ = _patterns(values)
    found: Bool = (magnitudes > 0).sum(axis=1) == 1
    return found


def _tie_with_tie(odd: int) -> Function:
    """A `quantize` that rounds one of two ties that stand beside each other away from zero."""

    def run(values: Values, format: str) -> Pair:
        right = quantized(values, format)
        away = _by(right, "ties_to_away")
        tie = away != _by(right, "ties_to_zero")
        both = np.repeat(tie[:, ::2] & tie[:, 1::2], 2, axis=1)
        both[:, 1 - odd :: 2] = False
        return right.scales[:, 0], np.where(both & ~right.nan, away, right.codes)

    return run


def _by(right: Quantized, rounding: Any) -> U8:
    return encode(right.quotients, right.element, rounding=rounding)


def _nan_beside_infinity(values: Values, scales: U8, codes: U8) -> None:
    magnitudes, _, inf = _patterns(values)
    both = (magnitudes == inf).any(axis=1) & (magnitudes > inf).any(axis=1)
    scales[both] = 0xFE


def _nan_stays(values: Values, scales: U8, codes: U8) -> None:
    scales[1:][scales[:-1] == 0xFF] = 0xFF


def _scale_stays(values: Values, scales: U8, codes: U8) -> None:
    zeros = (_patterns(values)[0] == 0).all(axis=1)
    scales[1:] = np.where(zeros[1:], scales[:-1], scales[1:])


_quantizes = partial(wrong, op="quantize", formats=POWER_BLOCKS, floats=FLOATS, model="M17")

PAIRS: Mutants = {
    "P1 second_maximum_lost: makes the second of two largest elements zero": _quantizes(
        _lose(first=False)
    ),
    "P1b first_maximum_lost: makes the first of two largest elements zero": _quantizes(
        _lose(first=True)
    ),
    "P2 opposite_maxima_cancel: takes a block for zeros if its largest and smallest number "
    "add up to zero": _quantizes(_as_zeros(_opposite)),
    "P3 second_tie_away: rounds the second of two ties beside each other away from zero": (
        _quantizes(_tie_with_tie(1))
    ),
    "P3b first_tie_away: rounds the first of two ties beside each other away from zero": (
        _quantizes(_tie_with_tie(0))
    ),
    "P4 constant_block_is_zero: takes a block of 32 equal numbers for zeros": _quantizes(
        _as_zeros(_constant)
    ),
    "P5 nan_beside_infinity: stores the scale FE where a NaN stands beside an infinity": (
        _quantizes(_altered(_nan_beside_infinity))
    ),
    "P6 nan_stays: makes the block after a NaN block NaN": _quantizes(_altered(_nan_stays)),
    "P7 scale_stays: gives a block of zeros the scale of the block before": _quantizes(
        _altered(_scale_stays)
    ),
    "P8 single_element_lost: takes a block with one element that is not zero for zeros": (
        _quantizes(_as_zeros(_alone))
    ),
}
