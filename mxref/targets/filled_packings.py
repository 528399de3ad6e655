"""Packed codes and scales of any number, of calls whose numbers are multiples."""

from __future__ import annotations

import functools
from collections.abc import Callable
from typing import Any

import numpy as np
from numpy.typing import NDArray

from mxref.operands.returned import AnswerError, array_of
from mxref.packing.elements import pack, packed_size, unpack
from mxref.packing.scales import pack_scales, unpack_scales
from mxref.policy.policy import Policy
from mxref.support.integers import rounded_up
from mxref.targets.filling import cut, with_zeros

__all__ = ["of_codes", "of_scales"]

_Function = Callable[..., Any]
_Array = NDArray[Any]


def of_codes(function: _Function, multiple: int, policy: Policy) -> _Function:
    """`pack` and `unpack`: zeros behind the codes; the policy's packing cuts the bytes."""

    @functools.wraps(function)
    def call(given: _Array, format: str, *counts: int) -> Any:
        count = counts[0] if counts else len(given)
        full = rounded_up(count, multiple)
        if full == count:
            return function(given, format, *counts)
        size = packed_size(full, format, policy)
        if not counts:
            more = array_of(function(with_zeros(given, (full,)), format))
            whole = _as_bytes(more, size)
            return pack(unpack(whole, format, full, policy)[:count], format, policy)
        codes = unpack(given, format, count, policy)
        more = function(pack(with_zeros(codes, (full,)), format, policy), format, full)
        return cut(array_of(more), (full,), (count,))

    return call


def of_scales(function: _Function, multiples: tuple[int, int], policy: Policy) -> _Function:
    """`pack_scales` and `unpack_scales`: zeros behind both ends; the layout cuts bytes."""

    @functools.wraps(function)
    def call(given: _Array, *shapes: tuple[int, int]) -> Any:
        shape = shapes[0] if shapes else given.shape
        full = rounded_up(shape[0], multiples[0]), rounded_up(shape[1], multiples[1])
        if full == shape:
            return function(given, *shapes)
        if shapes:
            codes = with_zeros(unpack_scales(given, shape, policy), full)
            return cut(array_of(function(pack_scales(codes, policy), full)), full, shape)
        wide = with_zeros(given, full)
        whole = _as_bytes(array_of(function(wide)), pack_scales(wide, policy).size)
        rows, columns = shape
        return pack_scales(unpack_scales(whole, full, policy)[:rows, :columns], policy)

    return call


def _as_bytes(result: _Array, size: int) -> _Array:
    """The bytes of a result, if there are so many."""
    if result.size != size or result.dtype.itemsize != 1:
        got = f"got {result.size} of {result.dtype}"
        raise AnswerError(f"the result of a call that is filled up must be {size} bytes, {got}")
    return result.reshape(-1).view(np.uint8)
