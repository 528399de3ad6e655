"""Intel neural-compressor 3.10: its mx_quant is microxcaling's PyTorch path.

It gives numbers on the grid, no codes. `neural_compressor_nearest.py` and
`neural_compressor_even.py` round ties away from zero, and to even.
"""

from collections.abc import Callable
from typing import Any

import numpy as np
from _peer import array, peer, tensor
from _values import block_codes, element_codes, scale_codes
from numpy.typing import NDArray

_PIN = "torch==2.13.0 prettytable && pip install --no-deps neural-compressor==3.10"
torch = peer("torch", _PIN)
utils = peer("neural_compressor.torch.algorithms.mx_quant.utils", _PIN)

FORMATS = [
    "e5m2", "e4m3", "e3m2", "e2m3", "e2m1", "int8",
    "mxfp8_e5m2", "mxfp8_e4m3", "mxfp6_e3m2", "mxfp6_e2m3", "mxfp4_e2m1", "mxint8",
]  # fmt: skip
FLOATS = ["f32", "bf16"]
_NAMES = {"e5m2": "fp8_e5m2", "e4m3": "fp8_e4m3", "e3m2": "fp6_e3m2", "e2m3": "fp6_e2m3",
          "e2m1": "fp4", "int8": "int8"}  # fmt: skip


def functions(round: str) -> tuple[Callable[..., Any], Callable[..., Any]]:
    """`quantize` and `encode` in a rounding mode."""

    def quantize(values: NDArray[Any], block_format: str) -> tuple[NDArray[Any], NDArray[Any]]:
        name, x = block_format.split("_")[-1].removeprefix("mx"), tensor(values)
        numbers = utils._quantize_mx(x, 8, _NAMES[name], axes=[-1], block_size=32, round=round)
        scales = _scales(x, name)
        elements = array(numbers).astype(np.float64) / scales
        return block_codes(scales[:, 0], elements, name)

    def encode(values: NDArray[Any], format: str) -> NDArray[Any]:
        ebits, mbits, _, largest, _ = utils._get_format_params(_NAMES[format])
        x = tensor(values)
        numbers = utils._quantize_elemwise_core(
            x, mbits, ebits, largest, round=round, saturate_normals=True
        )
        return element_codes(array(numbers), format)

    return quantize, encode


def shared_scale(amax: NDArray[Any], format: str) -> NDArray[Any]:
    """`_shared_exponents`."""
    return scale_codes(_scales(tensor(amax[:, None]), format)[:, 0])


def _scales(x: Any, name: str) -> NDArray[Any]:
    """Scales as `_quantize_mx` finds them, which it does not give."""
    exponents = utils._shared_exponents(x, axes=[-1]) - utils._get_format_params(_NAMES[name])[2]
    exponents[exponents > 127] = float("NaN")
    exponents[exponents < -127] = -127
    return np.exp2(array(exponents).astype(np.float64))
