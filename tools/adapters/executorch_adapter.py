"""ExecuTorch 1.5.1: `mx_dequantize`, the portable reference of its MX operator."""

from typing import Any

import numpy as np
from _peer import array, peer, tensor
from numpy.typing import NDArray

_PIN = "torch==2.13.0 executorch==1.5.1"
torch = peer("torch", _PIN)
mx = peer("executorch.extension.llm.export.mx", _PIN)

POLICY = "ocp"
PROFILE = "executorch"
FORMATS = ["mxfp8_e4m3", "mxfp8_e5m2"]
FLOATS = ["f32", "bf16"]
_DTYPES = {"mxfp8_e4m3": torch.float8_e4m3fn, "mxfp8_e5m2": torch.float8_e5m2}


def dequantize(
    scale_codes: NDArray[Any], codes: NDArray[Any], block_format: str, dtype: Any
) -> NDArray[Any]:
    """`mx_dequantize`."""
    elements = tensor(codes).view(_DTYPES[block_format])
    scales = tensor(scale_codes).view(torch.float8_e8m0fnu)[:, None]
    target = torch.float32 if np.dtype(dtype) == np.float32 else torch.bfloat16
    return array(mx.mx_dequantize(elements, scales, _DTYPES[block_format], 32, target))
