"""Kinds of difference between two sides, by the blocks and elements that show them."""

from __future__ import annotations

import math
from typing import Any

import numpy as np
from numpy.typing import NDArray

from mxref.bits.floats import F32, FloatLayout
from mxref.blocks.arithmetics import numbers
from mxref.blocks.two_level import TensorScaleKind
from mxref.conformance.compare.compare import same_answers
from mxref.conformance.differing.sides import BlockAnswers, Words, exact_words
from mxref.formats.catalog import BlockFormat
from mxref.numbers.element import encode
from mxref.targets.calls import without_cases

__all__ = ["KINDS", "kinds", "reading_kinds", "reading_numbers"]

Bools = NDArray[np.bool_]

#: Kinds of difference in quantizing, and what each means.
KINDS = {
    "zero tensor": "of a format with a tensor scale, a tensor of zeros",
    "NaN elsewhere": "a finite block of a tensor with a NaN",
    "Inf elsewhere": "a finite block of a tensor with an infinity and no NaN",
    "zero block": "a block of zeros",
    "tiny block": "floor(log2 amax) - emax is below -126; the exact small-float scale is subnormal",
    "huge block": "amax is in the top binade of the float type; beyond the largest small float",
    "NaN block": "a block with a NaN",
    "Inf block": "a block with an infinity and no NaN",
    "tensor scale": "another number of the tensor, or one of another kind, in any other block",
    "scale": "another scale, in any other block",
    "element": "the same scale there, another code",
    "tie": "the same scale, another code for a midpoint",
    "zero sign": "the same scale, a zero of the other sign",
}


def kinds(
    words: Words, a: BlockAnswers, b: BlockAnswers, fmt: BlockFormat, layout: FloatLayout
) -> Bools:
    """Which kinds of difference each block shows, (n, len(KINDS)).

    Words are those that `Side.quantize` got: in formats with a tensor scale blocks after one number
    more of their tensors.
    """
    file = without_cases("quantize", fmt.name, layout.name)
    same = same_answers(file, a.words, b.words)
    one_failed, both = a.failed != b.failed, a.failed & b.failed
    other_number, other_kind = _tensors(a, b)
    differs = (~same.all(axis=1) & ~both) | one_failed | other_number

    magnitude = words & np.uint64(layout.sign_bit - 1)
    first = int(fmt.tensor_scale)
    elsewhere, magnitude = magnitude[:, :first].max(axis=1, initial=0), magnitude[:, first:]
    words, amax = words[:, first:], magnitude.max(axis=1)
    largest = np.maximum(elsewhere, amax)
    tiny, huge = _limits(amax, largest, fmt, layout)
    alone = elsewhere < layout.inf_bits
    in_zeros = (largest == 0) & fmt.tensor_scale
    special = [
        in_zeros,
        (amax < layout.inf_bits) & (elsewhere > layout.inf_bits),
        (amax < layout.inf_bits) & (elsewhere == layout.inf_bits),
        (amax == 0) & alone & ~in_zeros,
        tiny & (amax != 0) & alone,
        huge & (amax < layout.inf_bits) & alone,
        amax > layout.inf_bits,
        (magnitude == layout.inf_bits).any(axis=1) & (amax <= layout.inf_bits),
    ]
    usual = ~np.any(special, axis=0)
    tensor = usual & (other_number | other_kind)
    usual = usual & ((~same.all(axis=1) & ~both) | one_failed)
    scale = usual & ((a.scales != b.scales) | one_failed)
    elements = (usual & ~scale)[:, np.newaxis] & ~same[:, 1:]
    zero = elements & _is_zero(a.codes, fmt) & _is_zero(b.codes, fmt)
    tie = np.zeros_like(zero)
    some = elements.any(axis=1)
    if some.any():
        tensors = None if a.tensors is None else a.tensors[some]
        tie[some] = _is_tie(words[some], a.scales[some], largest[some], tensors, fmt, layout)
    parts = [elements & ~zero & ~tie, elements & ~zero & tie, zero]
    found = [
        *(differs & one for one in special),
        tensor,
        scale,
        *(one.any(axis=1) for one in parts),
    ]
    return np.stack(found, axis=1)


def _is_zero(codes: NDArray[np.uint8], fmt: BlockFormat) -> Bools:
    zeros = [code for code in range(fmt.element.code_count) if fmt.element.value(code) == 0]
    return np.isin(codes, zeros)


def _limits(
    amax: Words, largest: Words, fmt: BlockFormat, layout: FloatLayout
) -> tuple[Bools, Bools]:
    """Whether blocks have too little, and too much, for a usual scale."""
    a, whole = exact_words(amax, layout), exact_words(largest, layout)
    if fmt.scale.is_power:
        top = np.uint64(layout.inf_bits - (1 << layout.mantissa_bits))
        return a < math.ldexp(1.0, fmt.element.emax - 126), amax >= top
    with np.errstate(all="ignore"):
        if fmt.tensor_scale:  # of amax / largest times the largest scale
            return a * fmt.scale.max_normal < whole * fmt.scale.min_normal, np.zeros(len(a), bool)
        scale = a / fmt.element.max_normal
        return scale < fmt.scale.min_normal, scale > fmt.scale.max_normal


def _is_tie(
    words: Words,
    scales: NDArray[Any],
    largest: Words,
    tensors: NDArray[np.object_] | None,
    fmt: BlockFormat,
    layout: FloatLayout,
) -> Bools:
    """Which elements lie midway between two numbers of the format, under a scale.

    In formats with a tensor scale that is times amax of the tensor, over the largest element times
    the largest scale. Numerator and denominator are exact, and have so few bits for floats of at
    most 32 that no quotient which is no midpoint becomes one.
    """
    x = exact_words(words, layout)
    of_scales = exact_words(scales, F32) if fmt.scale.is_float32 else numbers(fmt.scale)[scales]
    divisor = of_scales[:, np.newaxis]
    with np.errstate(all="ignore"):
        if tensors is not None:
            is_256 = [one is not None and one.kind is TensorScaleKind.AMAX_256 for one in tensors]
            top = np.where(is_256, 256.0, fmt.scale.max_normal) * fmt.element.max_normal
            x, divisor = (
                x * top[:, np.newaxis],
                divisor * exact_words(largest, layout)[:, np.newaxis],
            )
        q = x / divisor
    away, zero = (encode(q, fmt.element, rounding=f"ties_to_{to}") for to in ("away", "zero"))
    tie: Bools = away != zero
    return tie


def _tensors(a: BlockAnswers, b: BlockAnswers) -> tuple[Bools, Bools]:
    """For which blocks another number of the tensor is stored, and for which another kind."""
    if a.tensors is None or b.tensors is None:
        nowhere = np.zeros(len(a.failed), bool)
        return nowhere, nowhere
    number, kind = [], []
    for one, two in zip(a.tensors, b.tensors, strict=True):
        both = one is not None and two is not None
        alike = both and one.kind is two.kind
        kind.append(both and not alike)
        nan = alike and min(one.bits, two.bits) > F32.inf_bits
        number.append(alike and one.bits != two.bits and not nan)
    return np.array(number, bool), np.array(kind, bool)


def reading_kinds(fmt: BlockFormat) -> tuple[str, ...]:
    """Kinds of difference in reading the same bytes.

    >>> from mxref.formats.catalog import block_format
    >>> reading_kinds(block_format("nvfp4"))
    ('scale 7f', 'NaN code', 'zero', 'scale 00', 'value')
    """
    rest = "NaN code", "zero", "scale 00", "value"
    if fmt.scale.is_float32:  # which has many codes of NaN
        return "NaN scale", *rest
    return f"scale {max(fmt.scale.nan_codes):02x}", *rest


def reading_numbers(answers: BlockAnswers, fmt: BlockFormat) -> NDArray[np.int64]:
    """The kind of difference in reading each element, as an index of `reading_kinds`."""
    nan = np.isin(answers.codes, fmt.element.nan_codes)
    scales = answers.scales[:, np.newaxis]
    is_nan = scales > F32.inf_bits if fmt.scale.is_float32 else scales == max(fmt.scale.nan_codes)
    return np.select(
        [is_nan, nan, _is_zero(answers.codes, fmt), scales == 0], [0, 1, 2, 3], 4
    ).astype(np.int64)
