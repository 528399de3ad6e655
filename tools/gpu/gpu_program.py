"""Parts of `gpu_check.py` that run the program of tools/fastpath/cuda, compiled by nvcc."""

from __future__ import annotations

import json
import os
import shlex
import shutil
import subprocess
import sys
from collections.abc import Callable
from pathlib import Path

from gpu_common import ROOT, Found, gpu_line, verified

from mxref.targets.command import CommandTarget

__all__ = ["CUDA", "architecture_of", "as_ptx", "by_lines", "level_2", "nvcc", "of_program"]

CUDA = ROOT / "tools" / "fastpath" / "cuda"


def nvcc() -> str | None:
    """The path of nvcc, from PATH or CUDA's own folder; None if it is missing."""
    return shutil.which("nvcc", path=os.pathsep.join([os.environ.get("PATH", ""), _CUDA_BIN]))


_CUDA_BIN = "/usr/local/cuda/bin"


def architecture_of(line: str) -> str:
    """The architecture of a GPU as nvcc takes it, from what `gpu_line` says.

    From Blackwell on it is that of one GPU only: no other has the conversions to FP6 and FP4.

    >>> architecture_of("NVIDIA H100 80GB HBM3, 570.86.15, 9.0")
    'sm_90'
    >>> architecture_of("NVIDIA B200, 570.86.15, 10.0")
    'sm_100a'
    """
    capability = int(line.rpartition(",")[2].strip().replace(".", ""))
    return f"sm_{capability}a" if capability >= 100 else f"sm_{capability}"


def _program(build: Path, *flags: str) -> str:
    """The path of `mx_check`, compiled for the GPU of this machine, once for all parts.

    Raises:
        RuntimeError: nvcc failed.
    """
    program = build / "_".join(["mx_check", *flags])
    if not program.exists():
        target = f"-arch={architecture_of(gpu_line())}"
        command = [str(nvcc()), "-std=c++17", "-O2", "-x", "cu", target, *flags]
        parts = [str(CUDA / "mx_check.cpp"), "-o", f"{program}.new"]
        made = subprocess.run([*command, *parts], capture_output=True, text=True, check=False)
        if made.returncode:
            raise RuntimeError(f"nvcc failed: {made.stderr.strip()[-2000:]}")
        os.replace(f"{program}.new", program)
    return str(program)


def _asked(command: list[str]) -> Found:
    """The JSON that a command prints.

    Raises:
        RuntimeError: it prints no JSON, or passes with another exit status than 0.
    """
    done = subprocess.run(command, capture_output=True, text=True, check=False)
    try:
        found: Found = json.loads(done.stdout)
    except ValueError:
        said = done.stderr.strip().splitlines() or ["nothing"]
        raise RuntimeError(f"{command[0]} gave no JSON but said: {said[-1]}") from None
    if done.returncode and found.get("pass", True):
        raise RuntimeError(f"{command[0]} passed, but with exit status {done.returncode}")
    return found


def of_program(arguments: tuple[str, ...], flags: tuple[str, ...]) -> Callable[[Path], Found]:
    """A command of `mx_check` with JSON output, which must come from the device."""

    def run(build: Path) -> Found:
        found = _asked([_program(build, *flags), *arguments, "--json"])
        if found["machine"] != "device":
            raise RuntimeError(f"mx_check must run on the device, got {found['machine']}")
        for row in found["rows"]:
            wrong = row.get("failed", row.get("wrong", 0))
            mark = "--" if row.get("covered") is False else "FAIL" if wrong else "ok"
            facts = {key: value for key, value in row.items() if key != "longest" or value}
            print(mark, *(f"{key}={value}" for key, value in facts.items()))
        inputs = sum(row.get("inputs", 0) for row in found["rows"])
        wrong = sum(row.get("wrong", 0) for row in found["rows"])
        return {
            "device": found["device"],
            "cases": found.get("cases") or inputs,
            "failed": found.get("failed") or wrong,
            "measured": "bench" in arguments,
            "passed": bool(found["rows"]) and found.get("pass", not wrong),
            "report": found,
        }

    return run


def by_lines(rule: str) -> Callable[[Path], Found]:
    """Level 1 by the line protocol under a scale rule, with the diagnosis of `mxref verify`.

    Blocks by the hardware's conversions; `vectors` has both encoders.
    """

    def run(build: Path) -> Found:
        device = gpu_line().partition(",")[0]
        policy = f"ocp+scale_rule={rule}+scale_layout=tiles_128x4+scale_place=before"
        command = shlex.join([_program(build), "--conversions", "answer", "--policy", policy])
        with CommandTarget(command, timeout=60.0) as target:
            return verified(target, device)

    return run


def as_ptx(build: Path) -> Found:
    """The launches that its PTX is interpreted for, made again: memory must be the same.

    Raises:
        RuntimeError: an answer of the PTX is wrong, or nvcc failed.
    """
    target, folder = architecture_of(gpu_line()), build / "ptx"
    command = [sys.executable, str(ROOT / "tools" / "gpu" / "ptx" / "report.py"), target]
    paths = os.pathsep.join([os.environ.get("PATH", ""), _CUDA_BIN])
    asked = subprocess.run(
        [*command, "--save", str(folder)],
        capture_output=True,
        text=True,
        check=False,
        env=os.environ | {"PATH": paths},
    )
    if asked.returncode:
        said = (asked.stderr or asked.stdout).strip().splitlines() or ["nothing"]
        raise RuntimeError(f"the PTX was not run, or wrong: {said[-1]}")
    print(asked.stdout.strip())
    return of_program(("replay", str(folder / target)), ())(build)


def level_2(*flags: str, only: str = "") -> Callable[[Path], Found]:
    """The exhaustive families of level 2, compared by digest.

    Args:
        flags: options of `mx_check`.
        only: families whose names begin so.
    """

    def run(build: Path) -> Found:
        program = shlex.join([_program(build), *flags])
        command = [sys.executable, str(CUDA / "level2.py"), program, "--only", only, "--json"]
        os.environ["PYTHONPATH"] = os.pathsep.join([str(ROOT), os.environ.get("PYTHONPATH", "")])
        found = _asked(command)
        for row in found["rows"]:
            print("ok" if row["pass"] else "FAIL", row["family"], row["cases"])
        return {
            "device": gpu_line().partition(",")[0],
            "cases": sum(row["cases"] for row in found["rows"]),
            "failed": sum(not row["pass"] for row in found["rows"]),  # a family has one digest
            "passed": found["pass"],
            "report": found,
        }

    return run
