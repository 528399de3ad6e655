"""Memory that hardware lacks: it knows its bounds, what was written, and who touched it."""

from __future__ import annotations

from typing import Any

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
        self.known = np.zeros(len(self.bytes), bool)
        self.stored = np.zeros(len(self.bytes), bool)
        self.shared, self.private = shared, private
        if shared:
            self.writer = np.full(len(self.bytes), NOBODY, np.int32)
            self.reader = np.full(len(self.bytes), NOBODY, np.int32)

    def load(self, at: Array, size: int, count: int, lanes: Array) -> Array:
        """Words of `size` bytes, `count` from each place on: an array (count, lanes).

        Raises:
            FaultError: a byte has not been written, or another lane may write it at the same time.
        """
        places = _places(at, size * count)
        if not self.known[places].all():
            raise FaultError("a load of what has not been written")
        if self.shared:
            self._race(self.writer[places], lanes, "a load of what another lane stores")
            before = self.reader[places]
            self.reader[places] = np.where(before == NOBODY, lanes[:, None], before)
            other = self.reader[places] != lanes[:, None]
            self.reader[places[other]] = MANY
        elif not self.private and self.stored[places].any():
            raise FaultError("a load of what this launch stores")
        kind = np.dtype(f"u{size}")
        return np.ascontiguousarray(self.bytes[places].view(kind).reshape(len(at), count).T)

    def store(self, at: Array, words: Array, lanes: Array) -> None:
        """Store words (count, lanes) from each place on.

        Raises:
            FaultError: another lane stores something else there, or loads it at the same time.
        """
        data = np.ascontiguousarray(words.T).view(np.uint8).reshape(len(at), -1)
        places = _places(at, data.shape[1])
        if self.shared:
            for owner in (self.writer, self.reader):
                self._race(owner[places], lanes, "a store of what another lane has touched")
            self.writer[places] = lanes[:, None]
        elif not self.private and ((self.bytes[places] != data) & self.stored[places]).any():
            raise FaultError("two different values are stored at one address")
        self.bytes[places] = data
        if not self.private and (self.bytes[places] != data).any():
            raise FaultError("two lanes store different values at one address")
        self.known[places] = True
        self.stored[places] = True

    @staticmethod
    def _race(owner: Array, lanes: Array, said: str) -> None:
        if ((owner != NOBODY) & (owner != lanes[:, None])).any():
            raise FaultError(f"a race: {said} without a barrier between")

    def pass_barrier(self, first: int, last: int) -> None:
        """What lies in these places has been exchanged."""
        self.writer[first:last] = NOBODY
        self.reader[first:last] = NOBODY


def _places(at: Array, size: int) -> Array:
    return at[:, None] + np.arange(size)


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
            self._arena.known[offset : offset + len(data)] = known
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
