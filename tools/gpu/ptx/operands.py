"""What instructions read and write: registers of all lanes, constants, and special registers."""

from __future__ import annotations

import functools
import re
from collections.abc import Callable
from typing import Any

import numpy as np
from numpy.typing import NDArray

from ptx.memory import FaultError
from ptx.opcodes import dtype_of
from ptx.parse import Kernel

__all__ = ["Lanes", "Registers", "Where", "constant", "length", "numbers", "selection"]

Array = NDArray[Any]
#: Which lanes: a range as a slice, else their numbers.
Where = slice | Array
#: Special registers.
SPECIAL = {"%laneid"} | {
    f"%{name}.{axis}" for name in ("tid", "ntid", "nctaid", "ctaid") for axis in "xyz"
}
_FLOAT = re.compile(r"0[fF]([0-9a-fA-F]{8})")


@functools.cache
def constant(text: str, type: str) -> Any:
    """An immediate operand as a scalar of its type, cut as the type does; None if it is none."""
    if found := _FLOAT.fullmatch(text):
        return np.uint32(int(found[1], 16))
    try:
        value = int(text.removesuffix("U"), 0)
    except ValueError:
        return None
    kind = dtype_of(type)
    if kind.kind == "b":
        return np.bool_(value)
    bits = 8 * kind.itemsize
    unsigned = np.array(value % (1 << bits), np.uint64).astype(f"u{kind.itemsize}")
    return unsigned.view(kind)[()]


def selection(lanes: Array) -> Where:
    """Lanes in order, as a slice where they are a range: then nothing is copied."""
    first, last = int(lanes[0]), int(lanes[-1]) + 1
    return slice(first, last) if last - first == len(lanes) else lanes


def numbers(where: Where) -> Array:
    """The numbers of lanes."""
    return np.arange(where.start, where.stop) if isinstance(where, slice) else where


def length(where: Where) -> int:
    """How many lanes they are."""
    return int(where.stop - where.start) if isinstance(where, slice) else len(where)


class Lanes:
    """Who runs: every thread of the blocks of one or more launches of a kernel.

    Args:
        shapes: of each launch the grid, the block (x, y, z), and which blocks of the grid run.
    """

    def __init__(
        self, shapes: list[tuple[tuple[int, ...], tuple[int, ...], list[tuple[int, ...]]]]
    ) -> None:
        parts: dict[str, list[Array]] = {}
        blocks = warps = 0
        for launch, (grid, block, ids) in enumerate(shapes):
            count = int(np.prod(block))
            thread = np.tile(np.arange(count, dtype=np.uint32), len(ids))
            which = np.repeat(np.arange(len(ids), dtype=np.uint32), count)
            warps_each = (count + 31) // 32
            found = {
                "launch": np.full(len(thread), launch),
                "block": blocks + which,
                "warp": warps + which * np.uint32(warps_each) + thread // 32,
                "threads": np.full(len(thread), count),
                "%laneid": thread % 32,
            }
            for axis, name in enumerate("xyz"):
                below = int(np.prod(block[:axis], dtype=int))
                found[f"%tid.{name}"] = thread // below % block[axis]
                found[f"%ntid.{name}"] = np.full(len(thread), block[axis])
                found[f"%nctaid.{name}"] = np.full(len(thread), grid[axis])
                found[f"%ctaid.{name}"] = np.array([id[axis] for id in ids])[which]
            for name, array in found.items():
                parts.setdefault(name, []).append(array)
            blocks += len(ids)
            warps += len(ids) * warps_each
        joined = {name: np.concatenate(arrays) for name, arrays in parts.items()}
        self.launch, self.block = joined.pop("launch"), joined.pop("block").astype(np.int64)
        self.warp, self.threads = joined.pop("warp").astype(np.int64), joined.pop("threads")
        self.special = {name: array.astype(np.uint32) for name, array in joined.items()}
        self.lane = self.special["%laneid"].astype(np.int64)
        self.blocks, self.warps, self.count = blocks, warps, len(self.launch)


class Registers:
    """The registers of all lanes, and which of them each lane has written.

    Readers and writers stay as they are from run to run; `begin` comes before each.

    Args:
        kernel: whose registers they are.
        addresses: of its variables, by name.
    """

    def __init__(self, kernel: Kernel, addresses: dict[str, int]) -> None:
        self._kernel, self._addresses = kernel, addresses
        self._kinds: dict[str, Any] = {}
        self._arrays: dict[str, Array] = {}
        #: Lanes that have written a register; None for all of them.
        self._known: dict[str, Array | None] = {}
        self._nowhere = np.zeros(0, bool)

    def begin(self, lanes: Lanes) -> None:
        """No register of these lanes has been written."""
        self._lanes = lanes
        self._arrays.clear()
        self._known.clear()

    def _kind(self, name: str) -> Any:
        if name not in self._kinds:
            bits = self._kernel.bits_of(name)
            self._kinds[name] = np.dtype(bool) if bits == 1 else np.dtype(f"u{bits // 8}")
        return self._kinds[name]

    def reader(self, text: str, type: str) -> Callable[[Where], Any]:
        """A function that gives an operand's values, of a register, a constant or an address.

        A register that is wider than the type is cut; one that is narrower is a ValueError.
        """
        if (value := constant(text, type)) is not None:
            return lambda where: value
        if text in SPECIAL:
            return lambda where: self._lanes.special[text][where]
        if text in self._addresses:
            address = np.uint64(self._addresses[text])
            return lambda where: np.full(length(where), address)
        if text.startswith("!"):
            inner = self.reader(text[1:], type)
            return lambda where: ~inner(where)
        own, kind = self._kind(text), dtype_of(type)
        if own.itemsize < kind.itemsize:
            raise ValueError(f"{text} is too narrow for .{type}")
        arrays, known, is_whole = self._arrays, self._known, own.itemsize == kind.itemsize
        cut, nowhere = np.dtype(f"u{kind.itemsize}"), self._nowhere

        def read(where: Where) -> Array:
            mask = known.get(text, nowhere)
            if mask is not None and (mask is nowhere or not mask[where].all()):
                raise FaultError(f"{text} is read before it is written")
            found = arrays[text][where]
            return (found if is_whole else found.astype(cut)).view(kind)

        return read

    def writer(self, text: str) -> Callable[[Where, Any], None]:
        """A function that writes a register; `_` is none."""
        if text == "_":
            return lambda where, values: None
        kind, nowhere = self._kind(text), self._nowhere
        arrays, known = self._arrays, self._known

        def write(where: Where, values: Any) -> None:
            if text not in arrays:
                arrays[text] = np.empty(self._lanes.count, kind)
            arrays[text][where] = values
            if (mask := known.get(text, nowhere)) is None:
                return
            if isinstance(where, slice) and where.stop - where.start == self._lanes.count:
                known[text] = None
            else:
                if mask is nowhere:
                    mask = known[text] = np.zeros(self._lanes.count, bool)
                mask[where] = True

        return write
