"""Two and three faults by somebody who had not seen what the diagnosis tries.

What is said of each was read beside the sources of its faults by somebody else: of 60 pairs both
were named truly in 38 when they were first asked, of 15 triples all in 6; and in 56 and 12 after
what had no words was mended by its kind. It may not become less. That the faults are faults is
shown beside it.
"""

from __future__ import annotations

import json
import re
from typing import Any

import numpy as np
import pytest
from right_kernel import ALL, MX
from strange_faults import FAULTS, kernel
from strange_told import SETS, TOLD, asked_of, report_on, words_of

import mxref
from mxref.cases.records import VectorFile
from mxref.conformance.compare.compare import run_file
from mxref.conformance.verdict.one_sentence import verdict_text
from mxref.conformance.verdict.verify import begun

#: Vector files that were read, by their stems.
READ: dict[str, VectorFile] = {}
EXPECTED: dict[str, list[str]] = json.loads(TOLD.read_text("utf-8"))


@pytest.mark.sampled(6)
@pytest.mark.parametrize("name", SETS)
def test_what_is_said_of_strange_faults(name: str) -> None:
    report = report_on(SETS[name], READ)
    assert report.failures
    assert words_of(report) == EXPECTED[name]
    assert not re.search("cause unknown|a rule unknown", verdict_text(report))


# --- the faults -----------------------------------------------------------------------------------

OPERATIONS = ("quantize", "encode", "dequantize", "quantize_tensor", "matmul")


def square() -> Any:
    """A tensor with rows of all sizes, as no vector has one."""
    draws = np.random.default_rng(3)
    sizes = 2.0 ** np.linspace(-120, 126, 64).round()[:, np.newaxis]
    return (draws.standard_normal((64, 64)) * sizes).astype(np.float32)


def wrong_answers(operation: str, name: str, faults: tuple[str, ...]) -> list[str]:
    """Of a kernel to the vectors; of tensors, to a square one, too."""
    target, files = asked_of(operation, name, faults, READ)
    outcomes = [run_file(target, file, target.policy) for file in begun(target, files)[1]]
    assert outcomes
    found = [f"{one.failures} {one.errors}" for one in outcomes if one.failures or one.errors]
    for axis in (0, 1) if operation == "quantize_tensor" else ():
        right = mxref.quantize(square(), name, axis=axis)
        got = kernel(faults, name, operation).quantize_tensor(square(), name, axis)
        for part, want in zip(got, (right.scale_codes, right.codes), strict=True):
            wrong = part != want
            found += (
                [f"{np.argwhere(wrong).tolist()} {part[wrong].tolist()}"] if wrong.any() else []
            )
    return found


@pytest.mark.parametrize("operation", OPERATIONS)
def test_without_faults_a_kernel_is_right(operation: str) -> None:
    for name in ALL if operation == "quantize" else MX:
        assert not wrong_answers(operation, name, ()), name


@pytest.mark.sampled(8)
@pytest.mark.parametrize("fault", FAULTS)
def test_every_fault_is_wrong_in_each_operation_and_format(fault: str) -> None:
    one = FAULTS[fault]
    for operation in one.operations:
        for name in one.formats:
            if name != "nvfp4" or operation == "quantize":
                assert wrong_answers(operation, name, (fault,)), (operation, name)


@pytest.mark.sampled(8)
@pytest.mark.parametrize("name", SETS)
def test_no_fault_of_a_set_is_hidden(name: str) -> None:
    operation, block_format, faults = SETS[name]
    together = wrong_answers(operation, block_format, faults)
    for one in faults:
        rest = tuple(other for other in faults if other != one)
        assert wrong_answers(operation, block_format, rest) != together, one
