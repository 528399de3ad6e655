"""The results do not depend on the processor's rounding mode, nor on FTZ and DAZ.

A child process sets the mode through the C library, shows that it is in force, and then runs every
operation with cold caches. Another one makes all vectors, too: of their answers the fast path gives
seven of eight and the slow twin one, which computes with Python's integers in any mode.
"""

from __future__ import annotations

import platform
import subprocess
import sys

import pytest
from helpers import PATIENCE, ROOT

CHILD = ROOT / "tests" / "helpers" / "fp_environment_child.py"


@pytest.fixture(scope="module")
def default() -> str:
    return digest("default")


def digest(mode: str, *vectors: str) -> str:
    """The child's digest of all results in a mode; makes the vectors, too."""
    command = [sys.executable, "-W", "error", CHILD, mode, *vectors]
    child = subprocess.run(command, capture_output=True, text=True, timeout=PATIENCE)
    assert (child.returncode, child.stderr.strip()) == (0, ""), mode
    return child.stdout


ON_LINUX = pytest.mark.skipif(
    platform.system() != "Linux" or platform.machine() != "x86_64",
    reason="the child knows the floating-point environment of Linux on x86-64",
)


@ON_LINUX
@pytest.mark.sampled(28)
@pytest.mark.parametrize("mode", ["flush", "upward", "downward", "toward_zero"])
def test_results_are_the_same(mode: str, default: str) -> None:
    assert digest(mode) == default


@pytest.mark.sampled(0)
@ON_LINUX
def test_results_and_vectors_are_the_same_if_both_are_set(default: str) -> None:
    assert digest("flush+upward", "vectors") == default
