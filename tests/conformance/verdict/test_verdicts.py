"""The verdict where the standard leaves something open, and what is said of rows by hand."""

from __future__ import annotations

import dataclasses
from collections.abc import Callable
from functools import partial
from types import SimpleNamespace
from typing import Any

import numpy as np
import pytest
from helpers import VECTORS
from identify_helpers import Follower
from kernel_reports import files_of, report_on
from tables import rows

import mxref
from mxref.cases.records import Case
from mxref.conformance import Report, target_of, verify
from mxref.conformance.compare.clauses import CONTRADICTED, contradicting, is_legal, lacking
from mxref.conformance.compare.compare import Failure, Outcome, fast_right_answers
from mxref.conformance.verdict.call_dependence import DEPENDENCES, CallDependence, Scope
from mxref.conformance.verdict.cause.cause import Cause
from mxref.conformance.verdict.cause.product_causes import product_causes
from mxref.conformance.verdict.describe.description import Description, Part
from mxref.conformance.verdict.findings import findings
from mxref.conformance.verdict.judgement import _under, judge_rows
from mxref.conformance.verdict.one_sentence import verdict_text
from mxref.conformance.verdict.report_text import report_lines
from mxref.conformance.verdict.row import VerifyRow
from mxref.formats.catalog import OTHER_CODE_FORMATS
from mxref.policy.choices import Standing
from mxref.policy.policy import Policy
from mxref.profiles import PROFILES
from mxref.targets.calls import Answers, without_cases

Change = Callable[[Any, Any], Any]


def changed(stem: str, change: Change) -> Report:
    """Of a target that is right, but for a change of its answers to inputs."""
    op = stem.partition("/")[0]

    def answer(inputs: Any, format: str) -> Any:
        return change(inputs, getattr(mxref, op)(inputs, format))

    return report_on(stem, **{op: answer})


def no_negative_zero(values: Any, codes: Any) -> Any:
    return np.where(values == 0, 0, codes)


def low_int8(values: Any, codes: Any) -> Any:
    return np.where(values < -5, 0x80, codes)


def one_sided_nan(values: Any, codes: Any) -> Any:
    return np.where(values < -464, 0xFF, codes)


def zeros_become_sevens(values: Any, blocks: Any) -> Any:
    codes = np.where((values == 0).all(axis=1, keepdims=True), 7, blocks.codes)
    return blocks.scale_codes, codes


def nan_blocks_of_200(values: Any, blocks: Any) -> Any:
    scales = blocks.scale_codes
    return np.where(scales == 0xFF, 200, scales), blocks.codes


def signed_last_lane(values: Any, blocks: Any) -> Any:
    """The last lane's magnitude is not taken: many scales are too small, and no clause says so."""
    with np.errstate(all="ignore"):
        amax = np.maximum(np.abs(values[:, :-1]).max(axis=1), values[:, -1])
        scales = mxref.shared_scale(amax, "e2m1")
        wide = np.ldexp(values.astype(np.float64), 127 - scales.astype(int)[:, np.newaxis])
    return scales, mxref.encode(wide, "e2m1")


def pychop(values: Any, blocks: Any) -> Any:
    blocks = mxref.profile("pychop").quantize(values, "mxfp4_e2m1")
    return blocks.scale_codes, blocks.codes


OF_CODES = low_int8, no_negative_zero, one_sided_nan
OF_BLOCKS = zeros_become_sevens, nan_blocks_of_200, signed_last_lane, pychop
CHANGES = {one.__name__: one for one in (*OF_CODES, *OF_BLOCKS)}


@pytest.mark.sampled(6)
@pytest.mark.parametrize(("stem", "change", "wanted"), rows("conformance/verdict", "open_or_not"))
def test_what_is_open_and_what_is_not(stem: str, change: str, wanted: str) -> None:
    found = changed(stem, CHANGES[change])
    assert found.verdict.startswith(wanted)
    lines = report_lines(found, 1)
    assert any(line.startswith("PROFILE: pychop (") for line in lines) == (change == "pychop")


def test_what_is_wrong_from_one_float_type_alone_is_most_likely_a_bug() -> None:
    def halved(values: Any) -> Any:
        codes = mxref.encode_scale(values)
        is_between = (codes < 255) & (np.frexp(values.astype(np.float64))[0] > 0.5)
        return codes - (is_between & (values.dtype == np.float16) & (values > 3))

    text = verdict_text(
        report_on("encode_scale/e8m0.f16 encode_scale/e8m0.bf16", encode_scale=halved)
    )
    assert text.startswith("unexplained: the standard leaves these bits open, and no policy or ")
    assert text.endswith(": most likely a bug, since all answers from bf16 are right")
    text = verdict_text(report_on("encode_scale/e8m0.f16", encode_scale=halved))
    assert ": a rule of its own, or a bug; in the cases asked, wrong exactly where " in text


def test_what_one_format_does_not_show_another_one_may() -> None:
    encode = partial(mxref.encode, overflow="nonsaturating", nan_to_finite="zero")
    found = report_on("encode/e4m3.f32 encode/e2m1.f32", encode=encode)
    assert found.verdict == (
        "lacks overflow=saturate (required); gives nonsaturating everywhere; "
        "else conforms under ocp+nan_to_finite=zero"
    )


def test_the_sign_of_zero_is_required_of_fp8_alone() -> None:
    for name, legal in (("e2m1", True), ("e3m2", True), ("e4m3", False)):
        policy, asked = "ocp+zero_sign=dropped+underflow_sign=dropped", [("encode", name)]
        assert is_legal(policy, asked) is legal
        assert not lacking(policy, asked)


# --- choices that contradict the standard ---------------------------------------------------------

AGAINST = [
    (name, member.value)
    for name in Policy().choices()
    for member in Policy.members(name)
    if Standing.CONTRADICTS in (member.standing, member.elsewhere)
]
#: A file whose answers show each of them.
SHOWN_IN = dict(rows("conformance/verdict", "contradicting"))


class FastFollower(Follower):
    """The same by the fast path."""

    def ask(self, file: Any, inputs: Any) -> Answers:
        return fast_right_answers(file, inputs, self.policy)


@pytest.mark.parametrize(("name", "value"), AGAINST)
def test_what_contradicts_the_standard_never_conforms(name: str, value: str) -> None:
    """Neither as what answers equal nor as what a target claims; the clause is named."""

    files = files_of(SHOWN_IN[name])
    target, start = FastFollower(Policy().replace(**{name: value})), Policy()
    if name == "scale_byte":
        start = Policy.parse("ocp+scale_place=before")
        target.policy = target.policy.replace(scale_place="before")
    elif name == "clamp":  # which saturation hides
        start = Policy.parse("ocp+overflow=nonsaturating+rounding=toward_zero")
        target.policy = start.replace(clamp=value)
    against = {name: value}
    assert contradicting(str(target.policy), [(files[0].op, files[0].format)]) == against
    for claimed in (start, target.policy):
        found = verify(target, files, claimed)
        assert claimed == target.policy or found.failures
        for part in found.verdict.split("conforms under ")[1:]:
            assert f"{name}={value}" not in part
        assert "conforms" not in found.verdict or "else conforms under" in found.verdict
    assert f"{name}={value} contradicts {CONTRADICTED[name]}" in found.verdict


def test_a_profile_that_contradicts_the_standard_does_not_conform() -> None:
    asked = [("quantize", "mxfp4_e2m1")]
    for one in PROFILES.values():
        against = contradicting(str(one.policy), asked)
        text = _under(f"profile {one.name}", asked, Policy())
        assert text.startswith("conforms under ") == (not against)
        assert all(f"{name}={value} contradicts" in text for name, value in against.items())


def test_no_standard_requires_anything_of_formats_that_mx_has_not() -> None:
    for format in OTHER_CODE_FORMATS:
        policy, asked = "ocp+overflow=nonsaturating+clamp=before_rounding", [("encode", format)]
        assert not lacking(policy, asked)
        assert is_legal(policy, asked)
        assert lacking(policy, [*asked, ("encode", "e4m3")])

    kernel = {"encode": partial(mxref.encode, overflow="nonsaturating"), "FORMATS": ("e4m3fnuz",)}
    found = report_on("encode/e4m3fnuz.f32", "ocp", **kernel)
    assert found.verdict.startswith("conforms under ocp+overflow=nonsaturating")
    assert not report_on("encode/e4m3fnuz.f32", "ocp+overflow=nonsaturating", **kernel).besides


@pytest.mark.parametrize("text", DEPENDENCES.values(), ids=DEPENDENCES.keys())
def test_the_page_of_verdicts_has_each_way_of_calling(text: str) -> None:
    page = (VECTORS.parent / "docs" / "verdicts.md").read_text(encoding="utf-8")
    assert f"\n| *{text}* | " in page


# --- rows by hand ---------------------------------------------------------------------------------


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
    assert [" with f16 only," in str(one) for one in two] == [False, "floats" in other]


@pytest.mark.parametrize(
    ("floats", "said"), [((), "A1"), (("f16", "bf16"), "A1 in e2m1 with f16 and bf16 only")]
)
def test_a_bug_of_some_float_types_is_so_in_the_verdict(floats: tuple[str, ...], said: str) -> None:
    cause = dataclasses.replace(CAUSE, floats=floats)
    assert (
        verdict_text(report_of(row("e2m1", WRONG, cause=cause)))
        == f"may have bug {said}: no rounding"
    )


@pytest.mark.parametrize(
    ("failures", "verdict"),
    [
        ((WRONG,), "unexplained: "),
        ((ERROR,), "fails with errors: ValueError: no NaN here"),
        ((WRONG, ERROR), "fails with errors: ValueError: no NaN here"),
    ],
)
def test_one_error_is_in_the_verdict(failures: tuple[Failure, ...], verdict: str) -> None:
    for other in (row("e3m2"), row("e3m2", WRONG)):
        assert judge_rows([row("e2m1", *failures), other], Policy()).startswith(verdict)


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
        (
            (row("e2m1", WRONG), row("e3m2", ERROR)),
            "; elsewhere fails with errors: ValueError: no NaN here",
        ),
    ],
)
def test_the_verdict_on_the_rest_is_told_if_it_fails(
    rows: tuple[VerifyRow, ...], elsewhere: str
) -> None:
    use = CallDependence("encode", "e2m1", "size", "wrong only in calls with one row")
    verdict = report_of(*rows, uses=(use,)).verdict
    assert (
        verdict == f"depends on the size of the call: {use.op} {use.format}: {use.text}{elsewhere}"
    )


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
WRONG_ANSWERS = {"WRONG": WRONG, "SCALE": SCALE}


@pytest.mark.parametrize(("wrong", "standing"), rows("conformance/verdict", "standings"))
def test_what_the_standard_says_of_what_fails(wrong: str, standing: str) -> None:
    failing = [
        row(format, *(WRONG_ANSWERS[name] for name in names), op=op)
        for op, format, *names in map(str.split, wrong.split(", "))
    ]
    said = verdict_text(report_of(*failing))
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
