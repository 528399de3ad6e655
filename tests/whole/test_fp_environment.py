"""The results do not depend on the processor's rounding mode, nor on FTZ and DAZ.

A child process sets the mode through the C library, shows that it is in force, and then runs every
operation with cold caches, and regenerates the vectors.
"""

from __future__ import annotations

import platform
import subprocess
import sys

import pytest
from helpers import ROOT

CHILD = ROOT / "tests" / "helpers" / "fp_environment_child.py"
MODES = ("default", "flush", "upward", "downward", "toward_zero", "flush+upward")


@pytest.fixture(scope="module")
def answers() -> dict[str, str]:
    """The child's digest of all results in each mode."""
    found = {}
    for mode in MODES:
        child = subprocess.run(
            [sys.executable, "-W", "error", CHILD, mode],
            capture_output=True,
            text=True,
            timeout=300,
        )
        assert child.returncode == 0, f"{mode}: {child.stderr}"
        found[mode] = child.stdout
    return found


@pytest.mark.skipif(
    platform.system() != "Linux" or platform.machine() != "x86_64",
    reason="the child knows the floating-point environment of Linux on x86-64",
)
@pytest.mark.parametrize("mode", MODES[1:])
def test_results_are_the_same(mode: str, answers: dict[str, str]) -> None:
    assert answers["default"].endswith(" same\n")  # the vectors are what the child generates
    assert answers[mode] == answers["default"]
