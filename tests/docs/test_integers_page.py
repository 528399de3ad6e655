"""The table of docs/integers.md has all of `mxref.integer`."""

from __future__ import annotations

import re

from helpers import ROOT

from mxref import integer

PAGE = (ROOT / "docs" / "integers.md").read_text("utf-8")


def test_the_table_has_every_public_name() -> None:
    rows = re.findall(r"^\| (`.+?) \| .+ \| (?:Q.+?) \|$", PAGE, re.MULTILINE)
    named = {name for row in rows for name in re.findall(r"`(\w+)`", row)}
    assert named == {*integer.__all__}
