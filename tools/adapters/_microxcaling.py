"""Blocks by microxcaling's PyTorch path, whose numbers on the grid become codes here.

`_quantize_mx` multiplies the elements by the scale again. That loses what the type of the values
does not hold: a block of FLT_MAX becomes Inf, and tiny elements of bfloat16 vanish. So the elements
are taken where they come out of `_quantize_elemwise_core`, and the scale from `_shared_exponents`.
"""

from types import ModuleType
from typing import Any
from unittest.mock import patch

import numpy as np
from _peer import array, tensor
from _values import block_codes, scale_codes
from numpy.typing import NDArray

__all__ = ["blocks"]
_FORMATS = [
    "e5m2", "e4m3", "e3m2", "e2m3", "e2m1", "int8",
    "mxfp8_e5m2", "mxfp8_e4m3", "mxfp6_e3m2", "mxfp6_e2m3", "mxfp4_e2m1", "mxint8",
]  # fmt: skip
_FLOATS = ["f32", "bf16"]
_NAMES = {"e5m2": "fp8_e5m2", "e4m3": "fp8_e4m3", "e3m2": "fp6_e3m2", "e2m3": "fp6_e2m3",
          "e2m1": "fp4", "int8": "int8"}  # fmt: skip
_ROUNDINGS = {"nearest": "+rounding=ties_to_away", "even": "", "floor": "+rounding=toward_zero"}
_REST = "+zero_sign=dropped+scale_rule=floor_log2_float32+scale_overflow=nan"


def blocks(mx: ModuleType, round: str) -> dict[str, Any]:
    """The functions and claims of a rounding mode, but for the profile.

    Args:
        mx: the module with `_quantize_mx`, and what that calls.
        round: "nearest", "even" or "floor".
    """

    def quantize(values: NDArray[Any], block_format: str) -> tuple[NDArray[Any], NDArray[Any]]:
        name, x, kept = block_format.split("_")[-1].removeprefix("mx"), tensor(values), []
        core = mx._quantize_elemwise_core

        def keep(*args: Any, **kwargs: Any) -> Any:
            kept.append(core(*args, **kwargs))
            return kept[-1].clone()

        with patch.object(mx, "_quantize_elemwise_core", keep):
            mx._quantize_mx(x, 8, _NAMES[name], axes=[-1], block_size=32, round=round)
        elements = array(kept[0].reshape(x.shape)).astype(np.float64)
        return block_codes(_scales(x, name)[:, 0], elements, name)

    def shared_scale(amax: NDArray[Any], format: str) -> NDArray[Any]:
        return scale_codes(_scales(tensor(amax[:, None]), format)[:, 0])

    def _scales(x: Any, name: str) -> NDArray[Any]:
        """Scales as `_quantize_mx` finds them, which it does not give."""
        exponents = mx._shared_exponents(x, axes=[-1]) - mx._get_format_params(_NAMES[name])[2]
        exponents[exponents > 127] = float("NaN")
        exponents[exponents < -127] = -127
        return np.exp2(array(exponents).astype(np.float64))

    return {
        "POLICY": f"ocp{_ROUNDINGS[round]}{_REST}",
        "FORMATS": _FORMATS,
        "FLOATS": _FLOATS,
        "quantize": quantize,
        "shared_scale": shared_scale,
    }
