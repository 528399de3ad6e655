"""``mxref verify`` against a profile: torchao 0.18, torch and Transformer Engine, from their facts.

The kernels compute with NumPy what these implementations do, and share nothing with the profiles.
"""

from __future__ import annotations

import dataclasses
import functools
import json
import re
from collections.abc import Callable
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import numpy as np
import pytest
from helpers import all_files, case_of, records, table, words
from kernel_reports import file_of, files_of, report_on
from right_calls import quantized
from verify_helpers import Kit

import mxref
from mxref.cli import main
from mxref.conformance import Extent, check, load_target, target_of, verify
from mxref.conformance.compare.compare import fast_right_answers, right_answers, run_file
from mxref.conformance.verdict.verify import against_standard
from mxref.golden import VectorFile
from mxref.policy.policy import Policy
from mxref.profiles import PROFILES, profile
from mxref.targets.profile_target import profile_target, speaks_of

Run = Callable[..., tuple[int, str, str]]
Target = Callable[..., str]

KERNELS = table("profile_kernels")
KERNEL = KERNELS["torchao"].replace("LOWEST", "1")
#: Byte 00 is taken for what it says, 2**-127.
LITERAL = KERNELS["torchao"].replace("LOWEST", "0")
MODEL = "(mxref's model of pytorch/ao 0.18.0, torch 2.13.0)"
QUANTIZE = "quantize/mxfp4_e2m1.f32"


@pytest.fixture
def run(kit: Kit) -> Run:
    return lambda *words: dataclasses.astuple(kit.run(*words))


@pytest.fixture
def target(kit: Kit) -> Target:
    return lambda text, **claims: kit.target(
        text + "".join(f"\n{name} = {claim!r}" for name, claim in claims.items())
    )


@pytest.mark.sampled(6)
def test_a_kernel_conforms_to_its_profile_and_to_no_other(target: Target, run: Run) -> None:
    spec, count = target(KERNEL), len(records(QUANTIZE)[1])
    status, out, err = run(spec, "--profile", "torchao_0_18_floor")
    assert (status, err) == (0, "")
    conforms = f"conforms to profile torchao_0_18_floor {MODEL}"
    assert out.splitlines()[-1] == f"PASS {spec}: {count} cases, 0 failed: {conforms}"
    # The policies that a user could name are others.
    assert run(spec)[0] == 1
    assert run(spec, "--policy", profile("torchao_0_18_floor").policy)[0] == 1
    status, out, _ = run(spec, "--profile", "torchao_0_18_ceil")
    assert status == 1
    equals = f"your output equals profile torchao_0_18_floor on {count} of {count} cases"
    assert f"quantize mxfp4_e2m1: {equals}" in out


@pytest.mark.sampled(6)
def test_a_claimed_profile_is_the_default(target: Target, run: Run) -> None:
    other = target(KERNEL, PROFILE="torchao_main_floor")
    assert run(other)[0] == run(other, "--policy", "ocp")[0] == 1
    assert run(other, "--profile", "torchao_0_18_floor")[0] == 0


@pytest.mark.sampled(12)
def test_a_failure_names_the_byte_that_the_implementation_gives(target: Target, run: Run) -> None:
    """Blocks under byte 00 are halved by torchao, and by nobody else."""
    spec = target(LITERAL)
    status, out, _ = run(spec, "--profile", "torchao_0_18_floor")
    assert status == 1
    # 2**-126 under 00: torchao divides by 2**-126, which gives 1; the scale is 2**-127.
    id = "quantize.mxfp4_e2m1.f32.edge_0001_at"
    assert words(case_of(id)[1]["in"])[:2] == [0x00800000, 0x80400000]
    report = json.loads(run(spec, "--profile", "torchao_0_18_floor", "--json")[1])
    failures = {failure["id"]: failure for failure in report["failures"]}
    assert failures[id]["want"].split()[:3] == ["00", "02", "09"]
    assert failures[id]["got"].split()[:3] == ["00", "04", "0a"]
    assert "element 0: in 00800000" in failures[id]["text"]
    assert "want 02 = 1 (0 01 0), got 04 = 2 (0 10 0), 2 codes away" in failures[id]["text"]
    # Just the blocks under byte 00 that hold more than zeros and what becomes zero under both.
    wrong = {
        case["id"]
        for case in records(QUANTIZE)[1]
        for scale, *codes in [case["outs"][0].split()]
        if scale == "00" and {*codes} - {"00", "08"}
    }
    assert len(wrong) > 8
    assert set(failures) == wrong
    assert report["verdict"] == (
        "differs from profile torchao_0_18_floor (mxref's model of pytorch/ao 0.18.0, "
        "torch 2.13.0); has bug over ocp+nan=signed: a block with an infinity and no NaN has "
        "scale fd = 2^126"
    )
    assert report["against_standard"] is None
    assert ": in the cases asked, elements wrong exactly where " in out
    assert "the scale code is 00" in out


def test_codes_of_nan_are_compared_by_their_bits_and_floats_are_not(
    target: Target, run: Run
) -> None:
    """torch keeps the sign of a NaN; under a policy NaN is one class."""
    signed = target(KERNELS["encode"].replace("NAN", "0x7F | np.signbit(values) * 128"))
    assert run(signed, "--profile", "torch")[0] == 0
    spec = target(KERNELS["encode"].replace("NAN", "0x7F"))
    assert run(spec, "--policy", "ocp+nan=signed")[0] == 0
    status, out, _ = run(spec, "--profile", "torch", "--json")
    report = json.loads(out)
    assert status == 1
    ids = {failure["id"] for failure in report["failures"]}
    assert {id.rpartition(".")[2] for id in ids} == {"ff800001", "ffc00000", "ffffffff"}
    assert {(one["want"], one["got"]) for one in report["failures"]} == {("ff", "7f")}
    assert "want ff = nan" in report["failures"][0]["text"]
    (encode,) = [row for row in report["rows"] if row["op"] == "encode"]
    where = "wrong exactly where x is negative and x is NaN (3 of 3)"
    assert encode["description"]["text"].startswith(f"in the cases asked, {where}")


def test_what_the_profile_says_nothing_of_is_compared_with_the_policy(
    target: Target, run: Run
) -> None:
    """The profile of torch knows E4M3; E5M2 is another one's, which overflows to infinity."""
    spec = target(KERNELS["two_formats"])
    status, out, _ = run(spec, "--profile", "torch")
    assert status == 0
    policy = profile("torch").policy
    assert f"profile torch says nothing of encode e5m2: compared with {policy}\n" in out
    rows = re.findall(r"^ok +encode +(e\dm\d) +(.*?)  ", out, re.M)
    assert rows == [("e4m3", "profile torch"), ("e5m2", "ocp+nan=signed+pre_rounding=float32")]
    # Of a target that claims both the policy that it claims.
    claimed = target(KERNELS["two_formats"], PROFILE="torch", POLICY="ocp+overflow=nonsaturating")
    status, out, _ = run(claimed)
    assert status == 1
    assert "encode e5m2: compared with ocp+overflow=nonsaturating\n" in out
    assert re.search(r"^FAIL +encode +e5m2 +ocp\+overflow=nonsaturating ", out, re.M)
    verdict = "conforms to profile torch (mxref's model of pytorch/pytorch 2.13.0); elsewhere "
    assert out.splitlines()[-1].endswith(verdict + "conforms under ocp")


@pytest.mark.sampled(6)
def test_float_types_that_the_profile_does_not_take_have_a_row_of_their_own(
    target: Target, run: Run
) -> None:
    narrow = KERNEL.replace(
        "(values, format):", "(values, format):\n    values = np.float32(values)"
    )
    spec = target(narrow.replace('["f32"]', '["f32", "f64"]'))
    status, out, _ = run(spec, "--profile", "torchao_0_18_floor")
    assert status == 1
    rows = re.findall(r"^(\w+) +quantize +mxfp4_e2m1 +(.*?)  ", out, re.M)
    assert rows == [("ok", "profile torchao_0_18_floor"), ("FAIL", "ocp+nan=signed")]
    assert "says nothing of quantize mxfp4_e2m1 (f64): compared with ocp+nan=signed\n" in out
    # Another type alone is none of the profile's business, which is an error.
    spec = target(narrow.replace('["f32"]', '["f64"]'))
    status, out, err = run(spec, "--profile", "torchao_0_18_floor")
    assert (status, out) == (2, "")
    assert f"--profile must be one that speaks of what {spec} has, got torchao_0_18_floor" in err
    assert err.endswith("; floats f32, bf16\n")


@pytest.mark.sampled(6)
@pytest.mark.parametrize(
    ("odd", "failed"),
    [
        ("raise ValueError('odd')", 0),  # as torchao does
        ("codes = np.append(codes, np.uint8(0))", 0),  # as the policy says, where torchao refuses
        ("return codes", 18),  # a code alone is its byte
        ("codes = codes[:-1]", 20),
    ],
)
def test_what_the_profile_refuses_a_target_may_refuse(
    target: Target, run: Run, odd: str, failed: int
) -> None:
    sizes = [len(case["in"].split()) for case in records("pack/e2m1.bytes")[1]]
    assert sum(size % 2 for size in sizes) == 20
    spec = target(KERNELS["pack"].replace("ODD", odd))
    report = json.loads(run(spec, "--profile", "torchao_0_18_even", "--json")[1])
    assert report["compared"] == len(sizes)
    assert len(report["failures"]) == failed


@pytest.mark.sampled(6)
def test_in_python(target: Target) -> None:
    """A policy that is given is compared with, and a profile in what it speaks of."""
    kernel = load_target(target(KERNEL, PROFILE="torchao_0_18_floor"))
    files = files_of(QUANTIZE)
    assert verify(kernel, files).verdict == "conforms to profile torchao_0_18_floor"
    given = "gives profile torchao_0_18_floor in quantize mxfp4_e2m1"
    assert verify(kernel, files, Policy()).verdict == f"{given}, which violates MX-6.3"
    named = verify(kernel, files, Policy(), profile=profile("torchao_0_18_even"))
    assert named.verdict == f"differs from profile torchao_0_18_even; {given}"
    # One that says nothing of it leaves it to the policy.
    other = verify(kernel, files, profile=profile("torch"))
    assert (other.profile, other.verdict) == (None, f"{given}, which violates MX-6.3")


@functools.cache
def first_cases() -> tuple[tuple[VectorFile, np.ndarray], ...]:
    return tuple((file, file.input_words()[:40]) for file in all_files())


@pytest.mark.parametrize("name", PROFILES)
@pytest.mark.sampled(12)
def test_a_profile_answers_what_it_speaks_of(name: str) -> None:
    """All of it: what it refuses would be compared with the policy, and nobody would see it."""
    found, asked = profile(name), 0
    for file, inputs in first_cases():
        if speaks_of(found, file.op, file.format, file.float):
            asked += 1
            refused = profile_target(found).ask(file, inputs).errors.values()
            odd = [text for text in refused if "codes must be an even number" in text]
            nan = [text for text in refused if "NaN" in text and name == "gfloat"]
            assert len(refused) == len(odd) + len(nan) < len(inputs)
    assert asked


def test_a_profile_of_blocks_whose_tensor_has_a_scale() -> None:
    """The scale of the tensor is the last argument of both functions, and reaches the profile."""
    name = "transformer_engine_nvfp4_4over6"
    policy = "ocp+scale_arithmetic=transformer_engine_4over6"

    def quantize(values: Any, format: str, tensor: Any) -> Any:
        return quantized(values, format, policy=policy, tensor_scale=float(tensor))

    claims = {"FORMATS": ["nvfp4"], "FLOATS": ["f32"]}
    target = target_of(SimpleNamespace(quantize=quantize, **claims), "target")
    files = files_of("quantize/nvfp4.f32")
    chosen = profile(name)
    report = verify(target, files, profile=chosen)
    assert (report.passed, report.compared) == (True, len(files[0].cases))
    assert report.verdict == f"conforms to profile {name}"
    assert {outcome.profile for row in report.rows for outcome in row.outcomes} == {name}
    assert not any(outcome.errors for row in report.rows for outcome in row.outcomes)
    policy = "ocp+scale_arithmetic=transformer_engine_4over6_mse"
    assert run_file(target, files[0], Policy(), chosen).failures


def test_rows_outside_the_profile_are_compared_anew_against_the_standard() -> None:
    """The profile has no INT8."""

    def encode(values: Any, format: str) -> Any:
        return mxref.encode(values, format, profile("torch").policy)

    claims = {"FORMATS": ("int8", "e4m3"), "PROFILE": "torch"}
    report = report_on("encode/e4m3.f32 encode/int8.f32", encode=encode, **claims)
    assert {row.profile for row in report.rows} == {"torch", None}
    again = against_standard(report)
    assert {(row.policy, row.profile) for row in again.rows} == {("ocp", None)}


# --- every profile --------------------------------------------------------------------------------


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


@pytest.mark.parametrize("format", ["mxfp4_e2m1", "mxint8"])
def test_blocks_with_nan_that_a_policy_refuses(format: str) -> None:
    """Without NaN blocks a NaN is an element that has no code; an infinity still makes such one."""
    kernel = SimpleNamespace(quantize=quantized, FORMATS=[format], FLOATS=["f32"])
    policy = REFUSING.replace(block_nan="ignore")
    asked = [file_of(f"quantize/{format}.f32")]
    report = check(target_of(kernel, "kernel"), asked, policy, extent=Extent(elements=0))
    (row,) = report.rows
    wrong = [f.index for f in row.outcomes[0].failures if f.case.model]
    inputs = asked[0].input_words()
    infinite = (inputs & 0x7FFFFFFF == 0x7F800000).any(axis=1)
    assert wrong == np.flatnonzero(is_nan(inputs).any(axis=1) & ~infinite).tolist()
    assert all(failure.refused for _, failure in row.failures)
