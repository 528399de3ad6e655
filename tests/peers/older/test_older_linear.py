"""Linear layers of torchao 0.6.1 and torchmx, as test_linear_peers.py has those of others."""

from __future__ import annotations

from typing import Any

import linear_layers as shared
import numpy as np
import pytest
import torch
from torchao.prototype.mx_formats import mx_linear as old
from torchao.prototype.mx_formats import mx_tensor as old_tensor
from torchmx import config, dtypes, mx_tensor
from torchmx.layers import mx_linear as layers

import mxref
from mxref.products.linear_operands import gradient_operands, linear_operands

pytestmark = pytest.mark.filterwarnings("ignore")

OLD = [("mxfp8_e4m3", shared.E4M3), ("mxfp8_e5m2", shared.E5M2), ("mxfp6_e3m2", "fp6_e3m2"),
       ("mxfp6_e2m3", "fp6_e2m3"), ("mxfp4_e2m1", "fp4_e2m1")]  # fmt: skip


def below_log2(tensor: Any) -> Any:
    """Numbers with significands up to 1.75: of larger ones the logarithm in bfloat16 rounds up."""
    significand, exponent = torch.frexp(tensor.float())
    return torch.ldexp(significand.clamp(-0.875, 0.875), exponent).to(tensor.dtype)


def old_layer(w: Any, kind: str, element: Any) -> Any:
    """A layer of torchao 0.6.1, with a bias of zeros."""
    layer = torch.nn.Linear(*reversed(w.shape), dtype=w.dtype)
    layer.weight.data.copy_(w)
    layer.bias.data.zero_()
    return getattr(old, kind).from_float(layer, element, 32)


@pytest.mark.parametrize("dtype", [shared.F32, shared.BF16])
@pytest.mark.parametrize(("name", "element"), OLD)
@pytest.mark.parametrize("lead", shared.LEADS)
def test_mx_linear(lead: tuple[int, ...], name: str, element: Any, dtype: torch.dtype) -> None:
    x, w, grad = map(below_log2, shared.tensors(lead, dtype, name))
    layer = old_layer(w, "MXLinear", element)
    with shared.caught(old_tensor, "to_mx") as results, shared.caught(old, "to_mx") as of_grad:
        y = layer(x.requires_grad_())
        y.backward(grad)
    arrays = [shared.array(one) for one in (x, w, grad)]
    forward = linear_operands(*arrays[:2], name)
    along_n = mxref.quantize(arrays[2].reshape(-1, shared.N), name)
    shared.check_codes([*results, *of_grad], [*forward, along_n], "high_nibble_first")
    assert shared.outside(y, forward) == 0
    reused = gradient_operands(*arrays, name, backward_operands="reused")
    shared.check_gradients(x.grad, layer.weight.grad, reused, gradient_operands(*arrays, name))
    # Unlike that of all other layers, its bias has the sums of the quantized gradient.
    db, quantized = layer.bias.grad[None], along_n.dequantize(np.float64)
    assert shared.column_sums_outside(db, quantized) == 0
    assert shared.column_sums_outside(db, arrays[2].reshape(-1, shared.N))


@pytest.mark.parametrize("dtype", [shared.F32, shared.BF16])
@pytest.mark.parametrize(("name", "element"), OLD)
def test_old_mx_inference_linear(name: str, element: Any, dtype: torch.dtype) -> None:
    x, w, _ = map(below_log2, shared.tensors((4, 24), dtype, name))
    with shared.caught(old_tensor, "to_mx") as results:
        layer = old_layer(w, "MXInferenceLinear", element)
    y = layer(x)
    arrays = [shared.array(one) for one in (x, w)]
    pair = linear_operands(*arrays, name, weight_axis="out", activations="kept")
    shared.check_codes(results, [pair[1]], "high_nibble_first")
    assert shared.outside(y, pair) == 0
    assert shared.outside(y, linear_operands(*arrays, name, activations="kept"))
    assert shared.outside(y, linear_operands(*arrays, name, weight_axis="out"))


def test_old_blocks_run_across_rows() -> None:
    # Where shared.K is no multiple of 32: a block holds the end of a row and the start of the next.
    x, w, _ = (
        below_log2(tensor) for tensor in shared.tensors((4, 24), shared.F32, "mxfp8_e4m3", 40)
    )
    layer = old_layer(w, "MXLinear", shared.E4M3)
    with shared.caught(old_tensor, "to_mx") as results:
        layer(x)
    rows = [mxref.quantize(shared.array(one).reshape(-1, 32), "mxfp8_e4m3") for one in (x, w)]
    shared.check_codes(results, rows)


# --- torchmx 0.1.0 -----------------------------------------------------------------------------


@pytest.mark.parametrize("k", [shared.K, 40])
@pytest.mark.parametrize("name", ["mxfp8_e4m3", "mxfp6_e3m2", "mxfp6_e2m3", "mxfp4_e2m1"])
def test_torchmx_inference_linear(name: str, k: int) -> None:
    element = config.MXConfig(f"float{name[4]}_{name[6:]}", 32)
    x, w, _ = shared.tensors((4, 24), shared.BF16, name, k)
    linear = torch.nn.Linear(k, shared.N, bias=False, dtype=shared.BF16)
    linear.weight.data.copy_(w)
    with shared.caught(mx_tensor, "quantize_mx") as results:
        layer = layers.MXInferenceLinear.from_float(linear, config.QLinearConfig(element, element))
        y = layer(x)
    arrays = [shared.array(one) for one in (x, w)]
    pair = linear_operands(*arrays, name)
    shared.check_codes(results, [pair[1], pair[0]], "high_nibble_first")
    assert shared.outside(y, pair) == 0
    assert shared.outside(y, linear_operands(*arrays, name, weight_axis="out"))
    assert shared.outside(y, linear_operands(*arrays, name, activations="kept"))


def test_torchmx_gradient_is_quantize() -> None:
    _, _, grad = shared.tensors((4, 24), shared.BF16, "mxfp8_e4m3")
    with shared.caught(mx_tensor, "quantize_mx") as results:
        leaf = torch.zeros_like(grad).requires_grad_()
        mx_tensor.NoopFwToMXBw.apply(leaf, dtypes.float8_e4m3, 32).backward(grad)
    shared.check_codes(
        results, [mxref.quantize(shared.array(grad).reshape(-1, shared.N), "mxfp8_e4m3")]
    )
