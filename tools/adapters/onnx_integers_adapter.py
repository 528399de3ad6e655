"""QuantizeLinear and DequantizeLinear: REFERENCE is ONNX 1.23.2, RUNTIME onnxruntime 1.31.1.

The operators know the ranges of types alone: narrower ones are clipped here.
"""

from collections.abc import Callable
from functools import lru_cache
from types import SimpleNamespace
from typing import Any

import numpy as np
from _integers import Array
from _peer import peer

_PIN = "onnx==1.23.2 onnxruntime==1.31.1"
onnx = peer("onnx", _PIN)
_REFERENCE = peer("onnx.reference", _PIN)
_RUNTIME = peer("onnxruntime", _PIN)
_FORMATS = ["int8", "uint8", "int16", "int8_axis", "uint8_axis"]
Run = Callable[[dict[str, Array]], list[Array]]


@lru_cache(maxsize=64)
def _model(op: str, dtype: str, rank: int, scales: int, axis: int, block: int, *, ort: bool) -> Run:
    """The operator with a scale, with `scales` axes of them, or with a block size."""
    code = onnx.helper.np_dtype_to_tensor_dtype(np.dtype(dtype))
    number = onnx.TensorProto.FLOAT
    ends = (number, code) if op == "QuantizeLinear" else (code, number)
    attributes = {"axis": axis} if scales else {}
    attributes |= {"block_size": block} if block else {}
    node = onnx.helper.make_node(op, ["x", "scale", "zero"], ["y"], **attributes)
    value = onnx.helper.make_tensor_value_info
    inputs = [value("x", ends[0], [None] * rank)]
    inputs += [value("scale", number, [None] * scales), value("zero", code, [None] * scales)]
    graph = onnx.helper.make_graph([node], op, inputs, [value("y", ends[1], [None] * rank)])
    opset = [onnx.helper.make_opsetid("", 21)]
    model = onnx.helper.make_model(graph, opset_imports=opset, ir_version=10)
    if ort:
        cpu = ["CPUExecutionProvider"]
        session = _RUNTIME.InferenceSession(model.SerializeToString(), providers=cpu)
    else:
        session = _REFERENCE.ReferenceEvaluator(model)
    return lambda given: session.run(None, given)


def _run(
    op: str, x: Array, scale: Any, zero: Any, dtype: Any, axis: int | None, *, ort: bool
) -> Array:
    scales = np.asarray(scale, np.float32)
    block = x.shape[axis or 0] // scales.shape[axis or 0] if scales.ndim > 1 else 0
    place = 0 if axis is None else axis % x.ndim
    run = _model(op, np.dtype(dtype).name, x.ndim, scales.ndim, place, block, ort=ort)
    with np.errstate(all="ignore"):
        return run({"x": x, "scale": scales, "zero": np.asarray(zero, dtype)})[0]


def _both(*, ort: bool) -> dict[str, Any]:
    def quantize_affine(
        x: Array, scale: Any, zero: Any, low: int, high: int, dtype: Any, axis: int | None
    ) -> Array:
        return np.clip(_run("QuantizeLinear", x, scale, zero, dtype, axis, ort=ort), low, high)

    def dequantize_affine(
        q: Array, scale: Any, zero: Any, low: int, high: int, dtype: Any, axis: int | None
    ) -> Array:
        return _run("DequantizeLinear", q, scale, zero, dtype, axis, ort=ort)

    return {"quantize_affine": quantize_affine, "dequantize_affine": dequantize_affine}


REFERENCE = SimpleNamespace(
    INTEGERS="scaling=divide nan=int32_min infinite=int32_min",
    FORMATS=_FORMATS,
    **_both(ort=False),
)
RUNTIME = SimpleNamespace(INTEGERS="scaling=divide nan=lowest", FORMATS=_FORMATS, **_both(ort=True))
