"""What a target of a profile is against the standard: the profile that it claims is tried first."""

from __future__ import annotations

import pytest
from kernel_reports import files_of

from mxref.conformance import verify
from mxref.conformance.verdict import causes
from mxref.conformance.verdict.cause.cause import Cause
from mxref.conformance.verdict.report import Report
from mxref.conformance.verdict.verify import against_standard
from mxref.profiles import profile
from mxref.targets.profile_target import profile_target


def conforming(name: str, stem: str) -> Report:
    """The report of a target with the answers of a profile."""
    report = verify(profile_target(profile(name)), files_of(stem), profile=profile(name))
    assert report.verdict == f"conforms to profile {name}"
    return report


def cause_of(report: Report) -> Cause:
    (row,) = against_standard(report).rows
    assert row.failures
    return row.causes[0]


def test_no_bug_is_looked_for_where_the_profile_gives_all_answers(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    def looked_for(*arguments: object) -> None:
        raise AssertionError

    monkeypatch.setattr(causes, "find_causes", looked_for)
    report = conforming("torchao_0_18_floor", "quantize/mxfp4_e2m1.f32")
    cause = cause_of(report)
    assert (cause.kind, cause.name, cause.complete) == ("profile", "torchao_0_18_floor", True)
    assert against_standard(report).verdict == (
        "gives profile torchao_0_18_floor in quantize mxfp4_e2m1, which violates MX-6.3"
    )


def test_a_policy_is_named_by_the_choices_that_matter() -> None:
    """The profile's policy has further choices, which change no answer here."""
    report = conforming("onnx_nosat", "encode/e4m3.f32")
    assert str(report.profile and report.profile.policy).count("+") > 2
    cause = cause_of(report)
    assert (cause.kind, cause.name) == ("policy", "ocp+overflow=nonsaturating")


@pytest.mark.parametrize(
    ("name", "stem", "bug"),
    [
        ("onnx", "pack/e2m3.bytes", "G2d"),
        ("mlx_0_31", "decode/e4m3.f32", "E6"),
        ("torchmx", "dequantize/mxint8.bf16", "F2cq"),
    ],
)
def test_a_profile_that_is_a_known_bug_of_another_operation_is_one(
    name: str, stem: str, bug: str
) -> None:
    cause = cause_of(conforming(name, stem))
    assert (cause.kind, cause.name) == ("mutant", bug)


def test_answers_beside_the_profile_are_explained_as_those_of_any_target() -> None:
    """Those of another profile, though the report says that they are of the first."""
    report = conforming("torchao_0_18_floor", "quantize/mxfp4_e2m1.f32")
    other = conforming("torchao_0_18_ceil", "quantize/mxfp4_e2m1.f32")
    mixed = Report(report.target, report.policy, other.rows, (), profile=report.profile)
    (row,) = against_standard(mixed).rows
    assert [cause.name for cause in row.causes] != ["torchao_0_18_floor"]
