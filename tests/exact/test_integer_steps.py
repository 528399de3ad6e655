"""Answers of integer operations step by step: the last step is the word of the vector, always."""

from __future__ import annotations

from collections.abc import Iterator
from fractions import Fraction

import pytest
from helpers import ROOT

from mxref.cases.read import read_vectors
from mxref.cases.records import Case, VectorFile
from mxref.exact.integer_steps import exactly
from mxref.operations.registry import CALL_OPERATIONS
from mxref.operations.stepped import STEPPED, steps_of

FILES = sorted(
    f"{path.parent.name}/{path.name.removesuffix('.jsonl')}"
    for name in STEPPED
    for path in (ROOT / "vectors" / name).glob("*.jsonl")
)


def places(file: VectorFile, case: Case) -> Iterator[tuple[str, int]]:
    """Each policy with the first, the last and a middle word, and where answers differ."""
    operation = CALL_OPERATIONS[file.op]
    plain = case.output(0)
    for number, column in enumerate(file.columns):
        if column in operation.bounds(file.format):
            continue
        answer = case.output(number)
        others = [i for i, (a, b) in enumerate(zip(answer, plain, strict=False)) if a != b]
        some = {0, len(answer) - 1, len(answer) // 3, *others[:2]} if answer else set()
        for index in sorted(some):
            yield column, index


def test_there_are_many() -> None:
    cases = sum(len(file.cases) for file in files(FILES))
    assert (len(FILES), cases) >= (35, 1500)


def files(stems: list[str]) -> Iterator[VectorFile]:
    yield from read_vectors(ROOT / "vectors", lambda stem: stem in stems)


@pytest.mark.parametrize("stem", FILES)
def test_the_last_step_is_the_word(stem: str) -> None:
    (file,) = files([stem])
    mask = (1 << 4 * file.out_digits) - 1
    for case in file.cases:
        for policy, index in places(file, case):
            answer = case.output(file.columns.index(policy))
            steps = steps_of(file.op, file.format, case.inputs, index, policy)
            assert steps[-1].word & mask == answer[index], (case.id, policy, index, steps)


def test_by_hand() -> None:
    """An image's two pixels, the codes 4 and 5, halfway: 1.5 steps above the zero point 3."""
    words = (1, 0, 3, 1, 1, 2, 1, 1, 4, 5, 0, 0)
    told = steps_of("grid_sample", "int8", words, 0, "ties=even_step")
    assert [(one.exact, one.rounding, one.word) for one in told[2:]] == [
        ("1.5", "", 0),
        ("1.5", "an integer, ties to even", 2),
        ("5", "-128 to 127", 5),
    ]
    told = steps_of("grid_sample", "int8", words, 0, "default")
    assert [(one.exact, one.word) for one in told[3:]] == [("4.5", 4), ("4", 4)]


def test_no_answer_has_no_steps() -> None:
    nan = (0xFFFFFF80, 127, 0x3F800000, 0, 0x7FC00000)
    with pytest.raises(ValueError, match="NaN"):
        steps_of("quantize_affine", "int8", nan, 0, "default")
    assert steps_of("quantize_affine", "int8", nan, 0, "nan=highest")[-1].word == 127
    assert steps_of("mma", "f16", (), 0, "default") == []


@pytest.mark.parametrize(
    ("number", "text"),
    [
        (Fraction(-3, 8), "-0.375"),
        (Fraction(2**60), "2^60"),
        (Fraction(7, 3 * 2**40), "7/3*2^-40"),
        ((1, 0, 0), "-0"),
        ((0, 0, 0), "0"),
        ((0, -2, 0), "nan"),
        ((1, -1, 0), "-inf"),
    ],
)
def test_numbers_are_written_exactly(number: Fraction | tuple[int, int, int], text: str) -> None:
    assert exactly(number) == text
