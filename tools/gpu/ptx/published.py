"""Level 2 of the vectors: exhaustive families, compared by the digests that the manifest has."""

from __future__ import annotations

import functools
import sys
from collections.abc import Callable, Iterator
from typing import Any

import numpy as np
from numpy.typing import NDArray

from mxref.golden.level2 import Family, families
from ptx.fastpath import CUDA, ELEMENTS, Row
from ptx.layout import PLACES, unpacked
from ptx.machine import Machine
from ptx.tensors import Answers, Questions, Task

sys.path.append(str(CUDA))

import level2

__all__ = ["block_digests", "digests_of"]

Array = NDArray[Any]
#: Cases of a run: so many that few instructions are interpreted, and registers are not too many.
CHUNK = 1 << 14


@functools.cache
def _families() -> dict[tuple[str, str, str], list[tuple[Family, str]]]:
    """The families that the header has, by operation, format and float, with their digests."""
    entries = level2.published()
    found: dict[tuple[str, str, str], list[tuple[Family, str]]] = {}
    for family in families():
        if level2.covered(family):
            key = family.op, family.format, family.float
            found.setdefault(key, []).append((family, str(entries[family.name]["sha256"])))
    return found


@functools.lru_cache(maxsize=5)  # kernels of a format and float ask for the same ones by turns
def _words_of(family: Family) -> Array:
    words: Array = level2.words_of(family)
    return words


def digests_of(
    row: Row, answer: Callable[[Family, Array], bytes], op: str = "", turn: int | None = None
) -> Iterator[Answers]:
    """A kernel's answers to whole families: all are wrong where a digest differs.

    Args:
        row: the kernel; of a function the policy is its own.
        answer: all answers to a family and its cases, as bytes.
        op: the operation, where the kernel's kind is another.
        turn: which one of the kernel's families is asked; all, if None.
    """
    op = op or row[0]
    found = _families().get((op, *row[1:3]), [])
    if row[3].startswith("ocp"):
        found = [one for one in found if one[0].policy == row[3]]
    if turn is not None and len(found) > 1:
        found = [found[turn % len(found)]]
    for family, digest in found:
        inputs = _words_of(family)
        same = level2.digest(answer(family, inputs), family) == digest
        yield Answers(len(inputs), 0 if same else len(inputs), "" if same else family.name)


def block_digests(machine: Machine, row: Row, turn: int | None) -> Iterator[Answers]:
    """The families of `quantize` and `dequantize` by a kernel of blocks, a line each.

    Where there is a choice, only each third kernel of both directions is asked.
    """
    if row[0] == "quantize_both" and row[2] == "f32" and turn is not None and turn % 3:
        return

    def answer(family: Family, inputs: Array) -> bytes:
        parts = [inputs[i : i + CHUNK] for i in range(0, len(inputs), CHUNK)]
        return b"".join(_blocks(machine, row, family, part) for part in parts)

    op = "dequantize" if row[0] == "dequantize" else "quantize"
    yield from digests_of(row, answer, op, turn)


def _blocks(machine: Machine, row: Row, family: Family, inputs: Array) -> bytes:
    """What a kernel of blocks gives to cases: the bytes that level 2 has of them."""
    kind, format, float, _, packed = row
    n, asked = len(inputs), Questions()
    one, blank = np.full(n, 0x3F800000), np.zeros((n, 32), np.uint8)
    rule = family.policy.partition("=")[2] or "floor"
    if kind == "dequantize":
        values = blank.astype("u4" if float == "f32" else "u2")
        asked.dequantize(
            Task(format, packed, values, inputs[:, :1], inputs[:, 1:], one), PLACES[:1]
        )
    elif kind == "quantize":
        asked.quantize(Task(format, packed, inputs, blank[:, :1], blank, one, rule), PLACES[:1])
    else:
        task = Task(format, packed, inputs, blank[:, :1], blank, one, rule)
        asked.quantize_both((task, None))
    machine.run(asked.launches, asked.memory)
    found = [
        asked.memory.read(window).view(want.dtype)[at]
        for window, at, want, *_ in asked.checks[0][2]
    ]
    if kind != "dequantize":
        found[1] = unpacked(found[1], ELEMENTS[format][1] if packed else 8)
    return np.hstack(found).tobytes()
