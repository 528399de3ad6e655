"""torchmx 0.1.0 with torchao 0.6.1, which it pins, in an environment of their own.

The mode INT8 has plain integers as elements, so that its scales are 6 lower than those of MX. It
takes only bfloat16; `MX_HARDWARE_EXACT_QUANTIZATION=True` in the environment chooses its second
implementation.
"""

from types import SimpleNamespace
from typing import Any

import numpy as np
from _peer import array, peer, tensor
from numpy.typing import NDArray

import mxref

_PIN = "torch==2.13.0 torchao==0.6.1 && pip install --no-deps torchmx==0.1.0"
torch = peer("torch", _PIN)
mx = peer("torchmx.mx_tensor", _PIN)

PROFILE = "torchmx"
POLICY = "ocp+fp4_packing=high_nibble_first"
FORMATS = ["e4m3", "e3m2", "e2m3", "e2m1", "mxfp8_e4m3", "mxfp6_e3m2", "mxfp6_e2m3", "mxfp4_e2m1"]
FLOATS = ["bf16"]
_NAMES = {"e4m3": "float8_e4m3", "e3m2": "float6_e3m2", "e2m3": "float6_e2m3",
          "e2m1": "float4_e2m1", "mxint8": "int8", "int8": "int8"}  # fmt: skip


def quantize(values: NDArray[Any], block_format: str) -> tuple[NDArray[Any], NDArray[Any]]:
    """`quantize_mx`."""
    name = block_format.split("_")[-1]
    scales, elements = mx.quantize_mx(tensor(values), _NAMES[name], 32)
    codes = array(elements).view(np.uint8)
    if name == "e2m1":
        codes = mxref.unpack(codes, name, 32, fp4_packing="high_nibble_first")
    return array(scales)[:, 0], codes


def shared_scale(amax: NDArray[Any], format: str) -> NDArray[Any]:
    """The scale of `quantize_mx` for blocks of two equal elements."""
    scales, _ = mx.quantize_mx(tensor(amax[:, None].repeat(2, 1)), _NAMES[format], 2)
    return array(scales)[:, 0]


def dequantize(
    scale_codes: NDArray[Any], codes: NDArray[Any], block_format: str, dtype: Any
) -> NDArray[Any]:
    """`dequantize_mx`."""
    name = block_format.split("_")[-1]
    if name == "e2m1":
        codes = mxref.pack(codes, name, fp4_packing="high_nibble_first")
    elements = tensor(codes.view(np.int8) if name == "mxint8" else codes)
    scales = tensor(scale_codes)[:, None]
    return array(mx.dequantize_mx(elements, scales, _NAMES[name], 32, torch.bfloat16, -1))


INT8 = SimpleNamespace(
    PROFILE="torchmx",
    POLICY="ocp",
    FORMATS=["int8", "mxint8"],
    FLOATS=FLOATS,
    quantize=quantize,
    shared_scale=shared_scale,
    dequantize=dequantize,
)
