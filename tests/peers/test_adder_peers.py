"""Named adders of plain arrays against MMA-Sim's matrix units, bit for bit, zeros with signs.

MMA-Sim 2.1.1 comes with the extra `peers`. NaN is compared as a class.
"""

from __future__ import annotations

import itertools
import sys
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from plain_rows import PLAIN, before, drawn, with_few_specials, words
from shares import Share

from mxref import ADDERS, mma
from mxref.conformance import identify_adder

sys.path.insert(0, str(Path(__file__).resolve().parents[2] / "tools" / "adapters"))
from mmasim_units import UNITS, Unit

ROWS = 40  # of both sides of a call
IDS = [unit.name.replace(" ", "_") for unit in UNITS]


def pairs(unit: Unit) -> list[tuple[str, str]]:
    every = itertools.product(unit.formats, repeat=2)
    return [(a, b) for a, b in every if a == b or "16" not in a + b]


def unequal(unit: Unit, pair: tuple[str, str], length: int, seed: int, rows: int = ROWS) -> int:
    """How many outputs of a drawn product differ."""
    state = np.random.default_rng([seed, length, *unit.name.encode(), *"-".join(pair).encode()])
    # MMA-Sim forgets a NaN that a step before has given, where it aligns even and odd products
    # apart and the next products are large: it takes NaN's exponent for that of a small number.
    adder = ADDERS[unit.adder]
    first = length - adder.step if adder.halves else 0
    a, b = (drawn(state, one, (rows, length), special=seed % 4 == 3 and not first) for one in pair)
    if seed % 4 == 2 or (seed % 4 == 3 and first):
        with_few_specials(state, a[:, first:])
        with_few_specials(state, b[:, first:])
    c = before(state, ADDERS[unit.adder].output, (rows, rows))
    if seed % 2:
        c = np.zeros_like(c)
    wanted, found = unit.run(a, b, c, pair), mma(a, b.T, c, adder=unit.adder)
    same = (words(wanted) == words(found)) | (np.isnan(wanted) & np.isnan(found))
    return int((~same).sum())


@pytest.mark.parametrize("unit", UNITS, ids=IDS)
def test_units_equal_mmasim(unit: Unit, share: Share) -> None:
    """4,800 outputs of a unit and more; with --complete 100,000, and 1,000 sums of 4,096."""
    every, outputs = pairs(unit), 0
    wanted = 100_000 if share.complete else 4_800
    multiples = [n for n in (1, 2, 3, 5, 8, 16, 64) if n * unit.k <= 256]
    for seed in itertools.count():
        for i, pair in enumerate(every):
            length = unit.k * multiples[(seed + i) % len(multiples)]
            assert unequal(unit, pair, length, seed) == 0, (pair, length, seed)
            outputs += ROWS * ROWS
        if outputs >= wanted:
            break
    if share.complete:
        for seed, pair in enumerate((every * 4)[:4]):
            assert unequal(unit, pair, 4096, seed, 16) == 0, (pair, seed)


@pytest.mark.sampled(6)
@pytest.mark.parametrize("unit", UNITS, ids=IDS)
def test_adders_are_read_off_mmasim(unit: Unit) -> None:
    """Each unit as a black box, of all its formats with themselves."""
    for pair in pairs(unit):
        if pair[0] != pair[1]:
            continue
        adder = ADDERS[unit.adder]

        def run(a: Any, b: Any, c: Any, pair: tuple[str, str] = pair) -> Any:
            return unit.run(a, np.ascontiguousarray(b.T), c, pair)

        found = identify_adder(run, pair, 2 * unit.k, output=adder.output)
        assert found.confirmed, (pair, found)
        assert unit.adder in found.names, (pair, found)
        assert found.products <= 4000, found


def test_every_named_adder_has_a_unit() -> None:
    assert {unit.adder for unit in UNITS} == set(PLAIN)
