"""Calls of any size made of calls whose sizes are multiples: arguments filled up, results cut.

Rows are filled up with rows of the same call, matrices with zeros behind their ends, parameters
with the last one; what comes back is cut to what was asked. Zeros add nothing to a sum but under a
scale of a row that is infinite or NaN: such outputs are read from a second call, in which the last
elements stand in place of zeros. Scale codes need no such call: they are finite, or NaN for the
elements of their block, too.
"""

from __future__ import annotations

import functools
import math
from collections.abc import Callable, Mapping, Sequence
from typing import Any

import numpy as np
from numpy.typing import NDArray

from mxref.blocks.shapes import result_shapes
from mxref.formats.catalog import OTHER_BLOCK_FORMATS, block_format
from mxref.operands.returned import array_of, pair_of
from mxref.operations.filled_axes import FilledAxes
from mxref.operations.registry import LAYOUT_OPERATIONS, REGISTRY
from mxref.policy.policy import Policy
from mxref.support.integers import rounded_up
from mxref.targets.filling import cut, repeated, with_zeros

__all__ = ["filled"]

_Function = Callable[..., Any]
_Array = NDArray[Any]


def filled(op: str, function: _Function, multiples: Sequence[int], policy: Policy) -> _Function:
    """A function that may be asked any size, of one that takes these multiples alone.

    Args:
        op: the operation, but for `matmul`, which `ProductFunction` fills up.
        function: the target's.
        multiples: of its `multiples`.
        policy: the layouts that the target has.
    """
    row = REGISTRY[op]
    if row.axes_filled is not None:
        return _of_axes(
            op, row.axes_filled, function, dict(zip(row.multiples, multiples, strict=True))
        )
    from mxref.operations.by_value import ByValue

    if isinstance(row, ByValue):
        return _of_values(function, multiples[0])
    if op in LAYOUT_OPERATIONS:
        from mxref.targets.filled_packings import of_codes, of_scales

        works_on = LAYOUT_OPERATIONS[op].works_on
        if works_on == "codes":
            return of_codes(function, multiples[0], policy)
        if works_on in ("scales", "tensor"):
            of_both = of_scales if works_on == "scales" else _of_tensors
            return of_both(function, (multiples[0], multiples[1]), policy)
    return _of_rows(op, function, multiples[0])


def _of_rows(op: str, function: _Function, multiple: int) -> _Function:
    """A function whose arrays have one row for each case; `multiple` of it is the multiple.

    Only calls of so many rows reach the target with the arrays that they are given.
    """

    @functools.wraps(function)
    def call(*arguments: Any) -> Any:
        arrays = [isinstance(one, np.ndarray) and one.ndim > 0 for one in arguments]
        counts = [len(one) if yes else 0 for one, yes in zip(arguments, arrays, strict=True)]
        count, high = max(counts), _rows_of_a_block(arguments)
        full = rounded_up(count, math.lcm(multiple, high))
        if full == count:
            return function(*arguments)
        more = (
            one[np.arange(length * full // count) % length] if yes else one
            for one, yes, length in zip(arguments, arrays, counts, strict=True)
        )
        result = function(*more)
        if REGISTRY[op].arrays == 1:
            return cut(array_of(result), (full,), (count,))
        first, second = (array_of(one) for one in pair_of(op, result))
        scales = cut(first, (full // high,), (count // high,))
        return scales, cut(second, (full,), (count,))

    vars(call)["multiple"] = multiple
    return call


def _rows_of_a_block(arguments: Sequence[Any]) -> int:
    """How many rows the blocks of a call have: of tiles several."""
    names = (one for one in arguments if isinstance(one, str) and one in OTHER_BLOCK_FORMATS)
    return max((math.prod(block_format(name).block_shape[:-1]) for name in names), default=1)


def _of_tensors(function: _Function, multiples: tuple[int, int], policy: Policy) -> _Function:
    """`quantize_tensor`: zeros behind the rows and columns."""

    @functools.wraps(function)
    def call(values: _Array, format: str, axis: int) -> Any:
        shape = values.shape
        full = rounded_up(shape[0], multiples[0]), rounded_up(shape[1], multiples[1])
        if full == shape:
            return function(values, format, axis)
        wide, asked = (result_shapes(one, format, policy, axis=axis) for one in (full, shape))
        scales, codes = pair_of("quantize_tensor", function(with_zeros(values, full), format, axis))
        return (
            cut(_in_shape(scales, wide.scale_codes), wide.scale_codes, asked.scale_codes),
            cut(_in_shape(codes, wide.codes), wide.codes, asked.codes),
        )

    return call


def _in_shape(result: object, shape: tuple[int, ...]) -> _Array:
    """A result in C order in its shape, if it has as many items."""
    array = array_of(result)
    return array.reshape(shape) if array.size == math.prod(shape) else array


def _of_values(function: _Function, multiple: int) -> _Function:
    """Affine operations: zeros behind the last axis, whole groups, the last parameters again."""

    @functools.wraps(function)
    def call(values: _Array, scale: Any, zero: Any, *more: Any) -> Any:
        count, axis = values.shape[-1] if values.ndim else 0, more[-1]
        parameters = [one for one in (scale, zero) if isinstance(one, np.ndarray) and one.ndim]
        counts = [one.shape[-1] for one in parameters if one.ndim == values.ndim]
        most = max(counts, default=1)
        group = max(count // most, 1) if most > 1 else 1
        full = rounded_up(count, math.lcm(multiple, group))
        if full == count:
            return function(values, scale, zero, *more)
        is_last = axis is not None and axis % values.ndim == values.ndim - 1

        def wide(one: Any) -> Any:
            if not isinstance(one, np.ndarray) or not one.ndim or one.shape[-1] == 1 != count:
                return one
            if one.ndim == values.ndim:
                return repeated(one, (*one.shape[:-1], one.shape[-1] * full // count))
            return repeated(one, (full,)) if is_last else one

        asked = values.shape
        shape = (*asked[:-1], full)
        result = function(with_zeros(values, shape), wide(scale), wide(zero), *more)
        return cut(array_of(result), shape, asked)

    return call


def _of_axes(
    op: str, axes: FilledAxes, function: _Function, multiples: Mapping[str, int]
) -> _Function:
    """A function of arrays whose axes are sizes with names."""

    @functools.wraps(function)
    def call(*arguments: Any) -> Any:
        size = _sizes(axes, arguments)
        full = {name: rounded_up(n, multiples.get(name, 1)) for name, n in size.items()}
        if op.startswith("linear_qcs") and arguments[2].ndim > 1:
            is_packed = op == "linear_qcs4w"
            return _in_groups(function, arguments, size, full, multiples["k"], is_packed=is_packed)
        if op == "matmul_nbits":
            block = size["b"] * 8 // arguments[-1]
            full["g"] = -(-full["k"] // block)
            full["z"] = -(-full["g"] * arguments[-1] // 8)
        for one in (size, full):
            if "k" in one:
                one["K"] = (one["k"] + 1) // 2
            if "B" in one:
                one["B"] = -(-one["k"] // block_format(arguments[8]).elements_per_block)
        if full == size:
            return function(*arguments)
        result = _all_cut(function(*_wide(axes, arguments, full)), axes.results, full, size)
        special = _special_outputs(arguments) if op == "addmm" and full["k"] > size["k"] else None
        if special is None or not special.any():
            return result
        again = function(*_wide(axes, arguments, full, repeats=True))
        return np.where(special, _all_cut(again, axes.results, full, size), result)

    return call


def _wide(
    axes: FilledAxes, arguments: Sequence[Any], full: Mapping[str, int], *, repeats: bool = False
) -> list[Any]:
    """The arguments of a call filled up: with what its axes say, or each with its last items."""
    given = list(arguments)
    for place, names in enumerate(axes.arguments[: len(given)]):
        one, kind = given[place], names.lstrip("=#")
        shape = tuple(full.get(name, 0) for name in kind)
        if names.startswith("#"):
            given[place] = full[kind]
        elif isinstance(one, np.ndarray) and (repeats or names.startswith("=")) and names:
            given[place] = repeated(one, shape)
        elif isinstance(one, np.ndarray) and names:  # a bias may be None
            zero = axes.zeros.get(place, 0.0)
            given[place] = with_zeros(
                one, shape, arguments[zero] if isinstance(zero, int) else zero
            )
    return given


def _special_outputs(arguments: Sequence[Any]) -> NDArray[np.bool_] | None:
    """Where the scale of a row of `addmm` is infinite or NaN: times a zero that is NaN.

    There every product is infinite or NaN, so that the last one again changes no sum.
    """
    if len(arguments) < 12:
        return None
    rows, columns = (~np.isfinite(one) for one in arguments[10:12])
    found: NDArray[np.bool_] = rows[:, np.newaxis] | columns
    return found


def _sizes(axes: FilledAxes, arguments: Sequence[Any]) -> dict[str, int]:
    """The sizes of a call by their names."""
    size: dict[str, int] = {}
    for one, names in zip(arguments, axes.arguments, strict=False):
        if names.startswith("#"):
            size[names[1:]] = one
        elif isinstance(one, np.ndarray):
            pairs = zip(names.lstrip("="), one.shape, strict=False)
            size = {name: n for name, n in pairs if name != "K"} | size  # b may be one row
    return size


def _all_cut(
    result: Any, axes: Sequence[str], full: Mapping[str, int], size: Mapping[str, int]
) -> Any:
    """The results of a call, cut; as they are if they are not so many."""

    def part(one: object, names: str) -> _Array:
        return cut(array_of(one), *(tuple(each[name] for name in names) for each in (full, size)))

    if len(axes) == 1:
        return part(result, axes[0])
    if not isinstance(result, tuple | list) or len(result) != len(axes):
        return result
    return tuple(part(one, names) for one, names in zip(result, axes, strict=True))


def _in_groups(
    function: _Function,
    arguments: Sequence[Any],
    size: Mapping[str, int],
    full: Mapping[str, int],
    multiple: int,
    *,
    is_packed: bool,
) -> Any:
    """A weight-only layer with scales of groups: zeros behind each group, so that it stays one."""
    from mxref.integer.layers import pack_int4, unpack_int4

    x, w, scales = arguments
    count = scales.shape[1]
    inside = size["k"] // max(count, 1)
    if full == size:
        return function(*arguments)
    wide = rounded_up(inside, multiple // math.gcd(multiple, count))

    def grouped(one: _Array, rows: int) -> _Array:
        parts = one.reshape(len(one), count, inside)
        return with_zeros(parts, (rows, count, wide)).reshape(rows, -1)

    m, n = full["m"], full["n"]
    codes = grouped(unpack_int4(w, size["k"]) if is_packed else w, n)
    more = pack_int4(codes) if is_packed else codes
    result = function(grouped(x, m), more, repeated(scales, (n, count)))
    return cut(array_of(result), (m, n), (size["m"], size["n"]))
