"""Computed questions of weight-only layers: sums in another order are right, others are not."""

from __future__ import annotations

from dataclasses import replace
from types import SimpleNamespace
from typing import Any

import numpy as np
from numpy.typing import NDArray

from mxref import integer
from mxref.cases.drawn import drawn
from mxref.conformance import target_of
from mxref.conformance.checking.computed import Compared, compare_computed
from mxref.operations.registry import CALL_OPERATIONS
from mxref.targets.calls import without_cases

Array = NDArray[Any]


def compared(function: Any) -> Compared:
    """What is said of a function of 8-bit weights."""
    target = target_of(SimpleNamespace(linear_qcs8w=function), "kernel")
    words = drawn("linear_qcs8w", "int8", "f32", 12, seed=1)
    policy = CALL_OPERATIONS["linear_qcs8w"].first_policy("int8")
    file = replace(without_cases("linear_qcs8w", "int8", "f32"), columns=(policy,))
    return compare_computed(target, file, [words[:8], words[8:]], policy, name="search")


def test_sums_in_another_order_are_right_and_those_beyond_every_order_are_wrong() -> None:
    others: list[bool] = []

    def backwards(x: Array, w: Array, scales: Array) -> Array:
        result = integer.linear_qcs8w(x[:, ::-1], w[:, ::-1], scales, "offset")
        others.append(not np.array_equal(result, integer.linear_qcs8w(x, w, scales)))
        return result

    assert (compared(backwards).cases, compared(backwards).wrong) == (12, 0)
    assert any(others)

    def beyond(x: Array, w: Array, scales: Array) -> Array:
        return backwards(x, w, scales) * np.float32(1.25) + np.float32(1)

    found = compared(beyond)
    assert (found.cases, found.wrong) == (12, 12)
    assert found.outcome is not None
    assert len(found.outcome.failures) == 12
