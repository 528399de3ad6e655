"""Matrix units that add in a way that no known bug has are told by the adder that they are."""

from __future__ import annotations

import dataclasses
from types import SimpleNamespace
from typing import Any

import numpy as np
import pytest
from helpers import vector_file
from json_tables import cases

import mxref
from mxref.conformance import target_of
from mxref.conformance.checking.check import check
from mxref.conformance.checking.extent import Extent
from mxref.conformance.verdict.one_sentence import verdict_text
from mxref.conformance.verdict.report import Report
from mxref.operations.matrix_units import unit_numbers

FORMAT = "hopper_fp8-e4m3-e4m3"
HOPPER = mxref.ADDERS["hopper_fp8"]


def report_on(run: Any) -> Report:
    """What is said of a unit with this function of numbers."""

    def mma(a: Any, b: Any, c: Any, adder: str, format_a: str, format_b: str) -> Any:
        return run(unit_numbers(a, format_a), unit_numbers(b, format_b), c)

    target = target_of(SimpleNamespace(FORMATS=[FORMAT], mma=mma), "kernel")
    return check(target, [vector_file(f"mma/{FORMAT}.f32")], extent=Extent(elements=2000))


@pytest.mark.parametrize(("change", "told"), cases(__file__, "an adder that no bug has is told"))
def test_an_adder_that_no_bug_has_is_told(change: dict[str, Any], told: str) -> None:
    adder = dataclasses.replace(HOPPER, **change)
    report = report_on(lambda a, b, c: mxref.mma(a, b, c, adder=adder))
    assert not report.passed
    assert verdict_text(report).startswith("has bug: ")
    assert told in verdict_text(report)
    ((cause,),) = (row.causes for row in report.rows)
    assert cause.complete


def test_one_that_has_a_name_is_told_by_it() -> None:
    report = report_on(lambda a, b, c: mxref.mma(a, b, c, adder="blackwell_f8f6f4"))
    assert "adds as blackwell_f8f6f4 does: steps of 32 products" in verdict_text(report)


def test_parts_of_one_length_are_a_note() -> None:
    """Which halves of K are added apart says nothing about sums of other lengths."""

    def halves(a: Any, b: Any, c: Any) -> Any:
        half = a.shape[1] // 2
        parts = [(a[:, :half], b[:half])] * (half > 0) + [(a[:, half:], b[half:])]
        with np.errstate(all="ignore"):
            return c + sum(mxref.mma(x, y, adder=HOPPER) for x, y in parts)

    report = report_on(halves)
    assert not any(row.causes for row in report.rows)
    (note,) = (note for note in report.scope.notes if "at K = 128" in note)
    assert "in 2 parts of 64, steps of 32 products" in note
    assert note.endswith("C last")


def test_known_bugs_and_units_that_raise_are_told_as_ever() -> None:
    more = dataclasses.replace(HOPPER, fraction_bits=14)
    assert "has bug H26b" in verdict_text(report_on(lambda a, b, c: mxref.mma(a, b, c, adder=more)))

    def raises(a: Any, b: Any, c: Any) -> Any:
        if a.shape[1] > 64:
            raise ValueError("K must be at most 64")
        return mxref.mma(a, b, c, adder="ada_fp8")

    report = report_on(raises)
    assert not report.passed
    assert not any(row.causes for row in report.rows)
