"""What numbers come from: floats as they are, small floats and integers as exact floats."""

from __future__ import annotations

import dataclasses
from typing import Any

import numpy as np
from numpy.typing import ArrayLike, NDArray

from mxref._bits import (
    F32,
    F64,
    LAYOUTS,
    Bits,
    FloatLayout,
    Parts,
    bits_of,
    compose,
    refuse_masked,
    split,
)
from mxref._codes import dtype_of, parts_of
from mxref.choices import AmaxType, PreRounding, SubnormalInputs
from mxref.formats import ELEMENT_FORMATS, INT8, OTHER_FORMATS
from mxref.policy import ElementPolicy

#: Spelling of a float type in policies -> its name elsewhere.
_TYPES = {"float32": "f32", "bfloat16": "bf16", "float16": "f16"}
_SMALL_FLOATS = {
    dtype_of(fmt): fmt
    for fmt in (*ELEMENT_FORMATS.values(), *OTHER_FORMATS.values())
    if fmt.dtype_name is not None and fmt is not INT8
}


def numbers_of(
    values: ArrayLike, policy: ElementPolicy, parameter: str = "values"
) -> tuple[Bits, FloatLayout]:
    """Patterns of numbers, after flushing and pre-rounding if the policy says so.

    An integer beyond 2**53 is rounded to odd in its 53rd bit, which changes no later rounding to 50
    bits or fewer.

    Raises:
        TypeError: neither floats nor integers, or a masked array.
    """
    flush = policy.subnormal_inputs is SubnormalInputs.FLUSHED
    refuse_masked(values, parameter)
    try:
        array = np.asarray(values)
    except ValueError as error:
        raise TypeError(f"{parameter} must be a rectangular array of numbers: {error}") from None
    if array.dtype in _SMALL_FLOATS:
        # All of them fit into each type that one can round to first.
        return _small_float_bits(array, flush=flush), F32
    if array.dtype.kind in "iu":
        bits, layout = _integer_bits(array), F64
    else:
        bits, layout = bits_of(array, parameter)
    bits, layout = narrowed(bits, layout, policy.pre_rounding)
    if flush:
        magnitude = bits & layout.uint.type(layout.sign_bit - 1)
        subnormal = magnitude < layout.uint.type(1 << layout.mantissa_bits)
        bits = np.where(subnormal, bits & layout.uint.type(layout.sign_bit), bits)
    return bits, layout


def narrowed(
    bits: Bits, layout: FloatLayout, to: PreRounding | AmaxType
) -> tuple[Bits, FloatLayout]:
    """The numbers rounded (ties to even) to a type, if they do not all fit into it already."""
    if to.value not in _TYPES:
        return bits, layout
    target = LAYOUTS[_TYPES[to.value]]
    wider = layout.exponent_bits > target.exponent_bits
    if not wider and layout.mantissa_bits <= target.mantissa_bits:
        return bits, layout
    return compose(split(bits, layout), target), target


def _small_float_bits(array: NDArray[Any], *, flush: bool) -> Bits:
    """float32 patterns of ml_dtypes arrays, exact; NaN keeps its sign."""
    fmt = _SMALL_FLOATS[array.dtype]
    parts = parts_of(fmt)
    significand = parts.significand
    if flush:
        significand = np.where(parts.is_subnormal, 0, significand)
    negative = (np.arange(fmt.code_count) & fmt.sign_bit) != 0
    table = compose(dataclasses.replace(parts, significand=significand, negative=negative), F32)
    bits: Bits = table[array.view(np.uint8)]
    return bits


def _integer_bits(array: NDArray[Any]) -> Bits:
    """float64 patterns of integers, rounded to odd where they have more than 53 bits."""
    negative = array < 0
    wide = array.astype(np.uint64)  # modulo 2**64, so that negation gives the magnitude
    magnitude = np.where(negative, np.uint64(0) - wide, wide)
    large = magnitude >> np.uint64(53) != 0
    sticky = (magnitude & np.uint64(0x7FF)) != 0
    significand = np.where(large, magnitude >> np.uint64(11) | sticky, magnitude)
    exponent = 11 * large.astype(np.int64)
    return compose(Parts.finite(negative, significand.astype(np.int64), exponent), F64)
