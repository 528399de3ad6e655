"""Scales like E8M0 of fewer bits, by public functions: SPEC_NOTES, Formats."""

from __future__ import annotations

import numpy as np
import pytest

import mxref
from mxref.cases.splitmix import splitmix64
from mxref.formats.catalog import BLOCK_FORMATS

ELEMENTS = {block: fmt.element for block, fmt in BLOCK_FORMATS.items()}


@pytest.mark.parametrize("block", BLOCK_FORMATS)
@pytest.mark.parametrize("width", [2, 5, 6])
def test_they_are_the_scales_of_blocks_with_an_element_that_keeps_them_up(
    block: str, width: int
) -> None:
    element, most = ELEMENTS[block], 2 ** (width - 1) - 1
    words = splitmix64(width, 600 * 31).reshape(600, 31)
    draws = (words[:, :1] >> np.uint64(48)).astype(int)
    exponents = element.emax - 2 * most - 2 + draws % (4 * most + 5)
    x = np.ldexp((words % np.uint64(1 << 20)).astype(np.float64) - (1 << 19), exponents - 19)
    x = x.astype(np.float32)
    k = mxref.shared_scale(np.abs(x).max(-1), element).astype(int) - 127
    scale = np.maximum(k, -most)[:, np.newaxis]
    codes = mxref.encode(np.ldexp(x.astype(np.float64), -scale), element)
    numbers = np.ldexp(mxref.decode(codes, element, np.float64), scale)
    # A power of two beside them makes the least scale 2**-most, and changes no larger one.
    least = np.full((len(x), 1), 2.0 ** (element.emax - most), np.float32)
    blocks = mxref.quantize(np.concatenate([x, least], axis=1), block)
    assert np.array_equal(blocks.scale_codes.reshape(-1), scale[:, 0] + 127)
    assert np.array_equal(mxref.dequantize(blocks, np.float64)[:, :31], numbers)
    assert (k < -most).any()
    assert (k > most).any()
    # Their codes are E8M0's, moved.
    stored = mxref.dequantize(
        np.concatenate([codes, codes[:, :1]], axis=1),
        scale_codes=(scale + 127).astype(np.uint8),
        block_format=block,
        dtype=np.float64,
    )
    assert np.array_equal(stored[:, :31], numbers)
