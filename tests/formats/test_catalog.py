"""The format constants against the standards' tables, typed again, and the look-ups by name."""

from __future__ import annotations

import dataclasses
import math
from collections.abc import Callable
from fractions import Fraction
from typing import Any

import ml_dtypes
import numpy as np
import pytest
from helpers import sentence
from refused import assert_says, refusals
from tables import number, rows

from mxref import encode, formats, quantize
from mxref.formats import catalog
from mxref.formats.catalog import (
    BLOCK_FORMATS,
    E2M1,
    E4M3,
    E8M0,
    BlockFormat,
    CodeFormat,
    ElementFormat,
    ScaleFormat,
    Specials,
)

TABLE = rows("formats", "formats")
LOOK_UPS: dict[str, Any] = {
    "element_format": catalog.element_format,
    "code_format": catalog.code_format,
    "scale_format": catalog.scale_format,
    "block_format": catalog.block_format,
}
NAMES = {
    "KNOWN": "e5m2, e4m3, e3m2, e2m3, e2m1, int8, e4m3fnuz, e5m2fnuz, e4m3b11fnuz, e3m4, "
    "e4m3_ieee, e1m2, binary8p3, binary8p4",
    "SCALES": "e8m0, e5m0, ue4m3, ue5m3, binary8p1uf, binary8p3ue, binary8p4ue, f32",
    "BLOCKS": "mxfp8_e5m2, mxfp8_e4m3, mxfp6_e3m2, mxfp6_e2m3, mxfp4_e2m1, mxint8, "
    "nvfp4, fp4_ue4m3, fp4_ue5m3, fp4_e8m0, nvfp4_16x16, "
    "fp8_e4m3_f32, fp8_e4m3_f32_128x128, fp8_e5m2_f32, fp8_e5m2_f32_128x128",
}
POWERS = ("e8m0", "e5m0")  # without a zero
MXINT8 = BLOCK_FORMATS["mxint8"]


def codes_in(text: str) -> tuple[int, ...]:
    """Codes in hexadecimal, and ranges of them."""
    spans = [[int(end, 16) for end in part.split("-")] for part in text.split()]
    return tuple(code for span in spans for code in range(span[0], span[-1] + 1))


def standard_value(code: int, name: str, widths: list[int], signed: int) -> Fraction:
    """The value of a finite code by the formula of MX 5.3, from its fields S, E and M."""
    exponent_bits, m, bias = widths
    if name in POWERS:
        return Fraction(2) ** (code - bias)
    if name == "int8":
        return Fraction(code - 256 if code >= 128 else code, 64)
    digits = f"{code:0{signed + exponent_bits + m}b}"
    sign = -1 if signed and digits[0] == "1" else 1
    exponent = int(digits[signed : signed + exponent_bits], 2)
    fraction = Fraction(int("0" + digits[signed + exponent_bits :], 2), 2**m)
    return sign * Fraction(2) ** (max(exponent, 1) - bias) * ((exponent > 0) + fraction)


@pytest.mark.parametrize("row", TABLE, ids=lambda row: row[0])
def test_every_constant_and_code(row: list[str]) -> None:
    name, widths, emax, largest, inf, nan, written, minus_zero, normal, subnormals, dtype = row
    fmt: CodeFormat = getattr(formats, name.upper())
    signed = name not in NAMES["SCALES"].split(", ")
    bits = [int(word) for word in widths.split()]
    assert [fmt.exponent_bits, fmt.mantissa_bits, fmt.bias] == bits
    assert (fmt.signed, fmt.bits, fmt.emax) == (signed, signed + sum(bits[:2]), int(emax))
    assert (fmt.code_count, fmt.sign_bit) == (1 << fmt.bits, (1 << fmt.bits >> 1) * signed)
    code, value = largest.split()
    assert (fmt.max_code, Fraction(fmt.max_normal)) == (int(code, 16), number(value))
    inf_codes, nan_codes = codes_in(inf), codes_in(nan)
    assert fmt.inf_code == (inf_codes[0] if inf_codes else None)
    assert (fmt.nan_codes, fmt.nan_code) == (nan_codes, int(written, 16) if written else None)
    assert fmt.has_negative_zero == bool(minus_zero)
    assert Fraction(2) ** fmt.emin == fmt.min_normal == number(normal)
    assert [fmt.max_subnormal, fmt.min_subnormal] == (
        [number(one) for one in subnormals.split()] or [None, None]
    )
    assert (fmt.dtype_name or "") == (dtype and np.dtype(getattr(ml_dtypes, dtype, dtype)).name)
    for code in range(fmt.code_count):
        value = fmt.value(code)
        for kind in (np.uint8, np.int16, np.uint64):
            assert np.float64(fmt.value(kind(code))).tobytes() == np.float64(value).tobytes()
        if code in nan_codes:
            assert math.isnan(value), hex(code)
        elif code in inf_codes:
            assert value == (-math.inf if code & fmt.sign_bit else math.inf), hex(code)
        else:
            want = standard_value(code, name, bits, signed)
            negative = want < 0 or (want == 0 and code != 0)
            assert Fraction(value) == want, hex(code)
            assert math.copysign(1, value) == (-1 if negative else 1), hex(code)
            assert fmt.sign_and_magnitude(code)[0] == negative
            n, q = fmt.magnitude_parts(fmt.sign_and_magnitude(code)[1])
            assert n * Fraction(2) ** q == abs(want), hex(code)
    assert codes_in(minus_zero) == tuple(
        code for code in range(1, fmt.code_count) if fmt.value(code) == 0
    )
    for wrong in (-1, np.int8(-1), fmt.code_count):
        assert sentence(ValueError, lambda code=wrong: fmt.value(code)) == (
            f"code must be in [0, {fmt.code_count - 1}] for {name}, got {wrong}"
        )
    with pytest.raises(TypeError):
        fmt.value(1.0)  # type: ignore[arg-type]


def test_registries_are_in_the_order_of_the_standard() -> None:
    elements = {**catalog.ELEMENT_FORMATS, **catalog.OTHER_FORMATS}
    blocks = {**BLOCK_FORMATS, **catalog.OTHER_BLOCK_FORMATS}
    scales = {**catalog.SCALE_FORMATS, "f32": catalog.F32}
    for known, registry, look_up in (
        ("KNOWN", elements, "element_format"),
        ("SCALES", scales, "scale_format"),
        ("BLOCKS", blocks, "block_format"),
    ):
        assert ", ".join(registry) == NAMES[known]
        for name, fmt in registry.items():
            assert fmt.name == name
            assert LOOK_UPS[look_up](name) is fmt
            if look_up != "block_format":
                assert getattr(formats, name.upper()) is fmt
                assert name in (*POWERS, "f32") or LOOK_UPS["code_format"](name) is fmt
    assert [*catalog.ELEMENT_FORMATS] == [row[0] for row in TABLE[:6]]
    two_levels = {name: block.tensor_scale for name, block in catalog.OTHER_BLOCK_FORMATS.items()}
    others = ("fp4_ue4m3", "fp4_ue5m3", "fp4_e8m0", *catalog.FLOAT_SCALED_FORMATS)
    assert two_levels == dict.fromkeys(("nvfp4", "nvfp4_16x16"), True) | dict.fromkeys(
        others, False
    )


@pytest.mark.parametrize("name", BLOCK_FORMATS)
def test_table_1(name: str) -> None:
    """Names say what the table does: how many bits elements have, and which ones they are."""
    block, element = BLOCK_FORMATS[name], name.removeprefix("mx").split("_")[-1]
    d = int(next(filter(str.isdigit, name)))
    assert (block.element.name, block.element.bits, block.block_size) == (element, d, 32)
    assert (block.scale, block.scale.bits) == (E8M0, 8)
    assert block.bits_per_block == 8 + 32 * d
    assert not block.tensor_scale
    # A block format for an element format and the other way.
    for look_up in ("element_format", "code_format"):
        assert sentence(ValueError, lambda at=look_up: LOOK_UPS[at](name)) == (
            f"format must be an element format, got the block format {name!r}: use {element!r}"
        )
    assert sentence(ValueError, lambda: catalog.block_format(element)) == (
        f"block_format must be a block format, got the element format {element!r}: use {name!r}"
    )


def test_a_format_object_is_returned_as_it_is() -> None:
    element, scale = dataclasses.replace(E4M3, name="mine"), dataclasses.replace(E8M0, name="mine")
    wide = ElementFormat("e8m7", 8, 7, 127, Specials.IEEE)
    assert catalog.element_format(element) is catalog.code_format(element) is element
    assert catalog.element_format(wide) is wide
    assert catalog.scale_format(scale) is scale
    block = BlockFormat("mine", element, scale, 7)
    assert catalog.block_format(block) is block
    assert sentence(ValueError, lambda: catalog.code_format(E8M0)).startswith("format must have a")


@pytest.mark.parametrize(("look_up", "name", "text"), rows("formats", "refused_names"))
def test_a_name_that_is_refused(look_up: str, name: str, text: str) -> None:
    for word, names in NAMES.items():
        text = text.replace(word, names)
    assert sentence(ValueError, lambda: LOOK_UPS[look_up](name)) == text


@pytest.mark.parametrize("look_up", LOOK_UPS)
@pytest.mark.parametrize(
    "thing", [3, None, ["e4m3"], b"e4m3", np.float32, E4M3, E8M0, MXINT8], ids=repr
)
def test_what_is_neither_a_name_nor_such_a_format(look_up: str, thing: Any) -> None:
    kind = {"scale_format": "a scale", "block_format": "a block"}.get(look_up, "an element")
    own = {"scale_format": ScaleFormat, "block_format": BlockFormat, "code_format": CodeFormat}
    if isinstance(thing, own.get(look_up, ElementFormat)):
        return
    parameter = "block_format" if look_up == "block_format" else "format"
    assert sentence(TypeError, lambda: LOOK_UPS[look_up](thing)) == (
        f"{parameter} must be {kind} format or its name, got {type(thing).__name__}"
    )


# Formats of one's own.


@pytest.mark.parametrize(("call", "kind", "text"), refusals("formats"))
def test_what_is_no_format(call: Callable[[], object], kind: type[Exception], text: str) -> None:
    assert_says(call, kind, text)


LONG = 1 << 31


@pytest.mark.parametrize(
    ("size", "elements"), [(1, 1), (np.uint8(200), 200), (LONG, LONG), ((LONG, 1, 3), 3 * LONG)]
)
def test_a_block_size(size: Any, elements: int) -> None:
    block = BlockFormat("mine", E2M1, E8M0, size)
    assert (block.elements_per_block, block.bits_per_block) == (elements, 8 + 4 * elements)
    assert type(block.block_size) in (int, tuple)
    twin = BlockFormat("mine", E2M1, E8M0, size if isinstance(size, tuple) else int(size))
    assert (block, hash(block)) == (twin, hash(twin))


NAN = Specials.TOP_CODE_NAN


@pytest.mark.parametrize("bias", [127, 15, -97])
def test_powers_from_one_end_of_e8m0_to_the_other_are_scales(bias: int) -> None:
    scale = ScaleFormat("mine", 5, 0, bias, NAN, subnormals=False)
    assert BlockFormat("mine", E2M1, scale, 32).bits_per_block == 32 * 4 + 5


def test_a_scale_format_has_no_sign_and_no_minus_zero() -> None:
    scale = ScaleFormat("mine", 5, 3, 15)
    assert (scale.signed, scale.sign_bit, scale.bits, scale.code_count) == (False, 0, 8, 256)
    assert min(scale.value(code) for code in range(256)) == 0
    # With no code set apart, the all-ones exponent holds numbers.
    assert (scale.max_code, scale.max_normal) == (0xFF, 1.875 * 2.0**16)


@pytest.mark.parametrize(("thing", "field"), [(E4M3, "bias"), (E8M0, "name"), (MXINT8, "scale")])
def test_formats_are_frozen_and_equal_ones_are_one_key(thing: Any, field: str) -> None:
    with pytest.raises(dataclasses.FrozenInstanceError):
        setattr(thing, field, getattr(thing, field))
    twin = dataclasses.replace(thing)
    assert twin is not thing
    assert (twin, hash(twin)) == (thing, hash(thing))
    assert dataclasses.replace(E2M1, bias=2) != E2M1


def test_formats_with_one_hash_have_tables_of_their_own() -> None:
    all_numbers = dataclasses.replace(E4M3, specials=Specials.NONE)  # which the hash leaves out
    ieee = dataclasses.replace(E4M3, specials=Specials.IEEE)
    elements = E4M3, all_numbers, ieee
    blocks = [BlockFormat("own", element, E8M0, 2) for element in elements]
    for formats_of_a_hash in (elements, blocks):
        assert len(set(map(hash, formats_of_a_hash))) == 1
        assert len(set(formats_of_a_hash)) == 3
    assert [int(encode([1e9], element)[0]) for element in elements] == [0x7E, 0x7F, 0x77]
    found = [quantize(np.float32([500, 1]), block) for block in blocks]
    assert [block.codes.tolist() for block in found] == [[0x7E, 0x38], [0x7F, 0x38], [0x77, 0x30]]
    assert [int(block.scale_codes[0]) for block in found] == [127, 127, 128]
