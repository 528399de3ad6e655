"""Blocks by torchao's prototype/mx_formats, of whatever torchao is loaded."""

from pathlib import Path
from typing import Any

from _peer import array, peer, tensor
from numpy.typing import NDArray

__all__ = ["FLOATS", "FOLDER", "FORMATS", "blocks", "dequantize", "kernels"]
_PIN = "torch==2.13.0 torchao"  # each adapter pins its own
torch = peer("torch", _PIN)
mx = peer("torchao.prototype.mx_formats.mx_tensor", _PIN)
kernels = peer("torchao.prototype.mx_formats.kernels", _PIN)
_MODES = peer("torchao.prototype.mx_formats.config", _PIN).ScaleCalculationMode
FOLDER = Path(str(mx.__file__)).parents[3]  # where torchao lies

_DTYPES = {
    "e4m3": torch.float8_e4m3fn,
    "e5m2": torch.float8_e5m2,
    "e2m3": mx.DTYPE_FP6_E2M3,
    "e3m2": mx.DTYPE_FP6_E3M2,
    "e2m1": torch.float4_e2m1fn_x2,
}
FORMATS = [
    "e5m2", "e4m3", "e3m2", "e2m3", "e2m1",
    "mxfp8_e5m2", "mxfp8_e4m3", "mxfp6_e3m2", "mxfp6_e2m3", "mxfp4_e2m1",
]  # fmt: skip
FLOATS = ["f32", "bf16"]


def dequantize(
    scale_codes: NDArray[Any], codes: NDArray[Any], block_format: str, dtype: Any
) -> NDArray[Any]:
    """`to_dtype`, in the type that is asked for."""
    name = block_format.split("_")[1]
    elements = kernels.pack_uint4(tensor(codes)) if name == "e2m1" else tensor(codes)
    if name in ("e4m3", "e5m2"):
        elements = elements.view(_DTYPES[name])
    scales = tensor(scale_codes).view(torch.float8_e8m0fnu)[:, None]
    target = torch.float32 if dtype == "float32" else torch.bfloat16
    return array(mx.to_dtype(elements, scales, _DTYPES[name], 32, target))


def blocks(mode: str) -> dict[str, Any]:
    """The functions, formats and float types of a scale mode: FLOOR, CEIL, EVEN or RCEIL."""

    def to_mx(values: NDArray[Any], name: str, size: int) -> tuple[NDArray[Any], Any]:
        scales, elements = mx.to_mx(tensor(values), _DTYPES[name], size, _MODES[mode])
        return array(scales), elements

    def quantize(values: NDArray[Any], block_format: str) -> tuple[NDArray[Any], NDArray[Any]]:
        name = block_format.split("_")[1]
        scales, elements = to_mx(values, name, 32)
        if name == "e2m1":
            elements = kernels.unpack_uint4(elements)
        return scales, array(elements)

    def shared_scale(amax: NDArray[Any], format: str) -> NDArray[Any]:
        # Blocks of two, since FP4 comes back packed: the second element repeats the first.
        scales, _ = to_mx(amax[:, None].repeat(2, 1), format, 2)
        return scales[:, 0]

    return {
        "FORMATS": FORMATS,
        "FLOATS": FLOATS,
        "quantize": quantize,
        "shared_scale": shared_scale,
        "dequantize": dequantize,
    }
