"""AMD Quark 0.13: scales of its MX observer as E8M0 bytes, FP4 and FP6 as it packs them.

EVEN, FLOOR and CEIL are its three ways to find a scale, FAKE has the formats that it only
simulates, E8M0 its export of scales. The first import compiles its C++ with ninja.
"""

from types import SimpleNamespace
from typing import Any

import numpy as np
from _peer import array, in_parts, peer, tensor
from _values import block_codes
from numpy.typing import NDArray

import mxref

_PIN = "torch==2.13.0 ninja && pip install --no-deps amd-quark==0.13"
torch = peer("torch", _PIN)
_KERNEL = peer("quark.torch.kernel", _PIN)
_OBSERVER = peer("quark.torch.quantization.observer.observer", _PIN).ObserverBase
_BYTES = peer("quark.torch.utils.numerics", _PIN)
_PACK = peer("quark.torch.utils.pack", _PIN)
_DTYPE = peer("quark.torch.quantization.config.type", _PIN).Dtype

FORMATS = ["e3m2", "e2m3", "e2m1", "mxfp6_e3m2", "mxfp6_e2m3", "mxfp4_e2m1"]
FLOATS = ["f32", "bf16", "f16"]
_NAMES = {
    "e5m2": "fp8_e5m2", "e4m3": "fp8_e4m3", "e3m2": "fp6_e3m2", "e2m3": "fp6_e2m3", "e2m1": "fp4",
    "mxint8": "int8",
}  # fmt: skip


def _scales_of(amax: Any, name: str, mode: str) -> Any:
    """`get_scale` of an observer, floats in the type of amax or float32."""
    spec = SimpleNamespace(dtype=_DTYPE(_NAMES[name]), mx_element_dtype=None)
    observer = SimpleNamespace(qspec=spec, scale_calculation_mode=mode)
    return _OBSERVER.get_scale(observer, amax, torch.finfo(torch.float32).eps, "e8m0")


def encode(values: NDArray[Any], format: str) -> NDArray[Any]:
    """`scaled_real_quantize` under scales of 1, packed, the last block filled up with zeros."""
    rows = tensor(np.pad(values, (0, -len(values) % 32)).reshape(-1, 32))
    ones = torch.ones(len(rows), 1)
    name = _NAMES[format]
    elements = _KERNEL.scaled_real_quantize(name, rows, ones, None, -1, 32, 0, 0, 8, "per_group")
    packed = array(_PACK.create_pack_method("per_group", name).pack(elements, reorder=False))
    return mxref.unpack(packed, format, 32).reshape(-1)[: len(values)]


def dequantize(
    scale_codes: NDArray[Any], codes: NDArray[Any], block_format: str, dtype: Any
) -> NDArray[Any]:
    """What StaticScaledRealQuantizer does: unpack, scale bytes to powers of two, `dequantize`."""
    name = block_format.split("_")[1]
    method = _PACK.create_pack_method("per_group", _NAMES[name])
    elements = method.unpack(tensor(mxref.pack(codes, name)), reorder=False)
    target = {"float32": torch.float32, "float16": torch.float16}.get(str(dtype), torch.bfloat16)
    scales = 2 ** (tensor(scale_codes).to(torch.int16) - 127).to(target)
    numbers = _KERNEL.dequantize(
        _NAMES[name], elements.to(target), scales[:, None], None, -1, 32, "per_group"
    )
    return array(numbers.to(target))


def _blocks(mode: str, scale_rule: str) -> dict[str, Any]:
    """The functions and claims of a scale_calculation_mode, but for the profile."""

    def batch(values: NDArray[Any], name: str) -> tuple[NDArray[Any], NDArray[Any]]:
        x = tensor(values)
        scales = _scales_of(x.abs().amax(-1, keepdim=True), name, mode)
        elements = _KERNEL.scaled_real_quantize(
            _NAMES[name], x, scales, None, -1, 32, 0, 0, 8, "per_group"
        )
        packed = array(
            _PACK.create_pack_method("per_group", _NAMES[name]).pack(elements, reorder=False)
        )
        return array(_BYTES.to_e8m0_uint8(scales))[:, 0], mxref.unpack(packed, name, 32)

    def quantize(values: NDArray[Any], block_format: str) -> tuple[NDArray[Any], NDArray[Any]]:
        name = block_format.split("_")[1]
        return in_parts(lambda part: batch(part, name), values)

    def shared_scale(amax: NDArray[Any], format: str) -> NDArray[Any]:
        return array(_BYTES.to_e8m0_uint8(_scales_of(tensor(amax), format, mode)))

    policy = "ocp+zero_sign=dropped+underflow_sign=dropped+scale_ff=inf"
    return {
        "POLICY": f"{policy}+scale_rule={scale_rule}",
        "FORMATS": FORMATS,
        "FLOATS": FLOATS,
        "encode": encode,
        "shared_scale": shared_scale,
        "quantize": quantize,
        "dequantize": dequantize,
    }


def _fake_quantize(values: NDArray[Any], block_format: str) -> tuple[NDArray[Any], NDArray[Any]]:
    """`fake_quantize_mx`, taken apart: its numbers are elements times the scale of the observer."""
    name, x = block_format.split("_")[-1], tensor(values)
    numbers = _KERNEL.non_scaled_fake_quantize(x, "mx", _NAMES[name], -1, 32, "even")
    scales = array(_scales_of(x.abs().amax(-1, keepdim=True), name, "even")).astype(np.float64)
    elements = array(numbers).astype(np.float64) / scales
    return block_codes(scales[:, 0], elements, name.removeprefix("mx"))


EVEN = SimpleNamespace(PROFILE="quark_even", **_blocks("even", "even"))
FLOOR = SimpleNamespace(PROFILE="quark_floor", **_blocks("floor", "floor_log2_float32"))
CEIL = SimpleNamespace(PROFILE="quark_ceil", **_blocks("ceil", "ceil"))
#: It gives numbers, no codes.
FAKE = SimpleNamespace(
    PROFILE="quark_fake",
    POLICY="ocp+scale_rule=even",
    FORMATS=["mxfp8_e5m2", "mxfp8_e4m3", "mxint8"],
    FLOATS=["f32"],
    quantize=_fake_quantize,
)
#: `to_e8m0_uint8`, which is meant for powers of two.
E8M0 = SimpleNamespace(
    PROFILE="quark_even",
    POLICY="ocp",
    FLOATS=["f32"],
    encode_scale=lambda values: array(_BYTES.to_e8m0_uint8(tensor(values))),
)
