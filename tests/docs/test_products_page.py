"""What docs/products.md says is true: its examples, the sample of `verify`, and the verdicts."""

from __future__ import annotations

import doctest
import re
import sys

import pytest
from helpers import ROOT, run

from mxref.conformance.verdict.describe.product_description import ProductDescription

PAGE = ROOT / "docs" / "products.md"
TEXT = PAGE.read_text("utf-8")


def test_the_examples_run() -> None:
    result = doctest.testfile(str(PAGE), module_relative=False)
    assert (result.attempted, result.failed) == (13, 0)


@pytest.mark.sampled(6)
def test_the_sample_of_verify() -> None:
    sample = re.search(r"```text\n\$ mxref (.*?)\n(.*?)```", TEXT, re.DOTALL)
    assert sample is not None
    done = run(sys.executable, "-m", "mxref", *sample[1].split(), cwd=ROOT)
    assert (done.returncode, done.stderr) == (0, "")
    slower = re.compile(r"\d+ calls of other shapes")  # fewer on a machine that is much slower
    assert slower.sub("", done.stdout) == slower.sub("", sample[2])


def test_the_verdicts_are_those_of_reports() -> None:
    said = [cells.split(" | ")[0] for cells in re.findall(r"^\| (.+) \|$", TEXT, re.MULTILINE)]
    for description in (
        ProductDescription(("pairwise",), 400, 400, 400),
        ProductDescription((), 400, 400, 400),
        ProductDescription((), 397, 400, 400),
        ProductDescription((), 397, 397, 400),
    ):
        assert description.text in said
