"""Products of matrices of codes beside onnxruntime's QLinearMatMul."""

from __future__ import annotations

import numpy as np
import onnxruntime
import pytest
from onnx import TensorProto, helper
from shares import Share

from mxref.integer import qlinear_matmul

F32 = np.float32


def session(kind: int, *, columns: bool) -> onnxruntime.InferenceSession:
    """A graph of one QLinearMatMul, with one scale or one for each column of b."""
    shape = ["n"] if columns else []
    inputs = [
        ("a", kind, [None, None]), ("as", TensorProto.FLOAT, []), ("az", kind, []),
        ("b", TensorProto.INT8, [None, None]), ("bs", TensorProto.FLOAT, shape),
        ("bz", TensorProto.INT8, shape), ("ys", TensorProto.FLOAT, []), ("yz", kind, []),
    ]  # fmt: skip
    node = helper.make_node("QLinearMatMul", [name for name, _, _ in inputs], ["y"])
    graph = helper.make_graph(
        [node],
        "product",
        [helper.make_tensor_value_info(*one) for one in inputs],
        [helper.make_tensor_value_info("y", kind, [None, None])],
    )
    model = helper.make_model(graph, opset_imports=[helper.make_opsetid("", 21)], ir_version=10)
    return onnxruntime.InferenceSession(
        model.SerializeToString(), providers=["CPUExecutionProvider"]
    )


@pytest.mark.parametrize("columns", [False, True])
@pytest.mark.parametrize("dtype", ["int8", "uint8"])
def test_onnxruntime_gives_the_same_codes(dtype: str, columns: bool, share: Share) -> None:
    """One sum of each product lies next to a tie; a third of the scales are powers of two."""
    random, info = np.random.default_rng(7), np.iinfo(dtype)
    run = session(TensorProto.INT8 if dtype == "int8" else TensorProto.UINT8, columns=columns)
    for turn in range(5200 if share.complete else 600):
        m, k, n = (int(random.integers(1, most)) for most in (14, 60, 14))
        a = random.integers(info.min, info.max, (m, k), endpoint=True).astype(dtype)
        b = random.integers(-128, 127, (k, n), endpoint=True).astype(np.int8)
        a_zero, y_zero = random.integers(info.min, info.max, 2, endpoint=True).astype(dtype)
        count = n if columns else 1
        b_zero = random.integers(-128, 127, count, endpoint=True).astype(np.int8)
        scales = random.uniform(0.001, 0.1, count + 1)
        if turn % 3 == 0:
            scales = 2.0 ** random.integers(-8, 0, count + 1)
        a_scale, b_scale = F32(scales[0]), scales[1:].astype(F32)
        total = (a[0].astype(int) - int(a_zero)) @ (b[:, 0].astype(int) - int(b_zero[0]))
        tie = random.integers(0, 128) + 0.5
        y_scale = F32(abs(int(total)) * float(a_scale) * float(b_scale[0]) / tie) or F32(1)
        if not columns:
            b_scale, b_zero = b_scale[0], b_zero[0]
        given = a, a_scale, a_zero, b, b_scale, b_zero, y_scale, y_zero
        names = ("a", "as", "az", "b", "bs", "bz", "ys", "yz")
        (want,) = run.run(None, {key: np.asarray(x) for key, x in zip(names, given, strict=True)})
        own = qlinear_matmul(
            a, float(a_scale), int(a_zero), b, b_scale, b_zero, float(y_scale), int(y_zero)
        )
        assert np.array_equal(own, want)
