"""Instructions that lanes wait at for each other: barriers of a block, shuffles of a warp."""

from __future__ import annotations

from collections.abc import Callable
from typing import TYPE_CHECKING, Any

import numpy as np
from numpy.typing import NDArray

from ptx.access import finder
from ptx.memory import FaultError
from ptx.operands import Where, selection
from ptx.parse import Instruction

if TYPE_CHECKING:
    from ptx.machine import Machine

__all__ = ["Waiting"]

Array = NDArray[Any]


class Waiting:
    """Who waits at which instruction; a lane that does has no program counter below the end."""

    def __init__(self, machine: Machine) -> None:
        self._machine = machine

    def begin(self, count: int) -> None:
        """Of so many lanes nobody waits."""
        self._at = np.full(count, -1, np.int32)

    def anyone(self) -> bool:
        """Whether a lane waits."""
        return bool((self._at >= 0).any())

    def complaint(self) -> str:
        """What those wait for who will wait for ever."""
        lane = int(np.flatnonzero(self._at >= 0)[0])
        one = self._machine.kernel.code[self._at[lane]]
        is_barrier = one.opcode in ("bar", "barrier")
        who = "a barrier waits for" if is_barrier else "the mask of a shuffle names"
        return f"{one.text}: {who} a lane that does not come"

    def step(self, index: int, one: Instruction) -> Callable[[Where], None]:
        """The step of an instruction: lanes wait, and go on when all are there."""
        kinds = {"shfl": self._shuffle, "redux": self._largest}
        kinds |= dict.fromkeys(("ldmatrix", "stmatrix"), self._matrices)
        ready = kinds.get(one.opcode, self._barrier)(one)

        def arrive(where: Where) -> None:
            self._at[where] = index
            self._machine.pc[where] = self._machine.end
            lanes = np.flatnonzero(self._at == index)
            gone = ready(lanes)
            self._at[gone] = -1
            self._machine.pc[gone] = index + 1

        return arrive

    def _barrier(self, one: Instruction) -> Callable[[Array], Any]:
        """bar.sync 0 (9.7.13.1): every thread of the block, at one instruction."""
        machine = self._machine
        if one.modifiers[0] != "sync" or one.operands != ("0",):
            raise ValueError("only barrier 0 of all threads is known")

        def ready(lanes: Array) -> Any:
            block = machine.lanes.block[lanes]
            came = np.bincount(block, minlength=machine.lanes.blocks)
            gone = lanes[came[block] == machine.lanes.threads[lanes]]
            size = machine.shared_size
            for number in np.unique(machine.lanes.block[gone]).tolist():
                machine.shared.pass_barrier(number * size, (number + 1) * size)
            return gone

        return ready

    def _whole(self, lanes: Array) -> Array:
        """Of waiting lanes the warps of 32 that are all there, a row each."""
        warp = self._machine.lanes.warp[lanes]
        came = np.bincount(warp, minlength=self._machine.lanes.warps)
        return np.asarray(lanes[came[warp] == 32].reshape(-1, 32))

    def _largest(self, one: Instruction) -> Callable[[Array], Any]:
        """redux.sync.max.s32 (9.7.14.9) of all 32 lanes."""
        registers = self._machine.registers
        if one.modifiers != ("sync", "max", "s32"):
            raise ValueError("the reduction of a warp is not known")
        read, mask_of = (
            registers.reader(x, k) for x, k in zip(one.operands[1:], ("s32", "u32"), strict=True)
        )
        write = registers.writer(one.operands[0])

        def ready(lanes: Array) -> Any:
            if (mask_of(lanes) != 0xFFFFFFFF).any():
                raise FaultError("the mask of a reduction lacks a lane")
            rows = self._whole(lanes)
            if rows.size:
                values = np.asarray(read(rows.reshape(-1))).reshape(-1, 32)
                largest = np.repeat(values.max(axis=1), 32).view(np.uint32)
                write(rows.reshape(-1), largest)
            return rows.reshape(-1)

        return ready

    def _matrices(self, one: Instruction) -> Callable[[Array], Any]:
        """Ldmatrix, stmatrix (9.7.14.5.15, .16): lane 8 m + r has the address of row r of matrix m.

        Rows have 16 bytes. Lane l has numbers 2 (l mod 4) and one more of row l / 4, or with .trans
        of column l / 4.
        """
        machine, registers = self._machine, self._machine.registers
        *shape, space, type = [m for m in one.modifiers if m != "trans"]
        count = {"x1": 1, "x2": 2, "x4": 4}.get(shape[-1], 0)
        if shape[:-1] != ["sync", "aligned", "m8n8"] or not count or type != "b16":
            raise ValueError("matrices of this kind are not known")
        if space not in ("shared", "shared_cta"):
            raise ValueError("matrices lie in shared memory")
        loads, is_turned = one.opcode == "ldmatrix", "trans" in one.modifiers
        parts, address = one.operands if loads else one.operands[::-1]
        names = [part.strip() for part in parts.strip("{} ").split(",")]
        find = finder(machine, "shared", address, 16)
        ends: list[Any] = [
            registers.writer(name) if loads else registers.reader(name, "u32") for name in names
        ]

        def ready(lanes: Array) -> Any:
            rows = self._whole(lanes)
            gone = rows.reshape(-1)
            if not gone.size:
                return gone
            for m, end in enumerate(ends[:count]):
                owners = rows[:, 8 * m : 8 * m + 8]
                arena, starts, _ = find(owners.reshape(-1))
                starts = starts.reshape(-1, 8)
                lane = np.arange(32)
                word = np.zeros(len(gone), np.uint32) if loads else np.asarray(end(gone))
                for half in (0, 1):
                    row, column = lane // 4, 2 * (lane % 4) + half
                    row, column = (column, row) if is_turned else (row, column)
                    places = (starts[:, row] + 2 * column).reshape(-1)
                    if loads:
                        found = arena.load(places, 2, 1, gone)[0].astype(np.uint32)
                        word |= found << np.uint32(16 * half)
                    else:
                        arena.store(places, (word >> np.uint32(16 * half)).astype("u2")[None], gone)
                if loads:
                    end(gone, word)
            return gone

        return ready

    def _shuffle(self, one: Instruction) -> Callable[[Array], Any]:
        """shfl.sync (9.7.9.6): all lanes of the mask at once, and from none but them."""
        machine, registers = self._machine, self._machine.registers
        sync, mode, type = one.modifiers
        if sync != "sync" or type != "b32" or mode not in ("bfly", "up", "down", "idx"):
            raise ValueError("the mode of a shuffle is not known")
        result, _, predicate = one.operands[0].partition("|")
        read, by, clamp, mask_of = (registers.reader(text, "u32") for text in one.operands[1:])
        write, say = registers.writer(result), registers.writer(predicate or "_")

        def ready(lanes: Array) -> Any:
            def values(reader: Callable[[Where], Any]) -> Array:
                return np.broadcast_to(reader(lanes), len(lanes)).astype(np.int64)

            lanes_of = machine.lanes
            warp, lane, mask = lanes_of.warp[lanes], lanes_of.lane[lanes], values(mask_of)
            if (mask >> lane & 1 == 0).any():
                raise FaultError("the mask of a shuffle lacks a lane that executes it")
            bit = (1 << lane).astype(float)
            came = np.bincount(warp, bit, lanes_of.warps).astype(np.int64)[warp]
            here = mask & ~came == 0
            if not here.any():
                return lanes[:0]
            source, inside = _source(mode, lane, values(by), values(clamp))
            row = np.full((lanes_of.warps, 32), -1, np.int64)
            row[warp, lane] = np.arange(len(lanes))
            other = row[warp, source]
            bad = here & ((other < 0) | (mask >> source & 1 == 0))
            if bad.any():
                raise FaultError("a shuffle reads from a lane that its mask does not name")
            if (mask[other] != mask)[here].any():
                raise FaultError("the masks of a shuffle differ between its lanes")
            gone = lanes[here]
            to = selection(gone)
            write(to, values(read).astype(np.uint32)[other[here]])
            say(to, inside[here])
            return gone

        return ready


def _source(mode: str, lane: Array, by: Array, clamp: Array) -> tuple[Array, Array]:
    """The lane that is read from, and whether it is within the segment (else it is one's own)."""
    segment, by = clamp >> 8 & 31, by & 31
    most = lane & segment | clamp & 31 & ~segment
    least = lane & segment
    source = {
        "bfly": lane ^ by, "up": lane - by, "down": lane + by, "idx": least | by & ~segment
    }[mode]  # fmt: skip
    inside = source >= most if mode == "up" else source <= most
    return np.where(inside, source, lane), inside
