"""Streams: the same everywhere, chained as the contract says, answered by both references.

Digests are made here from the bytes of inputs and of `mxref.exact`'s answers; splitmix64's words
come from the published algorithm written again with Python integers.
"""

from __future__ import annotations

import hashlib
from collections.abc import Callable
from typing import Any

import numpy as np
import pytest
from helpers import ELEMENT, exact_words
from tables import rows

from mxref import exact
from mxref.bits.floats import LAYOUTS
from mxref.cli import main
from mxref.golden import case_streams
from mxref.golden.case_streams import CHAIN, CaseStream, every_stream
from mxref.golden.level2 import DisagreementError
from mxref.operands.splitmix import splitmix64

BYTES = {"f16": 2, "bf16": 2, "f32": 4, "f64": 8}


def test_splitmix64_is_the_published_generator() -> None:
    state, words = 1234567, []
    for _ in range(5):
        state = (state + 0x9E3779B97F4A7C15) % 2**64
        z = (state ^ state >> 30) * 0xBF58476D1CE4E5B9 % 2**64
        z = (z ^ z >> 27) * 0x94D049BB133111EB % 2**64
        words.append(z ^ z >> 31)
    # The first five outputs that Rosetta Code and other implementations give for this seed.
    assert words[0] == 6457827717110365317
    assert words[4] == 16408922859458223821
    assert splitmix64(1234567, 5).tolist() == words
    assert splitmix64(1234567, 2, 3).tolist() == words[3:]


def answers(one: CaseStream, words: list[int]) -> bytes:
    """The slow twin's answer to a case, as bytes."""
    found = exact_words(one.op, one.format, one.float, words, one.policy)
    width = BYTES[one.float] if one.op == "dequantize" else 1
    return b"".join(word.to_bytes(width, "little") for word in found)


def inputs(one: CaseStream, words: list[int]) -> bytes:
    width = 1 if one.op == "dequantize" else BYTES[one.float]
    return b"".join(word.to_bytes(width, "little") for word in words)


def next_state(state: bytes, one: CaseStream, start: int, count: int) -> bytes:
    """The state after some cases, from the bytes of their inputs and exact answers."""
    cases = one.inputs(start, count).tolist()
    state += b"".join(inputs(one, words) for words in cases)
    state += b"".join(answers(one, words) for words in cases)
    return hashlib.sha256(state).digest()


@pytest.mark.sampled(12)
@pytest.mark.parametrize("one", every_stream(99), ids=lambda one: one.name)
def test_the_state_is_the_chained_digest_of_inputs_and_exact_answers(one: CaseStream) -> None:
    count = 150 if one.op in ("quantize", "dequantize") else 1000
    text = f"mxref-stream-1 99 {one.op} {one.format} {one.float} ocp"
    state = next_state(hashlib.sha256(text.encode()).digest(), one, 0, count)
    assert list(one.chain(count)) == [(count, state.hex())]


def test_states_are_chained_every_65536_cases() -> None:
    one = CaseStream("encode", "e2m1", "bf16", 5)
    assert CHAIN == 65536
    state, expected = one.first_state, []
    for start, count in ((0, 65536), (65536, 65536), (131072, 10)):
        state = next_state(state, one, start, count)
        expected.append((start + count, state.hex()))
    assert list(one.chain(131082)) == expected
    assert next(one.chain()) == expected[0]  # an endless one


FROZEN = rows("golden", "streams")


@pytest.mark.parametrize(("name", "state"), FROZEN)
def test_streams_are_frozen(name: str, state: str) -> None:
    assert list(CaseStream(*name.split("."), 2026).chain(300)) == [(300, state)]


@pytest.mark.parametrize("one", every_stream(7), ids=lambda one: one.name)
def test_a_case_does_not_depend_on_how_many_are_asked_for(one: CaseStream) -> None:
    whole = one.inputs(0, 257)
    parts = [one.inputs(start, count) for start, count in ((0, 1), (1, 100), (101, 156))]
    assert whole.tobytes() == np.concatenate(parts).tobytes()
    assert len(whole) == 257


def test_seeds_formats_and_floats_give_other_cases() -> None:
    firsts = {
        one.inputs(0, 8).tobytes() for seed in (0, 1, 2**64 - 1) for one in every_stream(seed)
    }
    assert len(firsts) == 3 * len(every_stream(0))


@pytest.mark.parametrize("format", ["e5m2", "e2m3", "int8"])
@pytest.mark.parametrize("float", LAYOUTS)
def test_many_scalars_are_near_thresholds(format: str, float: str) -> None:
    """Where the code changes within three floats: rare by chance, one case in 15 here."""
    bits = CaseStream("encode", format, float, 3).inputs(0, 3000).reshape(-1).tolist()
    last = (1 << 8 * BYTES[float]) - 1

    def code(pattern: int) -> int:
        return exact.encode(pattern & last, float, format)

    assert sum(code(bit - 3) != code(bit + 3) for bit in bits) > 200
    assert len({code(bit) for bit in bits}) > 50


@pytest.mark.parametrize("format", ELEMENT)
def test_blocks_reach_scales_and_specials(format: str) -> None:
    blocks = CaseStream("quantize", format, "f32", 3).inputs(0, 4000)
    magnitude = blocks & np.uint32(0x7FFFFFFF)
    assert (magnitude.max(axis=1) == 0).sum() >= 3
    assert (magnitude == 0x7F800000).any()
    assert (magnitude > 0x7F800000).any()
    assert ((magnitude > 0) & (magnitude < 0x00800000)).any()
    largest = magnitude.max(axis=1) >> 23
    assert len(np.unique(largest)) == 256
    assert set(magnitude.argmax(axis=1).tolist()) == set(range(32))
    spread = largest - (magnitude >> 23).min(axis=1)
    assert len(np.unique(spread)) > 100


def test_dequantized_codes_are_codes() -> None:
    for one in every_stream(4):
        if one.op == "dequantize" and one.float == "f32":
            words = one.inputs(0, 3000)
            width = {"e3m2": 6, "e2m3": 6, "e2m1": 4}.get(ELEMENT[one.format], 8)
            assert np.unique(words[:, 1:]).tolist() == list(range(1 << width))
            assert np.unique(words[:, 0]).tolist() == list(range(256))


# --- a wrong reference is found -------------------------------------------------------------------


@pytest.mark.parametrize("name", ["encode.e4m3.f64", "quantize.mxint8.f16"])
def test_a_difference_is_printed_as_a_case(name: str, monkeypatch: pytest.MonkeyPatch) -> None:
    right = case_streams.fast_answers

    def wrong(*arguments: Any) -> Any:
        found = right(*arguments)
        found[61 * 3] ^= 1  # the slow twin answers one case in 61
        return found

    monkeypatch.setattr(case_streams, "fast_answers", wrong)
    one = CaseStream(*name.split("."), 1)
    words = one.inputs(61 * 3, 1)[0].tolist()
    with pytest.raises(DisagreementError) as caught:
        next(one.chain(1000))
    text = str(caught.value)
    assert f"disagree on {' '.join(name.split('.'))} under ocp: in " in text
    digits = 2 * BYTES[one.float]
    assert " ".join(f"{word:0{digits}x}" for word in words) in text
    want = " ".join(f"{byte:02x}" for byte in answers(one, words))
    assert f", slow {want}, fast " in text


def test_the_checked_share_meets_every_residue() -> None:
    """61 is prime to the parts' sizes, so that no kind of case is left out for ever."""
    assert CHAIN % case_streams._PART == 0
    assert case_streams._PART % case_streams._SHARE != 0
    assert len({index * 61 % 64 for index in range(64)}) == 64


# --- the command ----------------------------------------------------------------------------------


@pytest.fixture
def regen(capsys: pytest.CaptureFixture[str]) -> Callable[[str], list[str]]:
    """The words that are printed."""

    def call(words: str) -> list[str]:
        status = main(["regen", "--stream", *words.split()])
        out, err = capsys.readouterr()
        assert (status, err) == (0, "")
        return out.split()

    return call


def test_the_command_prints_names_counts_and_states(regen: Callable[[str], list[str]]) -> None:
    name, state = FROZEN[0]
    assert regen(f"--seed 2026 --count 300 --only {name}") == [name, "300", state]


@pytest.mark.sampled(3)
def test_seconds_end_an_endless_stream(regen: Callable[[str], list[str]]) -> None:
    name, count, state, *_ = regen("--seed 1 --seconds 0.5 --only encode.e2m1.")
    first = next(CaseStream("encode", "e2m1", "f32", 1).chain())
    assert (name, int(count), state) == ("encode.e2m1.f32", *first)


def test_a_policy_is_another_stream(regen: Callable[[str], list[str]]) -> None:
    policy = "ocp+rounding=to_odd"
    found = regen(f"--seed 1 --count 9 --only encode.e2m1.f32 --policy {policy}")
    start = hashlib.sha256(f"mxref-stream-1 1 encode e2m1 f32 {policy}".encode()).digest()
    state = next_state(start, CaseStream("encode", "e2m1", "f32", 1, policy), 0, 9)
    assert found == ["encode.e2m1.f32", "9", state.hex()]
