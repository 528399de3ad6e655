"""Mutants of NVFP4's two scales: each fails as a kernel, and is told what it does."""

from __future__ import annotations

from types import SimpleNamespace
from typing import Any

import numpy as np
import pytest
from helpers import vector_file
from ml_dtypes import bfloat16

import mxref
from mxref.conformance import Extent, check, target_of
from mxref.conformance.verdict.one_sentence import verdict_text
from mxref.mutants import MUTANTS, Mutant
from mxref.mutants.nvfp4_mutants import SCALED
from mxref.mutants.nvfp4_scale_mutants import NVFP4_SCALES

IDS = {heading.split()[0] for heading in (*SCALED, *NVFP4_SCALES)}
CASES = [
    (one, format, float)
    for one in MUTANTS
    if one.id in IDS
    for format in one.formats
    for float in one.floats
]
BY_ID = {one.id: one for one in MUTANTS}
#: What reports say of those that no single case explains: a block read or scaled with another one.
NEIGHBOURS = dict.fromkeys(
    ("C9d", "G7c", "G8m", "G8n", "G8x", "G8y"), "depends on what else is in the call"
)
#: Right kernels of another arithmetic than the one that they claim.
OTHERS = {
    "D3d": "scale_arithmetic=torchao",
    "D7k": "scale_arithmetic=cublas",
    "D7w": "scale_arithmetic=transformer_engine",
}
#: No float16 tells a product with a rounded reciprocal from a quotient in the vectors.
UNTOLD = {("D7l", "f16"): OTHERS["D7k"]}
EXTENT = Extent(elements=2000)


def said_of(mutant: Mutant, format: str, float: str) -> tuple[bool, str]:
    kernel: dict[str, Any] = {mutant.op: mutant.run, "FORMATS": [format], "POLICY": mutant.policy}
    kernel["ROW_SCALES"] = getattr(mutant.run, "row_scales", False)
    file = vector_file(f"{mutant.op}/{format}.{float}")
    report = check(target_of(SimpleNamespace(**kernel), "kernel"), [file], extent=EXTENT)
    return report.passed, verdict_text(report)


@pytest.mark.sampled(12)
@pytest.mark.parametrize(("mutant", "format", "float"), CASES, ids=lambda it: getattr(it, "id", it))
def test_a_kernel_with_it_fails_and_is_told_what_it_is(
    mutant: Mutant, format: str, float: str
) -> None:
    passed, said = said_of(mutant, format, float)
    assert not passed
    own = f"has bug {mutant.id}: {mutant.text}"
    other = UNTOLD.get((mutant.id, float), OTHERS.get(mutant.id, own))
    assert NEIGHBOURS.get(mutant.id, other) in said, said


def run(id: str, *arguments: Any) -> Any:
    found = BY_ID[id].run
    assert found is not None
    return found(*arguments)


def test_amax_of_two_blocks() -> None:
    """By hand: 6 and 12 have the scales 1 and 2, but 2 together; the third block has no other."""
    values = np.zeros((3, 16), np.float32)
    values[:, 0] = 6, 12, 6
    scales, codes = run("C9d", values, "fp4_ue4m3")
    assert scales.tolist() == [0x40, 0x40, 0x38]
    assert codes[:, 0].tolist() == [5, 7, 7]


def test_one_scale_for_two_blocks_read() -> None:
    """By hand: the scales are 1, 2 and 2, of which the second is not read."""
    codes = np.full((3, 16), 2, np.uint8)
    values = run("G7c", np.array([0x38, 0x40, 0x40], np.uint8), codes, "fp4_ue4m3", np.float32)
    assert values[:, 0].tolist() == [1, 1, 2]


def test_tensor_scales_of_the_row_before() -> None:
    """By hand: the second row is under 1, not 2, and the third one under 2, not 1."""
    tensor = np.float32([[1], [2], [1]])
    values = np.zeros((3, 16), np.float32)
    values[:, 0] = 6, 12, 6
    scales, codes = run("G8x", values, "nvfp4", tensor)
    assert scales.tolist() == [0x38, 0x40, 0x30]
    assert codes[:, 0].tolist() == [7, 7, 7]
    ones = np.full(3, 0x38, np.uint8), np.full((3, 16), 2, np.uint8)
    assert run("G8y", *ones, "nvfp4", np.float32, tensor)[:, 0].tolist() == [1, 1, 2]


def test_products_in_float32_are_rounded_twice() -> None:
    """By hand: 1.5 times 11228502 / 2**24 is 2**-24 above 1 + 2**-8, which float32 rounds it to.

    That is the midpoint of the bfloat16 numbers 3f80 and 3f81, the first of which is even.
    """
    tensor = np.uint32(0x3F2B5556).view(np.float32)
    assert 3 * 11228502 == (257 << 17) + 2
    blocks = np.array([0x38], np.uint8), np.full((1, 16), 3, np.uint8)
    right = mxref.dequantize(
        blocks[1],
        bfloat16,
        scale_codes=blocks[0][:, np.newaxis],
        block_format="nvfp4",
        tensor_scale=tensor,
    )
    assert right.view(np.uint16)[0, 0] == 0x3F81
    found = run("D5f", *blocks, "nvfp4", bfloat16, tensor)
    assert found.view(np.uint16)[0, 0] == 0x3F80
