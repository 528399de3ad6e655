"""torch 2.13.0: `quantized_decomposed` in Python, and torchao 0.18.0 `quantize_affine`.

TENSOR, CHANNEL, TOKEN and GROUP are functions of torch; scales of groups are scales of channels,
tokens or rows there. torch gets one scale as a Python float, torchao as a tensor. EAGER_TENSOR,
EAGER_INT32 and EAGER_CHANNEL are torch's quantized tensors, `quantize_per_tensor` of quint8 and
qint8 and of qint32, and `quantize_per_channel`. They know the ranges of types alone: narrower ones
are clipped here.
"""

from types import SimpleNamespace
from typing import Any

import numpy as np
from _integers import Array, by_rows
from _peer import array, peer, tensor

_PIN = "torch==2.13.0 torchao==0.18.0"
torch = peer("torch", _PIN)
peer("torch.ao.quantization.fx._decomposed", _PIN)
_AO = peer("torchao.quantization.quant_primitives", _PIN)
_OPS = torch.ops.quantized_decomposed
_ONE_SCALE = ["int8", "uint8", "int16", "int32", "int8_scale64"]
_AXES = ["int8_axis", "uint8_axis"]


def _range(low: int, high: int, dtype: Any) -> tuple[Any, ...]:
    return low, high, getattr(torch, str(dtype))


def _tensor_wise(op: str) -> Any:
    def run(
        values: Array, scale: float, zero: int, low: int, high: int, dtype: Any, axis: None
    ) -> Array:
        function = getattr(_OPS, f"{op}_per_tensor")
        return array(function(tensor(values), scale, zero, *_range(low, high, dtype)))

    return run


def _channel_wise(op: str) -> Any:
    function = getattr(_OPS, f"{op}_per_channel")

    def run(
        values: Array, scale: Array, zero: Array, low: int, high: int, dtype: Any, axis: int
    ) -> Array:
        ends = _range(low, high, dtype)

        def rows(values: Array, scale: Array, zero: Array, axis: int = 0) -> Array:
            return array(function(tensor(values), tensor(scale), tensor(zero), axis, *ends))

        if scale.ndim == 1:
            return rows(values, scale, zero, axis % values.ndim)
        return by_rows(values, scale, zero, axis, rows)

    return run


def _token_wise(op: str, *after: Any, group: bool = False) -> Any:
    name = f"{op}_per_channel_group" if group else f"{op}_per_token"

    def run(
        values: Array, scale: Array, zero: Array, low: int, high: int, dtype: Any, axis: int
    ) -> Array:
        def rows(values: Array, scale: Array, zero: Array) -> Array:
            beside = (tensor(each[:, np.newaxis]) for each in (scale, zero))
            # A group must have two elements; the first of these is the only one here.
            filled = np.repeat(values, 2, 1) if group and values.shape[1] == 1 else values
            size = (filled.shape[1],) if group else ()
            ends = _range(low, high, dtype)
            found = getattr(_OPS, name)(tensor(filled), *beside, *ends, *size, *after)
            return array(found)[:, : values.shape[1]]

        return by_rows(values, scale, zero, axis, rows)

    return run


def _torchao(op: str) -> Any:
    function = getattr(_AO, f"{op}_affine")

    def run(
        values: Array, scale: Any, zero: Any, low: int, high: int, dtype: Any, axis: int | None
    ) -> Array:
        scales, block = np.asarray(scale, np.float32), list(values.shape)
        if axis is not None:
            block = [1] * values.ndim if scales.ndim > 1 else block
            block[axis] = values.shape[axis] // scales.shape[axis if scales.ndim > 1 else 0]
        kind = getattr(torch, str(dtype))
        zeros = np.asarray(zero, np.int32)
        given = (tensor(values), tuple(block), tensor(scales), tensor(zeros), kind, low, high)
        return array(function(*given))

    return run


_EAGER = {"int8": torch.qint8, "uint8": torch.quint8, "int32": torch.qint32}


def _eager_quantize(
    values: Array, scale: Any, zero: Any, low: int, high: int, dtype: Any, axis: int | None
) -> Array:
    kind = _EAGER[str(np.dtype(dtype))]
    if axis is None:
        codes = torch.quantize_per_tensor(tensor(values), scale, zero, kind).int_repr()
        whole: Array = np.clip(array(codes), low, high)
        return whole

    def rows(values: Array, scale: Array, zero: Array, axis: int = 0) -> Array:
        given = tensor(values), tensor(scale), tensor(zero), axis, kind
        return array(torch.quantize_per_channel(*given).int_repr())

    if scale.ndim == 1:
        return np.clip(rows(values, scale, zero, axis % values.ndim), low, high)
    return np.clip(by_rows(values, scale, zero, axis, rows), low, high)


def _eager_dequantize(
    codes: Array, scale: Any, zero: Any, low: int, high: int, dtype: Any, axis: int | None
) -> Array:
    if axis is None:
        return array(
            torch._make_per_tensor_quantized_tensor(tensor(codes), scale, zero).dequantize()
        )

    def rows(codes: Array, scale: Array, zero: Array, axis: int = 0) -> Array:
        beside = tensor(scale), tensor(zero), axis
        return array(torch._make_per_channel_quantized_tensor(tensor(codes), *beside).dequantize())

    if scale.ndim == 1:
        return rows(codes, scale, zero, axis % codes.ndim)
    return by_rows(codes, scale, zero, axis, rows)


EAGER_TENSOR = SimpleNamespace(
    INTEGERS="zero_point=fused nan=highest",
    FORMATS=["int8", "uint8", "int8_scale64"],
    quantize_affine=_eager_quantize,
    dequantize_affine=_eager_dequantize,
)
EAGER_INT32 = SimpleNamespace(
    INTEGERS="zero_point=before nan=zero",
    FORMATS=["int32"],
    quantize_affine=_eager_quantize,
    dequantize_affine=_eager_dequantize,
)
EAGER_CHANNEL = SimpleNamespace(
    INTEGERS="zero_point=before nan=zero",
    FORMATS=_AXES,
    quantize_affine=_eager_quantize,
    dequantize_affine=_eager_dequantize,
)
TENSOR = SimpleNamespace(
    INTEGERS="scale_type=float64 nan=zero int32=wrap",
    FORMATS=_ONE_SCALE,
    quantize_affine=_tensor_wise("quantize"),
    dequantize_affine=_tensor_wise("dequantize"),
)
CHANNEL = SimpleNamespace(
    INTEGERS="nan=zero",
    FORMATS=_AXES,
    quantize_affine=_channel_wise("quantize"),
    dequantize_affine=_channel_wise("dequantize"),
)
TOKEN = SimpleNamespace(
    INTEGERS="zero_point=before nan=zero",
    FORMATS=_AXES,
    quantize_affine=_token_wise("quantize"),
    dequantize_affine=_token_wise("dequantize", torch.float32),
)
GROUP = SimpleNamespace(
    INTEGERS="zero_point=before",
    FORMATS=_AXES,
    quantize_affine=_token_wise("quantize", group=True),
    dequantize_affine=_token_wise("dequantize", torch.float32, group=True),
)
TORCHAO = SimpleNamespace(
    INTEGERS="nan=zero int32=wrap",
    FORMATS=[*_ONE_SCALE, *_AXES],
    quantize_affine=_torchao("quantize"),
    dequantize_affine=_torchao("dequantize"),
)
