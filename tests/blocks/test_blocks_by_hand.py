"""Blocks by hand: the tables of the slow twin's room, asked of the vectorised path.

A few elements and many of them are quantized in different ways.
"""

from __future__ import annotations

import numpy as np
import pytest
from helpers import SOURCES
from tables import bits, choices, codes, pattern, rows

import mxref
from mxref.bits.floats import LAYOUTS
from mxref.blocks.routes import FEW
from mxref.formats.catalog import E8M0, BlockFormat, element_format

#: Of float types: those of integers and small floats are in test_quantization.py.
QUANTIZED = [row for row in rows("exact", "quantize") if row[0].split()[0] in SOURCES]


def named(text: str) -> list[dict[str, str]]:
    """Choices as `mxref.quantize` spells them."""
    return choices(text.replace("rule=", "scale_rule="))


def blocks_of(element: str, size: int) -> BlockFormat:
    return BlockFormat("mine", element_format(element), E8M0, size)


@pytest.mark.parametrize(("types", "numbers", "chosen", "expected"), QUANTIZED)
def test_quantize(types: str, numbers: str, chosen: str, expected: str) -> None:
    source, element = types.split()
    words = [pattern(word, source) for word in numbers.split()]
    x = np.array(words, LAYOUTS[source].uint).view(SOURCES[source])
    fmt, want = blocks_of(element, x.size), [codes(one) for one in expected.split("/")]
    few = [mxref.quantize(x, fmt, **each) for each in named(chosen)]
    assert [[*one.scale_codes, *one.codes] for one in few] == want
    rows = np.tile(x, (FEW // x.size + 1, 1))
    for each, (scale, *elements) in zip(named(chosen), want, strict=True):
        many = mxref.quantize(rows, fmt, **each)
        assert (many.scale_codes == scale).all()
        assert (many.codes == elements).all()


@pytest.mark.parametrize(
    ("types", "scale", "code", "chosen", "expected"), rows("exact", "dequantize")
)
def test_dequantize(types: str, scale: str, code: str, chosen: str, expected: str) -> None:
    element, target = types.split()
    blocks = mxref.Blocks(codes(code), codes(scale), blocks_of(element, 1), 0, (1,))
    found = [blocks.dequantize(SOURCES[target], **each) for each in choices(chosen)]
    assert [bits(one) for one in found] == [[one] for one in codes(expected)]
