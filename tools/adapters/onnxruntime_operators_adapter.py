"""QLinearMatMul, QLinearAdd, QLinearMul and MatMulNBits of onnxruntime 1.31.1, on a CPU."""

from collections.abc import Callable
from functools import lru_cache
from typing import Any

import numpy as np
from _integers import Array
from _peer import peer

_PIN = "onnx==1.23.2 onnxruntime==1.31.1"
onnx = peer("onnx", _PIN)
_RUNTIME = peer("onnxruntime", _PIN)
_NAMES = ("a", "a_scale", "a_zero", "b", "b_scale", "b_zero", "y_scale", "y_zero")
#: MatMulNBits refuses the blocks of `uint4_long`.
FORMATS = ["int8", "uint8", "uint4", "uint4_zeros", "uint2", "uint2_zeros"]


@lru_cache(maxsize=64)
def _session(op: str, domain: str, kinds: tuple[tuple[str, int], ...]) -> Any:
    """A graph of one operator with inputs of these dtypes and ranks."""
    value, code = onnx.helper.make_tensor_value_info, onnx.helper.np_dtype_to_tensor_dtype
    inputs = [
        value(name, code(np.dtype(dtype)), [None] * rank)
        for name, (dtype, rank) in zip(_NAMES, kinds, strict=True)
    ]
    node = onnx.helper.make_node(op, _NAMES, ["y"], domain=domain)
    output = value("y", code(np.dtype(kinds[0][0])), [None] * kinds[0][1])
    graph = onnx.helper.make_graph([node], op, inputs, [output])
    sets = [onnx.helper.make_opsetid("", 21), onnx.helper.make_opsetid("com.microsoft", 1)]
    model = onnx.helper.make_model(graph, opset_imports=sets, ir_version=10)
    return _on_cpu(model)


def _on_cpu(model: Any) -> Any:
    """A session of one thread: a second would wait for work, and keep a core busy with it."""
    options = _RUNTIME.SessionOptions()
    options.intra_op_num_threads = 1
    cpu = ["CPUExecutionProvider"]
    return _RUNTIME.InferenceSession(model.SerializeToString(), options, providers=cpu)


def _operator(op: str, domain: str = "com.microsoft") -> Callable[..., Array]:
    def run(*given: Any) -> Array:
        dtypes = {"a_zero": given[0].dtype, "b_zero": given[3].dtype, "y_zero": given[0].dtype}
        feed = {
            name: np.asarray(one, np.float32 if name.endswith("scale") else dtypes.get(name))
            for name, one in zip(_NAMES, given, strict=True)
        }
        session = _session(op, domain, tuple((one.dtype.name, one.ndim) for one in feed.values()))
        return np.asarray(session.run(None, feed)[0])

    return run


def matmul_nbits(
    x: Array,
    packed: Array,
    scales: Array,
    zeros: Array | None = None,
    bits: int = 4,
    level: int = 0,
) -> Array:
    """MatMulNBits of x (M, K), with weights, scales and zero points as constants of the graph."""
    (n, _, size), k = packed.shape, x.shape[1]
    constants = {"B": packed, "scales": scales} | ({} if zeros is None else {"zeros": zeros})
    sizes = {"K": k, "N": n, "bits": bits, "block_size": size * 8 // bits, "accuracy_level": level}
    domain = "com.microsoft"
    node = onnx.helper.make_node("MatMulNBits", ["A", *constants], ["y"], domain=domain, **sizes)
    value, single = onnx.helper.make_tensor_value_info, onnx.TensorProto.FLOAT
    ends = [value("A", single, [None, k])], [value("y", single, [None, n])]
    given = [onnx.numpy_helper.from_array(one, name) for name, one in constants.items()]
    graph = onnx.helper.make_graph([node], "layer", *ends, given)
    sets = [onnx.helper.make_opsetid("", 21), onnx.helper.make_opsetid(domain, 1)]
    model = onnx.helper.make_model(graph, opset_imports=sets, ir_version=10)
    session = _on_cpu(model)
    return np.asarray(session.run(None, {"A": x})[0])


qlinear_matmul = _operator("QLinearMatMul", "")


@lru_cache
def adds_in_pairs() -> bool:
    """Whether uint8 times int8 saturates pairs of products at 16 bits: x86 without VNNI does."""
    a, b = np.full((1, 2), 255, np.uint8), np.full((2, 1), 127, np.int8)
    (code,) = qlinear_matmul(a, 1.0, 0, b, 1.0, 0, 512.0, 0).reshape(-1).tolist()
    return bool(code != round(2 * 255 * 127 / 512))


qlinear_add, qlinear_mul = _operator("QLinearAdd"), _operator("QLinearMul")
