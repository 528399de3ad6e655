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

__all__ = ["answers", "sizes"]

CUDA = Path(__file__).resolve().parents[2] / "tools" / "fastpath" / "cuda"
RULES = ("floor", "ceil", "rceil", "even")
SHAPES = ((160, 96), (32, 32), (64, 192), (288, 32))
SEED, WIDTH = 0x9E3779B97F4A7C15, 11
#: Three times this is just above a tie of float16, and is one as a float32: 3 * 11233963 = 2057 *
#: 2**14 + 1.
TENSOR_SCALE = np.float32(11233963 * 2.0**-30)
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
        size, x = mx.TILES[i % 6 if complete else 4], _numbers(shape, i).to(dtypes[float])
        mx._sizes = lambda *_, size=size: size
        format = formats[i % 7 if complete or i == 6 else 4]
        if not complete:
            x = x[:160, :96]
        if format == "nvfp4":  # whole blocks of 16, not of 32
            x = x[16:, :-16]
        for asked in (False, True) if complete else [i != 11]:
            name = f"{format} {shape} {float} {size} packed and tiled: {asked}"
            options = {"packed": asked, "tiled": asked}
            yield name, _unlike(mx, x, format, RULES[i % 4], options, complete=complete)
    mx._sizes = chosen
    draws = _draws(96 * 64)
    for format in formats[:-1] if complete else formats[:1]:
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


def _unlike(
    mx: Any, x: Any, format: str, rule: str, options: dict[str, bool], *, complete: bool
) -> list[int]:
    """Both directions at once, and each alone from a view with other strides; and back."""
    import torch

    element, policy, scale = _named(format), f"ocp+scale_rule={rule}", {}
    if format == "nvfp4":
        policy, scale = "ocp", {"tensor_scale": TENSOR_SCALE}
    both = mx.quantize_both(x, element, rule, **options, **scale)
    spread, counts = _spread(x), [0, 0]
    for found, alone, values in ((both[0], spread, x), (both[1], spread.T, x.T)):
        blocks = mxref.quantize(values, format, policy, **scale)
        scales, codes = blocks.scale_codes, blocks.codes
        want = [
            mxref.pack_scales(scales, "ocp+scale_layout=tiles_128x4")
            if options["tiled"]
            else scales,
            mxref.pack(codes, "e2m1" if format == "nvfp4" else element)
            if options["packed"]
            else codes,
        ]
        _count(counts, [part.numpy() for part in found], want)
        if complete or values is not x:
            one = mx.quantize(alone, element, rule, **options, **scale)
            _count(counts, [part.numpy() for part in one], want)
        for dtype in (torch.float16, torch.bfloat16, torch.float32)[: 3 if complete else 1]:
            read = functools.partial(mx.dequantize, found[0], _apart(found[1]), element)
            out = _spread(torch.full_like(x, 7, dtype=dtype))
            out = out.T if values is not x else out
            read(out=out, **options, **scale)
            written = [out.contiguous(), *([read(dtype, **options, **scale)] if complete else [])]
            want = [_bits(mxref.dequantize(blocks, str(dtype).rpartition(".")[2]))]
            for numbers in written:
                kind = torch.int32 if dtype == torch.float32 else torch.int16
                bits = numbers.view(kind).numpy().view(want[0].dtype)
                _count(counts, [np.where(numbers.isnan().numpy(), 1, bits)], want)
    return counts


def _named(format: str) -> str:
    return format if format == "nvfp4" else BLOCK_FORMATS[format].element.name


def _spread(x: Any) -> Any:
    """The same numbers in every second place, lines with gaps between them."""
    import torch

    gaps = torch.full((x.shape[0], 2 * x.shape[1] + 3), torch.nan, dtype=x.dtype)
    spread = gaps[:, : 2 * x.shape[1] : 2]
    spread.copy_(x)
    return spread


def _apart(codes: Any) -> Any:
    """The same bytes one byte behind a whole word."""
    import torch

    line = torch.zeros(codes.numel() + 1, dtype=torch.uint8)
    line[1:] = codes.reshape(-1)
    return line[1:].view(codes.shape)


def sizes(mx: Any) -> dict[str, list[int]]:
    """By kernel and sizes of a tile that a GPU may choose: bytes, and those unlike others'."""
    x, chosen, found = _numbers((64, 96), 5), mx._sizes, {}
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
            _count(counts, [_all_bytes(call())], [want])
            found[f"{kernel.fn.__name__} {size}"] = counts
            mx._sizes = chosen
    return found


def _all_bytes(tensors: list[Any]) -> NDArray[np.uint8]:
    return np.frombuffer(b"".join(one.numpy().tobytes() for one in tensors), np.uint8)


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
    return np.where(np.isnan(numbers.astype(np.float32)), words.dtype.type(1), words)


def _count(counts: list[int], found: list[Any], want: list[Any]) -> None:
    for one, other in zip(found, want, strict=True):
        assert one.size == other.size, (one.shape, other.shape)
        counts[0] += one.size
        counts[1] += int((one.reshape(-1) != other.reshape(-1)).sum())
