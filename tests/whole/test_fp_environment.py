"""The results do not depend on the processor's rounding mode, nor on FTZ and DAZ.

A child process sets the mode through the C library, shows that it is in force, and then runs every
operation with cold caches, and makes vectors: a seventh of the files, or all under --complete.
"""

from __future__ import annotations

import platform
import subprocess
import sys

import pytest
from helpers import ROOT
from shares import Share

CHILD = ROOT / "tests" / "helpers" / "fp_environment_child.py"
MODES = ("default", "flush", "upward", "downward", "toward_zero", "flush+upward")


@pytest.fixture(scope="module")
def answers(share: Share) -> dict[str, str]:
    """The child's digest of all results in each mode; in the last one it makes vectors, too."""
    some = ["0", "1"] if share.number is None else [str(share.number % 7), "7"]
    found = {}
    for mode in MODES:
        child = subprocess.run(
            [sys.executable, "-W", "error", CHILD, mode, *(some if mode == MODES[-1] else [])],
            capture_output=True,
            text=True,
            timeout=300,
        )
        assert (child.returncode, child.stderr.strip()) == (0, ""), mode
        found[mode] = child.stdout
    return found


@pytest.mark.complete
@pytest.mark.skipif(
    platform.system() != "Linux" or platform.machine() != "x86_64",
    reason="the child knows the floating-point environment of Linux on x86-64",
)
@pytest.mark.parametrize("mode", MODES[1:])
def test_results_are_the_same(mode: str, answers: dict[str, str]) -> None:
    assert answers[mode] == answers["default"]
