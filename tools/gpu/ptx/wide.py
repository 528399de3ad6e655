"""The ends of tensors of more than 2**32 numbers, in memory that has nothing else."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

import numpy as np
from numpy.typing import NDArray

from ptx.fastpath import Row, bits_of
from ptx.layout import Axis, Tensor, words
from ptx.layout import packed as packed_codes
from ptx.machine import Launch, Machine
from ptx.memory import Memory
from ptx.tasks import Chance, decoded, matrix, numbers, task_of
from ptx.tensors import Answers

__all__ = ["steep", "steep_both", "wide", "wide_both"]

Array = NDArray[Any]
TENSOR = 0x3B124925
#: Tensors of more than 2**32 numbers: lines, numbers in each, blocks of threads, and the lines that
#: the last one has. A grid has at most 65535 blocks in y, so a thread there has two lines.
WIDE = (
    (1, (1 << 32) + 2048, 1, (0,)),
    (65535 + 33, 65536 + 2048, 65535, (32, 65535 + 32)),
)

#: The same by chance: in the second one the number of the last line is beyond 2**34, where the
#: counter of its random words is beyond 32 bits.
BY_CHANCE = (WIDE[0], (65535 + 33, (1 << 19) + 2048, 65535, (32, 65535 + 32)))


def wide(machine: Machine, row: Row) -> Iterator[Answers]:
    """The ends of the `WIDE` tensors, by the last block of 64 threads.

    Only what these may touch is there: any other address is out of bounds.
    """
    kind, format, float, _, packed = row
    for lines, length, down, own in BY_CHANCE if kind == "quantize_stochastic" else WIDE:
        width, each, size = bits_of(format, packed=packed)
        chance, more = None, []
        if kind == "quantize_stochastic":
            firsts = tuple(line * length + length - 64 * each for line in own)
            chance = Chance(0x0FEDCBA987654321, 24, firsts)
            more = [words("u8", chance.seed), words("i4", chance.width)]
        task = matrix(format, float, (len(own), 64 * each), packed=packed, tensor=TENSOR,
                      chance=chance)  # fmt: skip
        if kind == "dequantize":
            task = decoded(task, float)
        kinds = (task.values, task.scales, packed_codes(task.codes, width))
        pitches = (length, length // size, length * width // 8)
        memory, pointers, checks = Memory(), [], []
        for i, (items, pitch) in enumerate(zip(kinds, pitches, strict=True)):
            base = (i + 1) << 44
            reads = (i == 0) == (kind != "dequantize")
            for line, item in zip(own, items, strict=True):
                at = base + (line * pitch + pitch - len(item)) * items.itemsize
                blank = np.full(item.nbytes, 0xA5, np.uint8)
                memory.add(np.ascontiguousarray(item) if reads else blank, at=at, known=reads)
                checks += [] if reads else [(at, item)]
            pointers.append(words("u8", base))
        axes = Axis(length), Axis(length * width // 8), Axis(length // size)
        t = Tensor(lines, length, *axes, tensor=TENSOR)
        last = ((length // each // 64) - 1, own[0], 0)
        values, scales, codes = pointers
        arguments = (
            [scales, codes, *t.arguments(), values] if kind == "dequantize"
            else [values, *t.arguments(), *more, scales, codes]
        )  # fmt: skip
        launch = Launch((length // each // 64, down, 1), (64, 1, 1), arguments, [last])
        infinity = task.infinity if kind == "dequantize" else None
        yield done(machine, launch, memory, checks, f"wide, {lines} lines", infinity)


def wide_both(machine: Machine, row: Row) -> Answers:
    """The end of a matrix of more than 2**32 numbers in both directions, by the last block.

    It has the last 64 columns, and of the rows the 32 of block 2 and the last 32.
    """
    _, format, float, encoder, packed = row
    rows, columns, own = (65535 + 3) * 32, 65536 + 64, (2, 65535 + 2)
    x = numbers(64, 64, float)
    options: dict[str, Any] = {"packed": packed, "tensor": TENSOR}
    tasks = [
        task_of(format, float, np.ascontiguousarray(y), **options, saturate="false" not in encoder)
        for y in (x, x.T)
    ]
    width, _, size = tasks[0].bits()
    bases = [words("u8", (i + 1) << 44) for i in range(5)]
    memory, checks = Memory(), []

    def window(i: int, at: int, want: Array) -> None:
        where = ((i + 1) << 44) + at * want.itemsize
        if i == 0:
            memory.add(np.ascontiguousarray(want), at=where)
        else:
            memory.add(np.full(want.nbytes, 0xA5, np.uint8), at=where, known=False)
            checks.append((where, want))

    codes = [packed_codes(task.codes, width) for task in tasks]
    for i in range(64):
        at = own[i // 32] * 32 + i % 32  # the row
        window(0, at * columns + columns - 64, x[i])
        window(1, ((at + 1) * columns - 64) // size, tasks[0].scales[i])
        window(2, ((at + 1) * columns - 64) * width // 8, codes[0][i])
        for k, block in enumerate(own):
            first = (columns - 64 + i) * rows + block * 32  # in the column
            each = tasks[1].scales.shape[1] // 2, codes[1].shape[1] // 2
            window(3, first // size, tasks[1].scales[i, k * each[0] : (k + 1) * each[0]])
            window(4, first * width // 8, codes[1][i, k * each[1] : (k + 1) * each[1]])
    tensors = [
        Tensor(n, length, values, Axis(length * width // 8), Axis(length // size), tensor=TENSOR)
        for n, length, values in ((rows, columns, Axis(columns)), (columns, rows, Axis(1, columns)))
    ]
    arguments = [bases[0], *(t.arguments()[0] for t in tensors), tensors[0].recipe(), *bases[1:]]
    grid = (columns // 64, 65535, 1)
    launch = Launch(grid, (128, 1, 1), arguments, [(grid[0] - 1, own[0], 0)])
    return done(machine, launch, memory, checks, "wide, both directions")


#: How far things lie apart that follow each other: eight of them pass over 2**32.
STEP = (1 << 29) + 5


def laid(memory: Memory, base: int, axis: Axis, items: Array, *, reads: bool) -> list[Any]:
    """Windows for items (lines, things) of an axis, of which neighbours share one.

    Returns:
        Where the items are expected, and they; nothing of what is read.
    """
    runs, pitch = (items, axis.line) if axis.step == 1 else (items.T, axis.step)
    found = []
    for k, run in enumerate(np.ascontiguousarray(runs)):
        at = base + k * pitch * items.itemsize
        memory.add(run if reads else np.full(run.nbytes, 0xA5, np.uint8), at=at, known=reads)
        found += [] if reads else [(at, run)]
    return found


def done(machine: Machine, launch: Launch, memory: Memory, checks: list[Any], said: str,
         infinity: int | None = None) -> Answers:  # fmt: skip
    """A launch, and how many windows are not as they should be."""
    executed = machine.run([launch], memory)
    wrong = sum(not alike(memory.read(at), want, infinity) for at, want in checks)
    return Answers(len(checks), wrong, said if wrong else "", executed)


def steep(machine: Machine, row: Row) -> Answers:
    """Lines that lie side by side: the numbers, codes and scales of each are `STEP` apart."""
    kind, format, float, encoder, packed = row
    width, each, _ = bits_of(format, packed=packed)
    threads = 64 // each
    chance = Chance(1, 9) if kind == "quantize_stochastic" else None
    task = matrix(format, float, (64 // threads, 64), packed=packed, tensor=TENSOR, chance=chance,
                  saturate=encoder != "Integers<false>")  # fmt: skip
    task = decoded(task, float) if kind == "dequantize" else task
    axis, memory, checks = Axis(1, STEP), Memory(), []
    for i, items in enumerate((task.values, task.scales, packed_codes(task.codes, width))):
        reads = (i == 0) == (kind != "dequantize")
        checks += laid(memory, (i + 1) << 44, axis, items, reads=reads)
    values, scales, codes = (words("u8", (i + 1) << 44) for i in range(3))
    t = Tensor(len(task.values), 64, axis, axis, axis, tensor=TENSOR)
    more = [words("u8", chance.seed), words("i4", chance.width)] if chance else []
    arguments = (
        [scales, codes, *t.arguments(), values] if kind == "dequantize"
        else [values, *t.arguments(), *more, scales, codes]
    )  # fmt: skip
    launch = Launch((1, 1, 1), (threads, 64 // threads, 1), arguments)
    infinity = task.infinity if kind == "dequantize" else None
    return done(machine, launch, memory, checks, "steep lines", infinity)


def steep_both(machine: Machine, row: Row) -> Answers:
    """A matrix with rows `STEP` apart in both directions, codes of columns in place."""
    _, format, float, encoder, packed = row
    x = numbers(64, 64, float)
    tasks = [
        task_of(format, float, np.ascontiguousarray(y), packed=packed, tensor=TENSOR,
                saturate=encoder != "Integers<false>")
        for y in (x, x.T)
    ]  # fmt: skip
    width, _, _ = tasks[0].bits()
    along, memory, checks = (Axis(STEP), Axis(1, STEP)), Memory(), []
    laid(memory, 1 << 44, along[0], x, reads=True)
    for i, (task, axis) in enumerate(zip(tasks, along, strict=True)):
        for k, items in enumerate((task.scales, packed_codes(task.codes, width))):
            checks += laid(memory, (2 + 2 * i + k) << 44, axis, items, reads=False)
    tensors = [Tensor(64, 64, axis, axis, axis, tensor=TENSOR) for axis in along]
    ends = [words("u8", (i + 2) << 44) for i in range(4)]
    arguments = [words("u8", 1 << 44), *(t.arguments()[0] for t in tensors)]
    launch = Launch((1, 1, 1), (128, 1, 1), [*arguments, tensors[0].recipe(), *ends])
    return done(machine, launch, memory, checks, "steep, both directions")


def alike(got: Array, want: Array, infinity: int | None) -> bool:
    """Whether bytes are those of items, or with infinity's pattern NaN as they are."""
    have = got.view(want.dtype)
    same = have == want
    if infinity is not None:
        magnitude = np.iinfo(want.dtype).max >> 1
        same |= (have & magnitude > infinity) & (want & magnitude > infinity)
    return bool(same.all())
