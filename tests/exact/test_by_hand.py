"""Calls of the slow twin, and what they give: typed from texts, measured, or worked out by hand."""

from __future__ import annotations

from collections.abc import Callable
from fractions import Fraction
from typing import Any

import pytest
from refused import assert_says, refusals
from tables import choices, codes, pattern, rows

from mxref import exact

#: The rows of section 2 of the survey of implementations, float32 bits to E8M0.
E8M0_INPUTS = (
    0x00000000,  # +0
    0x80000000,  # -0
    0xBF800000,  # -1
    0x00000001,  # 2**-149
    0x00400000,  # 2**-127
    0x0040A3D7,  # 1.01 * 2**-127
    0x00600000,  # 1.5 * 2**-127
    0x3FB504F8,  # 1.4142...
    0x3FC00000,  # 1.5
    0x40400000,  # 3
    0x7F400000,  # 1.5 * 2**127
    0x7F800000,  # Inf
    0x7FC00000,  # NaN
    0xFFC00000,  # -NaN
)


def patterns(numbers: str, source: str) -> list[int]:
    return [pattern(word, source) for word in numbers.split()]


@pytest.mark.parametrize(("types", "numbers", "chosen", "expected"), rows("exact", "encode"))
def test_encode(types: str, numbers: str, chosen: str, expected: str) -> None:
    source, format = types.split()
    x = patterns(numbers, source)
    found = [exact.encode(bits, source, format, **each) for each in choices(chosen) for bits in x]
    assert found == codes(expected)


@pytest.mark.parametrize(("source", "numbers", "chosen", "expected"), rows("exact", "encode_scale"))
def test_encode_scale(source: str, numbers: str, chosen: str, expected: str) -> None:
    x = patterns(numbers, source)
    found = [exact.encode_scale(bits, source, **each) for each in choices(chosen) for bits in x]
    assert found == codes(expected)


@pytest.mark.parametrize(("flavour", "chosen", "expected"), rows("exact", "scale_casts"))
def test_published_flavours_of_encode_scale(flavour: str, chosen: str, expected: str) -> None:
    (named,) = choices(chosen)
    assert [exact.encode_scale(x, "f32", **named) for x in E8M0_INPUTS] == codes(expected)


@pytest.mark.parametrize(("types", "amax", "chosen", "expected"), rows("exact", "shared_scale"))
def test_shared_scale(types: str, amax: str, chosen: str, expected: str) -> None:
    source, format = types.split()
    x = pattern(amax, source)
    found = [exact.shared_scale(x, source, format, **each) for each in choices(chosen)]
    assert found == codes(expected)


@pytest.mark.parametrize(("types", "numbers", "chosen", "expected"), rows("exact", "quantize"))
def test_quantize(types: str, numbers: str, chosen: str, expected: str) -> None:
    source, format = types.split()
    x = patterns(numbers, source)
    blocks = [exact.quantize(x, source, format, **each) for each in choices(chosen)]
    assert [[scale, *some] for scale, some in blocks] == [codes(one) for one in expected.split("/")]


@pytest.mark.parametrize(("types", "code", "chosen", "expected"), rows("exact", "decode"))
def test_decode(types: str, code: str, chosen: str, expected: str) -> None:
    format, target = types.split()
    slots = (target,) if format == "e8m0" else (format, target)
    operation = exact.decode_scale if format == "e8m0" else exact.decode
    assert [operation(int(code, 16), *slots, **each) for each in choices(chosen)] == codes(expected)


@pytest.mark.parametrize(
    ("types", "scale", "code", "chosen", "expected"), rows("exact", "dequantize")
)
def test_dequantize(types: str, scale: str, code: str, chosen: str, expected: str) -> None:
    format, target = types.split()
    block = int(scale, 16), int(code, 16)
    found = [exact.dequantize(*block, format, target, **each) for each in choices(chosen)]
    assert found == codes(expected)


@pytest.mark.parametrize(("format", "code", "expected"), rows("exact", "value"))
def test_value(format: str, code: str, expected: str) -> None:
    assert exact.value(int(code, 16), format) == Fraction(expected)


@pytest.mark.parametrize(
    ("operation", "types", "words", "chosen", "message"), rows("exact", "refused")
)
def test_refused_in_one_sentence(
    operation: str, types: str, words: str, chosen: str, message: str
) -> None:
    slots = types.split()
    inputs: list[Any] = [int(word, 16) for word in words.split()]
    (named,) = choices(chosen)
    if operation == "quantize":
        inputs = [inputs]
    with pytest.raises(ValueError, match=f"^{message}") as caught:
        getattr(exact, operation)(*inputs, *slots, **named)
    assert "\n" not in str(caught.value)


@pytest.mark.parametrize(("call", "kind", "text"), refusals("exact", "refused_calls"))
def test_refused_calls(call: Callable[[], object], kind: type[Exception], text: str) -> None:
    assert_says(call, kind, text)


def test_only_integers_are_patterns_and_codes() -> None:
    for wrong in (1.0, True):
        for call in (lambda x: exact.encode(x, "f16", "e4m3"), lambda x: exact.decode(x, "e2m1")):
            with pytest.raises(ValueError, match=f"must be a Python int .*; got {wrong}"):
                call(wrong)
    # Equal to what has been read, and of another type: a cache would not tell them apart.
    assert exact.quantize([1, 0], "u8", "e2m1") == (125, [6, 0])
    for block in ([True, 0], [1, 0.0], [1, 256], [1, 256]):
        with pytest.raises(ValueError, match=r"^x_bits must be a Python int from 0 to 0xff; got "):
            exact.quantize(block, "u8", "e2m1")
