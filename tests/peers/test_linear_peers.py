"""Linear layers of torchao and microxcaling: their operands, outputs and gradients.

The operands that a layer quantizes are caught, and equal those of `linear` and `linear_gradients`
bit for bit; what it computes lies inside the intervals of float32 sums, and outside those of other
choices. The folder `older` has those of torchao 0.6.1 and torchmx.
"""

from __future__ import annotations

import importlib
from typing import Any

import linear_layers as layers
import numpy as np
import pytest
import torch
from needs import checkout
from torchao.prototype.moe_training import mxfp8_linear as training
from torchao.prototype.mx_formats import mx_tensor

import mxref
from mxref.bits.floats import layout_of
from mxref.products.linear import bounds_with_bias, product_bounds
from mxref.products.linear_operands import gradient_operands, linear_operands

pytestmark = pytest.mark.filterwarnings("ignore")


# --- torchao 0.18.0 ----------------------------------------------------------------------------


@pytest.mark.parametrize("dtype", [layers.F32, layers.BF16])
@pytest.mark.parametrize("rule", ["floor", "rceil"])
@pytest.mark.parametrize(
    ("name", "element"), [("mxfp8_e4m3", layers.E4M3), ("mxfp8_e5m2", layers.E5M2)]
)
@pytest.mark.parametrize("lead", layers.LEADS)
def test_mx_mm(
    lead: tuple[int, ...], name: str, element: Any, rule: Any, dtype: torch.dtype
) -> None:
    x, w, grad = layers.tensors(lead, dtype, name)
    with layers.caught(mx_tensor, "to_mx") as results:
        y = training.mx_mm.apply(
            x.requires_grad_(),
            w.requires_grad_(),
            *[element] * 3,
            32,
            training.KernelPreference.EMULATED,
            training.MXFP8Dim0CastKernelChoice.TORCH,
            training.MXFP8Dim1CastKernelChoice.TORCH,
            training.ScaleCalculationMode[rule.upper()],
            False,
        )
        y.backward(grad)
    arrays = [layers.array(tensor) for tensor in (x, w, grad)]
    forward = linear_operands(*arrays[:2], name, scale_rule=rule)
    backward = gradient_operands(*arrays, name, scale_rule=rule)
    reused = gradient_operands(*arrays, name, scale_rule=rule, backward_operands="reused")
    layers.check_codes(results, [*forward, *backward[0], *backward[1]])
    assert layers.outside(y, forward) == 0
    layers.check_gradients(x.grad, w.grad, backward, reused)


@pytest.mark.parametrize("wgrad_with_hp", [False, True])
def test_mxfp8_linear(wgrad_with_hp: bool) -> None:
    x, w, grad = layers.tensors((4, 24), layers.F32, "mxfp8_e4m3")
    emulated = training.KernelPreference.EMULATED
    layer = training.MXFP8Linear(
        layers.K, layers.N, kernel_preference=emulated, wgrad_with_hp=wgrad_with_hp
    )
    layer.weight.data.copy_(w)
    layer.bias.data.copy_(layers.scaled(3, (layers.N,), layers.F32))
    y = layer(x.requires_grad_())
    y.backward(grad)
    arrays = [layers.array(tensor) for tensor in (x, w, grad)]
    pair = linear_operands(*arrays[:2], "mxfp8_e4m3", scale_rule="rceil")
    bounds = bounds_with_bias(
        product_bounds(*pair, np.float32), layers.array(layer.bias), layout_of(np.float32)
    )
    assert bounds.hold(
        layers.array(y).reshape(bounds.lo.shape)
    ).all()  # added afterwards, in float32
    for_dx, for_dw = gradient_operands(*arrays, "mxfp8_e4m3", scale_rule="rceil")
    assert layers.outside(x.grad, for_dx) == 0
    assert (layers.outside(layer.weight.grad, for_dw) > 0) == wgrad_with_hp
    assert layers.column_sums_outside(layer.bias.grad[None], arrays[2].reshape(-1, layers.N)) == 0


# --- microxcaling 7bc41952 ---------------------------------------------------------------------


XCALING = {
    "mxfp8_e5m2": "fp8_e5m2",
    "mxfp8_e4m3": "fp8_e4m3",
    "mxfp6_e3m2": "fp6_e3m2",
    "mxfp6_e2m3": "fp6_e2m3",
    "mxfp4_e2m1": "fp4_e2m1",
    "mxint8": "int8",
}


@pytest.mark.parametrize("name", XCALING)
@pytest.mark.parametrize(("lead", "k"), [((60,), 40), ((3, 20), layers.K), ((2, 3, 20), 96)])
def test_microxcaling_linear(
    name: str, lead: tuple[int, ...], k: int, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.syspath_prepend(checkout("MXREF_MICROXCALING"))
    mx, specs = map(importlib.import_module, ("mx.linear", "mx.specs"))
    form = XCALING[name]
    spec = specs.finalize_mx_specs(
        {"w_elem_format": form, "a_elem_format": form, "scale_bits": 8, "block_size": 32}
        | {"bfloat": 0, "fp": 0, "custom_cuda": False}
    )
    x, w, grad = layers.tensors(lead, layers.F32, name, k)
    layer = mx.Linear(k, layers.N, mx_specs=spec)
    layer.weight.data.copy_(w)
    layer.bias.data.zero_()
    with layers.caught(mx, "quantize_mx_op") as results:
        y = layer(x.requires_grad_())
        y.backward(grad)
    arrays = [layers.array(tensor) for tensor in (x, w, grad)]
    policy = mxref.profile("microxcaling_torch").policy
    rows: Any = "sequences" if len(lead) > 1 else "flattened"
    forward = linear_operands(*arrays[:2], name, policy)
    backward = gradient_operands(*arrays, name, policy.replace(gradient_rows=rows))
    for_dx, for_dw = backward
    # It gives numbers: x and w for y, x and grad for dw, w and grad for dx.
    sequences = for_dw[1], for_dw[0].T
    operands = [forward[0], forward[1].T, *sequences, for_dx[1], for_dx[0]]
    assert len(results) == len(operands)
    for result, blocks in zip(results, operands, strict=True):
        expected = blocks.dequantize()
        if blocks in sequences:  # filled up to whole blocks
            filled = expected.reshape(
                -1, len(expected) // (x.numel() // k // lead[-1]), expected.shape[1]
            )
            expected = filled[:, : lead[-1]]
        np.testing.assert_array_equal(layers.array(result).reshape(expected.shape), expected)
    assert layers.outside(y, forward) == 0
    wrong = gradient_operands(*arrays, name, policy.replace(backward_operands="reused"))
    layers.check_gradients(x.grad, layer.weight.grad, backward, wrong)
    if len(lead) > 1:
        _, flattened = gradient_operands(*arrays, name, policy)
        assert layers.outside(layer.weight.grad, flattened)
    assert layers.column_sums_outside(layer.bias.grad[None], arrays[2].reshape(-1, layers.N)) == 0
