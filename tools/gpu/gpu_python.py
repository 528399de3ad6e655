"""Parts of `gpu_check.py` in Python: the Triton fast path, and the casts of torch and torchao."""

from __future__ import annotations

import functools
import importlib
import itertools
import os
import sys
from collections.abc import Callable, Iterator
from pathlib import Path
from types import SimpleNamespace
from typing import Any

from gpu_common import ROOT, RULES, VECTORS, Found, NotRunError, verified
from gpu_matrices import on_device

from mxref.cli.verify_verb import print_report
from mxref.conformance import check, load_target, target_of
from mxref.conformance.compare.compare import run_file
from mxref.conformance.sweeping.sweep import sweep
from mxref.conformance.sweeping.sweep_text import finding_lines, summary, swept_json
from mxref.formats.catalog import BLOCK_FORMATS
from mxref.golden import read_vectors
from mxref.policy.policy import Policy
from mxref.targets.asked_files import read_for
from mxref.targets.target import Target

__all__ = [
    *("adapter", "other_policy", "triton_float32", "triton_level_1", "triton_level_2"),
    *("matrices", "streams", "triton_matrices", "triton_speed"),
]

TRITON = ROOT / "tools" / "fastpath" / "triton"
ELEMENTS = [fmt.element.name for fmt in BLOCK_FORMATS.values()]


def _torch() -> Any:
    """Torch, if it sees a GPU."""
    torch: Any = importlib.import_module("torch")
    if not torch.cuda.is_available():
        raise NotRunError(f"torch {torch.__version__} sees no GPU")
    return torch


def _triton(rule: str, overflow: str = "saturate") -> tuple[Target, str]:
    """The Triton target under a scale rule, and the name of the GPU."""
    device = _torch().cuda.get_device_name()
    os.environ.pop("TRITON_INTERPRET", None)
    os.environ |= {"MX_RULE": rule, "MX_OVERFLOW": overflow}
    target = load_target(str(TRITON / "target.py"))
    return target, device


def triton_level_1(rule: str) -> Callable[[Path], Found]:
    """Level 1 of the vectors by the Triton target under a scale rule, NVFP4 and float16 included.

    Of floor beside it all of `encode` that does not saturate or that rounds by chance.
    """

    def run(_: Path) -> Found:
        found = verified(*_triton(rule))
        if rule == "floor":
            for policy in ("overflow=nonsaturating", "rounding=stochastic_a"):
                _add(found, other_policy(_triton(rule, overflow_of(policy))[0], policy))
        return found

    return run


def overflow_of(policy: str) -> str:
    """The member of `overflow` that a policy has."""
    return str(Policy.parse(f"ocp+{policy}").element.overflow.value)


def other_policy(target: Target, policy: str) -> tuple[int, int]:
    """Answers and wrong ones of `encode`, or of rounding by chance, under a policy."""
    op = "encode_stochastic" if "stochastic" in policy else "encode"

    def is_asked(stem: str) -> bool:
        of, _, name = stem.partition("/")
        return of == op and target.covers(of, *name.rsplit(".", 1))

    outcomes = [
        run_file(target, file, Policy.parse(f"ocp+{policy}"))
        for file in read_vectors(VECTORS, is_asked)
    ]
    wrong = sum(len(one.failures) + len(one.errors) for one in outcomes)
    return sum(len(one.file.cases) for one in outcomes), wrong


def _add(found: Found, counts: tuple[int, int]) -> None:
    """Adds answers and wrong ones to findings."""
    found["cases"] += counts[0]
    found["failed"] += counts[1]
    found["passed"] &= counts[0] > 0 and not counts[1]


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
    """All 16-bit inputs, all pairs of scale and code, and the block product."""

    def asked() -> Iterator[tuple[str, str, str, str]]:
        for name, float in itertools.product(ELEMENTS, ("bf16", "f16")):
            yield "encode", name, float, "floor"
            yield from (("shared_scale", name, float, rule) for rule in RULES)
        for name in BLOCK_FORMATS:
            yield from (("dequantize", name, float, "floor") for float in ("f32", "bf16", "f16"))
            yield from (("quantize", name, "f32", rule) for rule in RULES)

    return _swept(asked())


def triton_matrices(_: Path) -> Found:
    """Matrices on the GPU, see `matrices`."""
    device = _triton("floor")[1]
    found: Found = {"device": device, "cases": 0, "failed": 0, "passed": True}
    for counts in matrices(sys.modules["mx_kernels"], "cuda", (1056, 416)).values():
        _add(found, (counts[0], counts[1]))
    return found


def matrices(mx: Any, device: str, shape: tuple[int, int]) -> dict[str, list[int]]:
    """Matrices in both directions, all sizes of tiles, Philox bits, and NVFP4; printed, too."""
    found = {}
    for name, counts in on_device(mx, device, shape):
        print(f"{name}: {counts[1]} of {counts[0]} wrong", flush=True)
        found[name] = counts
    return found


def triton_float32(_: Path) -> Found:
    """All 2**32 float32 inputs of every format."""
    return _swept(("encode", name, "f32", "floor") for name in ELEMENTS)


def triton_speed(_: Path) -> Found:
    """Seconds and bandwidth of each kernel, beside a copy of the same tensor."""
    torch = _torch()
    sys.path.insert(0, str(TRITON))
    mx, testing = importlib.import_module("mx_kernels"), importlib.import_module("triton.testing")
    rows = []
    for dtype in (torch.float32, torch.bfloat16, torch.float16):
        x = torch.randn(1 << 16, 1 << 11, device="cuda").to(dtype)
        y = torch.empty_like(x)
        size = x.numel() * x.element_size()
        copy = 2 * size / (testing.do_bench(lambda y=y, x=x: y.copy_(x)) * 1e-3)
        for kernel, name, call, parts in _calls(mx, x, y):
            stored = sum(part.numel() * part.element_size() for part in parts)
            rate = (size + stored) / (testing.do_bench(call) * 1e-3)
            kind = str(dtype).rpartition(".")[2]
            print(f"{kernel} {name} {kind}: {rate / 1e9:.0f} GB/s, {rate / copy:.0%} of a copy")
            row = {"kernel": kernel, "format": name, "float": kind}
            rows.append({**row, "rate": rate, "share_of_copy": rate / copy})
    return {"device": torch.cuda.get_device_name(), "rows": rows, "measured": True, "passed": True}


def _calls(mx: Any, x: Any, y: Any) -> Iterator[tuple[str, str, Callable[[], object], list[Any]]]:
    """Kernels and formats, what runs them, and the scales and codes that they write or read."""
    for name in ("e4m3", "e2m1", "nvfp4"):
        stored = mx.quantize(x, name, packed=True)
        yield "quantize", name, functools.partial(mx.quantize, x, name, packed=True), [*stored]
        both = [*itertools.chain(*mx.quantize_both(x, name, packed=True))]
        yield "quantize_both", name, functools.partial(mx.quantize_both, x, name, packed=True), both
        by_chance = functools.partial(mx.quantize, x, name, packed=True, seed=7)
        if name != "nvfp4":
            yield "quantize by chance", name, by_chance, [*stored]
        read = functools.partial(mx.dequantize, *stored, name, packed=True, out=y)
        yield "dequantize", name, read, [*stored]


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


def streams(_: Path) -> Found:
    """A kernel on the caller's stream passes, and one that is always on the default one fails."""
    torch = _torch()
    values = torch.arange(256, dtype=torch.uint8, device="cuda").view(torch.float8_e5m2).float()

    def decode(codes: Any, _: str) -> Any:
        return values[codes.long()]

    def decode_on_default(codes: Any, format: str) -> Any:
        with torch.cuda.stream(torch.cuda.default_stream()):
            return decode(codes, format)

    kinds, claims = [], {"FORMATS": ["e5m2"], "ARRAYS": "torch", "DEVICE": "cuda"}
    for function in (decode, decode_on_default):
        target = target_of(SimpleNamespace(decode=function, **claims), function.__name__)
        report = check(target, read_for(VECTORS, target, target.policy))
        print_report(report, 10)
        kinds.append([use.kind for use in report.uses])
    passed = kinds == [[], ["stream"]]
    return {"device": torch.cuda.get_device_name(), "passed": passed, "kinds": kinds}


def _on_gpu(result: Any) -> Any:
    if not result.is_cuda:
        raise RuntimeError("a result must have been computed on the GPU, got one from the CPU")
    return result
