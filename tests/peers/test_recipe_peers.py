"""Layers of recipes against the originals in PyTorch on a CPU: operands bit for bit, and products.

`MXREF_TRANSFORMER_ENGINE` (d0067d0d) and `MXREF_DEEPGEMM` (54e22612) name checkouts. Not run here
is what has no original on a CPU: Transformer Engine's stochastic rounding, which its reference
lacks, its MXFP8 in tiles of 32 x 32, and DeepSeek-V3's training, which is not published.
tests/products/test_recipes.py compares these with the slow twin.
"""

from __future__ import annotations

import dataclasses
import importlib
import types
from pathlib import Path
from typing import Any

import linear_layers as layers
import numpy as np
import pytest
import torch
from needs import checkout
from nvfp4_reference import nvfp4_quantizer
from torchao.prototype.moe_training import mxfp8_linear as training
from torchao.prototype.mx_formats import mx_tensor

import mxref
from mxref.blocks.container import Blocks
from mxref.products.recipe_operands import recipe_gradients, recipe_output

pytestmark = pytest.mark.filterwarnings("ignore")


# --- torchao 0.18.0 ----------------------------------------------------------------------------


@pytest.mark.parametrize("wgrad_with_hp", [False, True])
@pytest.mark.parametrize("dtype", [layers.F32, layers.BF16])
@pytest.mark.parametrize("lead", layers.LEADS)
def test_torchao(lead: tuple[int, ...], dtype: torch.dtype, *, wgrad_with_hp: bool) -> None:
    x, w, grad = layers.tensors(lead, dtype, "mxfp8_e4m3")
    with torch.no_grad():
        x.view(-1, layers.K)[0, :64] = torch.nan
        w[3] = 0
    with layers.caught(mx_tensor, "to_mx") as results:
        y = training.mx_mm.apply(
            x.requires_grad_(), w.requires_grad_(), *[layers.E4M3] * 3, 32,
            training.KernelPreference.EMULATED,
            training.MXFP8Dim0CastKernelChoice.TORCH, training.MXFP8Dim1CastKernelChoice.TORCH,
            training.ScaleCalculationMode.RCEIL, wgrad_with_hp,
        )  # fmt: skip
        y.backward(grad)
    arrays = [layers.array(tensor) for tensor in (x, w, grad)]
    recipe = mxref.recipe("mxfp8_torchao" + "_wgrad_with_hp" * wgrad_with_hp)
    forward, backward = recipe_output(*arrays[:2], recipe), recipe_gradients(*arrays, recipe)
    pairs = [forward, *backward]
    operands = [one for pair in pairs for one in pair if isinstance(one, Blocks)]
    assert len(operands) == 6 - 2 * wgrad_with_hp
    layers.check_codes(results, operands)
    found = (y, x.grad, w.grad)
    assert [layers.outside(*one) for one in zip(found, pairs, strict=True)] == [0, 0, 0]
    other = mxref.recipe("mxfp8_torchao" + "_wgrad_with_hp" * (not wgrad_with_hp))
    assert layers.outside(w.grad, recipe_gradients(*arrays, other)[1])


# --- Transformer Engine: NVFP4 -----------------------------------------------------------------

#: What the reference has: gradients are rounded to nearest.
FOUR = mxref.recipe("nvfp4_transformer_engine")
NEAREST = dataclasses.replace(
    FOUR, dx_grad=FOUR.y_x, dw_grad=dataclasses.replace(FOUR.y_x, transform=FOUR.dw_x.transform)
)


class Quantized:
    """A tensor that the reference has quantized along its rows, and along its columns."""

    def __init__(self, quantizer: Any, tensor: torch.Tensor, **how: Any) -> None:
        """Quantize; its base class, which is not here, would keep both usages."""
        self.by = quantizer(dtype=None, **how)
        self.by.rowwise_usage = self.by.columnwise_usage = True
        *both, row, column = self.by._quantize(tensor)
        self.rows, self.columns = tuple(both[:2]), tuple(both[2:])
        self.amax = types.SimpleNamespace(global_amax_row=row, global_amax_col=column)


def of_layer(quantizer: Any, x: Any, w: Any, grad: Any) -> tuple[Quantized, Quantized, Quantized]:
    """Each tensor as nvfp4_ref_rht_2d_factory says."""
    along: dict[str, Any] = {"quant_tile_shape": (1, 16), "with_rht": True}
    g = Quantized(quantizer, grad, **along)
    return Quantized(quantizer, x, **along), Quantized(quantizer, w, quant_tile_shape=(16, 16)), g


def check_nvfp4(found: tuple[torch.Tensor, torch.Tensor], operand: Any) -> int:
    """Compare scale codes and codes, but for signs of zeros; how many codes were compared."""
    blocks = operand if 1 in operand.tiling.axes and operand.shape[1] else operand.T
    packed, scales = found
    stored = blocks.scale_codes.repeat(blocks.tiling.unit[0], axis=0)[: blocks.shape[0]]
    np.testing.assert_array_equal(stored, scales.view(torch.uint8).numpy())
    want = mxref.unpack(packed.numpy(), "e2m1", blocks.shape[1])
    codes = blocks.codes[:, : blocks.shape[1]]
    np.testing.assert_array_equal(np.where(codes == 8, 0, codes), np.where(want == 8, 0, want))
    return int(want.size)


def test_operands_of_nvfp4(monkeypatch: pytest.MonkeyPatch) -> None:
    quantizer, compared = nvfp4_quantizer(monkeypatch), 0
    for spread in (0, 2, 4):
        x, w, grad = (layers.scaled(70 + i, (512, 512), layers.BF16, spread) for i in range(3))
        q_x, q_w, q_g = of_layer(quantizer, x, w, grad)
        arrays = [layers.array(tensor) for tensor in (x, w, grad)]
        (x_y, w_y), (g_dx, w_dx), (g_dw, x_dw) = (
            recipe_output(*arrays[:2], NEAREST),
            *recipe_gradients(*arrays, NEAREST),
        )
        for found, operand in (
            (q_x.rows, x_y),
            (q_w.rows, w_y.T),
            (q_g.rows, g_dx),
            (q_w.columns, w_dx.T),
            (q_g.columns, g_dw),
            (q_x.columns, x_dw.T),
        ):
            compared += check_nvfp4(found, operand)
    print(f"{compared} codes compared")
    assert compared > 4_000_000


def test_the_hadamard_transform(monkeypatch: pytest.MonkeyPatch) -> None:
    """PyTorch's product of bfloat16 matrices, too, adds in float32 and rounds once."""
    quantizer = nvfp4_quantizer(monkeypatch)(dtype=None, with_rht=True)
    x = layers.scaled(75, (4096, 256), layers.BF16, 3)
    transform = FOUR.dw_x.transform
    assert transform is not None
    got = transform.transformed(layers.array(x))
    want = layers.array(quantizer._apply_rht(x))
    np.testing.assert_array_equal(got.astype(np.float32), want.astype(np.float32))


def test_products_of_nvfp4(monkeypatch: pytest.MonkeyPatch) -> None:
    x, w, grad = (
        layers.scaled(80 + i, shape, layers.BF16, 2)
        for i, shape in enumerate([(64, 96), (32, 96), (64, 32)])
    )
    q_x, q_w, q_g = of_layer(nvfp4_quantizer(monkeypatch), x, w, grad)

    def product(a: Quantized, b: Quantized, left: Any, right: Any, kind: int) -> torch.Tensor:
        (qx, sx), (qw, sw) = left, right
        found: torch.Tensor = a.by.qgemm(
            qx, qw, None, torch.float32, sx, sw, gemm_type=kind, qresult_x=a.amax, qresult_w=b.amax
        )
        return found

    arrays = [layers.array(tensor) for tensor in (x, w, grad)]
    pairs = recipe_output(*arrays[:2], NEAREST), *recipe_gradients(*arrays, NEAREST)
    found = (
        product(q_x, q_w, q_x.rows, q_w.rows, 0),
        product(q_g, q_w, q_g.rows, q_w.columns, 1),
        product(q_g, q_x, q_g.columns, q_x.columns, 2),
    )
    assert [layers.outside(*one) for one in zip(found, pairs, strict=True)] == [0, 0, 0]
    kept = dataclasses.replace(NEAREST, dw_grad=NEAREST.dx_grad, dw_x=NEAREST.y_x)
    assert layers.outside(found[2], recipe_gradients(*arrays, kept)[1])


# --- FP8 with float32 scales -------------------------------------------------------------------


def check_float_scaled(found: tuple[torch.Tensor, torch.Tensor], operand: Any) -> None:
    """Codes and scales of the rows of a matrix."""
    codes, scales = found
    np.testing.assert_array_equal(
        codes.contiguous().view(torch.uint8).numpy(),
        operand.codes[: codes.shape[0], : codes.shape[1]],
    )
    np.testing.assert_array_equal(scales.numpy().reshape(operand.scales.shape), operand.scales)


def layer_of_two_blocks() -> tuple[list[torch.Tensor], list[Any]]:
    """x, w and the gradient, each axis longer than a block of 128, as tensors and as arrays."""
    shapes = [(256, 384), (128, 384), (256, 128)]
    made = [layers.scaled(90 + i, shape, layers.BF16, 3) for i, shape in enumerate(shapes)]
    return made, [layers.array(tensor) for tensor in made]


def multiplied(a: Any, b: Any) -> torch.Tensor:
    """A float32 product of the numbers that codes and scales stand for."""
    left, right = (torch.from_numpy(one.dequantize(np.float32)) for one in (a, b))
    return left @ right


def test_deepgemm() -> None:
    path = checkout("MXREF_DEEPGEMM") / "deep_gemm/utils/math.py"
    own = types.ModuleType("math_of_deepgemm").__dict__
    exec(compile(path.read_text(), str(path), "exec"), own)
    (x, w, grad), arrays = layer_of_two_blocks()
    recipe = mxref.recipe("deepgemm")
    (x_y, w_y), (g_dx, w_dx), (g_dw, x_dw) = (
        recipe_output(*arrays[:2], recipe),
        *recipe_gradients(*arrays, recipe),
    )
    check_float_scaled(own["per_token_cast_to_fp8"](x, False), x_y)
    check_float_scaled(own["per_token_cast_to_fp8"](grad, False), g_dx)
    check_float_scaled(own["per_block_cast_to_fp8"](w, False), w_dx)
    check_float_scaled(own["per_block_cast_to_fp8"](w, False), w_y.T)
    check_float_scaled(own["per_channel_cast_to_fp8"](x, False), x_dw)
    check_float_scaled(own["per_channel_cast_to_fp8"](grad, False), g_dw.T)
    for pair in ((x_y, w_y), (g_dx, w_dx), (g_dw, x_dw)):
        assert layers.outside(multiplied(*pair), pair) == 0


@pytest.mark.parametrize("end", ["", "_float32"])
def test_float8_blockwise(end: str, monkeypatch: pytest.MonkeyPatch) -> None:
    """With its own GEMM, but for the fused multiply-add, which is Triton's for GPUs."""
    root: Path = checkout("MXREF_TRANSFORMER_ENGINE") / "tests/pytorch"
    monkeypatch.syspath_prepend(root)
    reference = importlib.import_module("references.blockwise_quantizer_reference")
    gemm = importlib.import_module("references.blockwise_fp8_gemm_reference")
    quantizer, multiply = reference.BlockwiseQuantizerReference(), gemm.CuBLASRefBlockwiseGemm()

    def fused(y: torch.Tensor, a: torch.Tensor, b: torch.Tensor) -> None:
        y.copy_(y.double() + a.double() * b.double())

    monkeypatch.setattr(gemm, "fused_fma", fused)
    (x, w, grad), arrays = layer_of_two_blocks()
    recipe = mxref.recipe(f"float8_blockwise_transformer_engine{end}")
    (x_y, w_y), (g_dx, w_dx), (g_dw, x_dw) = (
        recipe_output(*arrays[:2], recipe),
        *recipe_gradients(*arrays, recipe),
    )
    made = {
        name: quantizer.quantize(
            tensor, layers.E4M3, return_transpose=True, pow_2_scales=not end,
            quant_tile_shape=(128, 128) if name == "w" else (1, 128), munge_scale_shapes=False,
        )
        for name, tensor in (("x", x), ("w", w), ("g", grad))
    }  # fmt: skip
    rows = {name: (one.data, one.scale) for name, one in made.items()}
    turned = {name: (one.data_t, one.scale_t) for name, one in made.items()}
    check_float_scaled(rows["x"], x_y)
    check_float_scaled(rows["w"], w_y.T)
    check_float_scaled(rows["g"], g_dx)
    check_float_scaled(turned["w"], w_dx.T)
    check_float_scaled(turned["g"], g_dw)
    check_float_scaled(turned["x"], x_dw.T)

    def product(left: Any, right: Any, *, tiles: bool) -> torch.Tensor:
        (qx, sx), (qw, sw) = left, right
        found: torch.Tensor = multiply.qgemm(
            qx, qw, torch.float32, sx, sw, (1, 128), (128 if tiles else 1, 128),
            use_split_accumulator=True,
        )  # fmt: skip
        return found

    found = (
        product(rows["x"], rows["w"], tiles=True),
        product(rows["g"], turned["w"], tiles=True),
        product(turned["g"], turned["x"], tiles=False),
    )
    pairs = ((x_y, w_y), (g_dx, w_dx), (g_dw, x_dw))
    assert [layers.outside(*one) for one in zip(found, pairs, strict=True)] == [0, 0, 0]
