"""The plainest case of an operation, with which a program is tried."""

from __future__ import annotations

from mxref.cases.integer_words import easy_words
from mxref.cases.layout_answers import sizes
from mxref.cases.words import INTEGER_OPERATIONS
from mxref.formats.catalog import block_format, element_format
from mxref.policy.policy import Policy

__all__ = ["easy_inputs"]

#: The float32 of 1, a tensor's scale that is legal.
_ONE = 0x3F800000
#: The scale code of 1.
_SCALE = 0x7F


def easy_inputs(op: str, format: str, float: str) -> tuple[int, ...]:
    """The input words of a legal and plain case, mostly zeros.

    >>> easy_inputs("encode", "e2m1", "f32"), easy_inputs("unpack", "e2m1", "low_nibble_first")
    ((0,), (2, 0))

    Bytes in no named layout (`bytes`) are those of the default layout.

    >>> easy_inputs("unpack", "e2m1", "bytes")
    (2, 0)
    """
    match op:
        case "encode_stochastic":
            return (0, 0, 8)
        case "quantize" | "dequantize":
            block = block_format(format)
            tensor_scale = (_ONE,) * block.tensor_scale
            return (*tensor_scale, *(0,) * (block.elements_per_block + (op == "dequantize")))
        case _ if op in INTEGER_OPERATIONS:
            return easy_words(op, format)
        case "matmul":
            return (_SCALE, *(0,) * 32) * 2
        case "linear":
            return (1, 1, 1, 1, 0, 0, 0)
        case "linear_gradients":
            return (1, 1, 1, 1, 0, 0, 0)
        case "pack":
            return (0, 0)
        case "unpack":
            policy = _laid_out(f"fp{element_format(format).bits}_packing", float)
            return (2, *(0,) * (sizes(op, format, (2,), policy)[0] - 1))
        case "pack_scales" | "unpack_scales" | "quantize_tensor":
            policy = _laid_out("scale_layout", float) if op == "unpack_scales" else Policy()
            first = (1, 1, 1) if op == "quantize_tensor" else (1, 1)
            return (*first, *(0,) * (sizes(op, format, first, policy)[0] - len(first)))
        case "pack_blocks" | "unpack_blocks":
            policy = Policy().replace(scale_place="before")
            return (0,) * sizes(op, format, (0,), policy)[0]
    return (0,)


def _laid_out(choice: str, layout: str) -> Policy:
    """The policy of a layout, where there is such a choice and the layout is named."""
    has_choice = choice in Policy().choices() and layout != "bytes"
    return Policy().replace(**{choice: layout}) if has_choice else Policy()
