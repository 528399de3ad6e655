"""torch's scaled matrix product of MX operands as a target of `mxref verify`, on a GPU.

It needs a GPU that multiplies block-scaled operands (compute capability 10.0 or later). Scales go
in as tiles of 128 x 4, which is what cuBLAS reads.
"""

from typing import Any

import torch

import mxref

ARRAYS, DEVICE = "torch", "cuda"
FORMATS = ["mxfp8_e4m3", "mxfp8_e5m2", "mxfp4_e2m1"]
FLOATS = ["f32", "bf16"]
MULTIPLES = (128, 128, 128)
_TYPES = {"mxfp8_e4m3": torch.float8_e4m3fn, "mxfp8_e5m2": torch.float8_e5m2}
if not torch.cuda.is_available() or torch.cuda.get_device_capability() < (10, 0):
    raise RuntimeError("there is no GPU here that multiplies block-scaled operands (sm_100)")


def _codes(codes: Any, name: str) -> Any:
    if name in _TYPES:
        return codes.view(_TYPES[name])
    pairs = codes.view(len(codes), -1, 2)
    return (pairs[..., 0] | pairs[..., 1] << 4).view(torch.float4_e2m1fn_x2)


def _scales(scales: Any) -> Any:
    tiles = mxref.pack_scales(scales.cpu().numpy(), scale_layout="tiles_128x4")
    return torch.from_numpy(tiles).to(DEVICE).view(torch.float8_e8m0fnu)


def matmul(
    scales_a: Any, codes_a: Any, scales_b: Any, codes_b: Any,
    format_a: str, format_b: str, dtype: Any,
) -> Any:  # fmt: skip
    """The product (m, n) by `torch._scaled_mm`."""
    a, b = _codes(codes_a, format_a), _codes(codes_b, format_b)
    return torch._scaled_mm(a, b.t(), _scales(scales_a), _scales(scales_b), out_dtype=dtype)
