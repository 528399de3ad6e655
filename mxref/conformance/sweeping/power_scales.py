"""Blocks of a sweep under scales that are powers of two.

`quantize` gets the block product (`mxref.cases.product`): blocks that pair every scale code with
every odd-rounded key, or with every number of a float type of 16 bits. It is complete if an
element's code depends on its number and its scale only. `dequantize` gets every code under every
scale.
"""

from __future__ import annotations

import dataclasses

import numpy as np

from mxref.bits.floats import LAYOUTS, split
from mxref.cases.answers import exact_answers, fast_answers
from mxref.cases.product import scale_blocks, scale_range
from mxref.conformance.sweeping.block_questions import BlockKind, BlockQuestions, Words, keys_of
from mxref.conformance.sweeping.plan import OwnTarget, Plan
from mxref.formats.catalog import E8M0, ElementFormat, block_format
from mxref.golden.level2 import CHECKED, compare

__all__ = ["PowerScales"]


class PowerScales(BlockKind):
    """Scales of E8M0."""

    def count(self, plan: Plan) -> int:
        """The number of scales; one that returns where exponents wrap counts again."""
        if plan.file.row.from_codes:
            return E8M0.code_count
        element = block_format(plan.file.format).element
        return len(scale_range(element, plan.policy, plan.file.float))

    def questions(self, plan: Plan, index: int) -> BlockQuestions | None:
        """The blocks of a scale; none for a scale that wraps around, without finite quotients.

        Raises:
            DisagreementError: the two references differ.
        """
        file, policy = plan.file, plan.policy
        block = block_format(file.format)
        fmt, size = block.element, block.elements_per_block
        if file.row.from_codes:
            keys = _ramp(fmt, size)
            inputs = np.insert(keys, 0, index, axis=1)
            answers = exact_answers(file.op, file.format, file.float, inputs.tolist(), policy)
            return _of_scale(index, inputs, keys, np.array(answers, np.uint64))
        scale, first, last = scale_range(fmt, policy, file.float)[index]
        inputs = scale_blocks(fmt, scale, first, last, file.float, size).astype(np.uint64)
        if not inputs.size:
            return None
        parts = split(inputs, LAYOUTS[file.float])
        quotients = dataclasses.replace(parts, exponent=parts.exponent - (scale - E8M0.bias))
        want = fast_answers(file.op, file.format, file.float, inputs, policy).astype(np.uint64)
        some = slice(None, None, 1 if isinstance(plan.target(), OwnTarget) else CHECKED)
        compare(file.op, file.format, file.float, policy, inputs[some], want[some])
        return _of_scale(scale, inputs, keys_of(quotients, fmt, file.float), want)


def _of_scale(scale: int, inputs: Words, keys: Words, want: Words) -> BlockQuestions:
    return BlockQuestions(np.full(len(inputs), scale, np.uint64), inputs, keys, want)


def _ramp(fmt: ElementFormat, size: int) -> Words:
    """Every code, in blocks of a size, padded with the last code."""
    codes = np.arange(max(fmt.code_count, size), dtype=np.uint64)
    return np.minimum(codes, np.uint64(fmt.code_count - 1)).reshape(-1, size)
