"""NVFP4 with a scale for each row, against implementations that have them, bit for bit.

torchao has a scale for each expert. FlashInfer's tests have references
for kernels with a scale for each token: `ref_fp4_quant`, and `ref_fp4_quant_te` with
`per_token_rowwise`, which is Transformer Engine's arithmetic. `MXREF_FLASHINFER` names a checkout
of flashinfer-ai/flashinfer at fb28d7242; only these functions and what they call are read from it.
Rows are tensors at the thresholds of their own scale, each with another largest magnitude.
"""

from __future__ import annotations

import ast
from typing import Any

import numpy as np
import pytest
import torch
from needs import checkout
from thresholds import amaxes, at_thresholds, count_at_thresholds
from torchao.prototype.mx_formats.kernels import unpack_uint4
from torchao.prototype.mx_formats.nvfp4_tensor import (
    NVFP4Tensor,
    nvfp4_quantize,
    per_tensor_amax_to_scale,
)

import mxref
from mxref import RowScales

PATH = "tests/test_helpers/utils_fp4.py"
NAMES = (
    *("FLOAT4_E2M1_MAX", "cast_to_fp4", "get_reciprocal", "ref_fp4_quant", "ref_fp4_quant_te"),
    *("nvfp4_global_encode_scale_te",),
)


@pytest.fixture(scope="module")
def x() -> np.ndarray:
    """Rows at thresholds: more than a million numbers, more than 30% of them near one."""
    some = amaxes()
    rows = [at_thresholds(float(amax)) for amax in some]
    near = sum(count_at_thresholds(one, float(a)) for one, a in zip(rows, some, strict=True))
    found = np.stack([one.reshape(-1) for one in rows])
    print(f"{found.size} codes in {len(found)} rows, {near} of them at thresholds")
    assert found.size > 1_000_000
    assert near > 0.3 * found.size
    return found


@pytest.fixture(scope="module")
def flashinfer() -> dict[str, Any]:
    """The functions; the rest of the file, which needs the package, is left out."""
    tree = ast.parse((checkout("MXREF_FLASHINFER") / PATH).read_text())
    tree.body = [one for one in tree.body if {*_names(one)} & {*NAMES}]
    four_over_six = {"NVFP44Over6Config": object, "nvfp4_e4m3_max": lambda _: 448.0}
    found: dict[str, Any] = {"torch": torch, **four_over_six}
    exec(compile(tree, PATH, "exec"), found)
    return found


def _names(node: ast.stmt) -> list[str]:
    if isinstance(node, ast.Assign):
        return [one.id for one in node.targets if isinstance(one, ast.Name)]
    return [node.name] if isinstance(node, ast.FunctionDef) else []


def column_of(blocks: mxref.Blocks) -> np.ndarray:
    assert isinstance(blocks.tensor_scale, RowScales)
    return blocks.tensor_scale.value.astype(np.float32)


def test_torchao(x: np.ndarray) -> None:
    """Experts, of 1,009 rows each, with a scale for each expert."""
    experts = x.reshape(len(x), -1, 16)
    tensor = torch.from_numpy(experts)
    t = per_tensor_amax_to_scale(tensor.abs().amax(dim=(1, 2), keepdim=True))
    scales, packed = nvfp4_quantize(tensor, 16, t)
    profile, given = mxref.profile("torchao_0_18_nvfp4"), RowScales(t.numpy().view(np.uint32))
    blocks = profile.quantize(experts, "nvfp4", tensor_scale=given)
    stored = scales.view(torch.uint8).numpy().reshape(blocks.scale_codes.shape) & 0x7F
    assert np.array_equal(blocks.scale_codes, stored)  # the sign of its NaN may be set
    codes = unpack_uint4(packed.view(torch.uint8)).numpy().reshape(blocks.codes.shape)
    assert np.array_equal(blocks.codes, codes)
    by_row = profile.quantize(x, "nvfp4", tensor_scale="row")
    assert np.array_equal(column_of(by_row)[..., np.newaxis], t.numpy())
    assert np.array_equal(by_row.codes, codes.reshape(x.shape))
    read = NVFP4Tensor.to_nvfp4(tensor, per_tensor_scale=t)
    want, got = read.dequantize(torch.float32).numpy(), profile.dequantize(blocks)
    nan = np.isnan(want)
    assert np.array_equal(nan, np.isnan(got))
    assert np.array_equal(got.view(np.uint32)[~nan], want.view(np.uint32)[~nan])


def test_flashinfer(x: np.ndarray, flashinfer: dict[str, Any]) -> None:
    tensor = torch.from_numpy(x)
    g = 448.0 * 6.0 / tensor.abs().amax(dim=1, keepdim=True)
    numbers, scales = flashinfer["ref_fp4_quant"](tensor, g.unsqueeze(-1), 16)
    blocks = mxref.profile("flashinfer_nvfp4").quantize(x, "nvfp4", tensor_scale="row")
    assert np.array_equal(column_of(blocks), g.numpy())
    assert_numbers(blocks, numbers.numpy(), scales.numpy())


def test_flashinfer_as_transformer_engine(x: np.ndarray, flashinfer: dict[str, Any]) -> None:
    tensor = torch.from_numpy(x)
    amax = tensor.abs().amax(dim=1)
    numbers, scales = flashinfer["ref_fp4_quant_te"](tensor, amax, per_token_rowwise=True)
    blocks = mxref.quantize(
        x, "nvfp4", tensor_scale="row", scale_arithmetic="transformer_engine", zero_sign="dropped"
    )
    assert np.array_equal(column_of(blocks)[:, 0], amax.numpy())
    assert_numbers(blocks, numbers.numpy(), scales.to(torch.float32).numpy())


def assert_numbers(blocks: mxref.Blocks, numbers: np.ndarray, scales: np.ndarray) -> None:
    """Numbers and scales; NaN stays NaN in them, where codes have 7."""
    stored = mxref.decode(blocks.scale_codes, "ue4m3")
    assert np.array_equal(stored, scales.reshape(stored.shape), equal_nan=True)
    nan = np.isnan(numbers)
    assert {*blocks.codes[nan].tolist()} <= {7}
    got = mxref.decode(blocks.codes, "e2m1")
    assert np.array_equal(got.view(np.uint32)[~nan], numbers.view(np.uint32)[~nan])
