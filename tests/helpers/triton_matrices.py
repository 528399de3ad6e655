"""What the Triton kernels make of matrices, compared with mxref: layouts, edges and strides."""

from __future__ import annotations

import functools
import itertools
import subprocess
import tempfile
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

import mxref
from mxref.formats.catalog import BLOCK_FORMATS

__all__ = ["answers"]

CUDA = Path(__file__).resolve().parents[2] / "tools" / "fastpath" / "cuda"
RULES = ("floor", "ceil", "rceil", "even")
SHAPES = ((160, 96), (32, 32), (64, 192), (288, 32))
SEED, WIDTH = 0x9E3779B97F4A7C15, 11
#: The random bits of numbers as the CUDA fast path has them.
PROGRAM = """
#include <cstdio>
#include "mx_fastpath.cuh"
int main()
{
    for (uint64_t i = 0; i < %d; ++i)
        std::printf("%%u\\n", unsigned(mx::philox(%dull, i / 4).x[i %% 4] >> (32 - %d)));
}
"""


def answers(mx: Any, *, complete: bool) -> Iterator[tuple[str, list[int]]]:
    """Kinds of calls: how many bytes and numbers, and how many are unlike mxref's.

    A few of them unless complete.
    """
    import torch

    dtypes = {"f32": torch.float32, "bf16": torch.bfloat16, "f16": torch.float16}
    chosen, formats = mx._sizes, [*BLOCK_FORMATS]
    tried = mx.SIZES[mx.quantize_kernel]
    for i, (shape, float) in enumerate(itertools.product(SHAPES, dtypes)):
        if not complete and i not in (9, 11):
            continue
        # A GPU chooses between these sizes; the interpreter's are others.
        size, x = tried[i % 6 if complete else 4], _numbers(shape, i).to(dtypes[float])
        mx._sizes = lambda kernel, *_, size=size: {
            name: size[name] for name in ("ROWS", "COLUMNS") if name in kernel.arg_names
        }
        format = formats[i % 6 if complete else 4]
        for asked in (False, True) if complete else [i == 9]:
            name = f"{format} {shape} {float} {size} packed and tiled: {asked}"
            yield name, _unlike(mx, x, format, RULES[i % 4], {"packed": asked, "tiled": asked})
    mx._sizes = chosen
    draws = _draws(96 * 64)
    for format in formats if complete else formats[:1]:
        yield f"{format} by chance", _unlike_chance(mx, _numbers((96, 64), 1), format, draws)


def _numbers(shape: tuple[int, int], seed: int) -> Any:
    """Of many sizes, with a NaN and an infinity in some blocks, subnormal numbers and zeros."""
    import torch

    rng = np.random.default_rng(seed)
    x = rng.standard_normal(shape) * np.exp2(rng.integers(-3, 4, shape))
    x *= np.exp2(rng.integers(-24, 12, shape[0]))[:, None]
    x[rng.random(shape) < 0.05] = -0.0
    x[1, 1], x[5, 30] = np.nan, -np.inf
    return torch.from_numpy(x.astype(np.float32))


def _unlike(mx: Any, x: Any, format: str, rule: str, options: dict[str, bool]) -> list[int]:
    """Both directions at once, and each alone from a view with other strides; and back."""
    import torch

    element = BLOCK_FORMATS[format].element.name
    both = mx.quantize_both(x, element, rule, **options)
    gaps = torch.full((x.shape[0], 2 * x.shape[1] + 3), torch.nan, dtype=x.dtype)
    gaps[:, : 2 * x.shape[1] : 2] = x
    spread = gaps[:, : 2 * x.shape[1] : 2]
    counts = [0, 0]
    for found, alone, values in ((both[0], spread, x), (both[1], x.T, x.T)):
        blocks = mxref.quantize(values, format, f"ocp+scale_rule={rule}")
        scales, codes = blocks.scale_codes, blocks.codes
        want = [
            mxref.pack_scales(scales, "ocp+scale_layout=tiles_128x4")
            if options["tiled"]
            else scales,
            mxref.pack(codes, element) if options["packed"] else codes,
        ]
        back = mxref.dequantize(blocks, "float32")
        for one in (found, mx.quantize(alone, element, rule, **options)):
            _count(counts, [part.numpy() for part in one], want)
        for dtype in (torch.float32, torch.float16):
            numbers = mx.dequantize(*found, element, dtype, **options).numpy()
            with np.errstate(over="ignore"):
                _count(counts, [_bits(numbers)], [_bits(back.astype(numbers.dtype))])
    return counts


def _unlike_chance(mx: Any, x: Any, format: str, draws: NDArray[np.uint32]) -> list[int]:
    """Philox's bits in rows and in columns."""
    element, counts = BLOCK_FORMATS[format].element.name, [0, 0]
    for values in (x, x.T):
        found = mx.quantize(values, element, "rceil", seed=SEED, random_width=WIDTH)
        want = mxref.quantize(
            values,
            format,
            "ocp+scale_rule=rceil+rounding=stochastic_a",
            random_bits=draws.reshape(values.shape),
            random_width=WIDTH,
        )
        _count(counts, [part.numpy() for part in found], [want.scale_codes, want.codes])
    return counts


@functools.cache
def _draws(count: int) -> NDArray[np.uint32]:
    with tempfile.TemporaryDirectory() as folder:
        source, program = Path(folder, "draws.cpp"), str(Path(folder, "draws"))
        source.write_text(PROGRAM % (count, SEED, WIDTH), "utf-8")
        subprocess.run(["g++", "-std=c++17", f"-I{CUDA}", str(source), "-o", program], check=True)
        lines = subprocess.run([program], check=True, capture_output=True, text=True).stdout
    return np.array(lines.split(), np.uint32)


def _bits(numbers: NDArray[Any]) -> NDArray[Any]:
    """Patterns, of all NaN the same."""
    words = numbers.view(f"u{numbers.itemsize}")
    return np.where(np.isnan(numbers), words.dtype.type(1), words)


def _count(counts: list[int], found: list[Any], want: list[Any]) -> None:
    for one, other in zip(found, want, strict=True):
        assert one.size == other.size, (one.shape, other.shape)
        counts[0] += one.size
        counts[1] += int((one.reshape(-1) != other.reshape(-1)).sum())
