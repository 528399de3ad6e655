"""Dot products in blocks of 16, under scales of tensors: the inputs of the cases of NVFP4."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from typing import TypeAlias

from mxref.bits.floats import FloatLayout
from mxref.formats.base import CodeFormat
from mxref.formats.catalog import E8M0, BlockFormat, ElementFormat
from mxref.golden.dot_inputs import drawn_codes, negative, power
from mxref.operands.case_input import CaseInput, spelled
from mxref.operands.splitmix import splitmix64
from mxref.operations.product_words import ONE, DotSide, code_of_one, pair_formats

__all__ = ["narrow_scaled_dots", "scaled_dots", "swamped_blocks"]

_MODEL = "M26"
#: Scales of both tensors: powers of two, one of them alone, products that are rounded, and those of
#: tensors whose amax is 1, 6 and 1000.
_TENSORS = (
    (0x3F000000, 0x40800000),  # 1/2 and 4
    (0x40400000, ONE),  # 3
    (ONE, 0x40400000),
    (0x3EAAAAAB, 0x3E124925),  # 1/3 and 1/7
    (0x3DCCCCCD, 0x41200000),  # 1/10 and 10
    (0x3FFFFFFF, 0x3F800001),
    (0x39C30C31, 0x39C30C31),  # 1/2688
    (0x3B124925, 0x3EBE79E8),  # 6/2688 and 1000/2688
    (0x35800000, 0x4F000000),  # 2**-20 and 2**31
)
_Pair: TypeAlias = "tuple[list[int], list[int]]"
#: Elements of products of random numbers.
_LENGTHS = (15, 16, 17, 31, 32, 33, 48, 64, 65, 100, 128, 256, 512)


@dataclass(frozen=True, slots=True)
class _Maker:
    """Cases of two formats of E2M1, whose codes and scales are 1 unless they are said."""

    formats: tuple[BlockFormat, BlockFormat]

    @property
    def element(self) -> ElementFormat:
        """The elements of both."""
        return self.formats[0].element

    @property
    def has_fractions(self) -> bool:
        """Whether scales of a side are no powers of two alone."""
        return any(fmt.scale.mantissa_bits for fmt in self.formats)

    def case(
        self,
        name: str,
        rows: tuple[Sequence[int], Sequence[int]],
        scales: tuple[Sequence[int], Sequence[int]] | None = None,
        tensors: tuple[int, int] = (ONE, ONE),
        flags: tuple[str, ...] = (),
    ) -> CaseInput:
        """A case of both rows, their scales and their tensors' scales."""
        blocks = -(-len(rows[0]) // self.formats[0].elements_per_block)
        one, other = ((code_of_one(fmt),) * blocks for fmt in self.formats)
        sides = [
            DotSide(tuple(some), tuple(row), tensor if fmt.tensor_scale else None)
            for row, some, tensor, fmt in zip(
                rows, scales or (one, other), tensors, self.formats, strict=True
            )
        ]
        return CaseInput(name, (*sides[0].words, *sides[1].words), _MODEL, flags)

    def powers(
        self, name: str, exponents: Sequence[int], signs: Sequence[int], flags: tuple[str, ...]
    ) -> CaseInput:
        """A sum of powers of two, each in a block of its own."""
        element, size = self.element, self.formats[0].elements_per_block
        one = power(element, 0)
        rows: tuple[list[int], list[int]] = ([], [])
        scales: tuple[list[int], list[int]] = ([], [])
        for exponent, sign in zip(exponents, signs, strict=True):
            for row in rows:
                row += [0] * (-len(row) % size) + [one]
            rows[1][-1] = one if sign > 0 else negative(element, one)
            parts = (exponent - exponent // 2, exponent // 2)
            for some, part, fmt in zip(scales, parts, self.formats, strict=True):
                some.append(power(fmt.scale, part))
        return self.case(name, rows, scales, flags=flags)

    def scales(self, count: int, seed: int, spread: int, side: int) -> list[int]:
        """Scale codes of a side around that of 1, one for each block."""
        fmt = self.formats[side]
        words = splitmix64(seed, -(-count // fmt.elements_per_block)).tolist()
        return [code_of_one(fmt) + word % (2 * spread + 1) - spread for word in words]

    def random(self, count: int, seed: int, spread: int = 20) -> tuple[_Pair, _Pair]:
        """Both rows, and their scales, which are within some codes of 1; of E8M0 an eighth."""
        a, b = (drawn_codes(self.element, count, seed + i) for i in (0, 1))
        most = (spread if fmt.scale.mantissa_bits else spread // 8 for fmt in self.formats)
        x, y = (self.scales(count, seed + 2 + i, some, i) for i, some in enumerate(most))
        return (a, b), (x, y)


def scaled_dots(pair: str) -> Iterator[CaseInput]:
    """The dot products of a format of blocks of 16 whose results are float32 numbers."""
    make = _Maker(pair_formats(pair))
    for family in (_codes, _scales, _special, _zeros, _swamped):
        yield from family(make)
    yield from _roundings(make, 24)
    yield from _random(make)


def narrow_scaled_dots(pair: str, layout: FloatLayout) -> Iterator[CaseInput]:
    """Those whose results are numbers of a narrow float."""
    make = _Maker(pair_formats(pair))
    yield from _roundings(make, layout.mantissa_bits + 1)
    yield from _random(make)


def swamped_blocks(pair: str) -> Iterator[CaseInput]:
    """Those whose answers tell how is added."""
    return _swamped(_Maker(pair_formats(pair)))


def _codes(make: _Maker) -> Iterator[CaseInput]:
    """Every element code once, and one product in lanes of the first and of other blocks."""
    one = power(make.element, 0)
    for code in range(make.element.code_count):
        rows = ([code], [one]) if code % 2 else ([one], [code])
        yield make.case(f"code_{code:02x}", rows)
    for lane in (0, 1, 7, 8, 15, 16, 17, 31, 32, 47):
        count = lane // 16 * 16 + 16
        numbers, alone = drawn_codes(make.element, count, 900 + lane), [0] * count
        alone[lane] = one
        scales = make.scales(count, 940 + lane, 3, 0), make.scales(count, 980 + lane, 3, 1)
        rows = (numbers, alone) if lane % 2 else (alone, numbers)
        yield make.case(f"lane_{lane:02}", rows, scales)


def _scales(make: _Maker) -> Iterator[CaseInput]:
    """Scale codes at their ends, in one operand and in both."""
    has_tensors = any(fmt.tensor_scale for fmt in make.formats)
    a, b = (_ends(fmt.scale, has_tensors=has_tensors) for fmt in make.formats)
    (one, other), (largest, least) = map(code_of_one, make.formats), (7, 1)
    for code in dict.fromkeys((*a, *b)):
        for name, x, y in (("a", code, other), ("b", one, code), ("both", code, code)):
            if (name == "b" or code in a) and (name == "a" or code in b):
                yield make.case(f"scale_{code:02x}_{name}", ([largest], [least]), ([x], [y]))


def _ends(scale: CodeFormat, *, has_tensors: bool) -> tuple[int, ...]:
    """Codes at the ends of a format of scales, and around 1.

    With scales of tensors float32 sums suppose normal products, so that E8M0 ends before.
    """
    if scale == E8M0:
        return (0x40, 0x61, 0x7F, 0x83, 0xC0) if has_tensors else (0, 1, 0x61, 0x7F, 0x83, 0xFE)
    one, subnormals = scale.bias << scale.mantissa_bits, 1 << scale.mantissa_bits
    top = scale.max_code
    return (0x00, 0x01, subnormals - 1, subnormals, one - 1, one + 1, top - 1, top)


def _special(make: _Maker) -> Iterator[CaseInput]:
    """NaN scales over numbers and over zeros, in each block."""
    ones = [[code_of_one(fmt)] * 3 for fmt in make.formats]
    numbers = drawn_codes(make.element, 40, 990)
    for place in range(3):
        for side in (0, 1):
            both = ones[0].copy(), ones[1].copy()
            (both[side][place],) = make.formats[side].scale.nan_codes
            rows = ([0] * 40, [0] * 40) if place == 1 else (numbers, numbers)
            yield make.case(f"nan_scale_{place}_{'ab'[side]}", rows, both, flags=("nan",))


def _zeros(make: _Maker) -> Iterator[CaseInput]:
    """Zeros of both signs, and sums that cancel."""
    element = make.element
    minus, one = negative(element, 0), power(element, 0)
    yield make.case("zeros", ([0] * 20, [0] * 20))
    yield make.case("negative_zeros", ([minus] * 3, [one] * 3))
    row = drawn_codes(element, 24, 1000)
    negated = [negative(element, code) for code in row]
    both = [*row, *[0] * 8, *row], [*row, *[0] * 8, *negated]
    scales = make.scales(24, 1003, 3, 0) * 2, make.scales(24, 1003, 3, 1) * 2
    yield make.case("cancels_blocks", both, scales, flags=("cancellation",))


def _swamped(make: _Maker) -> Iterator[CaseInput]:
    """Small products between large ones that cancel: what is lost tells how is added."""
    flags = ("swamping",)
    for large, small in ((16, -9), (16, -18), (8, -16), (4, -19)):
        if not make.has_fractions:
            large, small = 2 * large, 2 * small
        small = max(small, -18) if make.has_fractions else small
        for name, exponents, signs in (
            ("between", (large, small, large), (1, 1, -1)),
            ("first", (small, large, large), (1, 1, -1)),
            ("two", (large, small, small, large), (1, 1, 1, -1)),
            ("apart", (large, small, large, small), (1, 1, -1, -1)),
            ("later", (large, 0, 0, 0, small, 0, large), (1, 1, -1, 1, 1, -1, -1)),
        ):
            title = f"swamped_{large}_{spelled(small)}_{name}"
            yield make.powers(title, exponents, signs, flags)
    if make.has_fractions:  # of UE4M3 the largest power and the least are 2**40 apart
        large, small, minus = 6, 1, 14
        tops, leasts = ([power(fmt.scale, e) for fmt in make.formats] for e in (8, -9))
        for name, order in (("between", (0, 1, 2)), ("first", (1, 0, 2)), ("last", (0, 2, 1))):
            blocks = [((large, large), tops), ((small, small), leasts), ((large, minus), tops)]
            rows: tuple[list[int], list[int]] = ([], [])
            scales = [[blocks[place][1][side] for place in order] for side in (0, 1)]
            for place in order:
                for row, code in zip(rows, blocks[place][0], strict=True):
                    row += [code, *[0] * 15]
            yield make.case(f"swamped_most_{name}", rows, (scales[0], scales[1]), flags=flags)


def _roundings(make: _Maker, bits: int) -> Iterator[CaseInput]:
    """Ties of results with some number of significant bits, and their neighbours."""
    top = 7
    half, least = top - bits, -18
    for name, exponents, signs in (
        ("tie_even", (top, half), (1, 1)),
        ("tie_odd", (top, half + 1, half), (1, 1, 1)),
        ("above_tie", (top, half, least), (1, 1, 1)),
        ("below_tie", (top, half, least), (1, 1, -1)),
        ("below_power", (top, half - 1), (1, -1)),
    ):
        for sign, word in ((1, "plus"), (-1, "minus")):
            if min(exponents) >= least:
                turned = [sign * one for one in signs]
                yield make.powers(f"{name}_{word}", exponents, turned, ("tie",))


def _random(make: _Maker) -> Iterator[CaseInput]:
    """Numbers of every kind, of many lengths, and under each pair of tensors' scales."""
    for number, count in enumerate(_LENGTHS):
        tensors = _TENSORS[number % 3 * 3]
        yield make.case(f"random_{count}", *make.random(count, 1100 + 4 * number), tensors)
    for number, count in enumerate((33, 64, 100, 256)):
        yield make.case(f"wide_{count}", *make.random(count, 1160 + 4 * number, 50))
    if any(fmt.tensor_scale for fmt in make.formats):
        for number, tensors in enumerate(_TENSORS):
            yield make.case(f"tensors_{number}_one", ([7], [3]), None, tensors)
            more = make.random(40, 1200 + 4 * number)
            yield make.case(f"tensors_{number}_sum", *more, tensors)
