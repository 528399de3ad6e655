"""The verdicts that docs/products.md explains are those of reports."""

from __future__ import annotations

import re

from helpers import ROOT

from mxref.conformance.verdict.describe.product_description import ProductDescription

TEXT = (ROOT / "docs" / "products.md").read_text("utf-8")


def test_the_verdicts_are_those_of_reports() -> None:
    said = [cells.split(" | ")[0] for cells in re.findall(r"^\| (.+) \|$", TEXT, re.MULTILINE)]
    for description in (
        ProductDescription(("pairwise",), 400, 400, 400),
        ProductDescription((), 400, 400, 400),
        ProductDescription((), 397, 400, 400),
        ProductDescription((), 397, 397, 400),
    ):
        assert description.text in said
