"""What implementations were seen to do, by the adapters that the profiles name."""

from __future__ import annotations

import numpy as np
import pytest
from helpers import SOURCES
from profile_blocks import digest, many
from tables import codes, number, pattern, rows

import mxref
from mxref.bits.floats import LAYOUTS
from mxref.formats.catalog import block_format


@pytest.mark.parametrize(
    ("name", "types", "numbers", "scale", "elements"), rows("profiles", "blocks")
)
def test_blocks(name: str, types: str, numbers: str, scale: str, elements: str) -> None:
    format, source = types.split()
    some, want = [number(word) for word in numbers.split()], codes(elements)
    values = np.full(32, np.nan if np.isnan(some).all() else 0, SOURCES[source])
    with np.errstate(invalid="ignore"):
        values[: len(some)] = np.array(some).astype(SOURCES[source])
    blocks = mxref.profile(name).quantize(values, format)
    assert blocks.scale_codes.tolist() == codes(scale)
    assert blocks.codes[: len(want)].tolist() == want


@pytest.mark.sampled(6)
@pytest.mark.parametrize(("name", "format", "source", "theirs"), rows("profiles", "digests"))
def test_many_blocks(name: str, format: str, source: str, theirs: str) -> None:
    blocks = mxref.profile(name).quantize(many(source), format)
    assert digest(blocks.scale_codes, blocks.codes) == theirs


@pytest.mark.parametrize(("name", "format", "block", "read"), rows("profiles", "read"))
def test_numbers_read(name: str, format: str, block: str, read: str) -> None:
    scale, code = codes(block)
    blocks = mxref.Blocks(np.full(32, code), [scale], block_format(format), 0, (32,))
    found = mxref.profile(name).dequantize(blocks)
    assert {float(one).hex() for one in found} == {number(read).hex()}


def given(words: str, source: str) -> np.ndarray:
    patterns = [pattern(word, source) for word in words.split()]
    return np.array(patterns, LAYOUTS[source].uint).view(SOURCES[source])


@pytest.mark.parametrize(("name", "types", "words", "want"), rows("profiles", "casts"))
def test_casts(name: str, types: str, words: str, want: str) -> None:
    format, source = types.split()
    assert mxref.profile(name).encode(given(words, source), format).tolist() == codes(want)


@pytest.mark.parametrize(("name", "types", "words", "want"), rows("profiles", "scales"))
def test_scales(name: str, types: str, words: str, want: str) -> None:
    format, source = types.split()
    one, x = mxref.profile(name), given(words, source)
    found = one.encode_scale(x) if format == "e8m0" else one.shared_scale(x, format)
    assert found.tolist() == codes(want)
