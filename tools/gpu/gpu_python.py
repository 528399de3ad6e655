"""Parts of `gpu_check.py` in Python: the Triton fast path, and the casts of torch and torchao."""

from __future__ import annotations

import functools
import importlib
import os
import sys
from collections.abc import Callable, Iterator
from pathlib import Path
from types import FunctionType
from typing import Any

from gpu_common import ROOT, RULES, Found, NotRunError, verified

from mxref.conformance import load_target
from mxref.conformance.sweeping.sweep import sweep
from mxref.conformance.sweeping.sweep_text import finding_lines, summary, swept_json
from mxref.formats.catalog import BLOCK_FORMATS
from mxref.targets.target import Target

__all__ = [
    "adapter",
    "triton_float32",
    "triton_level_1",
    "triton_level_2",
    "triton_matrices",
    "triton_speed",
]

TRITON = ROOT / "tools" / "fastpath" / "triton"
FLOATS = ("f32", "bf16", "f16")
ELEMENTS = [fmt.element.name for fmt in BLOCK_FORMATS.values()]


def _torch() -> Any:
    """Torch, if it sees a GPU."""
    torch: Any = importlib.import_module("torch")
    if not torch.cuda.is_available():
        raise NotRunError(f"torch {torch.__version__} sees no GPU")
    return torch


def _triton(rule: str) -> tuple[Target, str]:
    """The Triton target under a scale rule, and the name of the GPU."""
    device = _torch().cuda.get_device_name()
    os.environ.pop("TRITON_INTERPRET", None)
    os.environ["MX_RULE"] = rule
    target = load_target(str(TRITON / "target.py"))
    return target, device


def triton_level_1(rule: str) -> Callable[[Path], Found]:
    """Level 1 of the vectors by the Triton target under a scale rule."""

    def run(_: Path) -> Found:
        return verified(*_triton(rule))

    return run


def _swept(asked: Iterator[tuple[str, str, str, str]]) -> Found:
    reports, failed, cases, device = [], 0, 0, ""
    for op, format, float, rule in asked:
        target, device = _triton(rule)
        found = sweep(target, op, format, float)
        print(*finding_lines(found), summary(found), sep="\n", flush=True)
        cases += found.cases
        failed += found.tally.wrong + (not found.passed and not found.tally.wrong)
        reports.append(swept_json(found))
    passed = bool(reports) and all(one["passed"] for one in reports)
    return {
        "device": device, "cases": cases, "failed": failed, "passed": passed, "sweeps": reports
    }  # fmt: skip


def triton_level_2(_: Path) -> Found:
    """All inputs of 16 bits, all pairs of scale and code, and the block product; all rules."""

    def asked() -> Iterator[tuple[str, str, str, str]]:
        for name in ELEMENTS:
            for float in FLOATS[1:]:
                yield "encode", name, float, "floor"
                yield from (("shared_scale", name, float, rule) for rule in RULES)
        for name in BLOCK_FORMATS:
            yield from (("dequantize", name, float, "floor") for float in FLOATS)
            yield from (("quantize", name, "f32", rule) for rule in RULES)

    return _swept(asked())


def triton_float32(_: Path) -> Found:
    """All 2**32 float32 inputs of every format."""
    return _swept(("encode", name, "f32", "floor") for name in ELEMENTS)


class _OnGpu:
    """A module whose functions take tensors of the CPU to the GPU, strides included, and back."""

    def __init__(self, module: Any, torch: Any) -> None:
        self._module, self._torch = module, torch

    def __getattr__(self, name: str) -> Any:
        found = getattr(self._module, name)
        if not isinstance(found, FunctionType):
            return found
        return lambda *some, **more: self._back(found(*map(self._there, some), **more))

    def _there(self, value: Any) -> Any:
        if not isinstance(value, self._torch.Tensor):
            return value
        there = self._torch.empty_strided(
            value.shape, value.stride(), dtype=value.dtype, device="cuda"
        )
        return there.copy_(value)

    def _back(self, result: Any) -> Any:
        if isinstance(result, (tuple, list)):
            return [self._back(part) for part in result]
        return _on_gpu(result).cpu()


def triton_matrices(_: Path) -> Found:
    """Both directions, strides, layouts, float16, and rounding by chance, against mxref."""
    torch = _torch()
    os.environ.pop("TRITON_INTERPRET", None)
    sys.path[:0] = [str(TRITON), str(ROOT / "tests" / "helpers")]
    mx, matrices = (importlib.import_module(name) for name in ("mx_kernels", "triton_matrices"))
    cases, failed = 0, 0
    for name, (count, wrong) in matrices.answers(_OnGpu(mx, torch), complete=True):
        print("FAIL" if wrong else "ok", name, count, wrong)
        cases, failed = cases + count, failed + wrong
    device = torch.cuda.get_device_name()
    return {"device": device, "cases": cases, "failed": failed, "passed": not failed}


def triton_speed(_: Path) -> Found:
    """Seconds and bandwidth of all kernels, beside a copy of the same tensor."""
    torch = _torch()
    sys.path.insert(0, str(TRITON))
    mx, testing = importlib.import_module("mx_kernels"), importlib.import_module("triton.testing")
    rows = []
    for dtype in (torch.float32, torch.bfloat16, torch.float16):
        x = torch.randn(1 << 14, 1 << 13, device="cuda").to(dtype)
        y = torch.empty_like(x)
        size, kind = x.numel() * x.element_size(), str(dtype).rpartition(".")[2]
        copy = 2 * size / (testing.do_bench(lambda y=y, x=x: y.copy_(x)) * 1e-3)
        for name in ("e4m3", "e2m3", "e2m1"):
            out = mx.quantize(x, name, packed=True)
            quantize = functools.partial(mx.quantize, x, name, packed=True)
            calls = {
                "quantize": quantize,
                "quantize_both": functools.partial(mx.quantize_both, x, name, packed=True),
                "quantize_stochastic": functools.partial(quantize, seed=1, random_width=16),
                "dequantize": functools.partial(mx.dequantize, *out, name, dtype, packed=True),
            }
            for op, call in calls.items():
                written = sum(part.numel() for part in out) * (1 + (op == "quantize_both"))
                rate = (size + written) / (testing.do_bench(call) * 1e-3)
                print(f"{op} {name} {kind}: {rate / 1e9:.0f} GB/s, {rate / copy:.0%} of a copy")
                row = {"op": op, "format": name, "float": kind, "rate": rate}
                rows.append({**row, "share_of_copy": rate / copy})
    return {"device": torch.cuda.get_device_name(), "rows": rows, "measured": True, "passed": True}


def adapter(spec: str) -> Callable[[Path], Found]:
    """An adapter of torch or torchao, with its tensors on the GPU instead of the CPU."""

    def run(_: Path) -> Found:
        device = _torch().cuda.get_device_name()
        peer: Any = importlib.import_module("_peer")
        to_tensor, to_array = peer.tensor, peer.array
        peer.tensor = lambda values: to_tensor(values).cuda()
        peer.array = lambda result: to_array(_on_gpu(result).cpu())
        return verified(load_target(str(ROOT / "tools" / "adapters" / spec)), device)

    return run


def _on_gpu(result: Any) -> Any:
    if not result.is_cuda:
        raise RuntimeError("a result must have been computed on the GPU, got one from the CPU")
    return result
