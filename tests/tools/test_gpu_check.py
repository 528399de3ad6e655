"""The command for machines with a GPU, here without one: nothing passes that did not run.

What runs on a device is faked; the fakes answer as `mx_check` and the parts do.
"""

from __future__ import annotations

import json
import os
import subprocess
import sys
import time
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import gpu_casts
import gpu_check
import gpu_common
import gpu_parts
import gpu_program
import pytest
from helpers import PATIENCE, ROOT, run
from tables import rows

from mxref.cli import main
from mxref.conformance import load_target
from mxref.conformance.checking import target_speed

Patch = pytest.MonkeyPatch
FAKE = {"device": "A GPU", "cases": 5, "failed": 0, "passed": True}


def part(name: str = "some", *, own: bool = True, needs: tuple[str, ...] = ()) -> Any:
    return gpu_parts.Part(name, needs, lambda build: {}, own)


def test_without_a_gpu_nothing_is_run_and_nothing_passes(tmp_path: Path) -> None:
    tools = tmp_path / "bin"
    tools.mkdir()  # a PATH without nvidia-smi
    out = tmp_path / "out"
    command = (sys.executable, ROOT / "tools" / "gpu" / "gpu_check.py", "--out", out)
    done = run(*command, cwd=tmp_path, env=os.environ | {"PATH": str(tools)})
    assert done.returncode == 3
    assert done.stderr == f"no GPU answered: nothing is written to {out}\n"
    assert not out.exists()
    lines = [line for line in done.stdout.splitlines() if line.startswith("| ")][1:]
    assert len(lines) == len(gpu_parts.PARTS)
    for one, row in zip(gpu_parts.PARTS, lines, strict=True):
        assert row.startswith(f"| not run | {one.name} |")
        assert "no GPU: nvidia-smi is not on the PATH" in row


def test_every_part_needs_a_gpu_and_has_a_name_of_its_own() -> None:
    assert all("gpu" in one.needs for one in gpu_parts.PARTS)
    names = [one.name for one in gpu_parts.PARTS]
    assert len(names) == len(set(names))
    assert {one.name.split()[0] for one in gpu_parts.PARTS if one.own} == {
        "triton",
        "cuda",
        "streams",
    }


@pytest.mark.parametrize(
    ("said", "status", "why"), [("", 1, "no GPU: nvidia-smi said nothing"), ("No devices", 0, "")]
)
def test_what_nvidia_smi_says(
    said: str, status: int, why: str, tmp_path: Path, monkeypatch: Patch
) -> None:
    program = tmp_path / "nvidia-smi"
    program.write_text(f"#!/bin/sh\necho '{said}'\nexit {status}\n", "ascii")
    program.chmod(0o755)
    monkeypatch.setenv("PATH", str(tmp_path), prepend=os.pathsep)
    assert gpu_parts.missing(part(needs=("gpu",))) == why


def test_a_package_that_is_missing() -> None:
    why = gpu_parts.missing(part(needs=("no_such_package",)))
    assert why == "no_such_package is not installed: pip install no_such_package"


@pytest.mark.parametrize(("more", "whose", "status"), rows("tools", "gpu_check", "judged"))
def test_what_findings_amount_to(more: str, whose: str, status: str) -> None:
    found = gpu_check.judged(part(own=whose == "own"), FAKE | json.loads(more), 1.0, "")
    assert found.status == status


@pytest.mark.parametrize(
    ("statuses", "exit_status"),
    [(["ok", "differs"], 0), (["ok", "not run"], 3), (["FAIL", "not run", "ok"], 1), ([], 3)],
)
def test_exit_status(statuses: list[str], exit_status: int) -> None:
    results = [gpu_check.Result(str(i), status) for i, status in enumerate(statuses)]
    assert gpu_check.exit_status(results) == exit_status


def runner(tmp_path: Path, text: str) -> list[str]:
    """A process in place of `gpu_parts.py`."""
    script = tmp_path / "runner.py"
    script.write_text(f"import json, pathlib, sys, time\n{text}\n", "ascii")
    return [sys.executable, str(script)]


ANSWERS = f"print('a line'); pathlib.Path(sys.argv[2]).write_text(json.dumps({FAKE}))"


@pytest.mark.parametrize(
    ("text", "status", "detail"),
    [
        (ANSWERS, "ok", ""),
        ("sys.exit('out of memory')", "FAIL", "exit status 1: out of memory"),
        (f"{ANSWERS}\nsys.exit('at the end')", "FAIL", "exit status 1: at the end"),
        ("pass", "FAIL", "exit status 0: no word"),
        (f"time.sleep({PATIENCE})", "FAIL", "no end after 2 s"),
    ],
)
def test_a_part_that_dies_has_failed(text: str, status: str, detail: str, tmp_path: Path) -> None:
    limit = 2.0 if "2 s" in detail else 600.0
    result = gpu_check.run(part(), tmp_path, runner(tmp_path, text), limit=limit)
    assert (result.status, result.detail) == (status, detail)


def test_a_part_without_an_end_leaves_no_program(tmp_path: Path, monkeypatch: Patch) -> None:
    """A program that it has started, such as `mx_check`, would hold the GPU."""
    text = (
        "import subprocess\n"
        f"child = subprocess.Popen(['sleep', '{PATIENCE}'])\n"
        "pathlib.Path(sys.argv[3], 'child').write_text(str(child.pid))\n"
        f"time.sleep({PATIENCE})"
    )
    child = tmp_path / "child"

    class Started(subprocess.Popen[str]):
        def communicate(self, *arguments: Any, **options: Any) -> tuple[str, str]:
            while not (child.exists() and child.read_text()):
                time.sleep(0.01)
            return super().communicate(*arguments, **options)

    monkeypatch.setattr(subprocess, "Popen", Started)
    began = time.monotonic()
    result = gpu_check.run(part(), tmp_path, runner(tmp_path, text), limit=0.1)
    assert (result.status, time.monotonic() - began < PATIENCE / 2) == ("FAIL", True)
    state = Path("/proc", child.read_text(), "stat")
    while state.exists() and state.read_text().split()[2] != "Z":  # it has been sent a signal
        assert time.monotonic() - began < PATIENCE / 2
        time.sleep(0.01)


def test_results_of_a_device_are_written(
    tmp_path: Path, monkeypatch: Patch, capsys: pytest.CaptureFixture[str]
) -> None:
    parts = (part("first"), part("second", needs=("no_such_package",)))
    monkeypatch.setattr(gpu_check, "PARTS", parts)
    monkeypatch.setattr(gpu_check.run, "__defaults__", (runner(tmp_path, ANSWERS), 60.0))
    out = tmp_path / "out"
    assert gpu_check.main(["--out", str(out), "--json"]) == 3
    record = json.loads(capsys.readouterr().out)
    assert json.loads((out / "gpu.json").read_text("utf-8")) == record
    assert [one["status"] for one in record["parts"]] == ["ok", "not run"]
    page = (out / "LEDGER-gpu.md").read_text("utf-8").splitlines()
    (row,) = (line for line in page if "| first " in line)
    assert row.startswith("| ok | first | 5 | 0 |")
    assert "| not run | second | | |  | no_such_package is not installed" in "\n".join(page)
    assert page[-4:] == ["", "```text", "a line", "```"]
    assert gpu_check.main(["--only", "second", "--out", str(tmp_path / "other")]) == 3
    assert not (tmp_path / "other").exists()


@pytest.mark.sampled(6)
def test_the_same_table_and_report_as_verify(
    capsys: pytest.CaptureFixture[str], monkeypatch: Patch
) -> None:
    clock = SimpleNamespace(perf_counter=lambda: 0.0)  # whatever the machine's speed is
    monkeypatch.setattr(target_speed, "time", clock)
    path = str(ROOT / "tools" / "examples" / "my_kernel.py")
    found = gpu_common.verified(load_target(path), "A GPU")
    printed = capsys.readouterr().out
    assert main(["verify", path, "--verbose"]) == 0
    assert printed == capsys.readouterr().out
    assert main(["verify", path, "--json"]) == 0
    assert found["report"] == json.loads(capsys.readouterr().out)
    assert (found["cases"], found["failed"], found["passed"]) == (1780, 0, True)


def test_a_library_with_other_names_is_not_run() -> None:
    def calls() -> gpu_casts.Calls:
        yield "a", 1, bool
        raise ModuleNotFoundError("No module named 'moved'")

    found = gpu_casts.rates(calls(), 64, 1.0, lambda call: 0.5)
    assert [row["name"] for row in found["rows"]] == ["a"]
    assert found["not_run_calls"] == ["calls: No module named 'moved'"]


def test_casts_of_others_that_fail_are_not_run(capsys: pytest.CaptureFixture[str]) -> None:
    def absent() -> None:
        raise NotImplementedError("needs sm_100")

    took = {absent: 0.0, bool: 0.5, int: 1.0}

    def seconds(call: Any) -> float:
        call()
        return took[call]

    calls = [("a", 1, absent), ("b", 1, bool), ("c", 2, int)]
    found = gpu_casts.rates(iter(calls), 64, 1.0, seconds)
    # 128 bytes read and 66 or 132 written; a copy moves 256 in a second.
    assert [row["share_of_copy"] for row in found["rows"]] == [194 / 0.5 / 256, 260 / 256]
    assert capsys.readouterr().out.splitlines()[0] == "-- a: needs sm_100"
    with pytest.raises(gpu_common.NotRunError, match="a: needs sm_100"):
        gpu_casts.rates(iter(calls[:1]), 64, 1.0, seconds)


# The program in CUDA C++.

ANSWERS_OF = json.loads((ROOT / "tests/tools/data/gpu_answers.json").read_text("ascii"))
OF_A_DEVICE, SWEPT = ANSWERS_OF["device"], ANSWERS_OF["swept"]


def answers(record: object, tmp_path: Path, monkeypatch: Patch, status: int = 0) -> dict[str, Any]:
    program = tmp_path / "mx_check"
    text = record if isinstance(record, str) else json.dumps(record)
    program.write_text(f"#!/bin/sh\necho '{text}'\necho 'last words' >&2\nexit {status}\n", "ascii")
    program.chmod(0o755)
    monkeypatch.setattr(gpu_program, "_program", lambda build, *flags: str(program))
    found: dict[str, Any] = gpu_program.of_program(("vectors", "folder"), ())(tmp_path)
    return found


def test_what_the_program_found(
    tmp_path: Path, monkeypatch: Patch, capsys: pytest.CaptureFixture[str]
) -> None:
    def became(record: object, status: int = 0) -> tuple[str, int, int]:
        found = answers(record, tmp_path, monkeypatch, status)
        return gpu_check.judged(part(), found, 1.0, "").status, found["cases"], found["failed"]

    assert became(OF_A_DEVICE) == ("ok", 7, 0)
    assert became(SWEPT, 1) == ("FAIL", 9, 2)
    assert became({**OF_A_DEVICE, "rows": [], "cases": 0}) == ("FAIL", 0, 0)
    lines = capsys.readouterr().out.splitlines()
    assert lines[0] == "ok file=encode/e4m3.f32 cases=7 failed=0"
    assert lines[1].startswith("FAIL format=e4m3 inputs=9 wrong=2")


@pytest.mark.parametrize(("said", "status", "reason"), rows("tools", "gpu_check", "none"))
def test_answers_that_are_none(
    said: str, status: str, reason: str, tmp_path: Path, monkeypatch: Patch
) -> None:
    record = json.loads(said)
    record = OF_A_DEVICE | record if isinstance(record, dict) else record
    with pytest.raises(RuntimeError, match=reason):
        answers(record, tmp_path, monkeypatch, status=int(status))
