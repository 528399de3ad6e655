"""The pytest plugin, in runs of pytest of its own."""

from __future__ import annotations

import json
import os
import sys
from pathlib import Path

import pytest
from helpers import ROOT, copy_vectors, records
from helpers import run as run_command

import mxref.cli.verify_verb
import mxref.conformance

pytest_plugins = ["pytester"]

Pytester = pytest.Pytester
Result = pytest.RunResult

TEST = "def test_mx(mxref_case):\n    mxref_case.check()\n"
KERNEL = """
import mxref
FORMATS, FLOATS = ["e2m1", "e3m2"], ["f16", "f32"]

def decode(codes, format):
    return mxref.decode(codes, format)

def encode(values, format):
    return mxref.encode(values, format, rounding="ROUNDING" if format == "e3m2" else "ties_to_even")
"""
RIGHT = KERNEL.replace("ROUNDING", "ties_to_even")
WRONG = KERNEL.replace("ROUNDING", "ties_to_away")
IDS = ["encode-e3m2-f32", "encode-e3m2-f16", "encode-e2m1-f32", "encode-e2m1-f16"]
IDS += ["decode-e3m2-f32", "decode-e2m1-f32"]
NARROW = ("--mxref-op", "encode", "--mxref-float", "f16")


@pytest.fixture
def run(pytester: Pytester) -> Pytester:
    pytester.makepyfile(test_kernel=TEST, right=RIGHT, wrong=WRONG)
    return pytester


def one_error(result: Result, text: str) -> None:
    """The collection failed with one sentence and nothing else."""
    result.assert_outcomes(errors=1)
    lines = result.outlines
    start = next(i for i, line in enumerate(lines) if "ERROR collecting" in line)
    end = next(i for i, line in enumerate(lines) if "short test summary" in line)
    (sentence,) = lines[start + 1 : end]
    assert text in sentence


def test_one_test_for_each_file(run: Pytester) -> None:
    result = run.runpytest("--mxref-target", "right.py", "-v")
    result.assert_outcomes(passed=6)
    passed = [line.split("[")[1].split("]")[0] for line in result.outlines if "PASSED" in line]
    assert passed == IDS
    (line,) = [line for line in result.outlines if line.startswith("mxref: not covered: ")]
    assert line.startswith("mxref: not covered: encode e5m2, e4m3, e3m2 (bf16, f64), e2m3, e2m1 (b")
    assert "; shared_scale; quantize;" in line
    assert result.ret == 0


def test_a_failure_is_the_report_of_the_file(run: Pytester) -> None:
    result = run.runpytest("--mxref-target", "wrong.py", *NARROW)
    result.assert_outcomes(passed=1, failed=1)
    lines = result.outlines
    start = next(i for i, line in enumerate(lines) if "test_mx[encode-e3m2-f16]" in line)
    end = next(i for i, line in enumerate(lines) if line.startswith("mxref: not covered"))
    text = lines[start + 1 : end]
    cause = "encode e3m2: your output equals ocp+rounding=ties_to_away on 596 of 596 cases"
    assert text[0].endswith(f" cases failed: {cause}")
    count, _, total = text[0].split()[:3]
    assert 0 < int(count) < int(total)
    assert (
        f"encode e3m2: your output equals ocp+rounding=ties_to_away on {total} of {total} cases"
        in text
    )
    assert any(line.startswith("  encode.e3m2.f16.") and "want" in line for line in text)
    assert not any("check()" in line or "Traceback" in line for line in text)


def test_nothing_is_printed_or_imported_where_no_test_asks(
    pytester: Pytester, monkeypatch: pytest.MonkeyPatch
) -> None:
    code = """
        import sys

        def test_modules():
            assert "mxref.pytest_plugin" in sys.modules
            assert not {"numpy", "ml_dtypes", "mxref.conformance"} & set(sys.modules)
    """
    pytester.makepyfile(test_other=code)
    monkeypatch.setenv("PYTHONWARNINGS", "error")
    result = pytester.runpytest_subprocess("--mxref-target", "none.py", "--strict-markers")
    result.assert_outcomes(passed=1)
    assert [line for line in result.outlines if "mxref" in line and "plugins: " not in line] == []
    assert result.errlines == []


def test_a_test_that_asks_needs_a_target(run: Pytester) -> None:
    run.makepyfile(test_other="def test(): pass\n")
    result = run.runpytest()
    one_error(
        result,
        "mxref_case needs a target: name a Python file or a module by --mxref-target, or as "
        "mxref_target in pytest's configuration file",
    )
    assert result.ret == pytest.ExitCode.INTERRUPTED
    run.runpytest("test_other.py").assert_outcomes(passed=1)


@pytest.mark.parametrize(
    ("arguments", "text"),
    [
        (["--mxref-target", "none.py"], "target none.py must be a Python file (NAME.py) or a m"),
        (["--mxref-target", "broken.py"], "target broken.py has a syntax error in line 1"),
        (
            ["--mxref-target", "right.py", "--mxref-op", "encod"],
            "--mxref-op must be one of encode, decode, encode_scale,",
        ),
        (
            ["--mxref-target", "right.py", "--mxref-op", "pack"],
            "target right.py covers nothing: not covered: pack",
        ),
        (
            ["--mxref-target", "right.py", "--mxref-xfail", "none.json"],
            "none.json cannot be read: No such file",
        ),
    ],
)
def test_what_cannot_be_run_is_refused_in_one_sentence(
    run: Pytester, arguments: list[str], text: str
) -> None:
    (run.path / "broken.py").write_text("def encode(:\n")
    one_error(run.runpytest(*arguments), text)


# Known divergences.

COUNT = len(records("encode/e3m2.f16")[1])
KNOWN = ("reason", "link", "cases")


def listed(folder: Path, *ids: str) -> str:
    group = dict(zip(KNOWN, ("away from zero", "https://example.org/1", ids), strict=True))
    (folder / "known.json").write_text(json.dumps({"target": "wrong.py", "groups": [group]}))
    return "known.json"


@pytest.fixture(scope="module")
def failing(tmp_path_factory: pytest.TempPathFactory) -> list[str]:
    """Ids of the cases of `encode` from float16 that wrong.py fails."""
    folder = tmp_path_factory.mktemp("failing")
    (folder / "wrong.py").write_text(WRONG)
    vectors = copy_vectors(folder / "vectors", "encode/e3m2.f16.jsonl")
    arguments = ["verify", folder / "wrong.py", "--vectors", vectors, "--write-xfail"]
    assert mxref.cli.main([*map(str, arguments), str(folder / "today.json")]) == 0
    groups = json.loads((folder / "today.json").read_text())["groups"]
    return [id for group in groups for id in group["cases"]]


def test_known_divergences_are_expected_failures(run: Pytester, failing: list[str]) -> None:
    arguments = ("--mxref-target", "wrong.py", "--mxref-xfail", listed(run.path, *failing))
    result = run.runpytest(*arguments, *NARROW, "-rx")
    result.assert_outcomes(passed=1, xfailed=1)
    reason = f"{len(failing)} of {COUNT} cases: away from zero (https://example.org/1)"
    assert any(line.endswith(reason) for line in result.outlines)


def test_a_known_divergence_that_passes_fails(run: Pytester, failing: list[str]) -> None:
    arguments = ("--mxref-target", "right.py", "--mxref-xfail", listed(run.path, *failing[:1]))
    result = run.runpytest(*arguments, *NARROW)
    result.assert_outcomes(passed=1, failed=1)
    assert any(line.startswith(f"{failing[0]}: is listed") for line in result.outlines)


def test_a_divergence_that_is_not_listed_fails(run: Pytester, failing: list[str]) -> None:
    arguments = ("--mxref-target", "wrong.py", "--mxref-xfail", listed(run.path, *failing[1:]))
    result = run.runpytest(*arguments, *NARROW)
    result.assert_outcomes(passed=1, failed=1)
    assert any(line.startswith(f"1 of {COUNT} cases failed") for line in result.outlines)


def test_listed_cases_that_do_not_exist_are_refused(run: Pytester) -> None:
    listed(run.path, "encode.e3m2.f16.zzzz")
    arguments = ("--mxref-target", "right.py", "--mxref-xfail", "known.json")
    result = run.runpytest(*arguments, *NARROW)
    result.assert_outcomes(passed=1, failed=1)
    assert "--mxref-xfail: there is no case 'encode.e3m2.f16.zzzz'" in result.outlines
    listed(run.path, "encode.e3m2.f99.0000")
    one_error(run.runpytest(*arguments), "there is no case 'encode.e3m2.f99.0000'")
    listed(run.path, "encode.e4m3.f16.0000")
    text = "--mxref-xfail lists 'encode.e4m3.f16.0000', which target right.py does not cover"
    one_error(run.runpytest(*arguments), text)
    # What is not asked for cannot be missed.
    run.runpytest(*arguments, "--mxref-format", "e2m1").assert_outcomes(passed=3)


# Where the target is named.


def test_the_target_in_the_ini_file_is_beside_it(run: Pytester) -> None:
    run.makeini("[pytest]\nmxref_target = right.py\naddopts = --mxref-op decode\n")
    below = run.mkdir("below")
    (below / "test_below.py").write_text(TEST)
    run.runpytest().assert_outcomes(passed=4)
    os.chdir(below)
    run.runpytest().assert_outcomes(passed=2)
    # The command line goes before it.
    run.runpytest("--mxref-target", "wrong.py", "--mxref-op", "encode").assert_outcomes(
        passed=4, failed=2
    )


def test_options_of_the_ini_file_name_a_target_as_well(run: Pytester) -> None:
    run.makeini("[pytest]\naddopts = --mxref-target right.py --mxref-op decode\n")
    below = run.mkdir("below")
    (below / "test_below.py").write_text(TEST)
    os.chdir(below)
    run.runpytest().assert_outcomes(passed=2)


def test_a_module_is_a_target(run: Pytester) -> None:
    run.syspathinsert()
    run.runpytest("--mxref-target", "right", "--mxref-op", "decode").assert_outcomes(passed=2)


# In other company.


def test_in_the_workers_of_xdist(run: Pytester) -> None:
    result = run.runpytest_subprocess("--mxref-target", "wrong.py", "-n", "2", *NARROW)
    result.assert_outcomes(passed=1, failed=1)
    assert sum(line.startswith("mxref: not covered: ") for line in result.outlines) == 1


def test_with_other_parameters_and_fixtures(pytester: Pytester) -> None:
    code = """
        import pytest

        @pytest.fixture
        def checked(mxref_case):
            mxref_case.check()
            return mxref_case

        @pytest.mark.parametrize("number", [1, 2])
        def test_both(number, checked):
            assert str(checked) in ("decode-e3m2-f32", "decode-e2m1-f32")
    """
    pytester.makepyfile(test_both=code, right=RIGHT)
    result = pytester.runpytest("--mxref-target", "right.py", "--mxref-op", "decode")
    result.assert_outcomes(passed=4)


def test_damaged_vectors_fail(run: Pytester, monkeypatch: pytest.MonkeyPatch) -> None:
    package = run.path / "site" / "mxref"
    vectors = package / "_vectors"
    for name in ("manifest.json", "decode/e2m1.f32.jsonl"):
        (vectors / name).parent.mkdir(parents=True, exist_ok=True)
        (vectors / name).write_bytes((ROOT / "vectors" / name).read_bytes())
    monkeypatch.setattr(mxref, "__file__", str(package / "__init__.py"))
    arguments = ("--mxref-target", "right.py", "--mxref-op", "decode")
    result = run.runpytest(*arguments)
    result.assert_outcomes(passed=1, failed=1)
    assert any(
        line.endswith("e3m2.f32.jsonl cannot be read: No such file or directory")
        for line in result.outlines
    )


def test_the_example_runs(tmp_path: Path) -> None:
    kernel = (ROOT / "tools" / "examples" / "my_kernel.py").read_text("utf-8")
    test = (ROOT / "tools" / "examples" / "test_my_kernel.py").read_text("utf-8")
    (tmp_path / "test_my_kernel.py").write_text(test)
    (settings,) = [line for line in test.splitlines() if line.startswith("mxref_target = ")]
    (tmp_path / "pyproject.toml").write_text(f"[tool.pytest.ini_options]\n{settings}\n")
    for text, outcome in (
        (kernel, "2 passed"),
        (kernel.replace("magnitude >=", "magnitude >"), "1 failed, 1 passed"),
    ):
        (tmp_path / "my_kernel.py").write_text(text)
        done = run_command(sys.executable, "-m", "pytest", "-W", "error", cwd=tmp_path)
        assert f"= {outcome} in" in done.stdout
        assert done.returncode == ("failed" in outcome)
