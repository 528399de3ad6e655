"""A failure in words: the input, the wanted and the given answer, and the distance between them."""

from __future__ import annotations

import math
from functools import partial

import numpy as np

from mxref.bits.floats import F32, LAYOUTS, FloatLayout, split
from mxref.cases.records import VectorFile
from mxref.conformance.compare.compare import Failure, same_answers
from mxref.conformance.compare.integer_failure_text import integer_difference
from mxref.conformance.compare.layout_failure_text import layout_difference
from mxref.conformance.compare.product_failure_text import layer_difference, product_difference
from mxref.formats.catalog import E8M0, OTHER_BLOCK_FORMATS, CodeFormat
from mxref.operands.word_rows import padded
from mxref.operations.registry import (
    CALL_OPERATIONS,
    DOT_OPERATIONS,
    LAYER_OPERATIONS,
    LAYOUT_OPERATIONS,
)
from mxref.support.text import hex_float
from mxref.targets.calls import code_format

__all__ = [
    "describe",
    "difference",
    "show_code",
    "show_fields",
    "show_float",
    "show_input",
    "show_output",
]


def describe(file: VectorFile, failure: Failure) -> str:
    """One line: id, input, want and got, distance, clause and flags."""
    case = failure.case
    flags = f" [{' '.join(case.flags)}]" if case.flags else ""
    return f"{case.id}: {difference(file, failure)}; {case.rule}{flags}"


def difference(file: VectorFile, failure: Failure) -> str:
    """The first wrong word, with the input that belongs to it; or the error."""
    if failure.got is None:
        return failure.error
    if file.op in CALL_OPERATIONS:
        return integer_difference(file, failure, partial(show_float, layout=F32))
    return _no_refusal(file, failure) if failure.refused else _first_difference(file, failure)


def show_code(code: int, fmt: CodeFormat) -> str:
    """A code and its value.

    >>> from mxref.formats.catalog import E4M3
    >>> show_code(0x7E, E4M3), show_code(0x7F, E4M3), show_code(0x77, E8M0)
    ('7e = 448', '7f = nan', '77 = 2^-8')
    """
    if not 0 <= code < fmt.code_count:
        return f"{code:02x} = no code of {fmt.name}"
    if fmt is E8M0 and not fmt.is_nan(code):
        return f"{code:02x} = 2^{code - fmt.bias}"
    return f"{code:02x} = {fmt.value(code):.9g}"


def show_fields(code: int, fmt: CodeFormat) -> str:
    """Sign, exponent and significand of a code as bits; empty where it has no such fields.

    >>> from mxref.formats.catalog import E2M1, INT8
    >>> show_fields(0b1011, E2M1), show_fields(3, INT8), show_fields(3, E8M0)
    (' (1 01 1)', '', '')
    """
    if fmt is E8M0 or getattr(fmt, "twos_complement", False) or not 0 <= code < fmt.code_count:
        return ""
    bits = f"{code:0{fmt.bits}b}"
    ends = (int(fmt.signed), fmt.bits - fmt.mantissa_bits)
    fields = (bits[: ends[0]], bits[ends[0] : ends[1]], bits[ends[1] :])
    return f" ({' '.join(filter(None, fields))})"


def show_float(bits: int, layout: FloatLayout) -> str:
    """A float pattern, as hex float and decimal.

    >>> from mxref.bits.floats import F32
    >>> show_float(0x43E80001, F32)
    '43e80001 = 0x1.d00002p+8 = 464.00003'
    """
    parts = split(np.array([bits], np.uint64), layout)
    digits = f"{bits:0{layout.width // 4}x}"
    sign = "-" if parts.negative[0] else ""
    if parts.is_nan[0] or parts.is_inf[0]:
        return f"{digits} = {sign}{'nan' if parts.is_nan[0] else 'inf'}"
    value = math.ldexp(int(parts.significand[0]), int(parts.exponent[0]))
    decimals = {"f64": 17, "f32": 8}.get(layout.name, 5)
    return f"{digits} = {sign}{hex_float(value)} = {sign}{value:.{decimals}g}"


def show_input(file: VectorFile, word: int) -> str:
    """An input word with its value, for operations with one input word."""
    if file.op in ("encode", "encode_scale", "shared_scale"):
        return show_float(word, LAYOUTS[file.float])
    return show_code(word, code_format(file))


def show_output(file: VectorFile, word: int) -> str:
    """An output word with its value, for operations with one output word."""
    if file.op in ("decode", "decode_scale", *DOT_OPERATIONS):
        return show_float(word, LAYOUTS[file.float])
    return show_code(word, E8M0 if file.op == "shared_scale" else code_format(file))


def _no_refusal(file: VectorFile, failure: Failure) -> str:
    """The answer to a case that is an error, with its input if it has one."""
    (number, *_), (code, *more) = failure.case.inputs, failure.got or ()
    if more:
        return f"want an error, got {1 + len(more)} codes"
    came = show_float(number, LAYOUTS[file.float])
    fmt = E8M0 if file.op == "shared_scale" else code_format(file)
    return f"in {came}, want an error, got {show_code(code, fmt)}{show_fields(code, fmt)}"


def _first_difference(file: VectorFile, failure: Failure) -> str:
    """The first word that differs, with the input that belongs to it."""
    want, got = failure.want, failure.got or ()
    if file.op in LAYOUT_OPERATIONS:
        return layout_difference(
            file, failure, lambda bits: show_float(bits, LAYOUTS[file.float]), show_code
        )
    if file.op in LAYER_OPERATIONS:
        show = partial(show_float, layout=LAYOUTS[file.float])
        return layer_difference(file, failure.case, want, got, show)
    if file.op in DOT_OPERATIONS:
        layout = LAYOUTS[file.float]
        show = partial(show_float, layout=layout)
        return product_difference(file, failure.case.inputs, want[0], got[0], show)
    words = (np.array([want], np.uint64), np.array([got], np.uint64))
    index = int(
        np.argmin(same_answers(file, *words, padded([failure.case.inputs]), bits=failure.bits)[0])
    )
    layout, fmt = LAYOUTS[file.float], code_format(file)
    inputs, tensor = failure.case.inputs, ""
    scale_format: CodeFormat = E8M0
    if file.format in OTHER_BLOCK_FORMATS:
        scale_format = OTHER_BLOCK_FORMATS[file.format].scale
        if OTHER_BLOCK_FORMATS[file.format].tensor_scale:
            tensor, inputs = f"tensor scale {show_float(inputs[0], F32)}, ", inputs[1:]
    if file.op == "encode_stochastic":
        number, draw, width = inputs
        drawn = f"in {show_float(number, layout)}, random bits {draw:x} of {width}"
        return f"{drawn}, {_codes(want[0], got[0], fmt)}"
    if file.op in ("encode", "encode_scale", "shared_scale"):
        target = E8M0 if file.op == "shared_scale" else fmt
        return f"in {show_float(inputs[0], layout)}, {_codes(want[0], got[0], target)}"
    if file.op == "quantize":
        if index == 0:
            top = max(inputs, key=lambda bits: bits & (layout.sign_bit - 1))
            amax = f"scale: {tensor}amax {show_float(top, layout)}"
            return f"{amax}, {_codes(want[0], got[0], scale_format)}"
        element = f"element {index - 1}: in {show_float(inputs[index - 1], layout)}"
        scale = f"{tensor}scale {show_code(want[0], scale_format)}"
        return f"{element}, {scale}, {_codes(want[index], got[index], fmt)}"
    came = f"want {show_float(want[index], layout)}, got {show_float(got[index], layout)}"
    if file.op == "dequantize":
        scale = f"{tensor}scale {show_code(inputs[0], scale_format)}"
        return f"{scale}, element {index}: {show_code(inputs[index + 1], fmt)}, {came}"
    return f"code {show_code(inputs[0], fmt)}, {came}"


def _codes(want: int, got: int, fmt: CodeFormat) -> str:
    shown = [f"{show_code(code, fmt)}{show_fields(code, fmt)}" for code in (want, got)]
    text = f"want {shown[0]}, got {shown[1]}"
    if got >= fmt.code_count or fmt.is_nan(want) or fmt.is_nan(got):
        return text
    distance = abs(_position(want, fmt) - _position(got, fmt))
    return f"{text}, {distance} code{'s' if distance != 1 else ''} away" if distance else text


def _position(code: int, fmt: CodeFormat) -> int:
    negative, magnitude = fmt.sign_and_magnitude(code)
    return -magnitude if negative else magnitude
