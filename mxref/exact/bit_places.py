"""Codes to bytes and back, by a picture of where every bit lies.

A picture shows the smallest *group* of codes that fills whole bytes: a list of bytes, each a list
of eight places from the top bit down, each the (element, bit) that lies there or None. `pack` and
`unpack` read the same picture.

Source: OCP MX v1.0 5 leaves the layout in memory to the implementation; PTX ISA, cvt and
tcgen05.mma (nibbles, middle bits, 128x4 tiles); ggml-common.h (halves); Quark pack.py (quark, the
signed scale byte); torchao 0.10 to 0.14 (both kinds of 6-bit codes).
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from functools import lru_cache
from itertools import product
from typing import Final, TypeAlias

from mxref.exact.format_table import check_int, domain_error, look_up

Byte: TypeAlias = "list[tuple[int, int] | None]"


def _parts(elements: Sequence[int], high: int, low: int) -> Byte:
    """The places of the bits from `high` down to `low` of some codes, the first code at the top."""
    return [(element, bit) for element in elements for bit in range(high, low - 1, -1)]


def _alone(bits: int, below: int = 0) -> list[Byte]:
    """One code in a byte of its own, with `below` zero bits under it."""
    return [[None] * (8 - bits - below) + _parts((0,), bits - 1, 0) + [None] * below]


def _halves(block_size: int) -> list[Byte]:
    half, odd = divmod(block_size, 2)
    if odd:
        raise domain_error("block_size", "even for halves", block_size)
    return [_parts((j + half, j), 3, 0) for j in range(half)]


def _lsb_first(block_size: int) -> list[Byte]:
    # Bit k of the field, from the lowest bit of byte 0 on, is bit k % 6 of element k // 6.
    return [[divmod(8 * byte + bit, 6) for bit in range(7, -1, -1)] for byte in range(3)]


def _planar(block_size: int) -> list[Byte]:
    if block_size % 4:
        raise domain_error("block_size", "a multiple of 4 for torchao_planar", block_size)
    quads = range(0, block_size, 4)
    return [
        *(_parts((q, q + 1), 5, 2) for q in quads),
        *(_parts((q + 2, q + 3), 5, 2) for q in quads),
        *(_parts((q, q + 1, q + 2, q + 3), 1, 0) for q in quads),
    ]


_DRAWINGS: Final[Mapping[int, Mapping[str, Callable[[int], list[Byte]]]]] = {
    4: {
        "low_nibble_first": lambda _: [_parts((1, 0), 3, 0)],
        "high_nibble_first": lambda _: [_parts((0, 1), 3, 0)],
        "halves": _halves,
        "middle_bits": lambda _: _alone(4, below=2),
        "byte_each": lambda _: _alone(4),
    },
    6: {
        "lsb_first": _lsb_first,
        "quark": lambda _: [_parts((0, 1, 2, 3), 5, 4), _parts((0, 1), 3, 0), _parts((2, 3), 3, 0)],
        "torchao_planar": _planar,
        "torchao_quads": lambda _: [
            _parts((0, 1), 5, 2),
            _parts((3, 2), 5, 2),
            _parts((0, 1, 3, 2), 1, 0),
        ],
        "byte_each": lambda _: _alone(6),
    },
    8: {"byte_each": lambda _: _alone(8)},
}


@lru_cache(maxsize=None, typed=True)  # 32.0 is no 32, whatever was asked before
def _picture(bits: int, packing: str, block_size: int) -> tuple[list[Byte], int]:
    """The picture of a packing, and the number of codes in its group."""
    if type(bits) is not int or bits not in _DRAWINGS:
        raise domain_error("bits", "4, 6 or 8", bits)
    draw = look_up(_DRAWINGS[bits], f"packing of {bits} bits", packing)
    if type(block_size) is not int or block_size < 1:
        raise domain_error("block_size", "a Python int of 1 or more", block_size)
    picture = draw(block_size)
    return picture, 1 + max(place[0] for byte in picture for place in byte if place is not None)


def pack(codes: Sequence[int], bits: int, packing: str, block_size: int = 32) -> list[int]:
    """Return the bytes of a row of codes.

    codes: 0 to 2**bits - 1 each. packing, with the size of its group, which is padded with 0:
      bits 4: low_nibble_first, high_nibble_first (2); halves (a block: element j in the low nibble
        of byte j, element j + block_size / 2 in the high one); middle_bits (1: bits 5 to 2 of a
        byte of its own); byte_each (1).
      bits 6: lsb_first (4: a little-endian bit field of 3 bytes); quark (4: a byte of the four
        2-bit top parts, then the 4-bit low parts, the first code at the top); torchao_planar (a
        block: the top 4 bits of elements 0 and 1 of each quad, then those of elements 2 and 3,
        then the 2-bit low parts, each a third of the bytes); torchao_quads (4: the same three
        bytes quad by quad, elements 2 and 3 exchanged); byte_each.
      bits 8: byte_each.
    block_size: of halves, even, and of torchao_planar, a multiple of 4; the others do not read it.
    Special values: bits that no code takes are 0; no codes are no bytes.
    Source: see the module.

    >>> bytes(pack([1, 2, 3, 4], 4, "low_nibble_first")).hex()
    '2143'
    >>> [bytes(pack([0x01, 0x12, 0x23, 0x34], 6, p)).hex() for p in ("quark", "lsb_first")]
    ['1b1234', '8134d2']
    """
    picture, size = _picture(bits, packing, block_size)
    for code in codes:
        check_int("code", code, bits)
    filled = [*codes, *[0] * (-len(codes) % size)]
    return [
        sum(
            (filled[first + place[0]] // 2 ** place[1] % 2) * 2 ** (7 - column)
            for column, place in enumerate(byte)
            if place is not None
        )
        for first in range(0, len(filled), size)
        for byte in picture
    ]


def unpack(
    data: Sequence[int], bits: int, packing: str, count: int, block_size: int = 32
) -> list[int]:
    """Return the `count` codes whose bytes `pack` makes.

    data: 0 to 255 each, as many as `pack` gives. bits, packing, block_size: as in `pack`.
    Special values: bits that no code takes, and the codes that fill up a group, are not read.
    Source: see the module.

    >>> unpack([0x21, 0x03], 4, "low_nibble_first", 3), unpack([0xFF], 4, "middle_bits", 1)
    ([1, 2, 3], [15])
    """
    picture, size = _picture(bits, packing, block_size)
    if type(count) is not int or count < 0:
        raise domain_error("count", "a Python int of 0 or more", count)
    groups = -(-count // size)
    _check_bytes(data, groups * len(picture))
    codes = [0] * (groups * size)
    for index, byte in enumerate(data):
        group, row = divmod(index, len(picture))
        for column, place in enumerate(picture[row]):
            if place is not None:
                codes[group * size + place[0]] += byte // 2 ** (7 - column) % 2 * 2 ** place[1]
    return codes[:count]


def _check_bytes(data: Sequence[int], count: int) -> None:
    if len(data) != count:
        raise domain_error("data", f"{count} bytes long", len(data))
    for byte in data:
        check_int("byte", byte, 8)


#: Multiples that the height and the width of a matrix are filled up to, and the place of the scale
#: of row r and column c in a matrix of height h and width w.
_SCALE_PLACES: Final[Mapping[str, tuple[int, int, Callable[[int, int, int, int], int]]]] = {
    "row_major": (1, 1, lambda r, c, h, w: r * w + c),
    "tiles_128x4": (
        128,
        4,
        lambda r, c, h, w: (
            512 * (r // 128 * (w // 4) + c // 4) + 16 * (r % 32) + 4 * (r % 128 // 32) + c % 4
        ),
    ),
    "tiles_8x4": (8, 4, lambda r, c, h, w: 8 * w * (r // 8) + 32 * (c // 4) + 4 * (r % 8) + c % 4),
    "mn_major_words": (4, 4, lambda r, c, h, w: 4 * (c // 4 * h + r) + c % 4),
    "tiles_gfx950": (256, 8, lambda r, c, h, w: _tile_32x8(r, c, w)),
    "tiles_32x8": (32, 8, lambda r, c, h, w: _tile_32x8(r, c, w)),
    "tiles_hopper_4": (128, 2, lambda r, c, h, w: _hopper(r, c, w, 4)),
    "tiles_hopper_8": (256, 2, lambda r, c, h, w: _hopper(r, c, w, 8)),
    "tiles_16x16": (
        16,
        16,
        lambda r, c, h, w: 16 * w * (r // 16) + 256 * (c // 16) + 16 * (r % 16) + c % 16,
    ),
}


def _tile_32x8(row: int, column: int, width: int) -> int:
    """The place in tiles of 32 rows and 8 columns, by the strides of the six parts."""
    tile = row // 32 * (width // 8) + column // 8
    return 256 * tile + 64 * (column % 4) + 4 * (row % 16) + 2 * (column % 8 // 4) + row % 32 // 16


def _hopper(row: int, column: int, width: int, warps: int) -> int:
    """The place in tiles of 32 rows for each warp and 2 columns."""
    tile, inside = divmod(row, 32 * warps)
    half, inside = divmod(inside, 16 * warps)
    warp, inside = divmod(inside, 16)
    upper, lane = divmod(inside, 8)
    group = (tile * warps + warp) * (width // 2) + column // 2
    return 64 * group + 32 * half + 4 * lane + 2 * (column % 2) + upper


def _places(shape: tuple[int, int], layout: str) -> tuple[dict[tuple[int, int], int], int]:
    """The place in memory of every scale of a matrix, and the number of bytes."""
    height, width, place = look_up(_SCALE_PLACES, "layout", layout)
    if any(type(n) is not int or n < 0 for n in shape):
        raise domain_error("shape", "two Python ints of 0 or more", shape)
    h, w = -(-shape[0] // height) * height, -(-shape[1] // width) * width
    return {(r, c): place(r, c, h, w) for r, c in product(range(shape[0]), range(shape[1]))}, h * w


def pack_scales(rows: Sequence[Sequence[int]], layout: str) -> list[int]:
    """Return the bytes of a matrix of scale codes.

    rows: of equal length, 0 to 255 each. layout, each filled up with 0 to whole tiles, one row of
    tiles after the other: row_major; tiles_128x4 (row r, column c of a tile at
    r % 32 * 16 + r // 32 * 4 + c); tiles_8x4, tiles_16x16 (each tile row by row); tiles_32x8 (row
    r, column c of a tile at c % 4 * 64 + r % 16 * 4 + c // 4 * 2 + r // 16), tiles_gfx950 (the
    same, filled up to 256 rows); tiles_hopper_4, tiles_hopper_8 (of 128 or 256 rows and 2 columns);
    mn_major_words (words of four columns, a word for each row and then the next four columns,
    filled up to a multiple of four rows).
    Special values: no rows, or rows of no columns, are no bytes.
    Source: PTX ISA, tcgen05.mma scale factors; cuBLAS, 1D block scaling factors layout;
    TensorRT-LLM get_sf_out_offset_8x4; DeepGEMM smxx_layout.cuh; mxDataGenerator PreSwizzle.hpp
    (32x8); aiter shuffle_scale (gfx950), shuffle_weight (16x16); triton_kernels hopper_scale.py.

    >>> tile = pack_scales([[0, 7]] + 31 * [[0, 0]] + [[8, 9]], "tiles_128x4")
    >>> len(tile), tile[:8]
    (512, [0, 7, 0, 0, 8, 9, 0, 0])
    """
    width = len(rows[0]) if rows else 0
    if any(len(row) != width for row in rows):
        raise domain_error("rows", "of equal length", [len(row) for row in rows])
    places, count = _places((len(rows), width), layout)
    data = [0] * count
    for (row, column), place in places.items():
        check_int("scale_code", rows[row][column], 8)
        data[place] = rows[row][column]
    return data


def unpack_scales(data: Sequence[int], shape: tuple[int, int], layout: str) -> list[list[int]]:
    """Return the matrix of scale codes whose bytes `pack_scales` makes.

    data: 0 to 255 each, as many as `pack_scales` gives. shape: rows and columns, without
    the padding of the tiles. layout: as in `pack_scales`.
    Special values: the bytes that fill up the tiles are not read.
    Source: as in `pack_scales`.

    >>> unpack_scales([1, 2, 3, 4, 5, 6], (2, 3), "row_major")
    [[1, 2, 3], [4, 5, 6]]
    """
    places, count = _places(shape, layout)
    _check_bytes(data, count)
    return [[data[places[row, column]] for column in range(shape[1])] for row in range(shape[0])]


def pack_block(
    scale_code: int, codes: Sequence[int], bits: int, packing: str, place: str, scale_byte: str
) -> list[int]:
    """Return the bytes of one block, its scale among them.

    scale_code: 0 to 255. codes: those of the block, whose size is their number; bits, packing: as
    in `pack`. place of the scale: before, after. scale_byte: biased (the code itself), signed (the
    exponent, code - 127, in two's complement).
    Special values: the exponent of code FF, 128, does not fit a signed byte and gives 80.
    Source: ggml-common.h (before, biased); FBGEMM (after); Quark Pack_mxfp4 (before, signed).

    >>> [bytes(pack_block(s, [1, 2], 4, "low_nibble_first", "before", "signed")).hex()
    ...  for s in (130, 124)]
    ['0321', 'fd21']
    """
    check_int("scale_code", scale_code, 8)
    scale_bytes = {"biased": scale_code, "signed": (scale_code - 127) % 256}
    scale = [look_up(scale_bytes, "scale_byte", scale_byte)]
    data = pack(codes, bits, packing, len(codes))
    return look_up({"before": scale + data, "after": data + scale}, "place", place)


def unpack_block(
    data: Sequence[int], count: int, bits: int, packing: str, place: str, scale_byte: str
) -> tuple[int, list[int]]:
    """Return the scale code and the `count` codes of the bytes that `pack_block` makes.

    data: 0 to 255 each, as many as `pack_block` gives. The rest as in `pack_block`.
    Special values: the signed byte 80, whose exponent is -128, gives FF.
    Source: as in `pack_block`.

    >>> unpack_block([0xFD, 0x21], 2, 4, "low_nibble_first", "before", "signed")
    (124, [1, 2])
    """
    at = look_up({"before": 0, "after": len(data) - 1}, "place", place)
    rest = [byte for index, byte in enumerate(data) if index != at]
    codes = unpack(rest, bits, packing, count, count)
    offset = look_up({"biased": 0, "signed": 127}, "scale_byte", scale_byte)
    check_int("byte", data[at], 8)
    return (data[at] + offset) % 256, codes
