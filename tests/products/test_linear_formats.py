"""Layers in NVFP4, in other blocks and tiles, and in several formats, equal the slow twin."""

from __future__ import annotations

import dataclasses
from typing import Any

import numpy as np
import pytest
from helpers import SOURCES
from layer_operands import operands, words
from tables import choices

import mxref
from mxref.exact import linear as twin
from mxref.formats.catalog import BlockFormat, block_format

FOUR = block_format("nvfp4")
#: Formats of mxref, and the same for the slow twin.
FORMATS: dict[str, tuple[str | BlockFormat, twin.BlockFormat]] = {
    "nvfp4": ("nvfp4", twin.BlockFormat("e2m1", "ue4m3", 16, tensor=True)),
    "tiles": (
        dataclasses.replace(FOUR, block_size=(16, 16)),
        twin.BlockFormat("e2m1", "ue4m3", (16, 16), tensor=True),
    ),
    "fp4_ue4m3": ("fp4_ue4m3", twin.BlockFormat("e2m1", "ue4m3", 16)),
    "fp4_e8m0": ("fp4_e8m0", twin.BlockFormat("e2m1", "e8m0", 16)),
    "mxfp8_e4m3": ("mxfp8_e4m3", twin.BlockFormat("e4m3")),
    "mxfp8_e5m2": ("mxfp8_e5m2", twin.BlockFormat("e5m2")),
    "power_tiles": (
        dataclasses.replace(block_format("mxfp8_e4m3"), block_size=(8, 32)),
        twin.BlockFormat("e4m3", "e8m0", (8, 32)),
    ),
    "one_axis": (
        dataclasses.replace(block_format("mxfp6_e2m3"), block_size=(8,)),
        twin.BlockFormat("e2m3", "e8m0", 8),
    ),
}
#: Formats of x, w and the gradient.
LAYERS = [
    ("nvfp4", "nvfp4", "nvfp4"),
    ("nvfp4", "tiles", "nvfp4"),
    ("tiles", "tiles", "tiles"),
    ("fp4_ue4m3", "tiles", "mxfp8_e5m2"),
    ("mxfp8_e4m3", "power_tiles", "mxfp8_e5m2"),
    ("power_tiles", "fp4_e8m0", "tiles"),
    ("one_axis", "mxfp8_e4m3", "nvfp4"),
]
CHOICES = choices("weight_axis=in,out activations=quantized,kept")
BACKWARD = [{}, {"gradient_rows": "sequences"}, {"backward_operands": "reused"}]


def check(names: tuple[str, str, str], arrays: list[Any], target: str, number: int) -> None:
    """One output and the gradients of a layer, under one of the choices."""
    (of_x, slow_x), (of_w, slow_w), (of_g, slow_g) = (FORMATS[name] for name in names)
    x, w, grad, bias = arrays
    dtype, way = SOURCES[target], CHOICES[number % len(CHOICES)]
    got = mxref.linear(x, w, of_x, weight_format=of_w, bias=bias, dtype=dtype, **way)
    want = twin.linear(
        words(x), words(w), "f32", slow_x, target, weight_format=slow_w, bias=words(bias)[0], **way
    )
    assert words(got) == want, way
    own = BACKWARD[number % len(BACKWARD)]
    if x.ndim < 3 and "gradient_rows" in own:
        own = {}
    *found, sums = mxref.linear_gradients(
        x, w, grad, of_x, weight_format=of_w, gradient_format=of_g, dtype=dtype, **own
    )
    more = {name: value for name, value in own.items() if name != "gradient_rows"}
    sequence = x.shape[-2] if "gradient_rows" in own else None
    *wanted, totals = twin.linear_gradients(
        words(x), words(w), words(grad), "f32", slow_x, target,
        weight_format=slow_w, gradient_format=slow_g, sequence=sequence, **more,
    )  # fmt: skip
    assert [*map(words, found), words(sums)[0]] == [*wanted, totals], own


@pytest.mark.parametrize("names", LAYERS, ids="-".join)
def test_formats_and_tilings_equal_the_slow_twin(names: tuple[str, str, str]) -> None:
    shapes = [((5,), 40, 3), ((2, 20), 33, 18), ((2, 1, 3), 31, 7), ((), 70, 2), ((19,), 16, 17)]
    for number, shape in enumerate([*shapes, *shapes[1:2]]):
        arrays = operands(20 + number, *shape)
        check(names, arrays, [*SOURCES][number % 4], number)


@pytest.mark.parametrize("names", LAYERS, ids="-".join)
def test_special_values(names: tuple[str, str, str]) -> None:
    for number in range(3):
        x, w, grad, bias = operands(31 + number, (2, 5), 34, 6)
        x.reshape(-1)[[0, 40]] = np.inf, -np.inf
        w[-1, 0], grad[0, 0, 1:3] = np.nan, 0
        x[0, 0, :32] = 0
        bias[:2] = np.inf, np.nan
        check(names, [x, w, grad, bias], "f32", number)


def test_a_tile_of_the_weight_serves_both_products() -> None:
    x, w, grad, _ = operands(40, (37,), 40, 50)
    tiles = FORMATS["tiles"][0]
    read = mxref.quantize(w, "nvfp4", axis=(0, 1), block_size=(16, 16))
    y = mxref.linear(x, w, "nvfp4", weight_format=tiles, accumulation="aligned_35")
    a = mxref.quantize(x, "nvfp4", axis=1)
    assert np.array_equal(y, mxref.matmul(a, read.T, accumulation="aligned_35"))
    dx, dw, _ = mxref.linear_gradients(
        x, w, grad, "nvfp4", weight_format=tiles, accumulation="aligned_35"
    )
    g = mxref.quantize(grad, "nvfp4", axis=1)
    assert np.array_equal(dx, mxref.matmul(g, read, accumulation="aligned_35"))
    parts = (mxref.quantize(one, "nvfp4", axis=0) for one in (grad, x))
    left, right = parts
    assert np.array_equal(dw, mxref.matmul(left.T, right, accumulation="aligned_35"))


def test_a_choice_goes_to_the_formats_that_read_it() -> None:
    x, w, _, _ = operands(41, (9,), 64, 5)
    both: Any = {"scale_rule": "rceil", "scale_arithmetic": "torchao"}
    y = mxref.linear(x, w, "mxfp8_e4m3", weight_format="nvfp4", **both)
    a = mxref.quantize(x, "mxfp8_e4m3", axis=1, scale_rule="rceil")
    b = mxref.quantize(w, "nvfp4", axis=1, scale_arithmetic="torchao")
    assert np.array_equal(y, mxref.matmul(a, b.T))
    assert not np.array_equal(y, mxref.linear(x, w, "mxfp8_e4m3", weight_format="nvfp4"))
