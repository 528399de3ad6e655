"""The scales of a tensor as they are given: one number, a number for each row, or whose amax."""

from __future__ import annotations

import enum

import ml_dtypes
import numpy as np
from numpy.typing import ArrayLike

from mxref.bits.float32 import FLT_MAX
from mxref.bits.floats import F32
from mxref.blocks.tiles import Tiling
from mxref.blocks.two_level import (
    RowScales,
    TensorScale,
    TensorScaleKind,
    TensorScales,
    held,
    one_or_rows,
)
from mxref.formats.catalog import BlockFormat
from mxref.support.text import short


class AmaxOf(enum.Enum):
    """Whose largest magnitude gives a scale of the tensor. Source: SPEC_NOTES N42."""

    TENSOR = "tensor"  #: one scale, from all numbers
    ROW = "row"  #: a scale for each row along the axes of blocks, from the numbers of the row


def amax_of(given: object) -> AmaxOf | None:
    """Whose amax is asked for; None if the scale itself is given.

    >>> amax_of(None), amax_of("row"), amax_of(1.5)
    (<AmaxOf.TENSOR: 'tensor'>, <AmaxOf.ROW: 'row'>, None)
    """
    if given is None:
        return AmaxOf.TENSOR
    try:
        return AmaxOf(given) if isinstance(given, str | AmaxOf) else None
    except ValueError:
        return None  # told as no number


def given_scales(
    given: TensorScales | ArrayLike,
    kind: TensorScaleKind | None,
    tiling: Tiling,
    *,
    is_own: bool = False,
) -> TensorScales:
    """The scales of a tensor that were given: as such, or as numbers of a kind.

    Args:
        given: the scales; an array of one number is that of the whole tensor.
        kind: of the numbers, a factor if None; scales of another kind are refused if it is given.
        tiling: the blocks of the tensor.
        is_own: whether scales that are no numbers may be 0, infinity or NaN.

    Raises:
        TypeError: neither scales nor numbers.
        ValueError: another kind or shape, a number that float32 does not hold or that is not
            positive.

    >>> given_scales([[0.5], [2.0]], None, Tiling.of((2, 16), 1, (16,))).value.tolist()
    [[0.5], [2.0]]
    """
    if not isinstance(given, TensorScales):
        found = _of_numbers(given, kind or TensorScaleKind.FACTOR)
    elif kind not in (None, given.kind):
        raise ValueError(
            f"tensor_scale must be of kind {kind.value if kind else kind} for this "
            f"scale_arithmetic, got {given.kind.value}"
        )
    else:
        found = given
        bits = np.ravel(given.bits)
        wrong = (bits == 0) | (bits >= F32.inf_bits)
        if wrong.any() and not is_own:
            got = np.ravel(given.value)[wrong.argmax()]
            raise ValueError(f"tensor_scale must be positive and finite, got {got}")
    if isinstance(found, RowScales):
        found = one_or_rows(found.bits, found.kind)
    if isinstance(found, RowScales):
        _check_shape(found.bits.shape, tiling)
    return found


def given_amax(amax: float | None, fmt: BlockFormat) -> float | None:
    """The largest magnitude that is given for blocks under float32 scales.

    Raises:
        TypeError: no number.
        ValueError: a number that is not positive or finite, or that float32 does not hold; scales
            of another kind.

    >>> from mxref.formats.catalog import block_format
    >>> given_amax(448, block_format("fp8_e4m3_f32"))
    448.0
    """
    if amax is None:
        return None
    kinds = int | float | np.integer | np.floating | ml_dtypes.bfloat16
    if isinstance(amax, np.ndarray) and amax.ndim == 0:
        amax = amax[()]
    if isinstance(amax, bool) or not isinstance(amax, kinds):
        raise TypeError(f"amax must be a number, got {type(amax).__name__}")
    if not fmt.scale.is_float32:
        raise ValueError(f"amax must be None for {fmt.name}, whose scale is {fmt.scale.name}")
    if not 0 < amax <= FLT_MAX:
        raise ValueError(f"amax must be a positive finite float32 number, got {short(amax)}")
    number = float(amax)
    if float(np.float32(number)) != number:
        raise ValueError(
            f"amax must be a number that float32 holds, got {amax}: round it, as "
            f"np.float32({amax}) does"
        )
    return number


def _of_numbers(given: ArrayLike, kind: TensorScaleKind) -> TensorScales:
    if isinstance(given, float | int):
        return TensorScale.of(given, kind)
    bits, good = held(given)
    if bits.size == 1:
        return TensorScale.of(given, kind)
    if not good.all():
        wrong = np.unravel_index(int((~good).argmax()), good.shape)
        place = tuple(int(i) for i in wrong)
        raise ValueError(
            "tensor_scale must be positive finite float32 numbers, got "
            f"{np.asarray(given)[wrong]} at {place}"
        )
    return RowScales(bits, kind)


def _check_shape(shape: tuple[int, ...], tiling: Tiling) -> None:
    rows = tuple(1 if axis in tiling.axes else n for axis, n in enumerate(tiling.shape))
    pairs = zip(shape, rows, strict=False)
    if len(shape) != len(rows) or any(n not in (1, row) for n, row in pairs):
        raise ValueError(
            f"tensor_scale must have shape {rows}, where any length may be 1, for a tensor of "
            f"shape {tiling.shape} with blocks along axis {', '.join(map(str, tiling.axes))}, "
            f"got {shape}"
        )
