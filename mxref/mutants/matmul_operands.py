"""Class H on operands: wrong scales and codes that a right product then multiplies."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import Any

import numpy as np

from mxref.bits.floats import U8
from mxref.formats.catalog import BLOCK_FORMATS
from mxref.mutants.block_mutants import shifted
from mxref.operations.product_words import MX_PAIRS

__all__ = ["OPERANDS", "PAIRS_OF_FLOATS", "Operands", "moved_scales"]

#: Scales and codes of both sides, and the names of their formats.
Operands = tuple[U8, U8, U8, U8, str, str]
Change = Callable[..., Operands]

_SIZE, _TILE = 32, 128
_MIXED = tuple(pair for pair in MX_PAIRS if len({*pair.split("-")}) > 1)
_INT8 = tuple(pair for pair in MX_PAIRS if "int8" in pair)
#: Pairs of formats with an emax that is not 0.
PAIRS_OF_FLOATS = tuple(pair for pair in MX_PAIRS if pair not in _INT8)


def moved_scales(scales: U8, k: int) -> U8:
    """Scale codes shifted by k, except NaN.

    >>> moved_scales(np.uint8([0, 127, 254, 255]), -1)
    array([  0, 126, 253, 255], dtype=uint8)
    """
    codes = np.where(scales == 0xFF, 0xFF, shifted(k)(scales.astype(np.int64)))
    return codes.astype(np.uint8)


def _shifted_by(a: Callable[[str], int], b: Callable[[str], int]) -> Change:
    """The scales of both sides shifted, by their formats."""

    def change(*operands: Any) -> Operands:
        scales_a, codes_a, scales_b, codes_b, left, right = operands
        x, y = moved_scales(scales_a, a(left)), moved_scales(scales_b, b(right))
        return x, codes_a, y, codes_b, left, right

    return change


def _emax(name: str) -> int:
    return BLOCK_FORMATS[name].element.emax


def _rolled(side: int, axis: int) -> Change:
    """The scales of the next row or block of one side, those of the first for the last."""

    def change(*operands: Any) -> Operands:
        changed = list(operands)
        changed[2 * side] = np.roll(operands[2 * side], -1, axis)
        return tuple(changed)

    return change


def _nan_scale_of_zeros(*operands: Any) -> Operands:
    scales_a, codes_a, scales_b, codes_b, a, b = operands
    return (
        _of_zeros(scales_a, codes_a), codes_a, _of_zeros(scales_b, codes_b), codes_b, a, b
    )  # fmt: skip


def _of_zeros(scales: U8, codes: U8) -> U8:
    """Scales of 2**0 where NaN scales stand over zeros alone."""
    missing = -codes.shape[1] % _SIZE
    whole = np.pad(codes, ((0, 0), (0, missing))).reshape(*scales.shape, _SIZE)
    return np.where(~whole.any(axis=-1) & (scales == 0xFF), np.uint8(0x7F), scales)


def _scale_00_is_zero(*operands: Any) -> Operands:
    """Zeros in blocks of scale code 00, which keep their signs; 0 times an infinity is NaN."""
    scales_a, codes_a, scales_b, codes_b, a, b = operands
    return scales_a, _flushed(scales_a, codes_a, a), scales_b, _flushed(scales_b, codes_b, b), a, b


def _flushed(scales: U8, codes: U8, name: str) -> U8:
    fmt = BLOCK_FORMATS[name].element
    zero = np.repeat(scales == 0, _SIZE, axis=1)[:, : codes.shape[1]]
    finite = np.array([np.isfinite(fmt.value(code)) for code in range(fmt.code_count)])[codes]
    sign = 0 if fmt.twos_complement else fmt.sign_bit
    nothing = np.where(finite, codes & sign, max(fmt.nan_codes, default=0))
    return np.where(zero, nothing, codes).astype(np.uint8)


def _last_block_dropped(*operands: Any) -> Operands:
    return _first_blocks(operands, max(operands[0].shape[1] - 1, 1))


def _scales_of_blocks_swapped(*operands: Any) -> Operands:
    return operands[0][:, ::-1], *operands[1:]


def _scales_of_operands_swapped(*operands: Any) -> Operands:
    scales_a, codes_a, scales_b, codes_b, a, b = operands
    if len(scales_a) != len(scales_b):
        return operands
    return scales_b, codes_a, scales_a, codes_b, a, b


def _tail_filled(*operands: Any) -> Operands:
    """The last block filled up with the first elements of the row, on both sides."""
    scales_a, codes_a, scales_b, codes_b, a, b = operands
    missing = -codes_a.shape[1] % _SIZE
    x, y = (np.pad(codes, ((0, 0), (0, missing)), mode="wrap") for codes in (codes_a, codes_b))
    return scales_a, x, scales_b, y, a, b


def _int8_symmetric(*operands: Any) -> Operands:
    scales_a, codes_a, scales_b, codes_b, a, b = operands
    x, y = (np.where(codes == 0x80, np.uint8(0x81), codes) for codes in (codes_a, codes_b))
    return scales_a, x, scales_b, y, a, b


def _last_tile_dropped(*operands: Any) -> Operands:
    """Operands without the last tile of 128 elements, if there are several."""
    return _first_blocks(operands, 4 * max(-(-operands[0].shape[1] // 4) - 1, 1))


def _tile_of_before(*operands: Any) -> Operands:
    """From the third tile of 128 on the codes of two tiles before, left in a double buffer."""
    codes = operands[1].copy()
    codes[:, 2 * _TILE :] = operands[1][:, : max(codes.shape[1] - 2 * _TILE, 0)]
    return operands[0], codes, *operands[2:]


def _first_blocks(operands: tuple[Any, ...], blocks: int) -> Operands:
    scales_a, codes_a, scales_b, codes_b, a, b = operands
    k = _SIZE * blocks
    return scales_a[:, :blocks], codes_a[:, :k], scales_b[:, :blocks], codes_b[:, :k], a, b


def _scale_of_next_tile(*operands: Any) -> Operands:
    """The last block of a tile of 128 takes the first scale of the tile behind it."""
    scales = operands[0].copy()
    scales[:, 3:-1:4] = operands[0][:, 4::4]
    return scales, *operands[1:]


def _formats_swapped(*operands: Any) -> Operands:
    scales_a, codes_a, scales_b, codes_b, a, b = operands
    x, y = (
        codes & np.uint8(BLOCK_FORMATS[other].element.code_count - 1)
        for codes, other in ((codes_a, b), (codes_b, a))
    )
    return scales_a, x, scales_b, y, b, a


#: id of a mutant -> the change of its operands, and the pairs of formats that it is for.
OPERANDS: Mapping[str, tuple[Change, tuple[str, ...]]] = {
    "H4": (_nan_scale_of_zeros, MX_PAIRS),
    "H6": (_last_block_dropped, MX_PAIRS),
    "H6b": (_last_tile_dropped, MX_PAIRS),
    "H6c": (_tile_of_before, MX_PAIRS),
    "H7": (_scales_of_blocks_swapped, MX_PAIRS),
    "H7b": (_scales_of_operands_swapped, MX_PAIRS),
    "H7c": (_scale_of_next_tile, MX_PAIRS),
    "H7d": (_rolled(0, 1), MX_PAIRS),
    "H7e": (_rolled(1, 1), MX_PAIRS),
    "H8": (_rolled(0, 0), MX_PAIRS),
    "H8b": (_rolled(1, 0), MX_PAIRS),
    "H9": (_tail_filled, MX_PAIRS),
    "H10": (_int8_symmetric, _INT8),
    "H11": (_formats_swapped, _MIXED),
    "H22": (_shifted_by(lambda name: -1, lambda name: -1), MX_PAIRS),
    "H22b": (_shifted_by(lambda name: -1, lambda name: 0), MX_PAIRS),
    "H22c": (_shifted_by(lambda name: 1, lambda name: 1), MX_PAIRS),
    "H22e": (_scale_00_is_zero, MX_PAIRS),
    "H22d": (_shifted_by(_emax, _emax), PAIRS_OF_FLOATS),
}
