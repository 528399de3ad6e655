"""Threads and memory that is given: neither changes a bit."""

from __future__ import annotations

import threading
import time

import numpy as np
import pytest
from helpers import sentence

import mxref
from mxref.bits.floats import BF16, F16, F32
from mxref.blocks import routes
from mxref.numbers import scale
from mxref.policy.policy import Policy
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


def test_threads_and_memory_change_no_bit_of_elements(monkeypatch: pytest.MonkeyPatch) -> None:
    one = mxref.encode(X, "e4m3")
    out = np.empty(X.shape, np.uint8)
    assert mxref.encode(X, "e4m3", threads=2, out=out) is out
    assert (out == one).all()
    monkeypatch.setenv("MXREF_THREADS", "2")
    assert (mxref.encode(X, "e4m3") == one).all()


@pytest.mark.parametrize("amax_type", ["float32", "bfloat16", "float16"])
def test_threads_change_no_bit_of_scales(amax_type: str, monkeypatch: pytest.MonkeyPatch) -> None:
    """Without a table: in parts that are longer than those in which numbers are rounded."""
    bits = np.random.default_rng(8).integers(0, 1 << 63, 100_000, np.uint64)
    bits[::7] = 0
    amax = bits.view(np.float64)
    monkeypatch.setattr(scale, "_MANY", 1 << 60)
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


def test_errors(monkeypatch: pytest.MonkeyPatch) -> None:
    assert sentence(ValueError, lambda: mxref.encode(X, "e2m1", threads=0)).endswith("1, got 0")
    assert sentence(TypeError, lambda: mxref.encode(X, "e2m1", threads=1.5)).endswith("got float")
    small = np.empty(3, np.uint8)
    assert "of shape (600, 640)" in sentence(ValueError, lambda: mxref.encode(X, "e2m1", out=small))
    monkeypatch.setenv("MXREF_THREADS", "many")
    assert sentence(ValueError, lambda: mxref.encode(X, "e2m1")).endswith("got 'many'")


POLICIES = [
    "ocp",
    *(f"ocp+rounding={one}" for one in ("to_odd", "toward_positive", "ties_to_zero")),
    *(f"ocp+scale_rule={one}" for one in ("ceil", "rceil", "even", "tosa", "nearest_log2")),
    "ocp+scale_rule=floor_log2_float32+zero_block=nan",
    "ocp+scale_rule=rceil_reciprocal+scale_underflow=flush+zero_sign=dropped",
    "ocp+scale_rule=ceil+scale_overflow=wrap+scale_underflow=wrap+block_nan=ignore",
    "ocp+scaling=reciprocal_flushed+scale_rule=ceil+zero_block=code_01+block_inf=largest_scale",
    "ocp+amax_type=bfloat16+overflow=nonsaturating",
    "ocp+amax_type=float16+scale_rule=nearest+int8_emax=one",
]


@pytest.mark.sampled(12)
@pytest.mark.parametrize("format", ["mxfp8_e5m2", "mxfp8_e4m3", "mxfp4_e2m1", "mxint8"])
@pytest.mark.parametrize("spelling", POLICIES)
def test_ordinary_blocks_are_those_of_the_general_path(spelling: str, format: str) -> None:
    policy, fmt = Policy.parse(spelling), mxref.formats.block_format(format)
    rows = X.reshape(-1, 32).view(np.uint32)
    for layout in (F32, BF16, F16):
        some = rows if layout is F32 else (rows >> 16).astype(np.uint16)
        scales, codes = routes._exact_rows(some, layout, fmt, policy, None, None)
        fast = mxref.quantize(some.view(layout.dtype), fmt, policy)
        assert (fast.scale_codes[:, 0] == scales).all()
        assert (fast.codes == codes).all()


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
