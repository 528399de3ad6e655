"""Linear layers of torchao, torchmx and microxcaling: their operands, outputs and gradients.

The operands that a layer quantizes are caught, and equal those of `linear` and `linear_gradients`
bit for bit; what it computes lies inside the intervals of float32 sums, and outside those of other
choices. It needs torch 2.13.0 on a CPU. Two versions of torchao do not go into one environment: run
it in that of torchao 0.18.0, with `MXREF_MICROXCALING`, and in that of torchao 0.6.1 and torchmx.
"""

from __future__ import annotations

import importlib
import os
from collections.abc import Iterator
from contextlib import contextmanager
from typing import Any
from unittest.mock import patch

import ml_dtypes
import numpy as np
import pytest
import torch

import mxref
from mxref.bits.floats import layout_of
from mxref.products.float_products import float_product_bounds
from mxref.products.linear import bounds_with_bias, product_bounds
from mxref.products.linear_operands import gradient_operands, linear_operands

pytestmark = pytest.mark.filterwarnings("ignore")

F32, BF16 = torch.float32, torch.bfloat16
E4M3, E5M2 = torch.float8_e4m3fn, torch.float8_e5m2
K, N = 160, 96
LEADS = [(64,), (4, 24)]


def peer(module: str) -> Any:
    """A module, or a skipped test that names it."""
    try:
        return importlib.import_module(module)
    except ImportError as error:
        pytest.skip(f"{module} must be installed: {error}")


def scaled(seed: int, shape: tuple[int, ...], dtype: torch.dtype, spread: int = 9) -> Any:
    """Normal numbers times powers of two for each index of each axis."""
    rng = np.random.default_rng(seed)
    values = rng.standard_normal(shape)
    for axis, count in enumerate(shape):
        powers = np.exp2(rng.integers(-spread, spread + 1, count))
        values *= powers.reshape(-1, *(1,) * (len(shape) - axis - 1))
    return torch.tensor(values).to(dtype)


def tensors(lead: tuple[int, ...], dtype: torch.dtype, name: str, k: int = K) -> list[Any]:
    """x, w and the gradient of the output, for a format."""
    spread = 20 if name.endswith("e5m2") else 9
    shapes = (*lead, k), (N, k), (*lead, N)
    return [scaled(i, shape, dtype, spread) for i, shape in enumerate(shapes)]


def array(tensor: Any) -> Any:
    """The array of a tensor's bits; bfloat16 is that of ml_dtypes, 8-bit floats are uint8."""
    tensor = tensor.detach().contiguous()
    if tensor.dtype == BF16:
        return tensor.view(torch.int16).numpy().view(ml_dtypes.bfloat16)
    floats = tensor.dtype.is_floating_point and tensor.dtype.itemsize == 1
    return (tensor.view(torch.uint8) if floats else tensor).numpy()


@contextmanager
def caught(module: Any, name: str) -> Iterator[list[Any]]:
    """What a function of a module returns, call by call."""
    function, results = getattr(module, name), []

    def keep(*args: Any, **kwargs: Any) -> Any:
        results.append(function(*args, **kwargs))
        return results[-1]

    with patch.object(module, name, keep):
        yield results


def check_codes(results: list[Any], operands: list[Any], packing: Any = "low_nibble_first") -> None:
    """Scales and codes of a library, always with blocks along the last axis."""
    assert len(results) == len(operands)
    for (scales, codes), blocks in zip(results, operands, strict=True):
        along = blocks.T if blocks.axis == 0 else blocks
        found = array(codes).view(np.uint8).reshape(len(along.codes), -1)
        size = along.shape[1]
        if found.shape[1] < size:  # two in a byte
            found = mxref.unpack(found, "e2m1", 2 * found.shape[1], fp4_packing=packing)
        np.testing.assert_array_equal(found[:, :size], along.codes[:, :size])
        np.testing.assert_array_equal(
            array(scales).reshape(along.scale_codes.shape), along.scale_codes
        )


def outside(result: Any, pair: Any) -> int:
    """How many numbers of a result lie outside the interval of the operands' product."""
    got = array(result)
    bounds = product_bounds(*pair, got.dtype)
    return int((~bounds.hold(got.reshape(bounds.lo.shape))).sum())


def column_sums_outside(result: Any, numbers: Any) -> int:
    """How many sums lie outside the intervals of float32 sums of columns of numbers."""
    got = array(result)
    bounds = float_product_bounds(np.ones((1, len(numbers))), numbers, layout_of(got.dtype))
    return int((~bounds.hold(got)).sum())


def check_gradients(dx: Any, dw: Any, right: Any, wrong: Any) -> None:
    """Inside the intervals of one choice, and not of another."""
    assert [outside(*one) for one in zip((dx, dw), right, strict=True)] == [0, 0]
    assert all(outside(*one) for one in zip((dx, dw), wrong, strict=True))


# --- torchao 0.18.0 ----------------------------------------------------------------------------


@pytest.mark.parametrize("dtype", [F32, BF16])
@pytest.mark.parametrize("rule", ["floor", "rceil"])
@pytest.mark.parametrize(("name", "element"), [("mxfp8_e4m3", E4M3), ("mxfp8_e5m2", E5M2)])
@pytest.mark.parametrize("lead", LEADS)
def test_mx_mm(
    lead: tuple[int, ...], name: str, element: Any, rule: Any, dtype: torch.dtype
) -> None:
    training = peer("torchao.prototype.moe_training.mxfp8_linear")
    to_mx = peer("torchao.prototype.mx_formats.mx_tensor")
    x, w, grad = tensors(lead, dtype, name)
    with caught(to_mx, "to_mx") as results:
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
    arrays = [array(tensor) for tensor in (x, w, grad)]
    forward = linear_operands(*arrays[:2], name, scale_rule=rule)
    backward = gradient_operands(*arrays, name, scale_rule=rule)
    reused = gradient_operands(*arrays, name, scale_rule=rule, backward_operands="reused")
    check_codes(results, [*forward, *backward[0], *backward[1]])
    assert outside(y, forward) == 0
    check_gradients(x.grad, w.grad, backward, reused)


@pytest.mark.parametrize("wgrad_with_hp", [False, True])
def test_mxfp8_linear(wgrad_with_hp: bool) -> None:
    training = peer("torchao.prototype.moe_training.mxfp8_linear")
    x, w, grad = tensors((4, 24), F32, "mxfp8_e4m3")
    emulated = training.KernelPreference.EMULATED
    layer = training.MXFP8Linear(K, N, kernel_preference=emulated, wgrad_with_hp=wgrad_with_hp)
    layer.weight.data.copy_(w)
    layer.bias.data.copy_(scaled(3, (N,), F32))
    y = layer(x.requires_grad_())
    y.backward(grad)
    arrays = [array(tensor) for tensor in (x, w, grad)]
    pair = linear_operands(*arrays[:2], "mxfp8_e4m3", scale_rule="rceil")
    bounds = bounds_with_bias(
        product_bounds(*pair, np.float32), array(layer.bias), layout_of(np.float32)
    )
    assert bounds.hold(array(y).reshape(bounds.lo.shape)).all()  # added afterwards, in float32
    for_dx, for_dw = gradient_operands(*arrays, "mxfp8_e4m3", scale_rule="rceil")
    assert outside(x.grad, for_dx) == 0
    assert (outside(layer.weight.grad, for_dw) > 0) == wgrad_with_hp
    assert column_sums_outside(layer.bias.grad[None], arrays[2].reshape(-1, N)) == 0


# --- torchao 0.6.1 -----------------------------------------------------------------------------

OLD = [("mxfp8_e4m3", E4M3), ("mxfp8_e5m2", E5M2), ("mxfp6_e3m2", "fp6_e3m2"),
       ("mxfp6_e2m3", "fp6_e2m3"), ("mxfp4_e2m1", "fp4_e2m1")]  # fmt: skip


def below_log2(tensor: Any) -> Any:
    """Numbers with significands up to 1.75: of larger ones the logarithm in bfloat16 rounds up."""
    significand, exponent = torch.frexp(tensor.float())
    return torch.ldexp(significand.clamp(-0.875, 0.875), exponent).to(tensor.dtype)


def old_layer(w: Any, kind: str, element: Any) -> Any:
    """A layer of torchao 0.6.1, with a bias of zeros."""
    old = peer("torchao.prototype.mx_formats.mx_linear")
    layer = torch.nn.Linear(*reversed(w.shape), dtype=w.dtype)
    layer.weight.data.copy_(w)
    layer.bias.data.zero_()
    return old, getattr(old, kind).from_float(layer, element, 32)


@pytest.mark.parametrize("dtype", [F32, BF16])
@pytest.mark.parametrize(("name", "element"), OLD)
@pytest.mark.parametrize("lead", LEADS)
def test_mx_linear(lead: tuple[int, ...], name: str, element: Any, dtype: torch.dtype) -> None:
    x, w, grad = map(below_log2, tensors(lead, dtype, name))
    old, layer = old_layer(w, "MXLinear", element)
    tensor = peer("torchao.prototype.mx_formats.mx_tensor")
    with caught(tensor, "to_mx") as results, caught(old, "to_mx") as of_grad:
        y = layer(x.requires_grad_())
        y.backward(grad)
    arrays = [array(one) for one in (x, w, grad)]
    forward = linear_operands(*arrays[:2], name)
    along_n = mxref.quantize(arrays[2].reshape(-1, N), name)
    check_codes([*results, *of_grad], [*forward, along_n], "high_nibble_first")
    assert outside(y, forward) == 0
    reused = gradient_operands(*arrays, name, backward_operands="reused")
    check_gradients(x.grad, layer.weight.grad, reused, gradient_operands(*arrays, name))
    # Unlike that of all other layers, its bias has the sums of the quantized gradient.
    db, quantized = layer.bias.grad[None], along_n.dequantize(np.float64)
    assert column_sums_outside(db, quantized) == 0
    assert column_sums_outside(db, arrays[2].reshape(-1, N))


@pytest.mark.parametrize("dtype", [F32, BF16])
@pytest.mark.parametrize(("name", "element"), OLD)
def test_old_mx_inference_linear(name: str, element: Any, dtype: torch.dtype) -> None:
    x, w, _ = map(below_log2, tensors((4, 24), dtype, name))
    tensor = peer("torchao.prototype.mx_formats.mx_tensor")
    with caught(tensor, "to_mx") as results:
        _, layer = old_layer(w, "MXInferenceLinear", element)
    y = layer(x)
    arrays = [array(one) for one in (x, w)]
    pair = linear_operands(*arrays, name, weight_axis="out", activations="kept")
    check_codes(results, [pair[1]], "high_nibble_first")
    assert outside(y, pair) == 0
    assert outside(y, linear_operands(*arrays, name, activations="kept"))
    assert outside(y, linear_operands(*arrays, name, weight_axis="out"))


def test_old_blocks_run_across_rows() -> None:
    # Where K is no multiple of 32: a block holds the end of a row and the start of the next.
    x, w, _ = (below_log2(tensor) for tensor in tensors((4, 24), F32, "mxfp8_e4m3", 40))
    _, layer = old_layer(w, "MXLinear", E4M3)
    with caught(peer("torchao.prototype.mx_formats.mx_tensor"), "to_mx") as results:
        layer(x)
    rows = [mxref.quantize(array(one).reshape(-1, 32), "mxfp8_e4m3") for one in (x, w)]
    check_codes(results, rows)


# --- torchmx 0.1.0 -----------------------------------------------------------------------------


@pytest.mark.parametrize("k", [K, 40])
@pytest.mark.parametrize("name", ["mxfp8_e4m3", "mxfp6_e3m2", "mxfp6_e2m3", "mxfp4_e2m1"])
def test_torchmx_inference_linear(name: str, k: int) -> None:
    layers = peer("torchmx.layers.mx_linear")
    config, tensor = peer("torchmx.config"), peer("torchmx.mx_tensor")
    element = config.MXConfig(f"float{name[4]}_{name[6:]}", 32)
    x, w, _ = tensors((4, 24), BF16, name, k)
    linear = torch.nn.Linear(k, N, bias=False, dtype=BF16)
    linear.weight.data.copy_(w)
    with caught(tensor, "quantize_mx") as results:
        layer = layers.MXInferenceLinear.from_float(linear, config.QLinearConfig(element, element))
        y = layer(x)
    arrays = [array(one) for one in (x, w)]
    pair = linear_operands(*arrays, name)
    check_codes(results, [pair[1], pair[0]], "high_nibble_first")
    assert outside(y, pair) == 0
    assert outside(y, linear_operands(*arrays, name, weight_axis="out"))
    assert outside(y, linear_operands(*arrays, name, activations="kept"))


def test_torchmx_gradient_is_quantize() -> None:
    tensor, types = peer("torchmx.mx_tensor"), peer("torchmx.dtypes")
    _, _, grad = tensors((4, 24), BF16, "mxfp8_e4m3")
    with caught(tensor, "quantize_mx") as results:
        leaf = torch.zeros_like(grad).requires_grad_()
        tensor.NoopFwToMXBw.apply(leaf, types.float8_e4m3, 32).backward(grad)
    check_codes(results, [mxref.quantize(array(grad).reshape(-1, N), "mxfp8_e4m3")])


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
@pytest.mark.parametrize(("lead", "k"), [((60,), 40), ((3, 20), K), ((2, 3, 20), 96)])
def test_microxcaling_linear(
    name: str, lead: tuple[int, ...], k: int, monkeypatch: pytest.MonkeyPatch
) -> None:
    checkout = os.environ.get("MXREF_MICROXCALING")
    if checkout is None:
        pytest.skip("MXREF_MICROXCALING names no checkout")
    monkeypatch.syspath_prepend(checkout)
    mx, specs = peer("mx.linear"), peer("mx.specs")
    form = XCALING[name]
    spec = specs.finalize_mx_specs(
        {"w_elem_format": form, "a_elem_format": form, "scale_bits": 8, "block_size": 32}
        | {"bfloat": 0, "fp": 0, "custom_cuda": False}
    )
    x, w, grad = tensors(lead, F32, name, k)
    layer = mx.Linear(k, N, mx_specs=spec)
    layer.weight.data.copy_(w)
    layer.bias.data.zero_()
    with caught(mx, "quantize_mx_op") as results:
        y = layer(x.requires_grad_())
        y.backward(grad)
    arrays = [array(tensor) for tensor in (x, w, grad)]
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
        np.testing.assert_array_equal(array(result).reshape(expected.shape), expected)
    assert outside(y, forward) == 0
    wrong = gradient_operands(*arrays, name, policy.replace(backward_operands="reused"))
    check_gradients(x.grad, layer.weight.grad, backward, wrong)
    if len(lead) > 1:
        _, flattened = gradient_operands(*arrays, name, policy)
        assert outside(layer.weight.grad, flattened)
    assert column_sums_outside(layer.bias.grad[None], arrays[2].reshape(-1, N)) == 0
