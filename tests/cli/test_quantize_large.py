"""Figures of blocks that are read in parts: each block counts once."""

from __future__ import annotations

import numpy as np
import pytest

import mxref
from mxref.blocks import tiles
from mxref.cli import quantize_figures
from mxref.cli.quantize_figures import Figures


@pytest.mark.parametrize(("axis", "size"), [(1, 25), (0, 20), ((0, 1), (7, 9))])
def test_figures_of_large_blocks(
    axis: int | tuple[int, ...], size: int | tuple[int, ...], monkeypatch: pytest.MonkeyPatch
) -> None:
    x = np.random.default_rng(2).standard_normal((23, 50)).astype(np.float32)
    x[3, 4], x[9, 30] = np.nan, np.inf
    blocks = mxref.quantize(x, "mxfp4_e2m1", axis=axis, block_size=size)
    whole = Figures.of(x, blocks).report()
    monkeypatch.setattr(tiles, "TILE", 8)
    monkeypatch.setattr(quantize_figures, "PART", 8)
    assert blocks.tiling.is_long
    assert Figures.of(x, blocks).report() == whole
    assert whole["blocks"] == blocks.scale_codes.size
    assert whole["nan_blocks"] == int((blocks.scale_codes == 0xFF).sum()) == 2
