"""What the Triton kernels make of matrices, compared with mxref: layouts, strides, NVFP4.

The tensors lie on the device of `x`, or on the one that is named.
"""

from __future__ import annotations

import contextlib
import functools
import itertools
from collections.abc import Iterator
from typing import Any

import numpy as np
from gpu_common import RULES
from numpy.typing import NDArray

import mxref
from mxref.formats.catalog import BLOCK_FORMATS

__all__ = [
    *("count", "every_nvfp4", "numbers", "nvfp4_at_midpoints", "on_device", "only"),
    *("random_bits", "tiles", "unlike", "unlike_chance"),
]

SEED, WIDTH = 0x9E3779B97F4A7C15, 11
#: Three times this is just above a tie of float16, and is one as a float32: 3 * 11233963 = 2057 *
#: 2**14 + 1.
TENSOR_SCALE = np.float32(11233963 * 2.0**-30)
#: Scales of tensors: 1, 3, 1/3, the ends of float32 and of its subnormal numbers.
TENSOR_SCALES = (0x3F800000, 0x40400000, 0x3EAAAAAB, 0x00000001, 0x007FFFFF, 0x7F7FFFFF)
#: The midpoints between E2M1's numbers.
MIDPOINTS = np.array([0.25, 0.75, 1.25, 1.75, 2.5, 3.5, 5])
#: The exponents of the elements of a block, less that of its first one.
BELOW = np.array([0, 0, 0, -1, -1, -1, -2, -2, -2, -2, -3, -3, -3, -4, -4, -5])


def on_device(mx: Any, device: str, shape: tuple[int, int]) -> Iterator[tuple[str, list[int]]]:
    """All of it: kinds of calls, how many bytes and numbers, and how many are unlike mxref's.

    Every size of a tile is the only one once, so that none is compared because another is faster.
    """
    import torch

    for i, size in enumerate([*tiles(mx), *tiles(mx)]):
        format = [*BLOCK_FORMATS, "nvfp4"][i % 7]
        dtype = (torch.float32, torch.bfloat16, torch.float16)[i % 3]
        x, asked = numbers(shape, i).to(dtype).to(device), i % 2 == 0
        options = {"packed": asked, "tiled": asked}
        with only(mx, size):
            counts = unlike(mx, x, format, RULES[i % 5], options, complete=True)
        yield f"{format} {size}", counts
    draws = random_bits(shape[0] * shape[1], SEED, WIDTH)
    for format in BLOCK_FORMATS:
        x = numbers(shape, 1).to(device)
        yield f"{format} by chance", unlike_chance(mx, x, format, draws)
    yield from every_nvfp4(mx, device).items()
    yield "nvfp4 at midpoints", nvfp4_at_midpoints(mx, device)


def tiles(mx: Any) -> list[Any]:
    """The sizes of a tile that a GPU would try, each once."""
    return [tile for tile in mx.TILES if tile.num_warps == 4]


@contextlib.contextmanager
def only(mx: Any, *tiles: Any) -> Iterator[None]:
    """Kernels with these sizes of a tile alone."""
    kernels = (mx.quantize_kernel, mx.dequantize_kernel)
    chosen = [kernel.configs for kernel in kernels]
    for kernel in kernels:
        kernel.configs = [*tiles]
    yield
    for kernel, configs in zip(kernels, chosen, strict=True):
        kernel.configs = configs


def random_bits(count: int, seed: int, width: int) -> NDArray[np.uint32]:
    """The upper bits of words of Philox 4x32 with ten rounds: word i % 4 of counter i // 4."""
    index = np.arange((count + 3) // 4, dtype=np.uint64)
    mask = np.uint64(0xFFFFFFFF)
    a, b, c, d = index & mask, index >> np.uint64(32), np.zeros_like(index), np.zeros_like(index)
    keys = seed & 0xFFFFFFFF, seed >> 32
    for _ in range(10):
        one, two = a * np.uint64(0xD2511F53), c * np.uint64(0xCD9E8D57)
        a, b, c, d = (
            two >> np.uint64(32) ^ b ^ np.uint64(keys[0]),
            two & mask,
            one >> np.uint64(32) ^ d ^ np.uint64(keys[1]),
            one & mask,
        )
        keys = (keys[0] + 0x9E3779B9) & 0xFFFFFFFF, (keys[1] + 0xBB67AE85) & 0xFFFFFFFF
    words = np.stack([a, b, c, d], axis=1).reshape(-1)[:count].astype(np.uint32)
    return words >> np.uint32(32 - width)


def numbers(shape: tuple[int, int], seed: int) -> Any:
    """Of many sizes, with a NaN and an infinity in some blocks, subnormal numbers and zeros."""
    import torch

    rng = np.random.default_rng(seed)
    x = rng.standard_normal(shape) * np.exp2(rng.integers(-3, 4, shape))
    x *= np.exp2(rng.integers(-24, 12, shape[0]))[:, None]
    x[rng.random(shape) < 0.05] = -0.0
    x[1, 1], x[5, 30] = np.nan, -np.inf
    return torch.from_numpy(x.astype(np.float32))


def unlike(
    mx: Any, x: Any, format: str, rule: str, options: dict[str, bool], *, complete: bool
) -> list[int]:
    """Both directions at once, and each alone from a view with other strides; and back."""
    import torch

    scale: dict[str, Any] = {}
    element, policy = _named(format), f"ocp+scale_rule={rule}"
    if format == "nvfp4":
        policy, scale = "ocp", {"tensor_scale": TENSOR_SCALE}
    both = mx.quantize_both(x, element, rule, **options, **scale)
    spread, counts = _spread(x), [0, 0]
    for found, alone, values in ((both[0], spread, x), (both[1], spread.T, x.T)):
        blocks = mxref.quantize(values.cpu(), format, policy, **scale)
        scales, codes = blocks.scale_codes, blocks.codes
        want = [
            mxref.pack_scales(scales, "ocp+scale_layout=tiles_128x4")
            if options["tiled"]
            else scales,
            mxref.pack(codes, "e2m1" if format == "nvfp4" else element)
            if options["packed"]
            else codes,
        ]
        count(counts, [part.cpu().numpy() for part in found], want)
        if complete or values is not x:
            one = mx.quantize(alone, element, rule, **options, **scale)
            count(counts, [part.cpu().numpy() for part in one], want)
        for dtype in (torch.float16, torch.bfloat16, torch.float32)[: 3 if complete else 1]:
            read = functools.partial(mx.dequantize, found[0], _apart(found[1]), element)
            out = _spread(torch.full_like(x, 7, dtype=dtype))
            out = out.T if values is not x else out
            read(out=out, **options, **scale)
            outputs = [out.contiguous(), *([read(dtype, **options, **scale)] if complete else [])]
            want = [_bits(mxref.dequantize(blocks, str(dtype).rpartition(".")[2]))]
            for one in [written.cpu() for written in outputs]:
                kind = torch.int32 if dtype == torch.float32 else torch.int16
                bits = one.view(kind).numpy().view(want[0].dtype)
                count(counts, [np.where(one.isnan().numpy(), 1, bits)], want)
    return counts


def _named(format: str) -> str:
    return format if format == "nvfp4" else BLOCK_FORMATS[format].element.name


def _spread(x: Any) -> Any:
    """The same numbers in every second place, lines with gaps between them."""
    import torch

    gaps = torch.full((x.shape[0], 2 * x.shape[1] + 3), torch.nan, dtype=x.dtype, device=x.device)
    spread = gaps[:, : 2 * x.shape[1] : 2]
    spread.copy_(x)
    return spread


def _apart(codes: Any) -> Any:
    """The same bytes one byte behind a whole word."""
    import torch

    line = torch.zeros(codes.numel() + 1, dtype=torch.uint8, device=codes.device)
    line[1:] = codes.reshape(-1)
    return line[1:].view(codes.shape)


def unlike_chance(mx: Any, x: Any, format: str, draws: NDArray[np.uint32]) -> list[int]:
    """Philox's bits in rows and in columns, and whole words of them."""
    element, counts = BLOCK_FORMATS[format].element.name, [0, 0]
    of_width = {WIDTH: draws, 32: random_bits(draws.size, SEED, 32)}
    for values, (width, bits) in itertools.product((x, x.T), of_width.items()):
        found = mx.quantize(values, element, "rceil", seed=SEED, random_width=width)
        want = mxref.quantize(
            values.cpu(),
            format,
            "ocp+scale_rule=rceil+rounding=stochastic_a",
            random_bits=bits.reshape(values.shape),
            random_width=width,
        )
        count(counts, [part.cpu().numpy() for part in found], [want.scale_codes, want.codes])
    return counts


def every_nvfp4(mx: Any, device: str = "cpu") -> dict[str, list[int]]:
    """By scale of the tensor: answers, and those that are not mxref's.

    Blocks begin with every 31st bfloat16 number, under the scale 3 with every one; the others are
    up to 2**5 times smaller, with any fractions. Every code is read with every scale.
    """
    import torch

    found = {}
    for i, word in enumerate(TENSOR_SCALES):
        scale: Any = np.uint32(word).view(np.float32)
        rng = np.random.default_rng(i)
        first = np.arange(1 << 16, dtype=np.uint32)[:: 1 if i == 1 else 31, np.newaxis] << 16
        field = np.clip((first >> 23 & 0xFF).astype(np.int64) + BELOW, 0, 254)
        rest = rng.integers(0, 1 << 32, field.shape) & 0x807FFFFF | field << 23
        rest[:, :1] = first
        x = torch.from_numpy(rest.astype(np.uint32).view(np.float32))
        counts = [0, 0]
        for values in (x, x.bfloat16(), (x / x.abs().nan_to_num(1, 1).amax() * 6e4).half()):
            _count_nvfp4(counts, mx, values, scale, device)
        scales = np.arange(128, dtype=np.uint8)[:, np.newaxis]
        codes = np.tile(np.arange(16, dtype=np.uint8), (128, 1))
        for name in ("float32", "bfloat16", "float16"):
            stored = [torch.from_numpy(one).to(device) for one in (scales, codes)]
            unit = torch.tensor(scale, device=device)
            read = mx.dequantize(*stored, "nvfp4", getattr(torch, name), tensor_scale=unit).cpu()
            as_scaled = {"scale_codes": scales, "block_format": "nvfp4", "tensor_scale": scale}
            own = _bits(mxref.dequantize(codes, name, **as_scaled))
            kind = torch.int32 if name == "float32" else torch.int16
            bits = read.view(kind).numpy().view(own.dtype)
            count(counts, [np.where(read.isnan().numpy(), 1, bits)], [own])
        found[f"nvfp4 of a tensor scaled by {word:08x}"] = counts
    return found


def nvfp4_at_midpoints(mx: Any, device: str = "cpu") -> list[int]:
    """Answers to the floats on each side of every midpoint under every scale, and wrong ones.

    A midpoint times the scale of a block is k, of up to 7 bits, times a power of two. The scales of
    tensors are such that k times their significand misses a float32 by the last of its 31 bits.
    """
    import torch

    counts = [0, 0]
    scales = mxref.decode(np.arange(1, 127, dtype=np.uint8), "ue4m3", np.float64)[:, np.newaxis]
    for k, side in itertools.product((1, 9, 11, 13, 15, 27, 33, 39, 45, 55, 63, 77, 91), (1, -1)):
        word = 0x3F654380 + side * pow(k, -1, 128) % 128
        tensor: Any = np.uint32(word).view(np.float32)
        exact = MIDPOINTS * scales * np.float64(tensor)
        near = exact.astype(np.float32)
        least = np.where(near < exact, near, np.nextafter(near, np.float32(0)))
        above = np.nextafter(least, np.float32(np.inf))
        largest = (6 * scales * np.float64(tensor)).astype(np.float32)
        values = torch.from_numpy(np.concatenate([largest, least, -above, -largest], axis=1))
        _count_nvfp4(counts, mx, values, tensor, device)
    return counts


def _count_nvfp4(counts: list[int], mx: Any, values: Any, tensor: Any, device: str) -> None:
    """Adds the scales and codes of blocks under a scale of their tensor, and the wrong ones."""
    want = mxref.quantize(values, "nvfp4", tensor_scale=tensor)
    found = mx.quantize(values.to(device), "nvfp4", tensor_scale=float(tensor))
    count(counts, [one.cpu().numpy() for one in found], [want.scale_codes, want.codes])


def _bits(numbers: NDArray[Any]) -> NDArray[Any]:
    """Patterns, of all NaN the same."""
    words = numbers.view(f"u{numbers.itemsize}")
    return np.where(np.isnan(numbers.astype(np.float32)), words.dtype.type(1), words)


def count(counts: list[int], found: list[Any], want: list[Any]) -> None:
    """Adds arrays to the answers, and what differs in them to the wrong ones."""
    for one, other in zip(found, want, strict=True):
        assert one.size == other.size, (one.shape, other.shape)
        counts[0] += one.size
        counts[1] += int((one.reshape(-1) != other.reshape(-1)).sum())
