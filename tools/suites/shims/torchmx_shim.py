"""torchmx: blocks, casts with truncation or ties to even, and packed FP4."""

from __future__ import annotations

import dataclasses
from typing import Any

import numpy as np
import torch
from _peer import array, tensor

import mxref
from suites.asked import mx, replace

__all__ = ["replace_all"]

BLOCKS = {"float8_e4m3": "mxfp8_e4m3", "float6_e3m2": "mxfp6_e3m2", "float6_e2m3": "mxfp6_e2m3",
          "float4_e2m1": "mxfp4_e2m1", "int8": "mxint8"}  # fmt: skip
PROFILE = mx.profile("torchmx")


def block_format(name: str, size: int) -> Any:
    """The format of mxref with blocks of another size."""
    return dataclasses.replace(mxref.formats.block_format(BLOCKS[name]), block_size=size)


def quantize_mx(x: Any, name: str, block_size: int) -> Any:
    """Blocks along the last axis; FP4 is packed."""
    blocks = PROFILE.quantize(array(x), block_format(name, block_size))
    codes = tensor(blocks.codes).view(torch.int8 if name == "int8" else torch.uint8)
    return tensor(blocks.scale_codes), pack_uint4(codes) if name == "float4_e2m1" else codes


def dequantize_mx(data: Any, scales: Any, name: str, size: int, dtype: Any, axis: int) -> Any:
    """The numbers of blocks along an axis."""
    codes = array(unpack_uint4(data, axis) if name == "float4_e2m1" else data).view(np.uint8)
    moved = np.ascontiguousarray(np.moveaxis(codes, axis, -1))
    held = np.ascontiguousarray(np.moveaxis(array(scales), axis, -1))
    held = held.reshape(*moved.shape[:-1], moved.shape[-1] // size)
    blocks = mxref.Blocks(moved, held, block_format(name, size), moved.ndim - 1, moved.shape)
    numbers = PROFILE.dequantize(blocks, array(torch.empty(0, dtype=dtype)).dtype)
    return tensor(np.ascontiguousarray(np.moveaxis(numbers, -1, axis)))


def pack_uint4(x: Any, packing_dim: int = -1) -> Any:
    """Two codes in a byte, the first one high."""
    moved = np.ascontiguousarray(np.moveaxis(array(x), packing_dim, -1))
    packed = mx.pack(moved, "e2m1", fp4_packing="high_nibble_first")
    return tensor(np.moveaxis(packed, -1, packing_dim))


def unpack_uint4(x: Any, packing_dim: int = -1) -> Any:
    """The codes of packed FP4."""
    moved = np.ascontiguousarray(np.moveaxis(array(x), packing_dim, -1))
    choice = {"fp4_packing": "high_nibble_first"}
    codes = mx.unpack(moved, "e2m1", 2 * moved.shape[-1], **choice)
    return tensor(np.moveaxis(codes, -1, packing_dim))


def hp_to_floatx(
    x: Any, exponent_bits: int, mantissa_bits: int, max_normal: float,
    round_mode: str = "round_to_even", keep_subnormals: bool = True,
) -> Any:  # fmt: skip
    """Numbers of E4M3, infinities kept; torchmx's own for wider formats."""
    if (exponent_bits, mantissa_bits, max_normal, keep_subnormals) != (4, 3, 448.0, True):
        return OLD["hp_to_floatx"](
            x, exponent_bits, mantissa_bits, max_normal, round_mode, keep_subnormals
        )
    values = array(x)
    rounding = {"round_to_even": "ties_to_even", "truncate": "toward_zero"}[round_mode]
    numbers = mx.decode(mx.encode(values, "e4m3", rounding=rounding), "e4m3", values.dtype)
    return tensor(np.where(np.isinf(values), values, numbers))


OLD: dict[str, Any] = {}


def replace_all() -> None:
    """Put mxref into torchmx."""
    OLD.update(replace("torchmx.custom_float_cast", hp_to_floatx=hp_to_floatx))
    replace("torchmx.utils", pack_uint4=pack_uint4, unpack_uint4=unpack_uint4)
    replace("torchmx.mx_tensor", quantize_mx=quantize_mx, dequantize_mx=dequantize_mx)
