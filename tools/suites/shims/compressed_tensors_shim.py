"""compressed-tensors: casts to small floats, packed FP4 and FP6, and the scales of MX."""

from __future__ import annotations

from typing import Any

import torch
from _peer import array as _array
from _peer import tensor

from suites.asked import mx, replace

__all__ = ["replace_all"]

FP8 = {torch.float8_e4m3fn: "e4m3", torch.float8_e5m2: "e5m2"}
MX_ELEMENTS = {4: "e2m1", 6: "e2m3", 8: "e4m3"}
PROFILE = mx.profile("compressed_tensors")


def array(x: Any) -> Any:
    """The array of a tensor, or of a parameter."""
    return _array(x.detach().contiguous())


def cast(x: Any, format: str, **choices: Any) -> Any:
    """Numbers of a format, in the type of the values."""
    values = array(x)
    return tensor(mx.decode(mx.encode(values, format, **choices), format, values.dtype))


def cast_to_fp4(x: Any) -> Any:
    """E2M1; a zero loses its sign."""
    return cast(x, "e2m1", zero_sign="dropped")


def cast_to_fp6(x: Any) -> Any:
    """E2M3."""
    return cast(x, "e2m3")


def pack_fp4_to_uint8(x: Any) -> Any:
    """Two codes in a byte; rows of an odd length are an error."""
    if x.shape[-1] % 2:
        raise ValueError("tensor must have an even number of columns for nvfp4 compression")
    return tensor(mx.pack(mx.encode(array(x), "e2m1"), "e2m1"))


def pack_fp6_to_uint8(x: Any) -> Any:
    """Four codes in three bytes."""
    return tensor(mx.pack(mx.encode(array(x), "e2m3"), "e2m3"))


def _unpack(packed: Any, n: int, format: str, dtype: Any) -> Any:
    codes = mx.unpack(array(packed), format, n)
    return tensor(mx.decode(codes, format)).to(dtype)  # every number of FP4 and FP6 is one of it


def unpack_fp4_from_uint8(a: Any, _m: int, n: int, dtype: Any = torch.bfloat16) -> Any:
    """The numbers of packed E2M1."""
    return _unpack(a, n, "e2m1", dtype)


def unpack_fp6_from_uint8(a: Any, _m: int, n: int, dtype: Any = torch.bfloat16) -> Any:
    """The numbers of packed E2M3."""
    return _unpack(a, n, "e2m3", dtype)


def generate_mx_scales(x: Any, num_bits: int = 4) -> Any:
    """E8M0 codes, as numbers; the doubles of the tests are float32 numbers."""
    amax = x.float() if x.dtype is torch.float64 else x
    return tensor(PROFILE.shared_scale(array(amax), MX_ELEMENTS[num_bits])).to(x.dtype)


def replace_all() -> None:
    """Put mxref into compressed-tensors."""
    package = "compressed_tensors"
    replace(f"{package}.quantization.utils.fp4_utils", cast_to_fp4=cast_to_fp4)
    replace(f"{package}.quantization.utils.fp6_utils", cast_to_fp6=cast_to_fp6)
    replace(f"{package}.quantization.utils.mxfp_utils", generate_mx_scales=generate_mx_scales)
    replace(
        f"{package}.compressors.nvfp4.helpers",
        pack_fp4_to_uint8=pack_fp4_to_uint8, unpack_fp4_from_uint8=unpack_fp4_from_uint8,
    )  # fmt: skip
    replace(
        f"{package}.compressors.mxfp6.helpers",
        pack_fp6_to_uint8=pack_fp6_to_uint8, unpack_fp6_from_uint8=unpack_fp6_from_uint8,
    )  # fmt: skip

    def round_to_quantized_type_dtype(
        x: Any, dtype: Any, cast_to_original_dtype: bool = True
    ) -> Any:
        if dtype not in FP8:
            return old["round_to_quantized_type_dtype"](x, dtype, cast_to_original_dtype)
        codes = tensor(mx.encode(array(x), FP8[dtype])).view(dtype)
        return codes.to(x.dtype) if cast_to_original_dtype else codes

    functions = {"round_to_quantized_type_dtype": round_to_quantized_type_dtype}
    old = replace(f"{package}.quantization.quant_args", **functions)
