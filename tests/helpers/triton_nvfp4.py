"""What the Triton kernels make of NVFP4, compared with mxref: every bfloat16, scale and code."""

from __future__ import annotations

from typing import Any

import numpy as np

import mxref

__all__ = ["every_nvfp4"]

#: Scales of tensors: 1, 3, 1/3, the ends of float32 and of its subnormal numbers.
TENSOR_SCALES = (0x3F800000, 0x40400000, 0x3EAAAAAB, 0x00000001, 0x007FFFFF, 0x7F7FFFFF)
#: The exponents of the elements of a block, less that of its largest one.
BELOW = np.array([0, 0, 0, -1, -1, -1, -2, -2, -2, -2, -3, -3, -3, -4, -4, -5])


def every_nvfp4(mx: Any) -> dict[str, list[int]]:
    """By scale of the tensor: answers, and those that are not mxref's.

    Blocks begin with every bfloat16 number, for which the scale of the tensor is chosen by its
    exponent; the others have any fractions. Every code is read with every scale.
    """
    import torch

    found = {}
    for i, word in enumerate(TENSOR_SCALES):
        scale, rng = np.uint32(word).view(np.float32), np.random.default_rng(i)
        first = np.arange(1 << 16, dtype=np.uint32)[:: 1 if i == 1 else 31, np.newaxis] << 16
        field = np.clip((first >> 23 & 0xFF).astype(np.int64) + BELOW, 0, 254)
        rest = rng.integers(0, 1 << 32, field.shape) & 0x807FFFFF | field << 23
        rest[:, :1] = first
        x = torch.from_numpy(rest.astype(np.uint32).view(np.float32))
        counts = [0, 0]
        for values in (x, x.bfloat16(), (x / x.abs().nan_to_num(1, 1).amax() * 6e4).half()):
            want = mxref.quantize(values, "nvfp4", tensor_scale=scale)
            scales, codes = mx.quantize(values, "nvfp4", tensor_scale=float(scale))
            _count(counts, scales.numpy(), want.scale_codes)
            _count(counts, codes.numpy(), want.codes)
        scales = np.arange(128, dtype=np.uint8)[:, np.newaxis]
        codes = np.tile(np.arange(16, dtype=np.uint8), (128, 1))
        for name in ("float32", "bfloat16", "float16"):
            bytes_ = torch.from_numpy(scales), torch.from_numpy(codes)
            read = mx.dequantize(
                *bytes_, "nvfp4", getattr(torch, name), tensor_scale=torch.tensor(scale)
            )
            numbers = mxref.dequantize(
                mxref.Blocks(codes, scales, "nvfp4", 1, codes.shape, tensor_scale=scale), name
            )
            bits = read.view(torch.int32 if name == "float32" else torch.int16).numpy()
            own = numbers.view(f"i{numbers.itemsize}")
            nan = np.isnan(numbers.astype(np.float32))
            _count(counts, np.where(read.isnan().numpy(), 0, bits), np.where(nan, 0, own))
        found[f"nvfp4 of a tensor scaled by {word:08x}"] = counts
    return found


def _count(counts: list[int], one: Any, other: Any) -> None:
    assert one.shape == other.shape
    counts[0] += one.size
    counts[1] += int((one != other).sum())
