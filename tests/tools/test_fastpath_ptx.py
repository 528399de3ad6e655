"""The CUDA kernels as nvcc compiles them, run by an interpreter of PTX: every case bit by bit."""

from __future__ import annotations

from pathlib import Path

import pytest
from helpers import tool
from ptx.fastpath import FLAGS
from ptx.nvcc import compiled, name_of
from ptx.report import ROWS, asked
from ptx.tasks import philox

PARTS = 6
#: Every instruction of which `test_ptx_opcodes.py` and `test_ptx_accesses.py` have a test.
LISTED = {*(Path(__file__).parent / "data" / "ptx_instructions.txt").read_text("ascii").split()}


def test_philox_by_the_known_answers_of_random123() -> None:
    assert philox(0, [0]).tolist() == [[0x6627E8D5, 0xE169C58D, 0xBC57AC4C, 0x9B00DBD8]]


@pytest.mark.sampled(0)
@pytest.mark.parametrize("part", range(PARTS))
def test_every_kernel_of_every_target(part: int) -> None:
    """Each part has every sixth format and float, with all kernels and functions of it."""
    tool("nvcc")
    pairs = list(dict.fromkeys(row[1:3] for row in ROWS))
    kernels = [row for row in ROWS if pairs.index(row[1:3]) % PARTS == part]
    modules = {target: compiled(flags, kernels=kernels) for target, flags in FLAGS.items()}
    code = [one for module in modules.values() for kernel in module.values() for one in kernel.code]
    names = {".".join([one.opcode, *one.modifiers]) for one in code}
    assert " ".join(sorted(names - LISTED)) == "", "an instruction without a test of its own"
    found = list(asked(modules))
    assert [(name_of(one.row), one.targets, one.first) for one in found if one.wrong] == []
    assert sum(len(one.targets) for one in found) == len(kernels) * len(FLAGS)
    assert sum(one.cases for one in found) > 50_000
