"""FBGEMM (fbgemm-gpu-cpu 1.8.0): MX4 on the CPU, in the rounding modes of its scale."""

from types import SimpleNamespace
from typing import Any

from _peer import array, in_parts, peer, tensor
from numpy.typing import NDArray

import mxref

_PIN = "torch==2.13.0 fbgemm-gpu-cpu==1.8.0"
_UTILS = peer("fbgemm_gpu.quantize_utils", _PIN)

FORMATS = ["mxfp4_e2m1"]
FLOATS = ["f32"]
_CLAIM = "ocp+rounding=ties_to_away+decoded_zero=dropped+scale_place=after"


def dequantize(
    scale_codes: NDArray[Any], codes: NDArray[Any], block_format: str, dtype: Any
) -> NDArray[Any]:
    """`mx4_to_fp32`."""
    stored = mxref.pack_blocks(scale_codes, codes.reshape(-1), block_format, scale_place="after")
    numbers = _UTILS.mx4_to_fp32(tensor(stored), 32)
    return array(numbers).reshape(codes.shape)


def _blocks(mode: str, scale_rule: str) -> dict[str, Any]:
    """`fp32_to_mx4` in a rounding mode, and `mx4_to_fp32`."""

    def batch(values: NDArray[Any]) -> tuple[NDArray[Any], NDArray[Any]]:
        mode_value = _UTILS.RoundingMode[mode]
        stored = array(_UTILS.fp32_to_mx4(tensor(values), 32, rounding_mode=mode_value))
        scales, codes = mxref.unpack_blocks(stored, "mxfp4_e2m1", scale_place="after")
        return scales, codes.reshape(values.shape)

    def quantize(values: NDArray[Any], block_format: str) -> tuple[NDArray[Any], NDArray[Any]]:
        return in_parts(batch, values)

    return {
        "POLICY": f"{_CLAIM}+scale_rule={scale_rule}",
        "FORMATS": FORMATS,
        "FLOATS": FLOATS,
        "quantize": quantize,
        "dequantize": dequantize,
    }


NEAREST = SimpleNamespace(PROFILE="fbgemm_mx4_nearest", **_blocks("nearest", "nearest_log2_power"))
FLOOR = SimpleNamespace(PROFILE="fbgemm_mx4_floor", **_blocks("floor", "floor_log2_float32"))
EVEN = SimpleNamespace(PROFILE="fbgemm_mx4_even", **_blocks("even", "even"))
CEIL = SimpleNamespace(PROFILE="fbgemm_mx4_ceil", **_blocks("ceil", "ceil"))
