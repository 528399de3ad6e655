"""TOSA's `rescale`.

Words of a case: input zero point, output zero point, channels C, C multipliers, C shifts, and
values, whose last axis has C.
"""

from __future__ import annotations

import enum
import math
from collections.abc import Iterable, Mapping
from typing import Any

import numpy as np
from numpy.typing import NDArray

from mxref.bits.float32 import fl
from mxref.exact import integer as slow
from mxref.integer import affine
from mxref.integer.integer_choices import Rounding
from mxref.integer.rescale import rescale
from mxref.operations.integer_operation import (
    IntegerCall,
    IntegerOperation,
    integers_of,
    result_type,
    signed,
    words_of,
)
from mxref.operations.operation import Words

__all__ = ["Rescale"]


class Rescale(IntegerOperation):
    """Integers times a fixed-point number, to integers of another width."""

    name = "rescale"
    parameters = "values, multipliers, shifts, input_zero, output_zero, dtype, multiplier_bits"
    formats = (
        "int8-int8", "int8-uint8", "int16-int8", "int32-int8", "int32-int16", "int8-int32",
        "int32-int32", "int8-int8_m16",
    )  # fmt: skip

    def bounds(self, format: str) -> tuple[str, ...]:
        """What is done instead in float32."""
        return ("dequantize_quantize",) if format == "int8-int8" else ()

    def kinds(self, format: str) -> dict[str, type[enum.Enum]]:
        """One rounding or two, of multipliers of 32 bits."""
        return {} if format.endswith("_m16") else {"rounding": Rounding}

    def easy(self, format: str, slot: str) -> tuple[int, ...]:
        """Zero times 1."""
        bits = 14 if format.endswith("_m16") else 30
        return 0, 0, 1, 1 << bits, bits, 0

    def call(self, format: str, words: Words) -> IntegerCall:
        """The call of a case."""
        source = format.split("_")[0].split("-")[0]
        bits = 16 if format.endswith("_m16") else 32
        count = words[2] if len(words) > 2 else 0
        first = 3 + 2 * count
        if not count or len(words) <= first or (len(words) - first) % count:
            raise ValueError("values must be a multiple of the channels")
        multiplier = integers_of(words[3 : 3 + count], np.int32)
        shift = integers_of(words[3 + count : first], np.int8)
        q = integers_of(words[first:], source).reshape(-1, count)
        zeros, target = (signed(words[0]), signed(words[1])), result_type(format)
        return IntegerCall((q, multiplier, shift, *zeros, target, bits), target, q.shape, first)

    def run(self, call: IntegerCall, choices: Mapping[str, Any]) -> NDArray[Any]:
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


def _each(words: Words) -> Iterable[tuple[int, int, int]]:
    """Each value with the multiplier and the shift of its channel."""
    count = words[2]
    for i, word in enumerate(words[3 + 2 * count :]):
        yield word, words[3 + i % count], words[3 + count + i % count]
