"""NVFP4, also by 4 over 6, against Transformer Engine's own reference in PyTorch, bit for bit.

The reference drops the sign of some zeros, so that zeros are compared without theirs.
`MXREF_TRANSFORMER_ENGINE` names a checkout of NVIDIA/TransformerEngine at d0067d0da.
"""

from __future__ import annotations

import sys
import types
from typing import Any

import numpy as np
import pytest
import torch
from needs import checkout

import mxref

PARTS = ("", ".pytorch", ".pytorch.custom_recipes", ".pytorch.quantized_tensor")


@pytest.fixture
def reference(monkeypatch: pytest.MonkeyPatch) -> Any:
    """The class that quantizes; nothing of the package but this one file is read."""
    root = checkout("MXREF_TRANSFORMER_ENGINE")
    for part in PARTS:
        module = types.ModuleType(f"transformer_engine{part}")
        for name in ("gemm", "reference_utils", "QuantizedTensorStorage", "Quantizer"):
            base = types.SimpleNamespace if name[0] == "Q" else types.ModuleType(name)
            setattr(module, name, base)
        monkeypatch.setitem(sys.modules, module.__name__, module)
    recipes = sys.modules["transformer_engine.pytorch.custom_recipes"]
    recipes.gemm.MMParams = recipes.reference_utils.Fp4Formats = object  # type: ignore[attr-defined]
    recipes.gemm.GEMMType = types.SimpleNamespace(FPROP=0)  # type: ignore[attr-defined]
    path = "transformer_engine/pytorch/custom_recipes/reference_nvfp4.py"
    module = types.ModuleType("reference_nvfp4")
    monkeypatch.setitem(sys.modules, module.__name__, module)
    exec(compile((root / path).read_text(), path, "exec"), module.__dict__)
    return module.NVFP4QuantizerRef  # type: ignore[attr-defined]


def tensors() -> dict[str, np.ndarray]:
    """Random tensors, some of few bits, whose two errors are often equal."""
    generator = np.random.default_rng(45)
    x = generator.standard_normal((256, 256), np.float32)
    few = np.round(generator.standard_normal((256, 256), np.float32) * 4) / 4
    powers = generator.integers(-20, 20, (256, 1)).astype(np.int32)
    return {
        "near": x,
        "spread": np.ldexp(x, powers).astype(np.float32),
        "bfloat16": (x.view(np.uint32) & np.uint32(0xFFFF0000)).view(np.float32),
        **{f"few_bits_{n}": (few * np.float32(n)).astype(np.float32) for n in (1, 3, 7, 64)},
        "tiny": np.ldexp(x, -140).astype(np.float32),
        "huge": np.ldexp(x, 124).astype(np.float32),
        "zeros": np.zeros((16, 32), np.float32),
    }


@pytest.mark.parametrize("name", tensors())
@pytest.mark.parametrize("error", ["", "_mse"])
def test_four_over_six(reference: Any, name: str, error: str) -> None:
    x = tensors()[name]
    given = torch.from_numpy(x)
    packed, scales = reference._quantize_blockwise_reference(
        given,
        given.abs().max().view(1),
        16,
        1,
        pow_2_scales=False,
        nvfp4_use_4over6=True,
        nvfp4_e4m3_max=256,
        nvfp4_4over6_err_mode=error[1:].upper() or "MAE",
        eps=0.0,
    )
    blocks = mxref.quantize(x, "nvfp4", scale_arithmetic=f"transformer_engine_4over6{error}")
    assert np.array_equal(blocks.scale_codes, scales.view(torch.uint8).numpy())
    want = mxref.unpack(packed.numpy(), "e2m1", x.shape[1])
    assert np.array_equal(
        np.where(blocks.codes == 8, 0, blocks.codes), np.where(want == 8, 0, want)
    )
    assert mxref.profile(f"transformer_engine_nvfp4_4over6{error}").quantize(x, "nvfp4") == blocks


@pytest.mark.parametrize("rows", [1, 16])
@pytest.mark.parametrize("name", tensors())
def test_one_scale(reference: Any, name: str, rows: int) -> None:
    """Blocks of 16 numbers, and tiles of 16 times 16."""
    x = tensors()[name]
    given = torch.from_numpy(x)
    amax = given.abs().max().view(1)
    packed, scales = reference._quantize_blockwise_reference(
        given, amax, 16, rows, pow_2_scales=False, eps=0.0
    )
    size, axis = (16, -1) if rows == 1 else ((16, 16), (0, 1))
    model = mxref.profile("transformer_engine_nvfp4")
    blocks = model.quantize(x, "nvfp4", block_size=size, axis=axis)
    stored = blocks.scale_codes.repeat(rows, axis=0)  # the reference has one in each row
    assert np.array_equal(stored, scales.view(torch.uint8).numpy())
    want = mxref.unpack(packed.numpy(), "e2m1", x.shape[1])
    assert np.array_equal(
        np.where(blocks.codes == 8, 0, blocks.codes), np.where(want == 8, 0, want)
    )
