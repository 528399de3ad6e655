"""``mxref verify`` against a profile: torchao 0.18, torch and Transformer Engine, from their facts.

The kernels compute with NumPy what these implementations do, and share nothing with the profiles.
"""

from __future__ import annotations

import functools
import io
import json
import re
import sys
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from helpers import VECTORS, all_files, case_of, records, words
from verify_helpers import VECTORS_ALONE, looking_up

import mxref
from mxref.cli import main
from mxref.conformance import load_target, target_of, verify
from mxref.conformance.compare.compare import run_file
from mxref.golden import VectorFile, read_vectors
from mxref.policy.policy import Policy
from mxref.profiles import PROFILES, profile
from mxref.targets.profile_target import profile_target, speaks_of

pytest_plugins = ["pytester"]

Run = Callable[..., tuple[int, str, str]]
Target = Callable[..., str]

#: torchao 0.18's FLOOR for FP4: the exponent field less 2 (253 for infinity); byte 00 divides by
#: 2**-126; a NaN as an element comes out as its pattern says, infinity / infinity as -1.5.
TORCHAO = """
import numpy as np
FORMATS, FLOATS = ["mxfp4_e2m1"], ["f32"]
TIES = np.array([0.25, 0.75, 1.25, 1.75, 2.5, 3.5, 5.0])

def quantize(values, format):
    bits = values.view(np.uint32).astype(np.int64)
    top = (bits & 0x7FFFFFFF).max(axis=1)
    byte = np.where(top > 0x7F800000, 255, np.maximum((top >> 23) - 2, 0))
    scale = np.where(byte == 255, np.inf, 2.0 ** (np.maximum(byte, LOWEST) - 127.0))[:, None]
    q = values.astype(np.float64) / scale
    size = np.abs(q)[..., None]
    codes = (size > TIES).sum(-1) + ((size == TIES) & (np.arange(7) % 2 == 1)).sum(-1)
    codes |= np.signbit(q) * 8
    bits = np.where(np.isnan(values), bits | 0x400000, 0xFFC00000)
    fields = (bits & 0x7FFFFFFF) - (126 << 23) + (1 << 21) - 1 + (bits >> 22 & 1) >> 22
    codes = np.where(np.isnan(q), fields & 0xFF | bits >> 31 << 3, codes)
    return byte.astype(np.uint8), codes.astype(np.uint8)
"""
KERNEL = TORCHAO.replace("LOWEST", "1")
#: Byte 00 is taken for what it says, 2**-127.
LITERAL = TORCHAO.replace("LOWEST", "0")
MODEL = "(mxref's model of pytorch/ao 0.18.0, torch 2.13.0)"
QUANTIZE = "quantize/mxfp4_e2m1.f32"


@pytest.fixture
def run(capsys: pytest.CaptureFixture[str]) -> Run:
    def call(*arguments: object) -> tuple[int, str, str]:
        status = main([*map(str, arguments), *(VECTORS_ALONE if arguments[0] == "verify" else ())])
        return status, *capsys.readouterr()

    return call


@pytest.fixture
def target(tmp_path: Path) -> Target:
    def written(text: str, **claims: str) -> str:
        path = tmp_path / "kernel.py"
        path.write_text(text + "".join(f"\n{name} = {is_!r}" for name, is_ in claims.items()))
        return str(path)

    return written


@pytest.mark.sampled(6)
def test_conforms_to_its_profile(target: Target, run: Run) -> None:
    spec = target(KERNEL)
    status, out, err = run("verify", spec, "--profile", "torchao_0_18_floor")
    assert (status, err) == (0, "")
    *_, limit, standard, last = out.splitlines()
    assert limit.endswith("`mxref fuzz --profile torchao_0_18_floor` looks for those")
    assert standard == "against the standard: violates MX-6.3"
    count = len(records(QUANTIZE)[1])
    conforms = f"conforms to profile torchao_0_18_floor {MODEL}"
    assert last == f"PASS {spec}: {count} cases, 0 failed: {conforms}"
    assert re.search(rf"^ok +quantize +mxfp4_e2m1 +profile torchao_0_18_floor +{count} ", out, re.M)
    assert "says nothing of" not in out
    # The policies that a user could name are others.
    assert run("verify", spec)[0] == 1
    assert run("verify", spec, "--policy", profile("torchao_0_18_floor").policy)[0] == 1


@pytest.mark.sampled(6)
def test_the_report_as_json(target: Target, run: Run) -> None:
    spec = target(KERNEL)
    report = json.loads(run("verify", spec, "--profile", "torchao_0_18_floor", "--json")[1])
    assert report["profile"] == "torchao_0_18_floor"
    assert report["verdict"] == "conforms to profile torchao_0_18_floor"
    assert report["against_standard"] == "violates MX-6.3"
    assert (report["passed"], report["outside_profile"], report["failures"]) == (True, [], [])
    assert [row["profile"] for row in report["rows"]] == ["torchao_0_18_floor"]
    plain = json.loads(run("verify", spec, "--json")[1])
    assert (plain["profile"], plain["against_standard"]) == (None, None)
    assert [row["profile"] for row in plain["rows"]] == [None]


@pytest.mark.sampled(6)
def test_a_claimed_profile_is_the_default(target: Target, run: Run) -> None:
    spec = target(KERNEL, PROFILE="torchao_0_18_floor")
    assert run("verify", spec)[0] == 0
    status, out, _ = run("verify", spec, "--policy", "ocp")
    assert (status, out.splitlines()[-1].endswith(": violates MX-6.3")) == (1, True)
    other = target(KERNEL, PROFILE="torchao_main_floor")
    assert run("verify", other)[0] == 1
    assert run("verify", other, "--profile", "torchao_0_18_floor")[0] == 0


@pytest.mark.sampled(12)
def test_a_failure_names_the_byte_that_the_implementation_gives(target: Target, run: Run) -> None:
    """Blocks under byte 00 are halved by torchao, and by nobody else."""
    spec = target(LITERAL)
    status, out, _ = run("verify", spec, "--profile", "torchao_0_18_floor")
    assert status == 1
    # 2**-126 under 00: torchao divides by 2**-126, which gives 1; the scale is 2**-127.
    id = "quantize.mxfp4_e2m1.f32.edge_0001_at"
    assert words(case_of(id)[1]["in"])[:2] == [0x00800000, 0x80400000]
    report = json.loads(run("verify", spec, "--profile", "torchao_0_18_floor", "--json")[1])
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
    assert report["verdict"] == "differs from profile torchao_0_18_floor"
    assert report["against_standard"] is None
    assert out.splitlines()[-1].endswith(f": differs from profile torchao_0_18_floor {MODEL}")
    assert "against the standard" not in out
    (line,) = [
        one
        for one in out.splitlines()
        if "quantize mxfp4_e2m1: in the cases asked, elements" in one
    ]
    assert "wrong exactly where" in line
    assert "the scale code is 00" in line


def test_the_profile_that_it_is_is_named(target: Target, run: Run) -> None:
    spec = target(KERNEL)
    status, out, _ = run("verify", spec, "--profile", "torchao_0_18_ceil")
    assert status == 1
    count = len(records(QUANTIZE)[1])
    equals = f"your output equals profile torchao_0_18_floor on {count} of {count} cases"
    assert f"quantize mxfp4_e2m1: {equals}" in out
    assert "  quantize mxfp4_e2m1, beside profile torchao_0_18_ceil: " in out


ENCODE = """
import ml_dtypes, numpy as np
FORMATS, FLOATS = ["e4m3"], ["f32"]

def encode(values, format):
    codes = np.clip(values, -448, 448).astype(ml_dtypes.float8_e4m3fn).view(np.uint8)
    return np.where(np.isnan(values), NAN, codes)

def decode(codes, format):
    values = codes.view(ml_dtypes.float8_e4m3fn).astype(np.float32)
    return np.where(np.isnan(values), np.uint32(0xFFABCDEF).view(np.float32), values)
"""


def test_codes_of_nan_are_compared_by_their_bits_and_floats_are_not(
    target: Target, run: Run
) -> None:
    """torch keeps the sign of a NaN; under a policy NaN is one class."""
    signed = target(ENCODE.replace("NAN", "0x7F | np.signbit(values) * 128"))
    assert run("verify", signed, "--profile", "torch")[0] == 0
    spec = target(ENCODE.replace("NAN", "0x7F"))
    assert run("verify", spec, "--policy", "ocp+nan=signed")[0] == 0
    status, out, _ = run("verify", spec, "--profile", "torch", "--json")
    report = json.loads(out)
    assert status == 1
    ids = {failure["id"] for failure in report["failures"]}
    assert {id.rpartition(".")[2] for id in ids} == {"ff800001", "ffc00000", "ffffffff"}
    assert {(one["want"], one["got"]) for one in report["failures"]} == {("ff", "7f")}
    assert "want ff = nan" in report["failures"][0]["text"]
    (encode,) = [row for row in report["rows"] if row["op"] == "encode"]
    where = "wrong exactly where x is negative and x is NaN (3 of 3)"
    assert encode["description"]["text"].startswith(f"in the cases asked, {where}")


@pytest.mark.sampled(6)
def test_codes_under_a_nan_scale_are_compared_and_the_one_that_differs_is_named(
    target: Target, run: Run
) -> None:
    """torchao puts +-0 beside a NaN, where a policy compares no codes."""
    changed = (
        "\n    codes = np.where((byte == 255)[:, None] & (codes == 8), 0, codes)\n    return byte"
    )
    spec = target(KERNEL.replace("\n    return byte", changed))
    report = json.loads(run("verify", spec, "--profile", "torchao_0_18_floor", "--json")[1])
    (failed,) = {re.split(r"[:,]", one["text"])[1].split()[0] for one in report["failures"]}
    assert failed == "element"
    assert {one["want"][:2] for one in report["failures"]} == {"ff"}
    assert all("want 08 = -0" in one["text"] for one in report["failures"])
    (row,) = report["rows"]
    assert row["description"]["text"].startswith("in the cases asked, elements wrong ")
    assert len(report["failures"]) > 4


TWO_FORMATS = """
import ml_dtypes, numpy as np
FORMATS = ["e4m3", "e5m2"]
FLOATS = ["f32"]

def encode(values, format):
    nan, largest, dtype = {
        "e4m3": (0x7F, 448, ml_dtypes.float8_e4m3fn), "e5m2": (0x7E, 57344, ml_dtypes.float8_e5m2)
    }[format]
    codes = np.clip(values, -largest, largest).astype(dtype).view(np.uint8)
    return np.where(np.isnan(values), nan | np.signbit(values) * 128, codes)
"""


def test_what_the_profile_says_nothing_of_is_compared_with_the_policy(
    target: Target, run: Run
) -> None:
    """The profile of torch knows E4M3; E5M2 is another one's, which overflows to infinity."""
    spec = target(TWO_FORMATS)
    status, out, _ = run("verify", spec, "--profile", "torch")
    assert status == 0
    policy = profile("torch").policy
    assert f"profile torch says nothing of encode e5m2: compared with {policy}\n" in out
    rows = re.findall(r"^ok +encode +(e\dm\d) +(.*?)  ", out, re.M)
    assert rows == [("e4m3", "profile torch"), ("e5m2", "ocp+nan=signed+pre_rounding=float32")]
    # Of a target that claims both the policy that it claims.
    claimed = target(TWO_FORMATS, PROFILE="torch", POLICY="ocp+overflow=nonsaturating")
    status, out, _ = run("verify", claimed)
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
    status, out, _ = run("verify", spec, "--profile", "torchao_0_18_floor")
    assert status == 1
    rows = re.findall(r"^(\w+) +quantize +mxfp4_e2m1 +(.*?)  ", out, re.M)
    assert rows == [("ok", "profile torchao_0_18_floor"), ("FAIL", "ocp+nan=signed")]
    assert "says nothing of quantize mxfp4_e2m1 (f64): compared with ocp+nan=signed\n" in out
    # Another type alone is none of the profile's business, which is an error.
    spec = target(narrow.replace('["f32"]', '["f64"]'))
    status, out, err = run("verify", spec, "--profile", "torchao_0_18_floor")
    assert (status, out) == (2, "")
    assert f"--profile must be one that speaks of what {spec} has, got torchao_0_18_floor" in err
    assert err.endswith("; floats f32, bf16\n")


PACK = """
import numpy as np
FORMATS = ["e2m1"]

def pack(codes, format):
    if codes.size % 2:
        ODD
    return codes[::2] | codes[1::2] << 4
"""


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
    spec = target(PACK.replace("ODD", odd))
    report = json.loads(run("verify", spec, "--profile", "torchao_0_18_even", "--json")[1])
    assert report["compared"] == len(sizes)
    assert len(report["failures"]) == failed


@pytest.mark.sampled(0)
def test_answers_that_are_there_already(
    target: Target, run: Run, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """`--results`, `--cmd` and `check` know profiles, too."""
    file = read_vectors(VECTORS, lambda stem: stem == QUANTIZE)[0]
    lines: dict[str, str] = {}
    for text in (KERNEL, LITERAL):
        answers = load_target(target(text)).ask(file, file.input_words()).words
        rows = zip(file.cases, answers.tolist(), strict=True)
        lines[text] = "".join(
            f"{case.id} {' '.join(f'{word:02x}' for word in row)}\n" for case, row in rows
        )
    folder = tmp_path / "answers"
    folder.mkdir()
    by = ("--profile", "torchao_0_18_floor")
    script = tmp_path / "answers.py"
    for text, status in ((KERNEL, 0), (LITERAL, 1)):
        (folder / "quantize.mxfp4_e2m1.f32.txt").write_text(lines[text])
        only = ("--op", "quantize", "--format", "mxfp4_e2m1", "--float", "f32")
        assert run("verify", "--results", folder, *by, *only)[0] == status
        monkeypatch.setattr(sys, "stdin", io.TextIOWrapper(io.BytesIO(lines[text].encode())))
        assert run("check", "quantize", "mxfp4_e2m1", "--float", "f32", *by)[0] == status
        script.write_text(looking_up(folder / "quantize.mxfp4_e2m1.f32.txt"))
        assert run("verify", "--cmd", f"{sys.executable} {script}", *by, *only)[0] == status


def test_profiles_and_policies_exclude_each_other(target: Target, run: Run) -> None:
    spec = target(KERNEL)
    status, out, err = run("verify", spec, "--profile", "torch", "--policy", "ocp")
    assert (status, out) == (2, "")
    assert err.endswith("--policy: not allowed with argument --profile\n")
    status, out, err = run("verify", spec, "--profile", "torchao_0_18_flor")
    assert (status, out) == (2, "")
    assert err.endswith("got 'torchao_0_18_flor' (did you mean 'torchao_0_18_floor'?)\n")


@pytest.mark.sampled(6)
def test_known_divergences_from_a_profile(target: Target, run: Run, tmp_path: Path) -> None:
    spec, path = target(LITERAL, PROFILE="torchao_0_18_floor"), tmp_path / "known.json"
    assert run("verify", spec, "--write-xfail", path)[0] == 0
    text = path.read_text().replace('"link": ""', '"link": "https://example.org/1"')
    path.write_text(text.replace("to be explained", "blocks under byte 00"))
    status, out, _ = run("verify", spec, "--xfail", path)
    assert (status, out.splitlines()[-1][:4]) == (0, "PASS")
    assert run("verify", target(KERNEL, PROFILE="torchao_0_18_floor"), "--xfail", path)[0] == 1


@pytest.mark.sampled(0)
def test_the_pytest_plugin_compares_with_the_claimed_profile(pytester: pytest.Pytester) -> None:
    claim = 'PROFILE = "torchao_0_18_floor"\n'
    test = "def test_mx(mxref_case):\n    mxref_case.check()\n"
    pytester.makepyfile(test_kernel=test, right=KERNEL + claim, wrong=LITERAL + claim)
    # The cases, calls of many sizes, and the search.
    pytester.runpytest("--mxref-target", "right.py").assert_outcomes(passed=3)
    result = pytester.runpytest("--mxref-target", "wrong.py")
    result.assert_outcomes(failed=1, passed=1, skipped=1)  # no search of what is wrong
    assert "differs from profile torchao_0_18_floor" in result.stdout.str()


@pytest.mark.sampled(6)
def test_in_python(target: Target) -> None:
    """A policy that is given is compared with, and a profile in what it speaks of."""
    kernel = load_target(target(KERNEL, PROFILE="torchao_0_18_floor"))
    files = read_vectors(VECTORS, lambda stem: stem == QUANTIZE)
    assert verify(kernel, files).verdict == "conforms to profile torchao_0_18_floor"
    assert verify(kernel, files, Policy()).verdict == "violates MX-6.3"
    named = verify(kernel, files, Policy(), profile=profile("torchao_0_18_even"))
    assert named.verdict == "differs from profile torchao_0_18_even"
    # One that says nothing of it leaves it to the policy.
    other = verify(kernel, files, profile=profile("torch"))
    assert (other.profile, other.verdict) == (None, "violates MX-6.3")


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

    class Target:
        FORMATS = ("nvfp4",)
        FLOATS = ("f32",)

        @staticmethod
        def quantize(values: Any, format: str, tensor: Any) -> Any:
            blocks = mxref.quantize(values, format, policy, tensor_scale=float(tensor))
            return blocks.scale_codes[:, 0], blocks.codes

    files = read_vectors(VECTORS, lambda stem: stem == "quantize/nvfp4.f32")
    chosen = profile(name)
    report = verify(target_of(Target, "target"), files, profile=chosen)
    assert (report.passed, report.compared) == (True, len(files[0].cases))
    assert report.verdict == f"conforms to profile {name}"
    assert {outcome.profile for row in report.rows for outcome in row.outcomes} == {name}
    assert not any(outcome.errors for row in report.rows for outcome in row.outcomes)
    policy = "ocp+scale_arithmetic=transformer_engine_4over6_mse"
    assert run_file(target_of(Target, "target"), files[0], Policy(), chosen).failures
