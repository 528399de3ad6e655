"""Bounds of chains of aligned steps: every adder is inside, some are near the ends."""

from __future__ import annotations

import dataclasses
import itertools
from fractions import Fraction
from typing import Any

import ml_dtypes
import numpy as np
import pytest
from designed_dots import block_format
from numpy.typing import NDArray
from plain_rows import DTYPES, PLAIN, before, drawn, pairs, with_few_specials, words

import mxref
from mxref import ADDERS, Adder, mma, mma_bounds
from mxref.exact.adder_steps import UNITS, Unit
from mxref.exact.chain_bounds import chained_dot_bounds, multiplied_bounds
from mxref.formats.catalog import element_format

ALIGNED = [name for name in PLAIN if ADDERS[name].is_aligned]
LENGTHS = (1, 3, 16, 33, 64, 100, 256, 1000)
E4M3 = ml_dtypes.float8_e4m3fn
#: Two significands whose product is next below 2, and the exponent of the smallest normal number.
ELEMENTS = {
    "e4m3": (1.75, 1.125, -6), "e5m2": (1.5, 1.25, -14), "f16": (2 - 2**-10, 1, -14),
    "bf16": (2 - 2**-7, 1, -60), "tf32": (2 - 2**-10, 1, -60),
}  # fmt: skip


def array(numbers: Any, name: str) -> NDArray[Any]:
    """Numbers that a format has, as an array of it."""
    found = np.asarray(numbers, np.float64).astype(DTYPES.get(name, np.float32))
    assert np.array_equal(found.astype(np.float64), numbers)
    return found


def swamped(adder: Adder, name: str, length: int) -> tuple[NDArray[Any], ...]:
    """Products each of which loses everything beside C.

    The last one of each step is not cut off before the sum is rounded, if that keeps fewer bits.
    """
    *significands, least = ELEMENTS[name]
    bits, kept = adder.fraction_bits or 0, 11 if adder.output == "f16" else adder.output_bits
    exponents = np.full(length, -bits - 1)
    if bits > kept:
        exponents[adder.step - 1 :: adder.step] = -kept - 1
    large = max(0, 2 * least - exponents.min())
    x = np.maximum(least, (exponents + large) // 2)
    rows = (np.ldexp(*pair) for pair in zip(significands, (x, exponents + large - x), strict=True))
    a, b = (array(row[None], name) for row in rows)
    return a, b, array([[2.0**large]], adder.output)


def inside(a: NDArray[Any], b: NDArray[Any], c: Any, adder: str | Adder) -> bool:
    return bool(mma_bounds(a, b.T, c, adder=adder).hold(mma(a, b.T, c, adder=adder)).all())


def share(a: NDArray[Any], b: NDArray[Any], c: NDArray[Any], adder: str | Adder) -> float:
    """How far from the exact sum the adder is, as a share of the distance to an end."""
    low, high, _ = (end.astype(np.float64).item() for end in mma_bounds(a, b.T, c, adder=adder))
    rows = (row[0].astype(np.float64).tolist() for row in (a, b))
    exact = sum(Fraction(x) * Fraction(y) for x, y in zip(*rows, strict=True))
    return (
        abs(mma(a, b.T, c, adder=adder).item() - float(exact + Fraction(c.item())))
        / (high - low)
        * 2
    )


def subnormal(state: np.random.Generator, name: str, shape: tuple[int, int]) -> NDArray[Any]:
    """Subnormal numbers, half of them beside normal ones of all exponents."""
    found = drawn(state, name, shape)
    m = {"e4m3": 3, "e5m2": 2, "e3m2": 2, "e2m3": 3, "e2m1": 1, "f16": 10, "bf16": 7, "tf32": 23}
    bits, some = words(found), state.random(shape) < state.choice([0.5, 1], (shape[0], 1))
    bits[some] &= bits.dtype.type((1 << m[name]) - 1)
    return found


@pytest.mark.sampled(4)
@pytest.mark.parametrize(("name", "formats"), [(n, f) for n in ALIGNED for f in pairs(n)], ids=str)
def test_every_adder_is_inside(name: str, formats: tuple[str, str]) -> None:
    state = np.random.default_rng([*name.encode(), *"-".join(formats).encode()])
    for length, draw in itertools.product(LENGTHS, (drawn, subnormal)):
        a, b = (draw(state, one, (8, length)) for one in formats)
        c = before(state, ADDERS[name].output, (8, 8)) if length % 3 else None
        assert inside(a, b, c, name)
        if length in (33, 100):
            with_few_specials(state, a)
            with_few_specials(state, b)
            assert inside(a, b, c, name)
        step = ADDERS[name].step
        for promotion in () if ADDERS[name].output == "f16" else (step, 3 * step):
            assert inside(a, b, c, dataclasses.replace(ADDERS[name], promotion=promotion))


@pytest.mark.parametrize("name", ALIGNED)
def test_every_order_is_inside(name: str) -> None:
    """Any order of the products, and parts of whole steps whose sums float32 adds."""
    state, adder = np.random.default_rng([*name.encode()]), ADDERS[name]
    kind = adder.formats[0]
    for length in (4 * adder.step, 16 * adder.step):
        a, b = (drawn(state, kind, (6, length)) for _ in range(2))
        bounds = mma_bounds(a, b.T, adder=adder)
        for _ in range(4):
            order = state.permutation(length)
            x, y = a[:, order], b[:, order]
            assert bounds.hold(mma(x, y.T, adder=adder)).all()
            parts = np.split(np.arange(length), 4)
            sums = [mma(x[:, p], y[:, p].T, adder=adder).astype(np.float32) for p in parts]
            with np.errstate(all="ignore"):
                total = (sums[0] + sums[1]) + (sums[2] + sums[3])
                assert bounds.hold(total.astype(bounds.lo.dtype)).all()


#: Percent of the distance to an end that the worst known data fill: one step, 4, K = 1,024, 4,096.
FILLED = {
    ("ada_fp8", "e4m3"): (87, 87, 78, 59),
    ("hopper_fp8", "e4m3"): (92, 91, 82, 62),
    ("hopper_fp8", "e5m2"): (88, 87, 79, 60),
    ("blackwell_f8f6f4", "e4m3"): (91, 89, 88, 88),
    ("hopper_f16", "f16"): (86, 83, 83, 83),
    ("hopper_tf32", "tf32"): (79, 73, 73, 73),
    ("ampere_f16", "f16"): (78, 75, 75, 75),
    ("volta_f16", "f16"): (64, 62, 61, 61),
    ("hopper_fp8_in_f16", "e4m3"): (91, 92, 77, 48),
    ("blackwell_f8f6f4_in_f16", "e4m3"): (99, 99, 91, 74),
    ("hopper_f16_in_f16", "f16"): (100, 100, 87, 59),
}


@pytest.mark.parametrize(("name", "kind"), FILLED)
def test_how_much_of_the_interval_is_filled(name: str, kind: str) -> None:
    adder = ADDERS[name]
    lengths = (adder.step, 4 * adder.step, 1024, 4096)
    rows = [swamped(adder, kind, length) for length in lengths]
    assert all(inside(*each, adder) for each in rows)
    found = [share(*each, adder) for each in rows]
    assert tuple(round(100 * one) for one in found) == FILLED[name, kind]


def test_one_bit_more_is_outside() -> None:
    """What the worst data fill of 13 bits is beyond the bounds of 14, and so of 25."""
    for name, kind in itertools.product(("hopper_fp8", "ada_fp8"), ("e4m3", "e5m2")):
        adder, more = ADDERS[name], {"fraction_bits": 14, "output_bits": 14}
        a, b, c = swamped(adder, kind, 1024)
        found = mma(a, b.T, c, adder=adder)
        assert mma_bounds(a, b.T, c, adder=adder).hold(found).all()
        wrong = dataclasses.replace(adder, **more)
        assert not mma_bounds(a, b.T, c, adder=wrong).hold(found).any()


def test_a_subnormal_counts_as_the_smallest_normal_number() -> None:
    """2^-9 · 2^8 has the exponent 2 on Hopper: 31 products below 2^-11 beside it are lost."""
    a, b = np.full((1, 32), 1.875 * 2.0**-6), np.full((1, 32), 2.0**-6)
    a[0, 0], b[0, 0] = 2.0**-9, 2.0**8
    found = mma(array(a, "e4m3"), array(b, "e4m3").T, adder="hopper_fp8")
    sizes = 0.5 + 31 * 1.875 * 2.0**-12
    assert found == 0.5
    assert sizes - 0.5 > 34.1 * 2.0**-13 * sizes  # so magnitudes alone do not hold it
    assert mma_bounds(array(a, "e4m3"), array(b, "e4m3").T, adder="hopper_fp8").hold(found).all()


def slow_ends(a: Any, b: Any, c: Any, formats: tuple[str, str], unit: str | Unit) -> list[Any]:
    rows = words(a).tolist(), words(b).tolist()
    return [
        [multiplied_bounds(x, y, 0 if c is None else int(words(c)[i, j]), *formats, unit)
         for j, y in enumerate(rows[1])]
        for i, x in enumerate(rows[0])
    ]  # fmt: skip


def assert_ends(bounds: Any, want: Any) -> None:
    for end, bits in zip(bounds, np.moveaxis(np.array(want), 2, 0), strict=True):
        assert np.array_equal(words(end), bits)


@pytest.mark.parametrize("name", ALIGNED)
def test_bounds_equal_the_slow_twin(name: str) -> None:
    for formats in itertools.islice(pairs(name), 6):
        state = np.random.default_rng([1, *name.encode(), *"-".join(formats).encode()])
        for length, draw in ((1, drawn), (8, drawn), (33, subnormal), (70, drawn)):
            a, b = (draw(state, one, (4, length)) for one in formats)
            c = before(state, ADDERS[name].output, (4, 4)) if length != 8 else None
            if length == 70:
                with_few_specials(state, a)
                with_few_specials(state, b)
            assert_ends(mma_bounds(a, b.T, c, adder=name), slow_ends(a, b, c, formats, name))


@pytest.mark.parametrize(
    ("change", "unit"),
    [
        ({"fraction_bits": 3}, {"bits": 3}),
        ({"fraction_bits": 14, "output_bits": 5}, {"bits": 14, "kept": 5}),
        ({"fraction_bits": 35, "output_bits": 23}, {"bits": 35, "kept": 23}),
        ({"zero_exponent": -30}, {"zero": -30}),
        ({"step": 7}, {"step": 7}),
    ],
)
def test_bounds_of_other_points_equal_the_slow_twin(
    change: dict[str, Any], unit: dict[str, Any]
) -> None:
    adder, slow = dataclasses.replace(ADDERS["hopper_fp8"], **change), UNITS["hopper_fp8"]
    state = np.random.default_rng(6)
    for length in (2, 40):
        a, b = (drawn(state, "e5m2", (6, length)) for _ in range(2))
        c = before(state, "f32", (6, 6))
        want = slow_ends(a, b, c, ("e5m2", "e5m2"), slow._replace(**unit))
        assert_ends(mma_bounds(a, b.T, c, adder=adder), want)
        assert inside(a, b, c, adder)


def blocks(codes: Any, scales: Any, kind: str, size: int = 32) -> mxref.Blocks:
    fmt = block_format(element_format(kind), size)
    return mxref.Blocks(codes, scales, fmt, 1, codes.shape)


@pytest.mark.parametrize(
    ("x", "y"), [("e4m3", "e5m2"), ("e5m2", "e5m2"), ("e3m2", "e2m3"), ("e2m1", "e2m1"),
                 ("int8", "e4m3")],
)  # fmt: skip
def test_bounds_of_blocks_equal_the_slow_twin(x: str, y: str) -> None:
    state = np.random.default_rng([*x.encode(), *y.encode()])
    points = [(13, 32, "f32"), (25, 32, "f16"), (35, 64, "f64"), (4, 1, "bf16"), (23, 8, "f32")]
    for (bits, step, target), spread in itertools.product(points, (2, 30, 127)):
        codes = [
            state.integers(1 << element_format(n).bits, size=(4, 70)).astype(np.uint8)
            for n in (x, y)
        ]
        codes = [np.where(state.random(4)[:, None] < 0.4, each & 0x3B, each) for each in codes]
        scales = [state.integers(127 - spread, 128 + spread, (4, 3)).astype(np.uint8) for _ in "ab"]
        if spread == 30:
            scales[0][0, 1] = 0xFF
        a, b = (blocks(c, s, n) for c, s, n in zip(codes, scales, (x, y), strict=True))
        dtype = {"f16": np.float16, "f32": np.float32, "f64": np.float64}.get(
            target, ml_dtypes.bfloat16
        )
        found = mxref.matmul_bounds(a, b.T, dtype, rounding="any", bits=bits, step=step)
        want = [
            [
                chained_dot_bounds(
                    p.tolist(), q.tolist(), s.tolist(), t.tolist(), x, y, bits, step, target
                )
                for q, t in zip(codes[1], scales[1], strict=True)
            ]
            for p, s in zip(codes[0], scales[0], strict=True)
        ]
        for end, ends in zip(found, np.moveaxis(np.array(want, np.uint64), 2, 0), strict=True):
            assert np.array_equal(end.view(f"u{end.dtype.itemsize}"), ends)


@pytest.mark.parametrize(
    ("how", "bits", "step", "kind"),
    [("aligned_25", 25, 32, "e4m3"), ("aligned_25", 25, 32, "e3m2"), ("aligned_35", 35, 64, "e2m1"),
     ("aligned_13", 13, 32, "e4m3"), ("aligned_13", 13, 32, "e5m2")],
)  # fmt: skip
def test_tensor_cores_of_blocks_are_inside(how: Any, bits: int, step: int, kind: str) -> None:
    state = np.random.default_rng([bits, *kind.encode()])
    for length, spread in itertools.product((32, 70, 256, 1000), (1, 12, 40)):
        codes = [
            state.integers(1 << element_format(kind).bits, size=(12, length)).astype(np.uint8)
            for _ in "ab"
        ]
        codes = [
            np.where(np.isfinite(mxref.decode(c, kind, np.float64)), c, 1).astype(np.uint8)
            & state.choice(np.array([0xFF, 0x83, 0x07], np.uint8), (12, 1))
            for c in codes
        ]
        runs = -(-length // 32)
        scales = [
            state.integers(127 - spread, 128 + spread, (12, runs)).astype(np.uint8) for _ in "ab"
        ]
        a, b = (blocks(c, s, kind) for c, s in zip(codes, scales, strict=True))
        bounds = mxref.matmul_bounds(a, b.T, rounding="any", bits=bits, step=step)
        assert bounds.hold(mxref.matmul(a, b.T, accumulation=how)).all()


def test_integers_that_fit_have_one_sum() -> None:
    ones = np.ones((1, 4096), E4M3)
    low, high, overflow = mma_bounds(ones, ones.T, adder="hopper_fp8")
    assert low == high == overflow == 4096
    low, high, _ = mma_bounds(np.ones((1, 8193), E4M3), np.ones((8193, 1), E4M3), adder="ada_fp8")
    assert low < 8193 < high
    tiny = array([[2.0**-80]], "bf16")  # one product, of one bit, below all of float32
    low, high, _ = mma_bounds(tiny, tiny, adder="hopper_f16")
    assert low < mma(tiny, tiny, adder="hopper_f16") == 0 < high


def test_what_is_refused() -> None:
    one = np.ones((1, 1), E4M3)
    for adder, told in (
        ("cdna1_f16", "adder must align the sum so far with the products, got cdna1_f16: call"),
        ("blackwell_mxf4", "adder must have no scales"),
        ("hopper", "adder must be one of"),
    ):
        with pytest.raises(ValueError, match=told):
            mma_bounds(one, one, adder=adder)
    long = np.ones((1, (4 << 10) + 1), np.float16)
    with pytest.raises(ValueError, match="a must have at most 4096 columns, got 4097"):
        mma_bounds(long, long.T, adder="volta_f16_in_f16")
    row = mxref.quantize(np.ones((1, 32), np.float32), "mxfp8_e4m3", axis=1)
    for change, told in (
        ({"bits": 13, "step": 32}, "rounding must be any where bits and step are given, got near"),
        ({"bits": 13, "rounding": "any"}, "bits and step must be given together, got bits=13, st"),
        ({"step": 13, "rounding": "any"}, "bits and step must be given together, got bits=None"),
        ({"bits": 45, "step": 1, "rounding": "any"}, "bits must be from 1 to 44, got 45"),
        ({"bits": 13, "step": 0, "rounding": "any"}, "step must be a positive integer, got 0"),
    ):
        with pytest.raises(ValueError, match=told):
            mxref.matmul_bounds(row, row.T, **change)
