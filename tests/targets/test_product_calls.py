"""Calls of products: multiples, the dtype, shapes, and which row meets which."""

from __future__ import annotations

import io
from types import SimpleNamespace
from typing import Any

import numpy as np
import pytest
from product_targets import E4M3, named, product_file, product_target

from mxref.cases.records import words
from mxref.conformance import TargetError, check, target_of
from mxref.operations.product_words import operands
from mxref.targets.calls import call_operation
from mxref.targets.line_protocol import questions_of
from mxref.targets.results import piped_results


def test_operands_are_filled_up_to_multiples() -> None:
    shapes: list[tuple[int, ...]] = []

    def matmul(sa: Any, ca: Any, sb: Any, cb: Any, fa: str, fb: str) -> Any:
        shapes.append((*sa.shape, *ca.shape, *sb.shape, *cb.shape))
        k = ca.shape[1]
        assert not ca[:, k - k % 32 :].any()
        return named("exact")(sa, ca, sb, cb, fa, fb)

    file = product_file()
    right = product_target(named("exact")).ask(file, file.input_words()).words
    for multiples, least in (((1, 1, 32), 1), ((16, 8, 64), 16)):
        shapes.clear()
        got = product_target(matmul, MULTIPLES=multiples).ask(file, file.input_words())
        assert not got.errors
        assert (got.words == right).all()
        assert min(shape[0] for shape in shapes) >= least
        for m, _, _, k, n, *_ in shapes:
            assert (m % multiples[0], n % multiples[1], k % multiples[2]) == (0, 0, 0)


def test_the_seventh_parameter_is_the_dtype() -> None:
    six = product_target(named("exact"))
    assert six.covers("matmul", E4M3, "f32")
    assert not six.covers("matmul", E4M3, "bf16")

    def matmul(sa: Any, ca: Any, sb: Any, cb: Any, fa: str, fb: str, dtype: Any) -> Any:
        return np.zeros((len(ca), len(cb)), dtype)

    seven = product_target(matmul)
    assert seven.covers("matmul", E4M3, "bf16")
    file = product_file(float="bf16")
    assert not seven.ask(file, file.input_words()).errors


def test_any_number_of_parameters_stands_for_six() -> None:
    counts: set[int] = set()

    def matmul(*operands: Any) -> Any:
        counts.add(len(operands))
        return named("exact")(*operands)

    target = product_target(matmul)
    assert [target.covers("matmul", E4M3, float) for float in ("f32", "bf16")] == [True, False]
    file = product_file()
    assert not target.ask(file, file.input_words()).errors
    assert counts == {6}


@pytest.mark.parametrize("multiples", [(0, 1, 1), 32, True, (1, True, 32)])
def test_multiples_are_three_integers(multiples: object) -> None:
    kernel = SimpleNamespace(matmul=named("exact"), MULTIPLES=multiples)
    with pytest.raises(TargetError, match=r"^target kernel: MULTIPLES ") as caught:
        target_of(kernel, "kernel")
    assert str(caught.value).endswith(f"must be three positive integers, got {multiples}")


def test_a_result_of_another_shape_is_an_error() -> None:
    file = product_file()
    answers = product_target(lambda *_: np.zeros(3, np.float32)).ask(file, file.input_words())
    assert set(answers.errors.values()) != set()
    assert all("the result must have shape" in error for error in answers.errors.values())


def test_each_case_meets_its_own_rows() -> None:
    """Rows are told by their codes, not by their numbers."""

    def matmul(sa: Any, ca: Any, sb: Any, cb: Any, *more: Any) -> Any:
        return np.add.outer(ca[:, 0], 256.0 * cb[:, 0]).astype(np.float32)

    file = product_file()
    found = call_operation(matmul, file, file.input_words())[:, 0]
    for row, word in zip(file.cases, found.tolist(), strict=True):
        a, b = operands(row.inputs)
        assert np.uint32(word).view(np.float32) == a.codes[0] + 256 * b.codes[0]


def test_answers_in_lines_are_compared_as_those_of_calls() -> None:
    file = product_file()
    column = file.columns.index("ocp+accumulation=pairwise")
    lines = "".join(f"{case.id} {case.output(column)[0]:x}\n" for case in file.cases)
    target = piped_results(io.BytesIO(lines.encode()), [file], "pipe")
    (row,) = check(target, [file]).rows
    assert row.description is not None
    assert row.description.text.endswith(" outputs have the bits of accumulation=pairwise")
    (question, *_) = questions_of(file)
    case = file.cases[0]
    assert question.line() == f"{case.id} matmul {E4M3} f32 {words(case.inputs, 2)}"
