"""ExecuTorch 1.5.1: its C++ kernels of `quantized_decomposed`, and int4 of its Vulkan backend.

TENSOR, CHANNEL and TOKEN are kernels; scales of groups are scales of channels or tokens there.
QCS4W packs as `linear_qcs4w` does, Q4GSW as `linear_q4gsw` does, whose rows are filled up to eight
codes.
"""

from types import SimpleNamespace
from typing import Any

import numpy as np
from _integers import Array, by_rows
from _peer import array, peer, tensor

_PIN = "torch==2.13.0 executorch==1.5.1"
torch = peer("torch", _PIN)
peer("torch.ao.quantization.fx._decomposed", _PIN)
peer("executorch.kernels.quantized", _PIN)  # it registers the `.out` overloads
_FUSE = peer("executorch.backends.vulkan._passes.fuse_quantized_ops", _PIN)
_PACK = peer("executorch.backends.vulkan.patterns.weight_packing_utils", _PIN)
_VULKAN = peer("executorch.backends.vulkan.custom_ops_lib", _PIN)
_OPS = torch.ops.quantized_decomposed
_AXES = ["int8_axis", "uint8_axis"]


def _kernel(op: str, values: Array, given: tuple[Any, ...], dtype: Any) -> Array:
    kind = getattr(torch, str(np.dtype(dtype)) if op.startswith("quantize") else "float32")
    out = torch.empty(values.shape, dtype=kind)
    getattr(_OPS, op).out(tensor(values), *given, out=out)
    return array(out)


def _tensor_wise(op: str) -> Any:
    def run(
        values: Array, scale: float, zero: int, low: int, high: int, dtype: Any, axis: None
    ) -> Array:
        given = (scale, zero, low, high, getattr(torch, str(dtype)))
        return _kernel(f"{op}_per_tensor", values, given, dtype)

    return run


def _axis_wise(op: str, kind: str, *after: Any) -> Any:
    def run(
        values: Array, scale: Array, zero: Array, low: int, high: int, dtype: Any, axis: int
    ) -> Array:
        ends = low, high, getattr(torch, str(dtype))

        def rows(values: Array, scale: Array, zero: Array, axis: int = 0) -> Array:
            beside = [tensor(scale.astype(np.float64)), tensor(zero.astype(np.int64))]
            if kind == "channel":
                given = (*beside, axis, *ends)
            else:
                given = (*(each[:, None] for each in beside), *ends, *after)
            return _kernel(f"{op}_per_{kind}", values, given, dtype)

        if kind == "channel" and scale.ndim == 1:
            return rows(values, scale, zero, axis % values.ndim)
        return by_rows(values, scale, zero, axis, rows)

    return run


def _unpack(packed: Array, k: int) -> Array:
    return array(_VULKAN.unpack_4bit_weight_tensor(tensor(packed), torch.empty(1, k)))


def _linear(x: Array, packed: Array, scales: Array) -> Array:
    """The operator in Python takes an even number of columns, and two at least: zeros fill them."""
    none = int(x.shape[1] == 0)
    x, packed = (
        np.pad(x, ((0, 0), (0, x.shape[1] % 2 + 2 * none))),
        np.pad(packed, ((0, 0), (0, none))),
    )
    return array(torch.ops.et_vk.linear_qcs4w(*map(tensor, (x, packed, scales))))


TENSOR = SimpleNamespace(
    INTEGERS="nan=lowest infinite=lowest",
    FORMATS=["int8", "uint8", "int16", "int32", "int8_scale64"],
    quantize_affine=_tensor_wise("quantize"),
    dequantize_affine=_tensor_wise("dequantize"),
)
CHANNEL = SimpleNamespace(
    INTEGERS="nan=lowest infinite=lowest",
    FORMATS=_AXES,
    quantize_affine=_axis_wise("quantize", "channel"),
    dequantize_affine=_axis_wise("dequantize", "channel"),
)
TOKEN = SimpleNamespace(
    INTEGERS="nan=lowest infinite=lowest",
    FORMATS=_AXES,
    quantize_affine=_axis_wise("quantize", "token"),
    dequantize_affine=_axis_wise("dequantize", "token", torch.float32),
)
QCS4W = SimpleNamespace(
    INTEGERS="nibbles=high_first",
    FORMATS=["int4"],
    pack_int4=lambda w: array(_FUSE.pack_4bit_weight_tensor(tensor(w))),
    linear_qcs4w=_linear,
)
Q4GSW = SimpleNamespace(
    INTEGERS="nibbles=low_first",
    FORMATS=["int4"],
    pack_int4=lambda w: array(_PACK.pack_4bit_weight_tensor(tensor(w)))[:, : -(-w.shape[1] // 2)],
    unpack_int4=_unpack,
)
