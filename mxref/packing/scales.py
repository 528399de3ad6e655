"""Scale layouts: the order in which a matrix of scales is stored."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Unpack

import numpy as np
from numpy.typing import ArrayLike

from mxref.bits.floats import U8
from mxref.bits.out import array_out
from mxref.formats.catalog import CodeFormat
from mxref.numbers.codes import codes_of
from mxref.packing.scale_orders import SCALE_ORDERS
from mxref.policy.keywords import PackScalesChoices
from mxref.policy.policy import Policy, resolve
from mxref.support.integers import shape_of

#: The format that scale codes of any scale format are checked against.
_SCALE_BYTE = CodeFormat("scales", 8, 0, 0, signed=False, dtype_name="float8_e8m0fnu")


def pack_scales(
    scale_codes: ArrayLike,
    policy: str | Policy = "ocp",
    *,
    out: U8 | None = None,
    **choices: Unpack[PackScalesChoices],
) -> U8:
    """Every matrix of scale codes as the bytes that it is stored in.

    `tiles_128x4` is what cuBLAS and the tcgen05 instructions read: the matrix is filled up with 00
    to a multiple of 128 rows and 4 columns and cut into tiles of 128 x 4, which follow each other
    row by row; row r and column c of a tile are at byte ``r % 32 * 16 + r // 32 * 4 + c`` of its
    512. The filler 00 is the scale 2**-127 in E8M0, not zero. The tiles of one matrix are
    ``.reshape(rows / 128, columns / 4, 512)``, of the filled-up rows and columns.

    `mn_major_words` is DeepGEMM's for sm_100: ``.view(np.int32)`` of it is a word for each row and
    each four columns, the words of the first four columns first, rows filled up to 4 n. Tiles are
    also `tiles_8x4` (TensorRT-LLM), `tiles_gfx950` (aiter: rows filled up to 256), `tiles_32x8`
    (the same, filled up to 32) and `tiles_hopper_4` and `_8` (Triton, by the number of warps).
    `tiles_16x16` is aiter's order of weights: pass the bytes that `pack` gives as scale codes.

    Blocks along axis 0: pass ``scale_codes.T``, and ``np.moveaxis(codes, 0, -1)`` to `pack`.

    Args:
        scale_codes: codes (..., rows, columns) of any scale format, or an array of E8M0's ml_dtypes
            type: a row for each row of the tensor, a column for each block of it.
        policy: a `Policy` or its spelling.
        out: where the bytes go: a writable C-contiguous uint8 array of their shape.
        choices: `scale_layout`.

    Returns:
        uint8 (..., bytes): rows * columns of them, both filled up to whole tiles or words.

    Raises:
        TypeError: scale codes of another type.
        ValueError: unknown policy or choice; fewer than two axes; a code above FF; an `out` that
            does not fit.

    Source: cuBLAS documentation, 1D block scaling factors layout; SPEC_NOTES N32.

    >>> pack_scales([[1, 2], [3, 4]])
    array([1, 2, 3, 4], dtype=uint8)
    >>> tiles = pack_scales([[1, 2], [3, 4]], scale_layout="tiles_128x4")
    >>> tiles.shape, tiles[:2].tolist(), tiles[16:18].tolist()
    ((512,), [1, 2], [3, 4])
    >>> pack_scales([[1, 2], [3, 4]], scale_layout="mn_major_words").view("<i4")
    array([ 513, 1027,    0,    0], dtype=int32)
    """
    layout = resolve("pack_scales", policy, choices).layout.scale_layout
    scales = codes_of(scale_codes, _SCALE_BYTE, "scale_codes")
    if scales.ndim < 2:
        raise ValueError(f"scale_codes must have shape (..., rows, columns), got {scales.shape}")
    *outer, rows, columns = scales.shape
    order = SCALE_ORDERS[layout]
    height, width = order.filled(rows, columns)
    packed = array_out(out, np.dtype(np.uint8), (*outer, height * width), scales)
    whole = scales
    if (height, width) != (rows, columns):
        whole = np.zeros((*outer, height, width), np.uint8)
        whole[..., :rows, :columns] = scales
    view = order.in_order_of_scales(packed, height, width)
    view[...] = whole.reshape(view.shape)
    return packed


def unpack_scales(
    packed: ArrayLike,
    shape: Sequence[int],
    policy: str | Policy = "ocp",
    *,
    out: U8 | None = None,
    **choices: Unpack[PackScalesChoices],
) -> U8:
    """The scale codes that bytes hold: `pack_scales` undone.

    Args:
        packed: bytes (..., size) as integers from 0 to 255.
        shape: shape (..., rows, columns) of the scale codes.
        policy: a `Policy` or its spelling.
        out: where the scale codes go: a writable C-contiguous uint8 array of their shape.
        choices: `scale_layout`.

    Returns:
        uint8 scale codes of the shape. Bytes of the filler are ignored.

    Raises:
        TypeError: packed of another type; a shape that holds something else than integers.
        ValueError: unknown policy or choice; a shape of fewer than two axes; bytes of another shape
            than `pack_scales` gives; an `out` that does not fit.

    Source: SPEC_NOTES N32.

    >>> unpack_scales([1, 2, 3, 4], (2, 2)).tolist()
    [[1, 2], [3, 4]]
    """
    layout = resolve("unpack_scales", policy, choices).layout.scale_layout
    array = codes_of(packed, _SCALE_BYTE, "packed")
    *outer, rows, columns = _shape(shape)
    order = SCALE_ORDERS[layout]
    height, width = order.filled(rows, columns)
    wanted = (*outer, height * width)
    if array.shape != wanted:
        raise ValueError(
            f"packed must have shape {wanted} for scale codes of shape {(*outer, rows, columns)} "
            f"in {layout.value}, got {array.shape}"
        )
    scales = array_out(out, np.dtype(np.uint8), (*outer, rows, columns), array)
    whole = order.in_order_of_scales(array, height, width).reshape(*outer, height, width)
    scales[...] = whole[..., :rows, :columns]
    return scales


def _shape(shape: Sequence[int]) -> tuple[int, ...]:
    whole = shape_of(shape)
    if len(whole) < 2:
        raise ValueError(f"shape must be (..., rows, columns), got {whole}")
    return whole
