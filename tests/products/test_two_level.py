"""Products under small floats, scales of tensors and of tiles, against the slow twin."""

from __future__ import annotations

import dataclasses
import itertools
from fractions import Fraction
from operator import mul
from typing import Any

import numpy as np
import pytest
from helpers import SOURCES
from two_level_rows import (
    EXTREME,
    FINITE,
    LARGE,
    NAMED,
    SPECIAL,
    drawn_blocks,
    last_place,
    of_tensor,
    scales_of,
    slow_rows,
    width_of,
)

import mxref
from mxref.blocks.two_level import RowScales, TensorScale, TensorScaleKind
from mxref.exact import dot as slow
from mxref.exact.adders import accumulation
from mxref.exact.chain_bounds import chained_dot_bounds
from mxref.products.dot import exact_in_every_order

PAIRS = [
    ("nvfp4", "nvfp4"), ("nvfp4", "tiles"), ("tiles", "fp4_ue4m3"), ("fp4_ue5m3", "fp4_e8m0"),
    ("nvfp4", "mxfp8_e4m3"), ("infinities", "eights"), ("eights", "power_tiles"),
    ("mxfp4_e2m1", "power_tiles"), ("small_tiles", "nvfp4"), ("infinities", "infinities"),
]  # fmt: skip


def bits(array: Any) -> Any:
    return array.view(f"u{array.itemsize}")


def pairs_of(
    names: tuple[str, str], scales: Any, seed: int, *, special: bool = False, spread: int = 16
) -> list[tuple[mxref.Blocks, mxref.Blocks]]:
    """Both sides of a product, under each pair of tensor scales that both have."""
    draws = np.random.default_rng([seed, *"".join(names).encode()])
    found = []
    for one, other in scales:
        width = int(draws.choice([1, 16, 37, 64, 70]))
        shapes, factors = ((3, width), (9, width)), (one, other)
        sides = zip(names, shapes, factors, strict=True)
        found.append(tuple(drawn_blocks(n, s, draws, f, special, spread) for n, s, f in sides))
    return found  # type: ignore[return-value]


@pytest.mark.parametrize("names", PAIRS, ids="-".join)
def test_exact_products_equal_the_slow_twin(names: tuple[str, str]) -> None:
    every = (*FINITE, *SPECIAL, *EXTREME)
    scales = [*zip(every, reversed(every), strict=True), *zip(every, every, strict=True)]
    for number, (a, b) in enumerate(pairs_of(names, scales, 1, special=True, spread=127)):
        left, right = slow_rows(a), slow_rows(b)
        for source in [*SOURCES][number % 4 :: 2]:
            found = bits(mxref.matmul(a, b.T, SOURCES[source]))
            want = [[slow.dot(x, y, source) for y in right] for x in left]
            assert found.tolist() == want, (scales[number], source)


#: Scales of rows: ordinary ones, the ends of float32, and special ones.
OF_ROWS = [0x3B124925, 0x3F800000, 0x30000000, 1, 0x7F7FFFFF, 0x007FFFFF, 0, 0x7F800000, 0x7FC00000]


def with_rows(blocks: mxref.Blocks, of_rows: list[int], kind: str) -> tuple[mxref.Blocks, Any]:
    """Blocks with a scale for each row, if they may have some, and their rows for the slow twin."""
    if not blocks.format.tensor_scale:
        return blocks, slow_rows(blocks)
    column = np.array(of_rows, np.uint32)[:, np.newaxis]
    every = RowScales(column, TensorScaleKind(kind))
    ones = (dataclasses.replace(blocks, tensor_scale=TensorScale(n, every.kind)) for n in of_rows)
    return (
        dataclasses.replace(blocks, tensor_scale=every),
        [slow_rows(one)[i] for i, one in enumerate(ones)],
    )


@pytest.mark.parametrize("kinds", [("factor", "factor"), ("factor", "divisor"), ("amax", "factor")])
@pytest.mark.parametrize("names", [PAIRS[0], PAIRS[4], PAIRS[-1]], ids="-".join)
def test_products_of_rows_with_scales_of_their_own(
    names: tuple[str, str], kinds: tuple[str, str], monkeypatch: pytest.MonkeyPatch
) -> None:
    draws = np.random.default_rng([4, *"".join(names).encode()])
    for number, count in enumerate((9, 6, 6)):  # with special ones, and twice without
        if number == 2:  # as where the processor is told to round otherwise: by integers
            monkeypatch.setattr("mxref.products.exact_sums.rounds_to_nearest", lambda: False)
        sides = (drawn_blocks(name, (count, 70), draws, special=number < 2) for name in names)
        orders = OF_ROWS[:count], OF_ROWS[count - 1 :: -1]
        (a, left), (b, right) = map(with_rows, sides, orders, kinds)
        for source in SOURCES:
            want = [[slow.dot(x, y, source) for y in right] for x in left]
            assert bits(mxref.matmul(a, b.T, SOURCES[source])).tolist() == want, (count, source)


def test_infinite_numbers_times_zeros_are_nan() -> None:
    """No number of the second operand is left under a factor of 0."""
    one = (
        {"tensor_scale": TensorScale(0, TensorScaleKind.DIVISOR)},
        {"tensor_scale": TensorScale(0)},
    )
    codes, scales = np.full((1, 16), 2, np.uint8), np.uint8([[0x38]])
    a, b = (mxref.Blocks(codes, scales, "nvfp4", 1, (1, 16), **x) for x in one)
    assert np.isnan(mxref.matmul(a, b.T)).all()
    (x,), (y,) = slow_rows(a), slow_rows(b)
    assert slow.dot(x, y) == 0x7FC00000


@pytest.mark.parametrize("names", PAIRS, ids="-".join)
def test_intervals_equal_the_slow_twin(names: tuple[str, str]) -> None:
    scales = [
        *zip(FINITE, FINITE[3:] + FINITE[:3], strict=True),
        *(LARGE * 2),
        LARGE[0],  # under the other rounding
        (SPECIAL[0], FINITE[0]),
        FINITE[8:],
    ]
    free = []
    for number, (a, b) in enumerate(pairs_of(names, scales, 2, special=True)):
        left, right = slow_rows(a), slow_rows(b)
        source, rounding = [*SOURCES][number % 4], ("nearest", "any")[number % 2]
        ends = mxref.matmul_bounds(a, b.T, SOURCES[source], rounding=rounding)  # type: ignore[arg-type]
        want = [[slow.dot_bounds(x, y, source, rounding) for y in right] for x in left]
        assert np.moveaxis(np.array([bits(end) for end in ends]), 0, 2).tolist() == [
            [list(one) for one in some] for some in want
        ], scales[number]
        found = exact_in_every_order(a, b.T)
        assert found.tolist() == [[slow.exact_in_every_order(x, y) for y in right] for x in left]
        free.append(found)
    assert 0 < np.concatenate(free).mean() < 1


@pytest.mark.parametrize("names", PAIRS, ids="-".join)
def test_intervals_of_chains_equal_the_slow_twin(names: tuple[str, str]) -> None:
    scales = [*LARGE, *zip(FINITE, FINITE[3:] + FINITE[:3], strict=True)]
    for number, (a, b) in enumerate(pairs_of(names, scales, 3)):
        if width_of(a) != width_of(b):
            break
        source, kept, step = [*SOURCES][number % 4], (13, 25, 35)[number % 3], (32, 64)[number % 2]
        ends = mxref.matmul_bounds(a, b.T, SOURCES[source], rounding="any", bits=kept, step=step)
        formats = a.format, b.format
        more = width_of(a), tuple(f.scale.name for f in formats), (of_tensor(a), of_tensor(b))
        want = [
            [
                list(
                    chained_dot_bounds(
                        x, y, s, t, *(f.element.name for f in formats), kept, step, source, *more
                    )
                )
                for y, t in zip(b.codes.tolist(), scales_of(b), strict=True)
            ]
            for x, s in zip(a.codes.tolist(), scales_of(a), strict=True)
        ]
        assert np.moveaxis(np.array([bits(end) for end in ends]), 0, 2).tolist() == want


ORDERS = ["sequential", "pairwise", "by_block", "scales_last"]
ADDERS = [
    *((("nvfp4", "nvfp4"), how) for how in [*ORDERS, "aligned_35"]),
    *((("fp4_ue4m3", "tiles"), how) for how in [*ORDERS, "aligned_35"]),
    *((("fp4_e8m0", "fp4_e8m0"), how) for how in ["by_block", "aligned_35"]),
    (("power_tiles", "mxfp8_e4m3"), "aligned_25"),
    (("power_tiles", "mxfp8_e4m3"), "aligned_13"),
    (("eights", "eights"), "scales_last"),
]


@pytest.mark.parametrize(("names", "how"), ADDERS)
def test_adders_equal_the_slow_twin_and_stay_in_the_intervals(
    names: tuple[str, str], how: Any
) -> None:
    scales = [*zip(FINITE, FINITE[3:] + FINITE[:3], strict=True)]
    for a, b in pairs_of(names, scales, 4):
        formats = a.format, b.format
        alpha = of_tensor(a).factor * of_tensor(b).factor
        rest = width_of(a), tuple(f.scale.name for f in formats), alpha
        want = [
            [
                accumulation(x, y, s, t, *(f.element.name for f in formats), how, *rest)
                for y, t in zip(b.codes.tolist(), scales_of(b), strict=True)
            ]
            for x, s in zip(a.codes.tolist(), scales_of(a), strict=True)
        ]
        found = mxref.matmul(a, b.T, accumulation=how)
        assert bits(found).tolist() == want
        rounding = "any" if how.startswith("aligned") else "nearest"
        if how not in ("aligned_13", "scales_last"):
            assert mxref.matmul_bounds(a, b.T, rounding=rounding).hold(found).all()  # type: ignore[arg-type]
            free = exact_in_every_order(a, b.T)
            assert np.array_equal(found[free], mxref.matmul(a, b.T)[free])
        if how == "aligned_35":
            ends = mxref.matmul_bounds(a, b.T, rounding="any", bits=35, step=64)
            assert ends.hold(found).all()


@pytest.mark.parametrize(("second", "kept"), [(2, 2.0**-8), (3, 2.0**-9), (4, 0.0)])
def test_the_last_place_that_counts_beside_the_largest_group(second: int, kept: float) -> None:
    a, b = last_place(second)
    assert mxref.matmul(a, b.T) == 2.0 ** (-6 - second)
    assert mxref.matmul(a, b.T, accumulation="aligned_35") == kept


def test_every_way_to_multiply_by_the_scales_of_tensors_stays_in_the_interval() -> None:
    """On the sum, at once or one after the other; on each element; as libraries read elements."""
    f = np.float32
    draws = np.random.default_rng(7)
    wide = 0
    for _ in range(60):
        scales = [(int(n), "factor") for n in draws.integers(0x38000000, 0x44000000, 2)]
        width = int(draws.choice([1, 2, 5, 16, 48]))
        a, b = (drawn_blocks("nvfp4", (12, width), draws, s) for s in scales)
        s, t = (f(x.tensor_scale.value) for x in (a, b) if x.tensor_scale)
        plain = [
            mxref.dequantize(x.codes, scale_codes=x.scale_codes, block_format="fp4_ue4m3")
            for x in (a, b)
        ]
        read = [x.dequantize() for x in (a, b)]
        torchao = [x.dequantize(scale_arithmetic="torchao") for x in (a, b)]

        def added(x: Any, y: Any) -> Any:
            total = x[:, None, 0] * y[:, 0]
            for k in range(1, x.shape[1]):
                total = total + x[:, None, k] * y[:, k]
            return total

        plain_sum = added(*plain)
        results = [plain_sum * (s * t), plain_sum * s * t, added(*read), added(*torchao)]
        bounds = mxref.matmul_bounds(a, b.T)
        for result in results:
            assert result.dtype == np.float32
            assert bounds.hold(result).all()
        exact = mxref.matmul(a, b.T)
        wide += sum(int((result != exact).sum()) for result in results)
    assert wide > 1000


def test_a_tie_that_the_scale_of_a_tensor_makes() -> None:
    """3 · 1 times T, an odd float32 number: exact sums rounded to float64 first would be wrong."""
    codes = np.zeros((1, 16), np.uint8)
    codes[0, 0] = 2
    one = mxref.Blocks(codes, [[0x38]], "nvfp4", 1, (1, 16), tensor_scale=1.0)
    for number in (1.0 + 2.0**-23, 1.0 + 3 * 2.0**-23, 1.5 - 2.0**-23):
        other = mxref.Blocks(codes, [[0x38]], "nvfp4", 1, (1, 16), tensor_scale=number)
        for dtype in SOURCES.values():
            square = mxref.matmul(other, other.T, dtype)
            want = Fraction(number) ** 2
            assert bits(square)[0, 0] == bits(np.array(float(want), dtype)), (number, dtype)
            assert mxref.matmul(one, other.T, np.float64) == number


def test_tiles_are_read_along_either_axis() -> None:
    draws = np.random.default_rng(9)
    for name in ("tiles", "power_tiles", "small_tiles"):
        tile = drawn_blocks(name, (40, 50), draws)
        values = tile.dequantize(np.float64)
        for side, numbers in ((tile, values), (tile.T, values.T)):
            x = drawn_blocks("fp4_ue4m3", (3, numbers.shape[1]), draws)
            got = mxref.matmul(x, side.T, np.float64)
            rows = [[*map(Fraction, row)] for row in x.dequantize(np.float64).tolist()]
            columns = [[*map(Fraction, row)] for row in numbers.tolist()]
            assert got.tolist() == [[float(sum(map(mul, p, q))) for q in columns] for p in rows]
            assert np.array_equal(mxref.matmul(side, x.T, np.float64), got.T)


@pytest.mark.parametrize("name", ["nvfp4", "fp4_ue4m3", "tiles"])
def test_one_product_of_every_two_codes_and_scales(name: str) -> None:
    """All elements under all scales that are numbers, with one another element and scale."""
    fmt = NAMED["nvfp4" if name == "tiles" else name]
    codes, scales = (axis.ravel() for axis in np.meshgrid(np.arange(16), np.arange(127)))
    factor = 0.37109375 if fmt.tensor_scale else None
    a = mxref.Blocks(codes[:, None], scales[:, None], fmt, 1, (len(codes), 1), tensor_scale=factor)
    values = a.dequantize(np.float64)
    for place in range(0, len(codes), 97):
        b = a[place : place + 1]
        assert np.array_equal(mxref.matmul(a, b.T, np.float64), values @ b.dequantize(np.float64).T)


def test_pairs_of_formats_are_named() -> None:
    assert {name for pair in PAIRS for name in pair} == {*NAMED}
    assert len({*itertools.chain(FINITE, SPECIAL, EXTREME)}) == 17


@pytest.mark.parametrize("names", [("nvfp4", "nvfp4"), ("nvfp4", "mxfp8_e4m3")], ids="-".join)
def test_scales_of_rows_are_those_of_products_row_by_row(names: tuple[str, str]) -> None:
    """Scales of each kind, of one side or both, 0 and infinity among them."""
    draws = np.random.default_rng(11)
    for one, other in (("factor", "factor"), ("divisor", "amax"), ("amax_256", "divisor")):
        sides = []
        for name, kind, count in zip(names, (one, other), (3, 4), strict=True):
            plain = drawn_blocks(name, (count, 48), draws, (0x3F800000, kind), False, 8)
            rows, whole = [], plain
            if plain.tensor_scale is not None:
                patterns = draws.choice([0x3B124925, 0x40718A12, 0, 0x7F800000], count)
                column = np.sort(patterns).astype(np.uint32)[:, np.newaxis]
                whole = dataclasses.replace(plain, tensor_scale=RowScales(column, kind))
                rows = [TensorScale(bits, kind) for bits in column[:, 0].tolist()]
            each = [
                dataclasses.replace(plain[i : i + 1], tensor_scale=rows[i] if rows else None)
                for i in range(count)
            ]
            sides.append((whole, each))
        (a, rows_a), (b, rows_b) = sides
        calls: list[Any] = [
            lambda x, y: [mxref.matmul(x, y.T)],
            lambda x, y: [mxref.matmul(x, y.T, alpha=3, bias=np.ones(y.shape[0]))],
            lambda x, y: mxref.matmul_bounds(x, y.T),
            lambda x, y: mxref.matmul_bounds(x, y.T, rounding="any", bits=13, step=16),
            lambda x, y: [mxref.matmul(x, y.T, accumulation="pairwise")],
            lambda x, y: [exact_in_every_order(x, y.T)],
        ]
        for call in calls:
            found = call(a, b)
            want = [[call(x, y) for y in rows_b] for x in rows_a]
            for number, part in enumerate(found):
                cells = [[one[number].item() for one in row] for row in want]
                assert np.array_equal(part, cells, equal_nan=True)
    assert np.array_equal(
        mxref.matmul(b, a.T), mxref.matmul(a, b.T).T, equal_nan=True
    )  # the other way
