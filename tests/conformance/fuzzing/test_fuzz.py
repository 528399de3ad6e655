"""Fuzzing: what is asked, what is made simpler, and targets of other kinds."""

from __future__ import annotations

import subprocess
import sys
from collections.abc import Callable
from types import SimpleNamespace
from typing import Any

import numpy as np
import pytest
from helpers import drawn

import mxref
from mxref.cases.answers import exact_answers, fast_answers
from mxref.cases.records import VectorFile
from mxref.conformance import target_of
from mxref.conformance.compare.compare import same_answers
from mxref.conformance.fuzzing.fuzz import Counterexample, FuzzRow, fuzz
from mxref.conformance.fuzzing.input_words import questions, subjects
from mxref.conformance.fuzzing.simplify import simplest
from mxref.operands.word_rows import padded, stripped
from mxref.operations.registry import OPERATIONS
from mxref.policy.policy import Policy
from mxref.targets.calls import Answers, without_cases


def rows_of(format: str, float: str = "f32", **functions: Callable[..., Any]) -> list[FuzzRow]:
    """What fuzzing a target of one function says of one format and float type."""
    target = target_of(SimpleNamespace(**functions, FORMATS=[format], FLOATS=[float]), "kernel")
    return list(fuzz(target, formats=[format]))


def found(format: str, float: str = "f32", **functions: Callable[..., Any]) -> Counterexample:
    (row,) = rows_of(format, float, **functions)
    assert row.found is not None
    return row.found


# --- what is made simpler -----------------------------------------------------------------------


def test_what_one_step_makes_possible_is_done_in_the_next_round() -> None:
    one, row = 0x3F800000, np.zeros(32, np.uint64)
    row[:2] = 0x40400000, 0x3FC00000  # 3 and 1.5; the 3 must stay until the 1.5 is 1

    def wrong(rows: np.ndarray) -> np.ndarray:
        numbers = (rows[:, :2] << np.uint64(33) != 0).all(axis=1)
        return numbers & ((rows[:, 0] == row[0]) | (rows[:, 1] == one))

    found = simplest(wrong, without_cases("quantize", "mxfp4_e2m1", "f32"), row)
    assert found.tolist() == [one, one, *[0] * 30]


@pytest.mark.sampled(12)
def test_a_bug_of_memory_order_says_which() -> None:
    def quantize_tensor(values: np.ndarray, format: str, axis: int) -> Any:
        memory = np.frombuffer(values.tobytes("A"), values.dtype).reshape(values.shape)
        blocks = mxref.quantize(memory, format, axis=axis)
        return blocks.scale_codes, blocks.codes

    example = found("mxint8", "bf16", quantize_tensor=quantize_tensor)
    rows, columns = example.inputs[0, :2].tolist()
    assert (rows, columns) == (2, 2)
    assert "values = values.T.copy().T" in example.code


# --- targets that misbehave -----------------------------------------------------------------------


def test_a_target_of_another_kind_is_only_asked() -> None:
    """A command gets a line of shell; words go through `ask` alone."""

    class Command:
        name = "command"
        policy = Policy()
        command = (sys.executable, "-c", "print(*['09' for _ in open(0)])")

        def covers(self, op: str, format: str, float: str) -> bool:
            return (op, format, float) == ("decode", "e2m1", "f32")

        def ask(self, file: Any, inputs: np.ndarray) -> Answers:
            return Answers(np.full((len(inputs), 1), 9, np.uint64))

    (row,) = fuzz(Command())
    assert row.found is not None
    assert row.found.inputs.tolist() == [[0]]
    assert row.found.code.splitlines()[0] == "# want 1 00000000"
    run = subprocess.run(["bash", "-c", row.found.code], capture_output=True, text=True, check=True)
    assert run.stdout == "09\n"
    assert "'1 decode e2m1 f32 00'" in row.found.code


# --- right targets --------------------------------------------------------------------------------


POLICIES = (
    "ocp+rounding=stochastic_b",
    "ocp+nan_to_finite=error+block_nan=ignore+block_inf=largest_scale+scale_rule=nearest_log2",
    "ocp+fp4_packing=halves+fp6_packing=quark+scale_place=after+scale_layout=tiles_128x4",
    "ocp+scale_arithmetic=torchao+tail=short+rounding=toward_negative",
)


@pytest.mark.sampled(14)
@pytest.mark.parametrize("policy", POLICIES)
def test_every_question_has_the_same_answer_from_both_references(policy: str) -> None:
    """The fast path as the target, and every answer confirmed by the slow twin."""
    chosen, asked = Policy.parse(policy), []

    class Both:
        name, policy = "both", chosen

        def covers(self, op: str, format: str, float: str) -> bool:
            return float not in ("f16", "f32", "f64") or op in ("decode", "decode_scale")

        def ask(self, file: VectorFile, inputs: np.ndarray) -> Answers:
            asked.append(file.op)
            where = (file.op, file.format, file.float)
            words = fast_answers(*where, inputs, chosen).astype(np.uint64)
            some = [stripped(row) for row in inputs[:4]]
            wanted = padded(exact_answers(*where, some, chosen))
            assert same_answers(file, wanted, words[:4]).all(), (where, inputs[:4])
            return Answers(words)

    rows = list(fuzz(Both(), examples=3))
    assert all(row.found is None for row in rows)
    assert {"decode", "pack", "unpack", "pack_scales", "unpack_scales"} <= set(asked)
    assert ("encode_stochastic" in asked) == ("stochastic" in policy)
    assert ("pack_blocks" in asked) == ("scale_place" in policy)


def test_references_that_contradict_each_other_are_reported(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.setattr(
        "mxref.conformance.compare.compare.fast_answers",
        lambda op, format, float, words, policy: np.zeros((len(words), 1), np.uint8),
    )
    with pytest.raises(RuntimeError, match="contradicts itself on decode/e2m1"):
        rows_of("e2m1", decode=mxref.decode)


def test_the_same_seed_asks_the_same() -> None:
    def asked(seed: int) -> list[bytes]:
        words: list[bytes] = []

        def decode(codes: np.ndarray, format: str) -> np.ndarray:
            words.append(codes.tobytes())
            return mxref.decode(codes, format)

        target = target_of(SimpleNamespace(decode=decode, FORMATS=["e4m3"]), "kernel")
        assert [row.found for row in fuzz(target, examples=30, seed=seed)] == [None]
        return words

    assert asked(0) == asked(0)
    assert asked(0) != asked(1)


def test_every_subject_is_covered_by_its_operations() -> None:
    found = list(subjects(Policy()))
    assert len(found) == len(set(found))
    assert {op for op, _, _ in found} == set(OPERATIONS)


@pytest.mark.sampled(6)
@pytest.mark.parametrize(("op", "format"), [("encode", "e2m1"), ("quantize_tensor", "mxint8")])
def test_no_word_of_float64_is_taken_for_filling(op: str, format: str) -> None:
    found = drawn(questions(op, format, "f64", Policy()), 200)
    rows = [stripped(row) for inputs, _ in found for row in inputs]
    for words in rows:
        assert len(words) == (1 if op == "encode" else 3 + words[0] * words[1])
    assert any(word >> 51 == 0x1FFF for words in rows for word in words)  # NaN, sign set
