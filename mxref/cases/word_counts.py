"""How many words a case has."""

from __future__ import annotations

from collections.abc import Sequence

from mxref.cases.integer_words import FORMATS, counts
from mxref.cases.layout_answers import sizes
from mxref.cases.linear_answers import layer_sizes
from mxref.cases.product_words import operands
from mxref.cases.words import DOT_OPERATIONS, LAYER_OPERATIONS, LAYOUT_OPERATIONS
from mxref.formats.catalog import block_format
from mxref.policy.policy import Policy

__all__ = ["word_counts"]


def word_counts(op: str, name: str, inputs: Sequence[int], policy: Policy) -> tuple[int, int]:
    """How many words a case must have in and out.

    Args:
        op: operation.
        name: format.
        inputs: the words in, as far as the numbers depend on them.
        policy: the layout, of operations on layouts.

    >>> word_counts("quantize", "mxfp4_e2m1", (), Policy())
    (32, 33)
    """
    if op in LAYOUT_OPERATIONS:
        return sizes(op, name, inputs, policy)
    if op in FORMATS:
        return counts(op, name, inputs)
    if op in LAYER_OPERATIONS:
        return layer_sizes(op, inputs)
    if op in DOT_OPERATIONS:
        operands(inputs)
        return len(inputs), 1
    if op not in ("quantize", "dequantize"):
        return (3 if op == "encode_stochastic" else 1), 1
    fmt = block_format(name)
    size, tensor = fmt.elements_per_block, int(fmt.tensor_scale)
    return (size + tensor, size + 1) if op == "quantize" else (size + 1 + tensor, size)
