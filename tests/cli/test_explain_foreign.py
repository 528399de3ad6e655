"""``mxref explain bfp8``: what is said of formats that mxref does not have, by tt-metal's code."""

from __future__ import annotations

from dataclasses import replace

import pytest
from commands import Call, Example, examples
from helpers import ROOT

from mxref.formats.foreign import FOREIGN


@pytest.mark.parametrize("example", examples(ROOT / "tests" / "cli" / "data" / "foreign.txt"))
def test_in_words(example: Example, call: Call) -> None:
    example.check(call)


def tt_metal(magnitude: int, exponent: int, bits: int) -> float:
    """`convert_bfp_to_u32` of tt-metal: the magnitude is normalized, then put into a float."""
    shift = 0
    while not magnitude >> bits - 1:
        magnitude, shift = magnitude << 1, shift + 1
    fraction = (magnitude << 1) & (1 << bits) - 1
    return 2.0 ** (exponent - shift - 127) * (1 + fraction / (1 << bits))


@pytest.mark.parametrize("name", FOREIGN)
def test_values_are_those_of_the_source(name: str) -> None:
    one = FOREIGN[name]
    assert (one.block_size, one.exponent_bits, one.exponent_bias) == (16, 8, 127)
    assert one.magnitude_bits == {"bfp8": 7, "bfp4": 3, "bfp2": 1}[name]
    assert one.bits_per_element == {"bfp8": 8.5, "bfp4": 4.5, "bfp2": 2.5}[name]
    for exponent in (100, 127, 200):
        for magnitude in range(1, 1 << one.magnitude_bits):
            found = magnitude * 2.0 ** (exponent - one.unit)
            assert found == tt_metal(magnitude, exponent, one.magnitude_bits)


def test_a_row_is_all_that_another_needs(call: Call, monkeypatch: pytest.MonkeyPatch) -> None:
    other = replace(FOREIGN["bfp8"], name="bfp6", others=(), magnitude_bits=5, owner="Nobody")
    monkeypatch.setitem(FOREIGN, "bfp6", other)
    said = call("explain", "bfp6").out
    assert said.startswith("bfp6: a block format of Nobody that mxref does not have\n")
    assert "a sign and 5 bits of magnitude" in said
    assert "-0.5 is 28 here and e0 there" in " ".join(said.split())  # 8/16, and a sign of 20
    assert call("explain", "BFP6", "--json").json["answers"][0]["bits per element"] == 6.5
