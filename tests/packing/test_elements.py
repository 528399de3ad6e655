"""Packed bytes: bytes typed from other implementations, definitions bit by bit, and refusals."""

from __future__ import annotations

import itertools
import random
from collections.abc import Callable
from typing import Any

import ml_dtypes
import numpy as np
import pytest
import tables
from helpers import sentence
from refused import assert_says, refusals

import mxref
from mxref.formats.catalog import (
    E2M1,
    E8M0,
    ELEMENT_FORMATS,
    OTHER_FORMATS,
    BlockFormat,
)
from mxref.policy.policy import Policy

FP4 = ["low_nibble_first", "high_nibble_first", "halves", "middle_bits", "byte_each"]
FP6 = ["lsb_first", "quark", "torchao_planar", "torchao_quads", "byte_each"]
PACKINGS: list[tuple[int, str | None]] = [
    *((4, name) for name in FP4),
    *((6, name) for name in FP6),
    (8, None),
]
FORMATS = {
    bits: [f.name for f in (*ELEMENT_FORMATS.values(), *OTHER_FORMATS.values()) if f.bits == bits]
    for bits in (4, 6, 8)
}
NAMES = {4: "e2m1", 6: "e3m2", 8: "e4m3"}


def choices(bits: int, name: str | None) -> dict[str, Any]:
    return {} if name is None else {f"fp{bits}_packing": name}


# Definitions: where each bit goes, one code and one bit at a time.


def quad(codes: list[int], fields: str) -> list[int]:
    """Three bytes from four codes; `a5` is bit 5 of the first one, bytes from their top bit."""
    bits = [codes["abcd".index(f[0])] >> int(f[1]) & 1 for f in fields.split()]
    return [int("".join(map(str, bits[i : i + 8])), 2) for i in (0, 8, 16)]


QUARK = "a5 a4 b5 b4 c5 c4 d5 d4  a3 a2 a1 a0 b3 b2 b1 b0  c3 c2 c1 c0 d3 d2 d1 d0"
PLANAR = "a5 a4 a3 a2 b5 b4 b3 b2  c5 c4 c3 c2 d5 d4 d3 d2  a1 a0 b1 b0 c1 c0 d1 d0"
QUADS = "a5 a4 a3 a2 b5 b4 b3 b2  d5 d4 d3 d2 c5 c4 c3 c2  a1 a0 b1 b0 d1 d0 c1 c0"


def defined(codes: list[int], name: str | None, block: int) -> list[int]:
    """The bytes of some codes, by the words of SPEC_NOTES N32."""
    unit = {
        "low_nibble_first": 2,
        "high_nibble_first": 2,
        "halves": block,
        "lsb_first": 4,
        "quark": 4,
        "torchao_planar": block,
        "torchao_quads": 4,
    }.get(name or "", 1)
    c = [*codes, *[0] * (-len(codes) % unit)]
    units = [c[k : k + unit] for k in range(0, len(c), unit)]
    match name:
        case "low_nibble_first":
            return [low + 16 * high for low, high in units]
        case "high_nibble_first":
            return [16 * high + low for high, low in units]
        case "halves":
            half = block // 2
            return [u[j] + 16 * u[j + half] for u in units for j in range(half)]
        case "middle_bits":
            return [4 * code for code in c]
        case "lsb_first":
            wholes = [sum(code << 6 * i for i, code in enumerate(u)) for u in units]
            return [byte for whole in wholes for byte in whole.to_bytes(3, "little")]
        case "quark" | "torchao_quads":
            return [byte for u in units for byte in quad(u, QUARK if name == "quark" else QUADS)]
        case "torchao_planar":
            quads = [[quad(u[j : j + 4], PLANAR) for j in range(0, block, 4)] for u in units]
            return [q[plane] for u in quads for plane in range(3) for q in u]
    return c


# Bytes typed from what others write.


@pytest.mark.parametrize(("format", "given", "codes", "want"), tables.rows("packing", "bytes"))
def test_bytes_that_others_write(format: str, given: str, codes: str, want: str) -> None:
    (chosen,), some = tables.choices(given), tables.codes(codes)
    packed = mxref.pack(some, format, **chosen)
    assert (packed.tolist(), packed.dtype) == (tables.codes(want), np.uint8)
    assert mxref.packed_size(len(some), format, **chosen) == len(packed)
    assert mxref.unpack(packed, format, len(some), **chosen).tolist() == some


@pytest.mark.parametrize(("format", "given", "codes", "want"), tables.rows("packing", "blocks"))
def test_blocks_that_others_write(format: str, given: str, codes: str, want: str) -> None:
    (chosen,), some = tables.choices(given), tables.codes(codes)
    packed = mxref.pack_blocks([130], some, format, **chosen)
    assert packed.tolist() == [tables.codes(want)]
    scales, back = mxref.unpack_blocks(packed, format, **chosen)
    assert (scales.tolist(), back.tolist()) == ([130], some)
    assert packed.dtype == scales.dtype == back.dtype == np.uint8


def test_the_packings_are_those_of_the_policy() -> None:
    assert [m.value for m in Policy.members("fp4_packing")] == FP4
    assert [m.value for m in Policy.members("fp6_packing")] == FP6
    assert set().union(*FORMATS.values()) == {*ELEMENT_FORMATS, *OTHER_FORMATS}


# Definitions, inverses and bijections.


@pytest.mark.parametrize(("bits", "name"), PACKINGS)
def test_every_length_and_format_by_definition_and_back(bits: int, name: str | None) -> None:
    draw = random.Random(bits)
    for length in range(71):
        ramp = [(i + length) % (1 << bits) for i in range(length)]
        drawn = [draw.getrandbits(bits) for _ in range(length)]
        for codes, format in itertools.product((ramp, drawn), FORMATS[bits]):
            packed = mxref.pack(codes, format, **choices(bits, name))
            assert packed.tolist() == defined(codes, name, 32), (length, format)
            back = mxref.unpack(packed, format, length, **choices(bits, name))
            assert (back.tolist(), back.dtype) == (codes, np.uint8)
        for wrong in {packed.size - 1, packed.size + 1, 0, 2 * packed.size + 1} - {packed.size, -1}:
            with pytest.raises(ValueError, match=rf"^packed must have {packed.size} bytes"):
                mxref.unpack(np.zeros(wrong, np.uint8), format, length, **choices(bits, name))


@pytest.mark.parametrize(("bits", "name"), PACKINGS)
@pytest.mark.parametrize("block", [4, 8, 12, 16, 20, 32, 64])
def test_every_block_size_by_definition(bits: int, name: str | None, block: int) -> None:
    draw = random.Random(block)
    given_choices = {"block_size": block, **choices(bits, name)}
    for length in (0, 1, block - 1, block, block + 1, 3 * block, 3 * block + 5):
        codes = [draw.getrandbits(bits) for _ in range(length)]
        packed = mxref.pack(codes, NAMES[bits], **given_choices)
        assert packed.tolist() == defined(codes, name, block), length
        assert mxref.packed_size(length, NAMES[bits], **given_choices) == packed.size
        assert mxref.unpack(packed, NAMES[bits], length, **given_choices).tolist() == codes


@pytest.mark.sampled(6)
@pytest.mark.parametrize("name", FP6[:-1])
def test_every_quad_of_6_bit_codes(name: str) -> None:
    """All 2**24: each packing is a bijection of three bytes."""
    whole = np.arange(1 << 24, dtype=np.uint32)
    codes = np.empty((1 << 24, 4), np.uint8)
    for i in range(4):
        codes[:, i] = whole >> (6 * i) & 0x3F
    packed = mxref.pack(codes, "e3m2", block_size=4, fp6_packing=name)
    back = mxref.unpack(packed, "e3m2", 4, block_size=4, fp6_packing=name)
    assert np.array_equal(back, codes)
    word = packed[:, 0] | packed[:, 1].astype(np.uint32) << 8 | packed[:, 2].astype(np.uint32) << 16
    assert np.array_equal(np.sort(word), whole)
    if name == "lsb_first":
        assert np.array_equal(word, whole)


@pytest.mark.parametrize(
    ("bits", "name", "filler"),
    [(4, "middle_bits", 0b11000011), (4, "byte_each", 0b11110000), (6, "byte_each", 0b11000000)],
)
def test_bits_that_hold_no_code_are_not_looked_at(bits: int, name: str, filler: int) -> None:
    codes = np.arange(1 << bits, dtype=np.uint8)
    packed = mxref.pack(codes, NAMES[bits], **choices(bits, name))
    assert not (packed & np.uint8(filler)).any()
    dirty = packed | np.uint8(filler)
    assert np.array_equal(mxref.unpack(dirty, NAMES[bits], 1 << bits, **choices(bits, name)), codes)


@pytest.mark.parametrize(("bits", "name"), PACKINGS)
def test_codes_past_the_count_are_not_looked_at(bits: int, name: str | None) -> None:
    format, given_choices = NAMES[bits], choices(bits, name)
    full = mxref.packed_size(1, format, **given_choices)
    dirty = np.full(full, 0xFF, np.uint8)
    assert mxref.unpack(dirty, format, 1, **given_choices).tolist() == [(1 << bits) - 1]


# Any array.

STRIDED: dict[str, Callable[[np.ndarray], np.ndarray]] = {
    "contiguous": lambda a: a.copy(),
    "read_only": lambda a: np.frombuffer(a.tobytes(), np.uint8).reshape(a.shape),
    "fortran": np.asfortranarray,
    "reversed": lambda a: a[..., ::-1].copy()[..., ::-1],
    "reversed_rows": lambda a: a[::-1].copy()[::-1],
    "every_third": lambda a: np.repeat(a, 3, axis=-1)[..., ::3],
    "transposed": lambda a: a.swapaxes(0, -1).copy().swapaxes(0, -1),
    "unaligned": lambda a: np.frombuffer(b"\0" + a.tobytes(), np.uint8)[1:].reshape(a.shape),
    "repeated": lambda a: np.broadcast_to(a[:1], a.shape),
    "int64": lambda a: a.astype(np.int64),
    "big_endian": lambda a: a.astype(">u2"),
}


@pytest.mark.parametrize("kind", STRIDED)
@pytest.mark.parametrize(("bits", "name"), PACKINGS)
def test_any_array(bits: int, name: str | None, kind: str) -> None:
    plain = np.random.default_rng(bits).integers(0, 1 << bits, (3, 5, 37)).astype(np.uint8)
    codes = STRIDED[kind](plain)
    before = codes.copy()
    packed = mxref.pack(codes, NAMES[bits], **choices(bits, name))
    want = [defined(row, name, 32) for row in codes.reshape(-1, 37).tolist()]
    assert packed.reshape(15, -1).tolist() == want
    assert packed.shape[:-1] == (3, 5)
    stored = STRIDED[kind](packed)
    back = mxref.unpack(stored, NAMES[bits], 37, **choices(bits, name))
    again = [defined(row, name, 32) for row in back.reshape(-1, 37).tolist()]
    assert again == stored.reshape(15, -1).tolist()
    assert np.array_equal(codes, before)
    for result, source in ((packed, codes), (back, stored)):  # nothing is shared with the input
        assert result.flags.writeable
        assert result.flags.c_contiguous
        assert not np.shares_memory(result, source)


@pytest.mark.parametrize("shape", [(0,), (0, 5), (5, 0), (2, 0, 3), (0, 0)])
@pytest.mark.parametrize(("bits", "name"), PACKINGS)
def test_nothing(bits: int, name: str | None, shape: tuple[int, ...]) -> None:
    format, given_choices = NAMES[bits], choices(bits, name)
    packed = mxref.pack(np.zeros(shape, np.uint8), format, **given_choices)
    size = mxref.packed_size(shape[-1], format, **given_choices)
    assert (packed.shape, packed.dtype) == ((*shape[:-1], size), np.uint8)
    assert mxref.unpack(packed, format, shape[-1], **given_choices).shape == shape
    assert mxref.pack([], format, **given_choices).shape == (0,)


@pytest.mark.parametrize("name", ["e2m1", "e3m2", "e2m3", "e4m3", "e5m2", "int8"])
def test_arrays_of_ml_dtypes(name: str) -> None:
    fmt = ELEMENT_FORMATS[name]
    codes = np.arange(fmt.code_count, dtype=np.uint8)
    typed = codes.view(np.dtype(getattr(ml_dtypes, fmt.dtype_name or "", np.int8)))
    assert np.array_equal(mxref.pack(typed, name), mxref.pack(codes, name))
    assert np.array_equal(mxref.pack(typed, fmt), mxref.pack(codes, name))


# Blocks.

FOUR = BlockFormat("four", E2M1, E8M0, 4)
GGUF: dict[str, Any] = {"scale_place": "before", "fp4_packing": "halves"}


def test_every_scale_byte() -> None:
    scales, codes = np.arange(256), np.zeros(256 * 4, np.uint8)
    for place in ("before", "after"):
        for byte, want in (
            ("biased", list(range(256))),
            # Two's complement of the exponent: 2**3 is 03, 2**-3 FD, 2**-127 81, 2**127 7F, NaN 80.
            ("signed", [(code - 127) % 256 for code in range(256)]),
        ):
            given_choices: Any = {"scale_place": place, "scale_byte": byte}
            packed = mxref.pack_blocks(scales, codes, FOUR, **given_choices)
            assert packed[:, 0 if place == "before" else -1].tolist() == want
            assert mxref.unpack_blocks(packed, FOUR, **given_choices)[0].tolist() == list(scales)


@pytest.mark.parametrize("place", ["before", "after"])
@pytest.mark.parametrize(("bits", "name"), PACKINGS)
@pytest.mark.parametrize("block", [4, 20, 32])
def test_each_block_is_packed_by_itself(
    bits: int, name: str | None, block: int, place: str
) -> None:
    fmt = BlockFormat("some", ELEMENT_FORMATS[NAMES[bits]], E8M0, block)
    generator = np.random.default_rng(block)
    scales = generator.integers(0, 256, (2, 3)).astype(np.uint8)
    codes = generator.integers(0, 1 << bits, (2, 3 * block)).astype(np.uint8)
    given_choices = {"scale_place": place, **choices(bits, name)}
    packed = mxref.pack_blocks(scales, codes, fmt, **given_choices)
    for row, k in itertools.product(range(2), range(3)):
        elements = defined(codes[row, k * block : (k + 1) * block].tolist(), name, block)
        one = [int(scales[row, k])]
        want = one + elements if place == "before" else elements + one
        assert packed[row, k].tolist() == want
    back = mxref.unpack_blocks(packed, fmt, **given_choices)
    assert [some.tolist() for some in back] == [scales.tolist(), codes.tolist()]
    strided = np.asfortranarray(packed)[::-1, ::-1]
    back = mxref.unpack_blocks(strided, fmt, **given_choices)
    assert back[0].tolist() == scales[::-1, ::-1].tolist()


def test_an_odd_block_is_filled_up() -> None:
    fmt = BlockFormat("three", E2M1, E8M0, 3)
    packed = mxref.pack_blocks([127, 128], [1, 2, 3, 4, 5, 6], fmt, scale_place="before")
    assert packed.tolist() == [[127, 0x21, 0x03], [128, 0x54, 0x06]]
    packed[:, 2] |= 0xF0
    scales, codes = mxref.unpack_blocks(packed, fmt, scale_place="before")
    assert (scales.tolist(), codes.tolist()) == ([127, 128], [1, 2, 3, 4, 5, 6])


def test_scales_of_other_formats_beside_their_elements() -> None:
    packed = mxref.pack_blocks([0x38], list(range(16)), "nvfp4", scale_place="before")
    assert packed.tobytes().hex(" ") == "38 10 32 54 76 98 ba dc fe"
    assert mxref.unpack_blocks(packed, "nvfp4", scale_place="before")[0].tolist() == [0x38]
    packed[0, 0] |= 0x80
    error = "scale bytes of packed must be in [0, 127] for ue4m3, got 184 at index (0,)"
    wrong = sentence(ValueError, lambda: mxref.unpack_blocks(packed, "nvfp4", scale_place="before"))
    assert wrong == error


@pytest.mark.parametrize("shape", [(0,), (0, 3), (3, 0)])
def test_no_blocks(shape: tuple[int, ...]) -> None:
    codes = np.zeros((*shape[:-1], shape[-1] * 32), np.uint8)
    packed = mxref.pack_blocks(np.zeros(shape, np.uint8), codes, "mxfp4_e2m1", **GGUF)
    assert packed.shape == (*shape, 17)
    scales, back = mxref.unpack_blocks(packed, "mxfp4_e2m1", **GGUF)
    assert (scales.shape, back.shape) == (shape, codes.shape)


# Refusals.


@pytest.mark.parametrize(("call", "kind", "text"), refusals("packing"))
def test_errors(call: Callable[[], object], kind: type[Exception], text: str) -> None:
    assert_says(call, kind, text)
