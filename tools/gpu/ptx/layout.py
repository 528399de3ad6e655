"""Where the values, codes and scales of a tensor lie in memory, and what a launch is told of it."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

from ptx.memory import Memory

__all__ = [
    "EDGES",
    "PLACES",
    "RULES",
    "UNTOUCHED",
    "Axis",
    "Layout",
    "Place",
    "Tensor",
    "empty",
    "given",
    "packed",
    "unpacked",
    "words",
    "wrong_lines",
]

Array = NDArray[Any]
RULES = ("floor", "ceil", "rceil", "even", "rceil_reciprocal")
#: What lies between codes, between scales, and between numbers that are written.
UNTOUCHED = 0xA5


@dataclass(frozen=True, slots=True)
class Axis:
    """Thing i of line l lies at l * line + i * step."""

    line: int
    step: int = 1

    def at(self, lines: int, things: int) -> Array:
        """Where the things of lines lie: (lines, things)."""
        return np.arange(lines)[:, None] * self.line + np.arange(things) * self.step


@dataclass(frozen=True, slots=True)
class Tensor:
    """`mx::Tensor` with `mx::Recipe`: lines of a length, and how scales are made."""

    lines: int
    length: int
    values: Axis
    codes: Axis
    scales: Axis
    rule: str = "floor"
    tiles: bool = False
    tensor: int = 0x3F800000

    def arguments(self) -> tuple[bytes, bytes]:
        """The tensor and the recipe as C++ lays them out."""
        numbers = [self.lines, self.length]
        numbers += [n for a in (self.values, self.codes, self.scales) for n in (a.line, a.step)]
        return words("u8", *numbers), self.recipe()

    def recipe(self) -> bytes:
        """The recipe as C++ lays it out."""
        return words("u4", RULES.index(self.rule), self.tiles, self.tensor)


def words(kind: str, *numbers: int) -> bytes:
    """Integers as their bytes, little-endian."""
    return np.array(numbers, f"<{kind}").tobytes()


@dataclass(frozen=True, slots=True)
class Place:
    """Values, codes and scales: after an aligned address the first item, steps, gaps of lines."""

    name: str
    values: tuple[int, int, int] = (0, 1, 0)
    codes: tuple[int, int, int] = (0, 1, 0)
    scales: tuple[int, int, int] = (0, 1, 0)
    tiles: bool = False


#: In the first two all lines can be loaded and stored by 16 bytes; the others break one condition
#: of that each. Lines begin at a multiple of 16 items and the gap.
PLACES = (
    Place("aligned"),
    Place("tiles", values=(0, 1, 16), codes=(0, 1, 16), tiles=True),
    Place("values from 1 on", values=(1, 1, 0), scales=(3, 2, 1)),
    Place("codes from 4 on", codes=(4, 1, 0)),
    Place("lines of values 2 apart", values=(0, 1, 2)),
    Place("lines of codes 4 apart", codes=(0, 1, 4)),
    Place("every second value", values=(0, 2, 0)),
    Place("every second code", codes=(0, 2, 0), tiles=True),
    Place("odd lines", values=(0, 1, 1), codes=(0, 1, 3), scales=(0, 1, 1)),
)

#: More places that break a condition of loads and stores of 16 bytes each, for some type alone.
EDGES = (
    Place("values from 4 on", values=(4, 1, 0)),
    Place("lines of values 4 apart", values=(0, 1, 4)),
    Place("codes from 8 on", codes=(8, 1, 0)),
    Place("lines of codes 8 apart", codes=(0, 1, 8)),
)


def tiled(lines: Array, blocks: int) -> Array:
    """Where scales lie in tiles of 128 rows and 4 columns, 512 bytes each."""
    line, block = lines[:, None], np.arange(blocks)
    tile = line // 128 * -(-blocks // 4) + block // 4
    return np.asarray(tile * 512 + line % 32 * 16 + line % 128 // 32 * 4 + block % 4)


def packed(codes: Array, bits: int) -> Array:
    """Codes (lines, n) as bytes, the first code lowest."""
    if bits == 8:
        return codes
    each = codes[..., None] >> np.arange(bits, dtype=np.uint8) & 1
    return np.packbits(each.reshape(len(codes), -1).astype(np.uint8), axis=1, bitorder="little")


def unpacked(bytes: Array, bits: int) -> Array:
    """The codes (lines, n) of bytes: `packed` backwards."""
    each = np.unpackbits(bytes, axis=1, bitorder="little").reshape(len(bytes), -1, bits)
    return np.packbits(each, axis=2, bitorder="little")[..., 0]


class Layout:
    """A tensor in a place: where its items are, counted from the address of the memory's windows.

    Args:
        place: the place.
        lines, length: its lines, and numbers in one.
        bytes, blocks: bytes of codes, and scales, in a line.
        rule, tensor: of the recipe.
    """

    def __init__(
        self, place: Place, lines: int, length: int, bytes: int, blocks: int, rule: str, tensor: int
    ) -> None:
        def axis(where: tuple[int, int, int], things: int) -> Axis:
            return Axis((things * where[1] + 15) // 16 * 16 + where[2], where[1])

        values, codes = axis(place.values, length), axis(place.codes, bytes)
        scales = axis(place.scales, blocks)
        self.place = place
        self.tensor = Tensor(lines, length, values, codes, scales, rule, place.tiles, tensor)
        by_tiles = tiled(np.arange(lines), blocks)
        self.values = place.values[0] + values.at(lines, length)
        self.codes = place.codes[0] + codes.at(lines, bytes)
        self.scales = place.scales[0] + (by_tiles if place.tiles else scales.at(lines, blocks))


def given(memory: Memory, at: Array, items: Array) -> int:
    """A window with items; what lies between them may not be loaded."""
    data = np.zeros(int(at.max()) + 1, items.dtype)
    known = np.zeros(len(data), bool)
    data[at], known[at] = items, True
    return memory.add(data, known=np.repeat(known, items.itemsize))


def empty(memory: Memory, at: Array, kind: Any = np.uint8) -> int:
    """A window for items."""
    size = (int(at.max()) + 1) * np.dtype(kind).itemsize
    return memory.add(np.full(size, UNTOUCHED, np.uint8), known=False)


def wrong_lines(
    memory: Memory, window: int, at: Array, want: Array, infinity: int | None = None
) -> Array:
    """Which lines of a window are not as they should be; all, if something between them is not.

    With the pattern of infinity items are numbers, and NaN is compared as a class.
    """
    got = memory.read(window).view(want.dtype)
    bad = got[at] != want
    if infinity is not None:
        magnitude = np.iinfo(want.dtype).max >> 1
        bad &= ~((got[at] & magnitude > infinity) & (want & magnitude > infinity))
    got[at] = np.frombuffer(bytes([UNTOUCHED]) * want.itemsize, want.dtype)[0]
    return np.asarray(bad.any(1) | (got.view(np.uint8) != UNTOUCHED).any())
