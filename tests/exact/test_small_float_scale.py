"""The slow twin of two-level scaling: hand arithmetic, brute force and a processor's float32.

Source: PTX ISA (mxf4nvf4), cuBLAS (1D block scaling); `mxref.exact.formulas` names the others.
"""

from __future__ import annotations

import random
import struct
from collections.abc import Callable
from fractions import Fraction
from itertools import product as pairs

import numpy as np
import pytest
from tables import codes, pattern, rows

from mxref.exact.arithmetic import Float
from mxref.exact.format_table import FLOATS
from mxref.exact.patterns import float_reader, write_float
from mxref.exact.small_float_scale import dequantize_scaled, quantize_scaled

FOUR_OVER_SIX = ("transformer_engine_4over6", "transformer_engine_4over6_mse")
ARITHMETICS = (
    *("exact", "torchao", "transformer_engine", *FOUR_OVER_SIX, "cublas", "compressed_tensors"),
)
E2M1 = [Fraction(n, 2) for n in (0, 1, 2, 3, 4, 6, 8, 12)]
INF, NAN = 0x7F800000, 0x7FC00000


def ue_value(code: int, bias: int) -> Fraction:
    exponent, mantissa = divmod(code, 8)
    if exponent == 0:
        return Fraction(mantissa, 8) * Fraction(2) ** (1 - bias)
    return Fraction(8 + mantissa, 8) * Fraction(2) ** (exponent - bias)


SCALES = {
    "ue4m3": [ue_value(code, 7) for code in range(0x7F)],
    "ue5m3": [ue_value(code, 15) for code in range(0xFF)],
}


def f32(*numbers: float) -> list[int]:
    return [struct.unpack("<I", struct.pack("<f", x))[0] for x in numbers]


def read(bits: int) -> Fraction:
    return Fraction(struct.unpack("<f", struct.pack("<I", bits))[0])


def nearest(x: Fraction, values: list[Fraction]) -> int:
    """The code of the nearest value, the even one of two; beyond the last, the last."""
    if x >= values[-1]:
        return len(values) - 1
    below = max(code for code, v in enumerate(values) if v <= x)
    distance, up = x - values[below], values[below + 1] - x
    return below + (distance > up or (distance == up and below % 2 == 1))


# --- the float arithmetic -------------------------------------------------------------------------

EDGES = {
    "f32": [0, 1, 0x7FFFFF, 0x800000, 0x800001, 0x3F800000, 0x40C00000, 0x7F7FFFFF, INF, NAN],
    "f16": [0, 1, 0x3FF, 0x400, 0x401, 0x3C00, 0x4600, 0x7BFF, 0x7C00, 0x7E00],
}


@pytest.mark.parametrize("name", ["f32", "f16"])
def test_products_and_quotients_are_the_processors(name: str) -> None:
    kind, width = FLOATS[name], int(name[1:])
    drawn = random.Random(name)
    bits = EDGES[name] + [code + (1 << (width - 1)) for code in EDGES[name]]
    operands = list(pairs(bits, bits))
    operands += [(drawn.getrandbits(width), drawn.getrandbits(width)) for _ in range(4000)]
    # Close exponents, so that most results are neither Inf nor zero.
    middle, spread = 1 << (width - 2), 1 << (width - 5)
    near = [middle + drawn.randrange(-spread, spread) for _ in range(8000)]
    operands += list(zip(near[::2], near[1::2], strict=True))
    a, b = (
        np.array(side, f"uint{width}").view(f"float{width}") for side in zip(*operands, strict=True)
    )
    read_bits = float_reader(kind)
    with np.errstate(all="ignore"):
        expected = {"*": a * b, "/": a / b}
    for operation, results in expected.items():
        for (x, y), result in zip(operands, results, strict=True):
            p, q = Float(read_bits(x), kind), Float(read_bits(y), kind)
            got = write_float((p * q if operation == "*" else p / q).number, kind)
            want = kind.quiet_nan if np.isnan(result) else int(result.view(f"uint{width}"))
            assert got == want, (hex(x), operation, hex(y))


def test_limits_keep_sign_and_nan() -> None:
    reading, kind = float_reader(FLOATS["f32"]), FLOATS["f32"]
    six = Float((0, 6, 0), kind)

    def limited(bits: int, method: str) -> int:
        return write_float(getattr(Float(reading(bits), kind), method)(six).number, kind)

    for method, expected in (
        ("at_most", f32(6.0, -6.0, 6.0, -6.0, 5.0, -0.0)),
        ("at_least", [*f32(7.0, -7.0), INF, INF + 2**31, *f32(6.0, -6.0)]),
    ):
        inputs = [*f32(7.0, -7.0), INF, INF + 2**31, *f32(5.0, -0.0)]
        assert [limited(bits, method) for bits in inputs] == expected
        assert limited(NAN, method) == NAN


# --- exact ----------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("arithmetic", "tensor", "types", "blocks", "stored", "want"), rows("exact", "two_levels")
)
def test_tensors_by_hand(
    arithmetic: str, tensor: str, types: str, blocks: str, stored: str, want: str
) -> None:
    source, scale_format = types.split()
    x = [[pattern(word, source) for word in block.split()] for block in blocks.split("/")]
    given = {"": None, "dynamic": "dynamic", "0": 0}[tensor]
    found, got = quantize_scaled(x, source, "e2m1", scale_format, arithmetic, given)
    assert found == (int(stored, 16) if stored else None)
    assert [[scale, *some] for scale, some in got] == [codes(one) for one in want.split("/")]


def test_exact_tensor_scale_at_its_ends() -> None:
    def scale_of(bits: int, source: str = "f32") -> int | None:
        return quantize_scaled([[bits]], source, "e2m1", "ue4m3", tensor_scale="dynamic")[0]

    assert scale_of(0) == scale_of(0x80000000) == 0x3F800000
    assert [scale_of(n) for n in (1, 1344, 1345, 2688, 4032, 4033)] == [1, 1, 1, 1, 2, 2]
    assert scale_of(6720) == 2  # 2.5 times the smallest: to even
    assert scale_of(0x7FEFFFFFFFFFFFFF, "f64") == 0x7F7FFFFF
    assert (
        scale_of(0x7F7FFFFF) == f32(float(np.float32(np.float64(3.4028234663852886e38) / 2688)))[0]
    )


def drawn_blocks(seed: str, count: int, size: int = 8) -> list[list[int]]:
    """Blocks of float32: magnitudes alike, spread out, tiny, and multiples of sixths of scales."""
    drawn = random.Random(seed)
    blocks = []
    for index in range(count):
        middle = drawn.randrange(100, 154)
        width = (0, 3, 20)[index % 3]
        block = [
            (min(254, max(0, middle + drawn.randint(-width, 0))) << 23) | drawn.getrandbits(23)
            for _ in range(size)
        ]
        if index % 5 == 0:  # few significant bits: many ties
            block = [bits & 0xFFE00000 for bits in block]
        if index % 7 == 0:
            block[drawn.randrange(size)] = 0
        blocks.append([bits | drawn.getrandbits(1) << 31 for bits in block])
    return blocks


@pytest.mark.parametrize("scale_format", ["ue4m3", "ue5m3"])
@pytest.mark.parametrize("tensor_scale", [None, "dynamic", 0x3FAAAAAB])
def test_exact_is_nearest_of_all_codes(scale_format: str, tensor_scale: int | str | None) -> None:
    scales = SCALES[scale_format]
    blocks = drawn_blocks(scale_format, 150)
    bits, got = quantize_scaled(blocks, "f32", "e2m1", scale_format, tensor_scale=tensor_scale)
    largest = max(abs(read(x)) for block in blocks for x in block)
    factor = Fraction(1)
    if bits is not None:
        factor = read(bits)
        if tensor_scale == "dynamic":
            want = largest / (6 * scales[-1])
            errors = [abs(read(bits + step) - want) for step in (-1, 0, 1)]
            assert errors[1] < min(errors[0], errors[2])
    for block, (code, elements) in zip(blocks, got, strict=True):
        numbers = [read(x) for x in block]
        assert code == nearest(max(map(abs, numbers)) / (6 * factor), scales)
        for x, number, element in zip(block, numbers, elements, strict=True):
            want_code = nearest(abs(number) / (scales[code] * factor), E2M1) if code else 0
            assert element == want_code + (8 if x >> 31 else 0)


def test_choices_of_elements() -> None:
    block = f32(6.0, -0.0, -0.125, 0.3)

    def elements(**choices: str) -> list[int]:
        return quantize_scaled([block], "f32", "e2m1", "ue4m3", **choices)[1][0][1]

    assert elements() == [7, 8, 8, 1]
    assert elements(zero_sign="dropped") == [7, 0, 8, 1]
    assert elements(rounding="toward_negative") == [7, 8, 9, 0]


# What the arithmetics make in float32 is that of another reading of their formulas: see
# test_two_level.py in tests/blocks. What is read back is typed here.

F = np.float32


# --- back -----------------------------------------------------------------------------------------


@pytest.mark.parametrize("arithmetic", ARITHMETICS)
def test_dequantize_without_tensor_scale_is_the_product(arithmetic: str) -> None:
    for scale_format, scales in SCALES.items():
        for code, scale in enumerate(scales):
            for element, number in enumerate(E2M1):
                bits = dequantize_scaled(None, code, element + 8, "e2m1", scale_format, arithmetic)
                assert bits >> 31 == 1
                assert read(bits) == -number * scale
        nan = dequantize_scaled(None, len(scales), 1, "e2m1", scale_format, arithmetic)
        assert nan == NAN


DEQUANTIZED: dict[str, Callable[[np.float32, np.float32, np.float32], np.float32]] = {
    "torchao": lambda x, s, t: x * (t * s),
    "transformer_engine": lambda x, s, t: ((s * t) * (F(1) / F(2688))) * x,
    **dict.fromkeys(FOUR_OVER_SIX, lambda x, s, t: ((s * t) * (F(1) / F(1536))) * x),
    "compressed_tensors": lambda x, s, t: x * (s / t),
}


@pytest.mark.parametrize("arithmetic", ARITHMETICS)
def test_dequantize_with_tensor_scale(arithmetic: str) -> None:
    drawn = random.Random(arithmetic)
    tensor_scales = [0, 1, 0x00800000, 0x3FAAAAAB, 0x7F7FFFFF, INF, NAN]
    tensor_scales += [drawn.getrandbits(31) for _ in range(200)]
    for t_bits in tensor_scales:
        code, element = drawn.randrange(0x7F), drawn.randrange(16)
        t = np.array(t_bits, np.uint32).view(F)[()]
        s = F(float(SCALES["ue4m3"][code]))
        x = F(float(E2M1[element % 8])) * F(-1 if element > 7 else 1)
        with np.errstate(all="ignore"):
            if arithmetic in DEQUANTIZED:
                want = DEQUANTIZED[arithmetic](x, s, t)
            else:
                # The float64 product has 24 + 4 + 2 bits at most and is exact; the quotient of a
                # 6-bit number by a 24-bit one is never so near a tie that 53 bits miss it.
                wide = np.float64(x) * np.float64(s)
                want = F(wide * np.float64(t) if arithmetic == "exact" else wide / np.float64(t))
        got = dequantize_scaled(t_bits, code, element, "e2m1", "ue4m3", arithmetic)
        assert got == (NAN if np.isnan(want) else int(want.view(np.uint32)))


def test_the_target_is_rounded_to_once_or_twice() -> None:
    # x = 1.5, scale 1.125, T = 1 + 2**-8 + 2**-23: 1.6875 * T, seen by bfloat16, whose spacing is
    # 2**-7. torchao rounds T * scale to float32 first.
    t, s = 0x3F808001, 0x39
    exact = Fraction(27, 16) * read(t)
    for arithmetic, number in (("exact", exact), ("cublas", Fraction(27, 16) / read(t))):
        wide = dequantize_scaled(t, s, 3, "e2m1", "ue4m3", arithmetic, "f64")
        narrow = dequantize_scaled(t, s, 3, "e2m1", "ue4m3", arithmetic, "bf16")
        assert struct.unpack("<d", struct.pack("<Q", wide))[0] == float(number)
        assert narrow == round(number * 128) + 0x3F80 - 128
    # The tie 1 + 2**-8 + a little: float32 loses what is below 2**-24 and bfloat16 ties to even.
    t = 0x3F808000
    assert dequantize_scaled(t, 0x38, 2, "e2m1", "ue4m3", "exact", "bf16") == 0x3F80
    assert dequantize_scaled(t + 1, 0x38, 2, "e2m1", "ue4m3", "exact", "bf16") == 0x3F81
