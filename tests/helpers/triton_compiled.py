"""What a GPU is given of the Triton kernels: what calls compile, read without a GPU."""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Callable, Iterator
from typing import Any

__all__ = ["instructions"]


def instructions(mx: Any, architecture: int) -> dict[str, dict[str, int]]:
    """By call: the instructions that a GPU of an architecture would get, with their numbers.

    Kernels are compiled as a launch does it, with the strides and alignments of real tensors; the
    launch itself is left out.
    """
    import torch
    import triton
    from gpu_matrices import only
    from triton_ptx import compiled

    built: list[Any] = []
    with compiled(architecture, lambda kernel, *_: built.append(kernel)):
        return _found(mx, torch, triton, only, built)


def _found(mx: Any, torch: Any, triton: Any, only: Any, built: list[Any]) -> Any:
    found = {}
    for name, call in _calls(mx, torch):
        built.clear()
        with only(mx, triton.Config({"ROWS": 64, "COLUMNS": 64}, num_warps=4)):
            call()
        counts: Counter[str] = Counter()
        for kernel in built:
            assert kernel.asm["cubin"]
            counts.update(re.findall(r"^\s+(?:@\S+ )?([a-z][\w.]+)", kernel.asm["ptx"], re.M))
        found[name] = dict(counts)
    # Kinds are told apart where tiles are tried.
    with only(mx, *(triton.Config({"ROWS": 32, "COLUMNS": n}) for n in (32, 64))):
        for rule in ("floor", "ceil", "floor"):
            mx.quantize(torch.zeros(64, 128), "e4m3", rule)
    found["tried"] = {"kinds": len(mx.quantize_kernel.cache)}
    return found


def _calls(mx: Any, torch: Any) -> Iterator[tuple[str, Callable[[], object]]]:
    """Calls that need all parts of the kernels, and wide ones of wide tensors."""
    for name, dtype in (("e4m3", torch.float32), ("e2m1", torch.bfloat16)):
        x, wide = torch.zeros(64, 128, dtype=dtype), {"packed": True, "tiled": True}
        stored = mx.quantize(x[:0], name, packed=True)
        stored = [part.new_zeros(64, part.shape[1]) for part in stored]
        calls: dict[str, Callable[[], object]] = {
            "quantize": lambda x=x, name=name: mx.quantize(x, name, packed=True),
            "both": lambda x=x, name=name, wide=wide: mx.quantize_both(x, name, "rceil", **wide),
            "columns": lambda x=x, name=name: mx.quantize(x.T, name, packed=True),
            "odd": lambda x=x, name=name: mx.quantize(x[:, 1:97], name),
            "chance": lambda x=x, name=name: mx.quantize(x, name, seed=7, random_width=16),
            "encode": lambda x=x, name=name: mx.encode(x, name),
            "given": lambda x=x, name=name: mx.encode(x, name, x.int(), 32),
            "dequantize": lambda name=name, stored=stored, x=x: mx.dequantize(
                *stored, name, x.dtype, packed=True
            ),
        }
        for kind, call in calls.items():
            if name == "e4m3" or kind in ("quantize", "both", "dequantize"):
                yield f"{name} {kind}", call
    for name, dtype in (
        *((name, torch.float16) for name in ("e5m2", "e3m2", "int8", "nvfp4")),
        ("nvfp4", torch.float32),
    ):
        x, rule = torch.zeros(64, 128, dtype=dtype), "rceil_reciprocal"

        def there_and_back(x: Any = x, name: str = name, rule: str = rule) -> None:
            found = mx.quantize(x, name, rule, packed=True, tiled=name == "nvfp4")
            mx.dequantize(*found, name, x.dtype, packed=True, tiled=name == "nvfp4")

        yield f"{name} {dtype}", there_and_back
