"""The container: equality of blocks, and their text."""

from __future__ import annotations

import dataclasses
import itertools
from typing import Any
from xml.etree import ElementTree

import numpy as np
import pytest
from helpers import ROOT
from refused import call_of
from tables import rows

from mxref import Blocks, quantize
from mxref.blocks.two_level import TensorScale, TensorScaleKind
from mxref.formats.catalog import BLOCK_FORMATS, E1M2, E8M0, BlockFormat


def sample(shape: tuple[int, ...], seed: int) -> np.ndarray:
    return np.random.default_rng(seed).standard_normal(shape).astype(np.float32)


# Equality.


def pairs(**changes: Any) -> Blocks:
    """Two blocks of two, with changes."""
    fields: dict[str, Any] = {"codes": [4, 14, 7, 5], "scale_codes": [126, 128], "shape": (4,)}
    fields |= {"format": dataclasses.replace(BLOCK_FORMATS["mxfp4_e2m1"], block_size=2), "axis": 0}
    return Blocks(**(fields | changes))


def scaled(code: int, bits: int, kind: str = "factor") -> Blocks:
    """An element under a scale of 1 and the scale of a tensor."""
    scale = TensorScale(bits, TensorScaleKind(kind))
    return Blocks([code] + [0] * 15, [0x38], "nvfp4", 0, (1,), tensor_scale=scale)  # type: ignore[arg-type]


NAMED = {
    "pairs": pairs,
    "scaled": scaled,
    "X": sample((3, 33), 2),
    "W": np.float32([[1, -2, 3, 0], [0.5, 6, -6, np.nan]]),
}


@pytest.mark.parametrize(("one", "relation", "other"), rows("blocks", "equal"))
def test_equality_of_bits_and_of_values(one: str, relation: str, other: str) -> None:
    first, second = (call_of(text, **NAMED)() for text in (one, other))
    for a, b in ((first, second), (second, first)):
        assert (a == b) is (relation == "==")
        assert (a != b) is (relation != "==")
        assert a.equal_values(b) is (relation != "!=")


def test_blocks_are_equal_to_nothing_else_and_no_keys() -> None:
    assert pairs() != 1
    assert pairs() != [4, 14, 7, 5]
    with pytest.raises(TypeError, match="unhashable"):
        hash(pairs())


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
