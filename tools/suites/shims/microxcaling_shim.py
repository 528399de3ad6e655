"""microxcaling: mxref as its C++ extension, which its tests compare with its PyTorch path."""

from __future__ import annotations

import functools
import sys
from types import SimpleNamespace
from typing import Any

import numpy as np
import pytest
import torch

from mxref.formats import E8M0, INT8, BlockFormat, ElementFormat, Specials
from suites.asked import mx

__all__ = ["replace_all"]

#: Of a format's exponent bits and mantissa bits, which count the sign and the implicit one.
SPECIALS = {(5, 4): Specials.IEEE, (4, 5): Specials.TOP_CODE_NAN}
ROUNDINGS = ("ties_to_away", "toward_zero", "ties_to_even")


@functools.cache
def element_format(exponent_bits: int, bits: int) -> ElementFormat:
    """The format of mxref; integers of b bits are fractions of b - 2 bits with one exponent bit."""
    if exponent_bits + bits > 9:
        pytest.skip("mxref has no element formats of more than 8 bits")
    if (exponent_bits, bits) == (0, 8):
        return INT8
    e, m = max(exponent_bits, 1), bits - 2
    bias = (1 << e - 1) - (exponent_bits > 0)
    return ElementFormat(
        f"e{e}m{m}", e, m, bias, SPECIALS.get((exponent_bits, bits), Specials.NONE)
    )


def quantize_mx(
    tensor: Any, scale_bits: int, exponent_bits: int, bits: int, _max_norm: float,
    _max_values: Any, axis: int, flush: bool, rounding: int,
) -> Any:  # fmt: skip
    """`quantize_mx_func_cpp`: blocks along a whole axis, and back."""
    fmt = element_format(exponent_bits, bits)
    policy = {"rounding": ROUNDINGS[rounding], "zero_sign": "dropped"}
    values = tensor.numpy()
    amax = np.abs(values).max(axis, keepdims=True)
    if flush:
        values = np.where(amax < 2.0**-126, np.float32(0), values)
    if scale_bits == 8:
        block = BlockFormat(fmt.name, fmt, E8M0, values.shape[axis])
        blocks = mx.quantize(values, block, axis=axis, **policy)
        return torch.from_numpy(mx.dequantize(blocks, np.float32))
    most = (1 << scale_bits - 1) - 1  # the limits of a narrower scale are put here
    exponent = mx.shared_scale(amax, fmt).astype(int) - E8M0.bias
    scale = np.ldexp(1.0, np.maximum(exponent, -most))
    numbers = mx.decode(mx.encode(values / scale, fmt, **policy), fmt, np.float64) * scale
    return torch.from_numpy(np.where(exponent > most, np.nan, numbers).astype(np.float32))


def quantize_elemwise(
    tensor: Any, bits: int, exponent_bits: int, max_norm: float, rounding: int,
    saturate: bool, allow_denorm: bool,
) -> Any:  # fmt: skip
    """`quantize_elemwise_func_cpp`: each element, and back."""
    fmt = element_format(exponent_bits, bits)
    values = tensor.numpy()
    if not saturate and exponent_bits and fmt.specials is Specials.NONE:
        pytest.skip(f"codes of {fmt.name} have no infinity, which the suite expects")
    if not allow_denorm and exponent_bits:
        values = np.where(np.abs(values) < fmt.min_normal, np.float32(0), values)
    overflow = "saturate" if saturate else "nonsaturating"
    codes = mx.encode(values, fmt, rounding=ROUNDINGS[rounding], overflow=overflow)
    return torch.from_numpy(mx.decode(codes, fmt, np.float32))


def replace_all() -> None:
    """Put mxref in the place of the extension, which would be compiled for CUDA."""
    functions = {
        "quantize_mx_func_cpp": quantize_mx,
        "quantize_elemwise_func_cpp": quantize_elemwise,
    }
    import mx as microxcaling

    microxcaling.custom_extensions = SimpleNamespace(funcs=SimpleNamespace(**functions))
    sys.modules["mx.custom_extensions"] = microxcaling.custom_extensions
