"""Memory that belongs to others, copies, and processor modes."""

from __future__ import annotations

import copy
import ctypes
import mmap
import pickle
import sys
from typing import Any

import numpy as np
import pytest
from helpers import sentence

import mxref
from mxref import exact
from mxref.blocks.product_tables import product_table
from mxref.blocks.two_level import TensorScale, TensorScaleKind
from mxref.support.mapped import Mapped


def test_private_mappings_are_left_alone() -> None:
    private = mmap.mmap(-1, 1 << 16, flags=mmap.MAP_PRIVATE | mmap.MAP_ANONYMOUS)
    values = np.ndarray((1 << 14,), np.float32, buffer=private)
    values[:] = 3
    mapped = Mapped(values, values[::2], np.frombuffer(private, np.uint8))
    mapped.use(Mapped.STEP)
    assert (values == 3).all()


@pytest.mark.parametrize("arithmetic", ["cublas", "transformer_engine", "torchao", "exact"])
@pytest.mark.parametrize("order", [[0, 1], [1, 0], [0, 2, 2, 2, 1, 2]])
def test_a_signalling_nan_is_a_nan(arithmetic: str, order: list[int]) -> None:
    patterns = [[0xBFE0000000000000, 0x7FF41C2B1D89A73D, 0][i] for i in order]
    values = np.array(patterns, np.uint64).view(np.float64)
    got = mxref.quantize(
        values, "fp4_ue4m3", block_size=len(order), scale_arithmetic=arithmetic
    ).scale_codes.tolist()
    _, rows = exact.quantize_scaled([patterns], "f64", "e2m1", "ue4m3", arithmetic)
    assert got == [scale for scale, _ in rows]


@pytest.mark.skipif(sys.platform != "linux", reason="fesetround's numbers are those of x86 Linux")
@pytest.mark.parametrize("mode", [0x400, 0x800, 0xC00])
def test_reading_under_a_divisor_in_every_rounding_mode(mode: int) -> None:
    tensor = TensorScale(0x40400000, TensorScaleKind.DIVISOR)
    codes = np.uint8([1, 2, 3, 4, 5, 6, 7, 15] * 2)
    blocks = mxref.Blocks(codes, np.uint8([56]), "nvfp4", 0, (16,), np.dtype(np.float32), tensor)
    libm = ctypes.CDLL("libm.so.6")
    product_table.cache_clear()
    libm.fesetround(mode)
    try:
        got = blocks.dequantize(np.float64)
    finally:
        libm.fesetround(0)
        product_table.cache_clear()
    third = [0.5 / 3, 1 / 3, 1.5 / 3, 2 / 3, 1.0, 4 / 3, 2.0, -2.0]
    assert got.tolist() == third * 2


def test_out_shares_no_memory() -> None:
    values = np.linspace(-3, 3, 4096, dtype=np.float32)
    inside = values.view(np.uint8)[1024:5120]
    codes, scales = np.empty(4096, np.uint8), np.empty(128, np.uint8)
    flat = np.lib.stride_tricks.as_strided(np.empty(1, np.uint8), (4096,), (0,))
    part = mxref.quantize(values[:1024], "mxfp8_e4m3", out=(codes[:1024], scales[:32]))
    random: Any = {
        "rounding": "stochastic_a",
        "random_width": 4,
        "random_bits": np.zeros(4096, np.uint8),
    }
    drawn = random["random_bits"]

    def quantize(*out: Any, x: Any = values, **choices: Any) -> Any:
        return lambda: mxref.quantize(x, "mxfp8_e4m3", out=out, **choices)

    calls = [
        quantize(inside, scales),
        quantize(codes, codes[:128]),
        quantize(flat, scales),
        lambda: mxref.dequantize(part, out=codes.view(np.float32)),
        lambda: mxref.encode(values, "e4m3", out=drawn, **random),
        quantize(drawn, scales, **random),
    ]
    for steps in ((20000, 0), (100, 2), (1, 1)):
        rows = np.lib.stride_tricks.as_strided(np.empty(30000, np.uint8), (2, 2048), steps)
        calls.append(quantize(rows, scales.reshape(2, -1), x=values.reshape(2, -1)))
    for call in calls:
        assert sentence(ValueError, call).startswith("out must share no memory")


class _Own(np.ndarray):  # type: ignore[type-arg]
    """What a subclass may do: something else under an index."""

    def __setitem__(self, key: Any, value: Any) -> None:
        super().__setitem__(key, 0)


def test_out_is_written_as_memory_whatever_its_class() -> None:
    values = np.linspace(-3, 3, 64, dtype=np.float32)
    want = mxref.quantize(values, "mxfp8_e4m3")
    codes, scales = (np.zeros(n, np.uint8) for n in (64, 2))
    mxref.quantize(values, "mxfp8_e4m3", out=(codes.view(_Own), scales.view(_Own)))
    assert (codes == want.codes).all()
    assert (scales == want.scale_codes).all()
    mxref.encode(values, "e4m3", out=codes.view(_Own))
    assert (codes == mxref.encode(values, "e4m3")).all()


def test_copies_are_read_only() -> None:
    blocks = mxref.quantize(np.linspace(-3, 3, 64, dtype=np.float32), "nvfp4")
    for other in (copy.copy(blocks), copy.deepcopy(blocks), pickle.loads(pickle.dumps(blocks))):
        assert other == blocks
        for array in (other.codes, other.scale_codes):
            with pytest.raises(ValueError, match="read-only"):
                array[0] = 200
    with pytest.raises(ValueError, match="WRITEABLE"):
        blocks.codes.setflags(write=True)


def test_no_error_state_of_numpy_is_in_the_way() -> None:
    x = np.float32([[1.0, -2.0], [0.0, 0.0]])
    with np.errstate(all="raise"):
        a = mxref.quantize(x, "mxfp8_e4m3")
        assert mxref.matmul(a, a.T, np.float64).tolist() == [[5.0, 0.0], [0.0, 0.0]]


def test_an_empty_tensor_with_a_huge_axis() -> None:
    blocks = mxref.quantize(np.zeros((0, 10**13), np.float32), "mxfp8_e4m3")
    assert blocks.codes.shape[0] == 0
    assert blocks.dequantize().shape == (0, 10**13)
