"""Other projects' own tests, those that packages and source distributions carry, on mxref."""

from __future__ import annotations

import sys

import pytest
from helpers import ROOT, run


@pytest.mark.parametrize("name", ["onnx", "gfloat", "compressed_tensors"])
def test_suite(name: str) -> None:
    command = [str(ROOT / "tools" / "suites"), "--sources", str(ROOT / ".suites"), name]
    done = run(sys.executable, *command)
    assert (done.returncode, done.stderr) == (0, ""), done.stdout
