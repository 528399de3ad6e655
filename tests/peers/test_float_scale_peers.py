"""FP8 under float32 scales, against the originals in PyTorch and Triton, bit for bit.

Of blocks with a NaN no code is compared: a NaN's sign is the processor's. Checkouts are named by
`MXREF_DEEPSEEK_V3` (9b4e9788), `MXREF_DEEPGEMM` (54e22612), `MXREF_TRANSFORMER_ENGINE` (d0067d0d)
and `MXREF_VLLM` (014af6b5).
"""

from __future__ import annotations

import ast
import importlib
import os
import subprocess
import sys
import types
from collections.abc import Callable
from pathlib import Path
from typing import Any

import ml_dtypes
import numpy as np
import pytest
import torch
from needs import checkout
from torchao.float8.config import ScalingGranularity
from torchao.float8.float8_scaling_utils import hp_tensor_to_float8_dynamic
from torchao.float8.float8_training_tensor import LinearMMConfig
from torchao.prototype.blockwise_fp8_training.kernels import (
    torch_blockwise_scale_act_quant_lhs,
    torch_blockwise_scale_weight_quant,
)
from torchao.quantization.quant_primitives import _choose_scale_float8, _quantize_affine_float8

import mxref

Pair = tuple[torch.Tensor, torch.Tensor]
TORCH = {"e4m3": torch.float8_e4m3fn, "e5m2": torch.float8_e5m2}
ROWS, COLUMNS = 1024, 1024


def at_thresholds(seed: int, format: str = "e4m3") -> np.ndarray[Any, Any]:
    """Blocks of 128 of every size: a third of the elements within an ulp of a threshold."""
    draw = np.random.default_rng(seed)
    element = mxref.formats.element_format(format)
    x = draw.standard_normal((ROWS, COLUMNS // 128, 128)).astype(np.float32)
    powers = draw.integers(-100, 100, (ROWS, COLUMNS // 128, 1)).astype(np.int32)
    x = np.ldexp(x, powers).astype(np.float32)
    a = np.abs(x).max(axis=2, keepdims=True)
    near_power = draw.random(a.shape) < 0.2  # quotients beside powers of two
    edge = np.ldexp(np.float32(element.max_normal), powers - 8).astype(np.float32)
    ulps = draw.integers(-30, 30, a.shape).astype(np.int32)
    edge = (edge.view(np.int32) + ulps).view(np.float32)
    a = np.where(near_power & (edge > a), edge, a)
    x[..., :1] = a
    values = mxref.decode(np.arange(element.max_code, dtype=np.uint8), format, np.float64)
    middle = draw.choice((values[1:] + values[:-1]) / 2, x.shape)
    near = (a.astype(np.float64) / element.max_normal * middle).astype(np.float32)
    moved = near.view(np.int32) + draw.integers(-1, 2, x.shape).astype(np.int32)
    near = np.minimum(np.abs(moved.view(np.float32)), a)
    where = draw.random(x.shape) < 0.4
    where[..., 0] = False
    x = np.where(where, np.copysign(near, x), x)
    return x.reshape(ROWS, COLUMNS)


def inputs(seed: int, format: str = "e4m3") -> list[np.ndarray[Any, Any]]:
    """Float32 and bfloat16, with zeros, tiny and huge blocks."""
    x = at_thresholds(seed, format)
    x[0] = 0
    x[1] *= np.float32(1e-30)
    x[2, :128] = 1e-45
    x[3, :128] = ml_dtypes.finfo(ml_dtypes.bfloat16).max
    return [x, x.astype(ml_dtypes.bfloat16)]


def tensor(x: np.ndarray[Any, Any]) -> torch.Tensor:
    if x.dtype == np.float32:
        return torch.from_numpy(x.copy())
    return torch.from_numpy(x.view(np.int16).copy()).view(torch.bfloat16)


def compare(profile: str, x: np.ndarray[Any, Any], found: Pair, format: str, **how: Any) -> int:
    """Compare scales and codes; how many codes were compared."""
    blocks = mxref.profile(profile).quantize(x, format, **how)
    codes, scales = found
    want = scales.float().numpy().reshape(blocks.scale_codes.shape)
    np.testing.assert_array_equal(blocks.scales, want)
    codes = codes.view(torch.uint8).numpy()
    own = np.ascontiguousarray(blocks.codes[tuple(slice(n) for n in x.shape)])
    is_nan, own_nan = (
        np.isnan(one.view(blocks.elements.dtype).astype(np.float32)) for one in (codes, own)
    )
    np.testing.assert_array_equal(own_nan, is_nan)
    np.testing.assert_array_equal(own[~is_nan], codes[~is_nan])
    return int(codes.size)


def loaded(path: Path, name: str) -> dict[str, Any]:
    module = types.ModuleType(name)
    exec(compile(path.read_text(), str(path), "exec"), module.__dict__)
    return module.__dict__


@pytest.mark.parametrize("format", TORCH)
def test_torchao_blocks(format: str) -> None:
    for x in inputs(1, format):
        found = torch_blockwise_scale_act_quant_lhs(tensor(x), 128, TORCH[format])
        assert compare("torchao_0_18_float8", x, found, f"fp8_{format}_f32") > 1_000_000
        found = torch_blockwise_scale_weight_quant(tensor(x), 128, TORCH[format])
        compare("torchao_0_18_float8", x, found, f"fp8_{format}_f32_128x128")


@pytest.mark.parametrize("power", [False, True])
@pytest.mark.parametrize("format", TORCH)
def test_torchao_rows_columns_and_tensors(format: str, power: bool) -> None:
    name = f"torchao_0_18_float8{'_power' * power}"
    for x in inputs(2, format):
        for axis in (-1, 0, None):
            kind = ScalingGranularity.TENSORWISE if axis is None else ScalingGranularity.AXISWISE
            made = hp_tensor_to_float8_dynamic(
                tensor(x),
                TORCH[format],
                LinearMMConfig(),
                scaling_granularity=kind,
                axiswise_dim=axis,
                round_scales_to_power_of_2=power,
            )
            found = made._data, made._scale.reciprocal()
            if axis is None:
                how: dict[str, Any] = {"axis": (0, 1), "block_size": x.shape}
                assert compare(name, x, found, f"fp8_{format}_f32_128x128", **how) > 1_000_000
            else:
                compare(name, x, found, f"fp8_{format}_f32", axis=axis, block_size=COLUMNS)


@pytest.mark.parametrize("format", TORCH)
@pytest.mark.parametrize("block", [(1, 128), (1, COLUMNS), (ROWS, COLUMNS)])
def test_torchao_inference(format: str, block: tuple[int, int]) -> None:
    for x in inputs(3, format):
        scale = _choose_scale_float8(tensor(x), list(block), TORCH[format])
        found = _quantize_affine_float8(tensor(x), scale, TORCH[format]), scale
        blocks = f"fp8_{format}_f32_128x128"
        assert compare("torchao_0_18_float8_inference", x, found, blocks, block_size=block) > 1e6


@pytest.mark.parametrize("power", [False, True])
def test_deepgemm(power: bool) -> None:
    root = checkout("MXREF_DEEPGEMM")
    own = loaded(root / "deep_gemm/utils/math.py", "math_of_deepgemm")
    name = f"deepgemm_fp8{'_ue8m0' * power}"
    for x in inputs(4):
        given = tensor(x)
        found = own["per_token_cast_to_fp8"](given, power)
        assert compare(name, x, found, "fp8_e4m3_f32") > 1_000_000
        found = own["per_channel_cast_to_fp8"](given, power)
        compare(name, x, found, "fp8_e4m3_f32", axis=0)
        found = own["per_block_cast_to_fp8"](given, power)
        compare(name, x, found, "fp8_e4m3_f32_128x128")
        part = x[:, :900].copy()
        compare(name, part, own["per_token_cast_to_fp8"](tensor(part), power), "fp8_e4m3_f32")


def test_layouts_of_deepgemm() -> None:
    """Its reference in PyTorch of four UE8M0 scales in a word, which its own tests compare with."""
    path = checkout("MXREF_DEEPGEMM") / "tests/test_layout.py"
    name = "get_mn_major_tma_aligned_packed_ue8m0_tensor_torch_impl"
    body = [one for one in ast.parse(path.read_text()).body if getattr(one, "name", "") == name]
    space: dict[str, Any] = {
        "torch": torch,
        "align": lambda n, to: -(-n // to) * to,
        "get_tma_aligned_size": lambda n, size: -(-n // (16 // size)) * (16 // size),
    }
    exec(compile(ast.Module(body, []), str(path), "exec"), space)
    for rows, columns in ((1, 128), (5, 384), (64, 1024), (130, 640)):
        x = at_thresholds(rows)[:rows, :columns].copy()
        blocks = mxref.profile("deepgemm_fp8_ue8m0").quantize(x, "fp8_e4m3_f32")
        words = space[name](torch.from_numpy(blocks.scales.copy()))
        bytes_of = mxref.encode_scale(blocks.scales)
        packed = mxref.pack_scales(bytes_of, scale_layout="mn_major_words").view("<i4")
        stride = -(-rows // 4) * 4
        assert words.stride() == (1, stride)
        np.testing.assert_array_equal(packed.reshape(-1, stride)[:, :rows].T, words.numpy())


@pytest.fixture
def transformer_engine(monkeypatch: pytest.MonkeyPatch) -> Any:
    """Its reference of blocks, in PyTorch."""
    monkeypatch.syspath_prepend(checkout("MXREF_TRANSFORMER_ENGINE") / "tests/pytorch")
    module = importlib.import_module("references.blockwise_quantizer_reference")
    return module.BlockwiseQuantizerReference()


@pytest.mark.parametrize("power", [False, True])
@pytest.mark.parametrize("format", TORCH)
def test_transformer_engine(transformer_engine: Any, format: str, power: bool) -> None:
    name = f"transformer_engine_fp8_block{'_float32' * (not power)}"
    for x in inputs(5, format):
        for tile, blocks in (((1, 128), "f32"), ((128, 128), "f32_128x128")):
            made = transformer_engine.quantize(
                tensor(x),
                TORCH[format],
                pow_2_scales=power,
                quant_tile_shape=tile,
                munge_scale_shapes=False,
            )
            found = made.data, made.scale
            assert compare(name, x, found, f"fp8_{format}_{blocks}") > 1_000_000


@pytest.mark.parametrize("tile", [(1, 128), (128, 128)])
def test_transformer_engine_stores_scales(transformer_engine: Any, tile: tuple[int, int]) -> None:
    """Along the rows and along the columns, which are the rows of the transposed matrix."""
    blocks = "fp8_e4m3_f32" + "_128x128" * (tile[0] > 1)
    for rows, columns in ((1, 128), (5, 384), (130, 640), (300, 1100)):
        x = at_thresholds(rows)[:rows, :columns].copy()
        found = transformer_engine.quantize(
            tensor(x), TORCH["e4m3"], return_transpose=True, eps=0.0, pow_2_scales=False,
            quant_tile_shape=tile, munge_scale_shapes=True,
        )  # fmt: skip
        for matrix, theirs in ((x, found.scale), (x.T.copy(), found.scale_t)):
            axis: Any = -1 if tile[0] == 1 else (0, 1)
            profile = mxref.profile("transformer_engine_fp8_block_float32")
            scales = profile.quantize(matrix, blocks, axis=axis).scales.astype("<f4")
            words = np.ascontiguousarray(scales if tile[0] == 1 else scales.T).view(np.uint8)
            packed = mxref.pack_scales(words, scale_layout="mn_major_words").view("<f4")
            assert packed.tolist() == theirs.numpy().reshape(-1).tolist()


@pytest.mark.parametrize("power", [False, True])
@pytest.mark.parametrize("format", TORCH)
def test_transformer_engine_current_scaling(format: str, power: bool) -> None:
    root = checkout("MXREF_TRANSFORMER_ENGINE") / "tests/pytorch/references"
    own = loaded(root / "quantize_scale_calc.py", "quantize_scale_calc")
    name = f"transformer_engine_fp8_current{'_power' * power}"
    x = inputs(6, format)[0]
    for some in (x, x[4:] * np.float32(1e-9), x[1:2], x[:1]):
        given = tensor(some)
        scale, inverse, _ = own["scale_from_amax_tensor"](
            torch.float32, given.abs().amax().view(1), TORCH[format], eps=0.0, pow_2_scales=power
        )
        found = (given * scale).to(TORCH[format]), inverse
        how: dict[str, Any] = {"axis": (0, 1), "block_size": some.shape}
        compare(name, some, found, f"fp8_{format}_f32_128x128", **how)


def vllm(power: bool, shape: tuple[int, int] | None) -> Callable[[torch.Tensor], Pair]:
    """The methods of QuantFP8 that a CPU runs, without the rest of vLLM."""
    root = checkout("MXREF_VLLM")
    path = root / "vllm/model_executor/layers/quantization/input_quant_fp8.py"
    (quantizer,) = (
        node for node in ast.parse(path.read_text()).body if isinstance(node, ast.ClassDef)
    )
    methods = {"forward_native", "_quantize_group_native"}
    body = [n for n in quantizer.body if isinstance(n, ast.FunctionDef) and n.name in methods]
    space: dict[str, Any] = {
        "torch": torch,
        "F": torch.nn.functional,
        "GroupShape": types.SimpleNamespace(PER_TOKEN=(1, -1), PER_TENSOR=(-1, -1)),
        "group_broadcast": lambda scale, shape: scale,
        "_FP8_DTYPE": torch.float8_e4m3fn,
        "_FP8_MIN": -448.0,
        "_FP8_MAX": 448.0,
        "_FP8_MIN_SCALING_FACTOR": 1.0 / (448.0 * 512.0),
    }
    exec(compile(ast.Module(body, []), str(path), "exec"), space)
    own = types.SimpleNamespace(
        is_group_quant=shape is None,
        static=False,
        group_size=128,
        use_ue8m0=power,
        column_major_scales=False,
        group_shape=shape,
        num_token_padding=None,
    )
    own._quantize_group_native = types.MethodType(space["_quantize_group_native"], own)
    return lambda x: space["forward_native"](own, x)


@pytest.mark.parametrize("power", [False, True])
def test_vllm_groups(power: bool) -> None:
    run = vllm(power, None)
    for x in inputs(7):
        name = f"vllm_fp8_group_native{'_ue8m0' * power}"
        assert compare(name, x, run(tensor(x)), "fp8_e4m3_f32") > 1_000_000


def test_vllm_tokens_and_tensors() -> None:
    for x in inputs(8):
        found = vllm(False, (1, -1))(tensor(x))
        compare("vllm_fp8_native", x, found, "fp8_e4m3_f32", block_size=COLUMNS)
        found = vllm(False, (-1, -1))(tensor(x))
        how: dict[str, Any] = {"axis": (0, 1), "block_size": x.shape}
        compare("vllm_fp8_native", x, found, "fp8_e4m3_f32_128x128", **how)


@pytest.mark.parametrize("power", [False, True])
def test_deepseek_v3(power: bool, tmp_path: Path) -> None:
    """Its Triton kernel in Triton's interpreter, which another process must be started with.

    The kernel stores float32 quotients here, since the interpreter's own conversion to FP8 does not
    round to nearest; torch converts them.
    """
    kernel = checkout("MXREF_DEEPSEEK_V3") / "inference/kernel.py"
    x = inputs(9)[0]
    np.save(tmp_path / "x.npy", x)
    code = (
        "import sys, numpy, torch, runpy\n"
        "kernel, folder, power = sys.argv[1:]\n"
        "own = runpy.run_path(kernel)['act_quant_kernel']\n"
        "x = torch.from_numpy(numpy.load(folder + '/x.npy'))\n"
        "y, s = torch.empty_like(x), torch.empty(x.shape[0], x.shape[1] // 128)\n"
        "fmt = 'ue8m0' if power == 'True' else None\n"
        "own[(s.numel(),)](x, y, s, BLOCK_SIZE=128, scale_fmt=fmt)\n"
        "numpy.save(folder + '/y.npy', y.numpy())\n"
        "numpy.save(folder + '/s.npy', s.numpy())\n"
    )
    given = [sys.executable, "-c", code, str(kernel), str(tmp_path), str(power)]
    subprocess.run(given, check=True, env={**os.environ, "TRITON_INTERPRET": "1"})
    quotients, scales = (torch.from_numpy(np.load(tmp_path / f"{n}.npy")) for n in "ys")
    found = quotients.to(torch.float8_e4m3fn), scales
    name = f"deepseek_v3_fp8{'_ue8m0' * power}"
    assert compare(name, x, found, "fp8_e4m3_f32") > 1_000_000
