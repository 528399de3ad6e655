"""FlashInfer's MXFP8, which no policy says: SPEC_NOTES names all that its nearest policy lacks."""

from __future__ import annotations

import re
from pathlib import Path

import numpy as np
import pytest

import mxref
from mxref.bits.float32 import wide
from mxref.bits.floats import LAYOUTS
from mxref.cases.read import vectors_folder
from mxref.conformance.differing import inputs

NOTES = (Path(__file__).resolve().parents[2] / "SPEC_NOTES.md").read_text("utf-8")


def cute(x: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
    """Scale codes and elements of float32 blocks, step by step as the CuTe kernel has it."""
    amax = np.fmax.reduce(np.abs(x), axis=1)
    bits = (amax * np.float32(1 / 448)).view(np.uint32).astype(np.int64)
    field, fraction = bits >> 23 & 0xFF, bits & 0x7FFFFF
    up = (fraction != 0) & ~((field == 0) & (fraction <= 0x400000))
    code = np.where(bits == 0, 0, np.minimum(field + up, 0xFE))
    inverse = np.where(code == 0, 0, (0xFE - code) << 23).astype(np.uint32).view(np.float32)
    quotients = np.fmax(np.fmin(x * inverse[:, np.newaxis], np.float32(448)), np.float32(-448))
    return code.astype(np.uint8), mxref.encode(quotients, "e4m3")


@pytest.mark.parametrize("float", ["bf16", "f16"])
def test_flashinfer(float: str) -> None:
    (policy,) = re.findall(r"The nearest policy is\s+`([^`]+)`: amax passes over NaN", NOTES)
    layout = LAYOUTS[float]
    fmt = mxref.formats.block_format("mxfp8_e4m3")
    words = inputs.blocks(fmt, layout, vectors_folder()).astype(layout.uint)
    x = wide(words, layout).astype(np.float32)
    with np.errstate(all="ignore"):
        code, elements = cute(x)
    blocks = mxref.quantize(words.view(layout.dtype), fmt, policy)
    nan = np.isnan(x)
    alone = nan.all(axis=1)
    assert {*code[alone]} == {0xFE}
    assert {*blocks.scale_codes[alone, 0]} == {0}
    assert np.array_equal(blocks.scale_codes[~alone, 0], code[~alone])
    differs = blocks.codes != elements
    lost = nan | np.isinf(x)
    assert {*elements[lost]} == {0x7E}
    flushed = (code == 0)[:, np.newaxis]  # with their NaN
    assert {*blocks.codes[lost & ~flushed]} == {0x7F}
    zeros = ~lost & flushed
    assert {*elements[zeros]} <= {0, 0x80}
    assert differs[zeros].any() == (float == "bf16")
    assert not (differs & ~lost & ~zeros).any()
