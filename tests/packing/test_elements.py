"""Packed bytes: bytes typed from other implementations, definitions bit by bit, and refusals."""

from __future__ import annotations

import itertools
import random
from collections.abc import Callable
from functools import partial
from typing import Any

import ml_dtypes
import numpy as np
import pytest
from helpers import sentence
from hypothesis import given
from hypothesis import strategies as st

import mxref
from mxref.formats.catalog import (
    E2M1,
    E8M0,
    ELEMENT_FORMATS,
    OTHER_FORMATS,
    UE4M3,
    BlockFormat,
    ElementFormat,
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
FP6_CODES = [0x01, 0x12, 0x23, 0x34]


def choices(bits: int, name: str | None) -> dict[str, Any]:
    return {} if name is None else {f"fp{bits}_packing": name}


def hexed(array: np.ndarray) -> str:
    assert array.dtype == np.uint8
    return array.tobytes().hex(" ")


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
    c = list(codes)
    while len(c) % unit:
        c.append(0)
    out: list[int] = []
    if name == "low_nibble_first":
        out = [c[j] + 16 * c[j + 1] for j in range(0, len(c), 2)]
    elif name == "high_nibble_first":
        out = [16 * c[j] + c[j + 1] for j in range(0, len(c), 2)]
    elif name == "halves":
        for k in range(0, len(c), block):
            out += [c[k + j] + 16 * c[k + j + block // 2] for j in range(block // 2)]
    elif name == "middle_bits":
        out = [4 * code for code in c]
    elif name == "lsb_first":
        for k in range(0, len(c), 4):
            whole = sum(code << 6 * i for i, code in enumerate(c[k : k + 4]))
            out += whole.to_bytes(3, "little")
    elif name in ("quark", "torchao_quads"):
        for k in range(0, len(c), 4):
            out += quad(c[k : k + 4], QUARK if name == "quark" else QUADS)
    elif name == "torchao_planar":
        for k in range(0, len(c), block):
            quads = [quad(c[j : j + 4], PLANAR) for j in range(k, k + block, 4)]
            out += [q[plane] for plane in range(3) for q in quads]
    else:
        out = c
    return out


# Bytes typed from what others write.


@pytest.mark.parametrize(
    ("format", "codes", "given_choices", "want"),
    [
        # CUDA's x2 and x4 types and ONNX: 1 and -2, then 6.
        ("e2m1", [0x2, 0xC], {}, "c2"),
        ("e2m1", [0x2, 0xC, 0x7], {}, "c2 07"),
        ("e2m1", [0x2, 0xC, 0x7, 0x1], {}, "c2 17"),
        # Quark's comment in Pack_mxfp4.
        ("e2m1", [1, 2, 3, 4], {}, "21 43"),
        # torchao before pytorch/ao#3123, torchmx.
        ("e2m1", [1, 2, 3, 4], {"fp4_packing": "high_nibble_first"}, "12 34"),
        # GGUF: byte j is element j and element j + 16.
        (
            "e2m1",
            list(range(16)) * 2,
            {"fp4_packing": "halves"},
            "00 11 22 33 44 55 66 77 88 99 aa bb cc dd ee ff",
        ),
        (
            "e2m1",
            [*range(16), *range(15, -1, -1)],
            {"fp4_packing": "halves"},
            "f0 e1 d2 c3 b4 a5 96 87 78 69 5a 4b 3c 2d 1e 0f",
        ),
        # PTX: 00seem00.
        ("e2m1", [0xF, 0x8, 0x1], {"fp4_packing": "middle_bits"}, "3c 20 04"),
        ("e2m1", [0xF, 0x8, 0x1], {"fp4_packing": "byte_each"}, "0f 08 01"),
        # mxDG, Quark's Pack_fp6, compressed-tensors.
        ("e3m2", FP6_CODES, {}, "81 34 d2"),
        ("e2m3", FP6_CODES, {}, "81 34 d2"),
        # Quark's Pack_mxfp6.
        ("e3m2", FP6_CODES, {"fp6_packing": "quark"}, "1b 12 34"),
        # The bits of each code alone show where it goes.
        ("e3m2", [0x3F, 0, 0, 0], {}, "3f 00 00"),
        ("e3m2", [0, 0x3F, 0, 0], {}, "c0 0f 00"),
        ("e3m2", [0, 0, 0x3F, 0], {}, "00 f0 03"),
        ("e3m2", [0, 0, 0, 0x3F], {}, "00 00 fc"),
        ("e3m2", [0x3F, 0, 0, 0], {"fp6_packing": "quark"}, "c0 f0 00"),
        ("e3m2", [0, 0x3F, 0, 0], {"fp6_packing": "quark"}, "30 0f 00"),
        ("e3m2", [0, 0, 0x3F, 0], {"fp6_packing": "quark"}, "0c 00 f0"),
        ("e3m2", [0, 0, 0, 0x3F], {"fp6_packing": "quark"}, "03 00 0f"),
        ("e3m2", [0x3F, 0, 0, 0], {"fp6_packing": "torchao_quads"}, "f0 00 c0"),
        ("e3m2", [0, 0x3F, 0, 0], {"fp6_packing": "torchao_quads"}, "0f 00 30"),
        ("e3m2", [0, 0, 0x3F, 0], {"fp6_packing": "torchao_quads"}, "00 0f 03"),
        ("e3m2", [0, 0, 0, 0x3F], {"fp6_packing": "torchao_quads"}, "00 f0 0c"),
        # Two quads in a block of eight: hi4 of 0 1, twice; hi4 of 2 3, twice; lo2, twice.
        (
            "e3m2",
            [0x3F, 0, 0, 0, 0, 0, 0, 0x3F],
            {"fp6_packing": "torchao_planar", "block_size": 8},
            "f0 00 00 0f c0 03",
        ),
        ("e3m2", FP6_CODES, {"fp6_packing": "byte_each"}, "01 12 23 34"),
        ("int8", [0x80, 0x7F, 0xFF], {}, "80 7f ff"),
        # Short lengths are filled up.
        ("e2m1", [0xF], {}, "0f"),
        ("e2m1", [0xF], {"fp4_packing": "high_nibble_first"}, "f0"),
        ("e2m1", [1, 2, 3, 4, 5], {"fp4_packing": "halves", "block_size": 4}, "31 42 05 00"),
        ("e3m2", [0x3F], {}, "3f 00 00"),
        ("e3m2", [0x3F, 0x3F], {"fp6_packing": "quark"}, "f0 ff 00"),
    ],
)
def test_bytes_that_others_write(
    format: str, codes: list[int], given_choices: dict[str, Any], want: str
) -> None:
    packed = mxref.pack(codes, format, **given_choices)
    assert hexed(packed) == want
    assert mxref.packed_size(len(codes), format, **given_choices) == len(packed)
    assert mxref.unpack(packed, format, len(codes), **given_choices).tolist() == codes


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
            assert packed.dtype == np.uint8
            back = mxref.unpack(packed, format, length, **choices(bits, name))
            assert (back.tolist(), back.dtype) == (codes, np.uint8)


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


@pytest.mark.parametrize("name", FP4)
def test_every_pair_of_4_bit_codes(name: str) -> None:
    pairs = np.array(list(itertools.product(range(16), repeat=2)), np.uint8)
    packed = mxref.pack(pairs, "e2m1", block_size=2, fp4_packing=name)
    assert packed.tolist() == [defined(list(pair), name, 2) for pair in pairs.tolist()]
    assert len(np.unique(packed, axis=0)) == 256
    back = mxref.unpack(packed, "e2m1", 2, block_size=2, fp4_packing=name)
    assert np.array_equal(back, pairs)
    if packed.shape == (256, 1):  # then it is a bijection of bytes
        every = np.arange(256, dtype=np.uint8).reshape(256, 1)
        codes = mxref.unpack(every, "e2m1", 2, block_size=2, fp4_packing=name)
        again = mxref.pack(codes, "e2m1", block_size=2, fp4_packing=name)
        assert np.array_equal(again, every)


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
    seen = np.zeros(1 << 24, bool)
    seen[word] = True
    assert seen.all()
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
    assert mxref.unpack(np.zeros(0, np.uint8), format, 0, **given_choices).shape == (0,)


# The mutants: each is a plausible mistake, and the bytes above tell it from the real one.


def test_mutant_g1_nibble_order() -> None:
    codes = [1, 2, 3, 4]
    mutant = [codes[j] << 4 | codes[j + 1] for j in (0, 2)]
    assert mxref.pack(codes, "e2m1").tolist() != mutant
    assert mxref.pack(codes, "e2m1", fp4_packing="high_nibble_first").tolist() == mutant


def test_mutant_g2_bit_order_in_three_bytes() -> None:
    first_code_on_top = int("".join(f"{code:06b}" for code in FP6_CODES), 2)
    mutants = [list(first_code_on_top.to_bytes(3, order)) for order in ("big", "little")]
    mutants.append(mxref.pack(FP6_CODES, "e3m2").tolist()[::-1])
    real = [mxref.pack(FP6_CODES, "e3m2", fp6_packing=name).tolist() for name in FP6[:-1]]
    assert len({tuple(some) for some in (*real, *mutants)}) == len(real) + len(mutants)


def test_mutant_g3_split_or_adjacent() -> None:
    codes = [*range(16), *range(15, -1, -1), *[3] * 32]  # two blocks
    adjacent = [codes[2 * j] | codes[2 * j + 1] << 4 for j in range(32)]
    halves_of_the_row = [codes[j] | codes[j + 32] << 4 for j in range(32)]
    blocks_of_16 = [codes[k + j] | codes[k + j + 8] << 4 for k in (0, 16, 32, 48) for j in range(8)]
    split = mxref.pack(codes, "e2m1", fp4_packing="halves").tolist()
    assert split not in (adjacent, halves_of_the_row, blocks_of_16)
    assert mxref.pack(codes, "e2m1").tolist() == adjacent
    assert mxref.pack(codes, "e2m1", fp4_packing="halves", block_size=16).tolist() == blocks_of_16
    assert mxref.pack(codes, "e2m1", fp4_packing="halves", block_size=64).tolist() == (
        halves_of_the_row
    )


def test_mutant_g9_row_and_column_exchanged() -> None:
    tile = np.arange(512, dtype=np.int64).reshape(128, 4)
    scales = (tile % 251).astype(np.uint8)
    packed = mxref.pack_scales(scales, scale_layout="tiles_128x4").tolist()
    exchanged = np.zeros(512, np.uint8)
    for r, c in itertools.product(range(128), range(4)):
        exchanged[r // 32 * 128 + r % 32 * 4 + c] = scales[r, c]  # r % 32 and r // 32 exchanged
    assert packed != exchanged.tolist()
    assert packed != scales.ravel().tolist()
    assert packed != scales.T.ravel().tolist()


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
    assert np.array_equal(codes, before)
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


@pytest.mark.sampled(6)
@pytest.mark.parametrize(("bits", "name"), PACKINGS)
def test_more_than_a_chunk(bits: int, name: str | None) -> None:
    count = 4 * (1 << 15) * 2 + 7  # two chunks of the widest groups, and a rest
    codes = np.random.default_rng(1).integers(0, 1 << bits, count).astype(np.uint8)
    packed = mxref.pack(codes, NAMES[bits], **choices(bits, name))
    back = mxref.unpack(packed, NAMES[bits], count, **choices(bits, name))
    assert np.array_equal(back, codes)
    assert packed.tolist() == defined(codes.tolist(), name, 32)


@pytest.mark.parametrize("name", ["e2m1", "e3m2", "e2m3", "e4m3", "e5m2", "int8"])
def test_arrays_of_ml_dtypes(name: str) -> None:
    dtype = np.dtype(getattr(ml_dtypes, ELEMENT_FORMATS[name].dtype_name or "", np.int8))
    codes = np.arange(ELEMENT_FORMATS[name].code_count, dtype=np.uint8)
    assert np.array_equal(mxref.pack(codes.view(dtype), name), mxref.pack(codes, name))
    assert np.array_equal(
        mxref.pack(codes.view(dtype), ELEMENT_FORMATS[name]), mxref.pack(codes, name)
    )


@given(
    st.sampled_from(PACKINGS),
    st.lists(st.integers(1, 4), min_size=0, max_size=2),
    st.integers(0, 100),
    st.sampled_from([4, 16, 32]),
    st.randoms(use_true_random=False),
)
def test_rows_are_packed_alone(
    packing: tuple[int, str | None], outer: list[int], count: int, block: int, draw: random.Random
) -> None:
    bits, name = packing
    given_choices = {"block_size": block, **choices(bits, name)}
    shape = (*outer, count)
    codes = np.array([draw.getrandbits(bits) for _ in range(int(np.prod(shape)))], np.uint8)
    codes = codes.reshape(shape)
    packed = mxref.pack(codes, NAMES[bits], **given_choices)
    for index in np.ndindex(*outer):
        assert packed[index].tolist() == defined(codes[index].tolist(), name, block)
    assert np.array_equal(mxref.unpack(packed, NAMES[bits], count, **given_choices), codes)


# Blocks.

FOUR = BlockFormat("four", E2M1, E8M0, 4)
GGUF = {"scale_place": "before", "fp4_packing": "halves"}
QUARK_CHOICES = {"scale_place": "before", "scale_byte": "signed", "fp6_packing": "quark"}


@pytest.mark.parametrize(
    ("block_format", "codes", "given_choices", "want"),
    [
        # llama.cpp block_mxfp4: the byte, then 16 of them.
        (
            "mxfp4_e2m1",
            [*range(16), *range(15, -1, -1)],
            GGUF,
            "82 f0 e1 d2 c3 b4 a5 96 87 78 69 5a 4b 3c 2d 1e 0f",
        ),
        # FBGEMM MX4: 16 bytes, then the byte.
        ("mxfp4_e2m1", [1, 2, 3, 4] * 8, {"scale_place": "after"}, "21 43 " * 8 + "82"),
        # Quark writes the exponent, here 3.
        ("mxfp4_e2m1", [1, 2, 3, 4] * 8, QUARK_CHOICES, "03 " + "21 43 " * 8),
        ("mxfp6_e3m2", FP6_CODES * 8, QUARK_CHOICES, "03 " + "1b 12 34 " * 8),
        ("mxfp6_e2m3", FP6_CODES * 8, {"scale_place": "before"}, "82 " + "81 34 d2 " * 8),
        ("mxfp8_e4m3", [0x7E] * 32, {"scale_place": "before"}, "82 " + "7e " * 32),
        ("mxint8", [0x80] * 32, {"scale_place": "after"}, "80 " * 32 + "82"),
    ],
)
def test_blocks_that_others_write(
    block_format: str, codes: list[int], given_choices: dict[str, Any], want: str
) -> None:
    packed = mxref.pack_blocks([130], codes, block_format, **given_choices)
    assert packed.shape == (1, len(want.split()))
    assert hexed(packed) == want.strip()
    scales, back = mxref.unpack_blocks(packed, block_format, **given_choices)
    assert (scales.tolist(), back.tolist()) == ([130], codes)
    assert scales.dtype == back.dtype == np.uint8


def test_every_scale_byte() -> None:
    scales = np.arange(256)
    codes = np.zeros(256 * 4, np.uint8)
    for place in ("before", "after"):
        for byte, want in (
            ("biased", list(range(256))),
            # Two's complement of the exponent: 2**3 is 03, 2**-3 FD, 2**-127 81, 2**127 7F, NaN 80.
            ("signed", [(code - 127) % 256 for code in range(256)]),
        ):
            given_choices = {"scale_place": place, "scale_byte": byte}
            packed = mxref.pack_blocks(scales, codes, FOUR, **given_choices)
            assert packed[:, 0 if place == "before" else -1].tolist() == want
            assert mxref.unpack_blocks(packed, FOUR, **given_choices)[0].tolist() == list(scales)
    signed = mxref.pack_blocks([130, 124, 0, 254, 255], codes[:20], FOUR, **QUARK_CHOICES)
    assert hexed(signed[:, 0]) == "03 fd 81 7f 80"


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


def test_what_quantize_gives_is_packed() -> None:
    x = np.linspace(-9, 7, 2 * 40, dtype=np.float32).reshape(2, 40)  # 40: the tail is filled up
    blocks = mxref.quantize(x, "mxfp4_e2m1")
    packed = mxref.pack_blocks(blocks.scale_codes, blocks.codes, blocks.format, **GGUF)
    assert packed.shape == (2, 2, 17)
    scales, codes = mxref.unpack_blocks(packed, "mxfp4_e2m1", **GGUF)
    again = mxref.Blocks(codes, scales, blocks.format, 1, (2, 40))
    assert again.dequantize().tobytes() == blocks.dequantize().tobytes()


def test_scales_of_other_formats_beside_their_elements() -> None:
    codes = list(range(16))
    packed = mxref.pack_blocks([0x38], codes, "nvfp4", scale_place="before")
    assert hexed(packed) == "38 10 32 54 76 98 ba dc fe"
    assert mxref.unpack_blocks(packed, "nvfp4", scale_place="before")[0].tolist() == [0x38]
    error = "scale bytes of packed must be in [0, 127] for ue4m3, got 184 at index (0,)"
    packed[0, 0] |= 0x80
    call = partial(mxref.unpack_blocks, packed, "nvfp4", scale_place="before")
    assert sentence(ValueError, call) == error


@pytest.mark.parametrize("shape", [(0,), (0, 3), (3, 0)])
def test_no_blocks(shape: tuple[int, ...]) -> None:
    codes = np.zeros((*shape[:-1], shape[-1] * 32), np.uint8)
    packed = mxref.pack_blocks(np.zeros(shape, np.uint8), codes, "mxfp4_e2m1", **GGUF)
    assert packed.shape == (*shape, 17)
    scales, back = mxref.unpack_blocks(packed, "mxfp4_e2m1", **GGUF)
    assert (scales.shape, back.shape) == (shape, codes.shape)


# Scales.


@pytest.mark.parametrize(
    ("rows", "columns"),
    [(1, 1), (1, 4), (4, 1), (31, 3), (32, 4), (33, 5), (128, 4), (129, 5), (300, 9), (256, 8)],
)
def test_tiles_element_by_element(rows: int, columns: int) -> None:
    generator = np.random.default_rng(rows)
    scales = generator.integers(1, 256, (2, rows, columns)).astype(np.uint8)
    packed = mxref.pack_scales(scales, scale_layout="tiles_128x4")
    tiles_down, tiles_across = (rows + 127) // 128, (columns + 3) // 4
    want = np.zeros((2, tiles_down * tiles_across * 512), np.uint8)
    for i, row, column in np.ndindex(2, rows, columns):
        r, c = row % 128, column % 4
        tile = row // 128 * tiles_across + column // 4
        want[i, tile * 512 + (r % 32) * 16 + (r // 32) * 4 + c] = scales[i, row, column]
    assert np.array_equal(packed, want)
    back = mxref.unpack_scales(packed, scales.shape, scale_layout="tiles_128x4")
    assert np.array_equal(back, scales)
    dirty = np.where(want == 0, np.uint8(0xFF), packed)  # every scale above is at least 1
    back = mxref.unpack_scales(dirty, scales.shape, scale_layout="tiles_128x4")
    assert np.array_equal(back, scales)


@pytest.mark.parametrize("layout", ["row_major", "tiles_128x4"])
@pytest.mark.parametrize("shape", [(0, 4), (4, 0), (0, 0), (0, 3, 5), (2, 0, 5)])
def test_no_scales(shape: tuple[int, ...], layout: str) -> None:
    packed = mxref.pack_scales(np.zeros(shape, np.uint8), scale_layout=layout)
    assert packed.ndim == len(shape) - 1
    assert packed.size == 0
    assert mxref.unpack_scales(packed, shape, scale_layout=layout).shape == shape


@pytest.mark.parametrize("layout", ["row_major", "tiles_128x4"])
@pytest.mark.parametrize("kind", STRIDED)
def test_any_array_of_scales(kind: str, layout: str) -> None:
    plain = np.random.default_rng(3).integers(0, 256, (2, 130, 5)).astype(np.uint8)
    scales = STRIDED[kind](plain)
    packed = mxref.pack_scales(scales, scale_layout=layout)
    assert np.array_equal(
        packed, mxref.pack_scales(np.array(scales, np.uint8), scale_layout=layout)
    )
    if layout == "row_major":
        assert packed.tolist() == scales.reshape(2, -1).tolist()
    stored = STRIDED[kind](packed)
    back = mxref.unpack_scales(stored, scales.shape, scale_layout=layout)
    again = mxref.pack_scales(back, scale_layout=layout)
    assert np.array_equal(again, stored)
    for result, source in ((packed, scales), (back, stored)):
        assert result.flags.writeable
        assert not np.shares_memory(result, source)


def test_scales_of_any_format() -> None:
    scales = np.arange(128, dtype=np.uint8).reshape(2, 64)
    e8m0 = scales.view(ml_dtypes.float8_e8m0fnu)
    assert np.array_equal(mxref.pack_scales(e8m0), scales.ravel())
    x = np.ones((2, 64), np.float32)
    blocks = mxref.quantize(x, "fp4_ue4m3")
    assert mxref.pack_scales(blocks.scale_codes).shape == (8,)


# Refusals.

WIDTH5 = ElementFormat("e2m2", 2, 2, 1)


@pytest.mark.parametrize(
    ("kind", "call", "error"),
    [
        (
            ValueError,
            lambda: mxref.pack([1], WIDTH5),
            "format must have 4, 6 or 8 bits, got e2m2 with 5",
        ),
        (
            ValueError,
            lambda: mxref.pack([1], "mxfp4_e2m1"),
            "format must be an element format, got the block format 'mxfp4_e2m1': use 'e2m1'",
        ),
        (
            ValueError,
            lambda: mxref.pack([1], "e8m0"),
            "format must be an element format, got the scale format 'e8m0'",
        ),
        (
            ValueError,
            lambda: mxref.pack([1, 16], "e2m1"),
            "codes must be in [0, 15] for e2m1, got 16 at index (1,)",
        ),
        (
            ValueError,
            lambda: mxref.pack([-1], "e3m2"),
            "codes must be in [0, 63] for e3m2, got -1 at index (0,)",
        ),
        (
            TypeError,
            lambda: mxref.pack([1.0], "e2m1"),
            "codes must be unsigned integers or float4_e2m1fn for e2m1, got float64",
        ),
        (
            ValueError,
            lambda: mxref.pack(3, "e2m1"),
            "codes must have at least one axis, got a scalar: pass a list of one",
        ),
        (
            ValueError,
            lambda: mxref.pack([1], "e2m1", fp4_packing="halves", block_size=31),
            "block_size must be a multiple of 2 for fp4_packing=halves, got 31",
        ),
        (
            ValueError,
            lambda: mxref.pack([1], "e2m3", fp6_packing="torchao_planar", block_size=6),
            "block_size must be a multiple of 4 for fp6_packing=torchao_planar, got 6",
        ),
        (
            ValueError,
            lambda: mxref.pack([1], "e2m1", block_size=0),
            "block_size must be at least 1, got 0",
        ),
        (
            TypeError,
            lambda: mxref.pack([1], "e2m1", block_size=32.0),
            "block_size must be an integer, got float",
        ),
        (ValueError, lambda: mxref.unpack([1], "e2m1", -1), "count must be at least 0, got -1"),
        (TypeError, lambda: mxref.unpack([1], "e2m1", 1.5), "count must be an integer, got float"),
        (TypeError, lambda: mxref.packed_size("2", "e2m1"), "count must be an integer, got str"),
        (
            ValueError,
            lambda: mxref.unpack([1, 2], "e2m1", 2),
            "packed must have 1 bytes along its last axis for 2 codes of e2m1, got shape (2,)",
        ),
        (
            ValueError,
            lambda: mxref.unpack(1, "e2m1", 2),
            "packed must have 1 bytes along its last axis for 2 codes of e2m1, got shape ()",
        ),
        (
            ValueError,
            lambda: mxref.unpack([[1, 2]], "e3m2", 4),
            "packed must have 3 bytes along its last axis for 4 codes of e3m2, got shape (1, 2)",
        ),
        (
            ValueError,
            lambda: mxref.unpack([256], "e2m1", 2),
            "packed must be in [0, 255] for bytes, got 256 at index (0,)",
        ),
        (
            TypeError,
            lambda: mxref.unpack([0.5], "e2m1", 2),
            "packed must be unsigned integers for bytes, got float64",
        ),
        (
            TypeError,
            lambda: mxref.unpack(b"12", "e2m1", 4),
            "packed must be an array, got bytes: use numpy.frombuffer(data, numpy.uint8)",
        ),
        (
            ValueError,
            lambda: mxref.pack_blocks([1], [0] * 32, "mxfp4_e2m1"),
            "scale_place must be before or after for whole blocks, got separate: pack the codes "
            "alone with pack",
        ),
        (
            ValueError,
            lambda: mxref.unpack_blocks([[0] * 17], "mxfp4_e2m1"),
            "scale_place must be before or after for whole blocks, got separate: pack the codes "
            "alone with pack",
        ),
        (
            ValueError,
            lambda: mxref.pack_blocks([1], [0] * 31, "mxfp4_e2m1", **GGUF),
            "codes must have shape (32,) for scale_codes of shape (1,) with block size 32, "
            "got (31,)",
        ),
        (
            ValueError,
            lambda: mxref.pack_blocks([[1], [2]], [0] * 64, "mxfp4_e2m1", **GGUF),
            "codes must have shape (2, 32) for scale_codes of shape (2, 1) with block size 32, "
            "got (64,)",
        ),
        (
            ValueError,
            lambda: mxref.pack_blocks(1, [0] * 32, "mxfp4_e2m1", **GGUF),
            "scale_codes must have at least one axis, got a scalar: pass a list of one",
        ),
        (
            ValueError,
            lambda: mxref.pack_blocks([0x80], [0] * 16, "nvfp4", scale_place="before"),
            "scale_codes must be in [0, 127] for ue4m3, got 128 at index (0,)",
        ),
        (
            ValueError,
            lambda: mxref.pack_blocks([1], [0] * 16, "nvfp4", **QUARK_CHOICES),
            "scale_byte must be biased for a scale that is not e8m0, got signed for ue4m3 of nvfp4",
        ),
        (
            ValueError,
            lambda: mxref.pack_blocks([1], [0], "e2m1", **GGUF),
            "block_format must be a block format, got the element format 'e2m1': use 'mxfp4_e2m1'",
        ),
        (
            ValueError,
            lambda: mxref.pack_blocks([1], [0] * 4, BlockFormat("b", E2M1, E8M0, (2, 2)), **GGUF),
            "block_format must have blocks along one axis, got b with block size (2, 2): pack its "
            "codes alone with pack",
        ),
        (
            ValueError,
            lambda: mxref.pack_blocks([1], [0] * 3, BlockFormat("b", E2M1, UE4M3, 3), **GGUF),
            "block_size must be a multiple of 2 for fp4_packing=halves, got 3",
        ),
        (
            ValueError,
            lambda: mxref.unpack_blocks([[0] * 16], "mxfp4_e2m1", **GGUF),
            "packed must have shape (..., blocks, 17) for mxfp4_e2m1 with block size 32, "
            "got (1, 16)",
        ),
        (
            ValueError,
            lambda: mxref.unpack_blocks([0] * 17, "mxfp4_e2m1", **GGUF),
            "packed must have shape (..., blocks, 17) for mxfp4_e2m1 with block size 32, got (17,)",
        ),
        (
            ValueError,
            lambda: mxref.pack_scales([1, 2]),
            "scale_codes must have shape (..., rows, columns), got (2,)",
        ),
        (
            ValueError,
            lambda: mxref.pack_scales([[256]]),
            "scale_codes must be in [0, 255] for scales, got 256 at index (0, 0)",
        ),
        (
            ValueError,
            lambda: mxref.unpack_scales([1, 2, 3], (2, 2)),
            "packed must have shape (4,) for scale codes of shape (2, 2) in row_major, got (3,)",
        ),
        (
            ValueError,
            lambda: mxref.unpack_scales([[1, 2, 3, 4]], (2, 2)),
            "packed must have shape (4,) for scale codes of shape (2, 2) in row_major, got (1, 4)",
        ),
        (
            ValueError,
            lambda: mxref.unpack_scales([1] * 4, (2, 2), scale_layout="tiles_128x4"),
            "packed must have shape (512,) for scale codes of shape (2, 2) in tiles_128x4, "
            "got (4,)",
        ),
        (
            ValueError,
            lambda: mxref.unpack_scales([1], (1,)),
            "shape must be (..., rows, columns), got (1,)",
        ),
        (
            ValueError,
            lambda: mxref.unpack_scales([1], (-1, -1)),
            "shape must hold no negative numbers, got (-1, -1)",
        ),
        (
            TypeError,
            lambda: mxref.unpack_scales([1], (1, 1.0)),
            "shape must hold integers, got (1, 1.0)",
        ),
        (
            TypeError,
            lambda: mxref.pack(bytes(4), "e2m1"),  # type: ignore[arg-type]
            "codes must be an array, got bytes: use numpy.frombuffer(data, numpy.uint8)",
        ),
        (
            TypeError,
            lambda: mxref.unpack_scales(bytes(4), (2, 2)),  # type: ignore[arg-type]
            "packed must be an array, got bytes: use numpy.frombuffer(data, numpy.uint8)",
        ),
        (
            TypeError,
            lambda: mxref.pack(mxref.quantize([1.0], "mxfp4_e2m1"), "e2m1"),  # type: ignore[arg-type]
            "codes must be an array of codes, got Blocks: pass .codes",
        ),
        (
            TypeError,
            lambda: mxref.pack_scales(mxref.quantize([1.0], "mxfp4_e2m1")),  # type: ignore[arg-type]
            "scale_codes must be an array of codes, got Blocks: pass .scale_codes",
        ),
        (
            ValueError,
            lambda: mxref.pack([1], "e2m1", scale_layout="row_major"),
            "pack does not read the choice 'scale_layout', which pack_scales, unpack_scales read",
        ),
        (
            ValueError,
            lambda: mxref.pack([1], "e2m1", fp4_packing="low"),
            "fp4_packing must be one of low_nibble_first, high_nibble_first, halves, middle_bits, "
            "byte_each, got 'low' (did you mean 'low_nibble_first'?)",
        ),
    ],
)
def test_errors(kind: type[Exception], call: Callable[[], object], error: str) -> None:
    assert sentence(kind, call) == error


@pytest.mark.parametrize(("bits", "name"), PACKINGS)
def test_every_other_number_of_bytes_is_refused(bits: int, name: str | None) -> None:
    format, given_choices = NAMES[bits], choices(bits, name)
    for count in range(70):
        size = mxref.packed_size(count, format, **given_choices)
        for wrong in {size - 1, size + 1, 0, 2 * size + 1} - {size, -1}:
            with pytest.raises(ValueError, match=rf"^packed must have {size} bytes"):
                mxref.unpack(np.zeros(wrong, np.uint8), format, count, **given_choices)


def test_masked_arrays_are_refused() -> None:
    class Masked(list[int]):
        mask = ()

        def filled(self) -> list[int]:
            return list(self)

    for call in (
        lambda: mxref.pack(Masked([1]), "e2m1"),
        lambda: mxref.unpack(Masked([1]), "e2m1", 1),
        lambda: mxref.pack_scales(Masked([1])),
    ):
        assert "must not be masked" in sentence(TypeError, call)


@pytest.mark.parametrize("layout", ["low_nibble_first", "high_nibble_first"])
def test_blocks_along_axis_0_as_the_docstrings_say(layout: str) -> None:
    values = np.random.default_rng(7).standard_normal((64, 5)).astype(np.float32)
    down = mxref.quantize(values, "mxfp4_e2m1", axis=0)
    across = mxref.quantize(values.T, "mxfp4_e2m1")
    codes = np.moveaxis(down.codes, 0, -1)
    np.testing.assert_array_equal(
        mxref.pack(codes, "e2m1", fp4_packing=layout),
        mxref.pack(across.codes, "e2m1", fp4_packing=layout),
    )
    np.testing.assert_array_equal(
        mxref.pack_scales(down.scale_codes.T, scale_layout="tiles_128x4"),
        mxref.pack_scales(across.scale_codes, scale_layout="tiles_128x4"),
    )


def test_tiles_as_the_docstring_shapes_them() -> None:
    scales = np.random.default_rng(8).integers(0, 255, (256, 12), np.uint8)
    packed = mxref.pack_scales(scales, scale_layout="tiles_128x4")
    tiles = packed.reshape(256 // 128, 12 // 4, 512)
    tile = mxref.pack_scales(scales[128:, 4:8], scale_layout="tiles_128x4")
    np.testing.assert_array_equal(tiles[1, 1], tile)
