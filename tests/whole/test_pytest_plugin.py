"""The pytest plugin, in runs of pytest of its own."""

from __future__ import annotations

import json
import os
import sys
from pathlib import Path
from types import SimpleNamespace

import pytest
from helpers import ROOT, copy_vectors, records
from helpers import run as run_command

import mxref.cli.verify_verb
import mxref.conformance
from mxref.pytest_plugin import _OUTPUT, _SUITE, _Suite, pytest_sessionfinish
from mxref.targets import exit_guards

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


#: Options that leave the vectors alone.
VECTORS_ALONE = "--mxref-sizes 0 --mxref-no-search"


@pytest.fixture
def run(pytester: Pytester, monkeypatch: pytest.MonkeyPatch) -> Pytester:
    """Runs with vectors alone, unless a test says otherwise."""
    monkeypatch.setenv("PYTEST_ADDOPTS", VECTORS_ALONE)
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
    assert result.ret == exit_guards._outcome() == 0
    result = run.runpytest("--mxref-target", "right.py", "--collect-only")
    (line,) = [line for line in result.outlines if line.startswith("mxref: not covered: ")]
    counts = "operations, and formats or float types of 2 others (--verbose lists them)"
    assert line.endswith(counts)
    assert len(line) < 120


def test_a_failure_is_the_report_of_the_file(run: Pytester) -> None:
    result = run.runpytest("--mxref-target", "wrong.py", *NARROW)
    result.assert_outcomes(passed=1, failed=1)
    assert exit_guards._outcome() == 1  # what a target that ends the process now cannot hide
    lines = result.outlines
    start = next(i for i, line in enumerate(lines) if "test_mx[encode-e3m2-f16]" in line)
    end = next(i for i, line in enumerate(lines) if line.startswith("mxref: not covered"))
    text = lines[start + 1 : end]
    cause = "encode e3m2: your output equals ocp+rounding=ties_to_away on 596 of 596 cases"
    assert text[0].endswith(f" cases failed: {cause}")
    count, _, total = text[0].split()[:3]
    assert 0 < int(count) < int(total)
    assert (
        f"  encode e3m2: your output equals ocp+rounding=ties_to_away on {total} of {total} cases"
        in text
    )
    assert any(line.startswith("    encode.e3m2.f16.") and "want" in line for line in text)
    assert not any("check()" in line or "Traceback" in line for line in text)


@pytest.mark.sampled(3)
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


@pytest.mark.sampled(6)
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


@pytest.mark.sampled(6)
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
    assert any(line.startswith("1 listed as known but pass: ") for line in result.outlines)
    assert not any("0 of" in line for line in result.outlines)


def test_failures_and_stale_ones_are_both_said(run: Pytester, failing: list[str]) -> None:
    stale = ("encode.e3m2.f16.0000", "encode.e3m2.f16.0001")
    known = listed(run.path, *failing[2:], *stale)
    result = run.runpytest("--mxref-target", "wrong.py", "--mxref-xfail", known, *NARROW)
    result.assert_outcomes(passed=1, failed=1)
    first = f"2 of {COUNT} cases failed, 2 listed as known but pass: encode e3m2: your output"
    assert any(line.startswith(first) for line in result.outlines)


def test_a_divergence_that_is_not_listed_fails(run: Pytester, failing: list[str]) -> None:
    arguments = ("--mxref-target", "wrong.py", "--mxref-xfail", listed(run.path, *failing[1:]))
    result = run.runpytest(*arguments, *NARROW)
    result.assert_outcomes(passed=1, failed=1)
    assert any(line.startswith(f"1 of {COUNT} cases failed") for line in result.outlines)


@pytest.mark.sampled(6)
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


# Parts: calls and a search.

#: Right in the vectors; wrong in calls with 8 numbers and fewer, and for what the vectors lack.
SMALL = """
def encode(values, format):
    codes = mxref.encode(values, format)
    return codes ^ (len(codes) < 9)
"""
#: Wrong for numbers that no vector has.
RARE = """
def encode(values, format):
    codes = mxref.encode(values, format)
    return codes ^ (values.view(np.uint32) & 0x3FF == 0x2B7)
"""
PARTS = ("--mxref-op", "encode", "--mxref-float", "f32", "--mxref-format", "e2m1")


@pytest.fixture
def parts(run: Pytester, monkeypatch: pytest.MonkeyPatch) -> Pytester:
    """Runs with all parts, but for calls with more than 300 elements."""
    monkeypatch.setenv("PYTEST_ADDOPTS", "--mxref-sizes 300")
    run.makepyfile(small=RIGHT + SMALL, searched="import numpy as np\n" + RIGHT + RARE)
    return run


@pytest.mark.sampled(0)
def test_each_part_is_a_test(parts: Pytester) -> None:
    result = parts.runpytest("--mxref-target", "right.py", "-v", "--mxref-float", "f32")
    result.assert_outcomes(passed=10)
    passed = [line.split("[")[1].split("]")[0] for line in result.outlines if "PASSED" in line]
    pairs = ["encode-e3m2", "encode-e2m1", "decode-e3m2", "decode-e2m1"]
    assert passed == [
        *(f"{pair}-f32" for pair in pairs),
        *(f"{pair}-calls" for pair in pairs),
        *(f"{pair}-search" for pair in pairs[:2]),  # every code is in the vectors
    ]


@pytest.mark.sampled(6)
def test_what_is_wrong_with_calls_comes_first(parts: Pytester) -> None:
    result = parts.runpytest("--mxref-target", "small.py", *PARTS, "--mxref-no-search")
    result.assert_outcomes(passed=1, failed=1)
    start = next(i for i, line in enumerate(result.outlines) if "[encode-e2m1-calls]" in line)
    sentence = "encode e2m1: wrong only in calls with 8 numbers and fewer"
    assert result.outlines[start + 1].startswith(sentence)
    run_again = parts.runpytest("--mxref-target", "small.py", *PARTS, "--mxref-sizes", "0")
    run_again.assert_outcomes(passed=2)


@pytest.mark.sampled(6)
def test_what_the_search_finds(parts: Pytester) -> None:
    arguments = ("--mxref-target", "searched.py", *PARTS, "--mxref-sizes", "0")
    result = parts.runpytest(*arguments)
    result.assert_outcomes(passed=1, failed=1)
    start = next(i for i, line in enumerate(result.outlines) if "[encode-e2m1-search]" in line)
    first = "wrong answers in a search of 32,768 questions (seed 0): "
    assert result.outlines[start + 1].startswith(first)
    assert any(".search_0: " in line for line in result.outlines)
    result = parts.runpytest(*arguments, "--mxref-seed", "5")
    assert any("(seed 5)" in line for line in result.outlines)


def test_a_search_that_cannot_be_made_is_skipped(parts: Pytester) -> None:
    (parts.path / "wrong.py").write_text(
        RIGHT.replace("(values, format,", "(values[::-1], format,")
    )
    result = parts.runpytest("--mxref-target", "wrong.py", *PARTS, "--mxref-sizes", "0", "-rs")
    result.assert_outcomes(failed=1, skipped=1)
    assert any("no policy that is known explains" in line for line in result.outlines)


@pytest.mark.sampled(6)
def test_known_kinds(parts: Pytester) -> None:
    """What `verify --write-xfail` lists makes every part pass, as an expected failure."""
    away = WRONG.replace('format == "e3m2"', 'format == "e2m1"')
    small = "\ndef decode(codes, format):\n"
    small += "    return mxref.decode(codes, format) * (-1 if len(codes) < 9 else 1)\n"
    (parts.path / "both.py").write_text(away + small)
    arguments = ("--mxref-target", "both.py", "--mxref-float", "f32", "--mxref-format", "e2m1")
    command = ["verify", str(parts.path / "both.py"), "--float", "f32", "--format", "e2m1"]
    command += ["--sizes", "300", "--write-xfail"]
    assert mxref.cli.main([*command, str(parts.path / "known.json")]) == 0
    record = json.loads((parts.path / "known.json").read_text())
    for group in record["groups"]:
        group |= {"reason": "by design", "link": "T-1"}
    (parts.path / "known.json").write_text(json.dumps(record))
    result = parts.runpytest(*arguments, "--mxref-xfail", "known.json", "-rx")
    # The calls of encode and the vectors of decode are right; the other three are known.
    result.assert_outcomes(passed=2, xfailed=3)
    for line in ("[encode-e2m1-f32] - ", "[encode-e2m1-search] - ", "[decode-e2m1-calls] - "):
        assert any(line in shown and "by design (T-1)" in shown for shown in result.outlines)
    # What does not fail any more is said, in the part where it is looked for.
    right = ("--mxref-target", "right.py", *arguments[2:])
    result = parts.runpytest(*right, "--mxref-xfail", "known.json", "--mxref-op", "decode")
    result.assert_outcomes(passed=1, failed=1)
    assert "1 listed as known but pass: decode e2m1 size" in result.outlines
    # A kind is not stale where a float type that may show it is left out.
    only = ("--mxref-op", "encode", "--mxref-format", "e2m1", "--mxref-sizes", "0")
    one_less, neither = {"passed": 1, "failed": 1}, {"passed": 0, "failed": 2}
    for floats, outcomes in (((), {**neither, "passed": 1}), (PARTS[2:4], one_less)):
        result = parts.runpytest(*right[:2], "--mxref-xfail", "known.json", *only, *floats)
        result.assert_outcomes(**outcomes)
    (parts.path / "known.json").write_text(
        json.dumps({"groups": [{**record["groups"][0], "cases": [], "kinds": ["encode e9m9 N1"]}]})
    )
    known = ("--mxref-xfail", "known.json")
    one_error(parts.runpytest(*right, *known), "there is no case 'encode e9m9 N1'")


def test_a_known_kind_of_calls_that_passes_fails(parts: Pytester) -> None:
    """In the test of calls, although the format has one file alone; the vectors pass."""
    group = {"reason": "by design", "link": "T-1", "cases": [], "kinds": ["decode e2m1 size"]}
    (parts.path / "known.json").write_text(json.dumps({"groups": [group]}))
    one = ("--mxref-op", "decode", "--mxref-format", "e2m1", "--mxref-sizes", "9")
    result = parts.runpytest("--mxref-target", "right.py", *one, "--mxref-xfail", "known.json")
    result.assert_outcomes(passed=1, failed=1)
    assert "1 listed as known but pass: decode e2m1 size" in result.outlines


def test_sizes_below_zero_are_refused(parts: Pytester) -> None:
    arguments = ("--mxref-target", "right.py", "--mxref-sizes", "-1")
    one_error(parts.runpytest(*arguments), "--mxref-sizes must be 0 or more, got -1")


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


@pytest.mark.sampled(0)
def test_in_the_workers_of_xdist(run: Pytester) -> None:
    result = run.runpytest_subprocess("--mxref-target", "wrong.py", "-n", "2", *NARROW)
    result.assert_outcomes(passed=1, failed=1)
    assert sum(line.startswith("mxref: not covered: ") for line in result.outlines) == 1


def test_a_worker_sends_what_is_not_covered() -> None:
    for stash, sent in (({}, {}), ({_SUITE: _Suite((), ("pack",))}, {_OUTPUT: ["pack"]})):
        config = SimpleNamespace(workeroutput={}, stash=stash)
        pytest_sessionfinish(SimpleNamespace(config=config, exitstatus=3))
        assert config.workeroutput == sent


def test_a_format_beside_those_of_mx(run: Pytester) -> None:
    run.makepyfile(other=RIGHT.replace('["e2m1", "e3m2"]', '["e1m2"]'))
    result = run.runpytest("--mxref-target", "other.py")
    result.assert_outcomes(passed=3)


def test_with_other_parameters_and_fixtures(run: Pytester) -> None:
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
    (run.path / "test_kernel.py").unlink()
    run.makepyfile(test_both=code)
    result = run.runpytest("--mxref-target", "right.py", "--mxref-op", "decode")
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


@pytest.mark.sampled(12)
def test_the_example_runs(tmp_path: Path) -> None:
    kernel = (ROOT / "tools" / "examples" / "my_kernel.py").read_text("utf-8")
    test = (ROOT / "tools" / "examples" / "test_my_kernel.py").read_text("utf-8")
    (tmp_path / "test_my_kernel.py").write_text(test)
    (settings,) = [line for line in test.splitlines() if line.startswith("mxref_target = ")]
    (tmp_path / "pyproject.toml").write_text(f"[tool.pytest.ini_options]\n{settings}\n")
    for text, outcome in (
        (kernel, "5 passed"),
        (kernel.replace("magnitude >=", "magnitude >"), "1 failed, 4 passed"),
    ):
        (tmp_path / "my_kernel.py").write_text(text)
        done = run_command(sys.executable, "-m", "pytest", "-W", "error", cwd=tmp_path)
        assert f"= {outcome} in" in done.stdout
        assert done.returncode == ("failed" in outcome)
