"""``mxref formats tiles_128x4``: the bytes of the scales of a matrix, and where each scale lies."""

from __future__ import annotations

import json
from collections.abc import Sequence
from typing import Any

import numpy as np

from mxref.cli.explanation import print_part, print_wrapped
from mxref.cli.screen import print_text
from mxref.packing.scale_orders import SCALE_ORDERS, Part, ScaleOrder
from mxref.support.text import a_few

__all__ = ["SCALE_LAYOUTS", "print_addresses", "print_scale_layout", "scale_layout_data"]

#: The names of the layouts.
SCALE_LAYOUTS = tuple(layout.value for layout in SCALE_ORDERS)
#: Elements in a block of MX and of NVFP4.
_MX, _NVFP4 = 32, 16
#: Rows of which the bytes of scales are shown.
_ROWS = (0, 1, 2, 31, 32, 33, 64, 127, 128)
#: Bytes of a matrix for which those that fill up are listed, and how many runs are printed.
_LARGE, _SPANS = 1 << 22, 6


def scale_layout_data(name: str, shape: Sequence[int] | None, block: int) -> dict[str, Any]:
    """The facts about a scale layout, as JSON values; with a shape also those of that matrix.

    Args:
        name: the layout.
        shape: rows and columns of a matrix of elements, with blocks along its rows.
        block: elements in a block.

    Raises:
        ValueError: a shape or a block that is not positive.
    """
    order = _order(name)
    data: dict[str, Any] = {
        "scale layout": name,
        "filled up to multiples of": [order.rows, order.columns],
    }
    if shape is None:
        return data
    if min(*shape, block) < 1:
        raise ValueError(f"--shape and --block must be positive, got {(*shape, block)}")
    rows, blocks = shape[0], -(-shape[1] // block)
    parts = order.parts(rows, blocks)
    last = rows - 1, blocks - 1
    places = dict.fromkeys([(int(rows > 1), 0), last])
    return {
        **data,
        "matrix": list(shape),
        "block size": block,
        "scales": [rows, blocks],
        "filled up": list(order.filled(rows, blocks)),
        "bytes": order.size(rows, blocks),
        "bytes that fill up": _filler(order, rows, blocks),
        "byte": " + ".join(filter(None, map(_term, parts))) or "0",
        "examples": [
            {"row": row, "block": at, "byte": _byte(parts, row, at)} for row, at in places
        ],
    }


def print_scale_layout(
    name: str, shape: Sequence[int] | None, block: int, *, as_json: bool
) -> None:
    """Print `scale_layout_data`."""
    data = scale_layout_data(name, shape, block)
    if as_json:
        print(json.dumps(data, indent=1))
        return
    print_wrapped(f"{name}: a scale layout (`mxref explain {name}` says who has it)")
    rows, columns = data["filled up to multiples of"]
    if rows > 1 or columns > 1:
        multiples = f"multiples of {rows} rows and {columns} columns of scales"
        print_part("filled up", f"with 00 to {multiples}")
    if shape is None:
        print_part("a matrix", f"mxref formats {name} --shape 128 256 says where its scales lie")
        return
    print_part("matrix", f"{shape[0]} rows of {shape[1]} elements, in blocks of {block}")
    scales, filled = ("{} x {}".format(*data[key]) for key in ("scales", "filled up"))
    print_part("scales", f"{scales}, filled up to {filled}: {data['bytes']:,} bytes")
    print_part("byte", f"of the scale of row r and block b: {data['byte']}")
    for one in data["examples"]:
        print_text(f"            row {one['row']}, block {one['block']}: byte {one['byte']}")
    if filler := data["bytes that fill up"]:
        spans = [f"{first} to {last}" if last > first else f"{first}" for first, last in filler]
        count = sum(last - first + 1 for first, last in filler)
        print_part("fill up", f"{count:,} bytes, which are 00: {a_few(spans, _SPANS)}")
    if block == _MX:
        other = scale_layout_data(name, shape, _NVFP4)
        scales = "{} x {}".format(*other["scales"])
        print_part(
            "nvfp4",
            f"blocks of 16: {scales} scales in the same order, {other['bytes']:,} bytes "
            "(--block 16)",
        )


def print_addresses(name: str) -> None:
    """Print where the scales of a matrix of 256 x 256 elements lie, with a part of the matrix."""
    data = scale_layout_data(name, (256, 256), _MX)
    order = _order(name)
    print_part("address", f"of the scale of row r and block b of 256 rows of 8: {data['byte']}")
    parts = order.parts(256, 8)
    blocks = range(8)
    print_text("            r \\ b" + "".join(f"{b:6}" for b in blocks))
    for row in _ROWS:
        print_text(f"            {row:5}" + "".join(f"{_byte(parts, row, b):6}" for b in blocks))
    print_part("a matrix", f"mxref formats {name} --shape 128 256 says where its scales lie")


def _order(name: str) -> ScaleOrder:
    return next(order for layout, order in SCALE_ORDERS.items() if layout.value == name)


def _byte(parts: Sequence[Part], row: int, block: int) -> int:
    """Where the scale of a block lies."""
    return sum(part.of(row, block) for part in parts)


def _filler(order: ScaleOrder, rows: int, blocks: int) -> list[list[int]]:
    """The first and the last byte of each run that holds no scale; of large matrices nothing."""
    if order.size(rows, blocks) > _LARGE:
        return []
    row, block = np.indices((rows, blocks))
    holds = np.zeros(order.size(rows, blocks) + 2, np.bool_)
    holds[[0, -1]] = True
    byte = np.zeros_like(row)
    for part in order.parts(rows, blocks):
        byte += (row if part.of_row else block) // part.divisor % part.size * part.stride
    holds[1 + byte] = True
    ends = np.flatnonzero(np.diff(holds))
    return [[int(first), int(last) - 1] for first, last in zip(ends[::2], ends[1::2], strict=True)]


def _term(part: Part) -> str:
    """What a part of a row or block number adds to the byte; empty if it is always 0."""
    if part.size == 1:
        return ""
    text = "r" if part.of_row else "b"
    text += f" // {part.divisor}" if part.divisor > 1 else ""
    text += "" if part.first else f" % {part.size}"
    return text if part.stride == 1 else f"{text} * {part.stride}"
