"""Adders against others, bit for bit: MMA-Sim's tensor cores, and a processor's float32 in C++.

MMA-Sim 2.1.1 comes with the extra `peers`; g++ compiles the C++.
"""

from __future__ import annotations

import ctypes
import itertools
import sys
from collections.abc import Callable
from pathlib import Path

import numpy as np
import pytest
import torch
from mmasim.nv_ptx.sim import WGMMA, MMABlockScale
from product_rows import FORMATS, LAST_PLACES, LENGTHS, difference_of_powers, drawn, side
from shares import Share

import mxref
from mxref.policy.choices import Accumulation
from mxref.products.accumulation import accumulated
from mxref.products.operand import Operand

sys.path.insert(0, str(Path(__file__).resolve().parents[2] / "tools" / "adapters"))
from _peer import compiled

TYPES = {"e5m2": torch.float8_e5m2, "e4m3": torch.float8_e4m3fn}


def elements(operand: Operand, first: int, end: int) -> torch.Tensor:
    """Codes as kind::mxf8f6f4 has them: FP8 by its type, FP6 in bits 5:0 and FP4 in bits 5:2."""
    name = operand.format.name
    codes = torch.from_numpy(np.ascontiguousarray(operand.codes[:, first:end]))
    if name in TYPES:
        return codes.view(TYPES[name])
    return codes << 2 if name == "e2m1" else codes


def nibbles(operand: Operand, first: int, end: int) -> torch.Tensor:
    """Two FP4 codes a byte, as kind::mxf4 has them, filled with code 00."""
    codes = operand.codes[:, first:end]
    codes = np.pad(codes, ((0, 0), (0, end - first - codes.shape[1])))
    return torch.from_numpy(codes[:, ::2] << 4 | codes[:, 1::2])


def powers(operand: Operand, first: int, count: int) -> torch.Tensor:
    scales = operand.scales[:, first : first + count]
    filled = np.pad(scales, ((0, 0), (0, count - scales.shape[1])), constant_values=127)
    return torch.from_numpy(filled).view(torch.float8_e8m0fnu)


def of_25(a: Operand, b: Operand) -> np.ndarray:
    kind = f"kind::mxf8f6f4.block32.f32.{a.format.name}.{b.format.name}.f32.ue8m0"
    core = MMABlockScale("RTX Blackwell", f"m16n8k32.{kind}")
    total = torch.zeros(len(a.codes), len(b.codes))
    for run in range(a.scales.shape[1]):
        x, y = (elements(operand, 32 * run, 32 * run + 32) for operand in (a, b))
        total = core(x, y.T, total, powers(a, run, 1), powers(b, run, 1).T)
    return total.numpy()


def of_35(a: Operand, b: Operand) -> np.ndarray:
    kind = "kind::mxf4.block32.f32.e2m1.e2m1.f32.ue8m0"
    core = MMABlockScale("RTX Blackwell", f"m16n8k64.{kind}")
    total = torch.zeros(len(a.codes), len(b.codes))
    for run in range(0, a.scales.shape[1], 2):
        x, y = (nibbles(operand, 32 * run, 32 * run + 64) for operand in (a, b))
        total = core(x, y.T, total, powers(a, run, 2), powers(b, run, 2).T)
    return total.numpy()


def of_13(a: Operand, b: Operand) -> np.ndarray:
    """Each block on Hopper's tensor core; its scales and the sum of blocks by NumPy's float32."""
    core = WGMMA("Hopper", f"m64n8k32.f32.{a.format.name}.{b.format.name}")
    zero = torch.zeros(len(a.codes), len(b.codes))
    total = None
    for run in range(a.scales.shape[1]):
        x, y = (elements(operand, 32 * run, 32 * run + 32) for operand in (a, b))
        block = core(x, y.T, zero).numpy().astype(np.float64)
        exponents = a.scales[:, run, None].astype(int) + b.scales[:, run] - 254
        with np.errstate(over="ignore", invalid="ignore"):
            scaled = np.ldexp(block, exponents).astype(np.float32)
            total = scaled if total is None else total + scaled
    assert total is not None
    total[total == 0] = 0
    return np.where(np.isnan(total), np.float32(np.nan), total)


CORES: dict[Accumulation, Callable[[Operand, Operand], np.ndarray]] = {
    Accumulation.ALIGNED_25: of_25,
    Accumulation.ALIGNED_35: of_35,
    Accumulation.ALIGNED_13: of_13,
}


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
            found, own = CORES[how](a, b), accumulated(a, b, how)
            assert np.array_equal(found.view(np.uint32), own.view(np.uint32)), (pair, length)
            outputs += own.size
            if outputs >= wanted and length == LENGTHS[-1]:
                break


@pytest.mark.parametrize(("how", "first", "apart", "last", "kept", "lost"), LAST_PLACES)
def test_last_places_equal_mmasim(
    how: Accumulation, first: int, apart: int, last: int, kept: int, lost: int
) -> None:
    for second, bits in ((last, kept), (last - 1, lost)):
        sides = difference_of_powers(how, first, apart, second)
        assert CORES[how](*sides).view(np.uint32).tolist() == [[bits]]


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
