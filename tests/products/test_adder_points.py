"""Any point of the space of adders, named or not, against the slow twin."""

from __future__ import annotations

import itertools
from typing import Any

import numpy as np
import pytest
from plain_rows import before, drawn, with_few_specials, words

from mxref import Adder, mma
from mxref.exact.adder_steps import Unit, multiplied
from mxref.policy.choices import Rounding

FORMATS = ("e5m2", "e4m3", "e3m2", "e2m1", "e4m3fnuz", "f16", "bf16", "tf32", "f32")
KINDS = ("aligned", "nearest", "in_f16", "later", "halves", "exact", "exact_in_f16", "tree")
EVEN: dict[str, Any] = {"rounding": Rounding.TIES_TO_EVEN}


def point(state: np.random.Generator, kind: str) -> tuple[Adder, Unit]:
    """An adder of a kind whose numbers are any, and what the slow twin calls it."""
    step, bits = int(state.choice([1, 2, 3, 5, 8, 16, 32, 64])), int(state.integers(1, 45))
    zero, kept = int(state.integers(-200, -18)), int(state.integers(1, 24))
    few = {"formats": (str(state.choice(FORMATS)),)}
    if kind == "tree" or (kind == "halves" and step == 1):
        step = int(state.choice([2, 4]))
    times = int(state.integers(3)) * step
    more = {"promotion": times or None, **few}
    if kind in ("later", "halves"):
        later = int(state.integers(2, 40))
        bits = int(state.integers(1, later))
        adder = Adder(step, bits, later_bits=later, halves=kind == "halves", **EVEN, **more)
        return adder, Unit(kind, step, bits, promotion=times, later=later)
    flush = bool(state.integers(2))
    points = {
        "aligned": (
            lambda: Adder(step, bits, zero, output_bits=kept, **more),
            Unit("aligned", step, bits, zero, kept, promotion=times),
        ),
        "nearest": (
            lambda: Adder(step, bits, zero, **EVEN, **more),
            Unit("aligned", step, bits, zero, None, promotion=times),
        ),
        "in_f16": (
            lambda: Adder(step, bits, zero, output="f16", **EVEN, **few),
            Unit("aligned", step, bits, zero, output="f16"),
        ),
        "exact": (lambda: Adder(step, **EVEN, **more), Unit("exact", step, promotion=times)),
        "exact_in_f16": (
            lambda: Adder(step, output="f16", **EVEN, **few),
            Unit("exact", step, output="f16"),
        ),
        "tree": (
            lambda: Adder(step, tree=True, flush=flush, **EVEN, **more),
            Unit("tree", step, promotion=times, flushes=flush),
        ),
    }
    adder_of, unit = points[kind]
    return adder_of(), unit


@pytest.mark.parametrize("kind", KINDS)
def test_any_point_equals_the_slow_twin(kind: str) -> None:
    state = np.random.default_rng([*kind.encode()])
    for number in range(30):
        adder, unit = point(state, kind)
        length, name = (0, 2, 7, 33, 70)[number % 5], adder.formats[0]
        a, b = (drawn(state, name, (2, max(length, 1)))[:, :length] for _ in range(2))
        if number % 10 == 8:
            with_few_specials(state, a)
            with_few_specials(state, b)
        c = before(state, adder.output, (2, 2))
        found = words(mma(a, b.T, c, adder=adder))
        for i, j in itertools.product(range(2), repeat=2):
            rows = words(a[i]).tolist(), words(b[j]).tolist(), int(words(c)[i, j])
            assert found[i, j] == multiplied(*rows, name, name, unit), (adder, rows)


def test_an_infinite_sum_so_far_is_not_too_small_to_count() -> None:
    """Under `halves`: -Inf beside +Inf, which products from 2**128 on are."""
    adder = Adder(4, 10, later_bits=13, halves=True, formats=("tf32",), **EVEN)
    a = np.float32([[2.0**127, 0, 0, 0, 2.0**127, 0, 0, 0]])
    b = np.float32([[2.0**39, 0, 0, 0, -(2.0**39), 0, 0, 0]])
    assert np.isnan(mma(a, b.T, adder=adder)).all()
    assert mma(a[:, :4], b[:, :4].T, adder=adder) == np.inf
