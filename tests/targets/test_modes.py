"""`file.py:NAME`: an attribute of a file or module as the target, in every verb."""

from __future__ import annotations

import json
import subprocess
import sys
from pathlib import Path

import pytest
from helpers import sentence, table
from verify_helpers import VECTORS_ALONE

from mxref.cli import main
from mxref.conformance import TargetError, load_target
from mxref.targets.loading import split_spec

Capture = pytest.CaptureFixture[str]
TEXT = table("kernels")["modes"]


@pytest.fixture(autouse=True)
def folder(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    monkeypatch.chdir(tmp_path)
    monkeypatch.syspath_prepend(str(tmp_path))
    Path("kernels.py").write_text(TEXT)
    return tmp_path


def test_what_a_spec_names() -> None:
    Path("odd:name").touch()  # a file that is there wins
    for spec in ("kernels.py:RIGHT", "a/b.py:C:D", "package.module:floor", "no\0name:A"):
        assert ":".join(split_spec(spec)) == spec
        assert split_spec(spec)[1] == spec.rpartition(":")[2]
    whole = (r"C:\\x.py", "package.module", "kernels.py:", "kernels.py:1", ":RIGHT", "odd:name")
    assert [split_spec(spec) for spec in whole] == [(spec, "") for spec in whole]


@pytest.mark.parametrize("source", ["kernels.py", "kernels"])
def test_a_mode_has_its_own_functions_and_claims(source: str) -> None:
    whole, right, wrong = (load_target(source + mode) for mode in ("", ":RIGHT", ":WRONG"))
    assert str(whole.policy) == str(right.policy) == "ocp+overflow=nonsaturating"
    assert str(wrong.policy) == "ocp"
    assert (right.name, right.formats) == (f"{source}:RIGHT", {"e4m3"})
    assert (wrong.formats, wrong.floats) == ({"e2m1"}, {"bf16"})
    assert whole.covers("encode", "e5m2", "f64")


def test_an_unknown_mode_is_refused_in_one_sentence() -> None:
    Path("plain.py").write_text("def encode(values, format): return values\n")
    Path("modes.py").write_text("class A:\n    encode = print\nB = A()\n")
    for spec, said in {
        "kernels.py:RIGT": "kernels.py:RIGT: mode must be one of RIGHT, WRONG, got 'RIGT'",
        "plain.py:MODE": "plain.py:MODE: plain.py has no modes",
        "modes.py": "modes.py must have an operation, got objects that have: give modes.py:A or "
        "modes.py:B",
        "none.py:MODE": "none.py must be a Python file (NAME.py) or a module name: there",
        "kernels.py:math": "kernels.py:math must have at least one of: encode",
    }.items():
        assert sentence(TargetError, lambda: load_target(spec)).startswith(f"target {said}")  # noqa: B023


@pytest.mark.sampled(6)
def test_verify(capsys: Capture) -> None:
    assert main(["verify", "kernels.py:RIGHT", *VECTORS_ALONE]) == 0
    assert capsys.readouterr().out.splitlines()[-1].startswith("PASS kernels.py:RIGHT: ")
    assert main(["verify", "kernels.py:WRONG", "--write-xfail", "known.json", *VECTORS_ALONE]) == 1
    assert json.loads(Path("known.json").read_text())["target"] == "kernels.py:WRONG"
    capsys.readouterr()
    assert main(["verify", "kernels.py:WRONG", "--json", *VECTORS_ALONE]) == 1
    assert json.loads(capsys.readouterr().out)["target"] == "kernels.py:WRONG"


@pytest.mark.parametrize("source", ["kernels.py", "kernels"])
def test_the_code_that_fuzz_prints(source: str, capsys: Capture) -> None:
    assert main(["fuzz", f"{source}:WRONG", "--op", "encode", "--examples", "20"]) == 1
    lines = capsys.readouterr().out.splitlines()
    code = "\n".join(lines[1 : lines.index("")])
    run = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    assert run.stdout.splitlines() == ["want 00", "got  01"]


def test_sweep_in_processes(capsys: Capture) -> None:
    command = ["sweep", "kernels.py:WRONG", "--float", "bf16", "--format", "e2m1", "--jobs", "2"]
    assert main([*command, "--state", "state.json"]) == 1
    said = capsys.readouterr().out.splitlines()[-1]
    assert said.startswith("FAIL kernels.py:WRONG: encode e2m1 bf16 under ocp: ")
    Path("kernels.py").write_text(TEXT + "# another\n")
    assert main([*command, "--state", "state.json"]) == 2
    assert "before the target's file changed" in capsys.readouterr().err


@pytest.mark.sampled(6)
def test_pytest_finds_it_from_another_folder(folder: Path) -> None:
    Path("test_it.py").write_text("def test_it(mxref_case): mxref_case.check()\n")
    Path("pytest.ini").write_text("[pytest]\nmxref_target = kernels.py:RIGHT\n")
    Path("away").mkdir()
    command = [sys.executable, "-m", "pytest", "-q", "-c", "../pytest.ini", "../test_it.py"]
    command += ["--mxref-float", "f16", "-p", "no:cacheprovider"]
    run = subprocess.run(command, cwd="away", capture_output=True, text=True, check=False)
    assert run.returncode == 0, run.stdout
    assert "3 passed" in run.stdout  # the cases of f16, calls of many sizes, and the search
