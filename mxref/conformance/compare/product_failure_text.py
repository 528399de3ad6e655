"""A wrong dot product, or a wrong number of a linear layer, in words."""

from __future__ import annotations

from collections.abc import Callable, Sequence

import numpy as np

from mxref.cases.records import Case, VectorFile
from mxref.conformance.compare.product_intervals import allowed, held
from mxref.operations.layers import layer_bounds, layer_place
from mxref.operations.product_words import pair_formats, terms
from mxref.operations.products import bounds, groups
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
    ((_, a, b),) = groups(np.array([inputs], np.uint64))
    ends = bounds(a, b, pair_formats(file.format), file.float, "any")
    count = f"{len(products)} product{'s'[: len(products) > 1]}"
    largest = float(max(map(abs, products)))
    return f"{count} of magnitudes to {largest:.6g}, {text}: {allowed(ends)}"


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
    if len(got) != len(want):
        return f"want {len(want)} numbers, got {len(got)}"
    index, reach = int(np.argmax(np.array(got) != np.array(want))), ""
    # Intervals are those of the first column with this answer, if there is one.
    columns = (c for i, c in enumerate(file.columns) if case.output(i) == want)
    policy = next(columns, None)
    if policy is not None:
        names = file.op, file.format, file.float
        ends = layer_bounds(*names, case.inputs, Policy.parse(policy), "any")
        index = int(np.argmin(held(ends, np.array(got, np.uint64), file.float)))
        reach = f": {allowed(ends, index)}"
    name, left, size = layer_place(file.op, case.inputs, index)
    place = f"number {left} of {size} of {name}"
    return f"{place}: want {show_float(want[index])}, got {show_float(got[index])}{reach}"
