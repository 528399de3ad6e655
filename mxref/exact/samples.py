"""Samples of an image of codes at SNORM16 coordinates, one at a time.

Floats come in and go out as bit patterns. Source: SPEC_NOTES Q13.
"""

from __future__ import annotations

from collections.abc import Sequence
from fractions import Fraction
from typing import Final

from mxref.exact.arithmetic import F32, product, quotient
from mxref.exact.integer import ONE
from mxref.exact.integers import Number
from mxref.exact.patterns import converted, float_reader, write_float
from mxref.exact.sums import dyadic, fl_sum, fraction, integer32

Rows = Sequence[Sequence[int]]
#: The scale of a SNORM16 grid.
GRID: Final = float_reader(F32)(0x38000100)


def place_of(g: int, size: int, *, align_corners: bool, padding: str) -> Fraction:
    """Return the coordinate of a grid code in pixels, after what is done at the ends.

    >>> [str(place_of(g, 3, align_corners=False, padding="border")) for g in (-32767, 0, 32767)]
    ['0', '1', '2']
    """
    position = Fraction(g, 32767) + 1  # from 0 to 2
    place = position * (size - 1) / 2 if align_corners else (position * size - 1) / 2
    if padding == "reflection":
        low, high = Fraction(0), Fraction(size - 1)
        if not align_corners:
            low, high = low - Fraction(1, 2), high + Fraction(1, 2)
        while low < high and not low <= place <= high:
            place = 2 * (low if place < low else high) - place
    if padding in ("border", "reflection"):
        place = min(max(place, Fraction(0)), Fraction(size - 1))
    return place


def steps(
    image: Rows,
    x: int,
    y: int,
    *,
    align_corners: bool,
    padding: str = "zeros",
    mode: str = "bilinear",
    zero_point: int = 0,
) -> Fraction:
    """Return the exact sample of one channel, less the zero point.

    >>> str(steps([[1, 2], [3, 4]], 0, 0, align_corners=True))
    '5/2'
    """
    sizes = len(image[0]), len(image)
    places = [
        place_of(g, size, align_corners=align_corners, padding=padding)
        for g, size in zip((x, y), sizes, strict=True)
    ]
    if mode == "nearest":
        places = [Fraction(round(place)) for place in places]
    total = Fraction(0)
    column, row = (place.numerator // place.denominator for place in places)
    for i in (row, row + 1):
        for j in (column, column + 1):
            inside = 0 <= i < len(image) and 0 <= j < len(image[0])
            value = image[i][j] - zero_point if inside else 0
            total += (1 - abs(places[0] - j)) * (1 - abs(places[1] - i)) * value
    return total


def grid_sample(
    image: Rows,
    x: int,
    y: int,
    *,
    align_corners: bool,
    padding: str = "zeros",
    mode: str = "bilinear",
    zero_point: int = 0,
    ties: str = "even_code",
    scale_bits: tuple[int, int] = (0x3F800000, 0x3F800000),
    output: tuple[int, int, int] | None = None,
) -> int:
    """Sample one channel; scales of image and result, zero point and range of the result.

    >>> [grid_sample(i, 0, 0, align_corners=True) for i in ([[1, 2], [3, 4]], [[3, 4], [3, 4]])]
    [2, 4]
    """
    how = {"align_corners": align_corners, "padding": padding, "mode": mode}
    number = steps(image, x, y, zero_point=zero_point, **how)  # type: ignore[arg-type]
    source, target = (fraction(float_reader(F32)(bits)) for bits in scale_bits)
    number *= source / target
    shift, low, high = output or (zero_point, -(2**40), 2**40)
    origin = {"even_code": 0, "even_step": shift}[ties]
    return min(max(round(number + shift - origin) + origin, low), high)


def value(
    image: Rows,
    x: int,
    y: int,
    scale_bits: int,
    zero_point: int = 0,
    *,
    align_corners: bool,
    padding: str = "zeros",
    mode: str = "bilinear",
    arithmetic: str = "exact",
) -> int:
    """Return the float32 pattern of a sample of one dequantized channel.

    >>> hex(value([[1, 2], [3, 4]], 0, 0, 0x3F800000, align_corners=True))
    '0x40200000'
    """
    scale = float_reader(F32)(scale_bits)
    if arithmetic == "exact":
        how = {"align_corners": align_corners, "padding": padding, "mode": mode}
        number = steps(image, x, y, zero_point=zero_point, **how)  # type: ignore[arg-type]
        number *= fraction(scale)
        sign = int(number < 0)
        over = quotient((sign, abs(number.numerator), 0), (0, number.denominator, 0), F32)
        return write_float(over, F32)
    sizes = len(image[0]), len(image)
    columns, rows = (
        weights32(place32(g, size, align_corners=align_corners, padding=padding), mode)
        for g, size in zip((x, y), sizes, strict=True)
    )
    total: Number | None = None
    for i, down in rows:
        for j, across in columns:
            inside = 0 <= i < len(image) and 0 <= j < len(image[0])
            difference = integer32(image[i][j] - zero_point) if inside else (0, 0, 0)
            number32 = converted(product(difference, scale), F32)
            term = product(number32, converted(product(across, down), F32))
            total = converted(term, F32) if total is None else fl_sum(term, total)
    return write_float(total or (0, 0, 0), F32)


def place32(g: int, size: int, *, align_corners: bool, padding: str) -> Fraction:
    """The coordinate as float32 computes it; multiplying and subtracting half are one operation."""
    from_end = fl_sum(converted(product(integer32(g), GRID), F32), ONE)
    if align_corners:
        place = converted(product(from_end, dyadic(Fraction(size - 1, 2))), F32)
    else:
        place = fl_sum(product(from_end, dyadic(Fraction(size, 2))), (1, 1, -1))
    at, last = fraction(place), Fraction(size - 1)
    if padding == "reflection":
        low = Fraction(0) if align_corners else Fraction(-1, 2)
        twice = 2 * (last - 2 * low)
        if not twice:
            return Fraction(0)
        around = abs(_fl(at - low))
        quotient32 = fraction(quotient(dyadic(around), dyadic(twice), F32))
        rest = _fl(around - twice * (quotient32.numerator // quotient32.denominator))
        at = _fl(min(rest, _fl(twice - rest)) + low)
    return at if padding == "zeros" else min(max(at, Fraction(0)), last)


def weights32(place: Fraction, mode: str) -> list[tuple[int, Number]]:
    """The two pixels of a coordinate along one axis, and their weights in float32."""
    place = Fraction(round(place)) if mode == "nearest" else place
    first = place.numerator // place.denominator
    after = _fl(place - first)
    return [(first, dyadic(_fl(1 - after))), (first + 1, dyadic(after))]


def _fl(x: Fraction) -> Fraction:
    return fraction(converted(dyadic(x), F32))
