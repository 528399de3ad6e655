"""Bugs planted in what only a device compiles: the table says which check catches which."""

from __future__ import annotations

import json
from pathlib import Path

import pytest
from helpers import ROOT, table, tool
from ptx import FaultError, Kernel
from ptx.cases import answers
from ptx.fastpath import CUDA, FLAGS, Row
from ptx.nvcc import compiled

BUGS, PLANTS = table("ptx_bugs")["BUGS"], table("ptx_bugs")["PLANTS"]
#: Bugs by somebody who had not seen the checks: file, old and new text, by name.
TEXTS = {
    one["id"]: one
    for one in json.loads((ROOT / "tests/tools/data/ptx_plants.json").read_text("utf-8"))
}


def planted(old: str, new: str, folder: Path) -> None:
    """The headers in a folder, one of them with the bug."""
    done = 0
    for name in ("mx_kernels.cuh", "mx_fastpath.cuh"):
        text = (CUDA / name).read_text("ascii")
        if old in text and not done:
            text, done = text.replace(old, new, 1), 1
        (folder / name).write_text(text, "ascii")
    assert done


def row_of(words: str) -> Row:
    kind, format, float, *others = words.split()
    encoder = next((word for word in others if word != "packed"), "")
    return kind, format, float, encoder, "packed" in others


def said_of(kernel: Kernel, row: Row) -> str:
    """What is first said of a kernel; `wrong` of an answer, nothing if all are right."""
    try:
        return "wrong" if any(one.wrong for one in answers(kernel, row)) else ""
    except (FaultError, ValueError) as error:
        return str(error)


@pytest.mark.sampled(0)
@pytest.mark.parametrize("bug", [*BUGS, *PLANTS])
def test_what_catches_a_bug(bug: str, tmp_path: Path) -> None:
    tool("nvcc")
    if bug in BUGS:
        old, new, target, words, said = BUGS[bug]
    else:
        old, new = TEXTS[bug]["old"], TEXTS[bug]["new"]
        target, words, said, _ = PLANTS[bug]
        assert (CUDA / TEXTS[bug]["file"]).read_text("ascii").count(old) == 1
    planted(old, new, tmp_path)
    row = row_of(words)
    found = said_of(compiled(FLAGS[target], tmp_path, [row])[row], row)
    assert (found != "") == (said != ""), found
    assert said in found


def test_nine_of_ten_are_caught() -> None:
    """Of those whose checks were made with them in mind, and of the others when first run."""
    assert sum(one[-1] != "" for one in BUGS.values()) >= 0.9 * len(BUGS)
    assert list(PLANTS) == list(TEXTS)
    assert sum(one[-1] == "caught" for one in PLANTS.values()) == 37 >= 0.9 * len(PLANTS)
    assert all(one[2] for one in PLANTS.values())
