"""Tensors through the PTX of the kernels, compared bit by bit with what is expected."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

from ptx.fastpath import bits_of, shape_of
from ptx.layout import (
    PLACES,
    Axis,
    Layout,
    Place,
    Tensor,
    empty,
    given,
    packed,
    tiled,
    words,
    wrong_lines,
)
from ptx.machine import Launch, Machine
from ptx.memory import Memory

__all__ = ["Answers", "Questions", "Task"]

Array = NDArray[Any]


@dataclass(frozen=True, slots=True)
class Answers:
    """What a kernel gave: cases, how many are wrong, the first of them, instructions executed."""

    cases: int
    wrong: int
    first: str = ""
    instructions: int = 0


@dataclass(frozen=True, slots=True)
class Task:
    """What a kernel is asked, or should answer: lines of numbers, and their codes and scales.

    Args:
        format: name of the block format.
        packed: whether the kernel packs codes.
        values: patterns (lines, length), of the float's unsigned type.
        scales: scale codes (lines, blocks).
        codes: element codes (lines, length filled up).
        tensors: the tensor's scale of each line.
        rule: the rule of the scales.
        infinity: the pattern of infinity in the float of the values.
    """

    format: str
    packed: bool
    values: Array
    scales: Array
    codes: Array
    tensors: Array
    rule: str = "floor"
    infinity: int = 0x7F800000

    def parts(self) -> Iterable[tuple[int, Array]]:
        """Each scale of a tensor, and which lines have it."""
        for one in dict.fromkeys(self.tensors.tolist()):
            yield int(one), self.tensors == one

    def bits(self) -> tuple[int, int, int]:
        """Bits of a code in memory, numbers of a thread, and of a block."""
        return bits_of(self.format, packed=self.packed)


def _laid(task: Task, place: Place, tensor: int, some: Array, short: int = 0) -> Layout:
    codes = packed(task.codes[some], task.bits()[0])
    length = task.values.shape[1] - short
    return Layout(place, int(some.sum()), length, codes.shape[1], task.scales.shape[1],
                  task.rule, tensor)  # fmt: skip


def _launch(task: Task, t: Tensor, arguments: list[bytes]) -> Launch:
    _, numbers, size = task.bits()
    chunks = -(-t.length // size) * (size // numbers)
    return Launch(*shape_of(t.lines, chunks), arguments)


class Questions:
    """What a kernel is asked, in one run: launches, their memory, and what should be there."""

    def __init__(self) -> None:
        self.memory = Memory()
        self.launches: list[Launch] = []
        self.checks: list[Any] = []

    def quantize(
        self, task: Task, places: tuple[Place, ...] = PLACES, chance: tuple[int, int] | None = None
    ) -> None:
        """Ask `quantize_kernel` in places, each scale of a tensor by a launch of its own.

        Args:
            task: what it is asked, and what it should answer.
            places: where that lies.
            chance: seed and width, for `quantize_stochastic_kernel`.
        """
        more = [words("u8", chance[0]), words("i4", chance[1])] if chance else []
        for place in places:
            for tensor, some in task.parts():
                lay = _laid(task, place, tensor, some)
                at = given(self.memory, lay.values, task.values[some])
                scales, codes = empty(self.memory, lay.scales), empty(self.memory, lay.codes)
                first = words("u8", at + place.values[0] * task.values.itemsize)
                ends = [words("u8", scales + place.scales[0]), words("u8", codes + place.codes[0])]
                arguments = [first, *lay.tensor.arguments(), *more, *ends]
                self.launches.append(_launch(task, lay.tensor, arguments))
                self.checks.append((place, some, [
                    (scales, lay.scales, task.scales[some]),
                    (codes, lay.codes, packed(task.codes[some], task.bits()[0])),
                ]))  # fmt: skip

    def dequantize(self, task: Task, places: tuple[Place, ...] = PLACES, short: int = 0) -> None:
        """Ask `dequantize_kernel` in places for each line without its last `short` numbers.

        NaN is compared as a class: in the task it is the pattern with all bits.
        """
        kind = task.values.dtype
        for place in places:
            for tensor, some in task.parts():
                lay = _laid(task, place, tensor, some, short)
                scales = given(self.memory, lay.scales, task.scales[some])
                codes = given(self.memory, lay.codes, packed(task.codes[some], task.bits()[0]))
                at = empty(self.memory, lay.values, kind)
                arguments = [
                    words("u8", scales + place.scales[0]), words("u8", codes + place.codes[0]),
                    *lay.tensor.arguments(), words("u8", at + place.values[0] * kind.itemsize),
                ]  # fmt: skip
                self.launches.append(_launch(task, lay.tensor, arguments))
                want = task.values[some, : lay.tensor.length]
                self.checks.append((place, some, [(at, lay.values, want, task.infinity)]))

    def quantize_both(
        self, tasks: tuple[Task | None, Task | None], *, gap: int = 0, code_gap: int = 0,
        first_code: int = 0, transposed: bool = True, tiles: bool = False,
    ) -> None:  # fmt: skip
        """Ask `quantize_both_kernel` for one matrix.

        Args:
            tasks: of the rows and of the columns, which have the values transposed; None leaves a
                direction out.
            gap: items between lines of values.
            code_gap: items between lines of codes.
            first_code: the first code behind an aligned address.
            transposed: whether codes of columns lie in lines of their own, or beside each other.
            tiles: whether scales lie in tiles.
        """
        across, down = tasks
        known = across or down
        assert known is not None
        matrix = across.values if across else known.values.T
        rows, columns = matrix.shape
        values = Axis(columns + gap)
        start = given(self.memory, values.at(rows, columns), np.ascontiguousarray(matrix))
        arguments, ends = [], []
        width, _, size = known.bits()
        for task, lines, length, axis, flat in (
            (across, rows, columns, values, True),
            (down, columns, rows, Axis(1, values.line), transposed),
        ):
            blocks = -(-length // size)
            bytes = blocks * size * width // 8
            codes = Axis(bytes + code_gap) if flat else Axis(1, lines + code_gap)
            t = Tensor(lines, length, axis, codes, Axis(blocks), known.rule, tiles,
                       int(known.tensors[0]))  # fmt: skip
            at = first_code + codes.at(lines, bytes)
            scales_at = tiled(np.arange(lines), blocks) if tiles else t.scales.at(lines, blocks)
            to = empty(self.memory, scales_at), empty(self.memory, at)
            arguments.append(t)
            ends += [words("u8", to[0] if task else 0), words("u8", to[1] + first_code)]
            if task:
                place = Place("both, " + ("rows" if task is across else "columns"))
                self.checks.append((place, np.ones(lines, bool), [
                    (to[0], scales_at, task.scales), (to[1], at, packed(task.codes, width))
                ]))  # fmt: skip
        blocks_down = -(-rows // 32)
        self.launches.append(Launch((-(-columns // 64), -(-blocks_down // 2), 1), (128, 1, 1), [
            words("u8", start), *(t.arguments()[0] for t in arguments), arguments[0].recipe(), *ends
        ]))  # fmt: skip

    def answers(self, machine: Machine, side: int = 0) -> Answers:
        """All answers, of one run.

        Args:
            machine: the kernel.
            side: of approximate instructions: see `floats.rcp`.
        """
        count = machine.run(self.launches, self.memory, side=side)
        total, wrong, first = 0, 0, ""
        for place, some, windows in self.checks:
            bad = np.zeros(int(some.sum()), bool)
            for window in windows:
                bad |= wrong_lines(self.memory, *window)
            total, wrong = total + len(bad), wrong + int(bad.sum())
            if bad.any() and not first:
                line = int(np.flatnonzero(some)[np.flatnonzero(bad)[0]])
                first = f"{place.name}, line {line}"
        return Answers(total, wrong, first, count)
