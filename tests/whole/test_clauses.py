"""Every clause of SPEC_NOTES that mxref decides today, by an example typed from the texts.

Facts are lines of data/clauses.txt and calls.txt; the name of each other test is its clause. Not
here: N26 to N28 (dot products) and N35 (flags).
"""

from __future__ import annotations

import ast
from typing import Any

import numpy as np
import pytest
from helpers import SOURCES
from refused import call_of
from tables import rows

import mxref
from mxref.formats.catalog import E8M0, BlockFormat, block_format

FACTS = [
    pytest.param(*line.split(" -> "), id=line) for line in map(" ".join, rows("whole", "clauses"))
]


def number(text: str, float_type: str) -> Any:
    """A number as it is written, or its pattern."""
    kind = np.dtype(SOURCES[float_type])
    if text[0] == "#":
        return np.array(int(text[1:], 16), f"u{kind.itemsize}").view(kind)
    return kind.type(float.fromhex(text) if "0x" in text else float(text))


@pytest.mark.parametrize(("asked", "want"), FACTS)
def test_a_fact(asked: str, want: str) -> None:
    _, op, format, *words = asked.split()
    op, _, float_type = op.partition(".")
    float_type = float_type or "f32"
    choices: Any = dict(word.split("=") for word in words if "=" in word)
    given = [word for word in words if "=" not in word]
    if op in ("decode", "decode_scale", "dequantize", "pack"):
        got = of_codes(op, format, bytes.fromhex("".join(given)), SOURCES[float_type], choices)
        if op != "pack":
            numbers = np.array([number(word, float_type) for word in want.split()])
            assert got.tobytes() == numbers.tobytes()
            return
    else:
        x = np.array([number(word, float_type) for word in given])
        got = of_numbers(op, format, x, choices)
    pairs = zip(want.split(), got.tolist(), strict=True)
    assert want.split() == ["_" if hand == "_" else f"{code:02x}" for hand, code in pairs]


@pytest.mark.parametrize(("_clause", "call", "result"), rows("whole", "calls"))
def test_a_call(_clause: str, call: str, result: str) -> None:
    assert call_of(call)() == ast.literal_eval(result)


def of_codes(op: str, format: str, given: bytes, dtype: Any, choices: Any) -> Any:
    codes = np.frombuffer(given, np.uint8)
    if op == "pack":
        packed = mxref.pack(codes, format, block_size=4, **choices)
        back = mxref.unpack(packed, format, len(codes), block_size=4, **choices)
        assert back.tolist() == codes.tolist()
        return packed
    if op == "dequantize":
        fmt = BlockFormat(format, block_format(format).element, E8M0, 1)
        blocks = mxref.Blocks(codes[1:], codes[:1], fmt, 0, (1,))
        return blocks.dequantize(dtype, **choices)
    if op == "decode":
        return mxref.decode(codes, format, dtype, **choices)
    return mxref.decode_scale(codes, dtype, **choices)


def of_numbers(op: str, format: str, x: Any, choices: Any) -> Any:
    if op == "quantize":
        found = mxref.quantize(x, format, block_size=len(x), **choices)
        return np.concatenate([found.scale_codes, found.codes])
    if op == "encode_scale":
        return mxref.encode_scale(x, **choices)
    return getattr(mxref, op)(x, format, **choices)


@pytest.mark.parametrize("k", [-100, -31, -8, -1, 0, 1, 5, 10, 64, 127])
def test_n2_log2_is_exact_just_below_a_power_of_two(k: int) -> None:
    power = np.float32(2.0**k)
    amax = np.array([np.nextafter(power, np.float32(0)), power])
    assert mxref.shared_scale(amax, "int8").tolist() == [k - 1 + 127, k + 127]


@pytest.mark.parametrize("variant", ["a", "b", "c"])
def test_n18_stochastic_rounding(variant: str) -> None:
    # 2.375 is 3/8 of the way from 2 to 3; of the 8 values of 3 bits, 3 round up.
    drawn: Any = {"random_bits": np.arange(8), "random_width": 3}
    rounding = f"stochastic_{variant}"
    codes = mxref.encode(np.full(8, 2.375), "e2m1", rounding=rounding, **drawn)
    assert sorted(codes.tolist()) == [4] * 5 + [5] * 3
    exact = mxref.encode(np.full(8, 3.0), "e2m1", rounding=rounding, **drawn)
    assert set(exact.tolist()) == {5}


def test_n18_hardware_forms_are_variant_a() -> None:
    generator = np.random.default_rng(3)
    values = generator.uniform(-400, 400, 20_000).astype(np.float32)
    values = values[np.abs(values) >= 2.0**-6]  # E4M3's normal numbers
    seeds = generator.integers(0, 1 << 32, values.size, np.uint32)
    # AMD from float32 to E4M3: the top 20 bits of the seed are added to the 20 bits that go.
    added = (values.view(np.uint32) + (seeds >> np.uint32(12))) & np.uint32(0xFFF00000)
    want = mxref.encode(added.view(np.float32), "e4m3")
    got = mxref.encode(
        values, "e4m3", rounding="stochastic_a", random_bits=seeds >> np.uint32(12), random_width=20
    )
    assert got.tolist() == want.tolist()
    # Transformer Engine's software E2M1: 8 random bits of a step are added, then truncated.
    small = generator.uniform(0, 6, 5_000)
    bits = generator.integers(0, 256, small.size)
    step = np.where(small < 2, 0.5, np.where(small < 4, 1.0, 2.0))
    floor = np.floor((small + bits / 256 * step) / step) * step
    got = mxref.encode(small, "e2m1", rounding="stochastic_a", random_bits=bits, random_width=8)
    assert mxref.decode(got, "e2m1").tolist() == floor.tolist()
