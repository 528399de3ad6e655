"""Tensors whose rows have scales of their own: each row against the slow twin of that row alone."""

from __future__ import annotations

import copy
import itertools
import pickle
from fractions import Fraction
from pathlib import Path
from typing import Any

import numpy as np
import pytest

import mxref
from mxref import AmaxOf, RowScales, TensorScale, TensorScaleKind, exact, files
from mxref.bits.floats import F32, LAYOUTS, FloatLayout, compose, split
from mxref.formats import catalog
from mxref.formats.catalog import E2M1, UE4M3, block_format
from mxref.operations.blocks import TENSOR_KINDS
from mxref.profiles import profile

NVFP4 = block_format("nvfp4")
#: Usual numbers, and ones near both ends of float32.
STORED = (0x3F800000, 0x3A5F1D37, 0x45280000, 0x7F123457, 3, 0x00800000, 0x3B124925, 0x41200001)
#: Stored numbers that only named arithmetics give.
OTHERS = (0, 0x7F800000, 0x7FC00000)
#: What compressed-tensors makes of zeros and NaN.
CHOICES: dict[str, dict[str, Any]] = {
    "compressed_tensors": {"zero_sign": "dropped", "nan_to_finite": "zero"}
}
every_arithmetic = pytest.mark.parametrize("arithmetic", TENSOR_KINDS)


def scales_of(arithmetic: str) -> RowScales:
    bits = STORED if arithmetic == "exact" else STORED + OTHERS
    return RowScales(np.array(bits, np.uint32)[:, np.newaxis], TENSOR_KINDS[arithmetic])


def at_thresholds(scale: TensorScale, layout: FloatLayout) -> list[int]:
    """The patterns at and beside numbers and midpoints of elements under scales of blocks."""
    ratio = scale.ratio(NVFP4)
    found = []
    for code in (1, 8, 0x38, 0x45, 0x7E):
        n, e = UE4M3.magnitude_parts(code)
        unit = Fraction(n * ratio.numerator, ratio.denominator) * Fraction(2) ** (
            e + ratio.exponent
        )
        for quarters in (1, 3, 5, 7, 10, 14, 20, 24):  # of numbers and their midpoints, and amax
            middle = unit * quarters / 4
            if not 2.0**-1000 < middle < 2.0**1000:
                continue
            bits = np.float64(float(middle)).reshape(1).view(np.uint64)
            near = int(compose(split(bits, LAYOUTS["f64"]), layout)[0])
            found += [min(max(near + step, 0), layout.inf_bits) for step in (-1, 0, 1)]
    return found


def patterns(scales: RowScales, layout: FloatLayout) -> np.ndarray:
    """Rows of blocks at the thresholds of their own scale, with signs, zeros and specials."""
    random = np.random.default_rng(layout.width + layout.mantissa_bits)
    rows = np.zeros((len(scales.bits), 160), np.uint64)
    for row, bits in zip(rows, scales.bits[:, 0].tolist(), strict=True):
        found = at_thresholds(TensorScale(bits, scales.kind), layout)
        row[: len(found)] = found
        row[len(found) :] = random.integers(0, layout.inf_bits, 160 - len(found))
        row[128:144] &= 0
    rows[1, 144], rows[2, 150] = layout.inf_bits, layout.nan_bits
    rows |= random.integers(0, 2, rows.shape, np.uint64) * np.uint64(layout.sign_bit)
    return rows.astype(layout.uint)


def of_twin(
    row: np.ndarray, layout: FloatLayout, arithmetic: str, stored: int | str
) -> tuple[int | None, list[tuple[int, list[int]]]]:
    blocks = row.reshape(-1, 16).tolist()
    return exact.quantize_scaled(blocks, layout.name, "e2m1", "ue4m3", arithmetic, stored)


def assert_blocks(blocks: mxref.Blocks, index: int, want: list[tuple[int, list[int]]]) -> None:
    codes = blocks.codes[index].reshape(-1, 16).tolist()
    assert blocks.scale_codes[index].tolist() == [scale for scale, _ in want]
    for got, (scale, wanted) in zip(codes, want, strict=True):
        assert scale == UE4M3.nan_code or got == wanted


@every_arithmetic
@pytest.mark.parametrize("source", LAYOUTS)
def test_given_scales_are_those_of_each_row(arithmetic: str, source: str) -> None:
    layout, scales = LAYOUTS[source], scales_of(arithmetic)
    rows = patterns(scales, layout)
    how: dict[str, Any] = {"scale_arithmetic": arithmetic, **CHOICES.get(arithmetic, {})}
    few = mxref.quantize(rows.view(layout.dtype), NVFP4, tensor_scale=scales, **how)
    many = mxref.quantize(  # so many that tables are worth while
        np.tile(rows, (8, 1)).view(layout.dtype),
        NVFP4,
        tensor_scale=RowScales(np.tile(scales.bits, (8, 1)), scales.kind),
        **how,
    )
    for index, bits in enumerate(scales.bits[:, 0].tolist()):
        _, want = of_twin(rows[index], layout, arithmetic, bits)
        assert_blocks(few, index, want)
        assert_blocks(many, 7 * len(rows) + index, want)


@every_arithmetic
@pytest.mark.parametrize("source", LAYOUTS)
def test_scales_of_rows_come_from_their_own_amax(arithmetic: str, source: str) -> None:
    layout = LAYOUTS[source]
    rows = patterns(scales_of("exact"), layout)
    how: dict[str, Any] = {"scale_arithmetic": arithmetic, **CHOICES.get(arithmetic, {})}
    for asked in ("row", AmaxOf.ROW):
        blocks = mxref.quantize(rows.view(layout.dtype), NVFP4, tensor_scale=asked, **how)
        assert isinstance(blocks.tensor_scale, RowScales)
        assert blocks.tensor_scale.kind is TENSOR_KINDS[arithmetic]
        for index, got in enumerate(blocks.tensor_scale.bits[:, 0].tolist()):
            bits, want = of_twin(rows[index], layout, arithmetic, "dynamic")
            assert bits is not None
            assert got == bits or min(got, bits) > F32.inf_bits
            assert_blocks(blocks, index, want)


@every_arithmetic
@pytest.mark.parametrize("target", LAYOUTS)
def test_products_are_those_of_each_row(arithmetic: str, target: str) -> None:
    layout, scales = LAYOUTS[target], scales_of(arithmetic)
    codes = [*range(0, 128, 9), 1, 0x7E, 0x7F]
    elements = np.tile(np.arange(16, dtype=np.uint8), (len(scales.bits), len(codes)))
    column = np.tile(np.array(codes, np.uint8), (len(scales.bits), 1))
    blocks = mxref.Blocks(elements, column, NVFP4, 1, elements.shape, tensor_scale=scales)
    got = blocks.dequantize(layout.dtype, scale_arithmetic=arithmetic).view(layout.uint)
    how = ("e2m1", "ue4m3", arithmetic, target)
    for row, bits in zip(got.tolist(), scales.bits[:, 0].tolist(), strict=True):
        every = itertools.product(codes, range(16))
        assert row == [exact.dequantize_scaled(bits, s, c, *how) for s, c in every]


TILES = catalog.BlockFormat("tiles", E2M1, UE4M3, (16, 16), tensor_scale=True)
LONG = catalog.BlockFormat("long", E2M1, UE4M3, 1 << 18, tensor_scale=True)


@pytest.mark.parametrize(
    ("shape", "axis", "fmt", "lengths"),
    [
        ((5, 40), 1, NVFP4, (5, 1)),
        ((40, 5), 0, NVFP4, (1, 5)),
        ((3, 4, 40), 2, NVFP4, (3, 4, 1)),
        ((3, 4, 40), 2, NVFP4, (3, 1, 1)),  # one for each expert
        ((3, 40, 4), 1, NVFP4, (1, 1, 4)),
        ((3, 40, 70), 1, NVFP4, (3, 1, 70)),
        ((3, 40, 20), (1, 2), TILES, (3, 1, 1)),
        ((40, 3, 20), (0, 2), TILES, (1, 3, 1)),
        ((3, (1 << 18) + 9), 1, LONG, (3, 1)),
        ((0, 40), 1, NVFP4, (0, 1)),
    ],
)
@pytest.mark.parametrize("rounding", ["ties_to_even", "stochastic_a"])
def test_rows_along_any_axes(
    shape: tuple[int, ...], axis: Any, fmt: catalog.BlockFormat, lengths: tuple[int, ...],
    rounding: str,
) -> None:  # fmt: skip
    """Against a call for each part that has one scale."""
    random = np.random.default_rng(5)
    x = random.standard_normal(shape).astype(np.float32)
    scales = np.exp2(random.integers(-9, 9, lengths)).astype(np.float32) * np.float32(1.1)
    how: dict[str, Any] = {"axis": axis, "rounding": rounding}
    draws = random.integers(0, 1 << 8, shape)
    drawn = rounding != "ties_to_even"
    width = {"random_width": 8} if drawn else {}
    bits = {"random_bits": draws} if drawn else {}
    blocks = mxref.quantize(x, fmt, tensor_scale=scales, threads=2, **width, **bits, **how)
    read = blocks.dequantize()
    given = mxref.dequantize(
        blocks.codes, scale_codes=blocks.scale_codes, block_format=fmt, axis=axis,
        tensor_scale=scales,
    )  # fmt: skip
    assert np.array_equal(given[tuple(map(slice, shape))], read)
    for index in np.ndindex(lengths):
        part = tuple(
            slice(i, i + 1) if n > 1 else slice(None) for i, n in zip(index, lengths, strict=True)
        )
        more = {"random_bits": draws[part]} if drawn else {}
        one = mxref.quantize(x[part], fmt, tensor_scale=scales[index], **width, **more, **how)
        assert blocks[part] == one
        assert np.array_equal(read[part].view(np.uint32), one.dequantize().view(np.uint32))


@pytest.mark.parametrize(
    ("shape", "axis", "fmt"),
    [
        ((5, 40), 1, NVFP4),
        ((3, 40, 70), 1, NVFP4),
        ((3, 40, 20), (1, 2), TILES),
        ((3, (1 << 18) + 9), 1, LONG),
    ],
)
def test_amax_is_that_of_a_row_along_any_axes(
    shape: tuple[int, ...], axis: Any, fmt: catalog.BlockFormat
) -> None:
    x = np.random.default_rng(6).standard_normal(shape).astype(np.float32)
    blocks = mxref.quantize(x, fmt, axis=axis, tensor_scale="row")
    axes = blocks.tiling.axes
    for index in np.ndindex(*(1 if a in axes else n for a, n in enumerate(shape))):
        part = tuple(slice(None) if a in axes else slice(i, i + 1) for a, i in enumerate(index))
        assert blocks[part] == mxref.quantize(x[part], fmt, axis=axis)


def test_parts_transposes_and_copies_have_their_scales() -> None:
    x = np.random.default_rng(1).standard_normal((3, 4, 32)).astype(np.float32)
    scales = np.float32([0.5, 1.5, 2.5]).reshape(3, 1, 1)
    blocks = mxref.quantize(x, "nvfp4", tensor_scale=scales)
    assert isinstance(blocks.tensor_scale, RowScales)
    assert blocks.tensor_scale.value.tolist() == scales.tolist()
    values = blocks.dequantize()
    for index in (
        slice(1, None),
        slice(None, None, -1),
        (slice(None), 2),
        (Ellipsis, slice(16, None)),
    ):
        assert np.array_equal(blocks[index].dequantize(), values[index])
    assert np.array_equal(blocks.T[:16, 1].dequantize(), values.T[:16, 1])
    assert blocks.T.tensor_scale == RowScales(blocks.tensor_scale.bits.T)
    assert blocks[2].tensor_scale == TensorScale.of(2.5, TensorScaleKind.FACTOR)
    for same in (copy.deepcopy(blocks), pickle.loads(pickle.dumps(blocks))):
        assert same == blocks
        assert isinstance(same.tensor_scale, RowScales)
        assert not same.tensor_scale.bits.flags.writeable
    other = mxref.quantize(x, "nvfp4", tensor_scale=scales * 2)
    assert blocks != other
    assert blocks.equal_values(other)  # the scales of its blocks are halves
    assert "tensor scales of rows (3, 1, 1) from 0.5 to 2.5 (factor)" in str(blocks)
    assert "tensor scales of rows" in blocks._repr_html_()


def test_one_number_is_the_scale_of_the_tensor() -> None:
    x = np.ones((3, 16), np.float32)
    one = mxref.quantize(x, "nvfp4", tensor_scale=0.5)
    for given in (np.float32([[0.5]]), [0.5], RowScales(np.uint32([[0x3F000000]]))):
        assert mxref.quantize(x, "nvfp4", tensor_scale=given) == one
    assert mxref.quantize(x[:1], "nvfp4", tensor_scale="row") == mxref.quantize(x[:1], "nvfp4")
    assert mxref.quantize(x, "nvfp4", tensor_scale=AmaxOf.TENSOR) == mxref.quantize(x, "nvfp4")


@pytest.mark.parametrize("suffix", ["npz", "safetensors"])
@pytest.mark.parametrize("kind", ["exact", "transformer_engine", "cublas"])
def test_files_hold_scales_of_rows(tmp_path: Path, suffix: str, kind: str) -> None:
    x = np.random.default_rng(2).standard_normal((3, 40)).astype(np.float32)
    blocks = mxref.quantize(x, "nvfp4", tensor_scale="row", scale_arithmetic=kind)
    path = tmp_path / f"x.{suffix}"
    files.write_blocks(path, {"x": blocks})
    found = files.read_blocks(path)["x"]
    assert found == blocks
    assert found.tensor_scale == blocks.tensor_scale


@pytest.mark.parametrize(
    "name",
    [
        *("flashinfer_nvfp4", "cutlass_nvfp4", "torchao_0_18_nvfp4", "compressed_tensors_nvfp4"),
        "transformer_engine_nvfp4_4over6_448",
    ],
)
def test_profiles_take_scales_of_rows(name: str) -> None:
    one = profile(name)
    kind = TENSOR_KINDS[one.policy.scale.scale_arithmetic.value]
    x = np.random.default_rng(3).standard_normal((6, 64)).astype(np.float32)
    scales = RowScales(np.array(STORED[:6], np.uint32)[:, np.newaxis], kind)
    for given in (scales, "row"):
        blocks = one.quantize(x, "nvfp4", tensor_scale=given)
        for row in range(len(x)):
            bits = None if given == "row" else TensorScale(STORED[row], kind)
            assert blocks[row : row + 1] == one.quantize(
                x[row : row + 1], "nvfp4", tensor_scale=bits
            )
            if one.formats is None or "dequantize" in one.formats:
                want = one.dequantize(blocks[row : row + 1])
                assert np.array_equal(one.dequantize(blocks)[row], want[0], equal_nan=True)
