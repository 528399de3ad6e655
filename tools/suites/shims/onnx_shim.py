"""ONNX: its node tests of casts, QuantizeLinear and DequantizeLinear, without tolerance."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import numpy as np
import onnx
from onnx.backend.test.loader import load_node_model_tests

from mxref import integer
from suites.asked import Counted, mx

FLOATS = {"FLOAT8E4M3FN": "e4m3", "FLOAT8E5M2": "e5m2", "FLOAT8E4M3FNUZ": "e4m3fnuz",
          "FLOAT8E5M2FNUZ": "e5m2fnuz", "FLOAT4E2M1": "e2m1"}  # fmt: skip
_AFFINE = Counted(integer)


def name_of(array: Any) -> str:
    """ONNX's name of an array's type."""
    return str(onnx.TensorProto.DataType.Name(onnx.helper.np_dtype_to_tensor_dtype(array.dtype)))


def encode(x: Any, name: str, *, saturate: bool) -> Any:
    """Codes of a small float type."""
    overflow = "saturate" if saturate else "nonsaturating"
    return mx.encode(x, FLOATS[name], nan_to_finite="opposite_zero", overflow=overflow)


def cast(attributes: dict[str, Any], want: Any, x: Any, _like: Any = None) -> Any:
    """Cast and CastLike, where one side is a small float; else None."""
    source, target = name_of(x), name_of(want)
    if target == "FLOAT8E8M0":
        return mx.profile({"up": "onnx"}[attributes["round_mode"].decode()]).encode_scale(x)
    if target in FLOATS:
        return encode(x, target, saturate=attributes.get("saturate", 1))
    if source == "FLOAT8E8M0":
        return mx.decode_scale(x.view(np.uint8), want.dtype)
    if source in FLOATS:
        return mx.decode(x.view(np.uint8), FLOATS[source], want.dtype)
    return None


def _per_axis(array: Any, x: Any, axis: int) -> Any:
    return array.reshape([-1 if i == axis else 1 for i in range(x.ndim)]) if array.ndim else array


def qparams(x: Any, scale: Any, zero: Any, name: str, axis: int) -> Any:
    """Parameters of the integer operations."""
    bits, signed = int(name.lstrip("UINT")), not name.startswith("U")
    low, high = (-(1 << bits - 1), (1 << bits - 1) - 1) if signed else (0, (1 << bits) - 1)
    dtype = np.dtype(f"{'' if signed else 'u'}int{max(bits, 8)}")
    zero = 0 if zero is None else zero.astype(np.int64).reshape(scale.shape)
    return integer.QParams(scale, zero, low, high, dtype, axis if scale.ndim else None)


def quantize_linear(attributes: Any, want: Any, x: Any, scale: Any, zero: Any = None) -> Any:
    """QuantizeLinear."""
    name, axis = name_of(want), attributes.get("axis", 1)
    if name in FLOATS:
        return encode(x / _per_axis(scale, x, axis), name, saturate=True)
    return _AFFINE.quantize_affine(x, qparams(x, scale, zero, name, axis), scaling="divide")


def dequantize_linear(attributes: Any, want: Any, x: Any, scale: Any, zero: Any = None) -> Any:
    """DequantizeLinear; zero points of small floats are zeros."""
    name, axis = name_of(x), attributes.get("axis", 1)
    if name in FLOATS:
        codes = x.view(np.uint8)
        return mx.decode(codes, FLOATS[name], want.dtype) * _per_axis(scale, x, axis)
    own = qparams(x, scale, zero, name, axis)
    return _AFFINE.dequantize_affine(x.astype(own.dtype), own)


OPERATORS: dict[str, Callable[..., Any]] = {
    "Cast": cast,
    "CastLike": cast,
    "QuantizeLinear": quantize_linear,
    "DequantizeLinear": dequantize_linear,
}


def numbers(array: Any, dtype: Any) -> Any:
    """The numbers of codes or floats, as ONNX compares them: -0 is 0, any NaN is NaN."""
    codes = array.dtype == np.uint8 and not name_of(np.empty(0, dtype)).startswith(("UINT", "INT"))
    return (array.view(dtype) if codes else array).astype(np.float64)


def cases(_folder: Path) -> Iterator[tuple[str, str]]:
    """Each node test that mxref can answer; those of function bodies repeat their inputs."""
    for case in load_node_model_tests():
        (node, *others) = case.model.graph.node
        if others or case.name.endswith("_expanded") or node.op_type not in OPERATORS:
            continue
        attributes = {a.name: onnx.helper.get_attribute_value(a) for a in node.attribute}
        ((given, wanted),) = case.data_sets
        x, *rest, want = (
            onnx.numpy_helper.to_array(t) if isinstance(t, onnx.TensorProto) else np.asarray(t)
            for t in (*given, *wanted)
        )
        got = OPERATORS[node.op_type](attributes, want, x, *rest)
        if got is not None:
            got, want = (numbers(a, want.dtype) for a in (got, want))
            same = np.array_equal(got, want, equal_nan=True)
            yield case.name, "" if same else f"{got.tolist()} is not {want.tolist()}"
