"""gguf 0.19.0 (llama.cpp's Python): MXFP4 as it is stored, the scale first, then nibbles in halves.

The functions work on stored blocks, which are taken apart here byte by byte.
"""

from typing import Any

import numpy as np
from _peer import peer
from numpy.typing import NDArray

gguf = peer("gguf", "gguf==0.19.0")

POLICY = (
    "ocp+rounding=ties_to_zero+zero_sign=dropped+underflow_sign=dropped+scale_rule=floor_log2_float32"
    "+scale_underflow=wrap+scale_ff=power+decoded_zero=dropped+scale_place=before+fp4_packing=halves"
)
PROFILE = "gguf_mxfp4"
FORMATS = ["mxfp4_e2m1"]
FLOATS = ["f32", "f16"]
_TYPE = gguf.GGMLQuantizationType.MXFP4


def quantize(values: NDArray[Any], block_format: str) -> tuple[NDArray[Any], NDArray[Any]]:
    """`quants.quantize`."""
    stored = gguf.quants.quantize(np.ascontiguousarray(values), _TYPE)
    return stored[:, 0], np.concatenate([stored[:, 1:] & 15, stored[:, 1:] >> 4], axis=1)


def dequantize(
    scale_codes: NDArray[Any], codes: NDArray[Any], block_format: str, dtype: Any
) -> NDArray[Any]:
    """`quants.dequantize`, which gives float32."""
    nibbles = codes[:, :16] | codes[:, 16:] << np.uint8(4)
    stored = np.concatenate([scale_codes[:, None], nibbles], axis=1)
    numbers: NDArray[Any] = gguf.quants.dequantize(stored, _TYPE)
    return numbers.astype(dtype)
