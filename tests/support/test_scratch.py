"""Scratch memory: one array a name and thread, of any shape and type."""

from __future__ import annotations

import threading

import numpy as np

from mxref.support.scratch import scratch


def test_every_shape_of_a_name_is_the_same_memory() -> None:
    first = scratch("test", (2, 3), np.uint16)
    assert first.shape == (2, 3)
    assert first.dtype == np.uint16
    larger = scratch("test", 1000, np.uint64)
    for again in (scratch("test", (2, 3), np.uint16), scratch("test", 7, np.uint8)):
        assert np.shares_memory(again, larger)
    assert not np.shares_memory(larger, scratch("test of another", 1000, np.uint64))


def test_many_shapes_stay_right() -> None:
    for size in (*range(200), *range(200)):
        assert scratch("test", (size, 2), np.uint16).shape == (size, 2)


def test_threads_have_memory_of_their_own() -> None:
    found = [scratch("test", 10, np.uint8)]
    other = threading.Thread(target=lambda: found.append(scratch("test", 10, np.uint8)))
    other.start()
    other.join()
    assert not np.shares_memory(*found)
