"""Both references give every answer of every file, stored or made."""

from __future__ import annotations

import pytest
from helpers import FILES, vector_file

from mxref.cases.answers import answerable, exact_answers
from mxref.golden.agreement import compare_references
from mxref.golden.made_files import made_files
from mxref.policy.policy import Policy

MADE = made_files()


@pytest.mark.sampled(4)  # `mxref regen` compares them as well
@pytest.mark.parametrize("stem", [*FILES, *MADE])
def test_both_references_give_every_answer(stem: str) -> None:
    file = MADE[stem]() if stem in MADE else vector_file(stem)
    compare_references(file)
    assert len({case.id for case in file.cases}) == len(file.cases) > 2 * (stem in MADE)
    questions = [case.inputs for case in file.cases]
    for place, column in enumerate(file.columns if stem in FILES else ()):
        if column.startswith("ocp"):
            assert answerable(file.op, file.format, file.float, Policy.parse(column))
        slow = exact_answers(file.op, file.format, file.float, questions, column)
        assert slow == [case.output(place) for case in file.cases], column
