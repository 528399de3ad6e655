"""ExecuTorch's pass on graphs, each with a condition of its own, beside `fuses`."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest
import torch

from mxref.integer import Condition, QParams, fuses

pytestmark = pytest.mark.filterwarnings("ignore")  # what exporting says of itself
W4, W8 = np.int8([[-8, 7, 0, -1], [1, 2, 3, -4]]), np.int8([[-128, 7, 0, -1], [1, 2, 3, 127]])
ROWS = QParams([0.5, 0.25], axis=0)
#: A weight, its parameters, whether x is dequantized, whether there is a bias, and the operators of
#: the pass, or the error that it raises.
GRAPHS: list[tuple[Any, QParams, bool, bool, tuple[str, ...] | type[Exception]]] = [
    (W8, ROWS, False, False, ("_weight_int8pack_mm",)),
    (W8, ROWS, False, True, ("_weight_int8pack_mm", "add")),
    (W4, ROWS, False, False, ("linear_qcs4w",)),
    (W4, ROWS, False, True, ("linear_qcs4w", "add")),
    (W8[:, :3], ROWS, False, False, ("_weight_int8pack_mm",)),
    (W8, ROWS, True, False, ()),
    (W8, QParams(0.5), False, False, ()),
    (W4, QParams(np.ones((2, 2)), axis=1), False, False, ()),
    (np.uint8(W4 + 8), QParams([0.5, 0.25], 0, 0, 255, np.uint8, 0), False, False, ()),
    (np.int16(W4), QParams([0.5, 0.25], 0, dtype=np.int16, axis=0), False, False, ()),
    (W8, QParams([0.5, 0.25], [0, 1], axis=0), False, False, NotImplementedError),
    (W8, QParams([1.0, 2.0, 3.0, 4.0], axis=1), False, False, RuntimeError),
    (W4[:, :3], ROWS, False, False, RuntimeError),
]


class Layer(torch.nn.Module):
    """linear(x, dequantized weight, bias)."""

    def __init__(self, w: Any, qparams: QParams, *, input_dequantized: bool, bias: bool) -> None:
        super().__init__()
        self.register_buffer("w", torch.from_numpy(w.copy()))
        self.register_buffer("scale", torch.tensor(qparams.scale, dtype=torch.float32))
        zeros = np.broadcast_to(qparams.zero_point, qparams.scale.shape).copy()
        self.register_buffer("zero", torch.from_numpy(zeros))
        self.register_buffer("bias", torch.ones(len(w)) if bias else None)
        self.axis, self.dequantized = qparams.axis, input_dequantized

    def forward(self, x: torch.Tensor) -> torch.Tensor:
        ops, kind = torch.ops.quantized_decomposed, torch.iinfo(self.w.dtype)
        ends = kind.min, kind.max, self.w.dtype
        if self.dequantized:
            of_x = 0.1, 0, -128, 127, torch.int8
            x = ops.dequantize_per_tensor(ops.quantize_per_tensor(x, *of_x), *of_x)
        if self.axis is None:
            w = ops.dequantize_per_tensor(self.w, 0.5, 0, *ends)
        elif self.scale.ndim == 2:
            group = self.w.shape[1] // self.scale.shape[1]
            given = self.w, self.scale, self.zero, *ends, group, torch.float32
            w = ops.dequantize_per_channel_group(*given)
        else:
            w = ops.dequantize_per_channel(self.w, self.scale, self.zero, self.axis, *ends)
        return torch.nn.functional.linear(x, w, self.bias)


def passed(layer: Layer) -> list[str]:
    """The operators of the graph after the pass."""
    import executorch.backends.vulkan.custom_ops_lib  # noqa: F401 (it registers the operators)
    from executorch.backends.vulkan._passes.fuse_quantized_ops import FuseQuantizedOpsTransform
    from executorch.exir import EdgeCompileConfig, to_edge

    x = torch.ones(layer.w.shape[0], layer.w.shape[1])
    linear = [torch.ops.aten.linear.default]
    config = EdgeCompileConfig(_check_ir_validity=False, _skip_dim_order=True, preserve_ops=linear)
    exported = torch.export.export(layer, (x,), strict=True)
    program = to_edge(exported, compile_config=config).exported_program()
    its = FuseQuantizedOpsTransform()
    its._exported_program = program
    graph = its(program.graph_module).graph_module.graph
    return [n.target.__name__.split(".")[1] for n in graph.nodes if n.op == "call_function"]


@pytest.mark.parametrize(
    ("w", "qparams", "input_dequantized", "bias", "want"), GRAPHS, ids=range(len(GRAPHS))
)
def test_the_pass(w: Any, qparams: QParams, input_dequantized: bool, bias: bool, want: Any) -> None:
    own = fuses(w, qparams, input_dequantized=input_dequantized, bias=bias)
    layer = Layer(w, qparams, input_dequantized=input_dequantized, bias=bias)
    if isinstance(want, type):
        with pytest.raises(want):
            passed(layer)
        assert own.becomes == ()
        raising = Condition.ZEROS, Condition.AXIS, Condition.COLUMNS
        assert own.fails in raising
        return
    theirs = passed(layer)
    named = tuple(op.replace("_weight_int8pack_mm", "linear_qcs8w") for op in want)
    assert own.becomes == named
    if want:
        assert theirs == [*want]
    else:
        assert own.fails in (Condition.INPUT, Condition.CHANNELS, Condition.DTYPE)
        assert "linear" in theirs


def test_a_square_weight_is_scaled_along_the_wrong_axis() -> None:
    square = np.int8([[100, 1], [2, 3]])
    qparams = QParams([1.0, 4.0], axis=1)
    layer = Layer(square, qparams, input_dequantized=False, bias=False)
    assert passed(layer) == ["_weight_int8pack_mm"]
    assert fuses(square, qparams) == ((), Condition.AXIS)
