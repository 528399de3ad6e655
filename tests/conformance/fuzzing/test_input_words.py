"""What `fuzz` draws: packed bytes with bits that hold no code, whole blocks, layers of any size."""

from __future__ import annotations

from typing import Any

import pytest
from helpers import drawn

from mxref.conformance.fuzzing import input_words
from mxref.conformance.fuzzing.input_words import questions
from mxref.operands.word_rows import stripped
from mxref.policy.policy import Policy

Row = tuple[int, ...]


def rows_of(op: str, format: str, slot: str, count: int, policy: str = "ocp") -> list[Row]:
    """The rows of some examples."""
    some = drawn(questions(op, format, slot, Policy.parse(policy)), count)
    return [stripped(row) for words, _ in some for row in words]


def test_the_nibble_behind_an_odd_number_of_codes_may_have_all_bits() -> None:
    rows = rows_of("unpack", "e2m1", "low_nibble_first", 60)
    last = {row[-1] >> 4 for row in rows if row[0] % 2}
    assert last == {0, 0xF}
    codes = {byte for count, *some in rows for byte in some[: count // 2]}
    assert len(codes) > 16  # in the other nibbles any


def test_blocks_are_unpacked_whole() -> None:
    """A scale and 32 codes of four bits."""
    for row in rows_of("unpack_blocks", "mxfp4_e2m1", "bytes", 20, "ocp+scale_place=before"):
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
    shapes = rows_of("linear", "mxfp8_e4m3", "f32", 250)
    sequences, rows, inputs, outputs = (set(axis) for axis in zip(*shapes, strict=True))
    assert sequences == {1, 2, 3}
    assert {*range(1, 9), 15, 16, 17} <= rows <= {*range(1, 9), 15, 16, 17, *range(20, 41)}
    assert {*range(1, 9), 15, 16, 17, 31, 32, 33} <= inputs | outputs
    for a, b, k, n in shapes:
        assert a * b * (k + n) + k * n <= 4000
