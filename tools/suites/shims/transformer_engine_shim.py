"""Transformer Engine's reference of NVFP4, which its tests compare its kernels with."""

from __future__ import annotations

import importlib.util
import sys
from collections.abc import Iterator
from pathlib import Path
from types import SimpleNamespace
from typing import Any
from unittest.mock import MagicMock

import torch
from _peer import array

from mxref.formats import block_format
from suites.asked import mx

#: The shapes of tests/pytorch/nvfp4/test_nvfp4_quantize_exact.py, but for 8192 x 8192.
SHAPES = (
    (128, 128), (256, 256), (256, 1024), (1024, 256), (256, 272), (304, 304), (320, 256),
    (2048, 2048), (1024, 2048), (2048, 1024),
)  # fmt: skip


def reference(folder: Path) -> Any:
    """The class with the reference, without the parts that would have to be compiled."""
    package = "transformer_engine.pytorch"
    held = SimpleNamespace(QuantizedTensorStorage=object, Quantizer=object)
    sys.modules[f"{package}.quantized_tensor"] = held  # type: ignore[assignment]
    sys.modules[f"{package}.custom_recipes"] = MagicMock()
    path = folder / "transformer_engine" / "pytorch" / "custom_recipes" / "reference_nvfp4.py"
    spec = importlib.util.spec_from_file_location("reference_nvfp4", path)
    module = importlib.util.module_from_spec(spec)  # type: ignore[arg-type]
    spec.loader.exec_module(module)  # type: ignore[union-attr]
    return module.NVFP4QuantizerRef


def tensors() -> Iterator[tuple[str, Any]]:
    """Its tests' tensors: normal numbers in each shape and type, zeros, and the largest number."""
    torch.manual_seed(0)
    for dtype in (torch.float32, torch.bfloat16):
        name = str(dtype).removeprefix("torch.")
        for rows, columns in SHAPES:
            yield f"{name}-{rows}x{columns}", torch.randn(rows, columns).to(dtype)
        for what, x in (("zeros", 0.0), ("largest", torch.finfo(dtype).max), ("one", 1.0)):
            yield f"{name}-{what}", torch.full((128, 128), x, dtype=dtype)
        spread = torch.randn(1024, 1024) * torch.exp2(torch.randint(-40, 40, (1024, 1024)).float())
        yield f"{name}-spread", spread.to(dtype)


def cases(folder: Path) -> Iterator[tuple[str, str]]:
    """Each tensor in blocks of 16 and in tiles of 16 x 16."""
    quantizer, nvfp4 = reference(folder), block_format("nvfp4")
    for name, x in tensors():
        amax = x.abs().max().float()
        for tile in (1, 16):
            packed, scales = quantizer._quantize_blockwise_reference(
                x, amax, 16, tile, pow_2_scales=False, eps=0.0
            )
            values = array(x).reshape(x.shape[0] // tile, tile, -1, 16).swapaxes(1, 2)
            blocks = mx.quantize(
                values.reshape(-1, 16 * tile), nvfp4, block_size=16 * tile, zero_sign="dropped",
                scale_arithmetic="transformer_engine",
            )  # fmt: skip
            shape = (x.shape[0] // tile, x.shape[1] // 16, tile, 16)
            codes = blocks.codes.reshape(shape).swapaxes(1, 2).reshape(x.shape)
            held = blocks.scale_codes.reshape(shape[:2]).repeat(tile, 0)
            wrong = int((mx.pack(codes, "e2m1") != packed.numpy()).sum())
            wrong += int((held != array(scales).reshape(held.shape)).sum())
            yield f"{name}-{tile}x16", f"{wrong} bytes differ" if wrong else ""
