"""Questions and answers of the ledger as text: hex words and their values."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from itertools import groupby

import numpy as np

import mxref
from mxref.bits.floats import LAYOUTS
from mxref.blocks.container import Blocks
from mxref.formats.catalog import E8M0, block_format
from mxref.operations.registry import LAYOUT_OPERATIONS

__all__ = ["answer_text", "question_text"]

_FROM_FLOATS = ("encode", "encode_scale", "shared_scale", "quantize")


def question_text(op: str, example: Mapping[str, str]) -> str:
    """The question of an example: format and float type, hex words, values.

    >>> one = {"format": "mxfp4_e2m1", "float": "bf16", "in": "4040 0000*31"}
    >>> question_text("quantize", one)
    'mxfp4_e2m1 bf16 `4040 0000*31` = 3, 0*31'
    """
    text = f"{example['format']} {example['float']} `{example['in']}`"
    words = _words(example["in"])
    if op not in _FROM_FLOATS:
        return text
    return f"{text} = {_values(_floats(words, example['float']))}"


def answer_text(op: str, example: Mapping[str, str], answer: str) -> str:
    """An answer to it: hex words, and the values that `ocp` reads from them.

    >>> one = {"format": "mxfp4_e2m1", "float": "bf16", "in": "4040 0000*31"}
    >>> answer_text("quantize", one, "7f 05 00*31")
    '`7f 05 00*31` = 3, 0*31'
    """
    words = np.array(_words(answer), np.uint64)
    if op in LAYOUT_OPERATIONS or not words.size:
        return f"`{answer}`"
    match op:
        case "encode":
            values = mxref.decode(words, example["format"], np.float64)
        case "encode_scale" | "shared_scale":
            code = int(words[0])
            return f"`{answer}` = " + ("nan" if code in E8M0.nan_codes else f"2^{code - E8M0.bias}")
        case "quantize":
            codes = words[1:].astype(np.uint8)
            fmt = block_format(example["format"])
            scale = words[:1].astype(np.uint8)
            values = mxref.dequantize(Blocks(codes, scale, fmt, 0, codes.shape), np.float64)
        case _:
            values = _floats(words.tolist(), example["float"])
    return f"`{answer}` = {_values(values)}"


def _words(text: str) -> list[int]:
    """The words of `hex_text`."""
    words = []
    for part in text.split():
        word, _, times = part.partition("*")
        words += [int(word, 16)] * int(times or 1)
    return words


def _floats(words: Sequence[int], float: str) -> np.ndarray:
    layout = LAYOUTS[float]
    return np.array(words, np.uint64).astype(layout.uint).view(layout.dtype)


def _values(values: np.ndarray) -> str:
    """Numbers as text; of repeated numbers one with their count."""
    texts = []
    with np.errstate(invalid="ignore"):  # signalling NaN
        numbers = values.astype(np.float64)
    for text, same in groupby(f"{number:.9g}" for number in numbers):
        count = len([*same])
        texts.append(text if count == 1 else f"{text}*{count}")
    return ", ".join(texts)
