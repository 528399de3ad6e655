"""Memory that hardware lacks: it knows its bounds, what was written, and who touched it."""

from __future__ import annotations

import functools
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

__all__ = ["Arena", "FaultError", "Memory"]

Array = NDArray[Any]
#: Who touched a byte: nobody since the last barrier, or more than one lane.
NOBODY, MANY = -1, -2


class FaultError(RuntimeError):
    """A kernel does what it must not do, or what its result would be left to chance by."""


class Arena:
    """Bytes that lanes load and store.

    Args:
        size: how many.
        shared: whether lanes may exchange something here, between barriers; elsewhere a byte may
            only be loaded if no lane has stored it, and only be stored again as it is.
        private: whether each byte is one lane's own.
    """

    def __init__(self, size: int, *, shared: bool = False, private: bool = False) -> None:
        self.bytes = np.zeros((size + 15) // 16 * 16, np.uint8)
        # A byte that may be loaded, or has been stored, has all bits here.
        self.known, self.stored = np.zeros_like(self.bytes), np.zeros_like(self.bytes)
        self.shared, self.private = shared, private
        if shared:
            self.writer = np.full(len(self.bytes), NOBODY, np.int32)
            self.reader = np.full(len(self.bytes), NOBODY, np.int32)

    def load(self, at: Array, size: int, count: int, lanes: Array) -> Array:
        """Words of `size` bytes, `count` from each place on: an array (count, lanes).

        Raises:
            FaultError: a byte has not been written, or another lane may write it at the same time.
        """
        words = _places(at, size * count)
        bytes, known, stored = (
            one.view(words.type) for one in (self.bytes, self.known, self.stored)
        )
        if (known[words.at] != words.ones).any():
            raise FaultError("a load of what has not been written")
        if self.shared:
            own = lanes[:, None, None]
            writer, reader = (
                one.reshape(-1, words.type.itemsize) for one in (self.writer, self.reader)
            )
            self._race(writer[words.at], own, "a load of what another lane stores")
            before = reader[words.at]
            reader[words.at] = np.where(before == NOBODY, own, before)
            lane, word, byte = np.nonzero(reader[words.at] != own)
            reader[words.at[lane, word], byte] = MANY
        elif not self.private and stored[words.at].any():
            raise FaultError("a load of what this launch stores")
        kind = np.dtype(f"u{size}")
        return np.ascontiguousarray(bytes[words.at].view(kind).reshape(len(at), count).T)

    def store(self, at: Array, words: Array, lanes: Array) -> None:
        """Store words (count, lanes) from each place on.

        Raises:
            FaultError: another lane stores something else there, or loads it at the same time.
        """
        size = len(words) * words.itemsize
        wide = _places(at, size)
        data = np.ascontiguousarray(words.T).view(wide.type).reshape(len(at), -1)
        bytes, known, stored = (
            one.view(wide.type) for one in (self.bytes, self.known, self.stored)
        )
        if self.shared:
            own = lanes[:, None, None]
            writer, reader = (
                one.reshape(-1, wide.type.itemsize) for one in (self.writer, self.reader)
            )
            for owner in (writer, reader):
                self._race(owner[wide.at], own, "a store of what another lane has touched")
            writer[wide.at] = own
        elif not self.private and ((bytes[wide.at] ^ data) & stored[wide.at]).any():
            raise FaultError("two different values are stored at one address")
        bytes[wide.at] = data
        if not self.private and (bytes[wide.at] != data).any():
            raise FaultError("two lanes store different values at one address")
        known[wide.at] = wide.ones
        stored[wide.at] = wide.ones

    @staticmethod
    def _race(owner: Array, own: Array, said: str) -> None:
        if ((owner != NOBODY) & (owner != own)).any():
            raise FaultError(f"a race: {said} without a barrier between")

    def pass_barrier(self, first: int, last: int) -> None:
        """What lies in these places has been exchanged."""
        self.writer[first:last] = NOBODY
        self.reader[first:last] = NOBODY


class _Words(NamedTuple):
    """Words that many bytes are: their places (lanes, words), their type, and all of its bits."""

    at: Array
    type: Any
    ones: Any


@functools.cache
def _types(width: int) -> tuple[Any, Any]:
    type = np.dtype(f"u{width}")
    return type, ~type.type(0)


def _places(at: Array, size: int) -> _Words:
    """`size` bytes from each place on, as words as wide as the places are aligned."""
    width = min(size & -size, 8)
    if width > 1 and (at & (width - 1)).any():
        width = 1
    return _Words(at[:, None] // width + np.arange(size // width), *_types(width))


class Memory:
    """Global memory: windows at addresses of 64 bits. Only they may be touched.

    A window may lie anywhere, so that the end of a tensor of many gigabytes needs only its own
    bytes.
    """

    def __init__(self) -> None:
        self._windows: list[tuple[int, Array, bool | Array]] = []
        self._next = 1 << 40

    def add(self, data: Array, *, at: int | None = None, known: bool | Array = True) -> int:
        """The address of a new window.

        Args:
            data: what it has; it is copied when a launch begins, and `read` gives what is there.
            at: its address; without one, a multiple of 256 far from all others.
            known: whether its bytes, or which of them, may be loaded before they are stored.
        """
        if at is None:
            at = self._next
            self._next += (data.nbytes + 511) // 256 * 256
        self._windows.append((at, data.view(np.uint8).reshape(-1), known))
        return at

    def begin(self) -> None:
        """Lay all windows into one arena, each as aligned as its address is."""
        self._windows.sort(key=lambda window: window[0])
        offsets, size = [], 0
        for at, data, _ in self._windows:
            size = (size + 31) // 16 * 16 + at % 16
            offsets.append(size)
            size += len(data)
        self._arena = Arena(size)
        for (_, data, known), offset in zip(self._windows, offsets, strict=True):
            self._arena.bytes[offset : offset + len(data)] = data
            self._arena.known[offset : offset + len(data)] = np.uint8(255) * np.asarray(
                known, np.uint8
            )
        self._offsets = np.array(offsets, np.int64)
        self._starts = np.array([window[0] for window in self._windows], np.uint64)
        self._sizes = np.array([len(window[1]) for window in self._windows], np.uint64)

    def windows(self) -> list[tuple[int, Array]]:
        """The address of each window, and its bytes before a launch, in order."""
        return sorted(((at, data) for at, data, _ in self._windows), key=lambda one: one[0])

    def read(self, at: int) -> Array:
        """The bytes of a window, by its address."""
        place = [window[0] for window in self._windows].index(at)
        start = int(self._offsets[place])
        return self._arena.bytes[start : start + len(self._windows[place][1])].copy()

    def locate(self, addresses: Array, size: int) -> tuple[Arena, Array]:
        """The arena, and where in it addresses lie.

        Raises:
            FaultError: `size` bytes from there on are not within one window.
        """
        window = np.searchsorted(self._starts, addresses, "right").astype(np.int64) - 1
        inside = addresses - self._starts[np.maximum(window, 0)]
        room = self._sizes[np.maximum(window, 0)]
        outside = (window < 0) | (inside >= room) | (np.uint64(size) > room - inside)
        if outside.any():
            raise FaultError(f"address {int(addresses[outside][0]):#x} is out of bounds")
        return self._arena, self._offsets[window] + inside.astype(np.int64)
