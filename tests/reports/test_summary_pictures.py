"""The picture of `mxref score`."""

from __future__ import annotations

import re
from pathlib import Path

import pytest
from helpers import ROOT
from verify_helpers import Vectors

from mxref.cli import main
from mxref.mutants import MUTANTS

PICTURES = ROOT / "docs" / "pictures"


def texts(svg: str) -> list[str]:
    return re.findall(r"<text[^>]*>([^<]*)</text>", svg)


def test_kills_by_class(
    tmp_path: Path, vectors: Vectors, capsys: pytest.CaptureFixture[str]
) -> None:
    path = tmp_path / "kills.svg"
    words = ["score", "--vectors", vectors("encode/int8.bf16"), "--picture"]
    assert main([*words, "kills.pdf"]) == 2
    assert "--picture must end in .svg or .png, got kills.pdf" in capsys.readouterr().err
    assert main([*words, str(path)]) == 0
    last = capsys.readouterr().out.splitlines()[-1]
    said = re.search(r"PASS (\d+) mutants, (\d+) of \2 killed .* (\d+) equivalent", last)
    assert said
    found = [re.fullmatch(r"(\d+) of \1, (\d+) mutants", text) for text in texts(path.read_text())]
    rows = [(int(one[1]), int(one[2])) for one in found if one]
    classes = [text for text in texts(path.read_text()) if re.match("[A-Z]: ", text)]
    assert classes == ["A: rounding", "B: range, zero, NaN", "F: INT8"]  # what encode has
    assert len(rows) == 3
    assert tuple(map(sum, zip(*rows, strict=True))) == (int(said[2]), int(said[1]))


def test_the_committed_picture_has_what_the_readme_says() -> None:
    """The pairs add up to the museum's; `.ci/run` draws it again."""
    found = texts((PICTURES / "kills.svg").read_text("utf-8"))
    rows = [re.fullmatch(r"(\d+) of (\d+), (\d+) mutants", text) for text in found]
    killed = [(int(one[1]), int(one[2]), int(one[3])) for one in rows if one]
    assert all(one == two for one, two, _ in killed)
    assert sum(count for _, _, count in killed) == len(MUTANTS)
