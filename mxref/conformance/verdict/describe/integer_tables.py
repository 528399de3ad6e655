"""The values of features of integer operations: one entry for each word of a case's answer."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np
from numpy.typing import NDArray

from mxref.bits.float32 import fl, fl_sum
from mxref.bits.floats import F32, F64, I64, LAYOUTS, layout_of, split
from mxref.conformance.verdict.describe.features import Table
from mxref.conformance.verdict.describe.tables import index_table, known, number_table
from mxref.operands.fields import parts_of
from mxref.operands.kinds import Floats
from mxref.operations.affine_words import affine, scale_numbers
from mxref.operations.registry import CALL_OPERATIONS


def integer_table(
    op: str, format: str, words: Sequence[int], want: NDArray[np.uint64], policy: str
) -> Table:
    """Features of the words of the answer to one case.

    Args:
        op: an integer operation without sums of products.
        format: of its file.
        words: the case.
        want: the words of the right answer.
        policy: under which it is right.
    """
    asked = CALL_OPERATIONS[op].call(format, words)
    codes = want.astype(f"u{asked.dtype.itemsize}").view(asked.dtype)
    places = np.arange(len(want))
    table = index_table("element", places) | {"elements behind": places[::-1]}
    if op.endswith("_affine"):
        return table | _affine(op, format, words, codes, policy)
    table |= _of_fields(op, format, words, codes, asked.shape)
    if op not in _MAKERS or format in CALL_OPERATIONS[op].further:
        return table
    return table | _MAKERS[op](asked.arguments, codes, policy)


def _of_fields(
    op: str, format: str, words: Sequence[int], codes: NDArray[Any], shape: tuple[int, ...]
) -> Table:
    """Features of the fields: of single words, and of arrays that fit the answer."""
    table: Table = {}
    fields = {field.name: field for field in CALL_OPERATIONS[op].fields(format)}
    axes = CALL_OPERATIONS[op].axes
    for name, part in parts_of([*fields.values()], words).items():
        kind, own = fields[name].kind, fields[name].shape
        if axes and own != axes[len(axes) - part.ndim :]:
            continue
        try:
            each = np.broadcast_to(part, shape).reshape(-1)
        except ValueError:  # no array beside the answer
            continue
        if isinstance(kind, Floats):
            found = number_table(split(each, kind.layout))
            table |= {f"{name} {what}": column for what, column in found.items()}
        else:
            value = kind.array(each).astype(np.int64)
            sides = {f"{name} parity": value & 1, f"{name} side": np.sign(value) + 1}
            table |= {name: value, **(sides if part.shape else {})}
    if len(shape) == 2:
        row, column = np.indices(shape).reshape(2, -1)
        table |= {"row": row, "column": column, "columns behind": shape[1] - 1 - column}
        table |= {"columns": np.array(shape[1]), "rows": np.array(shape[0])}
        table["column parity"] = column & 1
    if codes.dtype.kind in "iu":
        return table | _result(codes)
    return table | {
        "float type": np.full(codes.size, [*LAYOUTS].index(layout_of(codes.dtype).name))
    }


def _affine(op: str, format: str, words: Sequence[int], codes: NDArray[Any], policy: str) -> Table:
    case = affine(format, words)
    which = np.array(case.which, np.int64)
    scales = scale_numbers(format, case)
    scale, zero = scales[which], np.array(case.zero_points, np.int64)[which]
    table: Table = {"zero point": zero, "scale": _size(scale)}
    table |= {"quant_min": np.array(case.low), "quant_max": np.array(case.high)}
    if case.axis is not None:
        channel = np.indices(case.dims)[case.axis].reshape(-1)
        table |= index_table("channel", channel) | {"scale's number": which}
        table |= {"channels behind": case.dims[case.axis] - 1 - channel}
    values = np.array(case.values, np.uint32)
    if op == "dequantize_affine":
        q = values.view(np.int32).astype(np.int64)
        found = number_table(split(codes.view(np.uint32), F32))
        table |= {"product": found["magnitude"], "product class": found["input"]}
        return table | {"integer code": q, "difference": q - zero}
    chosen = CALL_OPERATIONS[op].parse(format, policy)
    factor = fl(scales)[which]
    if chosen.get("scaling") != "divide":
        wide = chosen.get("scale_type") == "float64"
        factor = fl(1.0 / (scale if wide else factor))
    with np.errstate(all="ignore"):
        x = values.view(np.float32).astype(np.float64)
        scaled = fl(x / factor if chosen.get("scaling") == "divide" else x * factor)
        when = chosen.get("zero_point", "after")
        sums = fl_sum(x * factor, zero.astype(np.float64)) if when == "fused" else fl(scaled + zero)
        y, shift = (scaled, zero) if when == "after" else (sums, 0)
        floor, limit = np.floor(y), np.abs(y) < 2.0**52
        side = np.where(limit, np.sign(y - floor - 0.5) + 2, 0).astype(np.int64) * (y != floor)
    found = number_table(split(values, F32))
    size = number_table(split(scaled.view(np.uint64), F64))["magnitude"]
    whole = np.where(limit, floor, 0).astype(np.int64)
    up = np.rint(y) > floor
    ends = case.low - shift, case.high - shift
    rounded = _rounded(whole, side, up, y < 0, *ends, codes)
    rounded |= {name: known(rounded[name], limit) for name in ("fraction", "rounding")}
    return table | found | {"scaled magnitude": size} | rounded


def _rescale(arguments: tuple[Any, ...], codes: NDArray[Any], policy: str) -> Table:
    q, multiplier, shift, zero_in, zero_out, dtype, _ = arguments
    difference, long = q.astype(object) - zero_in, shift.astype(object)
    product, unit = difference * multiplier.astype(object), 1 << long
    whole, rest = (product >> long).astype(np.int64), product & unit - 1
    away = np.where((shift > 31) & (policy == "rounding=double"), 1 << 30, 0).astype(object)
    rounded = product + unit // 2 + np.where(difference < 0, -away, away) >> long
    info = np.iinfo(dtype)
    ends = int(info.min) - zero_out, int(info.max) - zero_out
    up, below = rounded.astype(np.int64) > whole, np.asarray(difference < 0, bool)
    table = _rounded(whole, _side(rest, unit), up, below, *ends, codes.reshape(q.shape))
    return {name: column.reshape(-1) for name, column in table.items()}


def _grid_sample(arguments: tuple[Any, ...], codes: NDArray[Any], policy: str) -> Table:
    grid = arguments[1].astype(np.int64)
    count = codes.size // grid[..., 0].size
    return {f"grid {name}": np.tile(grid[..., i].reshape(-1), count) for i, name in enumerate("xy")}


_MAKERS = {"rescale": _rescale, "grid_sample": _grid_sample}


def _rounded(
    whole: Any, side: I64, up: Any, negative: Any, low: Any, high: Any, codes: NDArray[Any]
) -> Table:
    """Features of an integer that is rounded from one whole number or up to the next, and clamped.

    Args:
        whole: the largest integer not above the number.
        side: 0 if that is the number itself, 1, 2 and 3 below, at and above the next tie.
        up: whether the number is rounded to the next integer.
        negative: whether it is below 0.
        low: the least integer that is not clamped; `high` the greatest.
        high: see there.
        codes: the result.
    """
    result = whole + up
    clamped, away = (result < low) | (result > high), up != negative
    rounding = np.where(clamped, 3, np.where(side == 0, 0, 1 + away))
    return {"fraction": side, "rounding": rounding.astype(np.int64), **_result(codes)}


def _result(codes: NDArray[Any]) -> Table:
    """Features of the wanted code."""
    result = codes.astype(np.int64)
    return {"result": result, "result parity": result & 1, "result sign": np.sign(result) + 1}


def _side(rest: Any, unit: Any) -> I64:
    """0 for no rest, else 1, 2 and 3 for a rest below, at and above half a unit."""
    above, below, exact = (
        np.asarray(each, bool) for each in (2 * rest > unit, 2 * rest < unit, rest == 0)
    )
    return np.select((exact, below, above), (0, 1, 3), 2)


def _size(numbers: NDArray[np.float64]) -> I64:
    return number_table(split(numbers.view(np.uint64), F64))["magnitude"]
