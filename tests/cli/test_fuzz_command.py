"""`mxref fuzz`: what it prints, and that the printed code shows the difference."""

from __future__ import annotations

import sys
from pathlib import Path

import helpers
import pytest
from commands import Call, Example, caller, examples

FLOATS = ("f32", "f16", "bf16", "f64")
DATA = Path(__file__).resolve().parent / "data"
#: Every operation, wrong.
WRONG = (DATA / "wrong_kernel.txt").read_text("utf-8")


@pytest.fixture
def fuzz(capsys: pytest.CaptureFixture[str]) -> Call:
    return caller(capsys, "fuzz")


def words_after(word: str, out: str) -> list[str]:
    (line,) = [line for line in out.splitlines() if line.startswith(word + " ")]
    return line.removeprefix(word).split()


CODE_RUNS = {
    "f32": ("ocp+scale_place=before", ("e2m1", "e3m2", "mxfp4_e2m1", "nvfp4"), "f32"),
    "bf16": ("ocp+rounding=stochastic_a", ("e2m1",), "bf16"),
}


@pytest.mark.sampled(6)
@pytest.mark.parametrize("name", CODE_RUNS)
def test_the_printed_code_shows_the_difference(tmp_path: Path, fuzz: Call, name: str) -> None:
    policy, formats, float = CODE_RUNS[name]
    path = tmp_path / "my kernel.py"
    path.write_text(f"{WRONG}\nFORMATS = {list(formats)!r}\nFLOATS = [{float!r}]\n")
    run = fuzz(path, "--policy", policy, "--json", "--examples", 5)
    assert run.status == 1
    rows = run.json["rows"]
    assert len(rows) == (21 if name == "f32" else 7)
    every = [row["counterexample"]["code"].splitlines() for row in rows]
    assert max(map(len, every)) <= 14
    shows = ["def show():\n    " + "\n    ".join(code) + "\nshow()\n" for code in every]
    script = "print('---')\n".join(shows)
    done = helpers.run(sys.executable, "-c", script, check=True, cwd=tmp_path)
    for row, out in zip(rows, done.stdout.split("---\n"), strict=True):
        example = row["counterexample"]
        assert words_after("want", out) == example["want"].split(), row["op"]
        assert words_after("got", out) == example["got"].split(), row["op"]
        assert example["want"] != example["got"]


AWAY = (DATA / "ties_away_kernel.txt").read_text("ascii")


@pytest.fixture
def away(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """The folder of kernel.py, which rounds ties away from zero."""
    monkeypatch.chdir(tmp_path)
    Path("kernel.py").write_text(AWAY)
    return tmp_path


@pytest.mark.parametrize("example", examples(DATA / "fuzz.txt"))
def test_the_verdict_says_what_was_compared_with(example: Example, away: Path, call: Call) -> None:
    (away / "kernel.py").write_text(AWAY.replace("    print('noise')\n", ""))
    example.check(call)


@pytest.mark.sampled(12)
def test_the_command(away: Path, fuzz: Call) -> None:
    run = fuzz("kernel.py", "--examples", 20)
    lines = run.out.splitlines()
    assert run.status == 1
    assert lines[0] == (
        "encode e2m1 f32 under ocp: in 3e800000 = 0x1p-2 = 0.25, "
        "want 00 = 0 (0 00 0), got 01 = 0.5 (0 00 1), 1 code away"
    )
    _, wrong, *right, last = (line.split() for line in lines[lines.index("") + 1 :])
    # How many questions until one is answered wrongly; the other float types are left out.
    assert (wrong[:3], wrong[4:], int(wrong[3]) <= 20) == (
        ["encode", "e2m1", "f32"],
        ["WRONG"],
        True,
    )
    assert right == [["encode_scale", "e8m0", float, "20", "ok"] for float in FLOATS]
    verdict = "FAIL kernel.py: 5 searched, 1 with a wrong answer, compared with ocp"
    assert " ".join(last) == verdict
    code = "\n".join(lines[1 : lines.index("")])
    shown = helpers.run(sys.executable, "-c", code, check=True)
    assert shown.stdout.splitlines() == ["noise", "want 00", "got  01"]
    assert {entry.name for entry in away.iterdir()} <= {"kernel.py", "__pycache__"}


def test_the_command_without_hypothesis(
    tmp_path: Path, fuzz: Call, monkeypatch: pytest.MonkeyPatch
) -> None:
    for name in [name for name in sys.modules if name.startswith("mxref.strategies")]:
        monkeypatch.delitem(sys.modules, name)
    for name in ("mxref.conformance.fuzzing.fuzz", "mxref.conformance.fuzzing.input_words"):
        monkeypatch.delitem(sys.modules, name, raising=False)
    monkeypatch.setitem(sys.modules, "hypothesis", None)
    run = fuzz(tmp_path / "kernel.py")
    assert run.status == 2
    assert run.err == (
        "mxref: error: mxref.strategies needs the package hypothesis: "
        "in a checkout of mxref, pip install -e '.[fuzz]', elsewhere pip install hypothesis\n"
    )


#: A program that knows `encode` of E2M1 alone, and rounds ties away from zero.
PROGRAM = (DATA / "ties_away_program.txt").read_text("ascii")


@pytest.mark.sampled(6)
def test_of_a_program_the_code_is_a_line_of_a_shell(tmp_path: Path, fuzz: Call) -> None:
    path = tmp_path / "away.py"
    path.write_text(PROGRAM)
    names = ("--op", "encode", "--format", "e2m1", "--float", "f32")
    run = fuzz("--cmd", f"{sys.executable} {path}", *names)
    found, want, line = run.out.splitlines()[:3]
    assert run.status == 1
    assert "in 3e800000 = 0x1p-2 = 0.25, want 00 = 0 (0 00 0), got 01 = 0.5" in found
    assert want == "# want 1 00"
    assert helpers.run("sh", "-c", line).stdout == "1 01\n"
