"""What a report says of rows that are made by hand: findings, the verdict, and what is stale."""

from __future__ import annotations

import dataclasses
from types import SimpleNamespace

import numpy as np
import pytest

import mxref
from mxref.cases.records import Case
from mxref.conformance import Report, target_of
from mxref.conformance.compare.compare import Failure, Outcome
from mxref.conformance.verdict.cause.causes import Cause
from mxref.conformance.verdict.findings import findings
from mxref.conformance.verdict.judgement import judge_rows
from mxref.conformance.verdict.row import VerifyRow
from mxref.conformance.verdict.uses import Scope
from mxref.policy.policy import Policy
from mxref.targets.calls import without_cases

CAUSE = Cause("mutant", "A1", "truncation", "no rounding", "encode", (), "ocp", (), 9, 9)
CASE = Case("", (0,), ((0,),), (), required=False, rule="N14", model="")
WRONG = Failure(0, CASE, (7,), (3,))
ERROR = Failure(1, CASE, (7,), None, "ValueError: no NaN here")


def row(format: str, *failures: Failure, cause: Cause | None = None) -> VerifyRow:
    words = np.zeros((2, 1), np.uint64)
    outcome = Outcome(without_cases("encode", format, "f32"), "ocp", words, words, failures)
    return VerifyRow("encode", format, (outcome,), () if cause is None else (cause,))


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
    target = target_of(SimpleNamespace(encode=mxref.encode), "kernel")
    report = Report(target, Policy(), (), (), known=keys, scope=scope, all_floats=all_floats)
    assert [keys[key] for key in report.stale] == stale
