"""What each kernel is asked: vectors, matrices in many places, rounding by chance, wide tensors."""

from __future__ import annotations

import itertools
from collections.abc import Callable, Iterator
from typing import Any

import numpy as np

from ptx.fastpath import Row
from ptx.functions import FUNCTIONS, function_answers
from ptx.layout import EDGES, PLACES, RULES
from ptx.machine import Machine
from ptx.parse import Kernel
from ptx.published import block_digests
from ptx.tasks import Chance, decoded, every_scale, level1, matrix, numbers, task_of, tensors
from ptx.tensors import Answers, Questions
from ptx.wide import TENSOR, steep, steep_both, wide, wide_both

__all__ = ["answers"]

#: Shapes of matrices for a rule each: lengths within, at and beyond a block.
SHAPES = {"floor": (35, 96), "ceil": (7, 33), "rceil": (5, 70), "even": (9, 31),
          "rceil_reciprocal": (140, 162)}  # fmt: skip
#: Places of matrices: aligned, in tiles, each number by itself, and in lines of odd lengths.
ODD = (*PLACES[:3], PLACES[-1])
#: Matrices of which both directions are asked, or one of them: shapes, and where they lie.
BOTH: tuple[tuple[tuple[int, int], str, dict[str, Any]], ...] = (
    ((64, 128), "both", {}),
    ((96, 192), "both", {"gap": 16, "code_gap": 16, "first_code": 16}),
    ((70, 100), "both", {"tiles": True}),
    ((64, 160), "down", {"gap": 1}),
    ((160, 96), "both", {"gap": 8, "transposed": False}),
    ((64, 64), "across", {"code_gap": 1}),
    ((1, 1), "both", {}),
)


#: Seeds are such that the widths from 1 to 32 have different ones; all bits of them matter.
SEED = 0x123456789ABCDEF


def _quantize(asked: Questions, row: Row) -> None:
    """Level 1 in all places, and a matrix by each rule in three of them."""
    _, format, float, encoder, packed = row
    saturate = encoder != "Integers<false>"
    if saturate:
        asked.quantize(level1("quantize", format, float, packed=packed))
        for task in tensors(format, float, packed=packed):
            asked.quantize(task, PLACES[:2])
    for rule, shape in SHAPES.items():
        if rule == "floor" or format != "nvfp4":
            task = matrix(format, float, shape, packed=packed, rule=rule, tensor=TENSOR,
                          saturate=saturate)  # fmt: skip
            some = PLACES if not saturate else ODD
            asked.quantize(task, (*PLACES, *EDGES) if rule == "floor" else some)


def _dequantize(asked: Questions, row: Row) -> None:
    """Level 1 in all places, whole and with tails, and matrices."""
    _, format, float, _, packed = row
    for short in (0, 3):
        asked.dequantize(level1("dequantize", format, float, packed=packed), short=short)
    if format == "nvfp4":
        asked.dequantize(every_scale(float, packed=packed))
    for rule, shape in SHAPES.items():
        task = matrix(format, float, shape, packed=packed, tensor=TENSOR)
        asked.dequantize(decoded(task, float), (*PLACES, *EDGES) if rule == "floor" else ODD)


def _by_chance(asked: Questions, row: Row) -> None:
    """A matrix in all places, and one by each number of bits, with the rules by turns."""
    _, format, float, _, packed = row
    for width in range(1, 33):
        chance = Chance(SEED * width % (1 << 64), width)
        task = matrix(format, float, (7, 70) if width == 13 else (3, 70), packed=packed,
                      rule=RULES[width % len(RULES)], chance=chance, first=2 * width)  # fmt: skip
        places = PLACES if width == 13 else (PLACES[width % len(PLACES)],)
        asked.quantize(task, places, (chance.seed, width))


def _both(asked: Questions, row: Row) -> None:
    """Matrices in both directions, with the rules by turns."""
    _, format, float, encoder, packed = row
    for (shape, which, places), rule in zip(BOTH, itertools.cycle(RULES)):
        x = numbers(*shape, float)
        across, down = (
            task_of(format, float, y, packed=packed, rule=rule if format != "nvfp4" else "floor",
                    tensor=TENSOR, saturate=encoder != "Integers<false>")
            if which in ("both", name) else None
            for name, y in (("across", x), ("down", np.ascontiguousarray(x.T)))
        )  # fmt: skip
        asked.quantize_both((across, down), **places)


_ASKS = {
    "quantize": _quantize, "dequantize": _dequantize, "quantize_stochastic": _by_chance,
    "quantize_both": _both,
}  # fmt: skip


def answers(
    kernel: Kernel, row: Row, turn: int | None = 0, keep: Callable[[Questions], None] | None = None
) -> Iterator[Answers]:
    """All that a kernel is asked; its architecture makes no difference.

    Args:
        kernel: the kernel.
        row: which one it is.
        turn: which one of the large families of level 2 it is asked; all of them, if None.
        keep: gets the launches of a kernel of blocks after they have run; nothing else is asked.
    """
    if row in FUNCTIONS:
        yield from function_answers(kernel, row)
        return
    kind, format, _, encoder, _ = row
    machine, asked = Machine(kernel), Questions()
    _ASKS[kind](asked, row)
    if keep:
        yield asked.answers(machine)
        keep(asked)
        return
    # of NVFP4 once more on each side of where a reciprocal lies
    for side in (0, -1, 1) if format == "nvfp4" and kind != "dequantize" else (0,):
        yield asked.answers(machine, side)
    if kind == "quantize_both":
        yield wide_both(machine, row)
    elif encoder != "Integers<false>":
        yield from wide(machine, row)
    yield steep_both(machine, row) if kind == "quantize_both" else steep(machine, row)
    if kind != "quantize_stochastic" and encoder != "Integers<false>":
        yield from block_digests(machine, row, turn)
