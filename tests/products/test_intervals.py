"""Bounds of two products together."""

from __future__ import annotations

import itertools
from math import inf, nan

import numpy as np
import pytest
from helpers import SOURCES

from mxref.products.intervals import Bounds

#: Ends and overflow, and the special values that they allow, by name.
KINDS = {
    "no overflow": ((1, 2, 1), ""),
    "other numbers": ((-4, -3, -4), ""),
    "upwards": ((1, 2, inf), "inf"),
    "downwards": ((1, 2, -inf), "-inf"),
    "both ways": ((1, 2, nan), "inf -inf nan"),
    "infinite": ((inf, inf, inf), "inf"),
    "not a number": ((nan, nan, nan), "nan"),
}


@pytest.mark.parametrize("source", SOURCES)
def test_joined_bounds_allow_what_either_allows_and_what_is_between(source: str) -> None:
    def held(bounds: Bounds, numbers: list[float]) -> list[float]:
        found = [bounds.hold(np.array([x], SOURCES[source]))[0] for x in numbers]
        return [x for x, is_held in zip(numbers, found, strict=True) if is_held]

    for (a, some), (b, others) in itertools.product(KINDS.values(), repeat=2):
        pair = [Bounds(*(np.array([x], SOURCES[source]) for x in ends)) for ends in (a, b)]
        joined = pair[0].joined(pair[1])
        low, high = np.fmin(a[0], b[0]), np.fmax(a[1], b[1])
        numbers = [-5, -4, -3.5, -3, 0, 1, 1.5, 2, 3]
        assert held(joined, numbers) == [x for x in numbers if low <= x <= high], (a, b)
        special = [inf, -inf, nan]
        union = {*some.split(), *others.split()}
        found = set(map(str, held(joined, special)))
        assert found >= union, (a, b)
        if len(union) < 2 and ("nan" not in union or some == others):
            assert found == union, (a, b)
