"""`quantize` and `dequantize` under every kind of scales: both references, by the registry."""

from __future__ import annotations

import numpy as np
import pytest

from mxref.cases.answers import answerable, exact_answers, fast_answers, reads
from mxref.cases.drawn import drawn
from mxref.exact import float_scale
from mxref.formats.catalog import FLOAT_SCALED_FORMATS, ScaleKind
from mxref.operations.block_twin import TWINS
from mxref.operations.registry import REGISTRY
from mxref.policy.policy import Policy

ROWS = [name for name, fmt in FLOAT_SCALED_FORMATS.items() if not fmt.is_tiled]
POLICIES = (
    "ocp",
    "ocp+amax_floor=1e-4+element_from=reciprocal",
    "ocp+scale_from=reciprocal+scale_power=bit_ceiling+element_from=multiplier",
    "ocp+block_nan=ignore+amax_floor=scale+scale_from=source_quotient+element_from=quotient",
    "ocp+rounding=toward_zero+scale_from=multiplier_or_one+scale_power=exp2_ceil_log2",
)


@pytest.mark.parametrize("policy", POLICIES)
@pytest.mark.parametrize("float", ["f32", "bf16", "f16", "f64"])
@pytest.mark.parametrize("format", ROWS)
def test_both_references_quantize_alike(format: str, float: str, policy: str) -> None:
    chosen = Policy.parse(policy)
    assert answerable("quantize", format, float, chosen)
    words = drawn("quantize", format, float, 24)
    fast = fast_answers("quantize", format, float, words, chosen)
    assert fast.tolist() == [
        list(one) for one in exact_answers("quantize", format, float, words.tolist(), chosen)
    ]


@pytest.mark.parametrize("format", FLOAT_SCALED_FORMATS)
def test_both_references_dequantize_alike(format: str) -> None:
    words = drawn("dequantize", format, "bf16", 60)
    for policy in ("ocp", "ocp+product_overflow=saturate+product_rounding=scale_first"):
        chosen = Policy.parse(policy)
        fast = fast_answers("dequantize", format, "bf16", words, chosen)
        exact = exact_answers("dequantize", format, "bf16", words.tolist(), chosen)
        assert fast.tolist() == [list(one) for one in exact]


def test_a_tile_is_quantized_whole() -> None:
    (name,) = (one for one in FLOAT_SCALED_FORMATS if one.startswith("fp8_e4m3") and "x" in one)
    words = np.zeros((1, 128 * 128), np.uint64)
    words[0, [0, 5000]] = 0x3F800000, 0xC3E00000  # 1 and -448
    (answer,) = fast_answers("quantize", name, "f32", words, Policy()).tolist()
    assert (answer[0], answer[1], answer[5001]) == (0x3F800000, 0x38, 0xFE)
    assert [answer] == [
        list(one) for one in exact_answers("quantize", name, "f32", words.tolist(), Policy())
    ]


def test_choices_of_other_scales_are_not_read() -> None:
    """A policy that names them is that without them; random bits have no answer."""
    policy = Policy.parse("ocp+scale_rule=rceil+amax_floor=1e-4")
    assert REGISTRY["quantize"].changed(policy, ROWS[0]) == {"amax_floor": "1e-4"}
    assert REGISTRY["quantize"].changed(policy, "mxint8") == {"scale_rule": "rceil"}
    assert "scale_ff" not in reads("dequantize", ROWS[0])
    stochastic = Policy.parse("ocp+rounding=stochastic_a")
    assert not answerable("quantize", ROWS[0], "f32", stochastic)
    assert answerable("dequantize", ROWS[0], "f32", stochastic)


def test_every_kind_of_scales_has_a_row() -> None:
    assert {*TWINS} == {*ScaleKind}
    for twin in TWINS.values():
        assert all({*twin.known[op]} - {*twin.reads[op]} <= {"tail", "scale_arithmetic", *_ELEMENTS}
                   for op in ("quantize", "dequantize"))  # fmt: skip


_ELEMENTS = reads("encode")


def test_words_of_cases() -> None:
    """Scales are words of eight digits, patterns of float32; a target gets and gives floats."""
    words = np.full((2, 129), 0x38, np.uint64)
    words[:, 0] = 0x3F800000, 0x40000000
    (asked,) = REGISTRY["dequantize"].calls(ROWS[0], "f32", words)
    assert asked.arguments["scale_codes"].dtype == np.float32
    assert asked.arguments["scale_codes"].tolist() == [1.0, 2.0]
    (asked,) = REGISTRY["quantize"].calls(ROWS[0], "f32", np.full((2, 128), 0x43E00000, np.uint64))
    codes = np.full((2, 128), 0x7E, np.uint8)
    for scales in (np.float32([1.0, 1.0]), np.uint32([0x3F800000] * 2), np.float32([[1.0], [1.0]])):
        assert asked.read((scales, codes)).tolist() == [[0x3F800000, *[0x7E] * 128]] * 2


@pytest.mark.parametrize("policy", ["ocp", "ocp+amax_floor=1e-4+element_from=quotient"])
def test_numbers_that_repeat_in_a_block_are_asked_once(
    policy: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    """A tile has 16,384 elements, few of them different: else its answers take seconds."""
    asked = []
    read = float_scale.read_checked
    monkeypatch.setattr(
        float_scale, "read_checked", lambda *one: (asked.append(one[1]), read(*one))[1]
    )
    words = [0x3F800000, 0xC3E00000, 0x3F800000, 0x80000000] * 32
    chosen = Policy.parse(policy)
    ((_, *codes),) = exact_answers("quantize", "fp8_e4m3_f32", "f32", [tuple(words)], chosen)
    assert codes[:4] * 32 == codes
    assert codes[:4] == [0x38, 0xFE, 0x38, 0x80]
    assert asked == [0x3F800000, 0xC3E00000, 0x80000000]


def test_codes_that_repeat_in_a_block_are_asked_once(monkeypatch: pytest.MonkeyPatch) -> None:
    asked = []
    read = float_scale.dequantize_float_scaled
    monkeypatch.setattr(
        "mxref.exact.dequantize_float_scaled",
        lambda *one, **some: (asked.append(one[1]), read(*one, **some))[1],
    )
    words = (0x3F800000, *[0x38, 0xFE, 0x38, 0x80] * 32)
    (numbers,) = exact_answers("dequantize", "fp8_e4m3_f32", "f32", [words], Policy())
    assert list(numbers[:4]) == [0x3F800000, 0xC3E00000, 0x3F800000, 0x80000000]
    assert sorted(asked) == [0x38, 0x80, 0xFE]
