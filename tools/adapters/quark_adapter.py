"""AMD Quark 0.13: scales of its MX observer as E8M0 bytes, FP4 and FP6 as it packs them.

`quark_even.py`, `quark_floor.py` and `quark_ceil.py` are its three ways to find a scale,
`quark_fake.py` has the formats that it only simulates. The first import compiles its C++ with
ninja.
"""

from collections.abc import Callable
from types import SimpleNamespace
from typing import Any

import numpy as np
from _peer import array, in_parts, peer, tensor
from numpy.typing import NDArray

import mxref

PIN = "torch==2.13.0 ninja && pip install --no-deps amd-quark==0.13"
torch = peer("torch", PIN)
kernel = peer("quark.torch.kernel", PIN)
_OBSERVER = peer("quark.torch.quantization.observer.observer", PIN).ObserverBase
_BYTES = peer("quark.torch.utils.numerics", PIN)
_PACK = peer("quark.torch.utils.pack", PIN)
_DTYPE = peer("quark.torch.quantization.config.type", PIN).Dtype

FORMATS = ["e3m2", "e2m3", "e2m1", "mxfp6_e3m2", "mxfp6_e2m3", "mxfp4_e2m1"]
FLOATS = ["f32", "bf16", "f16"]
NAMES = {
    "e5m2": "fp8_e5m2", "e4m3": "fp8_e4m3", "e3m2": "fp6_e3m2", "e2m3": "fp6_e2m3", "e2m1": "fp4",
    "mxint8": "int8",
}  # fmt: skip


def scales_of(amax: Any, name: str, mode: str) -> Any:
    """`get_scale` of an observer, floats in the type of amax or float32."""
    spec = SimpleNamespace(dtype=_DTYPE(NAMES[name]), mx_element_dtype=None)
    observer = SimpleNamespace(qspec=spec, scale_calculation_mode=mode)
    return _OBSERVER.get_scale(observer, amax, torch.finfo(torch.float32).eps, "e8m0")


def functions(mode: str) -> tuple[Callable[..., Any], Callable[..., Any]]:
    """`quantize` and `shared_scale` with a scale_calculation_mode."""

    def batch(values: NDArray[Any], name: str) -> tuple[NDArray[Any], NDArray[Any]]:
        x = tensor(values)
        scales = scales_of(x.abs().amax(-1, keepdim=True), name, mode)
        elements = kernel.scaled_real_quantize(
            NAMES[name], x, scales, None, -1, 32, 0, 0, 8, "per_group"
        )
        packed = array(
            _PACK.create_pack_method("per_group", NAMES[name]).pack(elements, reorder=False)
        )
        return array(_BYTES.to_e8m0_uint8(scales))[:, 0], mxref.unpack(packed, name, 32)

    def quantize(values: NDArray[Any], block_format: str) -> tuple[NDArray[Any], NDArray[Any]]:
        name = block_format.split("_")[1]
        return in_parts(lambda part: batch(part, name), values)

    def shared_scale(amax: NDArray[Any], format: str) -> NDArray[Any]:
        return array(_BYTES.to_e8m0_uint8(scales_of(tensor(amax), format, mode)))

    return quantize, shared_scale


def encode(values: NDArray[Any], format: str) -> NDArray[Any]:
    """`scaled_real_quantize` under scales of 1, packed, the last block filled up with zeros."""
    rows = tensor(np.pad(values, (0, -len(values) % 32)).reshape(-1, 32))
    ones = torch.ones(len(rows), 1)
    name = NAMES[format]
    elements = kernel.scaled_real_quantize(name, rows, ones, None, -1, 32, 0, 0, 8, "per_group")
    packed = array(_PACK.create_pack_method("per_group", name).pack(elements, reorder=False))
    return mxref.unpack(packed, format, 32).reshape(-1)[: len(values)]


def dequantize(
    scale_codes: NDArray[Any], codes: NDArray[Any], block_format: str, dtype: Any
) -> NDArray[Any]:
    """What StaticScaledRealQuantizer does: unpack, scale bytes to powers of two, `dequantize`."""
    name = block_format.split("_")[1]
    method = _PACK.create_pack_method("per_group", NAMES[name])
    elements = method.unpack(tensor(mxref.pack(codes, name)), reorder=False)
    target = {"float32": torch.float32, "float16": torch.float16}.get(str(dtype), torch.bfloat16)
    scales = 2 ** (tensor(scale_codes).to(torch.int16) - 127).to(target)
    numbers = kernel.dequantize(
        NAMES[name], elements.to(target), scales[:, None], None, -1, 32, "per_group"
    )
    return array(numbers.to(target))
