"""What waits: packing and layout, scales that are no powers of two, dot products.

The packing mutants have the interface ``pack(codes, format) -> bytes`` along the last axis and
wait for an operation to compare them with. What waits is never counted as killed.
"""

from __future__ import annotations

from typing import Any

import numpy as np
from numpy.typing import NDArray

from mxref._bits import U8
from mxref.golden.mutants.mutant import BLOCKS, E8M0, FLOATS, Function, Mutant

__all__ = ["WAITING"]


def high_nibble_first(codes: U8, format: str) -> U8:
    """FP4 with element 0 in the high nibble.

    >>> [f"{byte:02x}" for byte in high_nibble_first(np.uint8([1, 2, 3, 4]), "e2m1")]
    ['12', '34']
    """
    return (codes[..., ::2] << 4 | codes[..., 1::2]).astype(np.uint8)


def halves(codes: U8, format: str) -> U8:
    """FP4 with element j beside element j + 16, as GGUF has it.

    >>> [f"{byte:02x}" for byte in halves(np.arange(32, dtype=np.uint8) % 16, "e2m1")[:3]]
    ['00', '11', '22']
    """
    blocks = codes.reshape(*codes.shape[:-1], -1, 2, 16)
    packed = (blocks[..., 0, :] | blocks[..., 1, :] << 4).astype(np.uint8)
    return packed.reshape(*codes.shape[:-1], codes.shape[-1] // 2)


def most_significant_first(codes: U8, format: str) -> U8:
    """FP6 as one number of 24 bits with element 0 on top.

    >>> [f"{byte:02x}" for byte in most_significant_first(np.uint8([1, 18, 35, 52]), "e2m3")]
    ['05', '28', 'f4']
    """
    quads = codes.reshape(*codes.shape[:-1], -1, 4).astype(np.uint32)
    word = quads[..., 0] << 18 | quads[..., 1] << 12 | quads[..., 2] << 6 | quads[..., 3]
    packed = np.stack([word >> 16, word >> 8, word], -1).astype(np.uint8)
    return packed.reshape(*codes.shape[:-1], -1)


def swapped_tiles(scale_codes: NDArray[Any], format: str) -> U8:
    """Tiles of 128 x 4 scales with the two factors of the row exchanged.

    Scale (r, c) should be at r % 32 * 16 + r // 32 * 4 + c.

    >>> tile = np.arange(512, dtype=np.uint16).reshape(128, 4) // 4  # each scale is its row
    >>> swapped_tiles(tile.astype(np.uint8), "e8m0")[[0, 4, 8, 16]].tolist()
    [0, 1, 2, 4]
    """
    rows, columns = scale_codes.shape
    tiles = scale_codes.reshape(rows // 128, 32, 4, columns // 4, 4)
    return tiles.transpose(0, 3, 1, 2, 4).astype(np.uint8).reshape(-1)


def _packing(
    id: str, name: str, text: str, run: Function, formats: tuple[str, ...], *seen: str
) -> Mutant:
    waiting = "packing is no operation of the vectors"
    return Mutant(id, name, text, "pack", run, formats, FLOATS, "M11", seen, waiting=waiting)


def _without(id: str, name: str, text: str, op: str, waiting: str, *seen: str) -> Mutant:
    formats = BLOCKS if op in ("quantize", "dot") else ()
    return Mutant(id, name, text, op, None, formats, FLOATS, _MODEL[op], seen, waiting=waiting)


_MODEL = {"quantize": "M11", "dot": "M12"}
_SHAPES = "the vectors have whole blocks of contiguous memory only"
_DOT = "there are no dot products"

WAITING = (
    _without(
        *("D3", "reciprocal", "multiplies by the reciprocal of a scale that is no power of two"),
        *("quantize", "the vectors have E8M0 scales only", "arch-hdl-lang/arch-com#905"),
    ),
    _packing(
        *("G1", "nibbles_exchanged", "puts element 0 of FP4 into the high nibble"),
        *(high_nibble_first, ("e2m1",), "triton-lang/triton#5197"),
    ),
    _packing(
        *("G2", "fp6_from_the_top", "packs four FP6 codes with the first one on top"),
        *(most_significant_first, ("e3m2", "e2m3")),
    ),
    _packing(
        *("G3", "halves_of_block", "packs element j with j + 16, not with j + 1"),
        *(halves, ("e2m1",), "ggml, gguf"),
    ),
    _without(
        *("G5", "blocks_across_rows", "lets a block go on in the next row"),
        *("quantize", _SHAPES, "DeepWok/mase#321"),
    ),
    _without(
        *("G6", "tail_dropped", "drops the tail, or fills it up with what lies behind it"),
        *("quantize", _SHAPES),
    ),
    _packing(
        *("G9", "tile_rows_exchanged", "exchanges the factors of a row in a 128 x 4 tile"),
        *(swapped_tiles, E8M0),
    ),
    _without(
        *("G10", "strides_ignored", "reads a strided array as if it were contiguous"),
        *("quantize", _SHAPES),
    ),
    _without(*("H1", "narrow_sums", "sums in float16 or bfloat16", "dot", _DOT)),
    _without(
        *("H2", "alignment_truncated", "cuts products off when it aligns them", "dot", _DOT),
        "arXiv 2403.00232",
    ),
    _without(*("H3", "scale_product_first", "multiplies the scales beyond float32", "dot", _DOT)),
    _without(*("H4", "nan_scale_of_zeros", "ignores a NaN scale of zeros", "dot", _DOT)),
    _without(*("H5", "infinity_times_zero", "makes infinity times zero a zero", "dot", _DOT)),
)
