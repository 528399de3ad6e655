"""Affine quantization: `quantize_affine` and `dequantize_affine`.

Words of a case: quant_min, quant_max, scale, zero point, and values, or codes in their place.
Formats that end in `_axis` have, between quant_max and the scale: the axis, the number of scales
along it, and three sizes; then all scales, all zero points, and the values. The scale of formats
that end in `_scale64` is a float64 in two words, the high one first.
"""

from __future__ import annotations

import enum
from abc import abstractmethod
from collections.abc import Iterable, Iterator, Mapping, Sequence
from typing import Any

import numpy as np
from numpy.typing import NDArray

from mxref.bits.floats import F32, LAYOUTS
from mxref.exact import integer as slow
from mxref.integer import affine as affine_quantization
from mxref.integer import integer_choices as c
from mxref.operands.case_input import CaseInput
from mxref.operands.draws import Draws, Ints
from mxref.operands.fields import Field
from mxref.operands.kinds import signed
from mxref.operands.shown import show_float
from mxref.operations import affine_draws
from mxref.operations.affine_calls import AffineCalls
from mxref.operations.affine_words import Affine, affine, fields_of, scale_numbers
from mxref.operations.asked_call import AskedCall, result_type
from mxref.operations.operation import Words
from mxref.operations.own_choices import DEFAULT

__all__ = ["DequantizeAffine", "QuantizeAffine"]

#: 1.0
_ONE = 0x3F800000
_FORMATS = ("int8", "uint8", "int16", "int32", "int8_axis", "uint8_axis")
#: What decides the order of operations, and what is saturated, in formats that no file has.
_FURTHER = {
    format: dict.fromkeys(("scaling", "zero_point"), order)
    | dict.fromkeys(("nan", "infinite", "int32"), ends)
    for format, order, ends in (
        ("uint16", "int16", "int16"),
        ("int16_axis", "int8_axis", "int16"),
        ("uint16_axis", "uint8_axis", "int16"),
        ("int32_axis", "int8_axis", "int32"),
    )
}


class _AffineOperation(AffineCalls):
    """One of both directions."""

    slot = "f32"
    further = _FURTHER

    def easy(self, format: str, slot: str) -> tuple[int, ...]:
        """One zero, from 0 to 1 under the scale 1."""
        if format.endswith("_scale64"):
            return 0, 1, 0x3FF00000, 0, 0, 0
        return (0, 1, *((0, 1, 1, 1, 1) if format.endswith("_axis") else ()), _ONE, 0, 0)

    def argument_names(self, format: str) -> tuple[str, ...]:
        """The values or codes, and what belongs to them."""
        return self.parameters.partition(",")[0], "scale", "zero_point"

    def arguments(self, format: str, values: Mapping[str, Any]) -> tuple[Any, ...]:
        """The values first; a scale for all is a number and no array."""
        scale = values.get("scale")
        if scale is None:
            bits = (values["scale_high"] & 0xFFFFFFFF) << 32 | values["scale_low"] & 0xFFFFFFFF
            scale = np.uint64(bits).view(np.float64).item()
        ends = values["quant_min"], values["quant_max"]
        first = values["values"], scale, values["zero_point"]
        return (*first, *ends, result_type(format), values.get("axis"))

    def beside(self, format: str, words: Words, index: int) -> str:
        """The number or the code, its scale and its zero point."""
        case = affine(format, words)
        if index >= len(case.values):
            return ""
        place = case.which[index]
        scale = show_float(case.scales[place], LAYOUTS["f32"])
        if format.endswith("_scale64"):
            scale = f"{case.scales[place]:016x} = {float(scale_numbers(format, case)[place])}"
        came = self.value_shown(case.values[index])
        return f"{came}, scale {scale}, zero point {case.zero_points[place]}"

    def designed(self, format: str) -> Iterable[CaseInput]:
        """Midpoints and ends, of one scale or of several."""
        from mxref.operations.affine_cases import axis_cases, double_cases

        if format.endswith("_scale64"):
            return double_cases()
        if format.endswith("_axis"):
            return axis_cases(format, codes=self.name == "dequantize_affine")
        return self.of_one_scale(format)

    @abstractmethod
    def of_one_scale(self, format: str) -> Iterable[CaseInput]:
        """The designed cases of a format of one scale."""

    @abstractmethod
    def value_shown(self, word: int) -> str:
        """What is converted, in words."""

    def smaller(self, format: str, words: Words) -> Iterator[Words]:
        """Of several scales one value alone with its own; a number in units of its scale."""
        case = affine(format, words)
        if case.axis is not None and len(case.values) > 1:
            yield from (_alone(case, place) for place in range(min(len(case.values), 128)))
        is_number = self.name == "quantize_affine" and not format.endswith("_scale64")
        if len(case.values) == 1 and is_number and case.scales[0] != _ONE:
            units = _in_units(case.values[0], case.scales[0])
            yield from ((*words[:-3], _ONE, words[-2], one) for one in units)
        # The range stays: it says what is asked.
        yield from (one for one in super().smaller(format, words) if one[:2] == words[:2])

    def question(self, format: str, draws: Draws, number: int) -> Ints:
        """Ranges of the dtype and inside of it, scales of every size, zero points anywhere."""
        codes = self.name == "dequantize_affine"
        return affine_draws.question(format, draws, number, codes=codes)

    def sized(self, format: str, sizes: Sequence[int], draws: Draws) -> AskedCall:
        """Values at the midpoints of codes and beside them, a tenth of them beyond the range."""
        codes = self.name == "dequantize_affine"
        arguments = affine_draws.sized(format, tuple(sizes), draws, codes=codes)
        dtype = np.dtype(np.float32) if codes else result_type(format)
        return AskedCall(arguments, dtype, arguments[0].shape)


class QuantizeAffine(_AffineOperation):
    """Floats to integers."""

    name = "quantize_affine"
    parameters = "values, scale, zero_point, quant_min, quant_max, dtype, axis"
    formats = (*_FORMATS, "int8_scale64")

    def of_one_scale(self, format: str) -> Iterable[CaseInput]:
        """Midpoints, ends and specials."""
        from mxref.operations.affine_cases import value_cases

        return value_cases(format)

    def value_shown(self, word: int) -> str:
        """A number."""
        return show_float(word, LAYOUTS["f32"])

    def probe_shown(self, format: str, words: Words, index: int) -> str:
        """Of one scale the number, with it and the zero point."""
        if format.endswith("_axis"):
            return super().probe_shown(format, words, index)
        first = self.places(format, words)
        scale = "".join(f"{one:08x}" for one in words[2 : first - 1])
        return f"{words[first + index]:08x}, scale {scale}, zero point {words[first - 1]:x}"

    def refused_at(self, format: str, words: Words) -> int:
        """A NaN."""
        values = words[self.places(format, words) :]
        return next((i for i, bits in enumerate(values) if bits & 0x7FFFFFFF > F32.inf_bits), 0)

    def kinds(self, format: str) -> dict[str, type[enum.Enum]]:
        """The choices, some of one format alone."""
        found: dict[str, type[enum.Enum]] = {
            "scaling": c.Scaling,
            "zero_point": c.ZeroPoint,
            "nan": c.NaN,
            "infinite": c.Infinite,
        }
        found |= {"int32": c.Int32} if result_type(format) == np.int32 else {}
        return found | ({"scale_type": c.ScaleType} if format.endswith("_scale64") else {})

    def choices(self, format: str) -> dict[str, tuple[str, ...]]:
        """The members; the lowest int32 is none of int32's own."""
        found = super().choices(format)
        if result_type(format) == np.int32:
            for name in ("nan", "infinite"):
                found[name] = tuple(one for one in found[name] if one != "int32_min")
        return found

    def first_policy(self, format: str) -> str:
        """Of one scale a policy that takes NaN."""
        return DEFAULT if "_" in format else "nan=zero"

    def refuse(self, found: Mapping[str, str]) -> None:
        """Refuse what the int32 of a number is not asked for, and quotients of two types."""
        beyond = "int32_min" in (found.get("nan"), found.get("infinite"))
        if beyond and "zero_point" in found:
            raise ValueError("int32_min must be chosen with zero_point=after")
        if "scaling" in found and found.get("zero_point") == "fused":
            raise ValueError("zero_point=fused must be chosen with scaling=reciprocal")
        if {"scaling", "scale_type"} <= {*found}:
            raise ValueError("scale_type=float64 must be chosen with scaling=reciprocal")

    def fields(self, format: str) -> tuple[Field, ...]:
        """Float32 values."""
        return fields_of(format)

    def result(self, format: str, values: Mapping[str, Any]) -> tuple[Any, tuple[int, ...]]:
        """Codes in their shape."""
        return result_type(format), values["values"].shape

    def clause(self, format: str, words: Words, answer: Words) -> tuple[bool, str, tuple[str, ...]]:
        """By what is special in a case."""
        case = affine(format, words)
        magnitudes = [bits & 0x7FFFFFFF for bits in case.values]
        if max(magnitudes, default=0) > F32.inf_bits:
            return False, "Q4", ("nan",)
        if F32.inf_bits in magnitudes:
            return False, "Q5", ("inf",)
        return False, "Q3" if any(case.zero_points) else "Q2", ()

    def run(self, call: AskedCall, choices: Mapping[str, Any]) -> NDArray[Any]:
        """The codes, by the fast path."""
        values, *rest = call.arguments
        qparams = affine_quantization.QParams(*rest)
        return affine_quantization.quantize_affine(values, qparams, **choices)

    def twin(self, format: str, words: Words, chosen: Mapping[str, str]) -> Iterable[int]:
        """The codes, by the slow twin."""
        parts = affine(format, words)
        bits = int(format.removeprefix("u").removeprefix("int").split("_")[0])
        order = ("scaling", "zero_point", "nan", "infinite")
        choices = [*(chosen[name] for name in order), chosen.get("int32", "saturate")]
        choices.append(chosen.get("scale_type", "float32"))
        ends = parts.low, parts.high
        return [
            slow.quantize_affine(x, s, z, *ends, bits, choices) for x, s, z in _each(format, parts)
        ]


class DequantizeAffine(_AffineOperation):
    """Integers back to floats."""

    name = "dequantize_affine"
    parameters = "codes, scale, zero_point, quant_min, quant_max, dtype, axis"
    formats = _FORMATS

    def of_one_scale(self, format: str) -> Iterable[CaseInput]:
        """Every code, or those near the ends."""
        from mxref.operations.affine_cases import code_cases

        return code_cases(format)

    def value_shown(self, word: int) -> str:
        """A code."""
        return f"code {signed(word)}"

    def answer_shown(self, format: str, word: int) -> str:
        """The pattern of a number."""
        return f"{word:08x}"

    def digits(self, format: str, slot: str) -> tuple[int, int]:
        """Words of 32 bits."""
        return 8, 8

    def fields(self, format: str) -> tuple[Field, ...]:
        """Codes."""
        return fields_of(format, result_type(format).name)

    def result(self, format: str, values: Mapping[str, Any]) -> tuple[Any, tuple[int, ...]]:
        """Numbers in their shape."""
        return np.float32, values["values"].shape

    def clause(self, format: str, words: Words, answer: Words) -> tuple[bool, str, tuple[str, ...]]:
        """That on the way back."""
        return False, "Q7", ()

    def run(self, call: AskedCall, choices: Mapping[str, Any]) -> NDArray[Any]:
        """The numbers, by the fast path."""
        codes, *rest = call.arguments
        return affine_quantization.dequantize_affine(codes, affine_quantization.QParams(*rest))

    def twin(self, format: str, words: Words, chosen: Mapping[str, str]) -> Iterable[int]:
        """The numbers, by the slow twin."""
        each = _each(format, affine(format, words))
        return [slow.dequantize_affine(signed(code), s, z) for code, s, z in each]


def _each(format: str, parts: Affine) -> list[tuple[int, int, int]]:
    """Each value with the float64 pattern of its scale and its zero point."""
    scales = scale_numbers(format, parts).view(np.uint64).tolist()
    return [
        (value, scales[i], parts.zero_points[i])
        for value, i in zip(parts.values, parts.which, strict=True)
    ]


def _in_units(value: int, scale: int) -> list[int]:
    """A number divided by its scale, as it is and to a half."""
    x, s = np.array([value, scale], np.uint32).view(np.float32).astype(np.float64)
    with np.errstate(all="ignore"):
        units = np.array([np.rint(x / s), np.rint(2 * x / s) / 2, x / s]).astype(np.float32)
    found: list[int] = units.view(np.uint32).tolist()
    return found


def _alone(case: Affine, place: int) -> Words:
    """One value of a tensor, with its scale and zero point."""
    which, mask = case.which[place], 0xFFFFFFFF
    first = (case.low, case.high, 0, 1, 1, 1, 1)
    parameters = (case.scales[which], case.zero_points[which] & mask)
    return (*(one & mask for one in first), *parameters, case.values[place])
