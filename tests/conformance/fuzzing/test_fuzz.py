"""Fuzzing: what is drawn and made simpler, other kinds of targets, profiles, and the search."""

from __future__ import annotations

import subprocess
import sys
from collections.abc import Callable
from fractions import Fraction
from types import SimpleNamespace
from typing import Any

import numpy as np
import pytest
from helpers import drawn

import mxref
from mxref.cases import drawn as search
from mxref.cases.answers import choices_read, exact_answers, fast_answers
from mxref.cases.records import VectorFile
from mxref.conformance import target_of
from mxref.conformance.compare.compare import same_answers
from mxref.conformance.fuzzing import input_words
from mxref.conformance.fuzzing.fuzz import Counterexample, FuzzRow, fuzz
from mxref.conformance.fuzzing.input_words import questions, subjects
from mxref.conformance.fuzzing.simplify import simplest
from mxref.conformance.fuzzing.trial import Trial
from mxref.operands.word_rows import padded, stripped
from mxref.operations.registry import OPERATIONS, REGISTRY
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
    """The fast path as the target, and every answer confirmed by the slow twin.

    What reads none of the choices of a policy has the same answers under each: asked once.
    """
    chosen, asked = Policy.parse(policy), []

    class Both:
        name, policy = "both", chosen

        def covers(self, op: str, format: str, float: str) -> bool:
            if policy != POLICIES[0] and not choices_read(op, chosen, format):
                return False
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
    layouts = {"pack", "unpack", "pack_scales", "unpack_scales"}
    assert ("decode" in asked) == (policy == POLICIES[0])
    assert (layouts <= set(asked)) == (policy == POLICIES[0] or "packing" in policy)
    assert ("encode_stochastic" in asked) == ("stochastic" in policy)
    assert ("pack_blocks" in asked) == ("scale_place" in policy)


def test_questions_of_blocks_of_128_x_128_fit_into_memory() -> None:
    """Variants of such a block for each lane were up to a thousand million words."""
    for op in ("quantize", "dequantize"):
        some = drawn(questions(op, "fp8_e4m3_f32_128x128", "bf16", Policy()), 12)
        assert max(len(rows) for rows, _ in some) < 1000


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


# --- what is drawn --------------------------------------------------------------------------------


Row = tuple[int, ...]


def rows_drawn(op: str, format: str, slot: str, count: int, policy: str = "ocp") -> list[Row]:
    """The rows of some examples."""
    some = drawn(questions(op, format, slot, Policy.parse(policy)), count)
    return [stripped(row) for words, _ in some for row in words]


def test_the_nibble_behind_an_odd_number_of_codes_may_have_all_bits() -> None:
    rows = rows_drawn("unpack", "e2m1", "low_nibble_first", 60)
    last = {row[-1] >> 4 for row in rows if row[0] % 2}
    assert last == {0, 0xF}
    codes = {byte for count, *some in rows for byte in some[: count // 2]}
    assert len(codes) > 16  # in the other nibbles any


def test_blocks_are_unpacked_whole() -> None:
    """A scale and 32 codes of four bits."""
    for row in rows_drawn("unpack_blocks", "mxfp4_e2m1", "bytes", 20, "ocp+scale_place=before"):
        assert len(row) == 17
        assert max(row) <= 0xFF


def test_layers_have_every_small_size_and_those_around_16_and_32(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    def shape_alone(*arguments: Any) -> Row:
        shape: Row = arguments[3]
        return shape

    monkeypatch.setattr(input_words, "SHAPES", ((1, 1, 1, 1),))
    monkeypatch.setattr(input_words, "layer_words", shape_alone)
    shapes = rows_drawn("linear", "mxfp8_e4m3", "f32", 250)
    sequences, rows, inputs, outputs = (set(axis) for axis in zip(*shapes, strict=True))
    assert sequences == {1, 2, 3}
    assert {*range(1, 9), 15, 16, 17} <= rows <= {*range(1, 9), 15, 16, 17, *range(20, 41)}
    assert {*range(1, 9), 15, 16, 17, 31, 32, 33} <= inputs | outputs
    for a, b, k, n in shapes:
        assert a * b * (k + n) + k * n <= 4000


# --- what the search of verify finds --------------------------------------------------------------


#: The last of the drawn numbers that a rounding of float32 changes.
WORDS = search.drawn("encode", "e4m3", "f32", REGISTRY["encode"].questions)[:, 0]
ONE = int(WORDS[np.flatnonzero((WORDS & 0xFFF) > 0x7F0)[-1]])


def test_fuzz_finds_what_the_search_finds() -> None:
    def encode(values: Any, format: str) -> Any:
        return mxref.encode(values, format) ^ (values.view("u4") == ONE)

    target = target_of(SimpleNamespace(encode=encode, FORMATS=["e4m3"]), "kernel")
    (row,) = fuzz(target, floats=["f32"], examples=1)
    assert row.found is not None
    assert row.found.inputs.tolist() == [[ONE]]
    assert f"in {ONE:08x} = " in row.found.text


# --- profiles -------------------------------------------------------------------------------------


FP4 = "mxfp4_e2m1"
Pair = tuple[np.ndarray, np.ndarray]


def searched(
    quantize: Callable[..., Any], claimed: str | None = "torchao_0_18_rceil", **given: Any
) -> FuzzRow:
    claims = {} if claimed is None else {"PROFILE": claimed}
    kernel = SimpleNamespace(quantize=quantize, FORMATS=[FP4], FLOATS=["f32"], **claims)
    (row,) = fuzz(target_of(kernel, "kernel"), **given)
    return row


def as_profile(name: str, values: np.ndarray, format: str) -> Pair:
    blocks = mxref.profile(name).quantize(values, format)
    return np.array(blocks.scale_codes[:, 0]), np.array(blocks.codes)


def torchao(values: np.ndarray, format: str) -> Pair:
    return as_profile("torchao_0_18_rceil", values, format)


def with_exact_ceiling(values: np.ndarray, format: str) -> Pair:
    """The true logarithm, where torchao has the float32 one, rounded to nearest."""
    scales, codes = torchao(values, format)
    amax = np.abs(values).max(axis=1)
    usual = np.isfinite(amax) & (amax > 2.0**-120)
    scales[usual] = mxref.shared_scale(amax[usual], "e2m1", "rceil")
    return scales, codes


def with_zeros_for_nan(values: np.ndarray, format: str) -> Pair:
    scales, codes = torchao(values, format)
    codes[scales == 0xFF] = 0
    return scales, codes


@pytest.mark.sampled(3)
def test_a_policy_that_is_given_goes_before_the_claim() -> None:
    row = searched(torchao, policy=Policy.parse("ocp+scale_rule=rceil"))
    assert row.found is not None
    assert row.profile is None


@pytest.mark.sampled(12)
def test_a_rounded_logarithm_is_missed_by_an_exact_one() -> None:
    row = searched(with_exact_ceiling, examples=2000)
    assert row.found is not None
    (want, *_), got = row.found.failure.want, row.found.failure.got
    assert got is not None
    assert got[0] == want + 1
    (bits, *rest) = row.found.failure.case.inputs
    assert not any(rest)
    x = Fraction(float(np.uint32(bits).view(np.float32)))
    assert 1 < x / 6 / Fraction(2) ** (want - 127) < 1 + Fraction(1, 1 << 18)


@pytest.mark.sampled(6)
def test_codes_under_a_nan_scale_are_compared_by_their_bits() -> None:
    found = searched(with_zeros_for_nan).found
    assert found is not None
    assert (found.failure.want[0], found.failure.got) == (0xFF, (0xFF,) + (0,) * 32)


@pytest.mark.sampled(12)
def test_what_a_profile_refuses_may_be_refused() -> None:
    def gfloat(values: np.ndarray, format: str) -> Pair:
        return as_profile("gfloat", values, format)  # which has no code for NaN in FP4

    assert searched(gfloat, "gfloat").found is None  # it is not asked that
    rows = np.zeros((2, 32), np.float32)
    rows[:, 0], rows[1, 1] = 2.0, np.nan
    asked = rows.view(np.uint32).astype(np.uint64)
    file, profile = without_cases("quantize", FP4, "f32"), mxref.profile("gfloat")
    target = target_of(SimpleNamespace(quantize=gfloat), "kernel")
    assert not Trial(target, file, profile.policy, profile).wrong(asked).any()
    assert Trial(target, file, Policy(), None).wrong(asked).tolist() == [False, True]
