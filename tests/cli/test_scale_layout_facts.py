"""``mxref formats tiles_128x4 --shape``: sizes and places, against what is documented."""

from __future__ import annotations

import itertools
from typing import Any

import pytest
from commands import Call, Example, examples
from helpers import ROOT

from mxref import exact
from mxref.policy.choices import ScaleLayout

LAYOUTS = [layout.value for layout in ScaleLayout]
DATA = ROOT / "tests" / "cli" / "data"


def cublas(row: int, block: int, blocks: int) -> int:
    """cuBLAS documentation, 1D block scaling factors layout: tiles of 128 x 4, K fastest."""
    tiles_across = -(-blocks // 4)
    tile = row // 128 * tiles_across + block // 4
    outer, inner = row % 128, block % 4
    return tile * 512 + (outer % 32) * 16 + (outer // 32) * 4 + inner


@pytest.mark.parametrize("example", examples(DATA / "scale_layouts.txt"))
def test_in_words(example: Example, call: Call) -> None:
    example.check(call)


@pytest.mark.parametrize(
    ("rows", "columns", "block", "size"),
    [
        (128, 256, 32, 1024),  # 128 x 8 scales, whole tiles
        (129, 256, 32, 2048),  # two tiles down
        (1, 32, 32, 512),  # one scale, one tile
        (128, 256, 16, 2048),  # NVFP4: 128 x 16 scales
        (300, 1000, 32, 384 * 32),
    ],
)
def test_tiles_of_cublas(rows: int, columns: int, block: int, size: int, call: Call) -> None:
    shape = ("--shape", rows, columns, "--block", block)
    data = call("formats", "tiles_128x4", *shape, "--json").json
    assert data["bytes"] == size
    assert data["scales"] == [rows, -(-columns // block)]
    for r, b in itertools.product(range(rows), range(data["scales"][1])):
        assert evaluated(data["byte"], r, b) == cublas(r, b, data["scales"][1])
    for one in data["examples"]:
        assert one["byte"] == cublas(one["row"], one["block"], data["scales"][1])


@pytest.mark.parametrize("layout", LAYOUTS)
def test_the_formula_of_every_layout_is_where_the_slow_twin_puts_scales(
    layout: str, call: Call
) -> None:
    """Each scale is its own number, in two bytes of two matrices."""
    for rows, blocks in ((1, 1), (33, 9), (257, 3)):
        data: Any = call("formats", layout, "--shape", rows, blocks * 32, "--json").json
        numbers = [[1 + r * blocks + b for b in range(blocks)] for r in range(rows)]
        low, high = (
            exact.pack_scales([[n >> shift & 0xFF for n in row] for row in numbers], layout)
            for shift in (0, 8)
        )
        assert len(low) == data["bytes"]
        stored = [a | b << 8 for a, b in zip(low, high, strict=True)]
        filler = [i for first, last in data["bytes that fill up"] for i in range(first, last + 1)]
        assert filler == [i for i, number in enumerate(stored) if number == 0]
        for r, b in itertools.product(range(rows), range(blocks)):
            assert stored[evaluated(data["byte"], r, b)] == numbers[r][b]


def evaluated(formula: str, r: int, b: int) -> int:
    """A formula of row r and block b, which has numbers and operators alone beside them."""
    assert {*formula} <= {*"0123456789rb +*/%"}
    return int(eval(formula, {"__builtins__": {}}, {"r": r, "b": b}))
