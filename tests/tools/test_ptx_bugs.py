"""Bugs planted in what only a device compiles: the table says which check catches which."""

from __future__ import annotations

from pathlib import Path

import pytest
from helpers import table, tool
from ptx.fastpath import CUDA, FLAGS, Row
from ptx.nvcc import compiled
from ptx.report import found_of

BUGS = table("ptx_bugs")["BUGS"]


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


@pytest.mark.sampled(0)
@pytest.mark.parametrize("bug", BUGS)
def test_what_catches_a_bug(bug: str, tmp_path: Path) -> None:
    old, new, target, words, said = BUGS[bug]
    tool("nvcc")
    planted(old, new, tmp_path)
    row = row_of(words)
    found = found_of(compiled(FLAGS[target], tmp_path, [row])[row], row)
    assert (found.wrong > 0) == (said != ""), found.first
    assert said in ("wrong", "") or said in found.first


def test_nine_of_ten_are_caught() -> None:
    assert sum(one[-1] != "" for one in BUGS.values()) >= 0.9 * len(BUGS)
