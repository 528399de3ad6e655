"""Class G on tensors: blocks on the wrong axis, across rows or past the end; strides ignored."""

from __future__ import annotations

from collections.abc import Callable
from functools import partial
from typing import Any

import numpy as np
from numpy.typing import NDArray

from mxref.bits.floats import U8
from mxref.blocks.quantization import quantize
from mxref.mutants.block_mutants import STORED, counted, quantizer, shifted
from mxref.mutants.mutant import (
    BLOCKS,
    TENSORS_OF,
    Function,
    Mutants,
    blocks_of,
    moved_heading,
    wrong,
)
from mxref.mutants.shared_scale_mutants import SCALES

__all__ = ["TENSORS", "pair"]

Values = NDArray[Any]
Pair = tuple[U8, U8]


def pair(values: Values, format: str, axis: int, **more: Any) -> Pair:
    """The scale codes and codes that `quantize` gives."""
    blocks = quantize(values, format, axis=axis, **more)
    return blocks.scale_codes, blocks.codes


def _across_rows(values: Values, format: str, axis: int) -> Pair:
    """Blocks of numbers that are consecutive in memory, across the ends of rows."""
    line = values if axis else values.T
    return pair(np.ascontiguousarray(line).reshape(-1), format, 0)


def _filled(values: Values, format: str, axis: int, mode: str) -> Pair:
    """Blocks whose tail is padded with something other than zeros."""
    lines = values if axis else values.T
    count, length = lines.shape
    missing = -length % 32
    if mode == "behind":  # the start of the next line; zeros behind the last one
        flat = np.concatenate([lines.reshape(-1), np.zeros(32, values.dtype)])
        starts = np.arange(count)[:, np.newaxis] * length
        filled = flat[np.minimum(starts + np.arange(length + missing), len(flat) - 1)]
    elif mode == "last":
        filled = np.concatenate([lines, np.repeat(lines[:, -1:], missing, axis=1)], axis=1)
    else:
        ones = np.ones((count, missing), values.dtype)
        filled = np.concatenate([lines, ones], axis=1)
    return pair(filled if axis else filled.T, format, axis)


def _without_tail(values: Values, format: str, axis: int) -> Pair:
    whole = values.shape[axis] // 32 * 32
    return pair(values[:, :whole] if axis else values[:whole], format, axis)


def _scales_moved(move: Callable[[U8, int], U8]) -> Function:
    """Right codes, with scales moved by a function of their matrix and the axis of blocks."""

    def run(values: Values, format: str, axis: int) -> Pair:
        scales, codes = pair(values, format, axis)
        return move(scales, axis), codes

    return run


def by_blocks(quantize: Function) -> Function:
    """A `quantize_tensor` made of a `quantize` of blocks, tails filled up with zeros.

    >>> from mxref.mutants.block_mutants import quantizer
    >>> values = np.arange(1, 36, dtype=np.float32)[:, np.newaxis]
    >>> found, right = (run(values, "mxint8", 0) for run in (by_blocks(quantizer()), pair))
    >>> bool((found[0] == right[0]).all() and (found[1] == right[1]).all())
    True
    """

    def run(values: Values, format: str, axis: int) -> Pair:
        lines = values if axis else values.T
        whole = np.pad(lines, ((0, 0), (0, -lines.shape[1] % 32)))
        scales, codes = quantize(np.ascontiguousarray(whole).reshape(-1, 32), format)
        sides = scales.reshape(len(lines), -1), codes.reshape(whole.shape)
        return (sides[0], sides[1]) if axis else (sides[0].T, sides[1].T)

    return run


def _last_tail_scale(values: Values, format: str, axis: int) -> Pair:
    """The right codes, with the scale of the block before for the tail."""
    scales, codes = (side.copy() for side in pair(values, format, axis))
    if values.shape[axis] > 32 and values.shape[axis] % 32:
        lines = scales if axis else scales.T
        lines[:, -1] = lines[:, -2]
    return scales, codes


def _contiguous(values: Values) -> Values:
    """The first numbers in the array's memory, read as if it were contiguous."""
    owner = values
    while isinstance(owner.base, np.ndarray):
        owner = owner.base
    memory = owner.ravel(order="K")
    if memory.dtype != values.dtype:
        memory = memory.view(values.dtype)
    return memory[: values.size].reshape(values.shape)


_quantizes = partial(wrong, op="quantize_tensor", formats=BLOCKS, floats=TENSORS_OF, model="M11")

TENSORS: Mutants = {
    "G4b other_axis: runs blocks along the other axis of a tensor": _quantizes(
        lambda values, format, axis: pair(values, format, 1 - axis),
    ),
    "G4c axis_ignored: runs blocks along the last axis whatever is asked for": _quantizes(
        lambda values, format, axis: pair(values, format, 1)
    ),
    "G4d rows_for_columns: forgets to turn a tensor back with blocks along columns": _quantizes(
        lambda values, format, axis: pair(values if axis else values.T, format, 1)
    ),
    "G5 blocks_across_rows: lets a block go on in the next row": _quantizes(_across_rows),
    "G6 tail_dropped: drops the tail": _quantizes(_without_tail),
    "G6b tail_filled_from_behind: fills the tail up with what lies behind it": _quantizes(
        lambda values, format, axis: _filled(values, format, axis, "behind")
    ),
    "G6c tail_filled_with_last: fills the tail up with its last number": _quantizes(
        lambda values, format, axis: _filled(values, format, axis, "last")
    ),
    "G6d tail_filled_with_ones: fills the tail up with ones": _quantizes(
        lambda values, format, axis: _filled(values, format, axis, "ones")
    ),
    "G6e tail_scale_of_block_before: stores the scale of the block before for the tail": _quantizes(
        _last_tail_scale
    ),
    "G7b blocks_of_16_in_tensor: scales every sixteen elements": _quantizes(
        lambda values, format, axis: pair(values, format, axis, block_size=16)
    ),
    "G8g scale_of_block_before: stores the scale of the block before": _quantizes(
        _scales_moved(lambda scales, axis: np.roll(scales, 1))
    ),
    "G8j scale_of_next_line: stores the scale of the next line of blocks": _quantizes(
        _scales_moved(lambda scales, axis: np.roll(scales, -1, 1 - axis)),
    ),
    "G8k scale_of_next_block_in_line: stores the scale of the next block of a line": _quantizes(
        _scales_moved(lambda scales, axis: np.roll(scales, -1, axis))
    ),
    **{
        moved_heading(heading, "t", "tensors"): _quantizes(
            by_blocks(quantizer(scale=mutant.run)), formats=blocks_of(mutant.formats, BLOCKS)
        )
        for heading, mutant in SCALES.items()
        if mutant.run is not None and heading.startswith("C5")
    },
    **{
        f"{id}t stored_bias_{127 + k}_in_tensors: stores scales with a bias of "
        f"{127 + k}: every scale is {counted(k)}, but not the elements": _quantizes(
            by_blocks(quantizer(stored=shifted(k)))
        )
        for id, k in STORED.items()
    },
    "G10 strides_ignored: reads a strided array as if it were contiguous": _quantizes(
        lambda values, format, axis: pair(_contiguous(values), format, axis)
    ),
}
