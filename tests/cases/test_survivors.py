"""What the room of cases makes: probes, blocks, patterns, and answers of both references."""

from __future__ import annotations

import dataclasses
import hashlib
import json
import re
from typing import Any

import numpy as np
import pytest
from helpers import VECTORS
from tables import rows

from mxref.bits.floats import BF16, F16, F32, F64, LAYOUTS, FloatLayout
from mxref.cases.answers import answerable, choices_read, exact_answers
from mxref.cases.grid import pattern
from mxref.cases.parse import VectorError, parse
from mxref.cases.probes import BLOCKS, COUNT, _around, probes
from mxref.cases.product import key_layout, product_blocks, reachable, scale_blocks, scale_range
from mxref.cases.random_blocks import random_blocks
from mxref.cases.records import json_line
from mxref.exact.format_table import FLOATS
from mxref.exact.patterns import float_reader
from mxref.formats.catalog import E2M1, E4M3, E5M2, ELEMENT_FORMATS, INT8
from mxref.operands.kinds import signed
from mxref.operands.word_rows import NO_WORD, padded, same_width
from mxref.operations.affine_words import affine
from mxref.operations.layers import exact_layer, fast_layer
from mxref.operations.product_words import BOUNDS
from mxref.operations.registry import CALL_OPERATIONS, REGISTRY
from mxref.policy.policy import Policy


def digest(array: np.ndarray) -> str:
    """The first digits of the SHA-256 of 64-bit words."""
    return hashlib.sha256(array.astype("<u8").tobytes()).hexdigest()[:12]


# Probes.


@pytest.mark.parametrize(("op", "format", "float", "rows", "row"), rows("cases", "probes"))
def test_how_many_probes(op: str, format: str, float: str, rows: str, row: str) -> None:
    found = probes(op, format, float)
    assert (found.shape, found.dtype) == ((int(rows), int(row)), np.uint64)


def test_probes_of_few_inputs_are_all_of_them() -> None:
    every = np.arange(1 << 16, dtype=np.uint64)[:, np.newaxis]
    assert np.array_equal(probes("encode", "e2m1", "f16"), every)
    assert np.array_equal(probes("encode_scale", "e8m0", "bf16"), every)
    assert np.array_equal(probes("shared_scale", "e2m1", "f16"), every & np.uint64(0x7FFF))
    assert np.array_equal(probes("decode", "e3m2", "f32"), every[:64])
    assert np.array_equal(probes("decode_scale", "e8m0", "f32"), every[:256])


@pytest.mark.parametrize(("block", "codes"), [("mxfp6_e2m3", 64), ("mxfp4_e2m1", 16)])
def test_probes_pair_every_scale_with_every_code(block: str, codes: int) -> None:
    found = probes("dequantize", block, "f32")
    pairs = {(row[0], code) for row in found.tolist() for code in row[1:]}
    assert pairs == {(scale, code) for scale in range(256) for code in range(codes)}
    two = {
        (row[0], code)
        for row in probes("dequantize", "fp4_ue4m3", "f32").tolist()
        for code in row[1:]
    }
    assert two == {(scale, code) for scale in range(128) for code in range(16)}


def test_probes_of_wide_floats_are_beside_every_threshold() -> None:
    """First ascending by ulp from -2 to 2, without signs, then the same with a sign."""
    thresholds = np.float32([0, 0.25, 0.5, 0.75, 1, 1.25, 1.5, 1.75, 2, 2.5, 3, 3.5, 4, 5, 6])
    points = set(thresholds.view(np.uint32).tolist()) | {np.float32(7).view(np.uint32).item()}
    steps = [64, 80, 91, 96, 112, 116, 120, 124, 126, 127]
    edges = {field << 23 | (n - 64) << 17 for field in range(255) for n in steps}
    near = {p + d for p in points | edges for d in (-2, -1, 0, 1, 2)}
    near = {p for p in near if 0 <= p <= 0x7F800000}
    found = probes("encode", "e2m1", "f32")[:, 0]
    half = (found.size - COUNT) // 2
    assert set(found[:half].tolist()) == near
    assert np.array_equal(found[half : 2 * half], found[:half] | np.uint64(1 << 31))
    first = found[: half // 5 - 20].astype(np.int64)  # all two ulp below a point
    assert set((first + 2).tolist()) <= points | edges
    scale = probes("encode_scale", "e8m0", "f32")[:, 0]
    assert set(scale[: (scale.size - COUNT) // 2].tolist()) == {
        p + d for p in edges for d in (-2, -1, 0, 1, 2) if 0 <= p + d <= 0x7F800000
    }


@pytest.mark.parametrize(("op", "format", "float", "want"), rows("cases", "digests_of_probes"))
def test_probes_are_the_same_for_ever(op: str, format: str, float: str, want: str) -> None:
    assert digest(probes(op, format, float)) == want


@pytest.mark.parametrize("float", ["f32", "bf16", "f64", "f16"])
@pytest.mark.parametrize(("format", "size"), [("mxfp4_e2m1", 32), ("fp4_ue4m3", 16)])
def test_probes_of_blocks_are_lanes_and_thresholds(format: str, size: int, float: str) -> None:
    if (format, float) == ("fp4_ue4m3", "f16"):
        return  # which no vectors have
    found = probes("quantize", format, float)
    layout = LAYOUTS[float]
    assert (found.shape[1], found.dtype) == (size, np.uint64)
    assert len(found) > BLOCKS + 10 * size
    magnitude = found & np.uint64(layout.sign_bit - 1)
    # Each lane has the only NaN, infinity of each sign, and number of a block.
    for special in (
        magnitude > layout.inf_bits,
        found == layout.inf_bits,
        found == layout.inf_bits | layout.sign_bit,
        magnitude != 0,
    ):
        alone = special[special.sum(axis=1) == 1]
        assert alone.any(axis=0).all()
    # Every number and midpoint of E2M1 with 2 ulp on both sides, in a block of scale 1.
    one = found[:, 0] == pattern(6, 0, layout) if size == 32 else magnitude.max(axis=1) > 0
    points = [0, 1, 2, 3, 4, 5, 6, 7, 8, 10, 12, 14, 16, 20, 24]
    near = {pattern(n, -2, layout) + step for n in points for step in range(-2, 3)}
    top = pattern(6, 0, layout) if size == 16 else layout.inf_bits  # 6 is amax under UE4M3
    beside = {bits | sign for bits in near if 0 <= bits <= top for sign in (0, layout.sign_bit)}
    assert beside <= set(found[one].reshape(-1).tolist())
    # A tie with one lower bit set, for each of these, and every exponent below the scale.
    ties = {pattern(5, -2, layout) | 1 << bit for bit in range(layout.mantissa_bits - 2)}
    assert ties <= set(found[one].reshape(-1).tolist())
    fields = set((magnitude[one] >> np.uint64(layout.mantissa_bits)).reshape(-1).tolist())
    assert fields >= set(range(layout.bias + 2))


def test_probes_of_two_levels_and_of_tensors() -> None:
    blocks = probes("quantize", "nvfp4", "f32")
    assert (blocks[:, 0] == 0x3F800000).all()
    beyond = np.float32([7.5 * 448, -7.5 * 448]).view(np.uint32)
    assert (blocks[:, 1:] == np.tile(beyond, 8)).all(axis=1).any()
    (tensor,) = probes("quantize_tensor", "mxint8", "bf16")
    rows = probes("quantize", "mxint8", "bf16")
    assert tensor[:3].tolist() == [*rows.shape, 1]
    assert np.array_equal(tensor[3:].reshape(rows.shape), rows)


def test_infinity_is_beside_the_largest_number() -> None:
    near = _around(np.array([F32.inf_bits - 1, 1], np.uint64), F32).tolist()
    magnitudes = {0, 1, 2, 3, *range(F32.inf_bits - 3, F32.inf_bits + 1)}
    assert set(near) == magnitudes | {bits | F32.sign_bit for bits in magnitudes}


def test_blocks_of_two_levels_hold_numbers_far_below_the_largest() -> None:
    words = probes("quantize", "nvfp4", "f32")[:, 1:]
    far = np.float32([3 * 2.0**-k for k in range(80)]).view(np.uint32)
    assert np.isin(far, words).all()


# The block product.


def odd_key(bits: int, drop: int) -> int:
    """A pattern without its last bits, the last one that stays 1 if any of those was."""
    return bits >> drop | (bits & ((1 << drop) - 1) != 0)


@pytest.mark.parametrize("fmt", [E2M1, E5M2, INT8], ids=lambda fmt: fmt.name)
def test_keys_under_scale_one(fmt: Any) -> None:
    """Where the scale is 1 a number is its own quotient: every key up to amax, of either sign."""
    drop = 23 - max(7, fmt.mantissa_bits + 2)
    assert key_layout(fmt).mantissa_bits == 23 - drop
    (last,) = (last for code, _, last in scale_range(fmt, Policy()) if code == 127)
    found = reachable(fmt, 127, last).tolist()
    keys = [odd_key(bits & 0x7FFFFFFF, drop) | (bits >> 31) << 31 for bits in found]
    want = {odd_key(bits, drop) for bits in range(0, last + 1, 1 << drop)}
    want |= {key | 1 for key in want}
    assert len(set(keys)) == len(keys)
    assert set(keys) == want | {key | 1 << 31 for key in want}


@pytest.mark.parametrize("code", [0, 1, 2, 9, 60, 126])
def test_keys_under_smaller_scales(code: int) -> None:
    """A key is there if some float32 up to amax has it as the key of its quotient, and once."""
    ((_, last),) = ((a, b) for c, a, b in scale_range(E2M1, Policy()) if c == code)
    found = reachable(E2M1, code, last)
    magnitudes = (found & np.uint32(0x7FFFFFFF)).view(np.float32).astype(np.float64)
    quotients = (magnitudes * 2.0 ** (127 - code)).astype(np.float32).view(np.uint32)
    keys = [odd_key(bits, 16) for bits in quotients.tolist()]
    assert len(set(zip(keys, found >> np.uint32(31), strict=True))) == len(keys)
    every = np.arange(0x7F80)
    ends = [(np.maximum(every + step, 0) << 16).astype(np.uint32) for step in (-1, 0, 1)]
    low, own, high = (end.view(np.float32).astype(np.float64) * 2.0 ** (code - 127) for end in ends)
    above = low.astype(np.float32)  # the smallest float32 above the lower end
    above = np.where(above > low, above, np.nextafter(above, np.float32(np.inf)))
    top = np.uint32(last).view(np.float32)
    even = (own.astype(np.float32) == own) & (own <= top)
    there = np.where(every % 2 == 0, even, (above < high) & (above <= top))
    assert set(keys) == set(every[there].tolist())


@pytest.mark.parametrize(("format", "code", "want"), rows("cases", "digests_of_blocks"))
def test_the_block_product_is_the_same_for_ever(format: str, code: str, want: str) -> None:
    fmt = ELEMENT_FORMATS[format]
    ((first, last),) = ((a, b) for c, a, b in scale_range(fmt, Policy()) if c == int(code))
    blocks = scale_blocks(fmt, int(code), first, last)
    assert digest(blocks) == want
    amax = (blocks & np.uint32(F32.sign_bit - 1)).max(axis=1)
    assert amax.min() >= first
    assert amax.max() == last
    place = np.arange(len(blocks)) * 5 % 32
    largest = blocks[np.arange(len(blocks)), place] & np.uint32(F32.sign_bit - 1)
    assert (largest == amax).all()


def test_the_product_has_an_array_for_each_scale_code() -> None:
    """The first from the smallest magnitude that is not zero to just below 2**-124."""
    assert scale_range(E2M1, Policy())[0] == (0, 1, 0x017FFFFF)
    blocks = product_blocks("mxfp4_e2m1", Policy())
    for (code, first, last), found in zip(scale_range(E2M1, Policy())[:3], blocks, strict=False):
        assert np.array_equal(found, scale_blocks(E2M1, code, first, last))


# Answers.


@pytest.mark.parametrize(
    ("op", "needed"),
    [("pack_scales", 2), ("unpack_scales", 2), ("quantize_tensor", 3), ("pack", 1)],
)
def test_a_case_of_too_few_words(op: str, needed: int) -> None:
    words = (1,) * (needed - 1)
    with pytest.raises(ValueError, match=f"^{op} must have more words in than {needed - 1}$"):
        REGISTRY[op].counts("mxfp4_e2m1", words, Policy())
    if op != "pack":
        assert REGISTRY[op].counts("mxfp4_e2m1", (1,) * needed, Policy()) == (
            (3, 1) if needed == 2 else (4, 33)
        )


def test_scales_of_a_tensor_are_no_element_codes() -> None:
    """3 x 40 along axis 1 has 6 scales before its codes, along axis 0 it has 40."""
    lines = (VECTORS / "quantize_tensor/mxfp4_e2m1.f32.jsonl").read_text("ascii").splitlines()
    assert len(parse("\n".join(lines) + "\n", "f").cases) == len(lines) - 1
    (number, line), *_ = [(i, one) for i, one in enumerate(lines) if "3x40_axis_1" in one]
    record = json.loads(line)
    for place, is_code in ((5, False), (6, True)):
        outputs = [output.split(" ") for output in record["out"]]
        for output in outputs:
            output[place] = "10"  # a scale code, but no code of E2M1
        text = [*lines]
        text[number] = json_line({**record, "out": [" ".join(output) for output in outputs]})
        if is_code:
            with pytest.raises(VectorError, match="holds what is no code of e2m1"):
                parse("\n".join(text) + "\n", "f")
        else:
            assert parse("\n".join(text) + "\n", "f").cases[number - 1].output(0)[place] == 0x10


def test_every_word_that_is_packed_is_an_element_code() -> None:
    lines = (VECTORS / "pack/e2m1.bytes.jsonl").read_text("ascii").splitlines()
    (number, line), *_ = [(i, one) for i, one in enumerate(lines) if '"in":"00 01 02' in one]
    codes = json.loads(line)["in"].split(" ")
    for place in (0, 1, len(codes) - 1):
        words = [*codes]
        words[place] = "10"
        lines[number] = json_line({**json.loads(line), "in": " ".join(words)})
        with pytest.raises(VectorError, match=f"^f:{number + 1}: holds what is no code of e2m1$"):
            parse("\n".join(lines) + "\n", "f")


def test_choices_that_are_read() -> None:
    policy = Policy.parse("ocp+rounding=to_odd+scale_rule=ceil+decoded_zero=dropped")
    assert choices_read("encode", policy) == {"rounding": "to_odd"}
    assert choices_read("quantize", policy) == {"rounding": "to_odd", "scale_rule": "ceil"}
    assert choices_read("pack", policy) == {}


def test_rows_of_two_widths_get_one() -> None:
    one, other = np.array([[1], [2], [3]], np.uint64), np.array([[4, 5]] * 3, np.uint64)
    wide = [[1, NO_WORD], [2, NO_WORD], [3, NO_WORD]]
    assert [array.tolist() for array in same_width(one, other)] == [wide, other.tolist()]
    assert [array.tolist() for array in same_width(other, one)] == [other.tolist(), wide]
    assert same_width(other, other)[0] is other
    assert padded([[1, 2], [3], []]).tolist() == [[1, 2], [3, NO_WORD], [NO_WORD, NO_WORD]]


@pytest.mark.parametrize(("digits", "taken"), [(0, False), (1, True), (16, True), (17, False)])
def test_digits_of_a_word(digits: int, *, taken: bool) -> None:
    text = (VECTORS / "decode/e2m1.f32.jsonl").read_text("ascii")
    file = parse(text, "f")
    named = [
        dataclasses.replace(case, id=f"{file.op}.e2m1.f32.{case.inputs[0]:0{digits}x}")
        for case in file.cases
    ]
    file = dataclasses.replace(file, in_digits=digits, cases=tuple(named))
    lines = "\n".join(file.lines()) + "\n"
    if taken:
        assert parse(lines, "f") == file
    else:
        with pytest.raises(VectorError):
            parse(lines, "f")


# Random blocks.


@pytest.mark.parametrize("name", ["f16", "bf16"])
def test_an_edge_beyond_the_largest_number_is_that_number(name: str) -> None:
    """127/64 times the largest power of two and up to 50 ulp more, of INT8."""
    layout = LAYOUTS[name]
    magnitude = random_blocks("edges", layout, INT8, 1 << 15) & np.uint64(layout.sign_bit - 1)
    assert magnitude.max() == layout.inf_bits - 1


# --- patterns of numbers --------------------------------------------------------------------------


@pytest.mark.sampled(6)
@pytest.mark.parametrize("layout", [F16, BF16], ids=lambda layout: layout.name)
def test_every_number_has_its_pattern(layout: FloatLayout) -> None:
    read = float_reader(FLOATS[layout.name])
    for bits in range(1 << 16):
        sign, n, e = read(bits)
        if n > 0:
            assert pattern(-n if sign else n, e, layout) == bits
            assert pattern(-4 * n if sign else 4 * n, e - 2, layout) == bits
    assert pattern(0, 5, layout) == 0


@pytest.mark.parametrize("layout", [F32, F64], ids=lambda layout: layout.name)
@pytest.mark.parametrize(
    ("n", "e"), [(1, -149), (3, -149), (-(2**24 - 1), 104), (5, -3), (-1, 127)]
)
def test_numbers_of_numpy(layout: FloatLayout, n: int, e: int) -> None:
    number = np.array(n * 2.0**e, layout.dtype)
    assert pattern(n, e, layout) == int(number.view(layout.uint))


@pytest.mark.parametrize(
    ("n", "e", "layout"),
    [
        (2049, 0, F16),  # a bit too many
        (3, -25, F16),  # half a unit among the subnormals
        (1, -25, F16),
        (1, -60, F16),
        (1, 16, F16),  # beyond the largest
        (-(2**12 - 1), 4, F16),
        (1, 128, F32),
        (2**24 + 1, 0, F32),
        (1, -1075, F64),
        (1, 1024, F64),
    ],
)
def test_what_is_no_number_of_the_type_is_refused(n: int, e: int, layout: FloatLayout) -> None:
    with pytest.raises(ValueError, match=f"^{re.escape(f'{n} * 2**{e}')} is not exact in "):
        pattern(n, e, layout)


# --- random blocks --------------------------------------------------------------------------------


INF = F32.inf_bits


def test_random_blocks_are_the_same_for_ever() -> None:
    blocks = random_blocks("quantize/mxfp8_e4m3.f32", F32, E4M3, 64)
    digest = hashlib.sha256(blocks.astype("<u8").tobytes()).hexdigest()
    assert digest[:16] == "ea4cc8ad01a55eb5"
    part = random_blocks("quantize/mxfp8_e4m3.f32", F32, E4M3, 10, 30)
    assert (part == blocks[30:40]).all()
    assert (random_blocks("another", F32, E4M3, 64) != blocks).mean() > 0.9


@pytest.mark.parametrize("fmt", [E5M2, E4M3, E2M1], ids=lambda fmt: fmt.name)
@pytest.mark.parametrize("layout", LAYOUTS.values(), ids=lambda layout: layout.name)
def test_random_blocks_hold_what_they_promise(layout: Any, fmt: Any) -> None:
    blocks = random_blocks("test", layout, fmt, 1 << 13)
    x = blocks & np.uint64(layout.sign_bit - 1)
    assert x.max() < layout.inf_bits
    assert blocks.max() < 1 << layout.width
    signs = blocks >> np.uint64(layout.width - 1)
    assert 0.4 < signs.mean() < 0.6
    assert ((x > 0) & (x < 1 << layout.mantissa_bits)).any(), "subnormal"
    assert (blocks == layout.sign_bit).any(), "-0"
    field = x.astype(np.int64) >> layout.mantissa_bits
    spread = field.max(axis=1) - field.min(axis=1)
    assert (spread == 0).mean() > 0.03
    assert (spread > 20).mean() > 0.1
    # The largest element of one block in four is within 50 ulp of an edge.
    amax, m = x.max(axis=1).astype(np.int64), layout.mantissa_bits
    fraction = round((fmt.max_normal / 2.0**fmt.emax - 1) * 2**m)
    for edge in (0, fraction):
        ulps = (amax - edge + (1 << (m - 1))) % (1 << m) - (1 << (m - 1))
        near = np.abs(ulps) <= 50
        assert near.mean() > 0.1
        assert near[amax >> m > 0].mean() > 0.1


def test_special_blocks_hold_nan_infinities_and_nothing_but_zeros() -> None:
    x = random_blocks("test", F32, E4M3, 1 << 12, specials=True) & np.uint64(F32.sign_bit - 1)
    nan, inf = (x > INF).any(axis=1), (x == INF).any(axis=1)
    assert 0.2 < nan.mean() < 0.45
    assert 0.2 < inf.mean() < 0.45
    assert (nan & inf).any()
    assert 0.47 < (nan | inf).mean() < 0.53
    assert {*(x >= INF).sum(axis=1).tolist()} == {0, 1, 2, 3}
    assert (x.max(axis=1) == 0).mean() > 0.02


# --- answers that are worked out by hand ----------------------------------------------------------


ONE, TWO, FOUR, SIX = 0x3F800000, 0x40000000, 0x40800000, 0x40C00000
MINUS = 1 << 31
MASK = (1 << 32) - 1


@pytest.mark.parametrize(("policy", "code"), [("nan=zero", 0), ("nan=lowest", -128)])
def test_a_policy_of_integers_is_its_name(policy: str, code: int) -> None:
    words = [-128 & MASK, 127, ONE, 5, 0x7FC00000]
    ((word,),) = exact_answers("quantize_affine", "int8", "f32", [words], policy)
    assert signed(word, 8) == code


@pytest.mark.parametrize(
    ("op", "words", "low", "high"),
    [
        ("linear", [1, 1, 1, 1, 0, ONE, TWO], [TWO], [TWO]),
        ("linear", [1, 1, 2, 1, 0, ONE, ONE, ONE, ONE], [TWO], [TWO]),
        ("linear", [1, 1, 1, 1, 1, ONE, TWO, TWO], [FOUR], [FOUR]),
        (
            "linear_gradients",
            [1, 1, 1, 1, ONE, TWO, TWO],
            [FOUR, TWO, TWO - 1],
            [FOUR, TWO, TWO + 1],
        ),
    ],
)
def test_the_ends_of_a_layer_by_hand(
    op: str, words: list[int], low: list[int], high: list[int]
) -> None:
    """Of x, w and the bias or the gradient; sums of few bits are exact in every order.

    The gradient of the bias is a sum of any floats: 2 +- (2**-24 * 2 + 2**-150), rounded.
    """
    for column, ends in zip(BOUNDS, (low, high), strict=False):
        assert exact_layer(op, "mxfp8_e4m3", "f32", words, column) == tuple(ends)
        assert fast_layer(op, "mxfp8_e4m3", "f32", words, column).tolist() == ends


def test_which_layers_have_answers() -> None:
    for op in ("linear", "linear_gradients"):
        assert answerable(op, "mxfp8_e4m3", "f32", Policy())
        assert not answerable(op, "mxfp8_e4m3", "f32", Policy().replace(accumulation="aligned_35"))


def test_the_words_of_a_scale_of_float64() -> None:
    parts = affine("int8_scale64", [-128 & MASK, 127, 0x3FF80000, 1, -1 & MASK, 7, 8])
    assert (parts.low, parts.high, parts.axis, parts.dims) == (-128, 127, None, (2,))
    assert (parts.scales, parts.zero_points) == ((0x3FF8000000000001,), (-1,))
    assert (parts.values, tuple(parts.which)) == ((7, 8), (0, 0))


def test_a_rescaling_of_two_channels() -> None:
    words = [3, -4 & MASK, 2, 1 << 30, 1 << 29, 30, 31, *(5, 6, 7, 8)]
    q, multiplier, shift, zero, out, target, bits = (
        CALL_OPERATIONS["rescale"].call("int8-int8", words).arguments
    )
    assert (q.tolist(), multiplier.tolist()) == ([[5, 6], [7, 8]], [1 << 30, 1 << 29])
    assert (shift.tolist(), zero, out, target, bits) == ([30, 31], 3, -4, np.int8, 32)
    for broken in (words[:2], words[:7], words[:-1], [3, 4, 0]):
        with pytest.raises(ValueError, match=r"case must|channels must|values must"):
            CALL_OPERATIONS["rescale"].call("int8-int8", broken)


def test_the_first_and_the_last_pixel_of_two_channels() -> None:
    corners = [-32767 & MASK] * 2 + [32767] * 2
    words = (1, 0, 0, 2, 2, 3, 1, 2, *range(1, 13), *corners)
    assert CALL_OPERATIONS["grid_sample"].exact_answer("int8", words, "default") == (1, 6, 7, 12)


def test_the_ends_of_a_layer_that_is_exact() -> None:
    """Twice 3 under the scale 1 is 6 in every order; sums of tenths depend on it."""
    words = (1, 1, 1, 1, ONE, 3, TWO)
    assert [
        CALL_OPERATIONS["linear_qcs8w"].twin_column("int8", words, column) for column in BOUNDS
    ] == [(SIX,)] * 4
    rounded = (1, 1, 2, 1, 0x3DCCCCCD, 3, 5, 0x3DCCCCCD, 0x3F8CCCCD)
    low, high, _, one = (
        CALL_OPERATIONS["linear_qcs8w"].twin_column("int8", rounded, c)[0] for c in BOUNDS
    )
    assert (low < high, one) == (True, 0x7FC00000)
