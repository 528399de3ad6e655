"""Steps and changes of the step functions: all there are, by the slow twin and published tables."""

from __future__ import annotations

import random
from collections.abc import Iterator
from typing import Any

import numpy as np
import pytest
from helpers import INFINITY, SOURCES, WIDTH, table_steps
from tables import rows

import mxref
from mxref import exact
from mxref.bits.floats import LAYOUTS
from mxref.cases.answers import exact_answers
from mxref.cases.steps import changes, input_count, steps
from mxref.policy.policy import READS, Policy

FORMATS = {
    "encode": ("e5m2", "e4m3", "e3m2", "e2m3", "e2m1", "int8", "e4m3fnuz", "ue4m3", "binary8p3"),
    "encode_scale": ("e8m0",),
    "shared_scale": ("e5m2", "e4m3", "e3m2", "e2m3", "e2m1", "int8"),
}
#: Members that have no answer to some input.
NOT_ANSWERED = ("stochastic_a", "stochastic_b", "stochastic_c", "error")


def members(op: str, choice: str) -> list[str]:
    known = [member.value for member in Policy.members(choice)]
    refused = [*NOT_ANSWERED, *(["wrap"] if op == "encode_scale" else [])]
    return [value for value in known if value not in refused]


def expanded(op: str, format: str, float: str, policy: Policy) -> np.ndarray[Any, Any]:
    found = steps(op, format, float, policy)
    runs = list(found.runs(0, found.end))
    assert [first for first, _, _ in runs[1:]] == [end for _, end, _ in runs[:-1]]
    return np.concatenate([np.full(end - first, answer) for first, end, answer in runs])


def check(op: str, format: str, float: str, policy: Policy) -> None:
    questions = [[bits] for bits in range(input_count(op, format, float))]
    wanted = np.array(exact_answers(op, format, float, questions, policy))[:, 0]
    got = expanded(op, format, float, policy)
    differ = np.flatnonzero(wanted != got)
    assert not differ.size, (op, format, float, str(policy), [hex(i) for i in differ[:3]])


def some_policies(op: str, count: int, choice: random.Random) -> Iterator[Policy]:
    for _ in range(count):
        changed = {n: choice.choice(members(op, n)) for n in READS[op] if choice.random() < 0.6}
        yield Policy().replace(**changed)


@pytest.mark.sampled(6)
@pytest.mark.parametrize("op", FORMATS)
def test_steps_are_all_that_happens(op: str) -> None:
    choice = random.Random(f"steps of {op}")
    for policy in some_policies(op, 10, choice):
        check(op, choice.choice(FORMATS[op]), choice.choice(["bf16", "f16"]), policy)


@pytest.mark.sampled(6)
@pytest.mark.parametrize(
    ("op", "format", "float", "policy"), rows("cases", "answers_that_come_back")
)
def test_answers_that_come_back(op: str, format: str, float: str, policy: str) -> None:
    check(op, format, float, Policy.parse(policy))


@pytest.mark.parametrize("policy", ["ocp", "ocp+rounding=to_odd+overflow=nonsaturating"])
def test_steps_of_float32(policy: str) -> None:
    choices = dict(part.split("=") for part in policy.split("+")[1:])
    found = steps("encode", "e4m3", "f32", Policy.parse(policy))
    draws = random.Random(1)
    inputs = [draws.getrandbits(32) for _ in range(2000)]
    inputs += [max(start - d, 0) for start in found.starts.tolist() for d in (0, 1)]
    for bits in inputs:
        ((_, _, code),) = found.runs(bits, bits + 1)
        assert code == exact.encode(bits, "f32", "e4m3", **choices), hex(bits)


def test_runs_are_cut_to_the_range() -> None:
    # e2m1: 0.25 and below is zero, what is above is 0.5 up to the tie at 0.75.
    found = steps("encode", "e2m1", "f32", Policy())
    first, step, next_step = 0x3E7FFFFF, 0x3E800001, 0x3F400000
    assert list(found.runs(first, step)) == [(first, step, 0)]
    assert list(found.runs(first, next_step + 1)) == [
        (first, step, 0),
        (step, next_step, 1),
        (next_step, next_step + 1, 2),
    ]


def test_decode_has_an_answer_to_each_code() -> None:
    found = steps("decode", "e2m1", "f32", Policy())
    numbers = [0.0, 0.5, 1.0, 1.5, 2.0, 3.0, 4.0, 6.0]
    wanted = np.float32([*numbers, *(-n for n in numbers)]).view(np.uint32)
    assert expanded("decode", "e2m1", "f32", Policy()).tolist() == wanted.tolist()
    assert found.end == 16


def test_counts() -> None:
    assert input_count("encode", "e4m3", "f32") == 1 << LAYOUTS["f32"].width
    assert input_count("shared_scale", "e4m3", "bf16") == 1 << 15
    assert input_count("decode_scale", "e8m0", "f32") == 256


# --- changes --------------------------------------------------------------------------------------


@pytest.mark.parametrize("rounding", ["ties_to_even", "to_odd", "toward_positive"])
@pytest.mark.parametrize("format", ["e5m2", "e4m3", "e2m1", "int8"])
def test_encode_steps_are_those_of_the_published_tables(format: str, rounding: str) -> None:
    for float in WIDTH:
        policy = Policy().replace(rounding=rounding)
        wanted = table_steps(format, float, rounding)
        assert len(wanted) > 10
        assert sorted(changes("encode", format, float, policy)) == sorted(wanted)


def every_step(codes: np.ndarray) -> set[int]:
    """Where codes of consecutive magnitudes change."""
    return set((np.flatnonzero(codes[1:] != codes[:-1]) + 1).tolist())


@pytest.mark.parametrize("float", ["f16", "bf16"])
@pytest.mark.parametrize("rule", ["floor", "rceil", "even", "nearest_log2", "tosa"])
def test_scale_steps_are_all_there_are(float: str, rule: str) -> None:
    words = np.arange(INFINITY[float] + 1, dtype=np.uint16)
    for format in ("e4m3", "int8"):
        policy = Policy().replace(scale_rule=rule, zero_block="one")
        codes = mxref.shared_scale(words.view(SOURCES[float]), format, policy=policy)
        assert set(changes("shared_scale", format, float, policy)) == every_step(codes)
