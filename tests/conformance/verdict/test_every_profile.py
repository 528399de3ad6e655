"""Every profile and policy that a target is compared with ends in a verdict, whatever it refuses.

gfloat's profile and `nan_to_finite=error` have no answer to a NaN in a format without one.
"""

from __future__ import annotations

import dataclasses
import re
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import numpy as np
import pytest
from kernel_reports import file_of

import mxref
from mxref.cli import main
from mxref.conformance import Extent, check, target_of, verify
from mxref.conformance.compare.compare import fast_right_answers, right_answers
from mxref.policy.policy import Policy
from mxref.profiles import PROFILES

Array = np.ndarray[Any, Any]
EXAMPLE = Path(__file__).parents[3] / "tools" / "examples" / "my_kernel.py"
REFUSING = Policy.parse("ocp+nan_to_finite=error")


#: Every profile; that of a library which refuses NaN is asked in every run.
NAMES = [
    pytest.param(name, marks=() if name == "gfloat" else pytest.mark.sampled(14))
    for name in PROFILES
]


@pytest.mark.sampled(24)
@pytest.mark.parametrize("name", NAMES)
def test_a_profile_ends_in_a_verdict(name: str, capsys: pytest.CaptureFixture[str]) -> None:
    status = main(["verify", str(EXAMPLE), "--profile", name])
    out, err = capsys.readouterr()
    if status == 2:
        says = f"--profile must be one that speaks of what {EXAMPLE} has, got {name}"
        assert says in err
        assert "encode e2m1" not in err
    else:
        assert re.match(("PASS ", "FAIL ")[status], out.splitlines()[-1])
        assert err == ""


def is_nan(inputs: Array) -> Array:
    return (inputs.astype(np.uint32) & 0x7FFFFFFF) > 0x7F800000


def encode(values: Array, format: str) -> Array:
    return mxref.encode(values, format)


def refusing(values: Array, format: str) -> Array:
    if np.isnan(values).any():
        raise ArithmeticError("no NaN")
    return mxref.encode(values, format)


def test_what_a_policy_refuses_has_an_error_and_no_words() -> None:
    asked = file_of("encode/e2m1.f32")
    inputs = asked.input_words()
    nan = np.flatnonzero(is_nan(inputs[:, 0])).tolist()
    assert len(nan) > 3
    others = np.delete(np.arange(len(inputs)), nan)
    for answers in (
        right_answers(asked, inputs, REFUSING),
        fast_right_answers(asked, inputs, REFUSING),
    ):
        assert sorted(answers.errors) == nan
        assert (answers.words[nan] == 2**64 - 1).all()
        assert np.array_equal(answers.words[others], asked.outputs(0)[others])


@pytest.mark.parametrize(("policy", "profile"), [(REFUSING, None), (None, PROFILES["gfloat"])])
def test_an_error_is_right_and_an_answer_is_wrong(policy: Policy | None, profile: Any) -> None:
    asked = file_of("encode/e2m1.f32")
    cases = [case for case in asked.cases if is_nan(np.array(case.inputs)).all()]
    asked = dataclasses.replace(asked, cases=(*asked.cases[:99], *cases))
    wanted = int(is_nan(asked.input_words()[:, 0]).sum())
    assert wanted >= len(cases) > 3
    for function, wrong in ((refusing, 0), (encode, wanted)):
        kernel = SimpleNamespace(encode=function, FORMATS=["e2m1"], FLOATS=["f32"])
        report = verify(target_of(kernel, "kernel"), [asked], policy, profile=profile)
        assert len(report.failures) == wrong
        for _, failure in report.failures:
            assert failure.refused
            assert is_nan(np.array(failure.case.inputs)).all()


def test_answers_where_an_error_is_right_are_shown(capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["verify", str(EXAMPLE), "--policy", str(REFUSING), "--sizes", "0"]) == 1
    out = capsys.readouterr().out
    assert "in 7f800001 = nan, want an error, got 07 = 6 (0 11 1); N14" in out
    assert "your output equals ocp on " in out


def quantize(values: Array, format: str) -> tuple[Array, Array]:
    blocks = mxref.quantize(values, format)
    return blocks.scale_codes[:, 0], blocks.codes


@pytest.mark.parametrize("format", ["mxfp4_e2m1", "mxint8"])
def test_blocks_with_nan_that_a_policy_refuses(format: str) -> None:
    """Without NaN blocks a NaN is an element that has no code; an infinity still makes such one."""
    kernel = SimpleNamespace(quantize=quantize, FORMATS=[format], FLOATS=["f32"])
    policy = REFUSING.replace(block_nan="ignore")
    asked = [file_of(f"quantize/{format}.f32")]
    report = check(target_of(kernel, "kernel"), asked, policy, extent=Extent(elements=0))
    (row,) = report.rows
    wrong = [f.index for f in row.outcomes[0].failures if f.case.model]
    inputs = asked[0].input_words()
    infinite = (inputs & 0x7FFFFFFF == 0x7F800000).any(axis=1)
    assert wrong == np.flatnonzero(is_nan(inputs).any(axis=1) & ~infinite).tolist()
    assert all(failure.refused for _, failure in row.failures)
