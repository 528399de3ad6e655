"""Random policies of all choices: the vectorised path and the slow twin agree on every code."""

from __future__ import annotations

import itertools
import random

import numpy as np
import pytest
from helpers import ROUNDINGS
from hypothesis import given, settings
from hypothesis import strategies as st

import mxref
from mxref import exact
from mxref.bits.floats import LAYOUTS, FloatLayout, split
from mxref.formats.catalog import (
    BLOCK_FORMATS,
    CODE_FORMATS,
    E8M0,
    ELEMENT_FORMATS,
    OTHER_FORMATS,
    BlockFormat,
    code_format,
    element_format,
)
from mxref.golden import models
from mxref.golden.designed_blocks import designed_blocks
from mxref.golden.rounding_blocks import rounding_blocks
from mxref.numbers.codes import view_codes
from mxref.numbers.element import encode_parts
from mxref.policy.groups import ElementPolicy
from mxref.policy.policy import READS, Policy

ELEMENTS = (*ELEMENT_FORMATS, *OTHER_FORMATS)
CODED = tuple(CODE_FORMATS)
EXACT_NAMES = {"scale_rule": "rule", "scale_rounding": "rounding"}
LEFT_OUT = {("nan_to_finite", "error"), ("encode_scale", "wrap")}


def policies(op: str) -> st.SearchStrategy[dict[str, str]]:
    """Some choices that an operation reads, each with one of its members."""
    members = {
        name: [
            member.value
            for member in Policy.members(name)
            if "stochastic" not in member.value
            and (name, member.value) not in LEFT_OUT
            and (op, member.value) not in LEFT_OUT
        ]
        for name in READS[op]
        if name not in ("tail", "scale_arithmetic")  # neither changes a block with an E8M0 scale
    }
    each = {name: st.sampled_from(values) for name, values in members.items()}
    names = st.lists(st.sampled_from(sorted(each)), unique=True, max_size=5)
    return names.flatmap(lambda chosen: st.fixed_dictionaries({n: each[n] for n in chosen}))


def exact_names(choices: dict[str, str]) -> dict[str, str]:
    return {EXACT_NAMES.get(name, name): value for name, value in choices.items()}


def floats(bits: list[int], layout: FloatLayout) -> np.ndarray:
    return np.array(bits, layout.uint).view(layout.dtype)


def patterns(layout: FloatLayout, near: str, seed: int) -> list[int]:
    """A share of the threshold cases of a format, and random patterns."""
    generator = random.Random(seed)
    known = list(models.encode_inputs(ELEMENT_FORMATS.get(near, ELEMENT_FORMATS["e4m3"]), layout))
    return known[seed % 9 :: 9] + [generator.getrandbits(layout.width) for _ in range(150)]


SOURCES = st.sampled_from(tuple(LAYOUTS))
SEEDS = st.integers(0, 1000)


@pytest.mark.sampled(6)
@given(policies("encode"), SOURCES, st.sampled_from(CODED), SEEDS)
def test_encode(choices: dict[str, str], source: str, format: str, seed: int) -> None:
    layout = LAYOUTS[source]
    bits = patterns(layout, format, seed)
    got = mxref.encode(floats(bits, layout), format, **choices).tolist()
    assert got == [exact.encode(b, source, format, **choices) for b in bits]


@given(policies("encode"), st.sampled_from(("e4m3", "int8", "e2m1", "e5m2fnuz", "ue5m3")))
@settings(max_examples=60)
def test_encode_by_table_and_without(choices: dict[str, str], format: str) -> None:
    """Large arrays look keys up in a table, small ones do not: both are one function."""
    fmt = code_format(format)
    policy = Policy().replace(**choices)
    if policy.element.pre_rounding != ElementPolicy().pre_rounding:
        return  # rounded before either path
    if policy.element.subnormal_inputs != ElementPolicy().subnormal_inputs:
        return
    layout = LAYOUTS["f32"]
    bits = np.array(patterns(layout, format, 0) * 90, np.uint32)
    directly = encode_parts(split(bits, layout), fmt, policy.element)
    assert mxref.encode(bits.view(np.float32), format, policy).tolist() == directly.tolist()


@pytest.mark.sampled(6)
@given(
    policies("encode"),
    SOURCES,
    st.sampled_from(CODED),
    st.sampled_from("abc"),
    st.integers(1, 32),
    SEEDS,
)
def test_encode_stochastically(
    choices: dict[str, str], source: str, format: str, variant: str, width: int, seed: int
) -> None:
    layout = LAYOUTS[source]
    bits = patterns(layout, format, seed)
    generator = random.Random(seed)
    draws = [generator.choice([0, (1 << width) - 1, generator.getrandbits(width)]) for _ in bits]
    choices["rounding"] = f"stochastic_{variant}"
    got = mxref.encode(
        floats(bits, layout), format, random_bits=draws, random_width=width, **choices
    ).tolist()
    want = [
        exact.encode(b, source, format, random_bits=r, random_width=width, **choices)
        for b, r in zip(bits, draws, strict=True)
    ]
    assert got == want


@pytest.mark.sampled(6)
@given(policies("encode"), st.sampled_from(CODED), st.integers(0, 3), st.booleans(), SEEDS)
def test_encode_of_integers(
    choices: dict[str, str], format: str, size: int, signed: bool, seed: int
) -> None:
    width = 8 << size
    generator = random.Random(seed)
    patterns = [0, 1, (1 << width) - 1, 1 << width - 1, (1 << width - 1) - 1]
    patterns += [generator.getrandbits(generator.randint(1, width)) for _ in range(100)]
    values = np.array(patterns, f"u{width // 8}").view(f"{'i' if signed else 'u'}{width // 8}")
    got = mxref.encode(values, format, **choices).tolist()
    source = f"{'i' if signed else 'u'}{width}"
    assert got == [exact.encode(b, source, format, **choices) for b in patterns]


SMALL = ("e5m2", "e4m3", "e3m2", "e2m3", "e2m1", "e4m3fnuz", "e5m2fnuz", "e3m4", "e4m3_ieee")


@pytest.mark.sampled(6)
@given(policies("encode"), st.sampled_from(SMALL), st.sampled_from(CODED))
def test_encode_of_small_floats(choices: dict[str, str], source: str, format: str) -> None:
    fmt = element_format(source)
    codes = np.arange(fmt.code_count, dtype=np.uint8)
    got = mxref.encode(view_codes(codes, fmt), format, **choices).tolist()
    assert got == [exact.encode(c, source, format, **choices) for c in codes.tolist()]


@pytest.mark.sampled(6)
@given(policies("encode_scale"), SOURCES, st.integers(0, 6))
def test_encode_scale(choices: dict[str, str], source: str, start: int) -> None:
    layout = LAYOUTS[source]
    bits = list(models.encode_scale_inputs(layout))[start::7]
    bits += [layout.sign_bit, layout.sign_bit | 1, layout.sign_bit | layout.inf_bits]
    bits += [layout.sign_bit | layout.nan_bits]
    got = mxref.encode_scale(floats(bits, layout), **choices).tolist()
    assert got == [exact.encode_scale(b, source, **exact_names(choices)) for b in bits]


@pytest.mark.sampled(6)
@given(policies("shared_scale"), SOURCES, st.sampled_from(ELEMENTS), st.integers(0, 3))
def test_shared_scale(choices: dict[str, str], source: str, format: str, start: int) -> None:
    layout = LAYOUTS[source]
    near = format if format in ELEMENT_FORMATS else "e4m3"
    bits = list(models.shared_scale_inputs(layout, ELEMENT_FORMATS[near]))[start::4]
    policy = Policy().replace(**choices)
    got = mxref.shared_scale(floats(bits, layout), format, policy=policy).tolist()
    want = [exact.shared_scale(b, source, format, **exact_names(choices)) for b in bits]
    assert got == want


def blocks_of(layout: FloatLayout, format: str, seed: int) -> list[list[int]]:
    generator = random.Random(seed)
    like = ELEMENT_FORMATS.get(format, ELEMENT_FORMATS["e2m1"])
    designed = (*designed_blocks(like, layout), *rounding_blocks(like, layout))
    blocks = [block for _, block in designed][seed % 11 :: 11]
    top = (1 << layout.exponent_bits) - 1
    for _ in range(8):
        centre, spread = generator.randrange(1, top), generator.randrange(1, 30)
        fields = [min(max(centre - generator.randrange(spread), 0), top) for _ in range(32)]
        block = [
            field << layout.mantissa_bits
            | generator.getrandbits(layout.mantissa_bits)
            | generator.getrandbits(1) * layout.sign_bit
            for field in fields
        ]
        if generator.random() < 0.4:
            special = generator.choice([layout.inf_bits, layout.nan_bits])
            block[generator.randrange(32)] = special | generator.getrandbits(1) * layout.sign_bit
        blocks.append(block)
    return blocks


@pytest.mark.sampled(6)
@pytest.mark.parametrize("source", LAYOUTS)
@pytest.mark.parametrize("block", BLOCK_FORMATS)
def test_quantize_of_designed_and_random_blocks(block: str, source: str) -> None:
    layout, format = LAYOUTS[source], BLOCK_FORMATS[block].element.name
    blocks = [row for seed in range(11) for row in blocks_of(layout, format, seed)]
    for overflow, rounding in itertools.product(("saturate", "nonsaturating"), ROUNDINGS[::3]):
        choices = {"overflow": overflow, "rounding": rounding}
        got = mxref.quantize(floats(blocks, layout), block, **choices)
        for i, bits in enumerate(blocks):
            scale, codes = exact.quantize(bits, source, format, **choices)
            assert got.scale_codes[i].tolist() == [scale], bits
            assert got.codes[i].tolist() == codes, bits


@pytest.mark.sampled(6)
@given(policies("quantize"), SOURCES, st.sampled_from(ELEMENTS), SEEDS)
def test_quantize(choices: dict[str, str], source: str, format: str, seed: int) -> None:
    layout = LAYOUTS[source]
    blocks = blocks_of(layout, format, seed)
    whole = BlockFormat("test", element_format(format), E8M0, 32)
    got = mxref.quantize(floats(blocks, layout), whole, **choices)
    for i, block in enumerate(blocks):
        scale, codes = exact.quantize(block, source, format, **exact_names(choices))
        assert got.scale_codes[i].tolist() == [scale]
        assert got.codes[i].tolist() == codes


@pytest.mark.sampled(6)
@given(policies("dequantize"), SOURCES, st.sampled_from(ELEMENTS), st.integers(0, 255))
def test_dequantize(choices: dict[str, str], target: str, format: str, scale: int) -> None:
    layout, fmt = LAYOUTS[target], element_format(format)
    codes = np.arange(fmt.code_count, dtype=np.uint8)
    scales = np.uint8([[scale], [0], [1], [0xFE], [0xFF]])
    whole = BlockFormat("test", fmt, E8M0, fmt.code_count)
    tensor = mxref.Blocks(np.tile(codes, (5, 1)), scales, whole, 1, (5, fmt.code_count))
    got = tensor.dequantize(layout.dtype, **choices).view(layout.uint).tolist()
    for row, one in zip(got, scales[:, 0].tolist(), strict=True):
        assert row == [exact.dequantize(one, c, format, target, **choices) for c in codes.tolist()]
