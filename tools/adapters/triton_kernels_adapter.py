"""triton_kernels as vLLM 0.33.0 carries it: the references in torch.

PyPI's `triton-kernels` is another project. The kernels themselves do not run in the interpreter of
Triton 3.9, which cannot take % of a global constexpr.
"""

from types import SimpleNamespace
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


def dequantize(
    scale_codes: NDArray[Any], codes: NDArray[Any], block_format: str, dtype: Any
) -> NDArray[Any]:
    """`upcast_from_mxfp_torch`."""
    packed = mxref.pack(codes, "e2m1") if block_format == "mxfp4_e2m1" else codes
    elements = tensor(packed).view(_DTYPES[block_format])
    target = getattr(torch, np.dtype(dtype).name)
    return array(mxfp.upcast_from_mxfp_torch(elements, tensor(scale_codes)[:, None], target, -1))


def _blocks(mode: str) -> dict[str, Any]:
    """`downcast_to_mxfp_torch` in a rounding mode of the scale, and `upcast_from_mxfp_torch`."""

    def quantize(values: NDArray[Any], block_format: str) -> tuple[NDArray[Any], NDArray[Any]]:
        rounding = mxfp.DequantScaleRoundingMode[mode]
        dtype = _DTYPES[block_format]
        elements, scales = mxfp.downcast_to_mxfp_torch(tensor(values), dtype, -1, rounding)
        codes = array(elements)
        if block_format == "mxfp4_e2m1":
            codes = mxref.unpack(codes, "e2m1", 32)
        return array(scales)[:, 0], codes

    return {"FLOATS": FLOATS, "quantize": quantize, "dequantize": dequantize}


_FP4, _FP8 = ["mxfp4_e2m1"], ["mxfp8_e5m2", "mxfp8_e4m3"]
_AWAY, _SCALES = "+rounding=ties_to_away", "+scale_underflow=flush+scale_00=zero+scale_ff=inf"

UP_FP4 = SimpleNamespace(
    PROFILE="triton_kernels_up",
    POLICY=f"ocp{_AWAY}+scale_rule=rceil{_SCALES}",
    FORMATS=_FP4,
    **_blocks("ROUND_UP"),
)
UP_FP8 = SimpleNamespace(
    PROFILE="triton_kernels_up",
    POLICY=f"ocp+scale_rule=rceil{_SCALES}",
    FORMATS=_FP8,
    **_blocks("ROUND_UP"),
)
DOWN_FP4 = SimpleNamespace(
    PROFILE="triton_kernels_down",
    POLICY=f"ocp{_AWAY}{_SCALES}",
    FORMATS=_FP4,
    **_blocks("ROUND_DOWN"),
)
DOWN_FP8 = SimpleNamespace(
    PROFILE="triton_kernels_down", POLICY=f"ocp{_SCALES}", FORMATS=_FP8, **_blocks("ROUND_DOWN")
)
