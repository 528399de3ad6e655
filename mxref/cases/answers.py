"""Expected answers by the slow twin, and the fast path's answers to the same questions."""

from __future__ import annotations

import dataclasses
from collections.abc import Iterable, Sequence
from typing import Any

import numpy as np
from numpy.typing import NDArray

from mxref.bits.floats import LAYOUTS, split
from mxref.cases.own_formats import one_reference
from mxref.cases.records import VectorFile
from mxref.formats.catalog import E8M0, block_format
from mxref.operations.operation import AnyPolicy
from mxref.operations.registry import REGISTRY
from mxref.policy.policy import Policy

__all__ = [
    "answerable",
    "choices_read",
    "codes_under_scale",
    "exact_answer",
    "exact_answers",
    "fast_answers",
    "reads",
]


def reads(op: str, format: str = "") -> tuple[str, ...]:
    """The choices that an operation of the vectors reads, of a format or of those of MX.

    >>> reads("pack"), reads("quantize_tensor")[0], reads("quantize", "fp8_e4m3_f32")[-1]
    (('fp4_packing', 'fp6_packing'), 'tail', 'tail')
    """
    return REGISTRY[op].reads(format)


def answerable(op: str, format: str, slot: str, policy: AnyPolicy) -> bool:
    """Whether the cases of a file have an answer under a policy.

    Args:
        op: operation.
        format: the file's.
        slot: the file's float type, or the layout of its bytes.
        policy: what to answer by.

    >>> answerable("unpack", "e2m1", "halves", Policy())
    False
    """
    return isinstance(policy, str) or REGISTRY[op].answerable(format, slot, policy)


def choices_read(op: str, policy: AnyPolicy, format: str = "") -> dict[str, str]:
    """The choices of a policy that an operation reads and that differ from `ocp`, by name.

    >>> choices_read("encode", Policy.parse("ocp+rounding=to_odd+scale_rule=ceil"))
    {'rounding': 'to_odd'}
    """
    return REGISTRY[op].changed(policy, format)


def exact_answer(
    op: str, format: str, float: str, words: Sequence[int], policy: AnyPolicy
) -> tuple[int, ...]:
    """The output words of one case, by the slow twin.

    >>> exact_answer("encode", "e2m1", "f32", [0x40A00000], Policy())  # 5.0
    (6,)
    """
    return exact_answers(op, format, float, [words], policy)[0]


def exact_answers(
    op: str, format: str, float: str, questions: Iterable[Sequence[int]], policy: AnyPolicy
) -> list[tuple[int, ...]]:
    """The output words of many cases, by the slow twin; see `one_reference`."""
    if one_reference(format):
        words = np.array(list(questions), np.uint64)
        return [tuple(row) for row in fast_answers(op, format, float, words, policy).tolist()]
    return REGISTRY[op].exact(format, float, questions, policy)


def fast_answers(
    op: str, format: str, float: str, words: NDArray[Any], policy: AnyPolicy
) -> NDArray[Any]:
    """The output words of many cases, one a row, by the fast path."""
    return REGISTRY[op].fast(format, float, words, policy)


def codes_under_scale(
    file: VectorFile,
    inputs: Sequence[int],
    scale_code: int,
    policy: Policy,
    choices: dict[str, str],
) -> NDArray[np.uint8]:
    """The element codes of a block's numbers under a given scale and some other choices."""
    from mxref.numbers.element import encode_parts

    layout = LAYOUTS[file.float]
    parts = split(np.array(inputs, layout.uint), layout)
    scaled = dataclasses.replace(parts, exponent=parts.exponent - (scale_code - E8M0.bias))
    return encode_parts(
        scaled, block_format(file.format).element, policy.replace(**choices).element
    )
