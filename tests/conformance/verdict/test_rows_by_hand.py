"""What a report says of rows that are made by hand: findings, the verdict, and what is stale."""

from __future__ import annotations

import dataclasses
from types import SimpleNamespace
from typing import Any

import numpy as np
import pytest

import mxref
from mxref.cases.records import Case
from mxref.conformance import Report, target_of
from mxref.conformance.compare.compare import Failure, Outcome
from mxref.conformance.verdict.call_dependence import CallDependence, Scope
from mxref.conformance.verdict.cause.causes import Cause
from mxref.conformance.verdict.cause.product_causes import product_causes
from mxref.conformance.verdict.describe.description import Description, Part
from mxref.conformance.verdict.findings import findings
from mxref.conformance.verdict.judgement import judge_rows
from mxref.conformance.verdict.report_text import report_lines, verdict_text
from mxref.conformance.verdict.row import VerifyRow
from mxref.policy.policy import Policy
from mxref.targets.calls import without_cases

CAUSE = Cause("mutant", "A1", "truncation", "no rounding", "encode", (), "ocp", (), 9, 9)
CASE = Case("", (0,), ((0,),), (), required=False, rule="N14", model="")
WRONG = Failure(0, CASE, (7,), (3,))
ERROR = Failure(1, CASE, (7,), None, "ValueError: no NaN here")


def row(
    format: str, *failures: Failure, op: str = "encode", cause: Cause | None = None
) -> VerifyRow:
    words = np.zeros((2, 1), np.uint64)
    file = dataclasses.replace(without_cases(op, format, "f32"), cases=(CASE, CASE))
    outcome = Outcome(file, "ocp", words, words, failures)
    return VerifyRow(op, format, (outcome,), () if cause is None else (cause,))


def report_of(*rows: VerifyRow, **more: Any) -> Report:
    target = target_of(SimpleNamespace(encode=mxref.encode), "kernel")
    return Report(target, Policy(), rows, (), **more)


@pytest.mark.parametrize(
    "other",
    [
        {"floats": ("f16",)},
        {"name": "A2"},
        {"part": "quantize"},
        {"policy": "ocp+rounding=to_odd"},
        {"kind": "order"},
        {"same": 8},  # the cause of some of the answers is told of each format
    ],
    ids=lambda other: next(iter(other)),
)
def test_formats_share_a_finding_only_if_all_of_the_cause_is_the_same(
    other: dict[str, object],
) -> None:
    (one,) = findings([row("e2m1", cause=CAUSE), row("e4m3", cause=CAUSE)])
    assert (one.formats, one.every, one.cause.same, one.cause.total) == (
        ("e2m1", "e4m3"),
        True,
        18,
        18,
    )
    changed = dataclasses.replace(CAUSE, **other)  # type: ignore[arg-type]
    two = findings([row("e2m1", cause=CAUSE), row("e4m3", cause=changed)])
    assert [(one.formats, one.every, one.cause) for one in two] == [
        (("e2m1",), False, CAUSE),
        (("e4m3",), False, changed),
    ]
    assert [" from f16 only," in str(one) for one in two] == [False, "floats" in other]


@pytest.mark.parametrize(
    ("failures", "verdict"),
    [
        ((WRONG,), "unexplained"),
        ((ERROR,), "fails with errors"),
        ((WRONG, ERROR), "fails with errors"),
    ],
)
def test_one_error_is_in_the_verdict(failures: tuple[Failure, ...], verdict: str) -> None:
    assert judge_rows([row("e2m1", *failures), row("e3m2")], Policy()) == verdict
    assert judge_rows([row("e2m1", *failures), row("e3m2", WRONG)], Policy()) == verdict


@pytest.mark.parametrize(
    ("scope", "all_floats", "stale"),
    [
        (Scope(), True, ["id"]),
        (Scope(searched_in=(("encode", "e4m3"),)), True, ["id", "kind"]),
        (Scope(searched_in=(("encode", "e4m3"),)), False, ["id"]),  # a float type is left out
        (Scope(searched_in=(("encode", "e2m1"),)), True, ["id"]),
        (Scope(calls=1), True, ["id", "way"]),
        (Scope(calls=1), False, ["id", "way"]),
    ],
)
def test_what_is_listed_is_stale_if_it_was_asked_for(
    scope: Scope, all_floats: bool, stale: list[str]
) -> None:
    keys = {"encode.e4m3.f32.7f": "id", "encode e4m3 N14": "kind", "encode e4m3 size": "way"}
    report = report_of(known=keys, scope=scope, all_floats=all_floats)
    assert [keys[key] for key in report.stale] == stale


@pytest.mark.parametrize(
    ("rows", "elsewhere"),
    [
        ((row("e2m1", WRONG),), ""),  # these answers depend on the call
        ((row("e2m1", WRONG), row("e3m2")), ""),
        ((row("e2m1", WRONG), row("e3m2", ERROR)), "; elsewhere fails with errors"),
    ],
)
def test_the_verdict_on_the_rest_is_told_if_it_fails(
    rows: tuple[VerifyRow, ...], elsewhere: str
) -> None:
    use = CallDependence("encode", "e2m1", "size", "wrong only in calls with one row")
    verdict = report_of(*rows, uses=(use,)).verdict
    assert verdict == f"depends on the size of the call{elsewhere}"


NEAREST = dataclasses.replace(CAUSE, kind="policy", policy="ocp+rounding=to_odd", same=8)


@pytest.mark.parametrize(
    ("cases", "told"),
    [
        ((), []),  # words about every failure are exact, and it is no help
        (
            ("encode.e2m1.f32.00000000",),
            ["  encode e2m1: your output is nearest to ocp+rounding=to_odd on 8 of 9 cases"],
        ),
    ],
)
def test_what_is_nearest_is_told_where_the_words_are_not_exact(
    cases: tuple[str, ...], told: list[str]
) -> None:
    part = Part("answer", (), 1, 1, "", cases)
    description = Description((part,), {"answer": 1}, {"answer": 2})
    one = dataclasses.replace(row("e2m1", WRONG, cause=NEAREST), description=description)
    lines = report_lines(report_of(one, findings=findings([one])), 3)
    assert [line for line in lines if "nearest" in line.lower()] == told


SCALE = dataclasses.replace(WRONG, case=dataclasses.replace(CASE, rule="MX-6.3"))
INTEGERS = row("int8", WRONG, op="quantize_affine")
RECOMMENDED = "the standard recommends other scales but requires none (MX 6.3)"


@pytest.mark.parametrize(
    ("rows", "standing"),
    [
        ([INTEGERS], "no standard says what is right here"),
        ([row("e2m1", WRONG)], "the standard leaves these bits open"),
        ([row("e3m2", SCALE)], RECOMMENDED),
        ([row("e3m2", SCALE, WRONG)], f"{RECOMMENDED}, and leaves the other bits open"),
        ([row("e3m2", SCALE), INTEGERS], f"{RECOMMENDED} and has no integer operations"),
    ],
)
def test_what_the_standard_says_of_what_fails(rows: list[VerifyRow], standing: str) -> None:
    said = verdict_text(report_of(*rows))
    assert said.startswith(f"unexplained: {standing}, and no policy or profile known to mxref")


def test_the_scope_tells_what_was_asked_beside_the_vectors_of_level_1() -> None:
    assert Scope().text == ""
    assert Scope(searched=5).text == "the vectors (level 1); a search of 5 questions (seed 0)"


def test_products_that_raise_errors_have_no_cause() -> None:
    words = np.zeros((2, 1), np.uint64)
    file = dataclasses.replace(
        without_cases("matmul", "mxfp4_e2m1-mxfp4_e2m1", "f32"), cases=(CASE, CASE)
    )
    outcome = Outcome(file, "ocp", words, words, (ERROR,), {1: ERROR.error})
    assert product_causes([outcome]) == ()
