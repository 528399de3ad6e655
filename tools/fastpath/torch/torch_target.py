"""The operators of PyTorch as `mxref verify` asks them: on a GPU, or on a CPU.

The environment variable MX_RULE names another scale rule than `floor`.
"""

import os
import sys
from pathlib import Path
from typing import Any

import torch

sys.path.insert(0, str(Path(__file__).resolve().parent))
import mx_torch

DEVICE = "cuda" if torch.cuda.is_available() else "cpu"
ARRAYS = "torch"
FLOATS = ["f32", "bf16", "f16"]
RULE = os.environ.get("MX_RULE", "floor")
POLICY = f"ocp+scale_rule={RULE}"
FORMATS = [*mx_torch.FORMATS]


def quantize(values: Any, block_format: str, tensor_scale: Any = None) -> tuple[Any, Any]:
    """The scales and codes of blocks, one a row; of nvfp4 under the scale of a tensor."""
    unit = None if tensor_scale is None else torch.tensor(float(tensor_scale))
    scales, codes = torch.ops.mx.quantize(values, block_format, RULE, unit)
    return scales[:, 0], codes


def dequantize(
    scale_codes: Any, codes: Any, block_format: str, dtype: Any, tensor_scale: Any = None
) -> Any:
    """The numbers of blocks, one a row."""
    unit = None if tensor_scale is None else torch.tensor(float(tensor_scale))
    return torch.ops.mx.dequantize(scale_codes[:, None], codes, block_format, dtype, unit)
