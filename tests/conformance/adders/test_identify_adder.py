"""Adders read off units that nobody has named: hidden ones, the named ones, and others."""

from __future__ import annotations

import os
from typing import Any
from zlib import crc32

import numpy as np
import pytest
from hidden_units import FORMATS, KINDS, C, Hidden, Step, hidden, ordered
from plain_rows import PLAIN, drawn, pairs
from shares import Share

from mxref import ADDERS, mma
from mxref.conformance import identify_adder
from mxref.conformance.adders.device import DeviceError


@pytest.mark.complete
@pytest.mark.parametrize("kind", KINDS)
def test_hidden_units_are_told(kind: str, share: Share) -> None:
    """60 units with --complete, 12 without: the tree, each field or a set that has it, and bits.

    The same ones in every run; with any text in MXREF_HIDDEN_UNITS others.
    """
    for number in range(5 if share.complete else 1):
        seed = crc32(f"{os.environ.get('MXREF_HIDDEN_UNITS', '')}{kind} {number}".encode())
        state = np.random.default_rng(seed)
        unit = hidden(state, kind)
        found = identify_adder(unit, unit.format, unit.k, output=unit.step.output)
        said = seed, unit, found
        assert found.confirmed, said
        assert found.products <= 4000, said
        assert found.tree == ordered(unit.tree), said
        assert found.model is not None, said
        for field, wanted in unit.step.fields().items():
            values = (getattr(found.model.adder, field), *found.unseen.get(field, ()))
            assert wanted in [getattr(one, "value", one) for one in values], (field, said)
        a, b = (drawn(state, unit.format, (16, unit.k)) for _ in range(2))
        if kind in ("later", "in_f16"):  # whose ends the units do not have
            continue
        a, b = (_without_ends(one) for one in (a, b))
        c = drawn(state, unit.step.output, (16, 16))
        c = np.where(np.abs(c.astype(np.float64)) < 2.0**60, c, 0).astype(c.dtype)
        assert np.array_equal(found(a, b.T, c), unit(a, b.T, c)), said


def _without_ends(numbers: np.ndarray[Any, Any]) -> np.ndarray[Any, Any]:
    size = np.abs(numbers.astype(np.float64))
    return np.where((size > 2.0**-40) & (size < 2.0**40), numbers, 0).astype(numbers.dtype)


@pytest.mark.complete
@pytest.mark.parametrize("name", PLAIN)
def test_named_adders_are_named(name: str, share: Share) -> None:
    """Of the last format, or of all; of fields that formats show, those of the adder."""
    adder = ADDERS[name]
    both = [(a, b) for a, b in pairs(name) if a == b or (a, b) == ("e5m2", "e4m3")]
    for a, b in both if share.complete else both[-1:]:
        found = identify_adder(
            lambda x, y, z: mma(x, y, z, adder=name),
            (a, b),
            2 * adder.step + 3,
            output=adder.output,
        )
        assert found.confirmed, (a, b, found)
        assert name in found.names, (a, b, found)
        assert found.adder is not None
        for field in ("step", "fraction_bits", "later_bits", "halves", "zero_exponent", "rounding",
                      "output_bits", "tree", "flush", "promotion"):  # fmt: skip
            values = (getattr(found.adder, field), *found.unseen.get(field, ()))
            assert getattr(adder, field) in values, (field, a, b, found)


def test_promotion_and_the_sentence_of_the_docs() -> None:
    found = identify_adder(
        Hidden("e4m3", 48, Step("aligned", 8, 13, -133, 13), _promoted(8, 16)), "e4m3", 48
    )
    assert found.adder is not None
    assert found.adder.promotion == 16
    assert found.sentence == (
        "steps of 8 products, aligned to the largest and cut at 2^-13 of it; 13 fraction bits "
        "kept, toward zero; added up in float32 every 16"
    )
    assert found.drawing == "(((C ((0-7) 8-15)) ((16-23) 24-31)) ((32-39) 40-47))"


def _promoted(step: int, length: int) -> Any:
    total: Any = C
    for first in range(0, 48, length):
        part: Any = tuple(range(first, first + step))
        for next_ in range(first + step, first + length, step):
            part = (part, *range(next_, next_ + step))
        total = (total, part)
    return total


def _floored(a: Any, b: Any, c: Any) -> Any:
    """Steps of 8 products and C, cut down at 2^-13 of the largest; no adder has that."""
    x, y, total = (one.astype(np.float64) for one in (a, b, c))
    for first in range(0, x.shape[1], 8):
        terms = [x[:, k, None] * y[None, k] for k in range(first, min(first + 8, x.shape[1]))]
        every = np.array([*terms, total])
        top = np.where(every == 0, -200, np.frexp(every)[1]).max(axis=0) - 14
        total = np.ldexp(np.floor(np.ldexp(every, -top)).sum(axis=0), top)
    return total.astype(np.float32)


def test_what_no_adder_does_is_unknown_with_what_is_known() -> None:
    found = identify_adder(_floored, "f16", 32)
    assert not found.confirmed
    assert found.adder is None
    assert found.drawing == "((((C 0-7) 8-15) 16-23) 24-31)"
    assert found.sentence == (
        "unknown: a tree of sums of 9 terms; products keep 13 bits below the largest one, cut "
        "down; C is cut down"
    )
    with pytest.raises(ValueError, match="must be known to predict"):
        found(np.zeros((1, 2)), np.zeros((2, 1)), np.zeros((1, 1)))


def test_a_wrong_product_of_a_thousand_is_not_confirmed() -> None:
    """Right but for one output of 1,024 random ones."""

    def unit(a: Any, b: Any, c: Any) -> Any:
        total = mma(a, b, c, adder="volta_f16")
        if np.count_nonzero(a) > a.size // 2 and np.unique(c).size > 64:
            total[17, 5] = np.nextafter(total[17, 5], np.float32(np.inf))
        return total

    found = identify_adder(unit, "f16", 16)
    assert not found.confirmed
    assert found.names == ()


def test_no_tree_is_unknown() -> None:
    found = identify_adder(lambda a, b, c: np.ones(c.shape, np.float32), "bf16", 8)
    assert found.sentence == "unknown: masks show no tree of additions"
    assert (found.confirmed, found.tree, found.drawing) == (False, None, "")


def test_arguments_are_refused() -> None:
    def unit(a: Any, b: Any, c: Any) -> Any:
        return c

    with pytest.raises(ValueError, match="formats must be"):
        identify_adder(unit, "f64")
    with pytest.raises(ValueError, match="output must be"):
        identify_adder(unit, "f16", output="bf16")
    with pytest.raises(ValueError, match="k must be from 2 to 256, got 1"):
        identify_adder(unit, "f16", 1)
    with pytest.raises(DeviceError, match="the result must be float32 of shape"):
        identify_adder(lambda a, b, c: c.astype(np.float64), "f16", 4)


@pytest.mark.parametrize("name", ["e4m3", "bf16", "tf32"])
def test_units_are_given_arrays_of_the_format(name: str) -> None:
    seen = set()

    def unit(a: Any, b: Any, c: Any) -> Any:
        seen.update({(one.dtype, one.flags.c_contiguous) for one in (a, b)})
        a[...] = 0  # its own copy
        return c

    identify_adder(unit, name, 8)
    wanted = np.dtype(FORMATS[name][1])
    assert seen == {(wanted, True)}
