"""All lanes of a launch as arrays, those with the lowest program counter first."""

from __future__ import annotations

import re
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

from ptx.access import accesses
from ptx.memory import Arena, FaultError, Memory
from ptx.opcodes import OPCODES
from ptx.operands import Lanes, Registers, Where, length, numbers, selection
from ptx.parse import Instruction, Kernel, size_of
from ptx.warps import Waiting

__all__ = ["FaultError", "Launch", "Machine", "run"]

Array = NDArray[Any]
Step = Callable[[Where], None]
#: What lanes wait at for each other.
_WAITS = ("bar", "barrier", "shfl", "redux", "ldmatrix", "stmatrix")
_ENDS = ("bra", "ret", "exit", *_WAITS)


@dataclass(frozen=True, slots=True)
class Launch:
    """One launch: as many of them as like run at once, each with arguments of its own.

    Args:
        grid, block: blocks and threads in x, y and z.
        arguments: the bytes of all parameters, in their order.
        blocks: the blocks that run; all, if None.
    """

    grid: tuple[int, int, int]
    block: tuple[int, int, int]
    arguments: Sequence[bytes]
    blocks: list[tuple[int, int, int]] | None = None

    def shape(self) -> tuple[tuple[int, ...], tuple[int, ...], list[tuple[int, ...]]]:
        """Grid, block, and the blocks that run."""
        x, y, z = self.grid
        every = ((i, j, k) for k in range(z) for j in range(y) for i in range(x))
        return self.grid, self.block, list(self.blocks or every)


def run(kernel: Kernel, launches: Sequence[Launch], memory: Memory, *, side: int = 0) -> int:
    """Run launches of a kernel; what they store is in the memory.

    Args:
        kernel: the kernel.
        launches: its launches. They must not depend on each other: they run at once.
        memory: global memory.
        side: where approximate results lie, of what is allowed: see `floats.rcp`.

    Returns:
        How many instructions all lanes together have executed.

    Raises:
        FaultError: the kernel does what a kernel must not do; the sentence has the instruction.
        ValueError: an instruction is not known.
    """
    return Machine(kernel).run(launches, memory, side=side)


class Machine:
    """A kernel, made ready to run as often as one likes."""

    def __init__(self, kernel: Kernel) -> None:
        self.kernel = kernel
        self.shared_size, self.local_size = size_of(kernel.shared), size_of(kernel.local)
        # Variables of a lane or block lie from 0 on.
        variables = kernel.shared | kernel.local
        self.registers = Registers(kernel, {name: one.offset for name, one in variables.items()})
        self.end = len(kernel.code)
        self.waiting = Waiting(self)
        self._side = 0
        firsts = (one.operands[0] for one in kernel.code if one.operands)
        self._written = {name for text in firsts for name in re.split(r"[{}|,\s]+", text)}
        self._pieces = self._cut()

    def _begin(self, launches: Sequence[Launch], memory: Memory, side: int) -> None:
        """Nothing is left of the run before."""
        self.memory, self._side = memory, side
        self.lanes = lanes = Lanes([launch.shape() for launch in launches])
        self.parameters = _arguments(self.kernel, launches)
        memory.begin()
        self.shared = Arena(self.shared_size * lanes.blocks, shared=True)
        self.local = Arena(self.local_size * lanes.count, private=True)
        self.registers.begin(lanes)
        self.pc = np.zeros(lanes.count, np.int32)
        self.waiting.begin(lanes.count)

    def _cut(self) -> dict[int, list[tuple[int, Step]]]:
        """Straight pieces by their first instruction: up to the next label or change of way."""
        code = self.kernel.code
        starts = {0, *self.kernel.labels.values()}
        for i, one in enumerate(code):
            if one.opcode in _ENDS:
                starts |= {i + 1}
                if one.opcode in _WAITS:
                    starts |= {i}
        cuts = sorted(start for start in starts if start < self.end)
        pieces = {}
        for first, last in zip(cuts, [*cuts[1:], self.end], strict=True):
            pieces[first] = [(i, self._step(i, code[i])) for i in range(first, last)]
        return pieces

    def _step(self, index: int, one: Instruction) -> Step:
        try:
            if one.opcode == "bra":
                return self._branch(index, one)
            if one.opcode in ("ret", "exit"):
                return self._guarded(one, lambda where: self._go(where, self.end))
            if one.opcode in _WAITS:
                if one.guard is not None:
                    raise ValueError("a guard is not known here")
                return self.waiting.step(index, one)
            if one.opcode in ("ld", "st"):
                return self._guarded(one, accesses(self, one))
            if one.opcode == "mov":
                return self._guarded(one, self._move(one))
            return self._guarded(one, self._compute(one))
        except (ValueError, KeyError) as error:
            raise ValueError(f"{self.kernel.name}: {one.text}: {error}") from error

    def _go(self, where: Where, to: int) -> None:
        self.pc[where] = to

    def _guarded(self, one: Instruction, step: Step) -> Step:
        if one.guard is None:
            return step
        name, negated = one.guard
        read = self.registers.reader(name, "pred")

        def some(where: Where) -> None:
            lanes = numbers(where)[read(where) != negated]
            if len(lanes):
                step(lanes)

        return some

    def _branch(self, index: int, one: Instruction) -> Step:
        target = self.kernel.labels[one.operands[0]]
        if one.guard is None:
            return lambda where: self._go(where, target)
        name, negated = one.guard
        read = self.registers.reader(name, "pred")
        uniform = "uni" in one.modifiers

        def branch(where: Where) -> None:
            taken = read(where) != negated
            if uniform and taken.any() != taken.all():
                raise FaultError("a branch that is uniform diverges")
            self.pc[where] = np.where(taken, target, index + 1)

        return branch

    def _compute(self, one: Instruction) -> Step:
        opcode = OPCODES[one.opcode]
        function = opcode.make(one.modifiers, lambda: self._side)
        result, *sources = one.operands
        kinds = [*opcode.kinds, *opcode.kinds[-1:] * len(sources)]
        wide = f"{one.type[0]}{2 * int(one.type[1:])}" if "wide" in one.modifiers else one.type
        types = {"t": one.type, "r": wide}
        reads = [
            self.registers.reader(text, types.get(kind, kind))
            for text, kind in zip(sources, kinds, strict=False)
        ]
        write = self.registers.writer(result)
        if len(reads) == 2:
            first, second = reads
            return lambda where: write(where, function(first(where), second(where)))
        return lambda where: write(where, function(*(read(where) for read in reads)))

    def _move(self, one: Instruction) -> Step:
        """A move, of vectors as well: parts of a register, the lowest first."""
        result, source = one.operands
        registers = self.registers
        if source.startswith("{"):
            parts = _parts(source)
            width = int(one.type[1:]) // len(parts)
            reads = [self._part(part, f"b{width}") for part in parts]
            write, whole = registers.writer(result), np.dtype(f"u{width * len(parts) // 8}")

            def join(where: Where) -> None:
                total: Any = whole.type(0)
                for i, read in enumerate(reads):
                    total = total | np.asarray(read(where)).astype(whole) << whole.type(i * width)
                write(where, total)

            return join
        read = registers.reader(source, one.type)
        if result.startswith("{"):
            names = _parts(result)
            width = int(one.type[1:]) // len(names)
            writes = [registers.writer(name) for name in names]

            def split(where: Where) -> None:
                value = read(where)
                for i, write in enumerate(writes):
                    part = value >> value.dtype.type(i * width)
                    write(where, part.astype(f"u{width // 8}"))

            return split
        write = registers.writer(result)
        return lambda where: write(where, read(where))

    def _part(self, name: str, type: str) -> Callable[[Where], Any]:
        """A reader of what is joined: a register that nothing writes has any bits, as LLVM has it.

        Half of a result may be of no use; where it is used, these bits are wrong.
        """
        if name.startswith("%") and name not in self._written:
            bits = np.dtype(f"u{int(type[1:]) // 8}").type(0xA5A5A5A5 % (1 << int(type[1:])))
            return lambda where: bits
        return self.registers.reader(name, type)

    def run(self, launches: Sequence[Launch], memory: Memory, *, side: int = 0) -> int:
        """Run until every lane has ended; how many instructions they executed: see `run`."""
        self._begin(launches, memory, side)
        executed = 0
        while True:
            lowest = int(self.pc.min())
            if lowest >= self.end:
                if self.waiting.anyone():
                    raise FaultError(f"{self.kernel.name}: {self.waiting.complaint()}")
                return executed
            where = selection(np.flatnonzero(self.pc == lowest))
            piece = self._pieces[lowest]
            self.pc[where] = piece[-1][0] + 1
            executed += len(piece) * length(where)
            for index, step in piece:
                try:
                    step(where)
                except (FaultError, ZeroDivisionError) as error:
                    text = self.kernel.code[index].text
                    raise FaultError(f"{self.kernel.name}: {text}: {error}") from error


def _parts(text: str) -> list[str]:
    return [part.strip() for part in text.strip("{} ").split(",")]


def _arguments(kernel: Kernel, launches: Sequence[Launch]) -> Array:
    """The bytes of all parameters, a row for each launch."""
    rows = np.zeros((len(launches), size_of(kernel.parameters)), np.uint8)
    for row, launch in zip(rows, launches, strict=True):
        for one, value in zip(kernel.parameters.values(), launch.arguments, strict=True):
            if len(value) != one.size:
                raise ValueError(f"an argument has {len(value)} bytes, not {one.size}")
            row[one.offset : one.offset + one.size] = np.frombuffer(value, np.uint8)
    return rows
