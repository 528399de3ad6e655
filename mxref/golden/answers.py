"""Expected answers, from the slow twin; and the same questions put to the fast path."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np
from numpy.typing import NDArray

from mxref import exact
from mxref._bits import LAYOUTS
from mxref.block import Blocks, dequantize, quantize
from mxref.element import decode, encode
from mxref.formats import block_format
from mxref.golden.words import READS
from mxref.policy import Policy
from mxref.scale import decode_scale, encode_scale, shared_scale

__all__ = ["choices_read", "exact_answer", "fast_answers"]


def choices_read(op: str, policy: Policy) -> dict[str, str]:
    """The choices of a policy that an operation reads, by name.

    >>> choices_read("encode_scale", Policy())
    {'scale_rounding': 'toward_zero'}
    """
    return {name: value for name, value in policy.choices().items() if name in READS[op]}


def exact_answer(
    op: str, format: str, float: str, words: Sequence[int], policy: Policy
) -> tuple[int, ...]:
    """The output words of one case, by the slow twin.

    >>> exact_answer("encode", "e2m1", "f32", [0x40A00000], Policy())  # 5.0
    (6,)
    """
    choices = choices_read(op, policy)
    match op:
        case "encode":
            return (exact.encode(words[0], float, format, **choices),)
        case "decode":
            return (exact.decode(words[0], format, float),)
        case "encode_scale":
            return (exact.encode_scale(words[0], float, choices["scale_rounding"]),)
        case "decode_scale":
            return (exact.decode_scale(words[0], float),)
        case "shared_scale":
            return (exact.shared_scale(words[0], float, format, choices["scale_rule"]),)
    element = block_format(format).element.name
    if op == "quantize":
        choices["rule"] = choices.pop("scale_rule")
        scale, codes = exact.quantize(words, float, element, **choices)
        return (scale, *codes)
    scale, *codes = words
    return tuple(exact.dequantize(scale, code, element, float) for code in codes)


def fast_answers(
    op: str, format: str, float: str, words: NDArray[Any], policy: Policy
) -> NDArray[Any]:
    """The output words of many cases, one a row, by the fast path."""
    layout = LAYOUTS[float]
    if op in ("encode", "encode_scale", "shared_scale", "quantize"):
        values = words.astype(layout.uint).view(layout.dtype)
    match op:
        case "encode":
            return encode(values, format, policy)
        case "decode":
            return decode(words, format, layout.dtype).view(layout.uint)
        case "encode_scale":
            return encode_scale(values, policy)
        case "decode_scale":
            return decode_scale(words, layout.dtype).view(layout.uint)
        case "shared_scale":
            return shared_scale(values, format, policy.scale.scale_rule)
        case "quantize":
            blocks = quantize(values, format, policy)
            return np.concatenate([blocks.scale_codes, blocks.codes], axis=-1)
    scales, codes = words[..., :1], words[..., 1:]
    blocks = Blocks(codes, scales, block_format(format), codes.ndim - 1, codes.shape)
    return dequantize(blocks, layout.dtype).view(layout.uint)
