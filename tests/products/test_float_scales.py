"""Products of FP8 under float32 scales: fractions, the twin of adders, sums in any order."""

from __future__ import annotations

from fractions import Fraction
from typing import Any

import numpy as np
import pytest

import mxref
from mxref.bits.floats import LAYOUTS, layout_of
from mxref.exact.adder_steps import UNITS, multiplied
from mxref.products.dot import exact_in_every_order
from mxref.products.float_products import pattern

Blocks = mxref.Blocks
ROWS, TILES = "fp8_e4m3_f32", "fp8_e4m3_f32_128x128"
PAIRS = [
    (ROWS, TILES),
    (TILES, ROWS),
    ("fp8_e5m2_f32", "fp8_e5m2_f32_128x128"),
    (ROWS, "mxfp8_e5m2"),
]
DEEPGEMM = mxref.profile("deepgemm_fp8")


def some_blocks(
    draw: np.random.Generator, format: str, shape: tuple[int, int], spread: int
) -> Blocks:
    """Blocks along the last axis of finite codes, with scales of any significand."""
    fmt = mxref.formats.block_format(format)
    finite = fmt.element.max_code + 1
    codes = draw.integers(0, finite, shape).astype(np.uint8)
    codes |= (draw.integers(0, 2, shape) << 7).astype(np.uint8)
    axis = (0, 1) if fmt.is_tiled else 1
    empty = mxref.quantize(np.zeros(shape, np.float32), fmt, axis=axis)
    full = np.zeros_like(empty.codes)
    full[: shape[0], : shape[1]] = codes
    counts = empty.scale_codes.shape
    if fmt.scale.is_float32:
        exponents = draw.integers(-spread, spread + 1, counts)
        scales = np.ldexp(1 + draw.random(counts), exponents).astype(np.float32).view(np.uint32)
    else:
        scales = draw.integers(100, 150, counts).astype(np.uint8)
    return Blocks(full, scales, fmt, axis, shape)


def exactly(a: Blocks, b: Blocks, dtype: Any) -> Any:
    """The sums as fractions, rounded once."""
    x, y = (one.dequantize(np.float64) for one in (a, b))  # float64 holds each number
    layout = layout_of(dtype)
    found = np.empty((len(x), len(y)), layout.uint)
    for i, row in enumerate(x.tolist()):
        for j, column in enumerate(y.tolist()):
            pairs = zip(row, column, strict=True)
            total = sum((Fraction(p) * Fraction(q) for p, q in pairs), Fraction(0))
            unit = 1 - total.denominator.bit_length()
            found[i, j] = pattern(total.numerator, unit, layout)
    return found.view(layout.dtype)


@pytest.mark.parametrize("spread", [3, 60])
@pytest.mark.parametrize("dtype", [one.dtype for one in LAYOUTS.values()], ids=str)
@pytest.mark.parametrize("formats", PAIRS, ids=" ".join)
def test_exact_products_are_the_fractions(formats: Any, dtype: Any, spread: int) -> None:
    draw = np.random.default_rng(spread)
    a = some_blocks(draw, formats[0], (2, 300), spread)
    b = some_blocks(draw, formats[1], (17, 300), spread)
    found = mxref.matmul(a, b.T, dtype)
    want = exactly(a, b, dtype)
    word = layout_of(dtype).uint
    np.testing.assert_array_equal(found.view(word), want.view(word))


def test_the_ends_of_float32() -> None:
    """Scales from the least subnormal one to the largest; sums that cancel but for one term."""
    scales = np.uint32([[0x00000001, 0x7F7FFFFF, 0x007FFFFF, 0x3F800001]])
    codes = np.full((1, 512), 0x7B, np.uint8)  # 57344 of E5M2
    codes[0, 128:256:2] |= 0x80  # cancels
    fmt = mxref.formats.block_format("fp8_e5m2_f32")
    a = Blocks(codes, scales, fmt, 1, codes.shape)
    least = Blocks(codes * 0 + 1, scales[:, ::-1].copy(), fmt, 1, codes.shape)
    for b in (least, Blocks(codes * 0 + 1, scales, fmt, 1, codes.shape)):
        for dtype in (np.float32, np.float64):
            assert mxref.matmul(a, b.T, dtype).item() == exactly(a, b, dtype).item()


@pytest.mark.parametrize(
    ("scale", "code", "want"),
    [
        (0x7FC00000, 0x00, "nan"),  # a NaN scale, its elements zeros or not
        (0x7F800000, 0x00, "nan"),  # infinity times zero
        (0x7F800000, 0x38, "inf"),
        (0x7F800000, 0xB8, "-inf"),
        (0x3F800000, 0x7F, "nan"),
        (0x00000000, 0x38, "127.0"),
    ],
)
def test_special_values(scale: int, code: int, want: str) -> None:
    fmt = mxref.formats.block_format(ROWS)
    codes = np.full((1, 256), 0x38, np.uint8)  # 1
    codes[0, :128] = code
    codes[0, 255] = 0
    a = Blocks(codes, np.uint32([[scale, 0x3F800000]]), fmt, 1, codes.shape)
    ones = Blocks(
        np.full((1, 256), 0x38, np.uint8), np.uint32([[0x3F800000] * 2]), fmt, 1, (1, 256)
    )
    assert str(mxref.matmul(a, ones.T).item()) == want
    assert str(mxref.matmul(ones, a.T).item()) == want


def test_alpha_c_and_bias_are_part_of_the_exact_sum() -> None:
    fmt = mxref.formats.block_format(ROWS)
    codes = np.full((1, 128), 0x38, np.uint8)
    third = Blocks(codes, np.float32([[1 / 3]]).view(np.uint32), fmt, 1, (1, 128))
    one = Blocks(codes, np.float32([[1]]).view(np.uint32), fmt, 1, (1, 128))
    c = np.float32([[-64 * np.float32(1 / 3)]])
    found = mxref.matmul(third, one.T, np.float64, alpha=0.5, c=c, bias=[2.0**-40])
    assert found.item() == 2.0**-40


@pytest.mark.parametrize("adder", ["deepgemm_fp8", "deepseek_v3_fp8"])
@pytest.mark.parametrize("k", [1, 128, 300])
def test_an_adder_takes_blocks_with_their_scales(adder: str, k: int) -> None:
    """Against the twin of adders, which has a scale for each row, column and part."""
    draw = np.random.default_rng(k)
    a = some_blocks(draw, ROWS, (3, k), 9)
    b = some_blocks(draw, TILES, (131, k), 9)
    found = mxref.mma(a, b.T, adder=adder)
    for i, j in ((0, 0), (1, 127), (2, 128), (0, 130)):
        rows = a.codes[i, :k].tolist(), b.codes[j, :k].tolist()
        scales = a.scale_codes[i].tolist(), b.scale_codes[j // 128].tolist()
        want = multiplied(*rows, 0, "e4m3", "e4m3", UNITS[adder], scales)
        assert found.view(np.uint32)[i, j] == want
    whole = mxref.mma(b, a.T, adder=adder)
    scales_b = np.repeat(b.scales, 128, axis=0)[:131]
    elements = [one.elements[: one.shape[0], :k] for one in (a, b)]
    plain = mxref.mma(elements[1], elements[0].T, adder=adder, scales=(scales_b, a.scales.T))
    np.testing.assert_array_equal(whole.view(np.uint32), plain.view(np.uint32))


def in_some_order(draw: np.random.Generator, a: Blocks, b: Blocks, way: int) -> Any:
    """Float32 sums as a kernel may make them: scaled before, after, one after the other."""
    sa = np.repeat(a.scales, 128, axis=1)[:, : a.shape[1]]
    sb = np.repeat(np.repeat(b.scales, 128, axis=0), 128, axis=1)[: b.shape[0], : b.shape[1]]
    x, y = (one.elements[: one.shape[0], : one.shape[1]].astype(np.float32) for one in (a, b))
    order = draw.permutation(a.shape[1])
    if way == 0:
        terms = ((x * sa)[:, None, :] * (y * sb))[..., order]
        return np.add.accumulate(terms, axis=2, dtype=np.float32)[..., -1]
    total = np.zeros((len(x), len(y)), np.float32)
    for first in range(0, a.shape[1], 128):
        part = slice(first, first + 128)
        terms = x[:, None, part] * y[:, part]
        terms = terms[..., draw.permutation(terms.shape[2])]
        own = np.add.accumulate(terms, axis=2, dtype=np.float32)[..., -1]
        one, other = sa[:, None, first], sb[None, :, first]
        total = total + (own * one * other if way == 1 else own * (one * other))
    return total


@pytest.mark.parametrize("dtype", [np.float32, np.float64])
@pytest.mark.parametrize("spread", [0, 12])
def test_bounds_hold_sums_in_any_order(spread: int, dtype: Any) -> None:
    draw = np.random.default_rng(7)
    a, b = some_blocks(draw, ROWS, (9, 300), spread), some_blocks(draw, TILES, (140, 300), spread)
    nearest = mxref.matmul_bounds(a, b.T, dtype)
    cut = mxref.matmul_bounds(a, b.T, dtype, rounding="any")
    exact = mxref.matmul(a, b.T, dtype)
    assert nearest.hold(exact).all()
    for way in range(3):
        found = in_some_order(draw, a, b, way).astype(dtype)
        assert nearest.hold(found).all()
        assert cut.hold(found).all()
    assert (cut.lo <= nearest.lo).all()
    assert (cut.hi >= nearest.hi).all()
    forgotten = Blocks(a.codes, a.scale_codes ^ np.uint32(1 << 14), a.format, 1, a.shape)
    assert not nearest.hold(mxref.matmul(forgotten, b.T, dtype)).all()  # a scale is off


def test_bounds_are_those_of_the_formula() -> None:
    """1 + 1 under scales of 1: n is 2, A is 2."""
    fmt = mxref.formats.block_format(ROWS)
    codes = np.zeros((1, 128), np.uint8)
    codes[0, :2] = 0x38
    one = Blocks(codes, np.uint32([[0x3F800000]]), fmt, 1, (1, 128))
    found = mxref.matmul_bounds(one, one.T, np.float64)
    assert found.hi.item() == 2 + 8 * 2.0**-24 * 2  # 2**-149 is far below the last bit
    assert found.lo.item() == 2 - 8 * 2.0**-24 * 2
    found = mxref.matmul_bounds(one, one.T, np.float64, rounding="any")
    assert found.hi.item() == 2 + (2 * 128 + 14) * 2.0**-23 * 2


def test_layers() -> None:
    draw = np.random.default_rng(3)
    x, w = (draw.standard_normal((n, 300)).astype(np.float32) for n in (5, 131))
    grad = draw.standard_normal((5, 131)).astype(np.float32)
    of_w = {"weight_format": TILES, "policy": DEEPGEMM.policy}
    a, b = DEEPGEMM.quantize(x, ROWS), DEEPGEMM.quantize(w, TILES)
    y = mxref.linear(x, w, ROWS, **of_w)
    np.testing.assert_array_equal(y, mxref.matmul(a, b.T))
    dx, dw, db = mxref.linear_gradients(x, w, grad, ROWS, **of_w)
    g = DEEPGEMM.quantize(grad, ROWS)
    np.testing.assert_array_equal(dx, mxref.matmul(g, b))
    columns = [DEEPGEMM.quantize(one, ROWS, axis=0) for one in (grad, x)]
    np.testing.assert_array_equal(dw, mxref.matmul(columns[0].T, columns[1]))
    assert db.shape == (131,)


def test_what_is_refused() -> None:
    draw = np.random.default_rng(5)
    a, b = some_blocks(draw, ROWS, (2, 256), 3), some_blocks(draw, TILES, (128, 256), 3)
    with pytest.raises(ValueError, match="accumulation must be exact under float32 scales"):
        mxref.matmul(a, b.T, accumulation="sequential")
    with pytest.raises(ValueError, match="bits must be None under float32 scales"):
        mxref.matmul_bounds(a, b.T, rounding="any", bits=13, step=32)
    tiny = some_blocks(draw, ROWS, (2, 256), 120)
    with pytest.raises(ValueError, match="under which products are normal float32 numbers"):
        mxref.matmul_bounds(tiny, b.T)
    with pytest.raises(ValueError, match="must have no float32 scales here"):
        exact_in_every_order(a, b.T)
    with pytest.raises(ValueError, match="adder must be deepgemm_fp8 or deepseek_v3_fp8 where"):
        mxref.mma(a, b.T, adder="hopper_fp8")
    mx = mxref.quantize(np.ones((2, 256)), "mxfp8_e4m3")
    with pytest.raises(ValueError, match="got mxfp8_e4m3 with blocks of 32"):
        mxref.mma(mx, b.T, adder="deepgemm_fp8")
    with pytest.raises(TypeError, match="a and b must both be Blocks, or neither, got ndarray"):
        mxref.mma(a, np.ones((256, 2), np.float32), adder="deepgemm_fp8")
    ones = np.ones((2, 2), np.float32)
    with pytest.raises(ValueError, match="scales must be None where a and b are Blocks"):
        mxref.mma(a, b.T, adder="deepgemm_fp8", scales=(ones, ones))
    nv = mxref.quantize(np.ones((2, 256), np.float32), "nvfp4")
    with pytest.raises(ValueError, match="no scale of a tensor beside float32 scales"):
        mxref.matmul_bounds(nv, b.T)
