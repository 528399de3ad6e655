"""The pytest plugin, in runs of pytest of its own."""

from __future__ import annotations

import json
import os
import re
import sys
from pathlib import Path
from types import SimpleNamespace

import pytest
from helpers import ROOT, copy_vectors, records, table
from helpers import run as run_command
from json_tables import cases

import mxref.cli.verify_verb
import mxref.conformance
from mxref.pytest_plugin import _OUTPUT, _SUITE, _Suite, pytest_sessionfinish
from mxref.targets import exit_guards

pytest_plugins = ["pytester"]

Pytester = pytest.Pytester
Result = pytest.RunResult

TEST = "def test_mx(mxref_case):\n    mxref_case.check()\n"
KERNEL = table("kernels")["pytest_plugin_kernel"]
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


def tried(run: Pytester, target: str, *words: str, **outcomes: int) -> list[str]:
    """The lines of a run with a target, which has these outcomes."""
    result = run.runpytest("--mxref-target", target, *words)
    result.assert_outcomes(**outcomes)
    return result.outlines


def after(lines: list[str], text: str) -> list[str]:
    """The lines after the first one with a text."""
    return lines[next(i for i, line in enumerate(lines) if text in line) + 1 :]


def names_of_passed(lines: list[str]) -> list[str]:
    return [line.split("[")[1].split("]")[0] for line in lines if "PASSED" in line]


def not_covered(lines: list[str]) -> str:
    (line,) = [line for line in lines if line.startswith("mxref: not covered: ")]
    return line


def one_error(result: Result, text: str) -> None:
    """The collection failed with one sentence and nothing else."""
    result.assert_outcomes(errors=1)
    sentence, end = after(result.outlines, "ERROR collecting")[:2]
    assert text in sentence
    assert "short test summary" in end


def test_one_test_for_each_file(run: Pytester) -> None:
    lines = tried(run, "right.py", "-v", passed=6)
    assert exit_guards._outcome() == 0
    assert names_of_passed(lines) == IDS
    start = "mxref: not covered: encode e5m2, e4m3, e3m2 (bf16, f64), e2m3, e2m1 (b"
    assert not_covered(lines).startswith(start)
    assert "; shared_scale; quantize;" in not_covered(lines)
    line = not_covered(tried(run, "right.py", "--collect-only"))
    counts = "operations, and formats or float types of 2 others (--verbose lists them)"
    assert line.endswith(counts)
    assert len(line) < 120


def test_a_failure_is_the_report_of_the_file(run: Pytester) -> None:
    lines = tried(run, "wrong.py", *NARROW, passed=1, failed=1)
    assert exit_guards._outcome() == 1  # what a target that ends the process now cannot hide
    text = after(lines, "test_mx[encode-e3m2-f16]")
    text = text[: text.index(not_covered(lines))]
    cause = "encode e3m2: your output equals ocp+rounding=ties_to_away on 596 of 596 cases"
    assert text[0].endswith(f" cases failed: {cause}")
    count, _, total = text[0].split()[:3]
    assert 0 < int(count) < int(total) == 596
    assert f"  {cause}" in text
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
@pytest.mark.parametrize(("arguments", "text"), cases(__file__, "refused"))
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
    assert mxref.cli.main([*map(str, arguments), str(folder / "today.json")]) == 1
    groups = json.loads((folder / "today.json").read_text())["groups"]
    return [id for group in groups for id in group["cases"]]


STALE = ("encode.e3m2.f16.0000", "encode.e3m2.f16.0001")


@pytest.mark.parametrize(
    ("target", "part", "stale", "failed", "said"),
    [
        ("wrong.py", slice(None), (), 0, r".* ALL of COUNT cases: away from zero \(https://exam.*"),
        # One that passes fails.
        ("right.py", slice(1), (), 1, r"FIRST: is listed.*"),
        ("right.py", slice(1), (), 1, r"1 listed as known but pass: .*"),
        # Failures and stale ones are both said.
        (
            *("wrong.py", slice(2, None), STALE, 1),
            "2 of COUNT cases failed, 2 listed as known but pass: encode e3m2: your output.*",
        ),
        ("wrong.py", slice(1, None), (), 1, "1 of COUNT cases failed.*"),
    ],
)
def test_known_divergences(
    run: Pytester, failing: list[str], target: str, part: slice, stale: tuple[str, ...],
    failed: int, said: str,
) -> None:  # fmt: skip
    known = listed(run.path, *failing[part], *stale)
    outcomes = {"failed": 1} if failed else {"xfailed": 1}
    lines = tried(run, target, "--mxref-xfail", known, *NARROW, "-rx", passed=1, **outcomes)
    for name, value in (("ALL", len(failing)), ("COUNT", COUNT), ("FIRST", failing[0])):
        said = said.replace(name, str(value))
    assert any(re.fullmatch(said, line) for line in lines)
    assert not any(line.startswith("0 of ") for line in lines)


@pytest.mark.sampled(6)
def test_listed_cases_that_do_not_exist_are_refused(run: Pytester) -> None:
    words = ("right.py", "--mxref-xfail", listed(run.path, "encode.e3m2.f16.zzzz"))
    lines = tried(run, *words, *NARROW, passed=1, failed=1)
    assert "--mxref-xfail: there is no case 'encode.e3m2.f16.zzzz'" in lines
    listed(run.path, "encode.e3m2.f99.0000")
    one_error(run.runpytest("--mxref-target", *words), "there is no case 'encode.e3m2.f99.0000'")
    listed(run.path, "encode.e4m3.f16.0000")
    text = "--mxref-xfail lists 'encode.e4m3.f16.0000', which target right.py does not cover"
    one_error(run.runpytest("--mxref-target", *words), text)
    # What is not asked for cannot be missed.
    tried(run, *words, "--mxref-format", "e2m1", passed=3)


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
    lines = tried(parts, "right.py", "-v", "--mxref-float", "f32", passed=10)
    pairs = ["encode-e3m2", "encode-e2m1", "decode-e3m2", "decode-e2m1"]
    assert names_of_passed(lines) == [
        *(f"{pair}-f32" for pair in pairs),
        *(f"{pair}-calls" for pair in pairs),
        *(f"{pair}-search" for pair in pairs[:2]),  # every code is in the vectors
    ]


@pytest.mark.sampled(6)
def test_what_is_wrong_with_calls_comes_first(parts: Pytester) -> None:
    lines = tried(parts, "small.py", *PARTS, "--mxref-no-search", passed=1, failed=1)
    sentence = "encode e2m1: some numbers are wrong only in calls with 8 numbers and fewer"
    assert after(lines, "[encode-e2m1-calls]")[0].startswith(sentence)
    tried(parts, "small.py", *PARTS, "--mxref-sizes", "0", passed=2)


@pytest.mark.sampled(6)
def test_what_the_search_finds(parts: Pytester) -> None:
    words = ("searched.py", *PARTS, "--mxref-sizes", "0")
    lines = tried(parts, *words, passed=1, failed=1)
    first = "wrong answers in a search of 32,768 questions (seed 0): "
    assert after(lines, "[encode-e2m1-search]")[0].startswith(first)
    assert any(".search_0: " in line for line in lines)
    lines = tried(parts, *words, "--mxref-seed", "5", passed=1, failed=1)
    assert any("(seed 5)" in line for line in lines)


def test_a_search_that_cannot_be_made_is_skipped(parts: Pytester) -> None:
    reversed = RIGHT.replace("(values, format,", "(values[::-1], format,")
    (parts.path / "wrong.py").write_text(reversed)
    lines = tried(parts, "wrong.py", *PARTS, "--mxref-sizes", "0", "-rs", failed=1, skipped=1)
    assert any("no policy that is known explains" in line for line in lines)


@pytest.mark.sampled(6)
def test_known_kinds(parts: Pytester) -> None:
    """What `verify --write-xfail` lists makes every part pass, as an expected failure."""
    away = WRONG.replace('format == "e3m2"', 'format == "e2m1"')
    small = "\ndef decode(codes, format):\n"
    small += "    return mxref.decode(codes, format) * (-1 if len(codes) < 9 else 1)\n"
    (parts.path / "both.py").write_text(away + small)
    known = parts.path / "known.json"
    command = ["verify", "both.py", "--float", "f32", "--format", "e2m1", "--sizes", "300"]
    assert mxref.cli.main([*command, "--write-xfail", "known.json"]) == 1
    record = json.loads(known.read_text())
    for group in record["groups"]:
        group |= {"reason": "by design", "link": "T-1"}
    known.write_text(json.dumps(record))
    options = ("--mxref-format", "e2m1", "--mxref-xfail", "known.json")
    f32 = ("--mxref-float", "f32")
    # The calls of encode and the vectors of decode are right; the other three are known.
    lines = tried(parts, "both.py", *options, *f32, "-rx", passed=2, xfailed=3)
    for name in ("[encode-e2m1-f32] - ", "[encode-e2m1-search] - ", "[decode-e2m1-calls] - "):
        assert any(name in shown and "by design (T-1)" in shown for shown in lines)
    # What does not fail any more is said, in the part where it is looked for.
    decode = ("--mxref-op", "decode")
    lines = tried(parts, "right.py", *options, *f32, *decode, passed=1, failed=1)
    assert "1 listed as known but pass: decode e2m1 size" in lines
    # A kind is not stale where a float type that may show it is left out.
    encode = ("--mxref-op", "encode", "--mxref-sizes", "0")
    tried(parts, "right.py", *options, *encode, passed=1, failed=2)
    tried(parts, "right.py", *options, *encode, *f32, passed=1, failed=1)
    unknown = {**record["groups"][0], "cases": [], "kinds": ["encode e9m9 N1"]}
    known.write_text(json.dumps({"groups": [unknown]}))
    result = parts.runpytest("--mxref-target", "right.py", *options, *f32)
    one_error(result, "there is no case 'encode e9m9 N1'")


def test_a_known_kind_of_calls_that_passes_fails(parts: Pytester) -> None:
    """In the test of calls, although the format has one file alone; the vectors pass."""
    group = {"reason": "by design", "link": "T-1", "cases": [], "kinds": ["decode e2m1 size"]}
    (parts.path / "known.json").write_text(json.dumps({"groups": [group]}))
    words = ("--mxref-op", "decode", "--mxref-format", "e2m1", "--mxref-sizes", "9")
    lines = tried(parts, "right.py", *words, "--mxref-xfail", "known.json", passed=1, failed=1)
    assert "1 listed as known but pass: decode e2m1 size" in lines


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
    tried(run, "right", "--mxref-op", "decode", passed=2)


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
    tried(run, "other.py", passed=3)


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
    tried(run, "right.py", "--mxref-op", "decode", passed=4)


def test_damaged_vectors_fail(run: Pytester, monkeypatch: pytest.MonkeyPatch) -> None:
    package = run.path / "site" / "mxref"
    both = ("decode/e2m1.f32.jsonl", "decode/e3m2.f32.jsonl")
    vectors = copy_vectors(package / "_vectors", *both)
    (vectors / both[1]).unlink()
    monkeypatch.setattr(mxref, "__file__", str(package / "__init__.py"))
    lines = tried(run, "right.py", "--mxref-op", "decode", passed=1, failed=1)
    reason = "e3m2.f32.jsonl cannot be read: No such file or directory"
    assert any(line.endswith(reason) for line in lines)


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
