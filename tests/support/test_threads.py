"""Threads and memory that is given: neither changes a bit."""

from __future__ import annotations

import threading
import time

import numpy as np
import pytest
from helpers import sentence

import mxref
from mxref.support.threads import for_each


def numbers(shape: tuple[int, ...]) -> np.ndarray:
    """Blocks of all sizes: tiny, huge, zeros, NaN and infinity among them."""
    rng = np.random.default_rng(7)
    bits = rng.integers(0, 1 << 32, shape, np.uint32)
    bits.reshape(-1, 32)[::2] &= 0x807F_FFFF
    bits.reshape(-1, 32)[::2] |= rng.integers(0, 255, (bits.size // 64, 1), np.uint32) << 23
    bits.reshape(-1, 32)[::50] = 0
    return bits.view(np.float32)


X = numbers((600, 640))


@pytest.mark.parametrize("threads", [2, 3])
@pytest.mark.parametrize("axis", [0, 1])
def test_threads_change_no_bit_of_blocks(threads: int, axis: int) -> None:
    one = mxref.quantize(X[:, :-5], "mxfp6_e2m3", axis=axis)
    many = mxref.quantize(X[:, :-5], "mxfp6_e2m3", axis=axis, threads=threads)
    assert one == many
    back = mxref.dequantize(one, threads=1).view(np.uint32)
    assert (mxref.dequantize(one, threads=threads).view(np.uint32) == back).all()


@pytest.mark.parametrize("amax_type", ["float32", "bfloat16", "float16"])
def test_threads_change_no_bit_of_scales(amax_type: str) -> None:
    bits = np.random.default_rng(8).integers(0, 1 << 63, 100_000, np.uint64)
    bits[::7] = 0
    amax = bits.view(np.float64)
    found = [
        mxref.shared_scale(amax, "e3m2", amax_type=amax_type, threads=threads) for threads in (1, 2)
    ]
    assert (found[0] == found[1]).all()


def test_what_threads_raise_is_raised() -> None:
    x = np.zeros((64, 4096), np.float32)
    x[-1, -1] = np.nan
    choices = {"nan_to_finite": "error", "block_nan": "ignore"}
    wrong = sentence(ValueError, lambda: mxref.quantize(x, "mxfp4_e2m1", threads=2, **choices))
    assert wrong.startswith("values must not be NaN")


def test_the_error_of_the_first_part_is_raised_and_the_others_stop() -> None:
    done = []

    def work(part: int) -> None:
        if part in (3, 5):
            raise ValueError(part)
        done.append(part)
        time.sleep(0.001)

    with pytest.raises(ValueError, match=r"^3$"):
        for_each(work, range(10**6), 3)
    assert set(done) >= {0, 1, 2}
    assert len(done) < 10**6


def test_an_interruption_stops_every_thread() -> None:
    before = threading.enumerate()

    def work(part: int) -> None:
        if threading.current_thread() is threading.main_thread():
            raise KeyboardInterrupt
        time.sleep(0.001)

    with pytest.raises(KeyboardInterrupt):
        for_each(work, range(10**6), 2)
    assert set(threading.enumerate()) <= set(before)
