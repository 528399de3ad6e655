"""Operations made of others: the answers of the whole from the wrong answers of one part.

Each function takes a function that answers the part's questions and returns one that answers the
questions of the whole; the other parts follow a policy.
"""

from __future__ import annotations

import dataclasses
from collections.abc import Callable

import numpy as np
from numpy.typing import NDArray

from mxref.bits.floats import F32, F64, LAYOUTS, Parts, compose, split
from mxref.blocks.two_level import scaled
from mxref.conformance.compare.tensor_cases import tensors_of
from mxref.conformance.verdict.cause.evidence import Questions, Words
from mxref.formats.catalog import E8M0, block_format
from mxref.numbers.element import encode_parts
from mxref.operations.layouts import packing_of
from mxref.policy.choices import ScalePlace
from mxref.policy.policy import Policy
from mxref.targets.calls import without_cases

__all__ = [
    "of_blocks",
    "of_elements",
    "of_packed",
    "of_scales",
    "of_unpacked",
    "quotients_under",
]

Answer = Callable[[Questions, Policy], Words]


def of_elements(encode: Answer) -> Answer:
    """`quantize` with right scales and exact quotients, which the part encodes."""

    def answer(questions: Questions, policy: Policy) -> Words:
        right = questions.answers(policy)
        inner = questions.once("quotients", policy, lambda: quotients_under(questions, right[:, 0]))
        codes = encode(inner, policy).reshape(len(right), -1)
        nan = right[:, :1] == max(block_format(questions.file.format).scale.nan_codes)
        return np.concatenate([right[:, :1], np.where(nan, right[:, 1:], codes)], axis=1)

    return answer


def of_scales(shared_scale: Answer) -> Answer:
    """`quantize` with the part's scales, and elements that are right under them."""

    def answer(questions: Questions, policy: Policy) -> Words:
        right = questions.answers(policy)
        numbers = _numbers(questions)
        special = np.any(numbers.is_inf | numbers.is_nan, axis=1)
        inner = questions.once("amax", policy, lambda: _largest(questions, special))
        scales = shared_scale(inner, policy)
        fmt = block_format(questions.file.format).element
        exponent = numbers.exponent - (scales.astype(np.int64) - E8M0.bias)
        quotients = dataclasses.replace(numbers, exponent=exponent)
        codes = encode_parts(quotients, fmt, policy.element).astype(np.uint64)
        found = np.concatenate([scales, codes], axis=1)
        return np.where(special[:, np.newaxis], right, found)

    return answer


def of_blocks(quantize: Answer) -> Answer:
    """`quantize_tensor` by blocks along the right axis, which the part quantizes."""

    def answer(questions: Questions, policy: Policy) -> Words:
        return tensors_of(questions.inputs, quantize(questions.blocks(), policy), policy)

    return answer


def of_packed(pack: Answer) -> Answer:
    """`pack_blocks` with scales in their place and elements that the part packs."""

    def answer(questions: Questions, policy: Policy) -> Words:
        right = questions.answers(policy)
        fmt = block_format(questions.file.format).element
        codes = _part(questions, "pack", fmt.name, questions.inputs[:, 1:])
        elements = pack(codes, policy)
        if policy.layout.scale_place is ScalePlace.AFTER:
            return np.concatenate([elements, right[:, -1:]], axis=1)
        return np.concatenate([right[:, :1], elements], axis=1)

    return answer


def of_unpacked(unpack: Answer) -> Answer:
    """`unpack_blocks` with scales from their place and elements that the part unpacks."""

    def answer(questions: Questions, policy: Policy) -> Words:
        right = questions.answers(policy)
        fmt = block_format(questions.file.format).element
        after = policy.layout.scale_place is ScalePlace.AFTER
        packed = questions.inputs[:, :-1] if after else questions.inputs[:, 1:]
        counted = np.insert(packed, 0, 32, axis=1)
        slot = packing_of(fmt.bits, policy)
        inner = Questions(without_cases("unpack", fmt.name, slot), counted)
        return np.concatenate([right[:, :1], unpack(inner, policy)], axis=1)

    return answer


def _part(questions: Questions, op: str, format: str, inputs: Words) -> Questions:
    """Questions of another operation, on the same float type."""
    return Questions(without_cases(op, format, questions.file.float), inputs)


def _numbers(questions: Questions) -> Parts:
    return split(questions.inputs, LAYOUTS[questions.file.float])


def quotients_under(questions: Questions, scales: NDArray[np.uint64]) -> Questions:
    """The elements divided by their scales, in their own float type if it holds the quotients."""
    numbers, layout = _numbers(questions), LAYOUTS[questions.file.float]
    fmt = block_format(questions.file.format)
    codes = scales.astype(np.int64)
    if fmt.scale == E8M0:
        exponent = numbers.exponent - (codes - E8M0.bias)[:, np.newaxis]
        numbers = dataclasses.replace(numbers, exponent=exponent)
        layout = F32 if layout.exponent_bits < F32.exponent_bits else layout
    else:
        significand = numbers.significand * (codes != 0)[:, np.newaxis]
        numbers = scaled(dataclasses.replace(numbers, significand=significand), codes, fmt, None)
        layout = F64
    words = compose(numbers, layout).astype(np.uint64)
    # Far below every element, and not zero: what is too small for the float type stays so.
    words |= ((words & np.uint64(layout.sign_bit - 1)) == 0) & (numbers.significand != 0)
    file = without_cases("encode", fmt.element.name, layout.name)
    return Questions(file, words.reshape(-1, 1))


def _largest(questions: Questions, special: NDArray[np.bool_]) -> Questions:
    """The largest magnitude of each block; 0 for special ones."""
    layout = LAYOUTS[questions.file.float]
    magnitudes = questions.inputs & np.uint64(layout.sign_bit - 1)
    amax = np.where(special, np.uint64(0), magnitudes.max(axis=1))[:, np.newaxis]
    element = block_format(questions.file.format).element.name
    return _part(questions, "shared_scale", element, amax)
