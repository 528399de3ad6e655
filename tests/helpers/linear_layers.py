"""What the tests of linear layers of other implementations share: tensors, and comparisons."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from typing import Any
from unittest.mock import patch

import ml_dtypes
import numpy as np
import torch

import mxref
from mxref.bits.floats import layout_of
from mxref.products.float_products import float_product_bounds
from mxref.products.linear import product_bounds

F32, BF16 = torch.float32, torch.bfloat16
E4M3, E5M2 = torch.float8_e4m3fn, torch.float8_e5m2
K, N = 160, 96
LEADS = [(64,), (4, 24)]


def scaled(seed: int, shape: tuple[int, ...], dtype: torch.dtype, spread: int = 9) -> Any:
    """Normal numbers times powers of two for each index of each axis."""
    rng = np.random.default_rng(seed)
    values = rng.standard_normal(shape)
    for axis, count in enumerate(shape):
        powers = np.exp2(rng.integers(-spread, spread + 1, count))
        values *= powers.reshape(-1, *(1,) * (len(shape) - axis - 1))
    return torch.tensor(values).to(dtype)


def tensors(lead: tuple[int, ...], dtype: torch.dtype, name: str, k: int = K) -> list[Any]:
    """x, w and the gradient of the output, for a format."""
    spread = 20 if name.endswith("e5m2") else 9
    shapes = (*lead, k), (N, k), (*lead, N)
    return [scaled(i, shape, dtype, spread) for i, shape in enumerate(shapes)]


def array(tensor: Any) -> Any:
    """The array of a tensor's bits; bfloat16 is that of ml_dtypes, 8-bit floats are uint8."""
    tensor = tensor.detach().contiguous()
    if tensor.dtype == BF16:
        return tensor.view(torch.int16).numpy().view(ml_dtypes.bfloat16)
    floats = tensor.dtype.is_floating_point and tensor.dtype.itemsize == 1
    return (tensor.view(torch.uint8) if floats else tensor).numpy()


@contextmanager
def caught(module: Any, name: str) -> Iterator[list[Any]]:
    """What a function of a module returns, call by call."""
    function, results = getattr(module, name), []

    def keep(*args: Any, **kwargs: Any) -> Any:
        results.append(function(*args, **kwargs))
        return results[-1]

    with patch.object(module, name, keep):
        yield results


def check_codes(results: list[Any], operands: list[Any], packing: Any = "low_nibble_first") -> None:
    """Scales and codes of a library, always with blocks along the last axis."""
    assert len(results) == len(operands)
    for (scales, codes), blocks in zip(results, operands, strict=True):
        along = blocks.T if blocks.axis == 0 else blocks
        found = array(codes).view(np.uint8).reshape(len(along.codes), -1)
        size = along.shape[1]
        if found.shape[1] < size:  # two in a byte
            found = mxref.unpack(found, "e2m1", 2 * found.shape[1], fp4_packing=packing)
        np.testing.assert_array_equal(found[:, :size], along.codes[:, :size])
        np.testing.assert_array_equal(
            array(scales).reshape(along.scale_codes.shape), along.scale_codes
        )


def outside(result: Any, pair: Any) -> int:
    """How many numbers of a result lie outside the interval of the operands' product."""
    got = array(result)
    bounds = product_bounds(*pair, got.dtype)
    return int((~bounds.hold(got.reshape(bounds.lo.shape))).sum())


def column_sums_outside(result: Any, numbers: Any) -> int:
    """How many sums lie outside the intervals of float32 sums of columns of numbers."""
    got = array(result)
    bounds = float_product_bounds(np.ones((1, len(numbers))), numbers, layout_of(got.dtype))
    return int((~bounds.hold(got)).sum())


def check_gradients(dx: Any, dw: Any, right: Any, wrong: Any) -> None:
    """Inside the intervals of one choice, and not of another."""
    assert [outside(*one) for one in zip((dx, dw), right, strict=True)] == [0, 0]
    assert all(outside(*one) for one in zip((dx, dw), wrong, strict=True))
