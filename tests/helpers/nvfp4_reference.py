"""Transformer Engine's own reference of NVFP4 in PyTorch, without the package."""

from __future__ import annotations

import sys
import types
from typing import Any

import pytest
from needs import checkout

PARTS = ("", ".pytorch", ".pytorch.custom_recipes", ".pytorch.quantized_tensor")


def nvfp4_quantizer(monkeypatch: pytest.MonkeyPatch) -> Any:
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
    recipes.gemm.GEMMType = types.SimpleNamespace(FPROP=0, DGRAD=1, WGRAD=2)  # type: ignore[attr-defined]
    path = "transformer_engine/pytorch/custom_recipes/reference_nvfp4.py"
    module = types.ModuleType("reference_nvfp4")
    monkeypatch.setitem(sys.modules, module.__name__, module)
    exec(compile((root / path).read_text(), path, "exec"), module.__dict__)
    return module.NVFP4QuantizerRef  # type: ignore[attr-defined]
