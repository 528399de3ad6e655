"""Sums of many float64 numbers, held so that the exact sum can be rounded once.

All numbers are zeros or have magnitudes from 2**-900 to 2**900, so that no operation underflows or
overflows. Where the processor is told not to round to nearest, integers give every sum.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Iterator
from fractions import Fraction
from typing import Any, TypeAlias

import numpy as np
from numpy.typing import NDArray

from mxref.bits.floats import F64, Bool, FloatLayout, compose, split

F64Array: TypeAlias = NDArray[np.float64]


class ExactSums:
    """Sums of float64 arrays of one shape: head + tail, within 2 * lost.

    TwoSum gives the error of an addition in six others (Knuth, The Art of Computer Programming 2,
    4.2.2, theorem B). Errors of the head are added to the tail in the same way, and the magnitudes
    of the tail's errors to `lost`; the factor 2 is for the rounding of that sum.
    """

    def __init__(self, shape: tuple[int, ...]) -> None:
        """Sums of nothing."""
        self.head, self.tail, self.lost = np.zeros(shape), np.zeros(shape), np.zeros(shape)
        self._spare = [np.empty(shape) for _ in range(4)]

    def copy(self) -> ExactSums:
        """The same sums, to which others can be added."""
        same = ExactSums(self.head.shape)
        same.head[...], same.tail[...], same.lost[...] = self.head, self.tail, self.lost
        return same

    def add(self, numbers: F64Array) -> None:
        """Add an array of the same shape."""
        total, error, rest, spare = self._spare
        _two_sum(self.head, numbers, total, error, spare)
        self.head, total = total, self.head
        _two_sum(self.tail, error, total, rest, spare)
        self.tail, self._spare[0] = total, self.tail
        np.abs(rest, out=rest)
        np.add(self.lost, rest, out=self.lost)

    def add_product(self, factor: F64Array, sums: ExactSums) -> None:
        """Add sums times integers of at most 26 bits, or times such integers and a power of two.

        The sums' significands are cut into 26 and 27 bits, whose products with such a factor are
        exact.
        """
        for numbers in (sums.head, sums.tail):
            upper = (numbers.view(np.int64) & np.int64(-1 << 27)).view(np.float64)
            self.add(upper * factor)
            self.add((numbers - upper) * factor)
        self.lost += 2 * np.abs(factor) * sums.lost

    def at(self, row: int, column: int) -> Fraction | None:
        """One of the sums, if head and tail are all of it."""
        if self.lost[row, column] or not rounds_to_nearest():
            return None
        return Fraction(self.head[row, column].item()) + Fraction(self.tail[row, column].item())

    def rounded(self, *, to_odd: bool) -> tuple[F64Array, Bool]:
        """The sums rounded once to float64, and where it is not known what they round to.

        To nearest even, or to odd: of two neighbours the one with an odd significand, which rounds
        to any type of at most 51 bits as the number itself does. A zero is +0.
        """
        head, tail, *_ = self._spare
        _two_sum(self.head, self.tail, head, tail, self._spare[2])
        lost = 2 * self.lost
        if not rounds_to_nearest():
            return head.copy(), np.ones(head.shape, bool)
        if not to_odd:
            # Rounding is monotonic: what both ends of an interval round to, all in it round to.
            with np.errstate(under="ignore"):  # next to zero
                up, down = np.nextafter(tail + lost, np.inf), np.nextafter(tail - lost, -np.inf)
            unknown = (lost > 0) & ((head + up != head) | (head + down != head))
            return head.copy(), unknown
        # The sum lies strictly between the head and its neighbour on the tail's side, as the tail
        # is at most half of their distance, and what is lost is less than the tail.
        bits = head.view(np.int64)
        away = np.where((tail > 0) == (head > 0), np.int64(1), np.int64(-1))
        inexact_even = (tail != 0) & (bits & 1 == 0)
        odd = (bits + np.where(inexact_even, away, 0)).view(np.float64)
        return odd, (lost > 0) & (np.abs(tail) <= lost)


def rounds_to_nearest() -> bool:
    """Whether the processor rounds to nearest: each other mode changes one of two sums."""
    below, above = np.array([1.0, 1.0]) + np.array([2.0**-53, 3 * 2.0**-54])
    return bool(below == 1 and above > 1)


def _two_sum(x: F64Array, y: F64Array, total: F64Array, error: F64Array, spare: F64Array) -> None:
    """Write x + y rounded to `total`, and the rounding error to `error`; no two arrays are one."""
    np.add(x, y, out=total)
    np.subtract(total, x, out=spare)
    np.subtract(total, spare, out=error)
    np.subtract(x, error, out=error)
    np.subtract(y, spare, out=spare)
    np.add(error, spare, out=error)


def rounded_integer(count: int, unit: int, *, to_odd: bool) -> float:
    """The number count * 2**-unit rounded once to float64, to nearest even or to odd.

    >>> rounded_integer((1 << 60) + 1, 60, to_odd=False), rounded_integer(-3, 1, to_odd=True)
    (1.0, -1.5)
    >>> rounded_integer((1 << 60) + 1, 60, to_odd=True) == 1 + 2**-52
    True
    """
    magnitude = abs(count)
    drop = max(magnitude.bit_length() - 53, 0)
    if to_odd:
        magnitude = (magnitude >> drop | (magnitude & ((1 << drop) - 1) != 0)) << drop
    # Python rounds a large integer to nearest even.
    return math.copysign(math.ldexp(float(magnitude), -unit), count)


def rounded_fraction(number: Fraction, *, to_odd: bool) -> float:
    """A fraction rounded once to float64, to nearest even or to odd.

    >>> rounded_fraction(Fraction(1, 3), to_odd=False) == 1 / 3
    True
    >>> rounded_fraction(Fraction(2, 3), to_odd=True).hex(), (2 / 3).hex()
    ('0x1.5555555555555p-1', '0x1.5555555555555p-1')
    """
    over, under = abs(number.numerator), number.denominator
    up = max(64 + under.bit_length() - over.bit_length(), 0)
    count, rest = divmod(over << up, under)
    count = count << 1 | (rest != 0)
    return rounded_integer(count if number > 0 else -count, up + 1, to_odd=to_odd)


def parts_of(number: Fraction) -> Iterator[float]:
    """Numbers of at most 26 bits that add up to a multiple of a power of two."""
    rest, power_of_two = number.numerator, number.denominator
    while rest:
        drop = max(abs(rest).bit_length() - 26, 0)
        part = abs(rest) >> drop << drop
        part = part if rest > 0 else -part
        yield part / power_of_two
        rest -= part


def patterns_of(numbers: F64Array, layout: FloatLayout) -> NDArray[Any]:
    """Patterns of numbers that `rounded` gave, to odd for all layouts but that of float64."""
    bits = numbers.view(np.uint64)
    return bits if layout == F64 else compose(split(bits, F64), layout)


def known_sums(
    sums: ExactSums, exactly: Callable[[int, int], tuple[int, int]], *, to_odd: bool
) -> F64Array:
    """The sums rounded once; by integers (count, unit) where the sums do not say to what."""
    numbers, unknown = sums.rounded(to_odd=to_odd)
    for row, column in np.argwhere(unknown).tolist():
        numbers[row, column] = rounded_integer(*exactly(row, column), to_odd=to_odd)
    return numbers


def known_multiples(
    sums: ExactSums,
    factor: Fraction,
    exactly: Callable[[int, int], tuple[int, int]],
    *,
    to_odd: bool,
) -> F64Array:
    """The sums times a factor, rounded once; `exactly` gives the sums themselves."""
    if factor == 1:
        return known_sums(sums, exactly, to_odd=to_odd)
    whole, odd = ExactSums(sums.head.shape), factor.denominator
    odd //= odd & -odd
    for part in parts_of(factor * odd):
        whole.add_product(np.full(sums.head.shape, part), sums)
    numbers, unknown = whole.rounded(to_odd=to_odd)
    if odd > 1:
        unknown |= numbers != 0
    for row, column in np.argwhere(unknown).tolist():
        number = sums.at(row, column)
        if number is None:
            count, unit = exactly(row, column)
            number = Fraction(count, 1 << unit)
        numbers[row, column] = rounded_fraction(number * factor, to_odd=to_odd)
    return numbers


def infinities(signs: NDArray[np.int64], layout: FloatLayout) -> NDArray[Any]:
    """Patterns of infinities with these signs."""
    plus, minus = layout.inf_bits, layout.inf_bits | layout.sign_bit
    found: NDArray[Any] = np.where(signs < 0, layout.uint.type(minus), layout.uint.type(plus))
    return found
