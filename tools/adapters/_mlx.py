"""MLX on the CPU (mlx and mlx-cpu): blocks and casts to E4M3, of whatever version is installed."""

from importlib import metadata
from typing import Any

import ml_dtypes
import numpy as np
from _peer import peer
from numpy.typing import NDArray

import mxref

__all__ = ["FP4", "FP8", "of_version"]
mx = peer("mlx.core", "mlx==0.32.4 mlx-cpu==0.32.4")

_FLOATS = ["f32", "bf16", "f16"]
_MODES = {"mxfp8_e4m3": "mxfp8", "mxfp4_e2m1": "mxfp4"}
_DTYPES = {"float32": mx.float32, "bfloat16": mx.bfloat16, "float16": mx.float16}


def of_version(requirement: str) -> None:
    """Refuse another version than the one that an adapter is about.

    Args:
        requirement: the pins, that of mlx first.

    Raises:
        ImportError: another version is installed.
    """
    version, wanted = metadata.version("mlx"), requirement.split()[0].partition("==")[2]
    if version != wanted:
        raise ImportError(f"mlx must be {wanted}, got {version}: pip install {requirement}")


def _in(values: NDArray[Any]) -> Any:
    if values.dtype == ml_dtypes.bfloat16:
        return mx.view(mx.array(values.view(np.uint16)), mx.bfloat16)
    return mx.array(values)


def _out(result: Any) -> NDArray[Any]:
    if result.dtype == mx.bfloat16:
        return np.array(mx.view(result, mx.uint16)).view(ml_dtypes.bfloat16)
    return np.array(result)


def encode(values: NDArray[Any], format: str) -> NDArray[Any]:
    """`to_fp8`."""
    return _out(mx.to_fp8(_in(values)))


def decode(codes: NDArray[Any], format: str) -> NDArray[Any]:
    """`from_fp8`."""
    return _out(mx.from_fp8(mx.array(codes), mx.float32))


def quantize(values: NDArray[Any], block_format: str) -> tuple[NDArray[Any], NDArray[Any]]:
    """`quantize`, whose words of 32 bits hold the elements from the low end on."""
    words, scales = mx.quantize(_in(values), mode=_MODES[block_format])
    packed = np.array(words).view(np.uint8)
    return _out(scales)[:, 0], mxref.unpack(packed, block_format.split("_")[1], 32)


def dequantize(
    scale_codes: NDArray[Any], codes: NDArray[Any], block_format: str, dtype: Any
) -> NDArray[Any]:
    """`dequantize`."""
    words = mx.array(mxref.pack(codes, block_format.split("_")[1]).view(np.uint32))
    scales = mx.array(scale_codes[:, None])
    mode, target = _MODES[block_format], _DTYPES[np.dtype(dtype).name]
    return _out(mx.dequantize(words, scales, mode=mode, dtype=target))


#: The functions and claims of both formats, but for the profile and the policy.
FP4 = {
    "FORMATS": ["mxfp4_e2m1"], "FLOATS": _FLOATS, "quantize": quantize, "dequantize": dequantize
}  # fmt: skip
FP8 = {**FP4, "FORMATS": ["e4m3", "mxfp8_e4m3"], "encode": encode, "decode": decode}
