"""Numbers as they are given, read as float patterns after the input choices of a policy."""

from __future__ import annotations

import dataclasses
from collections.abc import Mapping
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import ArrayLike, NDArray

from mxref.bits.floats import (
    BF16,
    F16,
    F32,
    F64,
    Bits,
    FloatLayout,
    Parts,
    compose,
    float_array,
    patterns,
    plain_layout,
    split,
)
from mxref.formats.catalog import ELEMENT_FORMATS, INT8, OTHER_FORMATS, OWN_FORMATS
from mxref.numbers.codes import dtype_of, every_code
from mxref.policy.choices import AmaxType, PreRounding, SubnormalInputs
from mxref.policy.groups import ElementPolicy
from mxref.support.host_arrays import refuse_masked, unpacked_array
from mxref.support.scratch import scratch
from mxref.support.threads import in_chunks

#: The float types that members name.
_TYPES: Mapping[PreRounding | AmaxType, FloatLayout] = {
    PreRounding.FLOAT32: F32,
    PreRounding.BFLOAT16: BF16,
    PreRounding.FLOAT16: F16,
    AmaxType.FLOAT32: F32,
    AmaxType.BFLOAT16: BF16,
    AmaxType.FLOAT16: F16,
}
_SMALL_FLOATS = {
    dtype_of(fmt): fmt
    for fmt in (*ELEMENT_FORMATS.values(), *OTHER_FORMATS.values())
    if fmt.dtype_name is not None and fmt is not INT8 and fmt.name not in OWN_FORMATS
}


class Source(NamedTuple):
    """Numbers in an array, parts of which are read as float patterns.

    Args:
        array: floats of any byte order, ml_dtypes' small floats, or integers.
        stored: layout of the patterns before the input choices.
        policy: its `pre_rounding` and `subnormal_inputs` are applied to what is read.
        table: patterns by code, for small floats.
        nan_error: message for a NaN if it is an error.
    """

    array: NDArray[Any]
    stored: FloatLayout
    policy: ElementPolicy
    table: Bits | None = None
    nan_error: str = ""

    @classmethod
    def of(
        cls,
        values: ArrayLike,
        policy: ElementPolicy,
        parameter: str = "values",
        nan_error: str = "",
    ) -> Source:
        """The source of what a caller gave.

        Raises:
            TypeError: neither floats nor integers, or a masked array.
        """
        if (layout := plain_layout(values)) is not None:  # as in most calls
            return cls(np.asarray(values), layout, policy, nan_error=nan_error)
        refuse_masked(values, parameter)
        array = unpacked_array(values, parameter)
        if array.dtype in _SMALL_FLOATS:
            # All of them fit into each type of `pre_rounding`; they are flushed in the table.
            flush = policy.subnormal_inputs is SubnormalInputs.FLUSHED
            table = _small_float_bits(array.dtype, flush=flush)
            return cls(array, F32, ElementPolicy(), table, nan_error)
        if array.dtype.kind in "iu":
            return cls(array, F64, policy)
        return cls(*float_array(array, parameter), policy, nan_error=nan_error)

    @property
    def layout(self) -> FloatLayout:
        """Layout of the patterns that are read."""
        return narrowed_layout(self.stored, self.policy.pre_rounding)

    def patterns(self, part: NDArray[Any]) -> Bits:
        """Patterns of a part of the array before the input choices, in the layout `stored`.

        An integer beyond 2**53 is rounded to odd in its 53rd bit, which changes no later rounding
        to 50 bits or fewer.

        Raises:
            ValueError: a NaN, if it is an error.
        """
        if self.table is not None:
            bits = np.take(self.table, part.view(np.uint8))
        elif part.dtype.kind in "iu":
            bits = _integer_bits(part)
        else:
            bits = patterns(part, self.stored)
        if self.nan_error and has_nan(bits, self.stored):
            raise ValueError(self.nan_error)
        return bits

    def numbers(self, part: NDArray[Any]) -> tuple[Bits, FloatLayout]:
        """`patterns` after the input choices, and their layout."""
        return after_input_choices(self.patterns(part), self.stored, self.policy)

    def exact_numbers(self, part: NDArray[Any]) -> tuple[Bits, FloatLayout]:
        """`numbers` without integers that float64 may not hold.

        Raises:
            ValueError: an integer beyond 2**53.
        """
        if part.dtype.kind in "iu" and part.size:
            widest = max(abs(int(part.min())), int(part.max()))
            if widest > 1 << 53:
                raise ValueError(f"values must be floats or integers up to 2**53, got {widest}")
        return self.numbers(part)


def numbers_of(
    values: ArrayLike, policy: ElementPolicy, parameter: str = "values"
) -> tuple[Bits, FloatLayout]:
    """Patterns of numbers after the input choices, and their layout; see `Source`.

    Raises:
        TypeError: neither floats nor integers, or a masked array.
    """
    source = Source.of(values, policy, parameter)
    return source.numbers(source.array)


def has_nan(bits: Bits, layout: FloatLayout) -> bool:
    """Whether there is a NaN: a pattern above infinity's as a signed or unsigned integer."""
    signed = bits.view(f"i{bits.dtype.itemsize}")
    negative = layout.sign_bit | layout.inf_bits
    return bool(bits.max(initial=0) > negative or signed.max(initial=0) > layout.inf_bits)


def after_input_choices(
    bits: Bits, layout: FloatLayout, policy: ElementPolicy
) -> tuple[Bits, FloatLayout]:
    """Patterns rounded to the type of `pre_rounding`, then flushed under `subnormal_inputs`."""
    bits, layout = narrowed(bits, layout, policy.pre_rounding)
    if policy.subnormal_inputs is SubnormalInputs.KEPT:
        return bits, layout
    smallest = bits.dtype.type(1 << layout.mantissa_bits)
    flushed = bits.copy(order="C")

    def flush(part: Bits) -> None:
        magnitude = scratch("magnitude", part.size, part.dtype)
        np.bitwise_and(part, part.dtype.type(layout.sign_bit - 1), out=magnitude)
        subnormal = magnitude < smallest
        if subnormal.any():
            part[subnormal] &= part.dtype.type(layout.sign_bit)

    in_chunks(flush, 1, flushed)
    return flushed, layout


def narrowed_layout(layout: FloatLayout, to: PreRounding | AmaxType) -> FloatLayout:
    """The layout of numbers rounded to a type: their own if they all fit into it already."""
    target = _TYPES.get(to)
    if target is None:
        return layout
    wider = layout.exponent_bits > target.exponent_bits
    return target if wider or layout.mantissa_bits > target.mantissa_bits else layout


def narrowed(
    bits: Bits, layout: FloatLayout, to: PreRounding | AmaxType
) -> tuple[Bits, FloatLayout]:
    """The numbers rounded (ties to even) to a type, if they do not all fit into it already."""
    target = narrowed_layout(layout, to)
    if target is layout:
        return bits, layout
    drop = layout.mantissa_bits - target.mantissa_bits
    if drop < 1 or target.exponent_bits > layout.exponent_bits:
        return compose(split(bits, layout), target), target
    result = np.empty(bits.shape, target.uint)
    in_chunks(lambda out, part: _narrow(part, layout, target, out), 1, result, bits)
    return result, target


def _narrow(bits: Bits, layout: FloatLayout, target: FloatLayout, out: Bits) -> None:
    """`compose` of `split` for a chunk, on whole patterns where the result is a normal number.

    Dropping fraction bits rounds a magnitude pattern to a multiple of 2**drop, and a carry moves
    into the exponent by itself. The difference of the biases is subtracted first; it is a multiple
    of 2**(drop + 1), so ties and even codes stay the same. Subnormals need nothing else if the
    biases are equal. If not, numbers below the target's normal ones wrap around, and are computed
    separately, as NaN is.
    """
    word, size, drop = bits.dtype.type, bits.size, layout.mantissa_bits - target.mantissa_bits
    magnitude, rounded = (scratch(name, size, bits.dtype) for name in ("magnitude", "rounded"))
    np.bitwise_and(bits, word(layout.sign_bit - 1), out=magnitude)
    rebias = layout.bias - target.bias << layout.mantissa_bits
    np.right_shift(magnitude, word(drop), out=rounded)
    np.bitwise_and(rounded, word(1), out=rounded)
    np.add(rounded, magnitude, out=rounded)
    added = (1 << (drop - 1)) - 1 - rebias
    np.add(rounded, word(added % (1 << 8 * bits.dtype.itemsize)), out=rounded)
    np.right_shift(rounded, word(drop), out=rounded)
    np.minimum(rounded, word(target.inf_bits), out=rounded)
    np.copyto(out, rounded, casting="same_kind")
    if rebias:
        _narrow_small(magnitude, rebias, layout, target, out)
    if magnitude.max(initial=0) > layout.inf_bits:
        out[magnitude > word(layout.inf_bits)] = target.nan_bits
    np.right_shift(bits, word(layout.width - target.width), out=rounded)
    np.bitwise_and(rounded, word(target.sign_bit), out=rounded)
    np.bitwise_or(out, rounded, out=out, casting="same_kind")


def _narrow_small(
    magnitude: Bits, rebias: int, layout: FloatLayout, target: FloatLayout, out: Bits
) -> None:
    """Write the results for magnitudes below the target's normal numbers, most of them zeros."""
    word, unit = magnitude.dtype.type, 1 << layout.mantissa_bits
    small = magnitude < word(rebias + unit)
    if not small.any():
        return
    np.copyto(out, 0, where=small)
    half = max(rebias - target.mantissa_bits * unit, 0)  # of the smallest number: a tie, to zero
    others = np.flatnonzero(small & (magnitude > word(half)))
    if others.size:
        out[others] = compose(split(magnitude[others], layout), target)


def _small_float_bits(dtype: np.dtype[Any], *, flush: bool) -> Bits:
    """float32 patterns of every number of an ml_dtypes type, exact; NaN keeps its sign."""
    fmt = _SMALL_FLOATS[dtype]
    parts = every_code(fmt)
    significand = parts.significand
    if flush:
        significand = np.where(parts.is_subnormal, 0, significand)
    negative = (np.arange(fmt.code_count) & fmt.sign_bit) != 0
    bits: Bits = compose(
        dataclasses.replace(parts, significand=significand, negative=negative), F32
    )
    return bits


def _integer_bits(array: NDArray[Any]) -> Bits:
    """float64 patterns of integers, rounded to odd where they have more than 53 bits."""
    if array.dtype.itemsize < 8:  # float64 holds them all
        return array.astype(np.float64).view(np.uint64)
    negative = array < 0
    wide = array.astype(np.uint64)  # modulo 2**64, so that negation gives the magnitude
    magnitude = np.where(negative, np.uint64(0) - wide, wide)
    large = magnitude >> np.uint64(53) != 0
    sticky = (magnitude & np.uint64(0x7FF)) != 0
    significand = np.where(large, magnitude >> np.uint64(11) | sticky, magnitude)
    exponent = 11 * large.astype(np.int64)
    return compose(Parts.finite(negative, significand.astype(np.int64), exponent), F64)
