"""The answers of policies to questions, in a form that can be compared."""

from __future__ import annotations

import dataclasses
import functools
from collections.abc import Mapping
from typing import Any

import numpy as np
from numpy.typing import NDArray

from mxref.blocks.quantization import quantize
from mxref.cases.answers import fast_answers
from mxref.conformance.compare.compare import answered_or_refused
from mxref.conformance.identification.setting import Setting
from mxref.formats.catalog import block_format
from mxref.operands.splitmix import splitmix64
from mxref.operands.word_rows import NO_WORD, same_width
from mxref.policy.policy import Policy

__all__ = ["comparable", "hashed", "predicted", "scales_alone", "shown"]

Words = NDArray[np.uint64]


def predicted(
    setting: Setting, words: Words, members: Mapping[str, str], shows: str = "all"
) -> NDArray[np.uint64]:
    """The answers of a policy, one a row; no word but NO_WORD where the input is an error."""
    op, format, float = setting.op, setting.format, setting.float
    first = len(setting.row.before_block or ())
    if first and words.shape[1] == first + block_format(format).elements_per_block:
        return predicted(Setting("quantize", format, float), words[:, first:], members, shows)
    policy = _policy(members)

    def answer(some: Words) -> Words:
        if shows == "scale":
            return scales_alone(setting, some, policy)
        if setting.row.of_layers:
            from mxref.conformance.identification.layer_questions import layer_predictions

            return layer_predictions(setting, some, policy)
        return fast_answers(op, format, float, some, policy).astype(np.uint64)

    answers, _ = same_width(answered_or_refused(answer, words).words, words[:, :1])
    return answers if shows == "scale" else comparable(setting, answers, words)


def _policy(members: Mapping[str, str]) -> Policy:
    """The policy with these members, put together from cached parts."""
    parts = {}
    for part, own in _OWN.items():
        parts[part] = _part(part, tuple((n, m) for n, m in members.items() if n in own))
    return Policy(**parts)


#: The choices of each part of a policy.
_OWN = {
    part.name: {field.name for field in dataclasses.fields(getattr(Policy(), part.name))}
    for part in dataclasses.fields(Policy)
}


@functools.lru_cache(maxsize=1 << 14)
def _part(name: str, members: tuple[tuple[str, str], ...]) -> Any:
    return getattr(Policy().replace(**dict(members)), name)


def scales_alone(setting: Setting, words: Words, policy: Policy) -> NDArray[np.uint64]:
    """Scale codes of blocks with one number that is not zero."""
    layout, fmt = setting.layout, block_format(setting.format)
    values = words.max(axis=1, keepdims=True).astype(layout.uint).view(layout.dtype)
    alone = dataclasses.replace(fmt, block_size=1)
    return quantize(values, alone, policy).scale_codes.astype(np.uint64)


def comparable(
    setting: Setting, answers: NDArray[np.uint64], words: NDArray[np.uint64]
) -> NDArray[np.uint64]:
    """Answers to questions with every NaN of a float type as one NaN; of products -0 as +0.

    Those about gradients are without that of the bias.
    """
    layout, row = setting.layout, setting.row
    if row.of_layers:
        from mxref.conformance.identification.layer_questions import products_alone

        answers = products_alone(setting, answers, words)
    if row.bounds(setting.format):  # the sign of a zero depends on much else
        answers = np.where(answers == np.uint64(layout.sign_bit), np.uint64(0), answers)
    if row.one_nan:
        magnitude = answers & np.uint64(layout.sign_bit - 1)
        is_nan = (magnitude > np.uint64(layout.inf_bits)) & (answers != np.uint64(NO_WORD))
        one_nan: NDArray[np.uint64] = np.where(is_nan, np.uint64(layout.nan_bits), answers)
        return one_nan
    return answers


def shown(answers: NDArray[np.uint64], shows: str) -> NDArray[np.uint64]:
    """The part of answers that is compared."""
    match shows:
        case "scale":
            return answers[:, :1]
        case "number":
            count = (answers != np.uint64(NO_WORD)).sum(axis=1, keepdims=True)
            return np.asarray(count, np.uint64)
    return answers


def hashed(answers: NDArray[np.uint64]) -> NDArray[np.uint64]:
    """A hash word for each answer, 0 for an answer without words."""
    first, second = (splitmix64(seed, answers.shape[1]) | np.uint64(1) for seed in (1, 2))
    mixed = (answers + np.uint64(1)) * first  # 0 for NO_WORD, however many of them there are
    mixed ^= mixed >> np.uint64(29)
    result: NDArray[np.uint64] = (mixed * second).sum(axis=1, dtype=np.uint64)
    return result
