"""The Triton fast path as `mxref verify` asks it: on a GPU, or on a CPU by Triton's interpreter.

The environment variable MX_RULE names another scale rule than `floor`.
"""

import importlib
import os
from typing import Any

import torch

DEVICE = "cuda" if torch.cuda.is_available() else "cpu"
if DEVICE == "cpu":
    os.environ["TRITON_INTERPRET"] = "1"  # which must be there before Triton is imported
mx: Any = importlib.import_module("mx_kernels")

ARRAYS = "torch"
FLOATS = ["f32", "bf16", "f16"]
RULE = os.environ.get("MX_RULE", "floor")
POLICY = f"ocp+scale_rule={RULE}+scale_layout=tiles_128x4"

encode, decode = mx.encode, mx.decode
pack, unpack = mx.pack, mx.unpack
pack_scales, unpack_scales = mx.pack_scales, mx.unpack_scales


def encode_stochastic(values: Any, random_bits: Any, random_width: int, format: str) -> Any:
    """Codes of numbers rounded by chance."""
    return mx.encode(values, format, random_bits, random_width)


def shared_scale(amax: Any, format: str) -> Any:
    """The scales of blocks of amax and zeros."""
    blocks = torch.nn.functional.pad(amax[:, None], (0, 31))
    return mx.quantize(blocks, format, RULE)[0][:, 0]


def quantize(values: Any, block_format: str) -> tuple[Any, Any]:
    """The scales and codes of blocks, one a row."""
    scales, codes = mx.quantize(values, _element(block_format), RULE)
    return scales[:, 0], codes


def dequantize(scale_codes: Any, codes: Any, block_format: str, dtype: Any) -> Any:
    """The numbers of blocks, one a row."""
    return mx.dequantize(scale_codes[:, None], codes, _element(block_format), dtype)


def _element(block_format: str) -> str:
    """The element format of a block format: e4m3 of mxfp8_e4m3, int8 of mxint8."""
    return block_format.split("_")[-1].removeprefix("mx")
