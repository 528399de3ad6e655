"""All checks that need a GPU: the fast paths, and the casts of other libraries.

    python tools/gpu/gpu_check.py                # prints the results; takes some ten minutes
    python tools/gpu/gpu_check.py --out DIR      # also writes DIR/LEDGER-gpu.md and DIR/gpu.json
    python tools/gpu/gpu_check.py --only triton  # the parts whose names begin with triton

It needs this checkout (a copy will do, and no network), NumPy and ml_dtypes; single parts need
torch, Triton, torchao, or nvcc with g++. A part that lacks something is "not run", never passed.

The exit status is 0 if every part ran and the fast paths gave no wrong answer, 1 if one did, 2 for
misuse, 3 if nothing was wrong but a part did not run. Wrong answers of other libraries are
findings, not failures.
"""

from __future__ import annotations

import argparse
import json
import os
import platform
import signal
import subprocess
import sys
import tempfile
import time
from collections.abc import Sequence
from dataclasses import asdict, dataclass, field
from importlib import metadata
from pathlib import Path
from typing import Any

sys.path.insert(0, str(Path(__file__).resolve().parent))

from gpu_common import NotRunError, gpu_line
from gpu_parts import PARTS, Part, missing

from mxref._version import __version__
from mxref.support.whole_file import write_file

#: Time limit of a part in seconds.
LIMIT = 3600.0
_RUNNER = (sys.executable, str(Path(__file__).resolve().with_name("gpu_parts.py")))
_NOT_RUN = "not run"


@dataclass(frozen=True, slots=True)
class Result:
    """The result of a part.

    Args:
        name: name of the part.
        status: `ok`, `FAIL`, `differs` (wrong answers of another library), or `not run`.
        detail: the reason why the part did not run, or failed without an answer.
        device: the GPU that answered.
        cases: number of answers that were compared.
        failed: number of wrong answers.
        seconds: elapsed time.
        text: output of the part.
        found: the findings of the part.
    """

    name: str
    status: str
    detail: str = ""
    device: str = ""
    cases: int = 0
    failed: int = 0
    seconds: float = 0.0
    text: str = ""
    found: dict[str, Any] = field(default_factory=dict)


def run(part: Part, build: Path, runner: Sequence[str] = _RUNNER, limit: float = LIMIT) -> Result:
    """Run a part in its own process; a part whose process dies has failed.

    After `limit` seconds its process ends, and all that it has started.

    Args:
        part: the part.
        build: folder for compiled programs.
        runner: a command; its arguments are the name of the part, a file for findings, and `build`.
        limit: seconds after which the process is killed.
    """
    why = missing(part)
    if why:
        return Result(part.name, _NOT_RUN, why)
    began = time.monotonic()
    with tempfile.TemporaryDirectory() as folder:
        findings = Path(folder, "findings.json")
        command = [*runner, part.name, str(findings), str(build)]
        with subprocess.Popen(
            command,
            stdout=subprocess.PIPE,
            stderr=subprocess.PIPE,
            text=True,
            start_new_session=True,
        ) as process:
            try:
                text, errors = process.communicate(timeout=limit)
            except subprocess.TimeoutExpired:
                os.killpg(process.pid, signal.SIGKILL)  # its programs too: they hold the GPU
                return Result(part.name, "FAIL", f"no end after {limit:.0f} s", seconds=limit)
            except BaseException:
                os.killpg(process.pid, signal.SIGKILL)
                raise
        seconds = time.monotonic() - began
        if process.returncode or not findings.exists():
            said = errors.strip().splitlines() or ["no word"]
            detail = f"exit status {process.returncode}: {said[-1]}"
            return Result(part.name, "FAIL", detail, seconds=seconds, text=text)
        found = json.loads(findings.read_text("utf-8"))
    return judged(part, found, seconds, text)


def judged(part: Part, found: dict[str, Any], seconds: float, text: str) -> Result:
    """The result from findings; without a device, or without a comparison, the part has failed."""
    if "not_run" in found:
        return Result(part.name, _NOT_RUN, found["not_run"], seconds=seconds)
    cases, failed = found.get("cases", 0), found.get("failed", 0)
    if not found.get("device"):
        status, detail = "FAIL", "it names no device"
    elif not cases and not found.get("measured"):
        status, detail = "FAIL", "nothing was compared"
    elif found["passed"] and not failed:
        status, detail = "ok", ""
    else:
        status, detail = "FAIL" if part.own else "differs", ""
    return Result(
        part.name, status, detail, found.get("device", ""), cases, failed, seconds, text, found
    )


def exit_status(results: Sequence[Result]) -> int:
    """0 if every part ran and none failed, 1 if one failed, 3 if one did not run."""
    statuses = {result.status for result in results}
    return 1 if "FAIL" in statuses else 3 if _NOT_RUN in statuses or not results else 0


def table(results: Sequence[Result]) -> list[str]:
    """The results as a Markdown table."""
    rows = ["| | part | cases | wrong | seconds | |", "|---|---|---|---|---|---|"]
    for one in results:
        counts = "| | |" if one.status == _NOT_RUN else f"| {one.cases} | {one.failed} |"
        seconds = "" if one.status == _NOT_RUN else f"{one.seconds:.1f}"
        rows.append(f"| {one.status} | {one.name} {counts} {seconds} | {one.detail} |")
    return rows


def page(results: Sequence[Result], about: dict[str, str]) -> str:
    """The text of LEDGER-gpu.md."""
    lines = ["# What a GPU answered", "", "Written by `tools/gpu/gpu_check.py`.", ""]
    lines += [f"- {name}: {value}" for name, value in about.items()]
    lines += ["", *table(results)]
    for one in results:
        if one.text.strip():
            lines += ["", f"## {one.name}", "", "```text", one.text.strip(), "```"]
    return "\n".join(lines) + "\n"


def version_of(package: str) -> str:
    """The installed version of a package."""
    try:
        return metadata.version(package)
    except metadata.PackageNotFoundError:
        return "not installed"


def versions() -> dict[str, str]:
    """The versions that the results depend on."""
    found = {"mxref": __version__, "Python": platform.python_version()}
    for name in ("numpy", "ml_dtypes", "torch", "triton", "torchao", "transformer_engine"):
        found[name] = version_of(name)
    try:
        found["GPU, driver, compute capability"] = gpu_line()
    except NotRunError as error:
        found["GPU"] = str(error)
    return found


def main(arguments: Sequence[str] | None = None) -> int:
    """Run the parts that the command line names."""
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("--only", default="", metavar="NAME", help="parts that begin with NAME")
    parser.add_argument("--out", type=Path, metavar="DIR", help="where to write the results")
    parser.add_argument("--json", action="store_true", help="print the results as JSON")
    options = parser.parse_args(arguments)
    parts = [part for part in PARTS if part.name.startswith(options.only)]
    if not parts:
        parser.error(f"--only must begin a part's name, got {options.only!r}: {PARTS[0].name}")
    results = []
    with tempfile.TemporaryDirectory() as build:
        for part in parts:
            one = run(part, Path(build))
            results.append(one)
            if not options.json and one.status != _NOT_RUN:
                print(f"== {part.name}", one.text.strip(), sep="\n", flush=True)
    about, status = versions(), exit_status(results)
    record = {"versions": about, "status": status, "parts": [asdict(one) for one in results]}
    if options.json:
        print(json.dumps(record, indent=1))
    else:
        print(*(f"{name}: {value}" for name, value in about.items()), *table(results), sep="\n")
    if options.out is not None:
        if any(one.device for one in results):
            options.out.mkdir(parents=True, exist_ok=True)
            write_file(options.out / "LEDGER-gpu.md", page(results, about).encode("utf-8"))
            text = json.dumps(record, indent=1) + "\n"
            write_file(options.out / "gpu.json", text.encode("utf-8"))
        else:
            print(f"no GPU answered: nothing is written to {options.out}", file=sys.stderr)
    return status


if __name__ == "__main__":
    sys.exit(main())
