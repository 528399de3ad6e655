"""What the generators ask, and what they say of it, is what the committed files hold.

`mxref regen --check` compares every byte. Here the answers are read from the files, so that it
takes no time to compute them; other tests compare these with the slow twin's.
"""

from __future__ import annotations

import dataclasses
import functools
import json
from collections.abc import Callable, Iterable, Iterator, Sequence
from itertools import zip_longest
from pathlib import Path
from typing import Any

import pytest
from helpers import FILES, VECTORS

from mxref.cases.names import names_of
from mxref.cases.read import by_stem, read_listed, read_manifest
from mxref.cases.records import VectorFile
from mxref.golden import (
    integer_cases,
    layout_cases,
    linear_cases,
    number_files,
    product_cases,
    vector_cases,
)
from mxref.golden.designed_products import designed_dots
from mxref.golden.scaled_products import scaled_dots
from mxref.operations.product_words import SCALED_PAIRS, pair_formats
from mxref.operations.registry import CALL_OPERATIONS

#: Of operations with many or large files, those whose generators do most; all files of the others.
SOME = json.loads((Path(__file__).parent / "data" / "some_files.json").read_text())
WHOLE = [
    stem
    for stem in FILES
    for op, _, name in (stem.partition("/"),)
    if name in SOME.get(op, (name,))
]
#: Files whose clauses take the most time to find: of these the inputs.
INPUTS = [
    stem
    for stem in FILES
    if stem.startswith("linear_qcs") or (stem.startswith("matmul/") and stem.endswith(".f32"))
]
Words = tuple[int, ...]


def test_there_are_files_of_every_operation() -> None:
    some = {stem for stem in WHOLE if names_of(stem)[0] in SOME}
    assert some == {f"{op}/{name}" for op, names in SOME.items() for name in names}
    assert {names_of(stem)[0] for stem in (*WHOLE, *INPUTS)} == {names_of(s)[0] for s in FILES}


@functools.cache
def entries() -> dict[str, dict[str, Any]]:
    return by_stem(read_manifest(VECTORS))


def committed(stem: str) -> VectorFile:
    file = read_listed(VECTORS, entries()[stem])
    assert file is not None
    return file


@functools.cache
def makers() -> dict[str, Callable[[], VectorFile]]:
    """Makers by stem: both are in the order of the manifest."""
    return dict(zip(entries(), vector_cases.file_tasks(), strict=True))


@pytest.mark.parametrize("stem", WHOLE)
def test_files_are_made_as_they_are_committed(stem: str, monkeypatch: pytest.MonkeyPatch) -> None:
    file = committed(stem)
    held = {case.inputs: case for case in file.cases}

    def answer(*question: Any) -> Words:
        words, column = question[-2:]
        assert words in held, f"no case of {stem} has these words"
        return held[words].output(file.columns.index(column))

    def answers(*question: Any) -> list[Words]:
        several: Sequence[Iterable[int]]
        several, policy = question[-2:]
        return [answer(words, str(policy)) for words in several]

    for module in (number_files, layout_cases):
        monkeypatch.setattr(module, "exact_answers", answers)
    for one in CALL_OPERATIONS.values():
        monkeypatch.setattr(type(one), "exact_answer", answer)
    monkeypatch.setattr(linear_cases, "exact_layer", answer)
    monkeypatch.setattr(product_cases, "exact_product", lambda *question: answer(*question)[0])
    for module in (number_files, integer_cases):  # the columns are the policies that change answers
        monkeypatch.setattr(module, "_columns", lambda *_: file.columns)
    made = makers()[stem]()
    pairs = zip_longest(made.cases, file.cases)
    assert [(one, other) for one, other in pairs if one != other] == []
    assert dataclasses.replace(made, cases=()) == dataclasses.replace(file, cases=())


def asked(stem: str) -> Iterator[tuple[Words, str, tuple[str, ...]]]:
    """The words, names and flags of a file's cases, from the generators."""
    op, format, _ = names_of(stem)
    if format in SCALED_PAIRS:
        for one in scaled_dots(format):
            yield one.inputs, one.name, one.flags
    elif op == "matmul":
        for dot in designed_dots(*pair_formats(format)):
            yield dot.words, dot.name, dot.flags
    else:
        for entry in CALL_OPERATIONS[op].designed(format):
            yield entry.inputs, entry.name, entry.flags


@pytest.mark.parametrize("stem", INPUTS)
def test_inputs_are_those_of_the_committed_files(stem: str) -> None:
    first: dict[Words, tuple[str, tuple[str, ...]]] = {}
    for words, *beside in asked(stem):
        first.setdefault(words, tuple(beside))
    cases = committed(stem).cases
    assert [(case.name, case.inputs) for case in cases] == [
        (name, words) for words, (name, _) in first.items()
    ]
    for case in cases:
        assert set(case.flags) >= set(first[case.inputs][1]), case.name
