"""A wrong dot product in words."""

from __future__ import annotations

from collections.abc import Callable, Sequence

import numpy as np

from mxref.bits.floats import LAYOUTS
from mxref.cases.linear_answers import layer_bounds
from mxref.cases.product_answers import bounds, groups
from mxref.cases.product_words import pair_formats, terms
from mxref.cases.records import VectorFile
from mxref.conformance.compare.product_intervals import is_inside
from mxref.policy.policy import Policy

__all__ = ["first_outside", "product_difference"]


def product_difference(
    file: VectorFile, inputs: Sequence[int], want: int, got: int, show: Callable[[int], str]
) -> str:
    """A wrong answer with the exact one, and the widest interval of float32 sums."""
    products = [product for product in terms(inputs, file.format) or () if product]
    text = f"want {show(want)}, got {show(got)}"
    if not products:
        return text
    formats, digits = pair_formats(file.format), LAYOUTS[file.float].width // 4
    ((_, a, b),) = groups(np.array([inputs], np.uint64))
    low, high = (
        f"{int(end[0, 0]):0{digits}x}" for end in bounds(a, b, formats, file.float, "any")[:2]
    )
    count = f"{len(products)} product{'s'[: len(products) > 1]}"
    largest = float(max(map(abs, products)))
    reach = "exactly" if low == high else f"or from {low} to {high}"
    return f"{count} of magnitudes to {largest:.6g}, {text}: {reach}"


def first_outside(file: VectorFile, inputs: Sequence[int], got: Sequence[int]) -> int:
    """The place of the first number of an answer about a linear layer that is outside."""
    low, high = layer_bounds(file.op, file.format, file.float, inputs, Policy())
    if len(got) != len(low):
        return 0
    words = np.array(got, np.uint64)
    return int(np.argmin(is_inside(low, high, words, LAYOUTS[file.float])))
