"""Kinds of difference between two sides, by the blocks and elements that show them."""

from __future__ import annotations

import math

import numpy as np
from numpy.typing import NDArray

from mxref.bits.float32 import wide
from mxref.bits.floats import F64, FloatLayout
from mxref.conformance.compare.compare import same_answers
from mxref.conformance.differing.sides import BlockAnswers, Words
from mxref.formats.catalog import E8M0, BlockFormat
from mxref.numbers.element import encode
from mxref.profiles.stages import powers
from mxref.targets.calls import without_cases

__all__ = ["KINDS", "READINGS", "kinds", "readings"]

Bools = NDArray[np.bool_]

#: Kinds of difference in quantizing, and what each means.
KINDS = {
    "zero block": "a block of zeros",
    "tiny block": "floor(log2 amax) - emax is below -126",
    "huge block": "amax is in the top binade of the float type",
    "NaN block": "a block with a NaN",
    "Inf block": "a block with an infinity and no NaN",
    "scale": "another scale, in any other block",
    "element": "the same scale there, another code",
    "tie": "the same scale, another code for a midpoint",
    "zero sign": "the same scale, a zero of the other sign",
}
#: Kinds of difference in reading the same bytes.
READINGS = ("scale ff", "NaN code", "zero", "scale 00", "value")


def kinds(
    words: Words, a: BlockAnswers, b: BlockAnswers, fmt: BlockFormat, layout: FloatLayout
) -> Bools:
    """Which kinds of difference each block shows, (n, len(KINDS))."""
    file = without_cases("quantize", fmt.name, layout.name)
    same = same_answers(file, a.words, b.words)
    one_failed, both = a.failed != b.failed, a.failed & b.failed
    differs = (~same.all(axis=1) & ~both) | one_failed

    magnitude = words & np.uint64(layout.sign_bit - 1)
    amax = magnitude.max(axis=1)
    tiny = wide(amax.astype(layout.uint), layout) < math.ldexp(1.0, fmt.element.emax - 126)
    top = np.uint64(layout.inf_bits - (1 << layout.mantissa_bits))
    special = [
        amax == 0,
        tiny & (amax != 0),
        (amax >= top) & (amax < layout.inf_bits),
        amax > layout.inf_bits,
        (magnitude == layout.inf_bits).any(axis=1) & (amax <= layout.inf_bits),
    ]
    usual = differs & ~np.any(special, axis=0)
    scale = usual & ((a.scales != b.scales) | one_failed)
    elements = (usual & ~scale)[:, np.newaxis] & ~same[:, 1:]
    zero = elements & _is_zero(a.codes, fmt) & _is_zero(b.codes, fmt)
    tie = np.zeros_like(zero)
    some = elements.any(axis=1)
    tie[some] = _is_tie(words[some], a.scales[some], fmt, layout)
    parts = [elements & ~zero & ~tie, elements & ~zero & tie, zero]
    found = [*(differs & one for one in special), scale, *(one.any(axis=1) for one in parts)]
    return np.stack(found, axis=1)


def _is_zero(codes: NDArray[np.uint8], fmt: BlockFormat) -> Bools:
    zeros = [code for code in range(fmt.element.code_count) if fmt.element.value(code) == 0]
    return np.isin(codes, zeros)


def _is_tie(
    words: Words, scales: NDArray[np.uint8], fmt: BlockFormat, layout: FloatLayout
) -> Bools:
    """Which elements lie midway between two numbers of the format, under a scale."""
    bits = words.astype(layout.uint)
    x = bits.view(np.float64) if layout is F64 else wide(bits, layout)
    with np.errstate(all="ignore"):
        q = x * powers(E8M0.bias - scales.astype(np.int64))[:, np.newaxis]
    away, zero = (encode(q, fmt.element, rounding=f"ties_to_{to}") for to in ("away", "zero"))
    tie: Bools = away != zero
    return tie


def readings(answers: BlockAnswers, fmt: BlockFormat) -> NDArray[np.int64]:
    """The kind of difference in reading each element, as an index of READINGS."""
    element = fmt.element
    nan = [code for code in range(element.code_count) if element.is_nan(code)]
    scales = answers.scales[:, np.newaxis]
    return np.select(
        [scales == 0xFF, np.isin(answers.codes, nan), _is_zero(answers.codes, fmt), scales == 0],
        [0, 1, 2, 3],
        4,
    ).astype(np.int64)
