"""The format constants against OCP MX v1.0 Tables 1 to 7, typed again, and the look-ups by name."""

from __future__ import annotations

import dataclasses
import math
from collections.abc import Callable
from fractions import Fraction
from typing import Any, NamedTuple

import ml_dtypes
import numpy as np
import pytest
from helpers import sentence

from mxref import formats
from mxref.formats.catalog import (
    BINARY8P1UF,
    BINARY8P3,
    BINARY8P3UE,
    BINARY8P4,
    BINARY8P4UE,
    BLOCK_FORMATS,
    E1M2,
    E2M1,
    E2M3,
    E3M2,
    E3M4,
    E4M3,
    E4M3_IEEE,
    E4M3B11FNUZ,
    E4M3FNUZ,
    E5M0,
    E5M2,
    E5M2FNUZ,
    E8M0,
    ELEMENT_FORMATS,
    INT8,
    OTHER_BLOCK_FORMATS,
    OTHER_FORMATS,
    SCALE_FORMATS,
    UE4M3,
    UE5M3,
    BlockFormat,
    CodeFormat,
    ElementFormat,
    ScaleFormat,
    Specials,
    block_format,
    code_format,
    element_format,
    scale_format,
)

FLOAT_ELEMENTS = (E5M2, E4M3, E3M2, E2M3, E2M1)
ALL = (*FLOAT_ELEMENTS, INT8, E8M0, E5M0)
OTHERS = (E4M3FNUZ, E5M2FNUZ, E4M3B11FNUZ, E3M4, E4M3_IEEE, E1M2, BINARY8P3, BINARY8P4)
UNSIGNED = (UE4M3, UE5M3, BINARY8P1UF, BINARY8P3UE, BINARY8P4UE)
ELEMENT_NAMES = "e5m2, e4m3, e3m2, e2m3, e2m1, int8"
OTHER_NAMES = "e4m3fnuz, e5m2fnuz, e4m3b11fnuz, e3m4, e4m3_ieee, e1m2, binary8p3, binary8p4"
KNOWN_NAMES = f"{ELEMENT_NAMES}, {OTHER_NAMES}"
SCALE_NAMES = "e8m0, e5m0, ue4m3, ue5m3, binary8p1uf, binary8p3ue, binary8p4ue"
BLOCK_NAMES = (
    "mxfp8_e5m2, mxfp8_e4m3, mxfp6_e3m2, mxfp6_e2m3, mxfp4_e2m1, mxint8, "
    "nvfp4, fp4_ue4m3, fp4_ue5m3"
)


def by_name(fmt: CodeFormat | BlockFormat) -> str:
    return fmt.name


def power(exponent: int) -> Fraction:
    return Fraction(2) ** exponent


class Row(NamedTuple):
    """One column of the tables of OCP MX v1.0 5.3 and 5.4."""

    bits: int
    emax: int
    max_code: int
    max_normal: Fraction
    inf_codes: tuple[int, ...]
    nan_codes: tuple[int, ...]
    finite_codes: int
    distinct_values: int


TABLES = {
    "e5m2": Row(
        8, 15, 0x7B, Fraction(57344), (0x7C, 0xFC), (0x7D, 0x7E, 0x7F, 0xFD, 0xFE, 0xFF), 248, 247
    ),
    "e4m3": Row(8, 8, 0x7E, Fraction(448), (), (0x7F, 0xFF), 254, 253),
    "e3m2": Row(6, 4, 0x1F, Fraction(28), (), (), 64, 63),
    "e2m3": Row(6, 2, 0x1F, Fraction(15, 2), (), (), 64, 63),
    "e2m1": Row(4, 2, 0x7, Fraction(6), (), (), 16, 15),
    "int8": Row(8, 0, 0x7F, 1 + Fraction(63, 64), (), (), 256, 256),
    "e8m0": Row(8, 127, 0xFE, power(127), (), (0xFF,), 255, 255),
    "e5m0": Row(5, 15, 0x1E, power(15), (), (0x1F,), 31, 31),
}

# Exponent bits, mantissa bits, bias, smallest normal, largest and smallest subnormal.
FLOAT_TABLES = {
    "e5m2": (5, 2, 15, power(-14), Fraction(3, 4) * power(-14), power(-16)),
    "e4m3": (4, 3, 7, power(-6), Fraction(7, 8) * power(-6), power(-9)),
    "e3m2": (3, 2, 3, Fraction(1, 4), Fraction(3, 16), Fraction(1, 16)),
    "e2m3": (2, 3, 1, Fraction(1), Fraction(7, 8), Fraction(1, 8)),
    "e2m1": (2, 1, 1, Fraction(1), Fraction(1, 2), Fraction(1, 2)),
}

E2M1_VALUES = [0.0, 0.5, 1.0, 1.5, 2.0, 3.0, 4.0, 6.0]


def standard_value(code: int, name: str) -> Fraction:
    """The value of a finite code by the formula of MX 5.3, from its fields S, E and M."""
    if name in ("e8m0", "e5m0"):
        return power(code - {"e8m0": 127, "e5m0": 15}[name])
    if name == "int8":
        return Fraction(code - 256 if code >= 128 else code, 64)
    exponent_bits, m, bias, *_ = FLOAT_TABLES[name]
    digits = f"{code:0{1 + exponent_bits + m}b}"
    sign = -1 if digits[0] == "1" else 1
    exponent = int(digits[1 : 1 + exponent_bits], 2)
    fraction = Fraction(int(digits[1 + exponent_bits :], 2), 2**m)
    if exponent > 0:
        return sign * power(exponent - bias) * (1 + fraction)
    return sign * power(1 - bias) * fraction


def not_numbers(name: str) -> tuple[int, ...]:
    return TABLES[name].inf_codes + TABLES[name].nan_codes


@pytest.mark.parametrize("fmt", ALL, ids=by_name)
def test_tables(fmt: ElementFormat | ScaleFormat) -> None:
    row = TABLES[fmt.name]
    assert (fmt.bits, fmt.code_count, fmt.emax) == (row.bits, 2**row.bits, row.emax)
    assert (fmt.max_code, Fraction(fmt.max_normal)) == (row.max_code, row.max_normal)
    assert fmt.nan_codes == row.nan_codes
    assert fmt.inf_code == (row.inf_codes[0] if row.inf_codes else None)
    assert fmt.sign_bit == (0 if isinstance(fmt, ScaleFormat) else 2 ** (row.bits - 1))


@pytest.mark.parametrize("fmt", FLOAT_ELEMENTS, ids=by_name)
def test_tables_of_the_float_elements(fmt: ElementFormat) -> None:
    exponent_bits, mantissa_bits, bias, normal, largest, smallest = FLOAT_TABLES[fmt.name]
    assert (fmt.exponent_bits, fmt.mantissa_bits, fmt.bias) == (exponent_bits, mantissa_bits, bias)
    assert power(fmt.emin) == fmt.min_normal == normal
    assert (fmt.max_subnormal, fmt.min_subnormal) == (largest, smallest)


def test_table_7_e8m0() -> None:
    assert (E8M0.exponent_bits, E8M0.mantissa_bits, E8M0.bias) == (8, 0, 127)
    assert power(E8M0.emin) == E8M0.min_normal == power(-127)
    assert (E8M0.max_subnormal, E8M0.min_subnormal) == (None, None)
    assert (E8M0.value(0x00), E8M0.value(0x7F), E8M0.value(0xFE)) == (2.0**-127, 1.0, 2.0**127)
    assert not E8M0.signed


@pytest.mark.parametrize("name", TABLES)
def test_counts_of_codes_and_values(name: str) -> None:
    fmt = {f.name: f for f in ALL}[name]
    values = [fmt.value(code) for code in range(fmt.code_count)]
    finite = [value for value in values if math.isfinite(value)]
    assert len(finite) == TABLES[name].finite_codes
    assert len(set(finite)) == TABLES[name].distinct_values
    powers = [value for value in finite if value > 0 and math.frexp(value)[0] == 0.5]
    assert max(powers) == power(TABLES[name].emax)


def test_every_value_of_e2m1() -> None:
    values = [E2M1.value(code) for code in range(16)]
    assert values == E2M1_VALUES + [-value for value in E2M1_VALUES]
    assert [math.copysign(1, value) for value in values] == [1] * 8 + [-1] * 8


@pytest.mark.parametrize("fmt", ALL, ids=by_name)
def test_values_follow_the_formula_of_the_standard(fmt: ElementFormat | ScaleFormat) -> None:
    for code in set(range(fmt.code_count)) - set(not_numbers(fmt.name)):
        value = fmt.value(code)
        assert Fraction(value) == standard_value(code, fmt.name), hex(code)
        negative, magnitude = fmt.sign_and_magnitude(code)
        assert negative == (math.copysign(1, value) < 0), hex(code)
        n, q = fmt.magnitude_parts(magnitude)
        assert n * power(q) == abs(Fraction(value)), hex(code)


@pytest.mark.parametrize("fmt", FLOAT_ELEMENTS, ids=by_name)
def test_minus_zero_is_the_sign_bit_alone(fmt: ElementFormat) -> None:
    assert math.copysign(1, fmt.value(fmt.sign_bit)) == -1
    assert fmt.value(fmt.sign_bit) == 0


@pytest.mark.parametrize("fmt", ALL, ids=by_name)
def test_codes_that_are_no_numbers(fmt: ElementFormat | ScaleFormat) -> None:
    row = TABLES[fmt.name]
    assert all(math.isnan(fmt.value(code)) for code in row.nan_codes)
    assert [fmt.value(code) for code in row.inf_codes] == [math.inf, -math.inf][
        : len(row.inf_codes)
    ]


class Other(NamedTuple):
    """A format by its widths and bias, and what SPEC_NOTES (Formats) says of its codes."""

    exponent_bits: int
    mantissa_bits: int
    bias: int
    inf_codes: tuple[int, ...]
    nan_codes: tuple[int, ...]
    minus_zero: bool
    max_code: int
    max_normal: Fraction
    signed: bool = True


OTHER_TABLE = {
    "e4m3fnuz": Other(4, 3, 8, (), (0x80,), False, 0x7F, Fraction(240)),
    "e5m2fnuz": Other(5, 2, 16, (), (0x80,), False, 0x7F, Fraction(57344)),
    "e4m3b11fnuz": Other(4, 3, 11, (), (0x80,), False, 0x7F, Fraction(30)),
    "e3m4": Other(
        3, 4, 3, (0x70, 0xF0), (*range(0x71, 0x80), *range(0xF1, 0x100)), True, 0x6F, Fraction(15.5)
    ),
    "e4m3_ieee": Other(
        4, 3, 7, (0x78, 0xF8), (*range(0x79, 0x80), *range(0xF9, 0x100)), True, 0x77, Fraction(240)
    ),
    "e1m2": Other(1, 2, 1, (), (), True, 0x7, Fraction(7, 4)),
    "binary8p3": Other(5, 2, 16, (0x7F, 0xFF), (0x80,), False, 0x7E, Fraction(49152)),
    "binary8p4": Other(4, 3, 8, (0x7F, 0xFF), (0x80,), False, 0x7E, Fraction(224)),
    "ue4m3": Other(4, 3, 7, (), (0x7F,), False, 0x7E, Fraction(448), signed=False),
    "ue5m3": Other(5, 3, 15, (), (0xFF,), False, 0xFE, Fraction(114688), signed=False),
    "binary8p1uf": Other(8, 0, 128, (), (0xFF,), False, 0xFE, Fraction(2**126), signed=False),
    "binary8p3ue": Other(
        6, 2, 32, (0xFE,), (0xFF,), False, 0xFD, Fraction(5 * 2**29), signed=False
    ),
    "binary8p4ue": Other(5, 3, 16, (0xFE,), (0xFF,), False, 0xFD, Fraction(53248), signed=False),
}


@pytest.mark.parametrize("fmt", [*OTHERS, *UNSIGNED], ids=by_name)
def test_every_code_of_the_other_formats(fmt: CodeFormat) -> None:
    row = OTHER_TABLE[fmt.name]
    width = row.exponent_bits + row.mantissa_bits
    assert (fmt.exponent_bits, fmt.mantissa_bits) == (row.exponent_bits, row.mantissa_bits)
    assert (fmt.bias, fmt.signed, fmt.bits) == (row.bias, row.signed, row.signed + width)
    assert (fmt.max_code, Fraction(fmt.max_normal)) == (row.max_code, row.max_normal)
    assert fmt.inf_code == (row.inf_codes[0] if row.inf_codes else None)
    assert fmt.nan_codes == row.nan_codes
    assert fmt.has_negative_zero == row.minus_zero
    assert fmt.emax == log2_floor(row.max_normal)
    assert power(fmt.emin) == fmt.min_normal == power(1 - row.bias)
    step = power(1 - row.bias - row.mantissa_bits) if row.mantissa_bits else None
    assert fmt.min_subnormal == step
    assert fmt.max_subnormal == (power(1 - row.bias) - step if step else None)
    for code in range(fmt.code_count):
        value = fmt.value(code)
        negative, magnitude = divmod(code, 1 << width)
        if code in row.nan_codes:
            assert math.isnan(value), hex(code)
        elif code in row.inf_codes:
            assert value == (-math.inf if negative else math.inf), hex(code)
        else:
            exponent, fraction = divmod(magnitude, 1 << row.mantissa_bits)
            part = Fraction(fraction, 1 << row.mantissa_bits)
            want = power(max(exponent, 1) - row.bias) * ((exponent > 0) + part)
            assert Fraction(value) == (-want if negative else want), hex(code)
            assert math.copysign(1, value) == (-1 if negative else 1), hex(code)


def log2_floor(x: Fraction) -> int:
    return next(k for k in range(-300, 300) if power(k) <= x < power(k + 1))


def test_formats_that_have_a_negative_zero() -> None:
    names = [fmt.name for fmt in (*ALL, *OTHERS, *UNSIGNED) if fmt.has_negative_zero]
    assert names == ["e5m2", "e4m3", "e3m2", "e2m3", "e2m1", "e3m4", "e4m3_ieee", "e1m2"]


def test_the_nan_that_is_written_by_other_formats() -> None:
    written = {fmt.name: fmt.nan_code for fmt in (*OTHERS, *UNSIGNED)}
    assert written == {
        "e4m3fnuz": 0x80,
        "e5m2fnuz": 0x80,
        "e4m3b11fnuz": 0x80,
        "e3m4": 0x7F,
        "e4m3_ieee": 0x7F,
        "e1m2": None,
        "binary8p3": 0x80,
        "binary8p4": 0x80,
        "ue4m3": 0x7F,
        "ue5m3": 0xFF,
        "binary8p1uf": 0xFF,
        "binary8p3ue": 0xFF,
        "binary8p4ue": 0xFF,
    }


@pytest.mark.parametrize("fmt", [*ALL, *OTHERS, *UNSIGNED], ids=by_name)
def test_a_code_may_be_a_numpy_integer(fmt: CodeFormat) -> None:
    for code in range(fmt.code_count):
        want = np.float64(fmt.value(code)).tobytes()
        for kind in (np.uint8, np.int16, np.int64, np.uint64):
            assert np.float64(fmt.value(kind(code))).tobytes() == want, (kind, code)
    with pytest.raises(TypeError):
        fmt.value(1.0)  # type: ignore[arg-type]
    with pytest.raises(ValueError, match="code must be in"):
        fmt.value(np.int8(-1))


def test_codes_of_e2m1_and_int8_as_numpy_integers() -> None:
    assert E2M1.value(np.uint8(9)) == -0.5
    assert INT8.value(np.uint8(0x80)) == -2.0
    assert INT8.value(np.uint8(0xFF)) == -1 / 64


def test_the_nan_that_is_written_is_all_ones_without_a_sign() -> None:
    written = {fmt.name: fmt.nan_code for fmt in ALL if fmt.nan_code is not None}
    assert written == {"e5m2": 0x7F, "e4m3": 0x7F, "e8m0": 0xFF, "e5m0": 0x1F}


def test_int8_is_twos_complement_with_an_implicit_scale() -> None:
    codes = (0x00, 0x01, 0x40, 0x7F, 0x80, 0x81, 0xFF)
    assert [INT8.value(c) for c in codes] == [0, 2**-6, 1, 127 / 64, -2, -127 / 64, -(2**-6)]
    assert math.copysign(1, INT8.value(0)) == 1


@pytest.mark.parametrize(
    ("fmt", "code", "text"),
    [
        (E2M1, 16, "code must be in [0, 15] for e2m1, got 16"),
        (E3M2, -1, "code must be in [0, 63] for e3m2, got -1"),
        (INT8, -1, "code must be in [0, 255] for int8, got -1"),
        (E8M0, 256, "code must be in [0, 255] for e8m0, got 256"),
    ],
    ids=str,
)
def test_a_code_out_of_range(fmt: ElementFormat | ScaleFormat, code: int, text: str) -> None:
    assert sentence(ValueError, lambda: fmt.value(code)) == text


@pytest.mark.parametrize(
    ("fmt", "dtype"),
    [
        (E5M2, ml_dtypes.float8_e5m2),
        (E4M3, ml_dtypes.float8_e4m3fn),
        (E3M2, ml_dtypes.float6_e3m2fn),
        (E2M3, ml_dtypes.float6_e2m3fn),
        (E2M1, ml_dtypes.float4_e2m1fn),
        (E8M0, ml_dtypes.float8_e8m0fnu),
        (INT8, np.int8),
        (E4M3FNUZ, ml_dtypes.float8_e4m3fnuz),
        (E5M2FNUZ, ml_dtypes.float8_e5m2fnuz),
        (E4M3B11FNUZ, ml_dtypes.float8_e4m3b11fnuz),
        (E3M4, ml_dtypes.float8_e3m4),
        (E4M3_IEEE, ml_dtypes.float8_e4m3),
    ],
    ids=str,
)
def test_dtype_names(fmt: ElementFormat | ScaleFormat, dtype: Any) -> None:
    assert fmt.dtype_name == np.dtype(dtype).name
    if fmt is not INT8:
        values = np.arange(fmt.code_count, dtype=np.uint8).view(dtype).astype(np.float64)
        ours = np.array([fmt.value(code) for code in range(fmt.code_count)])
        assert np.array_equal(values, ours, equal_nan=True)


def test_formats_without_a_dtype() -> None:
    named = (*ALL, *OTHERS, *UNSIGNED)
    without = [fmt.name for fmt in named if fmt.dtype_name is None]
    assert without == ["e5m0", "e1m2", "binary8p3", "binary8p4", *(fmt.name for fmt in UNSIGNED)]


def test_registries_are_in_the_order_of_the_standard() -> None:
    assert ", ".join(ELEMENT_FORMATS) == ELEMENT_NAMES
    assert ", ".join((*BLOCK_FORMATS, *OTHER_BLOCK_FORMATS)) == BLOCK_NAMES
    assert ", ".join(OTHER_FORMATS) == OTHER_NAMES
    assert ", ".join(SCALE_FORMATS) == SCALE_NAMES
    for registry in (ELEMENT_FORMATS, OTHER_FORMATS, BLOCK_FORMATS, SCALE_FORMATS):
        assert [fmt.name for fmt in registry.values()] == list(registry)


@pytest.mark.parametrize(
    ("name", "element", "d"),
    [
        ("mxfp8_e5m2", E5M2, 8),
        ("mxfp8_e4m3", E4M3, 8),
        ("mxfp6_e3m2", E3M2, 6),
        ("mxfp6_e2m3", E2M3, 6),
        ("mxfp4_e2m1", E2M1, 4),
        ("mxint8", INT8, 8),
    ],
)
def test_table_1(name: str, element: ElementFormat, d: int) -> None:
    block = BLOCK_FORMATS[name]
    assert (block.element, block.element.bits, block.block_size) == (element, d, 32)
    assert (block.scale, block.scale.bits) == (E8M0, 8)
    assert block.bits_per_block == 8 + 32 * d
    assert not block.tensor_scale


def test_looking_up_a_name_gives_the_constant() -> None:
    for element in (*FLOAT_ELEMENTS, INT8, *OTHERS):
        assert element_format(element.name) is element
        assert code_format(element.name) is element
        assert getattr(formats, element.name.upper()) is element
    for scale in (E8M0, E5M0, *UNSIGNED):
        assert scale_format(scale.name) is scale
    for scale in UNSIGNED:
        assert code_format(scale.name) is code_format(scale) is scale
    for name, block in BLOCK_FORMATS.items():
        assert block_format(name) is block


def test_a_format_object_is_returned_as_it_is() -> None:
    element = dataclasses.replace(E4M3, name="mine")
    scale = dataclasses.replace(E8M0, name="mine")
    block = BlockFormat("mine", element, E8M0, 7)
    assert element_format(element) is element
    assert code_format(element) is element
    assert scale_format(scale) is scale
    assert block_format(block) is block


@pytest.mark.parametrize(
    ("look_up", "name", "text"),
    [
        (
            element_format,
            "e4m4",
            f"format must be one of {KNOWN_NAMES}, got 'e4m4' (did you mean 'e4m3'?)",
        ),
        (
            element_format,
            "E3M2",
            f"format must be one of {KNOWN_NAMES}, got 'E3M2' (did you mean 'e3m2'?)",
        ),
        # What begins as written is named before what merely resembles it.
        (
            element_format,
            "bin",
            f"format must be one of {KNOWN_NAMES}, got 'bin' (did you mean 'binary8p3'?)",
        ),
        (
            element_format,
            "fnuz",
            f"format must be one of {KNOWN_NAMES}, got 'fnuz' (did you mean 'e5m2fnuz'?)",
        ),
        (element_format, "zz", f"format must be one of {KNOWN_NAMES}, got 'zz'"),
        (element_format, "", f"format must be one of {KNOWN_NAMES}, got ''"),
        (element_format, "e8m0", "format must be an element format, got the scale format 'e8m0'"),
        (element_format, "ue4m3", "format must be an element format, got the scale format 'ue4m3'"),
        (code_format, "zz", f"format must be one of {KNOWN_NAMES}, got 'zz'"),
        (
            scale_format,
            "ue8m0",
            f"format must be one of {SCALE_NAMES}, got 'ue8m0' (did you mean 'e8m0'?)",
        ),
        (
            scale_format,
            "ue",
            f"format must be one of {SCALE_NAMES}, got 'ue' (did you mean 'ue4m3'?)",
        ),
        (scale_format, "zz", f"format must be one of {SCALE_NAMES}, got 'zz'"),
        (scale_format, "e4m3", "format must be a scale format, got the element format 'e4m3'"),
        (scale_format, "e1m2", "format must be a scale format, got the element format 'e1m2'"),
        (
            block_format,
            "mxfp8_e4m4",
            f"block_format must be one of {BLOCK_NAMES}, got 'mxfp8_e4m4' "
            "(did you mean 'mxfp8_e4m3'?)",
        ),
        (block_format, "zz", f"block_format must be one of {BLOCK_NAMES}, got 'zz'"),
    ],
)
def test_an_unknown_name(look_up: Callable[[str], object], name: str, text: str) -> None:
    assert sentence(ValueError, lambda: look_up(name)) == text


@pytest.mark.parametrize("block", BLOCK_FORMATS.values(), ids=by_name)
def test_a_block_format_for_an_element_format_and_the_other_way(block: BlockFormat) -> None:
    element = block.element.name
    assert sentence(ValueError, lambda: element_format(block.name)) == (
        f"format must be an element format, got the block format {block.name!r}: use {element!r}"
    )
    assert sentence(ValueError, lambda: block_format(element)) == (
        f"block_format must be a block format, got the element format {element!r}: "
        f"use {block.name!r}"
    )


@pytest.mark.parametrize("name", [3, None, 1.5, ["e4m3"], b"e4m3"], ids=repr)
def test_a_name_that_is_no_string(name: Any) -> None:
    got = f"or its name, got {type(name).__name__}"
    element = f"format must be an element format {got}"
    assert sentence(TypeError, lambda: element_format(name)) == element
    assert sentence(TypeError, lambda: code_format(name)) == element
    assert sentence(TypeError, lambda: scale_format(name)) == f"format must be a scale format {got}"
    assert sentence(TypeError, lambda: block_format(name)) == (
        f"block_format must be a block format {got}"
    )


@pytest.mark.parametrize(
    ("look_up", "wrong"),
    [
        (element_format, E8M0),
        (element_format, BLOCK_FORMATS["mxint8"]),
        (code_format, BLOCK_FORMATS["mxint8"]),
        (scale_format, E4M3),
        (scale_format, BLOCK_FORMATS["mxint8"]),
        (block_format, E4M3),
        (block_format, E8M0),
    ],
    ids=lambda thing: getattr(thing, "name", None),
)
def test_a_format_object_of_another_kind(look_up: Callable[[Any], object], wrong: Any) -> None:
    assert sentence(TypeError, lambda: look_up(wrong)).endswith(f"got {type(wrong).__name__}")


def test_what_encode_and_decode_can_take() -> None:
    assert sentence(ValueError, lambda: code_format("e8m0")) == (
        "format must have a zero, got e8m0: use encode_scale and decode_scale"
    )
    assert sentence(ValueError, lambda: code_format(E8M0)).startswith("format must have a zero")
    assert sentence(ValueError, lambda: code_format("e5m0")) == (
        "format must have a zero, got e5m0: use it as the scale of a BlockFormat"
    )
    wide = ElementFormat("e8m7", 8, 7, 127, Specials.IEEE)
    assert sentence(ValueError, lambda: code_format(wide)) == (
        "format must have at most 8 bits, got e8m7 with 16"
    )
    assert element_format(wide) is wide
    for block in BLOCK_FORMATS.values():
        assert sentence(ValueError, lambda name=block.name: code_format(name)) == (
            f"format must be an element format, got the block format {block.name!r}: "
            f"use {block.element.name!r}"
        )


@pytest.mark.parametrize(
    ("element", "scale", "got"),
    [
        ("e4m3", E8M0, "str and ScaleFormat"),
        (E4M3, "e8m0", "ElementFormat and str"),
        (E4M3, E4M3, "ElementFormat and ElementFormat"),
        (E8M0, E4M3, "ScaleFormat and ElementFormat"),
        (None, None, "NoneType and NoneType"),
    ],
)
def test_a_block_format_of_other_things(element: Any, scale: Any, got: str) -> None:
    assert sentence(TypeError, lambda: BlockFormat("mine", element, scale, 32)) == (
        f"mine must have an ElementFormat and a ScaleFormat, got {got}"
    )


@pytest.mark.parametrize("size", [1.5, 32.0, "32", None, np.float32(32)], ids=repr)
def test_a_block_size_of_another_type(size: Any) -> None:
    error = f"block_size must be an integer, got {type(size).__name__}"
    assert sentence(TypeError, lambda: BlockFormat("mine", E2M1, E8M0, size)) == error
    mxint8 = BLOCK_FORMATS["mxint8"]
    assert sentence(TypeError, lambda: dataclasses.replace(mxint8, block_size=size)) == error


def test_a_block_size_may_be_a_numpy_integer() -> None:
    block = BlockFormat("mine", E2M1, E8M0, np.uint8(200))  # type: ignore[arg-type]
    assert type(block.block_size) is int
    assert block.bits_per_block == 8 + 200 * 4
    assert (block, hash(block)) == ((twin := BlockFormat("mine", E2M1, E8M0, 200)), hash(twin))


@pytest.mark.parametrize("size", [0, -1, np.int8(-128)])
def test_a_block_has_at_least_one_element(size: int) -> None:
    assert sentence(ValueError, lambda: BlockFormat("mine", E2M1, E8M0, size)) == (
        f"block_size must be at least 1, got {size}"
    )
    assert BlockFormat("mine", E2M1, E8M0, 1).bits_per_block == 8 + 4
    none = "block_size must have a number for each axis, got ()"
    assert sentence(ValueError, lambda: BlockFormat("mine", E2M1, E8M0, ())) == none


@pytest.mark.parametrize("others", [(), (1, 3)])
def test_a_block_has_at_most_2_to_31_elements_along_an_axis(others: tuple[int, ...]) -> None:
    size: Any = (1 << 31, *others) if others else 1 << 31
    assert BlockFormat("mine", E2M1, E8M0, size).elements_per_block == (1 << 31) * (
        3 if others else 1
    )
    more: Any = ((1 << 31) + 1, *others) if others else (1 << 31) + 1
    assert sentence(ValueError, lambda: BlockFormat("mine", E2M1, E8M0, more)) == (
        f"block_size must be at most 2**31, got {more}"
    )


def test_a_format_of_two_levels_of_scales_can_be_described() -> None:
    scale = ScaleFormat("ue4m3", 4, 3, 7, Specials.TOP_CODE_NAN)
    assert scale == UE4M3
    block = BlockFormat("nvfp4", E2M1, scale, 16, tensor_scale=True)
    assert (block.element, block.scale, block.block_size) == (E2M1, scale, 16)
    assert block.tensor_scale
    assert block_format(block) is block
    # The non-negative half of E4M3.
    assert (scale.max_code, scale.max_normal, scale.nan_codes) == (0x7E, 448.0, (0x7F,))
    assert [scale.value(c) for c in range(127)] == [E4M3.value(c) for c in range(127)]


NAN = Specials.TOP_CODE_NAN
NO_SCALES = {
    "of 11 bits": ScaleFormat("a", 8, 3, 127),
    "of 9 bits": ScaleFormat("a", 9, 0, 127, NAN, subnormals=False),
    "of one bit": ScaleFormat("a", 1, 0, 0, NAN, subnormals=False),
    "without NaN": ScaleFormat("a", 5, 0, 15, subnormals=False),
    "with infinity": ScaleFormat("a", 5, 0, 15, Specials.INF_BELOW_NAN, subnormals=False),
    "with a fraction": ScaleFormat("a", 5, 1, 15, NAN, subnormals=False),
    "from 2**-128": ScaleFormat("a", 5, 0, 128, NAN, subnormals=False),
    "to 2**128": ScaleFormat("a", 5, 0, -98, NAN, subnormals=False),
    "to 2**134": ScaleFormat("a", 8, 0, 120, NAN, subnormals=False),
}


@pytest.mark.parametrize("scale", NO_SCALES.values(), ids=NO_SCALES)
def test_the_scale_of_a_block_is_a_byte_with_a_zero_or_powers(scale: ScaleFormat) -> None:
    assert sentence(ValueError, lambda: BlockFormat("mine", E2M1, scale, 32)) == (
        "mine must have scales of at most 8 bits with a zero, or 2 to 8 exponent bits alone for "
        "powers of two from 2**-127 to 2**127 and a NaN in the last code, as e8m0 has, got a"
    )


@pytest.mark.parametrize("bias", [127, 15, -97])
def test_powers_from_one_end_of_e8m0_to_the_other_are_scales(bias: int) -> None:
    scale = ScaleFormat("mine", 5, 0, bias, NAN, subnormals=False)
    assert BlockFormat("mine", E2M1, scale, 32).bits_per_block == 32 * 4 + 5
    with pytest.raises(ValueError, match="tensor_scale must be False with scales that are powers"):
        BlockFormat("mine", E2M1, scale, 32, tensor_scale=True)


@pytest.mark.parametrize("specials", [Specials.FNUZ, Specials.P3109])
def test_a_scale_format_has_no_minus_zero(specials: Specials) -> None:
    assert sentence(ValueError, lambda: ScaleFormat("mine", 5, 3, 15, specials)) == (
        f"specials of a scale format must not be {specials.value}, which has its NaN in place of "
        "-0, got mine: use none, top_code_nan, inf_below_nan or ieee"
    )


def test_a_scale_format_has_no_sign() -> None:
    assert sentence(ValueError, lambda: ScaleFormat("mine", 4, 3, 7, signed=True)) == (
        "a scale format must have no sign, got signed=True for mine"
    )
    assert sentence(ValueError, lambda: dataclasses.replace(E8M0, signed=True)) == (
        "a scale format must have no sign, got signed=True for e8m0"
    )
    scale = ScaleFormat("mine", 5, 3, 15)
    assert (scale.signed, scale.sign_bit, scale.bits, scale.code_count) == (False, 0, 8, 256)
    assert min(scale.value(code) for code in range(256)) == 0
    # With no code set apart, the all-ones exponent holds numbers.
    assert (scale.max_code, scale.max_normal) == (0xFF, 1.875 * 2.0**16)


@pytest.mark.parametrize("kind", [ElementFormat, ScaleFormat])
@pytest.mark.parametrize(
    ("changes", "error", "text"),
    [
        ({"exponent_bits": 4.0}, TypeError, "exponent_bits must be an integer, got float"),
        ({"mantissa_bits": "3"}, TypeError, "mantissa_bits must be an integer, got str"),
        ({"bias": None}, TypeError, "bias must be an integer, got NoneType"),
        ({"specials": "ieee"}, TypeError, "specials must be a Specials, got 'ieee'"),
        (
            {"exponent_bits": -1},
            ValueError,
            "mine must have fields of no negative width and a bias within 300, got -1, 3 and 7",
        ),
        (
            {"mantissa_bits": -3},
            ValueError,
            "mine must have fields of no negative width and a bias within 300, got 4, -3 and 7",
        ),
        (
            {"bias": -301},
            ValueError,
            "mine must have fields of no negative width and a bias within 300, got 4, 3 and -301",
        ),
        (
            {"mantissa_bits": 0, "specials": Specials.IEEE},
            ValueError,
            "mantissa_bits must be at least 1 for infinity and NaN in mine",
        ),
        (
            {"exponent_bits": 0, "mantissa_bits": 1, "specials": Specials.TOP_CODE_NAN},
            ValueError,
            "mine must have a number above zero: give it more bits",
        ),
        (
            {"exponent_bits": 1, "mantissa_bits": 0, "specials": Specials.INF_BELOW_NAN},
            ValueError,
            "mine must have a number above zero: give it more bits",
        ),
    ],
)
def test_a_format_that_cannot_be(
    kind: Any, changes: dict[str, Any], error: type[Exception], text: str
) -> None:
    good = {"name": "mine", "exponent_bits": 4, "mantissa_bits": 3, "bias": 7}
    assert kind(**good).max_code == 0x7F
    assert sentence(error, lambda: kind(**(good | changes))) == text


@pytest.mark.parametrize(
    ("thing", "field"),
    [(E4M3, "bias"), (E4M3, "twos_complement"), (E8M0, "name"), (BLOCK_FORMATS["mxint8"], "scale")],
)
def test_formats_are_frozen(thing: Any, field: str) -> None:
    with pytest.raises(dataclasses.FrozenInstanceError):
        setattr(thing, field, getattr(thing, field))


def test_equal_constants_are_one_key() -> None:
    twin = ElementFormat("e2m1", 2, 1, 1, dtype_name="float4_e2m1fn")
    assert twin is not E2M1
    assert (twin, hash(twin)) == (E2M1, hash(E2M1))
    assert dataclasses.replace(E2M1, bias=2) != E2M1
