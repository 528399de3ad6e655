"""Bugs that depend on the call: its size, the place in it, earlier calls, drawn random numbers."""

from __future__ import annotations

import random
import re
from collections.abc import Callable
from types import SimpleNamespace
from typing import Any

import numpy as np
import pytest
from right_calls import quantized

import mxref
from mxref.conformance import target_of
from mxref.conformance.fuzzing.counterexample import Counterexample
from mxref.conformance.fuzzing.fuzz import FuzzRow, _is_right_below, fuzz
from mxref.conformance.fuzzing.fuzz_call import SIZES, FuzzCall
from mxref.conformance.fuzzing.smaller_call import smallest_call
from mxref.conformance.fuzzing.trial import Trial
from mxref.policy.policy import Policy
from mxref.targets.calls import without_cases

FP4 = "mxfp4_e2m1"
Pair = tuple[np.ndarray, np.ndarray]


def searched(examples: int = 56, **functions: Callable[..., Any]) -> FuzzRow:
    """What a search says of a target of one function, with the formats E2M1 and MXFP4."""
    kernel = SimpleNamespace(**functions, FORMATS=["e2m1", FP4], FLOATS=["f32"])
    (row,) = fuzz(target_of(kernel, "kernel"), examples=examples)
    return row


def found(**functions: Callable[..., Any]) -> Counterexample:
    example = searched(**functions).found
    assert example is not None
    return example


def trial_of(encode: Callable[..., Any], policy: Policy | None = None) -> Trial:
    target = target_of(SimpleNamespace(encode=encode), "kernel")
    return Trial(target, without_cases("encode", "e2m1", "f32"), policy or Policy(), None)


# --- sizes ----------------------------------------------------------------------------------------


def test_the_sizes_are_those_of_lanes_and_tiles_and_their_neighbours() -> None:
    groups = ((1, 2, 3), (7, 8, 9), (15, 16, 17), (31, 32, 33), (63, 64, 65), (127, 128, 129))
    large = ((255, 256, 257), (1023, 1024, 1025), (4095, 4096, 4097))
    assert list(SIZES) == [size for group in (*groups, *large) for size in group]


@pytest.mark.sampled(6)
@pytest.mark.parametrize("examples", [100, 27])
def test_every_size_is_asked(examples: int) -> None:
    asked = set()

    def encode(values: np.ndarray, format: str) -> np.ndarray:
        asked.add(len(values))
        return mxref.encode(values, format)

    assert searched(examples, encode=encode).found is None
    assert asked >= set(SIZES)


@pytest.mark.sampled(6)
def test_large_sizes_are_asked_of_one_float_type() -> None:
    asked: dict[str, set[int]] = {}

    def encode_scale(values: np.ndarray) -> np.ndarray:
        asked.setdefault(values.dtype.name, set()).add(len(values))
        return mxref.encode_scale(values)

    target = target_of(SimpleNamespace(encode_scale=encode_scale), "kernel")
    assert all(row.found is None for row in fuzz(target, examples=40))
    largest = {name: max(sizes) for name, sizes in asked.items()}
    assert largest == {"float32": 4097, "float16": 257, "bfloat16": 257, "float64": 257}


@pytest.mark.parametrize(
    ("least", "rows", "size", "right_below"),
    [
        (2, 1, 2, True),  # one row is asked as it is
        (3, 2, 3, True),
        (2, 2, 3, False),  # a call of two is wrong as well
        (2, 2, 2, False),  # a call of one has no room for two questions
        (1, 1, 1, False),
    ],
)
def test_a_call_of_one_case_less_is_asked_if_it_has_room_for_all_questions(
    least: int, rows: int, size: int, right_below: bool
) -> None:
    trial = trial_of(lambda values, format: np.full(len(values), len(values) >= least, np.uint8))
    call = FuzzCall(np.zeros((rows, 1), np.uint64), size=size)
    assert trial.failure(call) is not None
    assert _is_right_below(trial, call) == right_below


def test_a_bug_of_one_case_alone_is_found() -> None:
    def quantize(values: np.ndarray, format: str) -> Pair:
        scales, codes = quantized(values, format)
        return scales, codes ^ (len(codes) == 1)

    example = found(quantize=quantize)
    assert (example.size, example.inputs.tolist()) == (0, [[0] * 32])


# --- what is kept of a wrong call -----------------------------------------------------------------


@pytest.mark.parametrize("least", [1, 2])
def test_the_search_keeps_a_question_alone_if_it_is_wrong_alone(least: int) -> None:
    """Else all that were asked with it."""

    def encode(values: np.ndarray, format: str) -> np.ndarray:
        return mxref.encode(values, format) ^ np.uint8(len(values) >= least) * (values == 1)

    trial = trial_of(encode)
    trial.search(np.uint64([[0], [0x3F800000], [0x40000000]]))
    assert trial.last is not None
    kept = [0x3F800000] if least == 1 else [0, 0x3F800000, 0x40000000]
    assert trial.last[0].rows[:, 0].tolist() == kept


def test_hypothesis_is_not_told_of_an_answer_that_changes() -> None:
    calls = iter(range(9))

    def encode(values: np.ndarray, format: str) -> np.ndarray:
        return mxref.encode(values, format) ^ np.uint8(next(calls) == 0)

    trial = trial_of(encode)
    assert not trial.fails((np.uint64([[0x3F800000]]), 0))
    assert trial.changed is not None
    assert (trial.stopped, trial.last) == (True, None)


@pytest.mark.parametrize("only_permuted", [False, True])
def test_questions_stay_in_a_permuted_order_only_if_they_must(only_permuted: bool) -> None:
    """A call of two questions fails, and one of one does not."""

    def first_wrong(call: FuzzCall) -> int | None:
        return 0 if len(call.rows) > 1 and call.permuted >= only_permuted else None

    call = FuzzCall(np.uint64([[0x3F800000], [0x40000000]]), size=3, permuted=True)
    smallest = smallest_call(first_wrong, without_cases("encode", "e2m1", "f32"), call)
    assert (smallest.count, smallest.permuted) == (2, only_permuted)


# --- answers that change --------------------------------------------------------------------------


@pytest.mark.parametrize("raises", [True, False], ids=["error first", "error second"])
@pytest.mark.parametrize("nan", ["max", "error"])
def test_of_an_error_and_an_answer_one_is_wrong(nan: str, raises: bool) -> None:
    """The error, unless the policy has no answer either."""

    def encode(values: np.ndarray, format: str) -> np.ndarray:
        if raises:
            raise MemoryError("no memory")
        return mxref.encode(values, format)

    trial = trial_of(encode, Policy().replace(nan_to_finite=nan))
    call = FuzzCall(np.uint64([[0x7FC00000]]))
    first = trial._answers(call)
    raises = not raises
    changed = trial._difference(call, first, trial._answers(call))
    assert changed is not None
    assert changed.failure.got == (None if nan == "max" else (7,))


def test_an_error_that_does_not_come_again_was_wrong() -> None:
    raises = True

    def encode(values: np.ndarray, format: str) -> np.ndarray:
        if raises:
            raise MemoryError("no memory")
        return mxref.encode(values, format)

    trial, zero = trial_of(encode), FuzzCall(np.zeros((1, 1), np.uint64))
    failure = trial.failure(zero)
    raises = False
    assert failure is not None
    changed = trial.change(zero, failure)
    assert changed is not None
    assert (changed.failure.got, changed.first, changed.second) == (None, failure.error, (0,))


def test_a_target_draws_new_numbers_in_every_call_and_leaves_those_of_others() -> None:
    drawn = []

    def encode(values: np.ndarray, format: str) -> np.ndarray:
        drawn.append((np.random.random(), random.random()))  # noqa: NPY002
        return mxref.encode(values, format)

    random.seed(3)
    before = random.getstate()
    assert searched(30, encode=encode).found is None
    assert random.getstate() == before
    assert len(set(drawn)) == len(drawn) > 30
    random.seed(3)
    assert random.random() == drawn[0][1]


@pytest.mark.sampled(0)
def test_an_error_that_changes_is_one_line() -> None:
    calls = iter(range(10**9))

    def encode(values: np.ndarray, format: str) -> np.ndarray:
        if next(calls) % 10 == 9 and (values == 0).any():
            raise MemoryError("no memory")
        return mxref.encode(values, format)

    error = r"MemoryError: no memory \(test_fuzz_calls.py:[0-9]+\)"
    said = f"not reproducible: [0-9a-f]{{8}} = .* gave {error} and [0-9a-f]{{2}} = [-0-9.]+"
    assert re.fullmatch(f"{said}(, case .* in each call)?", found(encode=encode).text)


@pytest.mark.sampled(3)
def test_answers_that_depend_on_earlier_calls_are_not_called_wrong_numbers() -> None:
    """From the first NaN on the scale is one too large: each question is then wrong each time."""
    seen = []

    def quantize(values: np.ndarray, format: str) -> Pair:
        scales, codes = quantized(values, format)
        seen.extend([None] * int(np.isnan(values).any()))
        return scales + np.uint8(bool(seen)) * (scales < 255), codes

    example = found(quantize=quantize)
    assert not example.steady
    assert example.text.startswith("not reproducible: the same 32 numbers gave ")
    assert " as the scale" in example.text


# --- what all numbers of a call have in common ----------------------------------------------------


def truncating_where(holds: Callable[[Any], bool]) -> Callable[[Any, str], Any]:
    """Right, but for calls with a property, of which a few numbers have it by chance."""

    def encode(values: Any, format: str) -> Any:
        some = len(values) > 40 and holds(values)
        return mxref.encode(values, format, rounding="toward_zero" if some else "ties_to_even")

    return encode


@pytest.mark.parametrize(
    "holds",
    [
        lambda x: not np.signbit(x).any(),
        lambda x: (x < 0).all(),
        lambda x: np.isfinite(x).all() and (np.abs(x) < 6).all() and len(np.unique(x)) > 40,
    ],
)
def test_what_is_wrong_in_ordinary_calls_alone_is_found(holds: Callable[[Any], bool]) -> None:
    example = searched(200, encode=truncating_where(holds)).found
    assert example is not None
    assert re.search(r"\(case \d+ of \d+ in one call", example.text)
    assert (len(example.inputs) <= 41, example.steady) == (True, True)


def test_right_ordinary_calls_are_right() -> None:
    assert searched(20, encode=mxref.encode).found is None
