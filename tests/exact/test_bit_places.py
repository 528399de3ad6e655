"""The slow twin of packing against bytes written by hand and against the layouts' arithmetic.

Source: implementation texts named in `mxref.exact.bit_places`.
"""

from __future__ import annotations

import itertools
import random

import numpy as np
import pytest
from tables import rows

import mxref
from mxref.exact.bit_places import pack, pack_block, pack_scales, unpack, unpack_scales

PACKINGS = {
    4: ("low_nibble_first", "high_nibble_first", "halves", "middle_bits", "byte_each"),
    6: ("lsb_first", "quark", "torchao_planar", "torchao_quads", "byte_each"),
    8: ("byte_each",),
}
ALL = [(bits, packing) for bits, packings in PACKINGS.items() for packing in packings]
GROUP = {"low_nibble_first": 2, "high_nibble_first": 2, "lsb_first": 4, "quark": 4}
GROUP |= {"torchao_quads": 4, "halves": 32, "torchao_planar": 32}
BYTES = {"middle_bits": 1, "byte_each": 1}  # per code; the others are dense


@pytest.mark.parametrize(("how", "block_size", "codes", "expected"), rows("exact", "packed"))
def test_bytes_by_hand(how: str, block_size: str, codes: str, expected: str) -> None:
    bits, packing = how.split()
    row, data = ([*bytes.fromhex(text)] for text in (codes, expected))
    assert pack(row, int(bits), packing, int(block_size)) == data
    assert unpack(data, int(bits), packing, len(row), int(block_size)) == row


@pytest.mark.parametrize(("bits", "packing"), ALL)
def test_every_code_at_every_place_and_random_rows(bits: int, packing: str) -> None:
    """As the fast path packs them, which has a definition of its own in tests/packing."""
    format, choice = {4: ("e2m1", "fp4_packing"), 6: ("e2m3", "fp6_packing"), 8: ("e4m3", "")}[bits]
    chosen = {choice: packing} if choice else {}
    size = GROUP.get(packing, 1)
    some = [
        [0] * place + [code] + [0] * (size - place - 1)
        for place, code in itertools.product(range(size), range(1 << bits))
    ]
    drawn = random.Random(f"{bits} {packing}")
    some += [[drawn.randrange(1 << bits) for _ in range(count)] for count in range(70)]
    for row in some:
        data = pack(row, bits, packing)
        assert data == mxref.pack(np.array(row, np.uint8), format, **chosen).tolist()
        assert len(data) == (len(row) + -len(row) % size) * BYTES.get(packing, bits / 8)
        assert unpack(data, bits, packing, len(row)) == row


@pytest.mark.parametrize(
    ("bits", "packing"), [(bits, packing) for bits, packing in ALL if packing in GROUP]
)
def test_what_fills_up_a_group_is_not_read(bits: int, packing: str) -> None:
    data = [0xFF] * len(pack([0], bits, packing))
    assert unpack(data, bits, packing, 1) == [(1 << bits) - 1]


def test_bits_of_no_code_are_not_read() -> None:
    assert unpack([0xC3], 4, "middle_bits", 1) == [0]
    assert unpack([0xF0], 4, "byte_each", 1) == [0]
    assert unpack([0xC0], 6, "byte_each", 1) == [0]


@pytest.mark.parametrize(
    ("height", "width"), [(1, 1), (128, 4), (129, 4), (128, 5), (40, 3), (300, 9)]
)
def test_tiles_have_every_scale_at_its_offset(height: int, width: int) -> None:
    drawn = random.Random(height * 1000 + width)
    rows = [[drawn.randrange(1, 256) for _ in range(width)] for _ in range(height)]
    data = pack_scales(rows, "tiles_128x4")
    across = (width + 3) // 4
    assert len(data) == (height + 127) // 128 * across * 512
    for r, c in itertools.product(range(height), range(width)):
        tile = (r // 128) * across + c // 4
        inside = (r % 128 % 32) * 16 + (r % 128 // 32) * 4 + c % 4
        assert data[tile * 512 + inside] == rows[r][c]
    assert sum(byte == 0 for byte in data) == len(data) - height * width
    assert unpack_scales(data, (height, width), "tiles_128x4") == rows


#: In a matrix of 512 x 32 scales: bytes between rows that are 1, 2, 4, ... apart, and columns.
STRIDES = {
    "row_major": ("32 64 128 256 512 1024 2048 4096 8192", "1 2 4 8 16"),
    "tiles_128x4": ("16 32 64 128 256 4 8 4096 8192", "1 2 512 1024 2048"),
    "tiles_8x4": ("4 8 16 256 512 1024 2048 4096 8192", "1 2 32 64 128"),
    "mn_major_words": ("4 8 16 32 64 128 256 512 1024", "1 2 2048 4096 8192"),
    "tiles_gfx950": ("4 8 16 32 1 1024 2048 4096 8192", "64 128 2 256 512"),
    "tiles_32x8": ("4 8 16 32 1 1024 2048 4096 8192", "64 128 2 256 512"),
    "tiles_hopper_4": ("4 8 16 1 1024 2048 32 4096 8192", "2 64 128 256 512"),
    "tiles_hopper_8": ("4 8 16 1 1024 2048 4096 32 8192", "2 64 128 256 512"),
    "tiles_16x16": ("16 32 64 128 512 1024 2048 4096 8192", "1 2 4 8 256"),
}


@pytest.mark.parametrize("layout", STRIDES)
def test_every_bit_of_a_row_and_of_a_column_has_a_stride(layout: str) -> None:
    down, across = ([int(stride) for stride in text.split()] for text in STRIDES[layout])
    drawn = random.Random(layout)
    rows = [list(drawn.randbytes(32)) for _ in range(512)]
    data = pack_scales(rows, layout)
    assert len(data) == 512 * 32
    for r, row in enumerate(rows):
        start = sum(stride for i, stride in enumerate(down) if r >> i & 1)
        for c in (0, 1, 2, 4, 8, 16, 31):
            place = start + sum(stride for i, stride in enumerate(across) if c >> i & 1)
            assert data[place] == row[c], (r, c)


def test_someone_after_the_other() -> None:
    assert pack_scales([[1, 2, 3], [4, 5, 6]], "row_major") == [1, 2, 3, 4, 5, 6]
    assert unpack_scales([1, 2, 3, 4, 5, 6], (3, 2), "row_major") == [[1, 2], [3, 4], [5, 6]]
    for layout in ("row_major", "tiles_128x4"):
        assert pack_scales([], layout) == []
        assert pack_scales([[], []], layout) == []
        assert unpack_scales([], (2, 0), layout) == [[], []]


# ggml (scale first, halves), FBGEMM (scale last), Quark (2**3 is 03 and 2**-3 is fd).
def test_blocks_with_their_scale() -> None:
    codes = [1, 2, 3, 4]
    assert pack_block(0x7E, codes, 4, "halves", "before", "biased") == [0x7E, 0x31, 0x42]
    assert pack_block(0x7E, codes, 4, "low_nibble_first", "after", "biased") == [0x21, 0x43, 0x7E]
    signed = [
        pack_block(code, codes, 4, "low_nibble_first", "before", "signed")
        for code in (0x82, 0x7C, 0x7F, 0x00, 0xFE, 0xFF)
    ]
    assert [block[0] for block in signed] == [0x03, 0xFD, 0x00, 0x81, 0x7F, 0x80]
    assert {tuple(block[1:]) for block in signed} == {(0x21, 0x43)}
