"""Tiles of 16 x 16: right kernels conform, and each mutant is one, by hand and in the verdict."""

from __future__ import annotations

from types import SimpleNamespace
from typing import Any

import numpy as np
import pytest
from helpers import vector_file

import mxref
from mxref.conformance import target_of
from mxref.conformance.checking.check import check
from mxref.conformance.checking.extent import Extent
from mxref.conformance.verdict.one_sentence import verdict_text
from mxref.conformance.verdict.report import Report
from mxref.mutants import MUTANTS

NAME = "nvfp4_16x16"
RUN = {one.id: one.run for one in MUTANTS if NAME in one.formats}
OP = {one.id: one.op for one in MUTANTS if NAME in one.formats}
ONE = np.float32(1.0)
#: UE4M3 codes of 1, 2 and 4.
S1, S2, S4 = 0x38, 0x40, 0x48
EXTENT = Extent(elements=4000)


def report_on(stem: str, **kernel: Any) -> Report:
    target = target_of(SimpleNamespace(FORMATS=[NAME], **kernel), "kernel")
    return check(target, [vector_file(stem)], extent=EXTENT)


def quantize(values: Any, format: str, tensor_scale: Any) -> Any:
    """Tile by tile, each as one block of 256 numbers."""
    grid = len(values) // 16, values.shape[1] // 16
    scales, codes = np.zeros(grid, np.uint8), np.zeros(values.shape, np.uint8)
    for row in range(grid[0]):
        for column in range(grid[1]):
            tile = slice(16 * row, 16 * row + 16), slice(16 * column, 16 * column + 16)
            flat = np.ascontiguousarray(values[tile]).reshape(-1)
            one = mxref.quantize(flat, "nvfp4", block_size=256, tensor_scale=float(tensor_scale))
            scales[row, column], codes[tile] = one.scale_codes[0], one.codes.reshape(16, 16)
    return scales, codes


def read(scales: Any, codes: Any, format: str, dtype: Any, tensor_scale: Any) -> Any:
    """Each row by itself, with the scales of its tiles."""
    rows = [
        mxref.dequantize(
            row,
            dtype,
            scale_codes=scales[index // 16],
            block_format="nvfp4",
            tensor_scale=float(tensor_scale),
        )
        for index, row in enumerate(codes)
    ]
    return np.array(rows).reshape(codes.shape) if rows else np.empty(codes.shape, dtype)


@pytest.mark.parametrize("float", ["f32", "bf16"])
def test_a_right_kernel_conforms(float: str) -> None:
    assert report_on(f"quantize/{NAME}.{float}", quantize=quantize).passed
    assert report_on(f"dequantize/{NAME}.{float}", dequantize=read).passed


def test_a_kernel_of_blocks_in_rows_fails() -> None:
    """One that has 1 x 16 blocks: its shapes alone are others."""

    def in_rows(values: Any, format: str, tensor_scale: Any) -> Any:
        blocks = mxref.quantize(values, "nvfp4", tensor_scale=float(tensor_scale))
        return blocks.scale_codes, blocks.codes

    report = report_on(f"quantize/{NAME}.f32", quantize=in_rows)
    assert not report.passed
    assert "must have shape" in verdict_text(report)


def tiles(*scales: float) -> Any:
    """Tiles beside each other, each of 6 times its scale in the last place, and of its scale."""
    found = np.repeat(np.float32(scales), 16)[np.newaxis].repeat(16, axis=0)
    found[15, 15::16] = 6 * np.float32(scales)
    return found


@pytest.mark.parametrize(
    ("id", "scale"),
    [
        # The largest of the first rows, or of the first column, is 1: 1 / 6 is 0.171875, code 23.
        ("C6w", 0x23),
        ("C6x", 0x23),
        ("C6y", 0x23),
        ("C6z", 0x23),
    ],
)
def test_a_part_of_a_tile(id: str, scale: int) -> None:
    scales, codes = RUN[id](tiles(1.0), NAME, ONE)
    assert scales.tolist() == [[scale]]
    assert codes[15, 15] == 7  # 6 / 0.171875 is beyond the largest element
    assert codes[0, 0] == 7  # 1 / 0.171875 is 5.8


def test_two_tiles_as_one() -> None:
    assert RUN["G7f"](tiles(1.0, 2.0, 4.0), NAME, ONE)[0].tolist() == [[S2, S4, S4]]


def test_tiles_in_line() -> None:
    """Of two tiles beside each other the first 256 numbers are their first eight rows."""
    scales, codes = RUN["G7g"](tiles(1.0, 2.0), NAME, ONE)
    assert scales.tolist() == [[0x2B, S2]]  # 2 / 6 is nearest to 0.34375
    assert codes[15, 31] == 7
    assert codes[15, 15] == 5  # 6 under 2


def test_places() -> None:
    """Scales of a matrix of 2 x 3 tiles, column by column; codes of a tile likewise."""
    values = np.concatenate([tiles(1.0, 2.0, 4.0), tiles(8.0, 16.0, 32.0)])
    right = [[S1, S2, S4], [0x50, 0x58, 0x60]]
    assert quantize(values, NAME, ONE)[0].tolist() == right
    moved = RUN["G8o"](values, NAME, ONE)[0].tolist()
    assert moved == [[S1, 0x50, S2], [0x58, S4, 0x60]]
    one = tiles(1.0)
    one[0, 1] = 3.0
    codes = RUN["G8p"](one, NAME, ONE)[1]
    assert (codes[1, 0], codes[0, 1]) == (5, 2)
    ones = np.full(values.shape, 2, np.uint8)
    scales = np.uint8(right)
    columns = RUN["G8q"](scales, ones, NAME, np.float32, ONE)[::16, ::16]
    assert columns.tolist() == [[1.0, 8.0, 2.0], [16.0, 4.0, 32.0]]
    first = RUN["G8r"](scales, ones, NAME, np.float32, ONE)[::16, ::16]
    assert first.tolist() == [[1.0] * 3, [8.0] * 3]


@pytest.mark.parametrize("id", ["C6x", "C6z", "G8p", "G8q", "D7bk"])
def test_a_kernel_with_it_fails_and_is_told_what_it_is(id: str) -> None:
    report = report_on(f"{OP[id]}/{NAME}.f32", **{OP[id]: RUN[id]})
    assert not report.passed
    whole = {"G8q": "depends on what else is in the call"}
    assert whole.get(id, f"has bug {id}") in verdict_text(report)


def test_a_kernel_of_whole_tiles_of_rows_conforms() -> None:
    """It takes multiples of 48 rows, three rows of tiles."""

    def of_48(values: Any, *rest: Any) -> Any:
        if len(values) % 48:
            raise ValueError("rows must be a multiple of 48")
        return quantize(values, *rest)

    def read_48(scales: Any, codes: Any, *rest: Any) -> Any:
        if len(codes) % 48 or len(scales) * 16 != len(codes):
            raise ValueError("rows must be a multiple of 48")
        return read(scales, codes, *rest)

    needs = {"quantize": 48, "dequantize": 48}
    for op, run in (("quantize", of_48), ("dequantize", read_48)):
        assert report_on(f"{op}/{NAME}.f32", **{op: run}, MULTIPLES=needs).passed


@pytest.mark.parametrize("axis", [0, 1])
def test_matrices_are_wide_and_high(axis: int) -> None:
    """A kernel that is wrong behind row or column 60 alone."""

    def wrong(values: Any, format: str, tensor_scale: Any) -> Any:
        scales, codes = quantize(values, format, tensor_scale)
        np.moveaxis(codes, axis, 0)[60:] = 0
        return scales, codes

    report = report_on("quantize/nvfp4_16x16.f32", quantize=wrong)
    assert "size" in verdict_text(report)
