"""Loads and stores: places, alignment, and which memory."""

from __future__ import annotations

import re
from collections.abc import Callable
from typing import TYPE_CHECKING, Any

import numpy as np
from numpy.typing import NDArray

from ptx.memory import Arena, FaultError
from ptx.opcodes import dtype_of
from ptx.operands import Where, numbers
from ptx.parse import Instruction, bits_of_type, size_of

if TYPE_CHECKING:
    from ptx.machine import Machine

__all__ = ["accesses", "finder"]

Array = NDArray[Any]
_ADDRESS = re.compile(r"\[\s*([%\w$@]+)\s*(?:\+\s*(-?\w+))?\s*\]")
_SPACES = ("param", "global", "shared", "local")
#: What changes nothing here: caches, and what is said of them.
_IGNORED = {"nc", "v2", "v4", "volatile", "relaxed", "gpu"}


def accesses(machine: Machine, one: Instruction) -> Callable[[Where], None]:
    """The step of a load or store."""
    space = next((m for m in one.modifiers if m in _SPACES), "")
    if not {*one.modifiers} <= {space, one.type} | _IGNORED or not space:
        raise ValueError("modifiers are not known")
    loads = one.opcode == "ld"
    registers, address = one.operands if loads else one.operands[::-1]
    names = [part.strip() for part in registers.strip("{} ").split(",")]
    size = bits_of_type(one.type) // 8
    if loads and space == "param":
        return _parameter(machine, address, names[0], size)
    find = finder(machine, space, address, size * len(names))
    if loads:
        writes, kind = [machine.registers.writer(name) for name in names], dtype_of(one.type)

        def load(where: Where) -> None:
            arena, places, lanes = find(where)
            words = arena.load(places, size, len(writes), lanes)
            for write, word in zip(writes, words, strict=True):
                write(where, word.view(kind))  # a wider register has its sign

        return load
    reads = [machine.registers.reader(name, f"u{8 * size}") for name in names]

    def store(where: Where) -> None:
        arena, places, lanes = find(where)
        words = [np.broadcast_to(read(where), len(places)) for read in reads]
        arena.store(places, np.array(words), lanes)

    return store


def _parameter(machine: Machine, address: str, name: str, size: int) -> Callable[[Where], None]:
    """A load of an argument of the lane's launch."""
    parameter, offset = _parsed(address)
    at = machine.kernel.parameters[parameter].offset + offset
    if at + size > size_of(machine.kernel.parameters) or at % size:
        raise ValueError("the parameter has no such place")
    write = machine.registers.writer(name)

    def load(where: Where) -> None:
        words = np.ascontiguousarray(machine.parameters[:, at : at + size]).view(f"u{size}")[:, 0]
        write(where, words[machine.lanes.launch[where]])

    return load


def _parsed(address: str) -> tuple[str, int]:
    found = _ADDRESS.fullmatch(address)
    if found is None:
        raise ValueError("the address is not understood")
    return found[1], int(found[2] or "0", 0)


def finder(
    machine: Machine, space: str, address: str, bytes: int
) -> Callable[[Where], tuple[Arena, Array, Array]]:
    """Of lanes, the arena, the places of their addresses in it, and their numbers."""
    name, offset = _parsed(address)
    is_variable = name in machine.kernel.shared or name in machine.kernel.local
    bits = 64 if is_variable else machine.kernel.bits_of(name)
    read = machine.registers.reader(name, f"u{bits}")
    step = np.uint64(offset % (1 << 64))

    def find(where: Where) -> tuple[Arena, Array, Array]:
        lanes = numbers(where).astype(np.int32)
        addresses = np.broadcast_to(read(where), len(lanes)).astype(np.uint64) + step
        if (addresses % np.uint64(bytes)).any():
            raise FaultError(f"an address that is not a multiple of {bytes}")
        if space == "global":
            return *machine.memory.locate(addresses, bytes), lanes
        if space == "shared":
            arena, size, owner = machine.shared, machine.shared_size, machine.lanes.block[where]
        else:
            arena, size, owner = machine.local, machine.local_size, lanes.astype(np.int64)
        if ((addresses > size) | (addresses + np.uint64(bytes) > size)).any():
            raise FaultError(f"an address beyond the {size} bytes of .{space}")
        return arena, owner * size + addresses.astype(np.int64), lanes

    return find
