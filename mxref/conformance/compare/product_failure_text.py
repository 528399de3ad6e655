"""A wrong dot product, or a wrong number of a linear layer, in words."""

from __future__ import annotations

from collections.abc import Callable, Sequence

import numpy as np

from mxref.bits.floats import LAYOUTS, patterns
from mxref.cases.linear_answers import layer_bounds, layer_parts
from mxref.cases.product_answers import bounds, groups
from mxref.cases.product_words import pair_formats, terms
from mxref.cases.records import Case, VectorFile
from mxref.conformance.compare.product_intervals import held
from mxref.policy.policy import Policy

__all__ = ["layer_difference", "product_difference"]


def product_difference(
    file: VectorFile, inputs: Sequence[int], want: int, got: int, show: Callable[[int], str]
) -> str:
    """A wrong answer with the exact one, and the widest interval of float32 sums."""
    products = [product for product in terms(inputs, file.format) or () if product]
    text = f"want {show(want)}, got {show(got)}"
    if not products:
        return text
    layout = LAYOUTS[file.float]
    ((_, a, b),) = groups(np.array([inputs], np.uint64))
    ends = bounds(a, b, pair_formats(file.format), file.float, "any")
    low, high, beside = (f"{int(patterns(e, layout)[0, 0]):0{layout.width // 4}x}" for e in ends)
    count = f"{len(products)} product{'s'[: len(products) > 1]}"
    largest = float(max(map(abs, products)))
    reach = "exactly" if low == high else f"or from {low} to {high}"
    if np.isnan(ends.overflow[0, 0]):
        reach += ", or Inf, -Inf or NaN where a sum overflows on the way"
    elif beside not in (low, high):
        reach += f", or {beside} where a sum overflows on the way"
    return f"{count} of magnitudes to {largest:.6g}, {text}: {reach}"


def layer_difference(
    file: VectorFile,
    case: Case,
    want: Sequence[int],
    got: Sequence[int],
    show_float: Callable[[int], str],
) -> str:
    """The first number of an answer about a linear layer that is outside its interval.

    Args:
        file: the file.
        case: the case.
        want: the right answer.
        got: the answer.
        show_float: a float of the file in words.
    """
    # Intervals are those of the first column with this answer, or of the first column.
    columns = (c for i, c in enumerate(file.columns) if case.output(i) == want)
    policy = Policy.parse(next(columns, file.columns[0]))
    ends = layer_bounds(file.op, file.format, file.float, case.inputs, policy)
    if len(got) != len(ends.lo):
        return f"want {len(ends.lo)} numbers, got {len(got)}"
    found = held(ends, np.array(got, np.uint64), file.float)
    index = left = int(np.argmin(found))
    parts = iter(layer_parts(file.op, case.inputs))
    name, size = next(parts)
    while left >= size:
        left -= size
        name, size = next(parts)
    place = f"number {left} of {size} of {name}"
    return f"{place}: want {show_float(want[index])}, got {show_float(got[index])}"
