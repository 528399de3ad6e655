"""What the compiled Triton kernels answer, their PTX interpreted on a CPU.

The functions that a test asks for by their names, in a process of its own, are at the end.
"""

from __future__ import annotations

import sys
from collections.abc import Iterator
from typing import Any

from gpu_matrices import numbers, only, random_bits, unlike
from planting import patches
from triton_child import covered, stochastic, target, with_bugs
from triton_counts import KERNELS, count

import mxref

__all__ = ["OF_PTX", "answers", "bugs", "chance", "counts", "matrices", "vectors"]

OF_PTX = patches("compiled")
#: Formats, floats, rules and options of matrices: every format, float, rule, layout, and both
#: encoders where an architecture has two.
MATRICES = tuple(
    (format, float, rule, {"packed": both, "tiled": both})
    for format, float, rule, both in (
        ("mxfp8_e4m3", "float32", "floor", True),
        ("mxfp8_e5m2", "bfloat16", "rceil", False),
        ("mxfp6_e2m3", "bfloat16", "even", True),
        ("mxfp6_e3m2", "float16", "ceil", False),
        ("mxfp4_e2m1", "bfloat16", "rceil_reciprocal", True),
        ("mxint8", "float16", "floor", False),
        ("nvfp4", "float32", "floor", True),
    )
)


def tile(rows: int, columns: int) -> Any:
    import triton

    return triton.Config({"ROWS": rows, "COLUMNS": columns}, num_warps=4)


def kernels() -> Any:
    """The kernels that a target loaded last has."""
    return sys.modules["mx_kernels"]


def answers(mx: Any, architecture: int, *, few: bool = False) -> Iterator[tuple[str, list[int]]]:
    """By matrix, whose tiles have tails both ways: bytes and numbers, and those unlike mxref's."""
    import torch
    from triton_ptx import interpreted

    x = numbers((96, 160), 3)
    for format, float, rule, options in MATRICES[:1] if few else MATRICES:
        with interpreted(architecture), only(mx, tile(64, 64)):
            y = x.to(getattr(torch, float))
            yield f"{format} {float}", unlike(mx, y, format, rule, options, complete=not few)
    if few and architecture >= 100:
        for format, *_ in (MATRICES[2], MATRICES[4]):
            with interpreted(architecture), only(mx, tile(64, 64)):
                found = mx.quantize(x, format[6:], packed=True)
            yield format, _unlike(found, mxref.quantize(x.numpy(), format), format[6:])
    with interpreted(architecture), only(mx, tile(64, 64)):
        found = mx.quantize(x, "e5m2", saturate=False)
    y = mxref.quantize(x.numpy(), "mxfp8_e5m2", "ocp+overflow=nonsaturating")
    yield "not saturated", _unlike(found, y)
    with interpreted(architecture), only(mx, tile(64, 64)):
        found = mx.quantize(x * 2.0**-132, "e4m3")
    yield "subnormal numbers", _unlike(found, mxref.quantize(x.numpy() * 2.0**-132, "mxfp8_e4m3"))
    with interpreted(architecture) as ran, only(mx, tile(64, 64)):
        for seed in (1, 16):
            mx.quantize(x, "e4m3", seed=seed, random_width=11)
    yield "kernels of two seeds", [1, len(ran) - 1]
    for seed in (1, 0x9E3779B97F4A7C15):
        with interpreted(architecture), only(mx, tile(64, 64)):
            found = mx.quantize(x, "e4m3", seed=seed, random_width=11)
        draws = random_bits(x.numel(), seed, 11).reshape(x.shape)
        policy = "ocp+rounding=stochastic_a"
        want = mxref.quantize(x.numpy(), "mxfp8_e4m3", policy, random_bits=draws, random_width=11)
        yield f"seed {seed}", _unlike(found, want)
    yield "lines 2**32 apart", _far_apart(mx, architecture)


def caught(architecture: int) -> str:
    """What the few matrices say of the kernels that are loaded: the first that is wrong."""
    import torch
    from triton_ptx import compiled

    try:
        with compiled(architecture, lambda *_: None), only(kernels(), tile(64, 64)):
            kernels().quantize(torch.zeros(64, 64), "e4m3")  # to machine code
        for name, (_, wrong) in answers(kernels(), architecture, few=True):
            if wrong:
                return name
    except Exception as error:  # a fault, or what the compiler says
        return f"{type(error).__name__}: {str(error).strip().splitlines()[-1][-120:]}"
    return ""


def _unlike(found: Any, want: Any, packed: str | None = None) -> list[int]:
    """Bytes of scales and codes, which may be packed by a format, and the wrong ones."""
    codes = want.codes.reshape(found[0].shape[0], -1)
    codes = codes if packed is None else mxref.pack(codes, packed)
    wrong = [found[0].numpy() != want.scale_codes, found[1].numpy() != codes]
    return [sum(one.size for one in wrong), sum(int(one.sum()) for one in wrong)]


def _far_apart(mx: Any, architecture: int) -> list[int]:
    """Lines 9 * 2**24 numbers apart, of 9 GiB of which next to nothing is touched; and columns."""
    import torch
    from triton_ptx import interpreted

    line = 9 << 24
    near = torch.arange(1024, dtype=torch.float16).view(32, 32)
    far = torch.empty(31 * line + 32, dtype=torch.float16).as_strided((32, 32), (line, 1))
    far.copy_(near)
    counts = [0, 0]
    with interpreted(architecture), only(mx, tile(32, 32)):
        for x, y in ((far, near), (far.T, near.T)):
            for one, other in zip(mx.quantize(x, "e4m3"), mx.quantize(y, "e4m3"), strict=True):
                counts[0] += one.numel()
                counts[1] += int((one != other).sum())
    return counts


def vectors(architecture: str, *operations: str) -> list[Any]:
    """Level 1 of operations: the verdict, files, cases, failures, and texts of kernels that ran."""
    from triton_ptx import interpreted

    from mxref.conformance import verify

    of = target()
    files = [one for one in covered(of) if one.op in operations]
    with interpreted(int(architecture)) as ran, only(kernels(), tile(64, 64)):
        report = verify(of, files)
    outcomes = [outcome for row in report.rows for outcome in row.outcomes]
    cases = sum(len(one.file.cases) for one in outcomes)
    wrong = sum(len(one.failures) for one in outcomes)
    return [report.verdict, len(outcomes), cases, wrong, len({one.body for one in ran})]


def chance(architecture: str) -> dict[str, list[int]]:
    """By file of level 1: cases and wrong answers of rounding by chance, by given bits."""
    from triton_ptx import interpreted

    target()
    with interpreted(int(architecture)), only(kernels(), tile(64, 64)):
        return stochastic()


def matrices(architecture: str) -> dict[str, list[int]]:
    """By matrix: bytes and numbers, and those unlike mxref's."""
    target()
    return dict(answers(kernels(), int(architecture)))


def counts(share: str, shares: str) -> dict[str, dict[str, float]]:
    """Counts of machine instructions of a share of the kernels that are watched."""
    found: dict[str, dict[str, float]] = count(KERNELS[int(share) :: int(shares)])
    return found


def bugs(architecture: str, *names: str) -> dict[str, str]:
    """By bug in the compiled kernels, or those of these names, what found it; else nothing."""
    target()
    some = {name: OF_PTX[name] for name in names or OF_PTX}
    return {name: caught(int(architecture)) for name in with_bugs(some)}
