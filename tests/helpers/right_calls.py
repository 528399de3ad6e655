"""Operations done right by functions that are called as targets are, one for each kind of call."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np

import mxref

Array = Any


def encode_stochastic(values: Array, bits: Array, width: int, format: str) -> Array:
    drawn: Any = {"random_bits": bits, "random_width": width}
    return mxref.encode(values, format, rounding="stochastic_a", **drawn)


def tensor_scale(number: Array) -> mxref.TensorScale:
    return mxref.TensorScale(int(number.view(np.uint32)))


def quantize(values: Array, format: str, *tensor: Array) -> mxref.Blocks:
    return mxref.quantize(values, format, tensor_scale=tensor_scale(*tensor) if tensor else None)


def dequantize(scales: Array, codes: Array, format: str, dtype: Any, *tensor: Array) -> Array:
    fmt, scale = mxref.formats.block_format(format), tensor_scale(*tensor) if tensor else None
    return mxref.Blocks(codes, scales[:, None], fmt, 1, codes.shape, dtype, scale).dequantize(dtype)


def unpack(packed: Array, format: str, count: int) -> Array:
    return mxref.unpack(packed, format, count)


def unpack_scales(packed: Array, shape: tuple[int, int]) -> Array:
    assert type(shape) is tuple
    return mxref.unpack_scales(packed, shape, scale_layout="tiles_128x4")


def quantize_tensor(values: Array, format: str, axis: int) -> mxref.Blocks:
    return mxref.quantize(values, format, axis=axis)


RIGHT_CALLS: dict[str, Callable[..., Any]] = {
    "encode": mxref.encode,
    "decode": mxref.decode,
    "encode_stochastic": encode_stochastic,
    "quantize": quantize,
    "dequantize": dequantize,
    "pack": mxref.pack,
    "unpack": unpack,
    "unpack_scales": unpack_scales,
    "quantize_tensor": quantize_tensor,
}
