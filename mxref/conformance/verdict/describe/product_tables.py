"""Where outputs of products are wrong: features of their operands, and what holds of them."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np
from numpy.typing import NDArray

from mxref.bits.floats import Bool
from mxref.conformance.compare.compare import Outcome
from mxref.conformance.verdict.describe.features import Table
from mxref.conformance.verdict.describe.nearly import nearly
from mxref.conformance.verdict.describe.rules import FeatureRule, cover
from mxref.operands.word_rows import stripped
from mxref.operations.product_words import operands, pair_formats

#: The most rules and literals of each that are said of outputs, and failures that a rule has.
_RULES, _LITERALS, _LEAST = 2, 2, 4
#: The part of all failures, and of all outputs that it holds of, that an inexact rule is true of.
_MOST = 0.8


def product_table(outcomes: Sequence[Outcome]) -> Table:
    """Features of outputs: their length, and the least and the largest scale of both operands."""
    format = outcomes[0].file.format
    found: dict[str, list[int]] = {}
    rows = [operands(stripped(row), format) for one in outcomes for row in one.inputs]
    scales = [[np.array(side.scales, np.int64) for side in sides] for sides in rows]
    columns = {"scale of A": [a for a, _ in scales], "scale of B": [b for _, b in scales]}
    if all(fmt.scale.is_power for fmt in pair_formats(format)):
        columns["product of scales"] = [a[: b.size] + b[: a.size] - 254 for a, b in scales]
    for name, values in columns.items():
        found[f"least {name}"] = [int(some.min()) for some in values]
        found[f"largest {name}"] = [int(some.max()) for some in values]
    found["blocks summed"] = [a.size for a, _ in scales]
    return {name: np.array(values, np.int64) for name, values in found.items()}


def where_wrong(outcomes: Sequence[Outcome], failed: Bool) -> str:
    """Where outputs are wrong, in words, if that is short; else nothing.

    Args:
        outcomes: the answers to a pair of formats.
        failed: which of them are wrong, over all outcomes.
    """
    if failed.sum() < _LEAST or failed.all():
        return ""
    none: NDArray[np.int64] = np.zeros(failed.size, np.int64)
    table = product_table(outcomes)
    rules = cover(table, failed, none)
    exact = [_counted(rule, failed) for rule in rules or ()]
    if 0 < len(exact) <= _RULES and all(text for text, *_ in exact):
        texts = (f"{text} ({count} of {int(failed.sum())})" for text, count, _ in exact)
        return f"in the cases asked, wrong exactly where {'; or where '.join(texts)}"
    for rule in (nearly(table, failed) or [])[:1] if rules is None else ():
        text, count, holds = _counted(rule, failed)
        if text and min(count / failed.sum(), count / holds) >= _MOST:
            most = f"{count} of {int(failed.sum())} where {text}"
            return f"in the cases asked, {most}, and {holds - count} others there are right"
    return ""


def _counted(rule: FeatureRule, failed: Bool) -> tuple[str, int, int]:
    """A rule in words, if it is short, how many failures it holds of, and how many outputs."""
    count, holds = int((rule.holds & failed).sum()), int(rule.holds.sum())
    is_short = 0 < len(rule.literals) <= _LITERALS and count >= _LEAST
    text = " and ".join(literal.text for literal in rule.literals) if is_short else ""
    return text, count, holds
