"""`addmm`: sums that are exact in every order, answers by hand, kernels that are named."""

from __future__ import annotations

import itertools
from fractions import Fraction
from types import SimpleNamespace
from typing import Any

import numpy as np
import pytest

import mxref
from mxref.bits.floats import LAYOUTS
from mxref.conformance import target_of
from mxref.conformance.checking.check import check
from mxref.conformance.checking.extent import Extent
from mxref.golden.integer_cases import call_file
from mxref.operands.draws import Draws
from mxref.operands.word_rows import stripped
from mxref.operations.addmm import Addmm, addmm_blocks
from mxref.operations.addmm_cases import SPECIAL
from mxref.operations.registry import CALL_OPERATIONS
from mxref.policy.choices import Accumulation
from mxref.products.epilogue_steps import EpilogueSteps

ADDMM = CALL_OPERATIONS["addmm"]
ORDINARY = [one for one in Addmm.formats if not one.endswith(SPECIAL)]
SMALL = Extent(elements=300, search=False)
ORDERS = [one.value for one in Accumulation if one.value in ("pairwise", "by_block", "scales_last")]


def calls(format: str) -> list[Any]:
    """The calls of the vectors, and of questions of the search."""
    drawn = (ADDMM.question(format, Draws(f"order {i}"), i) for i in range(16))
    every = [*(one.inputs for one in ADDMM.designed(format)), *map(stripped, drawn)]
    return [ADDMM.call(format, tuple(map(int, words))) for words in every]


@pytest.mark.parametrize("format", ORDINARY)
def test_no_order_of_additions_changes_a_sum(format: str) -> None:
    aligned = ["aligned_35"] if "nvfp4" in format else ["aligned_25"]
    for call in calls(format):
        a, b, _ = addmm_blocks(*call.arguments)
        exact = mxref.matmul(a, b.T).tobytes()
        for order in ("sequential", *ORDERS, *aligned):
            assert mxref.matmul(a, b.T, accumulation=order).tobytes() == exact


@pytest.mark.parametrize("format", Addmm.formats)
def test_questions_of_the_search_have_one_answer_in_both_references(format: str) -> None:
    for number in range(12):
        words = tuple(ADDMM.question(format, Draws(f"twin {number}"), number).tolist())
        for policy in ADDMM.few_policies(format):
            assert ADDMM.answer(format, words, policy) == ADDMM.exact_answer(format, words, policy)


def test_by_hand() -> None:
    """3 times 1.5 is 4.5; with alpha = -2, C = 1, beta = 0.5 and a bias of 16: 7.5."""
    sizes, alpha, beta = (1, 1, 1), 0xC0000000, 0x3F000000
    words = (*sizes, alpha, beta, 0x41800000, 0x3F800000, 0x7F, 0x44, 0x7F, 0x3C)
    (answer,) = ADDMM.answer("mxfp8_e4m3-mxfp8_e4m3-f32", words, "default")
    assert np.uint32(answer).view(np.float32) == 7.5
    rows = (*sizes, alpha, beta, 0x40400000, 0x3F000000, 0x41800000, 0x3F800000)  # 3 and 1/2
    words = (*rows, 0x38, 0x5, 0x38, 0x3)  # 3 and 1.5
    (answer,) = ADDMM.answer("nvfp4-nvfp4-f32", words, "default")
    assert np.uint32(answer).view(np.float32) == float(16.5 - 9 * Fraction(3, 2))


@pytest.mark.parametrize("format", ORDINARY[:2])
@pytest.mark.parametrize("how", [one.value for one in EpilogueSteps])
def test_a_kernel_that_rounds_in_one_of_the_ways_is_named(format: str, how: str) -> None:
    def addmm(*arguments: Any) -> Any:
        a, b, more = addmm_blocks(*arguments)
        if how != "exact":
            more |= {"accumulation": "pairwise", "epilogue": how}
        return mxref.matmul(a, b.T, arguments[4].dtype, **more)

    kernel = SimpleNamespace(addmm=addmm, FORMATS=[format])
    report = check(target_of(kernel, "kernel"), [file(format)], extent=SMALL)
    assert report.passed
    (row,) = report.rows
    named = "separate" if how == "rounded" and format.endswith("f32") else how
    assert row.policy == ("default" if how == "exact" else f"epilogue={named}")


@pytest.mark.parametrize("format", ORDINARY)
def test_vectors_tell_every_way_from_every_other(format: str) -> None:
    """But `rounded` to float32 from `separate`: each number of it is float32 already."""
    vectors = file(format)
    for i, j in itertools.combinations(range(len(vectors.columns)), 2):
        unlike = (vectors.outputs(i) != vectors.outputs(j)).any(axis=1).sum()
        one = {vectors.columns[i], vectors.columns[j]} == {"epilogue=separate", "epilogue=rounded"}
        assert (unlike == 0) if one and format.endswith("f32") else (unlike >= 2)


def file(format: str) -> Any:
    return call_file("addmm", format)


@pytest.mark.parametrize("format", Addmm.formats)
def test_shrinking_finds_one_output(format: str) -> None:
    words = next(one.inputs for one in ADDMM.designed(format) if one.inputs[:3] != (1, 1, 1))
    m, k, n = words[:3]
    small = list(itertools.islice(ADDMM.smaller(format, words), m * n))
    whole = np.reshape(ADDMM.answer(format, words, "default"), (m, n))
    parts = [ADDMM.answer(format, one, "default") for one in small]
    assert [one[:3] for one in small] == [(1, k, 1)] * (m * n)
    assert np.reshape(parts, (m, n)).tolist() == whole.tolist()


def test_types_of_results() -> None:
    slots = {one: ADDMM.slot_of(one) for one in Addmm.formats}
    assert set(slots.values()) == {"f32", "bf16"}
    for format, slot in slots.items():
        call = ADDMM.call(format, tuple(ADDMM.easy(format, slot)))
        assert call.dtype == LAYOUTS[slot].dtype
        assert [one.dtype for one in call.arguments[4:6]] == [call.dtype] * 2


def test_no_way_of_adding_changes_an_answer_under_special_scales_of_rows() -> None:
    """So that a kernel in float32 is right there, too: scales first, then alpha, beta and C."""
    (format,) = (one for one in Addmm.formats if one.endswith(SPECIAL))
    asked = calls(format)
    assert sum(bool(call.arguments[7]) for call in asked) > 10
    for call in asked:
        *operands, c, bias, alpha, beta = call.arguments[:8]
        names, scales = call.arguments[8:10], call.arguments[10:]
        ones = [np.ones_like(one) for one in scales]
        a, b, _ = addmm_blocks(*operands, c, bias, 1.0, 0.0, *names, *ones)
        with np.errstate(all="ignore"):
            product = mxref.matmul(a, b.T) * (scales[0][:, None] * scales[1])
            source = np.float32(beta) * c if beta else np.zeros_like(c)
            separate = np.float32(alpha) * product + source + bias
        a, b, more = addmm_blocks(*call.arguments)
        np.testing.assert_array_equal(separate, mxref.matmul(a, b.T, **more))
