"""Classes C to G in tiles of 16 x 16: faults of NVFP4 blocks, and tiles that are taken for rows."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace
from functools import partial
from typing import Any

import numpy as np
from numpy.typing import NDArray

from mxref.bits.floats import U8, Floats
from mxref.mutants.mutant import Function, Mutants, moved_heading, wrong
from mxref.mutants.nvfp4_mutants import SCALED, dequantizer, quantizer

__all__ = ["TILES"]

Values = NDArray[Any]
Pair = tuple[U8, U8]
_NAME, _SIDE, _FLOATS = "nvfp4_16x16", 16, ("f32", "bf16")


def _rows(matrix: Values) -> Values:
    """Each tile as a row, row of tiles by row of tiles."""
    high, wide = (length // _SIDE for length in matrix.shape)
    return matrix.reshape(high, _SIDE, wide, _SIDE).swapaxes(1, 2).reshape(-1, _SIDE * _SIDE)


def _matrix(rows: Values, shape: tuple[int, ...]) -> Values:
    """What `_rows` has made rows of."""
    high, wide = (length // _SIDE for length in shape)
    return rows.reshape(high, wide, _SIDE, _SIDE).swapaxes(1, 2).reshape(shape)


def _quantized(run: Function) -> Function:
    """A `quantize` of tiles by one of rows."""

    def quantize(values: Values, format: str, tensor_scale: Any) -> Pair:
        scales, codes = run(_rows(values), format, tensor_scale)
        grid = len(values) // _SIDE, values.shape[1] // _SIDE
        return scales.reshape(grid), _matrix(codes, values.shape)

    return quantize


def _looking(look: Callable[[Values], Values]) -> Function:
    """A `quantize` of tiles, right but for the numbers that it looks for the largest one in."""

    def run(rows: Values, format: str, tensor_scale: Any) -> Pair:
        seen = look(rows)
        count = seen.shape[1]

        def amax(magnitude: Values, parts: Any) -> Values:
            found: Values = magnitude[:, :count].max(axis=1)
            return found

        # The elements are asked behind those that the scale is of.
        both = np.concatenate([seen, rows], axis=1)
        scales, codes = quantizer(amax=amax)(both, format, tensor_scale)
        return scales, codes[:, count:]

    return _quantized(run)


def _with_neighbour(rows: Values) -> Values:
    """A tile and the next one."""
    return np.concatenate([rows, np.roll(rows, -1, axis=0)], axis=1)


def _in_line(values: Values, format: str, tensor_scale: Any) -> Pair:
    """256 numbers of the memory, one after the other, as a tile."""
    scales, codes = quantizer()(values.reshape(-1, _SIDE * _SIDE), format, tensor_scale)
    grid = len(values) // _SIDE, values.shape[1] // _SIDE
    return scales.reshape(grid), codes.reshape(values.shape)


def _changed(change: Callable[[Pair], Pair]) -> Function:
    """A right `quantize` of tiles whose scales or codes are moved."""
    right = _quantized(quantizer())
    return lambda *arguments: change(right(*arguments))


def _turned(pair: Pair) -> Pair:
    scales, codes = pair
    rows = _rows(codes).reshape(-1, _SIDE, _SIDE).swapaxes(1, 2)
    return scales, _matrix(rows.reshape(-1, _SIDE * _SIDE), codes.shape)


def _by_columns(scales: U8) -> U8:
    return scales.T.reshape(scales.shape)


def _read(run: Function, scales: Callable[[U8], U8] = lambda scales: scales) -> Function:
    """A `dequantize` of tiles by one of rows."""

    def dequantize(scale_codes: U8, codes: U8, *rest: Any) -> Floats:
        found = run(scales(scale_codes).reshape(-1), _rows(codes), *rest)
        return _matrix(found, codes.shape)

    return dequantize


_tiled = partial(wrong, formats=(_NAME,), floats=_FLOATS)
_quantizes, _reads = (
    partial(_tiled, op="quantize", model="M9"),
    partial(_tiled, op="dequantize", model="M10"),
)
_OF_ROWS: Mutants = {
    moved_heading(heading, "k", "tiles"): replace(
        one,
        run=(_quantized if one.op == "quantize" else _read)(one.run),
        formats=(_NAME,),
        floats=_FLOATS,
        model="M16" if heading.startswith("C12b") else one.model,
    )
    for heading, one in SCALED.items()
    if not isinstance(one, tuple) and one.run is not None and not heading.startswith("D3")
}

TILES: Mutants = {
    **_OF_ROWS,
    "C6w first_row_of_a_tile: looks for the largest magnitude in the first row of a tile": (
        _quantizes(_looking(lambda rows: rows[:, :_SIDE]))
    ),
    "C6x half_of_a_tile: looks for the largest magnitude in the first eight rows of a tile": (
        _quantizes(_looking(lambda rows: rows[:, : 8 * _SIDE]))
    ),
    "C6y last_row_of_a_tile: leaves the last row of a tile out of the largest magnitude": (
        _quantizes(_looking(lambda rows: rows[:, :-_SIDE]))
    ),
    "C6z first_column_of_a_tile: looks for the largest magnitude in the first column of a tile": (
        _quantizes(_looking(lambda rows: rows[:, ::_SIDE]))
    ),
    "G7f two_tiles: takes the largest magnitude of a tile and of the next one": _quantizes(
        _looking(_with_neighbour)
    ),
    "G7g tile_in_line: takes 256 numbers that follow each other in memory for a tile": _quantizes(
        _in_line
    ),
    "G8o scales_of_tiles_by_columns: stores the scales of tiles column by column": _quantizes(
        _changed(lambda pair: (_by_columns(pair[0]), pair[1]))
    ),
    "G8p tiles_turned: stores the codes of each tile column by column": _quantizes(
        _changed(_turned)
    ),
    "G8q scales_of_tiles_read_by_columns: reads the scales of tiles column by column": _reads(
        _read(dequantizer(), _by_columns)
    ),
    "G8r scale_of_the_first_tile: reads each row of tiles under the scale of its first": _reads(
        _read(dequantizer(), lambda scales: scales[:, :1].repeat(scales.shape[1], axis=1))
    ),
}
