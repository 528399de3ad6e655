"""Paths, the check for a GPU, and `verify`, which the parts of `gpu_check.py` share."""

from __future__ import annotations

import shutil
import subprocess
import sys
from pathlib import Path
from typing import Any

ROOT = Path(__file__).resolve().parents[2]
sys.path[:0] = [str(ROOT), str(ROOT / "tools" / "adapters")]  # mxref need not be installed

from mxref.cli.verify_verb import print_report  # noqa: E402
from mxref.conformance import check  # noqa: E402
from mxref.conformance.verdict.report_json import report_json  # noqa: E402
from mxref.targets.asked_files import read_for  # noqa: E402
from mxref.targets.target import Target  # noqa: E402

__all__ = ["ROOT", "RULES", "VECTORS", "Found", "NotRunError", "gpu_line", "verified"]

VECTORS = ROOT / "vectors"
RULES = ("floor", "ceil", "rceil", "even", "rceil_reciprocal")
#: Findings of a part: `device`, `passed`, `cases`, `failed`, and a report of any shape.
Found = dict[str, Any]


class NotRunError(RuntimeError):
    """A part cannot run on this machine; the message says why."""


def gpu_line() -> str:
    """Name, driver and compute capability of the first GPU.

    Raises:
        NotRunError: there is no GPU or no driver.
    """
    query = ["nvidia-smi", "--query-gpu=name,driver_version,compute_cap", "--format=csv,noheader"]
    if shutil.which("nvidia-smi") is None:
        raise NotRunError("no GPU: nvidia-smi is not on the PATH")
    asked = subprocess.run(query, capture_output=True, text=True, check=False)
    lines = asked.stdout.strip().splitlines()
    if asked.returncode or not lines:
        said = (asked.stderr or asked.stdout).strip().splitlines() or ["nothing"]
        raise NotRunError(f"no GPU: nvidia-smi said {said[0]}")
    return lines[0]


def verified(target: Target, device: str) -> Found:
    """Check a target as `mxref verify` does, and print the report."""
    report = check(target, read_for(VECTORS, target, target.policy))
    print_report(report, 10)
    return {
        "device": device,
        "cases": report.compared,
        "failed": len(report.failures),
        "passed": report.passed,
        "report": report_json(report),
    }
