"""ONNX 1.23.2: the operator Cast of its reference evaluator, and packed tensors.

The mode NOSAT is Cast with saturate=0; DOWN and NEAREST are its other rounding modes for E8M0.
"""

from collections.abc import Callable
from types import SimpleNamespace
from typing import Any

import numpy as np
from _peer import peer
from numpy.typing import NDArray

onnx = peer("onnx", "onnx==1.23.2")
_REFERENCE = peer("onnx.reference", "onnx==1.23.2")
_TYPE = onnx.TensorProto
_TYPES = {
    "e5m2": _TYPE.FLOAT8E5M2, "e4m3": _TYPE.FLOAT8E4M3FN, "e3m2": _TYPE.FLOAT6E3M2,
    "e2m3": _TYPE.FLOAT6E2M3, "e2m1": _TYPE.FLOAT4E2M1, "e8m0": _TYPE.FLOAT8E8M0,
    "e5m2fnuz": _TYPE.FLOAT8E5M2FNUZ, "e4m3fnuz": _TYPE.FLOAT8E4M3FNUZ,
}  # fmt: skip

POLICY = (
    "ocp+nan=signed_quiet+nan_to_finite=opposite_zero+pre_rounding=float32"
    "+scale_rounding=toward_positive+tiny_scale=always_up"
)
PROFILE = "onnx"
FORMATS = [name for name in _TYPES if name != "e8m0"]


def cast(values: NDArray[Any], to: int, **attributes: Any) -> NDArray[Any]:
    """The operator Cast on a tensor."""
    node = onnx.helper.make_node("Cast", ["x"], ["y"], to=to, **attributes)
    source = onnx.helper.np_dtype_to_tensor_dtype(values.dtype)
    inputs = [onnx.helper.make_tensor_value_info("x", source, [None])]
    outputs = [onnx.helper.make_tensor_value_info("y", to, [None])]
    graph = onnx.helper.make_graph([node], "cast", inputs, outputs)
    opset = [onnx.helper.make_opsetid("", onnx.defs.onnx_opset_version())]
    model = onnx.helper.make_model(graph, opset_imports=opset)
    result: NDArray[Any] = _REFERENCE.ReferenceEvaluator(model).run(None, {"x": values})[0]
    return result


def encoder(saturate: int) -> Callable[..., Any]:
    """`encode` with the attribute saturate."""
    return lambda x, format: cast(x, _TYPES[format], saturate=saturate).view(np.uint8)


def scale_encoder(round_mode: str, saturate: int = 1) -> Callable[..., Any]:
    """`encode_scale` with the attribute round_mode."""
    to = _TYPES["e8m0"]
    return lambda x: cast(x, to, saturate=saturate, round_mode=round_mode).view(np.uint8)


encode = encoder(1)
encode_scale = scale_encoder("up")


def _stored(codes: NDArray[Any], format: str) -> Any:
    dtype = onnx.helper.tensor_dtype_to_np_dtype(_TYPES[format])
    return codes.view(dtype)


def decode(codes: NDArray[Any], format: str) -> NDArray[Any]:
    """Cast to float32."""
    return cast(_stored(codes, format), _TYPE.FLOAT)


def decode_scale(codes: NDArray[Any]) -> NDArray[Any]:
    """Cast to float32."""
    return cast(_stored(codes, "e8m0"), _TYPE.FLOAT)


def pack(codes: NDArray[Any], format: str) -> NDArray[Any]:
    """`numpy_helper.from_array`."""
    tensor = onnx.numpy_helper.from_array(_stored(codes, format))
    return np.frombuffer(tensor.raw_data, np.uint8)


def unpack(packed: NDArray[Any], format: str, n: int) -> NDArray[Any]:
    """`numpy_helper.to_array`."""
    tensor = _TYPE(data_type=_TYPES[format], dims=[n], raw_data=packed.tobytes())
    codes: NDArray[Any] = onnx.numpy_helper.to_array(tensor).view(np.uint8)
    return codes


NOSAT = SimpleNamespace(
    PROFILE="onnx_nosat",
    POLICY="ocp+overflow=nonsaturating+nan=signed_quiet+nan_to_finite=opposite_zero"
    "+pre_rounding=float32+scale_rounding=toward_positive+scale_overflow=nan+tiny_scale=always_up",
    FORMATS=FORMATS,
    encode=encoder(0),
    encode_scale=scale_encoder("up", 0),
)
DOWN = SimpleNamespace(
    PROFILE="onnx_down", POLICY="ocp+pre_rounding=float32", encode_scale=scale_encoder("down")
)
NEAREST = SimpleNamespace(
    PROFILE="onnx_nearest",
    POLICY="ocp+pre_rounding=float32+scale_rounding=ties_to_away+tiny_scale=as_if_zero",
    encode_scale=scale_encoder("nearest"),
)
