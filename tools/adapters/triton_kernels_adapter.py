"""triton_kernels as vLLM 0.33.0 carries it: the references in torch.

PyPI's `triton-kernels` is another project. The kernels themselves do not run in the interpreter of
Triton 3.9, which cannot take % of a global constexpr.
"""

from collections.abc import Callable
from typing import Any

import numpy as np
from _peer import array, peer, tensor
from numpy.typing import NDArray

import mxref

_PIN = (
    "torch==2.13.0 triton==3.9.0 && pip download --no-deps vllm==0.33.0, "
    "whose vllm/third_party/triton_kernels is to lie in site-packages"
)
torch = peer("torch", _PIN)
mxfp = peer("triton_kernels.numerics_details.mxfp", _PIN)

FLOATS = ["f32", "bf16", "f16"]
_DTYPES = {
    "mxfp8_e5m2": torch.float8_e5m2, "mxfp8_e4m3": torch.float8_e4m3fn, "mxfp4_e2m1": torch.uint8,
}  # fmt: skip


def quantizer(mode: str) -> Callable[..., Any]:
    """`downcast_to_mxfp_torch` in a rounding mode of the scale."""

    def quantize(values: NDArray[Any], block_format: str) -> tuple[NDArray[Any], NDArray[Any]]:
        rounding = mxfp.DequantScaleRoundingMode[mode]
        dtype = _DTYPES[block_format]
        elements, scales = mxfp.downcast_to_mxfp_torch(tensor(values), dtype, -1, rounding)
        codes = array(elements)
        if block_format == "mxfp4_e2m1":
            codes = mxref.unpack(codes, "e2m1", 32)
        return array(scales)[:, 0], codes

    return quantize


def dequantize(
    scale_codes: NDArray[Any], codes: NDArray[Any], block_format: str, dtype: Any
) -> NDArray[Any]:
    """`upcast_from_mxfp_torch`."""
    packed = mxref.pack(codes, "e2m1") if block_format == "mxfp4_e2m1" else codes
    elements = tensor(packed).view(_DTYPES[block_format])
    target = getattr(torch, np.dtype(dtype).name)
    return array(mxfp.upcast_from_mxfp_torch(elements, tensor(scale_codes)[:, None], target, -1))
