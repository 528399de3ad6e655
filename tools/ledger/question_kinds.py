"""Kinds of questions, such as blocks with NaN, and of differences, each with its clause.

A kind depends on the question and on what `ocp` answers, never on the answer that is judged.
"""

from __future__ import annotations

from collections.abc import Mapping

import numpy as np
from numpy.typing import NDArray

from mxref.bits.floats import LAYOUTS, FloatLayout
from mxref.cases.records import VectorFile
from mxref.cases.words import SECTIONS
from mxref.formats.catalog import E8M0
from mxref.operations.registry import LAYOUT_OPERATIONS
from mxref.targets.calls import code_format

__all__ = ["HOWS", "KINDS", "clause_of", "hows", "kinds"]

Words = NDArray[np.uint64]
Flags = NDArray[np.bool_]

_BLOCKS = {
    "NaN": "N4",
    "infinity": "N5",
    "zeros": "N6",
    "scale byte 0": "N7",
    "amax of 2^127 and more": "N8",
    "ordinary": "N1",
}
_PLACES = {"ordinary": "N32"}
#: The kinds of each operation's questions in the order in which they count, with their clauses.
KINDS: Mapping[str, Mapping[str, str]] = {
    "encode": {
        "NaN": "N13",
        "infinity": "N12",
        "zero": "N25",
        "beyond the largest number": "N11",
        "rounds to zero": "N25",
        "subnormal input": "N9",
        "ordinary": "N17",
    },
    "decode": {"NaN": "N13", "infinity": "N12", "zero": "N25", "ordinary": "MX-5.3"},
    "encode_scale": {
        "NaN": "N23",
        "infinity": "N23",
        "zero": "N23",
        "negative": "N23",
        "below 2^-127": "N23",
        "above 2^127": "N23",
        "ordinary": "N23",
    },
    "decode_scale": {"byte 00": "N22", "byte FF": "N22", "ordinary": "MX-5.4.1"},
    "shared_scale": _BLOCKS,
    "quantize": _BLOCKS,
    "dequantize": {
        "scale byte FF": "N22",
        "NaN element": "N13",
        "infinite element": "N12",
        "zero": "N25",
        "scale byte 00": "N22",
        "beyond the float type": "N20",
        "ordinary": "N21",
    },
    **dict.fromkeys(LAYOUT_OPERATIONS, _PLACES),
}
#: The part in which an answer differs, the scale of a block before its elements. Last: there is no
#: answer, since the implementation raises.
HOWS = ("scale", "elements", "sign of zero", "value", "no answer")


def clause_of(op: str, format: str, kind: str, how: str) -> str:
    """The clause of SPEC_NOTES for a kind of difference.

    >>> clause_of("quantize", "mxfp4_e2m1", "ordinary", "elements")
    'N17'
    """
    element = format.split("_")[-1]
    match op, kind, how:
        case "quantize", "ordinary" | "amax of 2^127 and more", "elements":
            return "N17"
        case "encode", "rounds to zero", "value":
            return "N17"
        case "quantize" | "encode", _, "sign of zero":
            return "N25"
        case "encode", "NaN", _ if element not in ("e5m2", "e4m3"):
            return "N14"
        case "decode", "ordinary", _:
            return SECTIONS[element]
    return KINDS[op][kind]


def kinds(file: VectorFile, inputs: Words, ocp: Words) -> NDArray[np.intp]:
    """The number of the kind of each question.

    Args:
        file: operation, format and float type.
        inputs: the questions' words, one a row; of `dequantize` a scale code and one element code.
        ocp: the answers of `ocp`.
    """
    match file.op:
        case "encode":
            flags = _encode(file, inputs, ocp)
        case "decode":
            flags = _specials(file, inputs[:, 0])
        case "encode_scale":
            flags = _encode_scale(file, inputs[:, 0])
        case "decode_scale":
            flags = [inputs[:, 0] == 0, inputs[:, 0] == E8M0.code_count - 1]
        case "shared_scale" | "quantize":
            flags = _blocks(file, inputs, ocp)
        case "dequantize":
            flags = _dequantize(file, inputs, ocp)
        case _:
            flags = []
    count = len(KINDS[file.op])
    return np.select(flags, list(range(count - 1)), count - 1) if flags else np.zeros(len(ocp), int)


def hows(file: VectorFile, got: Words, want: Words) -> NDArray[np.intp]:
    """For each answer that differs the number in `HOWS` of the part that does."""
    value = np.full(len(got), HOWS.index("value"))
    if file.op not in ("encode", "quantize"):
        return value
    first, sign = int(file.op == "quantize"), code_format(file).sign_bit
    got_codes, codes = got[:, first:], want[:, first:]
    zeros = np.array([0, sign * code_format(file).has_negative_zero], np.uint64)
    both_zero = np.isin(got_codes, zeros) & np.isin(codes, zeros)
    only_sign = ((got_codes == codes) | both_zero).all(axis=1)
    if file.op == "encode":
        return np.where(only_sign, HOWS.index("sign of zero"), value)
    other = np.where(only_sign, HOWS.index("sign of zero"), HOWS.index("elements"))
    return np.where(got[:, 0] != want[:, 0], HOWS.index("scale"), other)


def _magnitude(inputs: Words, layout: FloatLayout) -> Words:
    magnitude: Words = inputs & np.uint64(layout.sign_bit - 1)
    return magnitude


def _power(exponent: int, layout: FloatLayout) -> int:
    """The bit pattern of 2**exponent; beyond all numbers of the type if it does not hold it."""
    below = layout.emin - exponent
    if below <= 0:
        return (exponent + layout.bias) << layout.mantissa_bits
    return 1 << layout.mantissa_bits >> below


def _encode(file: VectorFile, inputs: Words, ocp: Words) -> list[Flags]:
    layout, fmt = LAYOUTS[file.float], code_format(file)
    x = _magnitude(inputs[:, 0], layout)
    largest = np.array(fmt.max_normal).astype(layout.dtype).view(layout.uint)
    code = ocp[:, 0] & np.uint64(fmt.code_count - 1 - fmt.sign_bit * fmt.has_negative_zero)
    return [
        x > layout.inf_bits,
        x == layout.inf_bits,
        x == 0,
        x > largest.astype(np.uint64),
        code == 0,
        x < 1 << layout.mantissa_bits,
    ]


def _specials(file: VectorFile, codes: Words) -> list[Flags]:
    """Codes of NaN, infinity and zero."""
    fmt = code_format(file)
    magnitude = codes & np.uint64(fmt.code_count - 1 - fmt.sign_bit)
    inf = np.uint64(fmt.code_count if fmt.inf_code is None else fmt.inf_code)
    zero = magnitude == 0 if fmt.has_negative_zero else codes == 0
    return [np.isin(codes, np.array(fmt.nan_codes, np.uint64)), magnitude == inf, zero]


def _encode_scale(file: VectorFile, inputs: Words) -> list[Flags]:
    layout = LAYOUTS[file.float]
    x = _magnitude(inputs, layout)
    return [
        x > layout.inf_bits,
        x == layout.inf_bits,
        x == 0,
        x != inputs,
        x < _power(-127, layout),
        x > _power(127, layout),
    ]


def _blocks(file: VectorFile, inputs: Words, ocp: Words) -> list[Flags]:
    layout = LAYOUTS[file.float]
    amax = _magnitude(inputs, layout).max(axis=1)
    return [
        amax > layout.inf_bits,
        (_magnitude(inputs, layout) == layout.inf_bits).any(axis=1),
        amax == 0,
        ocp[:, 0] == 0,
        amax >= _power(127, layout),
    ]


def _dequantize(file: VectorFile, inputs: Words, ocp: Words) -> list[Flags]:
    scale, layout = inputs[:, 0], LAYOUTS[file.float]
    nan, inf, zero = _specials(file, inputs[:, 1])
    beyond = _magnitude(ocp[:, 0], layout) == layout.inf_bits
    return [scale == E8M0.code_count - 1, nan, inf, zero, scale == 0, beyond]
