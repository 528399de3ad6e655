"""torchao: blocks in its four scale modes, NVFP4, casts to FP4 and FP6, packing and tiles."""

from __future__ import annotations

import dataclasses
from typing import Any

import torch
import torchao.prototype.mx_formats.mx_tensor as torchao_mx
from _peer import array, tensor

import mxref
from suites.asked import mx, replace

__all__ = ["replace_all"]

NAMES = {
    torch.float8_e4m3fn: "mxfp8_e4m3", torch.float8_e5m2: "mxfp8_e5m2",
    torch.float4_e2m1fn_x2: "mxfp4_e2m1", torchao_mx.DTYPE_FP6_E2M3: "mxfp6_e2m3",
    torchao_mx.DTYPE_FP6_E3M2: "mxfp6_e3m2",
}  # fmt: skip
HOME = "torchao.prototype.mx_formats"


def block_format(elem_dtype: Any, size: int) -> Any:
    """The format of mxref with blocks of another size."""
    return dataclasses.replace(mxref.formats.block_format(NAMES[elem_dtype]), block_size=size)


def to_mx(
    x: Any,
    elem_dtype: Any,
    block_size: int,
    scaling_mode: Any = None,
    is_swizzled_scales: bool = False,
) -> Any:
    """Blocks along the last axis."""
    mode = (scaling_mode or torchao_mx.ScaleCalculationMode.FLOOR).name.lower()
    blocks = mx.profile(f"torchao_main_{mode}").quantize(
        array(x), block_format(elem_dtype, block_size)
    )
    scales, codes = tensor(blocks.scale_codes), tensor(blocks.codes)
    if elem_dtype is torch.float4_e2m1fn_x2:
        codes = pack_uint4(codes)
    elif isinstance(elem_dtype, torch.dtype):
        codes = codes.view(elem_dtype)
    if is_swizzled_scales:
        *leading, rows, columns = x.shape
        shape = torchao_mx.hp_data_dims_to_swizzled_scale_dims_mx(rows, columns)
        scales = to_blocked(scales.reshape(-1, scales.shape[-1])).view(*leading, *shape)
    return scales.view(torch.float8_e8m0fnu), codes


def to_dtype(data: Any, scales: Any, elem_dtype: Any, block_size: int, target_dtype: Any) -> Any:
    """The numbers of blocks; of transposed ones transposed."""
    if not data.is_contiguous():
        return to_dtype(data.t(), scales.t(), elem_dtype, block_size, target_dtype).t()
    codes = array(unpack_uint4(data) if elem_dtype is torch.float4_e2m1fn_x2 else data)
    fmt = block_format(elem_dtype, block_size)
    held = array(scales.contiguous()).reshape(*codes.shape[:-1], codes.shape[-1] // block_size)
    blocks = mxref.Blocks(codes, held, fmt, codes.ndim - 1, codes.shape)
    return tensor(mx.dequantize(blocks, array(torch.empty(0, dtype=target_dtype)).dtype))


def nvfp4_quantize(x: Any, block_size: int = 16, per_tensor_scale: Any = None) -> Any:
    """NVFP4 with one scale for the tensor or none; torchao's own for one each expert."""
    if per_tensor_scale is not None and per_tensor_scale.numel() > 1:
        return OLD["nvfp4_quantize"](x, block_size, per_tensor_scale)
    name = "fp4_ue4m3" if per_tensor_scale is None else "nvfp4"
    scale = None if per_tensor_scale is None else array(per_tensor_scale.reshape(())).item()
    given = {} if scale is None else {"tensor_scale": scale}
    blocks = mx.quantize(array(x), name, block_size=16, scale_arithmetic="torchao", **given)
    scales = tensor(blocks.scale_codes.reshape(x.shape[0], -1)).view(torch.float8_e4m3fn)
    return scales, pack_uint4(tensor(blocks.codes))


def pack_uint4(x: Any) -> Any:
    """Two codes in a byte."""
    return tensor(mx.pack(array(x.contiguous()), "e2m1"))


def unpack_uint4(x: Any) -> Any:
    """The codes of packed FP4."""
    return tensor(mx.unpack(array(x), "e2m1", 2 * x.shape[-1]))


def to_blocked(x: Any, use_triton_kernel: bool = False) -> Any:
    """Scales in tiles of 128 x 4."""
    bytes_ = x.view(torch.uint8) if x.dtype.itemsize == 1 else None
    if bytes_ is None:
        return OLD["to_blocked"](x, use_triton_kernel)
    return tensor(mx.pack_scales(array(bytes_), scale_layout="tiles_128x4")).view(x.dtype)


def from_blocked(x: Any, rows: int, columns: int) -> Any:
    """Scales from tiles of 128 x 4."""
    if x.dtype.itemsize > 1:
        return OLD["from_blocked"](x, rows, columns)
    packed = array(x.reshape(-1).view(torch.uint8))
    return tensor(mx.unpack_scales(packed, (rows, columns), scale_layout="tiles_128x4")).view(
        x.dtype
    )


def f32_to_e8m0_rceil(x: Any) -> Any:
    """E8M0 codes, rounded up."""
    return tensor(mx.encode_scale(array(x), scale_rounding="toward_positive", scale_overflow="nan"))


def casts() -> dict[str, Any]:
    """Casts between float32 and codes in bytes."""
    functions: dict[str, Any] = {}
    for ours, theirs in (("e2m1", "f4"), ("e2m3", "f6_e2m3"), ("e3m2", "f6_e3m2")):
        functions[f"f32_to_{theirs}_unpacked"] = lambda x, f=ours: tensor(mx.encode(array(x), f))
        functions[f"{theirs}_unpacked_to_f32"] = lambda x, f=ours: tensor(mx.decode(array(x), f))
    return functions


OLD: dict[str, Any] = {}


def replace_all() -> None:
    """Put mxref into torchao."""
    tiles = {"to_blocked": to_blocked, "from_blocked": from_blocked}
    packing = {"pack_uint4": pack_uint4, "unpack_uint4": unpack_uint4}
    blocks = {"to_mx": to_mx, "to_dtype": to_dtype, "_f32_to_e8m0_rceil": f32_to_e8m0_rceil}
    OLD.update(replace(f"{HOME}.nvfp4_tensor", nvfp4_quantize=nvfp4_quantize))
    OLD.update(replace(f"{HOME}.utils", **tiles))
    replace(f"{HOME}.kernels", **packing, **casts())
    replace(f"{HOME}.mx_tensor", **blocks)
