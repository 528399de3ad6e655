"""Class U: functions that are right in everything that a vector file has, and wrong beside it.

Beside it are pairs of integer types, channels of wide integers, scales of layers that are zero or
below it, and inputs with more bits.
"""

from __future__ import annotations

from collections.abc import Callable
from functools import partial
from typing import Any

import numpy as np
from numpy.typing import NDArray

from mxref.mutants.mutant import Function
from mxref.mutants.use_mutants import UseMutant, flipped, where

__all__ = ["TYPE_USES"]

Array = NDArray[Any]
#: The bits of a float32 number that the inputs of an 11-bit multiplier do not have, and its size.
_BEYOND_11_BITS, _LARGE = 0x1FFF, 4096


def _where(holds: Callable[..., bool]) -> Callable[[Function], Function]:
    """A function with a wrong last bit in every number of its last array where a property holds."""
    return where(holds, flipped())


def _inputs_of_11_bits(right: Function) -> Function:
    """Large layers cut inputs off after 11 significant bits, as tensor cores do."""

    def run(x: Array, *rest: Any) -> Any:
        if x.size + rest[0].size > _LARGE:
            x = (x.view(np.uint32) & np.uint32(~_BEYOND_11_BITS & 0xFFFFFFFF)).view(np.float32)
        return right(x, *rest)

    return run


def _scales_of(change: Callable[[Array], Array]) -> Callable[[Function], Function]:
    """A function that takes other scales in large layers."""

    def spoil(right: Function) -> Function:
        def run(x: Array, w: Array, scales: Array) -> Any:
            return right(x, w, change(scales) if x.size + w.size > _LARGE else scales)

        return run

    return spoil


def _is_wide_axis(values: Array, *rest: Any) -> bool:
    """Whether there are several scales of integers with more than eight bits."""
    return rest[-1] is not None and np.dtype(rest[-2]).itemsize > 1


_type = partial(UseMutant, kinds=frozenset({"numbers"}))
_layer = partial(
    UseMutant,
    kinds=frozenset({"numbers", "size", "data"}),
    ops=("linear_qcs8w", "linear_qcs4w"),
)

TYPE_USES: tuple[UseMutant, ...] = (
    _type(
        "U80",
        "int16_to_uint8",
        "is wrong from int16 to uint8",
        spoil=_where(lambda q, *rest: q.dtype == np.int16 and rest[-2] == np.uint8),
        ops=("rescale",),
    ),
    _type(
        "U80b",
        "wide_unsigned_inputs",
        "is wrong from uint16",
        spoil=_where(lambda q, *_: q.dtype == np.uint16),
        ops=("rescale",),
    ),
    _type(
        "U80c",
        "short_multipliers",
        "is wrong with multipliers of 16 bits of all but int8",
        spoil=_where(lambda q, *rest: rest[-1] == 16 and q.dtype != np.int8),
        ops=("rescale",),
    ),
    _type(
        "U81",
        "channels_of_wide_integers",
        "is wrong with several scales of int16, uint16 or int32",
        spoil=_where(_is_wide_axis),
        ops=("quantize_affine", "dequantize_affine"),
    ),
    _type(
        "U81b",
        "uint16",
        "is wrong in uint16",
        spoil=_where(lambda values, *rest: rest[-2] == np.uint16),
        ops=("quantize_affine", "dequantize_affine"),
    ),
    _layer(
        "U82",
        "scales_without_sign",
        "reads scales without their sign in layers of more than 4,096 numbers",
        spoil=_scales_of(np.abs),
    ),
    _layer(
        "U82b",
        "scales_of_zero",
        "takes a scale of zero for one in layers of more than 4,096 numbers",
        spoil=_scales_of(lambda scales: np.where(scales == 0, np.float32(1), scales)),
    ),
    _layer(
        "U83",
        "inputs_of_11_bits",
        "cuts inputs off after 11 significant bits in layers of more than 4,096 numbers",
        spoil=_inputs_of_11_bits,
    ),
)
