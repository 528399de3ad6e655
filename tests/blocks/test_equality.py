"""The container: equality of blocks, and their text."""

from __future__ import annotations

import dataclasses
import itertools
from typing import Any
from xml.etree import ElementTree

import numpy as np
import pytest
from helpers import ROOT, sentence

from mxref import Blocks, quantize
from mxref.blocks.two_level import TensorScale, TensorScaleKind
from mxref.formats.catalog import BLOCK_FORMATS, E1M2, E8M0, BlockFormat

FP4 = BLOCK_FORMATS["mxfp4_e2m1"]


def sample(shape: tuple[int, ...], seed: int) -> np.ndarray:
    return np.random.default_rng(seed).standard_normal(shape).astype(np.float32)


# Equality.

CODES, SCALES = [4, 14, 7, 5], [126, 128]
PAIRS = dataclasses.replace(FP4, block_size=2)


def pairs(**changes: Any) -> Blocks:
    fields = {"codes": CODES, "scale_codes": SCALES, "format": PAIRS, "axis": 0, "shape": (4,)}
    return Blocks(**(fields | changes))


def test_equality_is_of_bits() -> None:
    same = pairs() == pairs()
    assert same is True
    for changes in (
        {"codes": [4, 14, 7, 4]},
        {"scale_codes": [126, 127]},
        {"format": dataclasses.replace(PAIRS, name="mine")},
        {"format": dataclasses.replace(PAIRS, element=E1M2)},
        {"axis": (0,)},
        {"shape": (3,)},
        {"dtype": np.float64},
        {"dtype": ">f4"},
        {"codes": [[4, 14, 7, 5]], "scale_codes": [SCALES], "axis": 1, "shape": (1, 4)},
    ):
        assert (pairs(**changes) == pairs()) is False
        assert (pairs() != pairs(**changes)) is True
        assert pairs(**changes) == pairs(**changes)
    assert pairs() != 1
    assert pairs() != CODES
    # -0 is not +0, and one NaN not another.
    assert pairs(codes=[0, 0, 0, 0]) != pairs(codes=[8, 0, 0, 0])
    nan = [255, 255]
    assert pairs(scale_codes=nan, codes=[1, 0, 0, 0]) != pairs(scale_codes=nan, codes=[0, 0, 0, 0])
    assert quantize([np.nan], "mxfp8_e4m3") == quantize([-np.nan], "mxfp8_e4m3")
    with pytest.raises(TypeError, match="unhashable"):
        hash(pairs())


def test_equality_of_padding() -> None:
    padded = pairs(shape=(3,))
    other = pairs(shape=(3,), codes=[4, 14, 7, 0])
    short = pairs(shape=(3,), codes=[4, 14, 7])
    assert padded != other  # both hold codes of padding
    assert padded == short == other
    assert other == short == padded
    assert short != pairs(shape=(3,), codes=[4, 14, 6])
    x = sample((3, 33), 2)
    assert quantize(x, "mxint8") == quantize(x, "mxint8", tail="short")
    transposed = quantize(x.T, "mxint8", axis=0, tail="short")
    assert transposed == quantize(x, "mxint8").T


def test_equality_of_tensor_scales() -> None:
    x = sample((2, 20), 5)
    blocks = quantize(x, "nvfp4", tensor_scale=0.5)
    assert blocks == quantize(x, "nvfp4", tensor_scale=0.5)
    for scale in (TensorScale(0x3F000001), TensorScale(0x3F000000, TensorScaleKind.DIVISOR)):
        assert blocks != dataclasses.replace(blocks, tensor_scale=scale)


def test_equal_values() -> None:
    x = np.float32([[1, -2, 3, 0], [0.5, 6, -6, np.nan]])
    rows = quantize(x, "mxfp8_e4m3", block_size=1)
    columns = quantize(x, "mxfp4_e2m1", axis=0, block_size=1, tail="short")
    assert rows != columns
    assert rows.equal_values(columns) is True
    assert columns.equal_values(rows) is True
    assert rows.equal_values(rows.T) is False  # another shape
    assert rows[:1].equal_values(columns[1:]) is False
    minus = quantize(-np.zeros(3), "mxfp8_e4m3")
    assert minus != quantize(np.zeros(3), "mxfp8_e4m3")
    assert minus.equal_values(quantize(np.zeros(3), "mxfp8_e4m3"))

    def pair(codes: list[int], scale: int, length: int = 1) -> Blocks:
        return pairs(codes=codes, scale_codes=[scale], shape=(length,))

    # One number in two ways: 4 * 2**-1 and 1 * 2**1; padding does not count.
    assert pair([6, 2], 126, 2).equal_values(pair([2, 0], 128, 2)) is False
    assert pair([6, 7], 126).equal_values(pair([2, 0], 128))
    # Beyond float32, and below it: 3 * 2**127 and 4 * 2**127, 2**-128 and 2**-127.
    assert not pair([5], 254).equal_values(pair([6], 254))
    assert not pair([1], 0).equal_values(pair([2], 0))
    assert quantize(np.zeros((0, 3)), "mxint8").equal_values(quantize(np.zeros((0, 3)), "nvfp4"))
    assert sentence(TypeError, lambda: rows.equal_values(1)) == (  # type: ignore[arg-type]
        "other must be a Blocks, got int"
    )


def test_equal_values_of_tensor_scales() -> None:
    def scaled(code: int, bits: int, kind: str = "factor") -> Blocks:
        scale = TensorScale(bits, TensorScaleKind(kind))
        return Blocks([code] + [0] * 15, [0x38], "nvfp4", 0, (1,), tensor_scale=scale)  # type: ignore[arg-type]

    # 6 * 0.5 = 3 * 1 = 1.5 / 0.5; the last place of a factor or divisor counts.
    assert scaled(7, 0x3F000000).equal_values(scaled(5, 0x3F800000))
    assert scaled(7, 0x3F000000).equal_values(scaled(3, 0x3F000000, "divisor"))
    assert not scaled(7, 0x3F000001).equal_values(scaled(5, 0x3F800000))
    assert not scaled(7, 0x3F800001, "divisor").equal_values(scaled(7, 0x3F800002, "divisor"))
    # An amax of 2688 makes the factor 1; one of 2689 does not.
    assert scaled(7, 0x45280000, "amax").equal_values(scaled(7, 0x3F800000))
    assert not scaled(7, 0x45281000, "amax").equal_values(scaled(7, 0x3F800000))


# Text.


HALF = TensorScale(0x3F000000)
SHOWN = [
    quantize(np.float16([[0.5, -3.0, 100.0, 7.0]] * 2), "mxfp8_e4m3", block_size=2),
    quantize(np.arange(9000), "mxint8"),
    quantize(np.float32([np.nan, 1]), "mxfp6_e2m3"),
    Blocks([9, 7], [127], BlockFormat("mine", E1M2, E8M0, 2), 0, (2,)),
    quantize(np.float32([[1, 2, 9], [3, -4, 9]]), "mxfp4_e2m1", axis=(0, 1), block_size=(2, 2)),
    quantize(-2.0, "mxfp8_e5m2"),
    quantize(np.zeros((3, 0), np.float32), "mxfp8_e5m2"),
    quantize(np.zeros((0,), np.float32), "mxfp8_e5m2"),
    Blocks([6] + [0] * 15, [0x38], "nvfp4", 0, (1,), tensor_scale=HALF),
]


def test_repr() -> None:
    texts = (ROOT / "tests/blocks/data/reprs.txt").read_text("ascii").rstrip().split("\n\n")
    assert [repr(blocks) for blocks in SHOWN] == [str(blocks) for blocks in SHOWN] == texts


def cells(html: str) -> list[list[str]]:
    """The cells of a table, which is well-formed XML but for its line breaks."""
    table = ElementTree.fromstring(html.replace("<br>", " "))
    assert table.tag == "table"
    return [[cell.text or "" for cell in row] for row in table.iter("tr")]


def test_html_of_a_notebook() -> None:
    """The first four blocks, of each the first eight codes, as `repr` has those of the first."""
    x = sample((3, 66), seed=5)
    for blocks in (quantize(x, "mxfp4_e2m1"), quantize(x, "mxfp8_e4m3", axis=0, block_size=2)):
        html = blocks._repr_html_()
        assert f"<caption>{repr(blocks).splitlines()[0]}</caption>" in html
        header, *rows = cells(html)
        assert header == ["block", "scale", "codes and values"]
        places = [*itertools.islice(np.ndindex(blocks.scale_codes.shape), 4)]
        assert [row[0] for row in rows] == [", ".join(map(str, place)) for place in places]
        for row, place in zip(rows, places, strict=True):
            unit = [1, blocks.block_size] if blocks.axis else [blocks.block_size, 1]
            key = tuple(
                slice(i * n, min((i + 1) * n, most))
                for i, n, most in zip(place, unit, blocks.shape, strict=True)
            )
            _, scale, codes, values = repr(blocks[key]).splitlines()
            assert row[1] == scale.removeprefix("  first scale: ")
            pairs = zip(codes.split()[1:], values.split()[1:], strict=True)
            assert row[2:] == [a if a == "..." else f"{a} {b}" for a, b in pairs]


def test_html_of_other_blocks() -> None:
    odd = Blocks([9, 7], [127], BlockFormat("<b>&", E1M2, E8M0, 2), 0, (2,))
    assert "<caption>Blocks &lt;b&gt;&amp;: shape (2,)" in odd._repr_html_()
    assert cells(odd._repr_html_())[1] == ["0", "7f = 2**0", "9 -0.25", "7 1.75"]
    assert cells(quantize(-2.0, "mxfp8_e5m2")._repr_html_())[1] == ["", "71 = 2**-14", "f8 -2.0"]
    empty = quantize(np.zeros((3, 0), np.float32), "mxfp8_e5m2")
    assert empty._repr_html_() == f"<table><caption>{empty!r}</caption></table>"
    tiles = quantize(np.ones((3, 5), np.float32), "nvfp4", axis=(0, 1), block_size=(2, 4))
    assert [row[0] for row in cells(tiles._repr_html_())[1:]] == ["0, 0", "0, 1", "1, 0", "1, 1"]
    assert "tensor scale" in tiles._repr_html_()
