"""Dot products that show how an implementation adds: the inputs of the cases of `matmul`."""

from __future__ import annotations

import itertools
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from functools import cache

from mxref.bits.floats import FloatLayout
from mxref.cases.splitmix import splitmix64
from mxref.formats.catalog import BlockFormat, ElementFormat

__all__ = ["SWAMPED", "Dot", "designed_dots", "last_roundings", "narrow_dots", "negative", "power"]

_SIZE = 32
_ONE = 0x7F
#: Formats with a case of 1024 elements.
_LONG = ("e4m3", "e2m1", "int8")
#: Scale codes that are paired: the ends of E8M0, 2**-30, 1 and 2**4.
_SCALES = (0x00, 0x01, 0x61, 0x7F, 0x83, 0xFE, 0xFF)
#: Element codes of E4M3 that tell orders and adders apart.
SWAMPED = (
    ("78 18 18 78", "78 18 18 f8"),
    ("10 18 78", "18 18 78"),
    ("78 10 78", "78 18 f8"),
    ("78 10 78", "78 10 f8"),
    ("78 30 78", "78 30 f8"),
    ("78 40 78", "78 48 f8"),
    ("7e 01 7e", "7e 01 fe"),
)


@dataclass(frozen=True, slots=True)
class Dot:
    """A dot product: its name, the codes and scales of both operands, and flags."""

    name: str
    a: Sequence[int]
    b: Sequence[int]
    a_scales: Sequence[int] = ()
    b_scales: Sequence[int] = ()
    flags: tuple[str, ...] = ()

    @property
    def words(self) -> tuple[int, ...]:
        """The words of the case; scales that are not given are 2**0."""
        ones = (_ONE,) * -(-len(self.a) // _SIZE)
        return (*(self.a_scales or ones), *self.a, *(self.b_scales or ones), *self.b)


def negative(fmt: ElementFormat, code: int) -> int:
    """The code of the negated number.

    >>> from mxref.formats.catalog import E2M1, INT8
    >>> negative(E2M1, 3), negative(INT8, 64), negative(INT8, 0)
    (11, 192, 0)
    """
    if fmt.twos_complement:
        return -code & 0xFF
    return code ^ 1 << fmt.bits - 1


@cache
def _positive(fmt: ElementFormat) -> dict[float, int]:
    """The codes of the positive numbers, by number in ascending order."""
    codes = range(1, fmt.max_code + 1)
    return {fmt.value(code): code for code in codes}


def power(fmt: ElementFormat, exponent: int) -> int:
    """The code of 2**exponent.

    >>> from mxref.formats.catalog import E4M3
    >>> hex(power(E4M3, 0)), hex(power(E4M3, -9))
    ('0x38', '0x1')
    """
    return _positive(fmt)[2.0**exponent]


@cache
def _exponents(fmt: ElementFormat) -> tuple[int, int]:
    """The exponents of the smallest and of the largest power of two of a format."""
    numbers = list(_positive(fmt))
    lowest = next(e for e in range(-32, 1) if 2.0**e in _positive(fmt))
    return lowest, next(e for e in range(32, -32, -1) if 2.0**e <= numbers[-1])


def designed_dots(a: BlockFormat, b: BlockFormat) -> Iterator[Dot]:
    """The dot products of a pair of formats whose results are float32 numbers."""
    formats = a.element, b.element
    for family in (_alone, _scale_pairs, _bands, _lengths, _swamped, _cancelling, _special):
        yield from family(*formats)
    if a == b:
        yield from _lanes(*formats)
    yield from _beyond(*formats)
    yield from last_roundings(*formats, 24)


# One product.


def _alone(a: ElementFormat, b: ElementFormat) -> Iterator[Dot]:
    """One product of the largest significands at each pair of binades; of many pairs a quarter."""
    rows = [list(_binade_ends(fmt)) for fmt in (a, b)]
    step = 1 if a == b and len(rows[0]) < 20 else 4
    for (i, x), (j, y) in itertools.product(*map(enumerate, rows)):
        if (i + j) % step == 0:
            x, y = negative(a, x) if (i + j) & 1 else x, negative(b, y) if j & 2 else y
            yield Dot(f"alone_{x:02x}_{y:02x}", (x,), (y,))


def _binade_ends(fmt: ElementFormat) -> Iterator[int]:
    """The code of the largest number of each binade."""
    low, high = _exponents(fmt)
    numbers = _positive(fmt)
    for exponent in range(low, high + 1):
        yield numbers[max(n for n in numbers if n < 2.0 ** (exponent + 1))]


def _lanes(a: ElementFormat, b: ElementFormat) -> Iterator[Dot]:
    """One product in each lane, with numbers everywhere else in one of the operands."""
    for lane in range(_SIZE):
        ones = _drawn(a if lane & 1 else b, _SIZE, 100 + lane)
        fmt = b if lane & 1 else a
        alone = [0] * _SIZE
        alone[lane] = power(fmt, 0) if lane & 2 else negative(fmt, power(fmt, 0))
        yield Dot(f"lane_{lane:02}", *((ones, alone) if lane & 1 else (alone, ones)))


def _scale_pairs(a: ElementFormat, b: ElementFormat) -> Iterator[Dot]:
    """The smallest and the largest numbers under pairs of scales, and zeros under NaN."""
    for (x, y), (m, s) in itertools.product(
        itertools.product(_SCALES, repeat=2), (("large", 1), ("small", 0))
    ):
        codes = [(list(_positive(fmt).values())[-s],) for fmt in (a, b)]
        if 0xFF in (x, y):
            if m == "large":
                yield Dot(f"scales_{x:02x}_{y:02x}_zeros", (0, 0), (0, 0), (x,), (y,))
            continue
        yield Dot(f"scales_{x:02x}_{y:02x}_{m}", *codes, (x,), (y,), ("scale_pair",))
    # Products of scales just beyond float32, where those with the elements are not.
    for x, y, code in ((0xFE, 0x80, 0), (0x80, 0xFE, 0), (0x00, 0x68, -1), (0x68, 0x00, -1)):
        codes = [(list(_positive(fmt).values())[code],) for fmt in (a, b)]
        yield Dot(f"scales_{x:02x}_{y:02x}", *codes, (x,), (y,), ("scale_pair",))


# Sums of many products.


def _drawn(fmt: ElementFormat, count: int, seed: int, binades: int = 99) -> list[int]:
    """Codes of both signs, of numbers in so many binades around 1; no zeros."""
    low, high = 2.0 ** -(binades // 2), 2.0 ** -(-binades // 2)
    some = [code for number, code in _positive(fmt).items() if low <= number < high]
    if fmt.twos_complement:
        some = [*some, 0x80] if binades > 8 else some
    draws = [int(word) for word in splitmix64(seed, count)]
    codes = [some[(word >> 8) % len(some)] for word in draws]
    return [negative(fmt, c) if word & 1 else c for c, word in zip(codes, draws, strict=True)]


def _bands(a: ElementFormat, b: ElementFormat) -> Iterator[Dot]:
    """Numbers of few binades: few or no sums of them are rounded in any order."""
    for index, (binades, count) in enumerate(
        ((1, 32), (1, 17), (2, 32), (2, 32), (3, 32), (3, 31), (4, 32), (5, 32), (1, 64), (2, 96))
    ):
        scales = _scales(count, index, 1 if binades < 3 else 4)
        sides = [_drawn(fmt, count, 200 + 2 * index + i, binades) for i, fmt in enumerate((a, b))]
        yield Dot(f"band_{index}", *sides, *scales)


def _scales(count: int, seed: int, spread: int) -> tuple[list[int], list[int]]:
    """Scales around 2**0, which differ from block to block."""
    draws = splitmix64(900 + seed, 2 * -(-count // _SIZE)).tolist()
    scales = [_ONE + word % (2 * spread + 1) - spread for word in draws]
    return scales[::2], scales[1::2]


def _lengths(a: ElementFormat, b: ElementFormat) -> Iterator[Dot]:
    """Codes of all binades, in whole blocks and with tails."""
    counts = [*[32] * 8, 33, 40, 63, 64, 64, 65, 95, 96, 96]
    counts += [1024] * (a == b and a.name in _LONG)
    for index, count in enumerate(counts):
        binades = 99 if index % 2 else 6
        sides = [_drawn(fmt, count, 300 + 2 * index + i, binades) for i, fmt in enumerate((a, b))]
        yield Dot(f"random_{index}_{count}", *sides, *_scales(count, 50 + index, 4))


# Sums that depend on order and precision.


def _swamped(a: ElementFormat, b: ElementFormat) -> Iterator[Dot]:
    """Small products between large ones that cancel, within a block and across blocks."""
    if a.name == b.name == "e4m3":
        for index, row in enumerate(SWAMPED):
            x, y = ([int(code, 16) for code in side.split()] for side in row)
            for name, lanes in _places(len(x)):
                sides = ([0] * (max(lanes) + 1), [0] * (max(lanes) + 1))
                for lane, *codes in zip(lanes, x, y, strict=True):
                    sides[0][lane], sides[1][lane] = codes
                yield Dot(f"row_{index}_{name}", *sides, flags=("swamping",))
    low, high = (sum(pair) for pair in zip(*map(_exponents, (a, b)), strict=True))
    for distance in (10, 13, 20, 24, 25, 26, 36, 45):
        if distance <= high - low:
            yield from _within(a, b, distance)
    for distance in (8, 13, 24, 25, 26, 36, 60):
        yield from _across(a, b, distance)


def _places(count: int) -> Iterator[tuple[str, list[int]]]:
    """Lanes of a few terms: in order, reversed, and 16 apart."""
    order = list(range(count))
    yield "forward", order
    yield "backward", order[::-1]
    yield "apart", [16 * i for i in order]
    yield "apart_backward", [16 * i for i in order[::-1]]


def _split(a: ElementFormat, b: ElementFormat, exponent: int) -> tuple[int, int]:
    """Codes of two powers of two with the product 2**exponent."""
    (low, high), (least, _) = _exponents(a), _exponents(b)
    first = min(max(low, exponent // 2), high)
    first = max(first, exponent - _exponents(b)[1])
    first = min(first, exponent - least)
    return power(a, first), power(b, exponent - first)


def _within(a: ElementFormat, b: ElementFormat, distance: int) -> Iterator[Dot]:
    """One block: a large product, 30 small ones, and the large one with the other sign."""
    low, high = (sum(pair) for pair in zip(*map(_exponents, (a, b)), strict=True))
    top = min(high, low + distance + (high - low - distance) // 2)
    large, small = _split(a, b, top), _split(a, b, top - distance)
    places = {"ends": (0, 31), "front": (0, 1), "back": (30, 31), "middle": (15, 16)}
    for name, (first, last) in places.items():
        x, y = [small[0]] * _SIZE, [small[1]] * _SIZE
        x[first] = x[last] = large[0]
        y[first], y[last] = large[1], negative(b, large[1])
        yield Dot(f"within_{distance}_{name}", x, y, flags=("swamping",))


def _across(a: ElementFormat, b: ElementFormat, distance: int) -> Iterator[Dot]:
    """Three blocks: two with a large product that cancels, and one of small numbers."""
    one = power(a, 0), power(b, 0)
    up, down = _ONE + -(-distance // 2), _ONE - distance // 2
    small = [_drawn(fmt, 3, 400 + distance + i, 2) for i, fmt in enumerate((a, b))]
    blocks = {
        "plus": ((one[0],), (one[1],), up),
        "small": (*small, down),
        "minus": ((one[0],), (negative(b, one[1]),), up),
    }
    for name, order in (
        ("between", ("plus", "small", "minus")),
        ("before", ("small", "plus", "minus")),
        ("behind", ("plus", "minus", "small")),
    ):
        parts = [blocks[part] for part in order]
        scales = [part[2] for part in parts]
        yield _joined(f"across_{distance}_{name}", parts, scales, scales[::-1], ("swamping",))


def _joined(
    name: str,
    parts: Sequence[tuple[Sequence[int], Sequence[int], int]],
    a_scales: Sequence[int],
    b_scales: Sequence[int],
    flags: tuple[str, ...] = (),
) -> Dot:
    """Blocks of a few elements each, one after the other; the last one ends with its elements."""
    sides: tuple[list[int], list[int]] = ([], [])
    for side, index in zip(sides, (0, 1), strict=True):
        for part in parts:
            side += [0] * (-len(side) % _SIZE)
            side += part[index]  # type: ignore[arg-type]
    return Dot(name, *sides, a_scales, b_scales, flags)


def _cancelling(a: ElementFormat, b: ElementFormat) -> Iterator[Dot]:
    """Sums that cancel: to zero, to one unit, and to subnormal numbers of float32."""
    x, y = _drawn(a, 16, 500), _drawn(b, 16, 501)
    minus = [negative(b, code) for code in y]
    flags = ("cancellation",)
    yield Dot("cancels_neighbours", _woven(x, x), _woven(y, minus), flags=flags)
    yield Dot("cancels_halves", [*x, *x], [*y, *minus], flags=flags)
    yield Dot("cancels_mirrored", [*x, *x[::-1]], [*y, *minus[::-1]], flags=flags)
    yield Dot("cancels_blocks", [*x, *[0] * 16, *x], [*y, *[0] * 16, *minus], flags=flags)
    yield Dot("negative_zeros", [negative(a, 0)] * 2, [power(b, 0)] * 2, flags=("zero",))
    one, two = power(a, 0), power(a, 1 if a.value(a.max_code) >= 2 else 0)
    for left, right in ((0x00, 0x61), (0x00, 0x6C), (0x01, 0x68), (0x3F, 0x2B), (0x00, 0x00)):
        name = f"{left:02x}_{right:02x}"
        x, y = _drawn(a, 8, 510), _drawn(b, 8, 511)
        yield Dot(f"subnormal_{name}", x, y, (left,), (right,), ("scale_pair",))
        z = [negative(b, code) for code in y]
        sides = [*x, one, *x], [*y, power(b, 0), *z]
        yield Dot(f"cancels_to_{name}", *sides, (left,), (right,), flags)
    y = [power(b, 0), power(b, 0), negative(b, power(b, 0))]
    yield Dot("large_to_small", [two, one, two], y, flags=flags)


def _woven(x: Sequence[int], y: Sequence[int]) -> list[int]:
    return [code for pair in zip(x, y, strict=True) for code in pair]


# Specials and ranges.


def _special(a: ElementFormat, b: ElementFormat) -> Iterator[Dot]:
    """NaN scales over zeros and numbers, NaN and infinite elements, in several places."""
    x, y = _drawn(a, 40, 600), _drawn(b, 40, 601)
    for place in ("first", "second"):
        scales = (0xFF, _ONE) if place == "first" else (_ONE, 0xFF)
        yield Dot(f"nan_scale_{place}_a", x, y, scales, (_ONE, _ONE), ("nan",))
        yield Dot(f"nan_scale_{place}_b", x, y, (_ONE, _ONE), scales, ("nan",))
    zeros = [0] * _SIZE
    yield Dot("nan_scale_zeros_a", zeros, zeros, (0xFF,), (_ONE,), ("nan",))
    yield Dot("nan_scale_zeros_b", zeros, y[:_SIZE], (_ONE,), (0xFF,), ("nan",))
    for side, (fmt, other) in enumerate(((a, b), (b, a))):
        label = "ab"[side]
        for code in fmt.nan_codes:
            for lane, partner in ((0, 0), (15, power(other, 0)), (31, 0)):
                yield _with(f"nan_{code:02x}_{lane}_{label}", (x, y), side, lane, code, partner)
        if fmt.inf_code is None:
            continue
        inf = fmt.inf_code
        for code, name in ((inf, "inf"), (negative(fmt, inf), "minus_inf")):
            for lane, partner, what in (
                (0, power(other, 0), "one"),
                (16, negative(other, power(other, 0)), "minus_one"),
                (31, 0, "zero"),
                (31, negative(other, 0), "minus_zero"),
            ):
                if not (what == "minus_zero" and other.twos_complement):
                    case = f"{name}_times_{what}_{label}"
                    yield _with(case, (x, y), side, lane, code, partner)
        dot = _with(f"inf_minus_inf_{label}", (x, y), side, 3, inf, power(other, 0))
        yield _with(dot.name, (dot.a, dot.b), side, 20, inf, negative(other, power(other, 0)))
        dot = _with(f"inf_plus_inf_{label}", (x, y), side, 3, inf, power(other, 0))
        yield _with(dot.name, (dot.a, dot.b), side, 20, inf, power(other, 0))
    if a.inf_code is not None and b.inf_code is not None:
        yield Dot("inf_times_inf", (a.inf_code, 1), (b.inf_code, 1), flags=("inf",))


def _with(
    name: str,
    rows: tuple[Sequence[int], Sequence[int]],
    side: int,
    lane: int,
    code: int,
    partner: int,
) -> Dot:
    """One block with a special element, and what it is multiplied by."""
    changed = [list(row[:_SIZE]) for row in rows]
    changed[side][lane], changed[1 - side][lane] = code, partner
    return Dot(name, *changed, flags=("nan" if name.startswith("nan") else "inf",))


def _beyond(a: ElementFormat, b: ElementFormat) -> Iterator[Dot]:
    """Sums whose parts are beyond float32, or just below that."""
    one, minus = power(a, 0), negative(b, power(b, 0))
    plus = power(b, 0)
    flags = ("sum_overflow",)
    for name, x, y in (
        ("then_back", (one, one, one), (plus, plus, minus)),
        ("and_stays", (one, one), (plus, plus)),
        ("negative", (one, one), (minus, minus)),
    ):
        parts = [((left,), (right,), 0) for left, right in zip(x, y, strict=True)]
        for low in (0xFE, 0xFD):
            scales = [low] * len(parts)
            ones = [_ONE] * len(parts)
            yield _joined(f"beyond_{name}_{low:02x}", parts, scales, ones, flags)
    x, y = _drawn(a, _SIZE, 700), _drawn(b, _SIZE, 701)
    for left in (0xF0, 0xF8, 0xFE):
        yield Dot(f"beyond_random_{left:02x}", x, y, (left,), (_ONE,), flags)
    # The largest float32 number, and the tie above it, from two products.
    yield from _sums("largest", a, b, (127, 103), (1, -1), flags)
    yield from _sums("beyond_tie", a, b, (127, 127, 102), (1, 1, -1), flags)
    yield from _sums("beyond_largest", a, b, (127, 127, 103), (1, 1, -1), flags)


# The last rounding.


def last_roundings(a: ElementFormat, b: ElementFormat, bits: int) -> Iterator[Dot]:
    """Ties of results of some significant bits, and what lies beside them.

    Sums of few powers of two, one in each block, so that every format has them.
    """
    for sign in (1, -1):
        word = "plus" if sign > 0 else "minus"
        ulp = 1 - bits
        for name, exponents, signs in (
            ("tie_even", (0, ulp - 1), (1, 1)),
            ("tie_odd", (0, ulp, ulp - 1), (1, 1, 1)),
            ("above_tie", (0, ulp - 1, -60), (1, 1, 1)),
            ("below_tie", (0, ulp - 1, -60), (1, 1, -1)),
            ("just_above", (0, ulp - 1, -30), (1, 1, 1)),
            ("just_below", (0, ulp - 1, -30), (1, 1, -1)),
            ("below_power", (0, ulp - 2), (1, -1)),
            ("below_power_tie", (0, ulp - 3), (1, -1)),
            ("sticky_alone", (0, -100), (1, 1)),
        ):
            yield from _sums(f"{name}_{word}", a, b, exponents, [sign * s for s in signs], ("tie",))


def _sums(
    name: str,
    a: ElementFormat,
    b: ElementFormat,
    exponents: Sequence[int],
    signs: Sequence[int],
    flags: tuple[str, ...],
) -> Iterator[Dot]:
    """The sum of powers of two, one in each block."""
    halves = [(e - e // 2, e // 2) for e in exponents]
    parts = [
        ((power(a, 0),), (power(b, 0) if s > 0 else negative(b, power(b, 0)),), 0) for s in signs
    ]
    scales = [[_ONE + half[i] for half in halves] for i in (0, 1)]
    yield _joined(name, parts, *scales, flags)


def narrow_dots(a: ElementFormat, b: ElementFormat, layout: FloatLayout) -> Iterator[Dot]:
    """Sums at the ends of a narrow float type, and some of many products."""
    p = layout.mantissa_bits
    top, low = layout.bias, layout.emin - p
    if layout.name == "f16":
        for name, exponents, signs in (
            ("largest", (top + 1, top - p), (1, -1)),
            ("beyond_tie", (top + 1, top - p - 1), (1, -1)),
            ("below_beyond_tie", (top + 1, top - p - 1, top - 40), (1, -1, -1)),
            ("smallest", (low,), (1,)),
            ("half_smallest", (low - 1,), (1,)),
            ("above_half_smallest", (low - 1, low - 40), (1, 1)),
            ("subnormal_tie", (low + 1, low - 1), (1, 1)),
            ("subnormal_odd_tie", (low + 1, low, low - 1), (1, 1, 1)),
            ("below_normal", (low + p, low - 1), (1, -1)),
        ):
            for sign, word in ((1, "plus"), (-1, "minus")):
                some = [sign * s for s in signs]
                yield from _sums(f"{name}_{word}", a, b, exponents, some, ())
    for index, count in enumerate((32, 32, 32, 64, 96, 40)):
        sides = [_drawn(fmt, count, 800 + 2 * index + i, 6) for i, fmt in enumerate((a, b))]
        yield Dot(f"random_{index}_{count}", *sides, *_scales(count, 70 + index, 2))
    x, y = [power(a, 0)] * 3, [power(b, 0)] * 3
    yield Dot("nan", x, y, (0xFF,), (_ONE,), ("nan",))
