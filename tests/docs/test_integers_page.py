"""What docs/integers.md says is true: its examples, its table, the output of `verify`."""

from __future__ import annotations

import doctest
import re
import sys

import pytest
from helpers import ROOT, run

from mxref import integer

PAGE = (ROOT / "docs" / "integers.md").read_text("utf-8")


def test_the_examples_run() -> None:
    path = str(ROOT / "docs" / "integers.md")
    result = doctest.testfile(path, module_relative=False)
    assert result.failed == 0
    assert result.attempted > 30


def test_the_table_has_every_public_name() -> None:
    rows = re.findall(r"^\| (`.+?) \| .+ \| (?:Q.+?) \|$", PAGE, re.MULTILINE)
    named = {name for row in rows for name in re.findall(r"`(\w+)`", row)}
    assert named == {*integer.__all__}


@pytest.mark.sampled(0)
def test_the_output_of_verify() -> None:
    command, *want = re.findall(r"```text\n(.*?)```", PAGE, re.DOTALL)[0].splitlines()
    words = command.removeprefix("$ mxref ").split()
    done = run(sys.executable, "-m", "mxref", *words, cwd=ROOT)
    assert done.returncode == 0, done.stderr
    said = done.stdout.splitlines()
    other = ("not covered: ", "asked: ", "note: ")  # how much is asked depends on the machine
    assert [line for line in said if not line.startswith(other)] == want
