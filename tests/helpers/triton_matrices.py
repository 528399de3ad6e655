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
from gpu_common import RULES
from gpu_matrices import (
    SEED,
    WIDTH,
    count,
    numbers,
    nvfp4_at_midpoints,
    only,
    random_bits,
    tiles,
    unlike,
    unlike_chance,
)
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
    formats = [*BLOCK_FORMATS, "nvfp4"]
    for i, (shape, float) in enumerate(itertools.product(SHAPES, dtypes)):
        if not complete and i not in (6, 9, 11):
            continue
        # A GPU chooses between these sizes; the interpreter's is another.
        size, x = tiles(mx)[i % 6 if complete else 4], numbers(shape, i).to(dtypes[float])
        format = formats[i % 7 if complete or i < 11 else 4]
        if not complete:
            x = x[:160, :96]
        if format == "nvfp4":  # whole blocks of 16, not of 32
            x = x[16:, :-16]
        for asked in (False, True) if complete else [i != 11]:
            name = f"{format} {shape} {float} {size} packed and tiled: {asked}"
            options = {"packed": asked, "tiled": asked}
            with only(mx, size):
                yield name, unlike(mx, x, format, RULES[i % 5], options, complete=complete)
    draws = _draws(96 * 64)
    yield "random bits", [draws.size, int((draws != random_bits(96 * 64, SEED, WIDTH)).sum())]
    with only(mx, tiles(mx)[4]):
        for format in formats[:-1] if complete else formats[:1]:
            yield f"{format} by chance", unlike_chance(mx, numbers((96, 64), 1), format, draws)
    yield "nvfp4 at midpoints", nvfp4_at_midpoints(mx)


def sizes(mx: Any) -> dict[str, list[int]]:
    """By sizes of a tile that a GPU may choose: bytes, and those unlike the interpreter's."""
    x, found = numbers((64, 96), 5), {}
    sixes, fours = mx.quantize(x, "e3m2", packed=True), mx.quantize(x[:32, :80], "nvfp4")

    def call() -> NDArray[np.uint8]:
        tensors = [
            *itertools.chain(*mx.quantize_both(x, "e3m2", packed=True, seed=SEED)),
            *mx.quantize(x[:32, :80], "nvfp4", tensor_scale=2.5, packed=True, tiled=True),
            mx.dequantize(*sixes, "e3m2", packed=True),
            mx.dequantize(*fours, "nvfp4", mx.torch.float16),
        ]
        return np.frombuffer(b"".join(one.numpy().tobytes() for one in tensors), np.uint8)

    want = call()
    for size in tiles(mx):
        counts = [0, 0]
        with only(mx, size):
            count(counts, [call()], [want])
        found[str(size)] = counts
    return found


@functools.cache
def _draws(count: int) -> NDArray[np.uint32]:
    with tempfile.TemporaryDirectory() as folder:
        source, program = Path(folder, "draws.cpp"), str(Path(folder, "draws"))
        source.write_text(PROGRAM % (count, SEED, WIDTH), "utf-8")
        subprocess.run(["g++", "-std=c++17", f"-I{CUDA}", str(source), "-o", program], check=True)
        lines = subprocess.run([program], check=True, capture_output=True, text=True).stdout
    return np.array(lines.split(), np.uint32)
