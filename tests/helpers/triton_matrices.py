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
from gpu_matrices import RULES, SEED, WIDTH, count, numbers, random_bits, unlike, unlike_chance
from numpy.typing import NDArray

from mxref.formats.catalog import BLOCK_FORMATS

__all__ = ["answers", "sizes"]

CUDA = Path(__file__).resolve().parents[2] / "tools" / "fastpath" / "cuda"
SHAPES = ((160, 96), (32, 32), (64, 192), (288, 32))
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
    chosen, formats = mx._sizes, [*BLOCK_FORMATS, "nvfp4"]
    for i, (shape, float) in enumerate(itertools.product(SHAPES, dtypes)):
        if not complete and i not in (6, 9, 11):
            continue
        # A GPU chooses between these sizes; the interpreter's are others.
        size, x = mx.TILES[i % 6 if complete else 4], numbers(shape, i).to(dtypes[float])
        mx._sizes = lambda *_, size=size: size
        format = formats[i % 7 if complete or i == 6 else 4]
        if not complete:
            x = x[:160, :96]
        if format == "nvfp4":  # whole blocks of 16, not of 32
            x = x[16:, :-16]
        for asked in (False, True) if complete else [i != 11]:
            name = f"{format} {shape} {float} {size} packed and tiled: {asked}"
            options = {"packed": asked, "tiled": asked}
            yield name, unlike(mx, x, format, RULES[i % 4], options, complete=complete)
    mx._sizes = chosen
    draws = _draws(96 * 64)
    yield "random bits", [draws.size, int((draws != random_bits(96 * 64, SEED, WIDTH)).sum())]
    for format in formats[:-1] if complete else formats[:1]:
        yield f"{format} by chance", unlike_chance(mx, numbers((96, 64), 1), format, draws)


def sizes(mx: Any) -> dict[str, list[int]]:
    """By kernel and sizes of a tile that a GPU may choose: bytes, and those unlike others'."""
    x, chosen, found = numbers((64, 96), 5), mx._sizes, {}
    sixes, fours = mx.quantize(x, "e3m2", packed=True), mx.quantize(x[:, :80], "nvfp4")
    codes = mx.encode(x, "e3m2").reshape(-1)
    calls = {
        mx.quantize_kernel: lambda: [
            *itertools.chain(*mx.quantize_both(x, "e3m2", packed=True, seed=SEED)),
            *mx.quantize(x[:, :80], "nvfp4", tensor_scale=2.5, packed=True, tiled=True),
        ],
        mx.dequantize_kernel: lambda: [
            mx.dequantize(*sixes, "e3m2", packed=True),
            mx.dequantize(*fours, "nvfp4", mx.torch.float16),
        ],
        mx.pack_kernel: lambda: [mx.unpack(mx.pack(codes, "e3m2"), "e3m2", codes.numel())],
        mx.tiles_kernel: lambda: [mx.pack_scales(codes[:1000].view(50, 20))],
    }
    for kernel, call in calls.items():
        want = _all_bytes(call())
        for size in mx.SIZES[kernel]:
            mx._sizes = lambda one, *shape, kernel=kernel, size=size: (
                size if one is kernel else chosen(one, *shape)
            )
            counts = [0, 0]
            count(counts, [_all_bytes(call())], [want])
            found[f"{kernel.fn.__name__} {size}"] = counts
            mx._sizes = chosen
    return found


def _all_bytes(tensors: list[Any]) -> NDArray[np.uint8]:
    return np.frombuffer(b"".join(one.numpy().tobytes() for one in tensors), np.uint8)


@functools.cache
def _draws(count: int) -> NDArray[np.uint32]:
    with tempfile.TemporaryDirectory() as folder:
        source, program = Path(folder, "draws.cpp"), str(Path(folder, "draws"))
        source.write_text(PROGRAM % (count, SEED, WIDTH), "utf-8")
        subprocess.run(["g++", "-std=c++17", f"-I{CUDA}", str(source), "-o", program], check=True)
        lines = subprocess.run([program], check=True, capture_output=True, text=True).stdout
    return np.array(lines.split(), np.uint32)
