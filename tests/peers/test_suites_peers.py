"""Other projects' own tests on mxref: of packages, source distributions and checkouts."""

from __future__ import annotations

import sys

import pytest
from helpers import ROOT, run
from needs import checkout
from suites.table import suites


@pytest.mark.parametrize("name", suites())
def test_suite(name: str) -> None:
    if variable := suites()[name].variable:
        checkout(variable)
    command = [str(ROOT / "tools" / "suites"), "--sources", str(ROOT / ".suites"), name]
    done = run(sys.executable, *command)
    assert (done.returncode, done.stderr) == (0, ""), done.stdout
