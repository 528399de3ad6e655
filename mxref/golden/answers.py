"""Expected answers, from the slow twin; and the same questions put to the fast path."""

from __future__ import annotations

import dataclasses
from collections.abc import Iterable, Sequence
from typing import Any

import numpy as np
from numpy.typing import NDArray

from mxref import exact
from mxref._bits import LAYOUTS, split
from mxref.block import quantize
from mxref.blocks import Blocks, dequantize
from mxref.element import decode, encode, encode_parts
from mxref.formats import E8M0, block_format
from mxref.golden.records import VectorFile
from mxref.policy import READS, Policy
from mxref.scale import decode_scale, encode_scale, shared_scale

__all__ = ["choices_read", "codes_under_scale", "exact_answer", "exact_answers", "fast_answers"]


def choices_read(op: str, policy: Policy) -> dict[str, str]:
    """The choices of a policy that an operation reads and that are not those of `ocp`, by name.

    >>> choices_read("encode", Policy.parse("ocp+rounding=to_odd+scale_rule=ceil"))
    {'rounding': 'to_odd'}
    """
    default = Policy().choices()
    return {
        name: value
        for name, value in policy.choices().items()
        if name in READS[op] and value != default[name]
    }


#: What the slow twin calls a choice, where its functions have an argument of another name.
_EXACT_NAMES = {"scale_rule": "rule", "scale_rounding": "rounding"}


def exact_answer(
    op: str, format: str, float: str, words: Sequence[int], policy: Policy
) -> tuple[int, ...]:
    """The output words of one case, by the slow twin.

    >>> exact_answer("encode", "e2m1", "f32", [0x40A00000], Policy())  # 5.0
    (6,)
    """
    return exact_answers(op, format, float, [words], policy)[0]


def exact_answers(
    op: str, format: str, float: str, questions: Iterable[Sequence[int]], policy: Policy
) -> list[tuple[int, ...]]:
    """The output words of many cases, by the slow twin."""
    # What the policy reads, as the slow twin's arguments; cases are whole blocks.
    read = {n: value for n, value in choices_read(op, policy).items() if n != "tail"}
    choices: dict[str, Any] = {_EXACT_NAMES.get(n, n): value for n, value in read.items()}
    match op:
        case "encode":
            return [(exact.encode(w[0], float, format, **choices),) for w in questions]
        case "decode":
            return [(exact.decode(w[0], format, float, **choices),) for w in questions]
        case "encode_scale":
            return [(exact.encode_scale(w[0], float, **choices),) for w in questions]
        case "decode_scale":
            return [(exact.decode_scale(w[0], float, **choices),) for w in questions]
        case "shared_scale":
            return [(exact.shared_scale(w[0], float, format, **choices),) for w in questions]
    element = block_format(format).element.name
    if op == "quantize":
        blocks = (exact.quantize(w, float, element, **choices) for w in questions)
        return [(scale, *codes) for scale, codes in blocks]
    return [
        tuple(exact.dequantize(w[0], code, element, float, **choices) for code in w[1:])
        for w in questions
    ]


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
            return decode(words, format, layout.dtype, policy).view(layout.uint)
        case "encode_scale":
            return encode_scale(values, policy)
        case "decode_scale":
            return decode_scale(words, layout.dtype, policy).view(layout.uint)
        case "shared_scale":
            return shared_scale(values, format, policy=policy)
        case "quantize":
            blocks = quantize(values, format, policy)
            return np.concatenate([blocks.scale_codes, blocks.codes], axis=-1)
    scales, codes = words[..., :1], words[..., 1:]
    blocks = Blocks(codes, scales, block_format(format), codes.ndim - 1, codes.shape)
    return dequantize(blocks, layout.dtype, policy).view(layout.uint)


def codes_under_scale(
    file: VectorFile,
    inputs: Sequence[int],
    scale_code: int,
    policy: Policy,
    choices: dict[str, str],
) -> NDArray[np.uint8]:
    """The element codes of a block's numbers under a given scale and some other choices."""
    layout = LAYOUTS[file.float]
    parts = split(np.array(inputs, layout.uint), layout)
    scaled = dataclasses.replace(parts, exponent=parts.exponent - (scale_code - E8M0.bias))
    return encode_parts(
        scaled, block_format(file.format).element, policy.replace(**choices).element
    )
