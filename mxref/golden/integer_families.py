"""Inputs of the exhaustive families of integer operations: every code, midpoint and zero point."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from functools import partial
from typing import Any

import numpy as np
from numpy.typing import NDArray

from mxref.bits.float32 import fl
from mxref.integer.rescaling import multiplier_shift

__all__ = ["integer_chunks"]

Words = NDArray[Any]
Chunks = Callable[[], Iterator[Words]]
#: Values of a case about 16 bits.
_SIZE = 1024
#: The float32 patterns of 1, 0.013 and 1/32767.
_ONE, _C013, _SNORM16 = 0x3F800000, 0x3C54FDF4, 0x38000100


def integer_chunks() -> Iterator[tuple[str, str, Sequence[str], str, Chunks]]:
    """Operation, format, policies, a description of the inputs, and what yields their words."""
    codes = "every code under every zero point, scale 0.013"
    for format in ("int8", "uint8"):
        yield "dequantize_affine", format, ("default",), codes, partial(_zero_points, format)
    about = "every code under scales 1/32767 and 0.013, zero points 0 and -7"
    yield "dequantize_affine", "int16", ("default",), about, _codes_of_16_bits
    policies: Sequence[str] = ("nan=zero", "scaling=divide+nan=zero", "zero_point=before+nan=zero")
    about = "every midpoint under every zero point, scales 1 and 0.013"
    for format in ("int8", "uint8"):
        yield "quantize_affine", format, policies, about, partial(_midpoints, format)
    about = "every midpoint and both neighbours under scales 1/32767 and 0.013"
    yield "quantize_affine", "int16", policies[:2], about, _midpoints_of_16_bits
    policies = ("default", "rounding=double")
    about = "every code times 1/3 under every zero point of the input"
    yield "rescale", "int8-int8", policies, about, _rescaled_zero_points
    yield "rescale", "int16-int8", policies, "every code times 1/3 and 1/300", _rescaled


def _range(format: str) -> tuple[int, int]:
    info = np.iinfo(format)
    return int(info.min), int(info.max)


def _cases(first: Sequence[int], values: NDArray[np.int64], size: int = _SIZE) -> Words:
    """Cases of `size` values with the same first words; the last value fills up the last case."""
    count = -(-values.size // size)
    rows = np.pad(values, (0, count * size - values.size), mode="edge").reshape(count, size)
    beside = np.broadcast_to(np.array(first, np.int64), (count, len(first)))
    found: Words = (np.concatenate([beside, rows], axis=1) & 0xFFFFFFFF).astype(np.uint32)
    return found


def _zero_points(format: str) -> Iterator[Words]:
    low, high = _range(format)
    codes = np.arange(low, high + 1)
    for zero in codes.tolist():
        yield _cases((low, high, _C013, zero), codes, 256)


def _codes_of_16_bits() -> Iterator[Words]:
    low, high = _range("int16")
    for scale, zero in ((_SNORM16, 0), (_C013, 0), (_C013, -7)):
        yield _cases((low, high, scale, zero), np.arange(low, high + 1))


def _middles(low: int, high: int, scale: int) -> NDArray[np.int64]:
    """The float32 patterns nearest to the midpoints from half a code below to half one above."""
    step = float(np.uint32(scale).view(np.float32))
    middles = (np.arange(low - 1, high + 1) + 0.5).astype(np.float64) * np.float64(step)
    return fl(np.asarray(middles, np.float64)).astype(np.float32).view(np.uint32).astype(np.int64)


def _midpoints(format: str) -> Iterator[Words]:
    low, high = _range(format)
    for zero in range(low, high + 1):
        for scale in (_ONE, _C013):
            middles = _middles(low - zero, high - zero, scale)
            yield _cases((low, high, scale, zero), middles, middles.size)


def _midpoints_of_16_bits() -> Iterator[Words]:
    low, high = _range("int16")
    for scale in (_SNORM16, _C013):
        middles = _middles(low, high, scale)
        near = (middles[:, np.newaxis] + np.array([-1, 0, 1])).reshape(-1)
        yield _cases((low, high, scale, 0), near)


def _ratio(ratio: float) -> tuple[int, int, int]:
    m, s = multiplier_shift(ratio)
    return 1, int(m), int(s)


def _rescaled_zero_points() -> Iterator[Words]:
    codes = np.arange(-128, 128)
    for zero in codes.tolist():
        yield _cases((zero, 3, *_ratio(1 / 3)), codes, 256)


def _rescaled() -> Iterator[Words]:
    for ratio in (1 / 3, 1 / 300):
        yield _cases((0, -5, *_ratio(ratio)), np.arange(-32768, 32768))
