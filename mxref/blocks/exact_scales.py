"""The mathematics of two-level scaling: each number exact, then rounded once.

Source: SPEC_NOTES N41, N42.
"""

from __future__ import annotations

import dataclasses
from typing import Any

import numpy as np
from numpy.typing import NDArray

from mxref.bits.floats import F32, I64, Bits, FloatLayout, Parts, compose, floor_log2, split
from mxref.blocks.two_level import TensorScales, largest_number
from mxref.formats.catalog import BlockFormat
from mxref.numbers.codes import every_code
from mxref.numbers.element import encode_parts
from mxref.policy.groups import ElementPolicy

_ONE = 0x3F800000
#: Significant bits of a divisor in `quotient`, and of the quotient beyond 29.
_DIVISOR_BITS = 32
_MORE_BITS = 20


def tensor_scales(amax: Bits, layout: FloatLayout, fmt: BlockFormat) -> NDArray[np.uint32]:
    """The exact arithmetic's scales of tensors: amax / (largest element * largest scale).

    Rounded to float32; 1 for a tensor of zeros, and always a positive finite number.

    >>> from mxref import formats
    >>> tensor_scales(np.uint32([0x45280000]), F32, formats.block_format("nvfp4")).tolist()  # 2688
    [1065353216]
    """
    parts = split(amax, layout)
    top = tuple(zip(largest_number(fmt.element), largest_number(fmt.scale), strict=True))
    ratio = quotient(parts, np.int64(top[0][0] * top[0][1]), np.int64(sum(top[1])))
    least, most = np.uint32(1), np.uint32(F32.inf_bits - 1)
    found = np.minimum(np.maximum(compose(ratio, F32), least), most)
    return np.where(parts.significand == 0, np.uint32(_ONE), found)


def block_scales(amax: Parts, fmt: BlockFormat, tensor: TensorScales | None) -> I64:
    """The exact arithmetic's scale codes: amax / (largest element * tensor scale), rounded once."""
    n, e = largest_number(fmt.element)
    m, f = _factor(tensor, fmt)
    ratio = quotient(amax, np.asarray(n * m, np.int64), np.asarray(e + f, np.int64))
    codes: I64 = encode_parts(ratio, fmt.scale, ElementPolicy(), None).astype(np.int64)
    return codes


def scaled(parts: Parts, codes: I64, fmt: BlockFormat, tensor: TensorScales | None) -> Parts:
    """Numbers, one block a row, divided by their block's scale; a scale of 0 counts as 1."""
    scale = every_code(fmt.scale)
    m, f = _factor(tensor, fmt)
    significand = np.maximum(scale.significand, 1)[codes] * m
    exponent = scale.exponent[codes] + f
    return quotient(parts, significand[:, np.newaxis], exponent[:, np.newaxis])


def quotient(parts: Parts, significand: I64 | np.int64, exponent: I64 | np.int64) -> Parts:
    """Numbers divided by significand * 2**exponent (1 to 2**32 - 1), rounded to odd.

    The quotient has 49 bits or more and its last one is sticky, so it rounds to every format of at
    most 47 bits as the exact one does. Two divisions, since one of int64 gives 29 bits.
    """
    up = 61 - floor_log2(parts.significand)
    divisor_up = _DIVISOR_BITS - 1 - floor_log2(np.asarray(significand, np.int64))
    divisor = significand << divisor_up
    whole, rest = np.divmod(parts.significand << up, divisor)
    more, rest = np.divmod(rest << _MORE_BITS, divisor)
    return dataclasses.replace(
        parts,
        significand=whole << _MORE_BITS | more | (rest != 0),
        exponent=parts.exponent - up - _MORE_BITS - (exponent - divisor_up),
    )


def _factor(tensor: TensorScales | None, fmt: BlockFormat) -> tuple[Any, Any]:
    if tensor is None:
        return 1, 0
    ratio = tensor.ratio(fmt)
    return ratio.numerator, ratio.exponent
