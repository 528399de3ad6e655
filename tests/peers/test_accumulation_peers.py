"""Adders against others, bit for bit: MMA-Sim's tensor cores, and a processor's float32 in C++.

MMA-Sim 2.1.1 comes with the extra `peers`; g++ compiles the C++.
"""

from __future__ import annotations

import ctypes
import itertools
import sys
from pathlib import Path

import numpy as np
import pytest
from product_rows import FORMATS, LAST_PLACES, LENGTHS, difference_of_powers, drawn, side
from shares import Share

import mxref
from mxref.policy.choices import Accumulation
from mxref.products.accumulation import accumulated
from mxref.products.operand import Operand

sys.path.insert(0, str(Path(__file__).resolve().parents[2] / "tools" / "adapters"))
import mmasim_adapter
from _peer import compiled

CORES = (Accumulation.ALIGNED_25, Accumulation.ALIGNED_35, Accumulation.ALIGNED_13)


def by_core(how: Accumulation, a: Operand, b: Operand) -> np.ndarray:
    """Bits of all sums; those of blocks on Hopper have the positive quiet NaN and +0 alone."""
    arrays = []
    for one in (a, b):  # kind::mxf4 takes two blocks at a time
        more = one.scales.shape[1] % 2 if how is Accumulation.ALIGNED_35 else 0
        arrays += [
            np.pad(one.scales, ((0, 0), (0, more)), constant_values=127),
            np.pad(one.codes, ((0, 0), (0, 32 * more))),
        ]
    core = getattr(mmasim_adapter, how.name)
    sums = core.matmul(*arrays, f"mx_{a.format.name}", f"mx_{b.format.name}")
    if how is Accumulation.ALIGNED_13:
        sums[sums == 0] = 0
        sums = np.where(np.isnan(sums), np.float32(np.nan), sums)
    return sums.view(np.uint32)


@pytest.mark.parametrize("how", CORES)
def test_tensor_cores_equal_mmasim(how: Accumulation, share: Share) -> None:
    """All pairs of formats, 8,000 outputs of each core; 100,000 with --complete."""
    pairs = list(itertools.product(FORMATS[how], repeat=2))
    wanted = (100_000 if share.complete else 8_000) / len(pairs)
    for pair in pairs:
        state = np.random.default_rng([*"-".join(pair).encode()])
        outputs = 0
        for length in itertools.cycle(LENGTHS):
            a, b = drawn(pair, length, 12 if wanted > 1000 else 4, state)
            own = accumulated(a, b, how).view(np.uint32)
            assert np.array_equal(by_core(how, a, b), own), (pair, length)
            outputs += own.size
            if outputs >= wanted and length == LENGTHS[-1]:
                break


@pytest.mark.parametrize(("how", "first", "apart", "last", "kept", "lost"), LAST_PLACES)
def test_last_places_equal_mmasim(
    how: Accumulation, first: int, apart: int, last: int, kept: int, lost: int
) -> None:
    for second, bits in ((last, kept), (last - 1, lost)):
        sides = difference_of_powers(how, first, apart, second)
        assert by_core(how, *sides).tolist() == [[bits]]


ORDERS = ["sequential", "pairwise", "by_block", "scales_last"]


def by_processor(library: ctypes.CDLL, a: Operand, b: Operand, order: int) -> np.ndarray:
    """Bits of all sums in C++; every NaN is the positive quiet one and every zero +0."""
    rows, columns = (
        [
            (mxref.decode(codes[: one.length], one.format, np.float64), scales.astype(np.int32))
            for codes, scales in zip(one.codes, one.scales, strict=True)
        ]
        for one in (a, b)
    )
    bits = np.empty((len(rows), len(columns)), np.float32)
    library.sum.restype = ctypes.c_float
    for i, (x, s) in enumerate(rows):
        for j, (y, t) in enumerate(columns):
            arrays = x, y, s + t - 254
            pointers = [ctypes.c_void_p(array.ctypes.data) for array in arrays]
            bits[i, j] = library.sum(*pointers, a.length, a.run, order)
    bits[bits == 0] = 0
    return np.where(np.isnan(bits), np.float32(np.nan), bits).view(np.uint32)


@pytest.fixture(scope="module")
def library() -> ctypes.CDLL:
    return compiled((Path(__file__).parent / "data" / "sums.cpp").read_text("ascii"))


@pytest.mark.parametrize("order", ORDERS)
def test_orders_equal_a_processor(order: str, library: ctypes.CDLL, share: Share) -> None:
    """All pairs of formats and the designed scales, with overflow and sums that underflow."""
    how = Accumulation(order)
    rows = 12 if share.complete else 2
    for pair in itertools.product(FORMATS[how], repeat=2):
        state = np.random.default_rng([*"-".join(pair).encode()])
        for length, run in ((96, 32), (130, 32), (41, 5), (7, 1)):
            a, b = drawn(pair, length, rows, state, run)
            found = by_processor(library, a, b, ORDERS.index(order))
            assert np.array_equal(found, accumulated(a, b, how).view(np.uint32)), (pair, length)


def test_fused_multiplication_makes_no_difference(library: ctypes.CDLL) -> None:
    """Where the products are float32 numbers, which is all that the fused ones could lose."""
    state = np.random.default_rng(0)
    for pair in itertools.product(FORMATS[Accumulation.SEQUENTIAL], repeat=2):
        a, b = drawn(pair, 130, 6, state)
        sides = []
        for one in (a, b):
            scales = state.integers(100, 150, one.scales.shape).astype(np.uint8)
            sides.append(side(one.format.name, one.codes[:, :130], scales))
        found = by_processor(library, *sides, 4)
        own = accumulated(*sides, Accumulation.SEQUENTIAL).view(np.uint32)
        assert np.array_equal(found, own), pair
