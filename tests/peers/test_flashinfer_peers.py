"""NVFP4 of FlashInfer's tests, `ref_fp4_quant`, against the profile, bit for bit.

`MXREF_FLASHINFER` names a checkout of flashinfer-ai/flashinfer at fb28d7242. Only the one function
and what it calls are read from it. Its answers are numbers, not codes: NaN stays NaN there, where
the profile, as the kernels' conversion, gives code 7.
"""

from __future__ import annotations

import ast
from typing import Any

import ml_dtypes
import numpy as np
import pytest
import torch
from needs import checkout
from thresholds import amaxes, at_thresholds, count_at_thresholds, with_specials

import mxref
from mxref.blocks.two_level import TensorScale, TensorScaleKind

PATH = "tests/test_helpers/utils_fp4.py"
NAMES = ("FLOAT4_E2M1_MAX", "cast_to_fp4", "get_reciprocal", "ref_fp4_quant")
MODEL = mxref.profile("flashinfer_nvfp4")
TYPES = (np.float32, ml_dtypes.bfloat16, np.float16)


@pytest.fixture(scope="module")
def reference() -> Any:
    """The function; the rest of the file, which needs the package, is left out."""
    tree = ast.parse((checkout("MXREF_FLASHINFER") / PATH).read_text())
    tree.body = [one for one in tree.body if {*_names(one)} & {*NAMES}]
    found: dict[str, Any] = {"torch": torch}
    exec(compile(tree, PATH, "exec"), found)
    return found["ref_fp4_quant"]


def _names(node: ast.stmt) -> list[str]:
    if isinstance(node, ast.Assign):
        return [one.id for one in node.targets if isinstance(one, ast.Name)]
    return [node.name] if isinstance(node, ast.FunctionDef) else []


def to_torch(x: np.ndarray) -> torch.Tensor:
    bits = torch.from_numpy(x.view(f"i{x.itemsize}").copy())
    return bits.view(getattr(torch, x.dtype.name))


def compare(reference: Any, x: np.ndarray, given: Any = "own") -> int:
    """Compare scale of the tensor, scale codes and numbers; how many numbers were compared."""
    tensor = to_torch(x)
    if given == "own":
        # As in FlashInfer's tests; without the tensor's amax, G is 1.
        scale = 448.0 * 6.0 / tensor.abs().max().to(torch.float32)
    else:
        scale = torch.tensor(1.0 if given is None else given, dtype=torch.float32)
    numbers, stored = reference(tensor, scale, 16)
    whole = None
    if given not in ("own", None):
        pattern = int(np.float32(given).view(np.uint32))
        whole = TensorScale(pattern, TensorScaleKind.DIVISOR)
    blocks = MODEL.quantize(x, "fp4_ue4m3" if given is None else "nvfp4", tensor_scale=whole)
    if given is not None:
        assert blocks.tensor_scale is not None
        assert np.array_equal(blocks.tensor_scale.value, scale.item(), equal_nan=True)
    want = mxref.decode(blocks.scale_codes, "ue4m3")
    assert np.array_equal(want, stored.numpy().reshape(want.shape), equal_nan=True)
    nan = np.isnan(numbers.numpy())
    assert {*blocks.codes[nan].tolist()} <= {7}
    # Where quotients lose the sign of zero: `cast_to_fp4` multiplies by sign(x), which is 0 of -0.
    got = mxref.decode(blocks.codes, "e2m1").view(np.uint32)
    assert np.array_equal(got[~nan], numbers.numpy().view(np.uint32)[~nan])
    return int(blocks.codes.size)


def test_a_million_codes(reference: Any) -> None:
    """All at thresholds but the random ones: more than 30% of all."""
    compared = near = 0
    for amax in amaxes():
        x = at_thresholds(float(amax))
        compared += compare(reference, x)
        near += count_at_thresholds(x, float(amax))
    generator = np.random.default_rng(11)
    for spread, shift in ((0, 0), (8, 0), (30, 0), (4, -130), (3, 120)):
        powers = generator.integers(-spread, spread + 1, (8192, 1)).astype(np.int32)
        x = generator.standard_normal((8192, 16), np.float32)
        compared += compare(reference, np.ldexp(x, powers + shift).astype(np.float32))
    print(f"{compared} codes compared, {near} of them at thresholds")
    assert compared > 1_500_000
    assert near > 0.3 * compared


@pytest.mark.parametrize("source", TYPES[1:])
@pytest.mark.parametrize("levels", [1, 2])
def test_narrow_types(reference: Any, source: Any, levels: int) -> None:
    generator = np.random.default_rng(12)
    x = generator.standard_normal((4096, 64), np.float32) * np.float32(3)
    compare(reference, x.astype(source), "own" if levels == 2 else None)


#: Scales of tensors: none, ordinary, with an infinite or zero reciprocal, and specials.
GIVEN = ["own", None, 1.0, 2688.0, 1e30, 2.0**-127, 2.0**-130, 2.0**127, 0.0, np.inf, np.nan]


@pytest.mark.parametrize("given", GIVEN, ids=str)
def test_specials(reference: Any, given: Any) -> None:
    """NaN, infinities, zeros of both signs and subnormals, also in tensors of nothing else."""
    for x in with_specials():
        compare(reference, x, given)
    for amax in (1.0, 2.0**-130, 3e38):
        compare(reference, at_thresholds(amax), given)


def test_reading() -> None:
    """Scale times a number of the tensor, 1 / G as the caller gives it, then the element."""
    codes = np.tile(np.arange(16, dtype=np.uint8), (0x80, 1))
    for g in (1.0, 448.0, 2688 / np.float32(3.7), 2.0**-127, 2.0**127, 1e-38, 1e38):
        t = TensorScale(int(np.float32(g).view(np.uint32)), TensorScaleKind.DIVISOR)
        scale = np.arange(0x80, dtype=np.uint8)[:, np.newaxis]
        blocks = mxref.Blocks(codes, scale, "nvfp4", 1, codes.shape, tensor_scale=t)
        with np.errstate(all="ignore"):
            factor = mxref.decode(scale, "ue4m3") * (np.float32(1) / np.float32(g))
            want = mxref.decode(codes, "e2m1") * factor
        got = MODEL.dequantize(blocks)
        nan = np.isnan(want)
        assert np.array_equal(nan, np.isnan(got))
        assert np.array_equal(got[~nan].view(np.uint32), want[~nan].view(np.uint32))
