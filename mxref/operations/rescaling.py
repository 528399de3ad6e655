"""TOSA's `rescale`.

Words of a case: input zero point, output zero point, channels C, C multipliers, C shifts, and
values, whose last axis has C.
"""

from __future__ import annotations

import enum
import math
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import replace
from typing import Any

import numpy as np
from numpy.typing import NDArray

from mxref.bits.float32 import fl
from mxref.exact import integer as slow
from mxref.integer import affine
from mxref.integer.integer_choices import Rounding
from mxref.integer.rescaling import rescale
from mxref.operands.case_input import CaseInput
from mxref.operands.draws import Draws, Ints
from mxref.operands.fields import Field
from mxref.operands.kinds import Integers, Size, signed
from mxref.operations.asked_call import AskedCall, result_type, words_of
from mxref.operations.by_value import ByValue
from mxref.operations.call_sizes import CallSizes, Sizes
from mxref.operations.filled_axes import FilledAxes
from mxref.operations.operation import Words

__all__ = ["Rescale", "largest_difference"]

#: Values of a random case.
_VALUES = 96
#: The integers that TOSA makes of others, and what no file has of them.
_PAIRS = {
    "int8": ("int8", "uint8", "int16", "uint16", "int32"),
    "uint8": ("int8", "int16"),
    "int16": ("int8", "uint8", "int16", "uint16", "int32"),
    "uint16": ("int8", "int16"),
    "int32": ("int8", "int16", "int32"),
}
_FORMATS = (
    "int8-int8", "int8-uint8", "int16-int8", "int32-int8", "int32-int16", "int8-int32",
    "int32-int32", "int8-int8_m16", "uint8-int8", "uint8-int16",
)  # fmt: skip
_FURTHER = {
    f"{source}-{target}{bits}": {"rounding": f"int8-int8{bits}"}
    for bits in ("", "_m16")
    for source, targets in _PAIRS.items()
    for target in targets
    if f"{source}-{target}{bits}" not in _FORMATS
}


_SIZES = CallSizes(
    (
        (1, 1025), (1025, 3), (257, 65), (4097, 1), (3, 4097), (2, 2048), (513, 512), (7, 7),
        (300, 300), (65_573, 1), (64, 96), (128, 128), (256, 384), (1024, 1024), (1024, 1056),
    ),
    empty=(0, 3), telling=(0, 1),
)  # fmt: skip


class Rescale(ByValue):
    """Integers times a fixed-point number, to integers of another width."""

    name = "rescale"
    sides = "rows", "channels"
    multiples = "n", "c"
    axes_filled = FilledAxes(("nc", "=c", "=c"), ("nc",), {0: 3})
    parameters_shown = "multiplier", "shift"
    parameters = "values, multipliers, shifts, input_zero, output_zero, dtype, multiplier_bits"
    formats, further = _FORMATS, _FURTHER

    def designed(self, format: str) -> Iterable[CaseInput]:
        """Codes, or numbers around powers, under many ratios."""
        from mxref.operations.rescaling_cases import rescale_cases

        return rescale_cases(format)

    def fields(self, format: str) -> tuple[Field, ...]:
        """Zero points, a multiplier and a shift for each channel, and rows of values."""
        source, _ = _dtypes(format)
        one = _bits(format) - 2
        return (
            Field("input_zero", Integers("int32")),
            Field("output_zero", Integers("int32")),
            Field("channels", Size(3)),
            Field("multiplier", Integers("int32", easy=1 << one), ("channels",)),
            Field("shift", Integers("int8", easy=one), ("channels",)),
            Field("q", Integers(source.name), ("*", "channels")),
        )

    def check(self, format: str, values: Mapping[str, Any]) -> None:
        """There are values."""
        if not values["q"].size:
            raise ValueError("values must be a multiple of the channels")

    def result(self, format: str, values: Mapping[str, Any]) -> tuple[Any, tuple[int, ...]]:
        """Integers in the shape of the values."""
        return result_type(format), values["q"].shape

    def argument_names(self, format: str) -> tuple[str, ...]:
        """The arrays first."""
        return "q", "multiplier", "shift", "input_zero", "output_zero"

    def arguments(self, format: str, values: Mapping[str, Any]) -> tuple[Any, ...]:
        """The dtype and the bits of multipliers are the last."""
        return (*super().arguments(format, values), result_type(format), _bits(format))

    def bounds(self, format: str) -> tuple[str, ...]:
        """What is done instead in float32."""
        return ("dequantize_quantize",) if format == "int8-int8" else ()

    def kinds(self, format: str) -> dict[str, type[enum.Enum]]:
        """One rounding or two, of multipliers of 32 bits."""
        return {} if format.endswith("_m16") else {"rounding": Rounding}

    def asked_sizes(self, format: str) -> CallSizes:
        """Rows and channels."""
        return _SIZES

    def size_features(self, format: str, sizes: Sizes, call: AskedCall) -> dict[str, int | str]:
        """The number of values."""
        return {"values": math.prod(sizes)}

    def parameter_place(self, call: AskedCall, index: int) -> int:
        """That of the channel."""
        return index % len(call.arguments[1])

    def repeated_value(self, call: AskedCall, index: int, count: int) -> tuple[AskedCall, Sizes]:
        """Rows of one channel."""
        value, *parameters = self.value_at(call, index)
        shape = count, 1
        arguments = (np.repeat(value, count).reshape(shape), *parameters, *call.arguments[3:])
        return replace(call, arguments=arguments, shape=shape), shape

    def units(self, format: str) -> dict[str, str]:
        """Rows and channels."""
        return {"*": "rows", "channels": "channels"}

    def clause(self, format: str, words: Words, answer: Words) -> tuple[bool, str, tuple[str, ...]]:
        """One clause of SPEC_NOTES."""
        return False, "Q12", ()

    def run(self, call: AskedCall, choices: Mapping[str, Any]) -> NDArray[Any]:
        """The integers, by the fast path."""
        *rest, dtype, bits = call.arguments
        return rescale(*rest, dtype=dtype, bits=bits, **choices)

    def run_column(self, format: str, words: Words, column: str) -> tuple[int, ...]:
        """Dequantized with the ratio as the scale, and quantized with the scale 1."""
        q, multiplier, shift, zero, out, dtype, _ = self.call(format, words).arguments
        ratio = fl(np.ldexp(multiplier.astype(np.float64), -shift.astype(np.int64)))
        values = fl((q.astype(np.int64) - zero) * ratio).astype(np.float32)
        info = np.iinfo(dtype)
        qparams = affine.QParams(1.0, out, int(info.min), int(info.max), dtype)
        return words_of(affine.quantize_affine(values, qparams))

    def twin(self, format: str, words: Words, chosen: Mapping[str, str]) -> Iterable[int]:
        """The integers, by the slow twin."""
        info = np.iinfo(result_type(format))
        zeros, rounding = (signed(words[0]), signed(words[1])), chosen.get("rounding", "single")
        for word, m, s in _each(words):
            value = slow.rescale(signed(word) - zeros[0], m, s, rounding) + zeros[1]
            yield min(max(value, int(info.min)), int(info.max))

    def twin_column(self, format: str, words: Words, column: str) -> Iterable[int]:
        """What `run_column` gives; all ratios are float64 numbers."""
        info = np.iinfo(result_type(format))
        ends = int(info.min), int(info.max)
        for word, m, s in _each(words):
            ratio, one = (np.float64(n).view(np.uint64).item() for n in (math.ldexp(m, -s), 1))
            number = slow.dequantize_affine(signed(word), ratio, signed(words[0]))
            yield slow.quantize_affine(number, one, signed(words[1]), *ends, 8)

    def question(self, format: str, draws: Draws, number: int) -> Ints:
        """Every shift, with few and with many bits in the multiplier, so that ties are met."""
        source, target = (np.iinfo(one) for one in _dtypes(format))
        bits = _bits(format)
        channels = int(draws.between(1, 3)) if number % 3 == 0 else 1
        shifts = draws.between(2, 62, (channels,))
        if number % 2:
            shifts = draws.between(bits - 2, bits + 6, (channels,))
        odd = draws.between(0, 7, (channels,)) * 2 + 1
        few = odd << np.clip(shifts - draws.between(1, 9, (channels,)), 0, bits - 5)
        any_at_all = draws.below((channels,), 1 << bits - 1)
        multipliers = np.where(draws.one_in((channels,), 2), few, any_at_all)
        zeros = [
            int(draws.between(int(one.min), int(one.max))) if one.bits == 8 and number % 4 else 0
            for one in (source, target)
        ]
        rows = _VALUES // channels
        columns = [
            _inputs(draws, source, int(m), int(s), zeros[0], bits, rows)
            for m, s in zip(multipliers, shifts, strict=True)
        ]
        values = np.stack(columns, axis=1).reshape(-1)
        return np.concatenate([[*zeros, channels], multipliers, shifts, values])

    def sized(self, format: str, sizes: Sequence[int], draws: Draws) -> AskedCall:
        """Shifts that keep every result within int32, and values within 2**(S - 1)."""
        source, target = _dtypes(format)
        bits, info, channels = _bits(format), np.iinfo(source), tuple(sizes[1:])
        q = draws.between(int(info.min), int(info.max), tuple(sizes)).astype(source)
        least = {1: (2, 10), 2: (2, 18), 4: (16, 33)}[source.itemsize][bits == 32]
        near = draws.between(max(least, bits - 4), bits + 12, channels)
        shift = np.where(
            draws.between(0, 3, channels) > 0, near, draws.between(least, 62, channels)
        )
        multiplier = draws.between(0, (1 << bits - 1) - 1, channels)
        zeros = [_zero(draws, one) for one in (source, target)]
        arguments = (q, multiplier.astype(np.int32), shift.astype(np.int8), *zeros, target, bits)
        return AskedCall(arguments, target, tuple(sizes))


def _zero(draws: Draws, dtype: np.dtype[Any]) -> int:
    """A zero point: any of eight bits, one of two of uint16, else 0."""
    info = np.iinfo(dtype)
    if info.bits == 8:
        return int(draws.between(int(info.min), int(info.max)))
    return int(draws.between(0, 1)) << 15 if dtype == np.uint16 else 0


def _inputs(
    draws: Draws, source: np.iinfo[Any], m: int, s: int, zero: int, bits: int, count: int
) -> Ints:
    """Values that a multiplier and a shift may be given."""
    most = largest_difference(m, s, bits)
    low, high = max(int(source.min), zero - most), min(int(source.max), zero + most)
    size = draws.between(1, max((high - low).bit_length(), 1), (count,))
    near = zero + (draws.below((count,), 1 << 33) & (np.int64(1) << size) - 1) * (
        1 - 2 * draws.below((count,), 2)
    )
    ends = np.where(draws.one_in((count,), 2), low, high)
    return np.clip(np.where(draws.one_in((count,), 8), ends, near), low, high)


def largest_difference(m: int, s: int, bits: int) -> int:
    """How far a value may be from the zero point under a multiplier and a shift.

    >>> largest_difference(1 << 30, 30, 32)
    536870911
    """
    most = min(((1 << 31) - 2 << s) // max(m, 1), (1 << 47) - 1)
    return min(most, (1 << s - 1) - 1) if bits == 32 else most


def _dtypes(format: str) -> tuple[np.dtype[Any], np.dtype[Any]]:
    """The types of the integers in and out."""
    source, target = format.split("_")[0].split("-")
    return np.dtype(source), np.dtype(target)


def _bits(format: str) -> int:
    """The bits of the multipliers."""
    return 16 if format.endswith("_m16") else 32


def _each(words: Words) -> Iterable[tuple[int, int, int]]:
    """Each value with the multiplier and the shift of its channel."""
    count = words[2]
    for i, word in enumerate(words[3 + 2 * count :]):
        yield word, words[3 + i % count], words[3 + count + i % count]
