"""The slow twin of packing against torchao (nibbles, tiles) and gguf (a block with its scale)."""

from __future__ import annotations

import random

import gguf
import numpy as np
import pytest
import torch
from torchao.prototype.mx_formats.kernels import pack_uint4, unpack_uint4
from torchao.prototype.mx_formats.utils import from_blocked, to_blocked

from mxref.exact.bit_places import pack, pack_block, pack_scales, unpack, unpack_scales


def test_torchao_nibbles() -> None:
    drawn = random.Random("nibbles")
    codes = [drawn.randrange(16) for _ in range(512)] + [n for n in range(16) for _ in range(2)]
    packed = pack_uint4(torch.tensor(codes, dtype=torch.uint8).reshape(1, -1))
    assert packed.flatten().tolist() == pack(codes, 4, "low_nibble_first")
    assert unpack_uint4(packed).flatten().tolist() == codes
    assert unpack(packed.flatten().tolist(), 4, "low_nibble_first", len(codes)) == codes


@pytest.mark.parametrize("shape", [(1, 1), (128, 4), (129, 5), (300, 9), (64, 16)])
def test_torchao_tiles(shape: tuple[int, int]) -> None:
    drawn = random.Random(str(shape))
    rows = [[drawn.randrange(256) for _ in range(shape[1])] for _ in range(shape[0])]
    data = to_blocked(torch.tensor(rows, dtype=torch.uint8), use_triton_kernel=False)
    assert data.flatten().tolist() == pack_scales(rows, "tiles_128x4")
    if shape == (128, 4):  # from_blocked takes whole tiles
        back = unpack_scales(data.flatten().tolist(), shape, "tiles_128x4")
        assert back == from_blocked(data, *shape).tolist()


def test_gguf_block() -> None:
    # Scale 2 ** 0 and distinct numbers: what gguf reads is what was packed.
    values = np.array([0, 0.5, 1, 1.5, 2, 3, 4, 6], np.float32)
    drawn = random.Random("gguf")
    for _ in range(100):
        codes = [drawn.randrange(8) + drawn.choice((0, 8)) for _ in range(32)]
        block = pack_block(0x7F, codes, 4, "halves", "before", "biased")
        data = np.array(block, np.uint8)
        read = gguf.quants.dequantize(data, gguf.GGMLQuantizationType.MXFP4)
        want = [values[code % 8] * (-1 if code > 7 else 1) for code in codes]
        assert read.tolist() == want
