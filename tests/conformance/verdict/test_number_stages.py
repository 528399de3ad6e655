"""Kernels of numbers and of products with two and three faults, each named with its stage.

They are made of plain NumPy and ml_dtypes; what must be said of them comes from what was planted.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import ml_dtypes
import numpy as np
import pytest
from helpers import vector_file
from numpy.typing import NDArray
from staged_kernels import Stages, assert_stages, cause_of, checked, named, stages_of

import mxref
from mxref.conformance import Extent, check, target_of

Values = NDArray[Any]
Encode = Callable[[Values, str], Values]
TYPES = {
    "e4m3": ml_dtypes.float8_e4m3fn,
    "e5m2": ml_dtypes.float8_e5m2,
    "e3m2": ml_dtypes.float6_e3m2fn,
    "e2m3": ml_dtypes.float6_e2m3fn,
    "e2m1": ml_dtypes.float4_e2m1fn,
}


# --- encode ---------------------------------------------------------------------------------------


def cut_to_float16(values: Values) -> Values:
    """Toward zero; beyond float16 as they are."""
    half = values.astype(np.float16)
    half = np.where(abs(half) > abs(values), np.nextafter(half, np.float16(0)), half)
    return np.where(abs(values) < 65504, half, values)


def through(change: Callable[[Values], Values], then: Encode) -> Encode:
    """Numbers are changed first."""

    def encode(values: Values, format: str) -> Values:
        with np.errstate(all="ignore"):
            return then(np.asarray(change(values)).astype(np.float32), format)

    return encode


def rounded(rounding: str) -> Encode:
    return lambda values, format: np.array(mxref.encode(values, format, rounding=rounding))


def with_code(some: Callable[[Values], Values], code: int, then: Encode) -> Encode:
    """Some numbers have one code."""

    def encode(values: Values, format: str) -> Values:
        codes = np.array(then(values, format))
        codes[some(values)] = code
        return codes

    return encode


def in_some(some: Callable[[Values], Values], one: Encode, other: Encode) -> Encode:
    return lambda values, format: np.where(
        some(values), one(values, format), other(values, format)
    ).astype(np.uint8)


right = rounded("ties_to_even")


#: Of each kernel in the table of stages how it encodes.
ENCODERS = {
    "ceil_as_integers": with_code(np.isnan, 3, through(np.trunc, rounded("toward_positive"))),
    "cut_to_float16": with_code(np.isposinf, 0x7F, through(cut_to_float16, right)),
    "subnormals_cut": with_code(
        np.isinf, 0, in_some(lambda x: abs(x) < 0.25, rounded("toward_zero"), right)
    ),
    "negatives_cut": with_code(
        np.isnan, 0x7B, in_some(lambda x: x.astype(np.float32) < 0, rounded("toward_zero"), right)
    ),
}


@pytest.mark.parametrize(("kernel", "said"), stages_of("encode").items())
def test_faults_of_encode_are_named(kernel: str, said: tuple[str, Stages]) -> None:
    stem, stages = said
    assert_stages(checked(ENCODERS[kernel], stem), stages)


def test_what_no_rule_gives_is_described_beside_special_numbers() -> None:
    """Numbers from 0.3 to 0.4 are one code too large; of NaN alone a rule is known."""
    shifted = in_some(
        lambda x: (abs(x) >= 0.375) & (abs(x) < 0.5), lambda v, f: right(v, f) + 1, right
    )
    cause = cause_of(checked(with_code(np.isnan, 1, shifted), "encode/e4m3.f32"))
    assert not cause.complete
    assert named(cause) == [
        ("special numbers", "NaN and -NaN become 01 = 0.001953125, not 7f = nan"),
        ("numbers", ""),
    ]
    assert "exactly where |x| is at least 0.375 and below 0.5" in cause.stages[1].rest
    assert cause.stages[0].left == 0


def test_a_code_is_said_with_the_number_that_it_is_in_each_format() -> None:
    encode = with_code(np.isnan, 1, in_some(lambda x: x < 0, rounded("toward_zero"), right))
    kernel = type("Kernel", (), {"encode": staticmethod(encode), "FORMATS": ["e4m3", "e2m1"]})
    files = [vector_file("encode/e4m3.f32"), vector_file("encode/e2m1.f32")]
    report = check(target_of(kernel, "kernel"), files, extent=Extent(elements=0))
    assert {
        one.formats: "NaN and -NaN become 01 = 0.5" in one.cause.text for one in report.findings
    } == {("e4m3",): False, ("e2m1",): True}


def test_random_bits_and_special_numbers_are_told_apart() -> None:
    def encode_stochastic(values: Values, bits: Values, width: int, format: str) -> Values:
        codes = mxref.encode(values, format, rounding="stochastic_a", random_bits=bits >> 2,
                             random_width=width)  # fmt: skip
        return np.where(np.isnan(values), 0, codes).astype(np.uint8)

    stem = "encode_stochastic/e2m1.f32"
    cause = cause_of(checked(encode_stochastic, stem, "ocp+rounding=stochastic_a"))
    assert cause.complete
    assert named(cause)[0] == ("rounding", "adds the random bits 2 places too low")
    assert named(cause)[1] == ("special numbers", "-NaN becomes 00 = 0, not 07 = 6")


# --- decode and dequantize ------------------------------------------------------------------------


def numbers_of(codes: Values, element: str) -> Values:
    if element == "int8":
        return codes.astype(np.int8) / 64.0
    return codes.astype(np.uint8).view(TYPES[element]).astype(np.float64)


def scales_of(codes: Values) -> Values:
    return np.where(codes == 255, np.nan, np.ldexp(1.0, codes.astype(np.int64) - 127))


def dequantizer(
    numbers: Callable[[Values, str], Values] = numbers_of,
    scales: Callable[[Values], Values] = scales_of,
    rows: Callable[[Values], Values] = lambda codes: np.repeat(codes[:, np.newaxis], 32, axis=1),
    lanes: Callable[[Values], Values] = lambda values: values,
    output: Callable[[Values, Any], Values] = lambda values, dtype: values.astype(dtype),
) -> Callable[..., Values]:
    """A `dequantize` in stages, each of which may be another one."""

    def dequantize(scale_codes: Values, codes: Values, format: str, dtype: Any) -> Values:
        element = mxref.formats.block_format(format).element.name
        with np.errstate(all="ignore"):
            values = scales(rows(scale_codes)) * numbers(codes, element)
            return output(lanes(values), dtype)

    return dequantize


def as_other(element: str) -> Callable[[Values, str], Values]:
    return lambda codes, _: numbers_of(codes, element)


def hidden_bit(codes: Values, element: str) -> Values:
    """Subnormal codes of E2M3 with a hidden one."""
    numbers = numbers_of(codes, element)
    small = (abs(numbers) < 1) & (numbers != 0)
    return np.where(small, (abs(numbers) + 1) / 2 * np.sign(numbers), numbers)


def ones_complement(codes: Values, _: str) -> Values:
    signed = codes.astype(np.int8).astype(np.int64)
    return np.where(signed < 0, -(~signed), signed) / 64.0


def without_nan(codes: Values, _: str) -> Values:
    sign, magnitude = codes >> 7, codes & 0x7F
    numbers = numbers_of(np.minimum(magnitude, 0x7E), "e4m3")
    return np.where(magnitude == 0x7F, 480.0, numbers) * np.where(sign, -1.0, 1.0)


def zero_and_power(codes: Values) -> Values:
    return np.where(codes == 0, 0.0, np.ldexp(1.0, codes.astype(np.int64) - 127))


def saturated(values: Values, dtype: Any) -> Values:
    largest = float(ml_dtypes.finfo(dtype).max)
    return np.clip(values, -largest, largest).astype(dtype)


def flushed(values: Values, dtype: Any) -> Values:
    return np.where(abs(values) < 2.0**-126, np.copysign(0, values), values).astype(dtype)


def odd_lanes_before(codes: Values) -> Values:
    """In odd lanes the scale of the block before; the first block has none."""
    rows = np.repeat(codes[:, np.newaxis], 32, axis=1)
    rows[1:, 1::2] = codes[:-1, np.newaxis]
    return rows


#: Of each kernel in the table of stages how it dequantizes.
DEQUANTIZERS = {
    "reversed_no_nan": dequantizer(without_nan, lanes=lambda v: v[:, ::-1], output=saturated),
    "twice_as_e3m2": dequantizer(as_other("e3m2"), lambda codes: 2 * scales_of(codes)),
    "zero_and_power": dequantizer(hidden_bit, zero_and_power),
    "odd_lanes_before": dequantizer(ones_complement, rows=odd_lanes_before),
    "halves_flushed": dequantizer(lanes=lambda v: np.roll(v, 16, axis=1), output=flushed),
    "through_float16": dequantizer(
        output=lambda v, d: v.astype(np.float16).astype(d), lanes=lambda v: v[:, ::-1]
    ),
}


@pytest.mark.parametrize(("kernel", "said"), stages_of("dequantize").items())
def test_faults_of_dequantize_are_named(kernel: str, said: tuple[str, Stages]) -> None:
    stem, stages = said
    assert_stages(checked(DEQUANTIZERS[kernel], stem), stages)


def test_codes_read_in_three_wrong_ways_are_named() -> None:
    def decode(codes: Values, _: str) -> Values:
        numbers = without_nan(codes, "e4m3")
        low = (codes & 0x78) == 0
        hidden = np.copysign((abs(numbers) + 2.0**-6) / 2, numbers)
        numbers = np.where(low & (numbers != 0), hidden, numbers)
        return np.where(codes == 0x80, 0, numbers).astype(np.float32)

    cause = cause_of(checked(decode, "decode/e4m3.f32"))
    assert cause.complete
    assert "reads subnormal codes with a hidden one" in cause.text
    assert "reads NaN as 480 with its sign" in cause.text
    assert cause.policy == "ocp+decoded_zero=dropped"


def test_a_stage_is_named_beside_one_of_which_no_rule_is_known() -> None:
    """Numbers of lane 5 are 1.5 times too large, and blocks are reversed."""

    def lanes(values: Values) -> Values:
        wrong = values.copy()
        wrong[:, 5] *= 1.5
        return wrong[:, ::-1]

    cause = cause_of(checked(dequantizer(lanes=lanes), "dequantize/mxint8.f32"))
    assert not cause.complete
    assert named(cause)[0] == ("places", "reverses a block")
    assert "position in the block is 26" in " ".join(stage.rest for stage in cause.stages)
