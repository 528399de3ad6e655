"""Operations made of others: the answers of the whole from the wrong answers of one part.

Each function takes a function that answers the part's questions and returns one that answers the
questions of the whole; the other parts follow a policy.
"""

from __future__ import annotations

import dataclasses
from collections.abc import Callable

import numpy as np

from mxref.bits.floats import F32, F64, I64, Bool, Parts, compose, split
from mxref.blocks.exact_scales import quotient
from mxref.conformance.compare.tensor_cases import tensors_of
from mxref.conformance.verdict.cause.evidence import Questions, Words
from mxref.formats.catalog import BlockFormat
from mxref.numbers.codes import every_code
from mxref.numbers.element import encode_parts
from mxref.operations.layouts import packing_of
from mxref.policy.choices import ScalePlace
from mxref.policy.policy import Policy
from mxref.targets.calls import without_cases

Answer = Callable[[Questions, Policy], Words]


def numbers_of(questions: Questions) -> Parts:
    """The numbers of blocks, a block a row, without the scales of their tensors."""
    words = questions.inputs[:, questions.first :]
    return questions.once("numbers", Policy(), lambda: split(words, questions.layout))


def is_special(questions: Questions) -> tuple[Bool, ...]:
    """Which blocks are all zeros, which have infinities and no NaN, and which have NaN."""
    numbers = numbers_of(questions)
    nan = np.asarray(numbers.is_nan.any(axis=1))
    something = (numbers.significand != 0) | numbers.is_inf | numbers.is_nan
    some = np.asarray(np.any(something, axis=1))
    infinite = np.asarray(numbers.is_inf.any(axis=1) & ~nan)
    return ~some, infinite, nan


def nan_scale(fmt: BlockFormat) -> int:
    """The code of a NaN scale, under which codes say nothing."""
    return max(fmt.scale.nan_codes)


def quotients_of(numbers: Parts, divisors: I64, questions: Questions) -> Parts:
    """Numbers of blocks divided by their scales, a code a row, and by the scale of their tensor."""
    fmt = questions.fmt
    if fmt.scale.is_power:
        exponent = numbers.exponent - (divisors - fmt.scale.bias)[:, np.newaxis]
        return dataclasses.replace(numbers, exponent=exponent)
    codes = np.clip(divisors, 0, fmt.scale.code_count - 1)[:, np.newaxis]
    scale = every_code(fmt.scale)
    significand, power = np.maximum(scale.significand, 1)[codes], scale.exponent[codes]
    numbers = dataclasses.replace(numbers, significand=numbers.significand * (codes != 0))
    if fmt.tensor_scale:
        tensor = split(questions.inputs[:, :1], F32)
        some = np.maximum(tensor.significand, 1)  # under 0 all numbers are 0
        significand, power = significand * some, power + tensor.exponent
        zeroed = numbers.significand * (tensor.significand != 0)
        numbers = dataclasses.replace(numbers, significand=zeroed)
    return quotient(numbers, significand, power)


def encoded(numbers: Parts, divisors: I64, questions: Questions, policy: Policy) -> Words:
    """The codes of numbers divided by scales, a row each."""
    element = questions.fmt.element
    quotients = quotients_of(numbers, divisors, questions)
    return encode_parts(quotients, element, policy.element).astype(np.uint64)


def of_elements(encode: Answer) -> Answer:
    """`quantize` with right scales and exact quotients, which the part encodes."""

    def answer(questions: Questions, policy: Policy) -> Words:
        right = questions.answers(policy)
        codes = encode(quotients_under(questions, right[:, 0].astype(np.int64)), policy)
        nan = right[:, :1] == nan_scale(questions.fmt)
        codes = np.where(nan, right[:, 1:], codes.reshape(len(right), -1))
        return np.concatenate([right[:, :1], codes], axis=1)

    return answer


def of_scales(shared_scale: Answer) -> Answer:
    """`quantize` with the part's scales, and elements that are right under them."""

    def answer(questions: Questions, policy: Policy) -> Words:
        numbers = numbers_of(questions)
        special = np.any(numbers.is_inf | numbers.is_nan, axis=1, keepdims=True)
        inner = questions.once("amax", policy, lambda: _largest(questions, special))
        scales = shared_scale(inner, policy)
        codes = encoded(numbers, scales[:, 0].astype(np.int64), questions, policy)
        found = np.concatenate([scales, codes], axis=1)
        return np.where(special, questions.answers(policy), found)

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
        fmt = questions.fmt.element
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
        fmt = questions.fmt.element
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


def quotients_under(questions: Questions, divisors: I64) -> Questions:
    """The elements divided by scales, in their own float type if it holds the quotients."""
    key = f"quotients {hash(divisors.tobytes())}"
    return questions.once(key, Policy(), lambda: _quotients(questions, divisors))


def _quotients(questions: Questions, divisors: I64) -> Questions:
    fmt, layout = questions.fmt, questions.layout
    numbers = quotients_of(numbers_of(questions), divisors, questions)
    if not fmt.scale.is_power:
        layout = F64
    elif layout.exponent_bits < F32.exponent_bits:
        layout = F32
    words = compose(numbers, layout).astype(np.uint64)
    # Far below every element, and not zero: what is too small for the float type stays so.
    words |= ((words & np.uint64(layout.sign_bit - 1)) == 0) & (numbers.significand != 0)
    file = without_cases("encode", fmt.element.name, layout.name)
    return Questions(file, words.reshape(-1, 1))


def _largest(questions: Questions, special: Bool) -> Questions:
    """The largest magnitude of each block; 0 for special ones."""
    layout = questions.layout
    magnitudes = questions.inputs & np.uint64(layout.sign_bit - 1)
    amax = np.where(special, np.uint64(0), magnitudes.max(axis=1, keepdims=True))
    element = questions.fmt.element.name
    return _part(questions, "shared_scale", element, amax)
