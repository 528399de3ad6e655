"""The Triton fast path as `mxref verify` asks it: on a GPU, or on a CPU by Triton's interpreter.

The environment variable MX_RULE names another scale rule than `floor`, MX_OVERFLOW another overflow
than `saturate`: `nonsaturating`.
"""

import importlib
import os
from typing import Any

import torch

DEVICE = "cuda" if torch.cuda.is_available() else "cpu"
if DEVICE == "cpu":
    # Which must be there before Triton is imported; with 0 whoever asks sees to launches.
    os.environ.setdefault("TRITON_INTERPRET", "1")
mx: Any = importlib.import_module("mx_kernels")

ARRAYS = "torch"
FLOATS = ["f32", "bf16", "f16"]
RULE = os.environ.get("MX_RULE", "floor")
OVERFLOW = os.environ.get("MX_OVERFLOW", "saturate")
POLICY = f"ocp+scale_rule={RULE}+overflow={OVERFLOW}+scale_layout=tiles_128x4"
#: By block format: the kernels' name of it.
BLOCKS = {
    **{f"mxfp{mx.FORMATS[name].BITS}_{name}": name for name in mx.FORMATS if name[0] == "e"},
    **{"mxint8": "int8", "nvfp4": "nvfp4", "fp4_ue4m3": "nvfp4"},
}
FORMATS = ["e8m0", *BLOCKS, *(name for name in mx.FORMATS if name != "nvfp4")]
SATURATE = OVERFLOW == "saturate"

decode = mx.decode
pack, unpack = mx.pack, mx.unpack
pack_scales, unpack_scales = mx.pack_scales, mx.unpack_scales


def encode(values: Any, format: str) -> Any:
    """Codes of numbers."""
    return mx.encode(values, format, saturate=SATURATE)


def encode_stochastic(values: Any, random_bits: Any, random_width: int, format: str) -> Any:
    """Codes of numbers rounded by chance."""
    return mx.encode(values, format, random_bits, random_width, saturate=SATURATE)


def shared_scale(amax: Any, format: str) -> Any:
    """The scales of blocks of amax and zeros."""
    blocks = torch.nn.functional.pad(amax[:, None], (0, 31))
    return mx.quantize(blocks, format, RULE)[0][:, 0]


def quantize(values: Any, block_format: str, tensor_scale: Any = None) -> tuple[Any, Any]:
    """The scales and codes of blocks, one a row; of nvfp4 under the scale of a tensor."""
    more = {"tensor_scale": tensor_scale, "saturate": SATURATE}
    scales, codes = mx.quantize(values, BLOCKS[block_format], RULE, **more)
    return scales[:, 0], codes


def dequantize(
    scale_codes: Any, codes: Any, block_format: str, dtype: Any, tensor_scale: Any = None
) -> Any:
    """The numbers of blocks, one a row."""
    name = BLOCKS[block_format]
    return mx.dequantize(scale_codes[:, None], codes, name, dtype, tensor_scale=tensor_scale)
