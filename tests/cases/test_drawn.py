"""Questions of the search: what their draws promise to contain is there."""

from __future__ import annotations

from itertools import pairwise

import numpy as np
import pytest
from numpy.typing import NDArray

from mxref import exact
from mxref.bits.floats import F32
from mxref.cases.drawn import _times_power, drawn, drawn_calls
from mxref.cases.drawn_layers import SHAPES, layer_words
from mxref.formats.catalog import ELEMENT_FORMATS
from mxref.operands.draws import Draws, Words
from mxref.operands.kinds import signed
from mxref.operations.registry import REGISTRY

Ints = NDArray[np.int64]


def magnitudes(op: str, format: str, count: int) -> Ints:
    """Patterns of float32 without their signs."""
    words = drawn(op, format, "f32", count)
    assert len(words) == count
    return (words & np.uint64(0x7FFFFFFF)).astype(np.int64)


def grid_of(format: str) -> Ints:
    """The patterns of all numbers of a format from 0 on, and of all midpoints: float32 has both."""
    fmt = ELEMENT_FORMATS[format]
    values = [exact.value(code, format) for code in range(fmt.max_code + 1)]
    middles = [(low + high) / 2 for low, high in pairwise(values)]
    return np.float32([float(x) for x in (*values, *middles)]).view(np.uint32).astype(np.int64)


@pytest.mark.parametrize("op", ["encode", "encode_stochastic"])
@pytest.mark.parametrize("format", ["e4m3", "e2m1", "int8"])
def test_numbers_lie_on_ties_beside_them_and_one_bit_away(op: str, format: str) -> None:
    found, points = magnitudes(op, format, 1 << 13)[:, 0], grid_of(format)

    def share(offset: int) -> float:
        return float(np.isin(found - offset, points).mean())

    assert share(0) > 1 / 8
    for offset in (-1, 1, 2):
        assert share(offset) > 1 / 32, offset
    for bit in range(23):
        for offset in (-(1 << bit), 1 << bit):
            assert share(offset) > 1 / 1024, offset
    assert (found > 0x7F800000).any()  # NaN
    assert (found < 0x00800000).any()  # subnormal


def test_random_bits_have_every_width_and_fill_it() -> None:
    words = drawn("encode_stochastic", "e4m3", "f32", 1 << 12)
    for width in (1, 2, 4, 8, 11, 16, 23, 32):
        bits = words[words[:, 2] == width, 1].astype(np.int64)
        assert 0 <= bits.min() <= bits.max() < 1 << width
        assert np.bitwise_or.reduce(bits) == (1 << width) - 1
        assert np.bitwise_and.reduce(bits) == 0


@pytest.mark.parametrize(("op", "format"), [("shared_scale", "e4m3"), ("encode_scale", "e8m0")])
def test_half_of_amax_lies_within_three_ulp_of_a_step_of_a_scale_rule(op: str, format: str) -> None:
    fractions = magnitudes(op, format, REGISTRY[op].questions)[:, 0] & 0x7FFFFF
    steps = (  # significands of limits, in 64ths
        64,  # FLOOR, CEIL
        96,  # 6, RCEIL of E2M1
        112,  # 448, RCEIL of E4M3, and 7, EVEN of E2M1
        116,  # 464, TOSA of E4M3
        120,  # 7.5, RCEIL of E2M3
        124,  # 496, EVEN of E4M3
        127,  # 127/64, RCEIL of INT8
    )
    for step in steps:
        for ulp in range(-3, 4):
            wanted = ((step - 64 << 17) + ulp) % (1 << 23)
            assert (fractions == wanted).sum() >= REGISTRY[op].questions / 400, (step, ulp)


def test_scales_are_of_either_sign_and_amax_has_none() -> None:
    signs = [
        drawn(op, format, "f32", 1 << 10)[:, 0] >> np.uint64(31)
        for op, format in (("encode_scale", "e8m0"), ("encode", "e4m3"), ("shared_scale", "e4m3"))
    ]
    assert [400 < sign.sum() < 624 for sign in signs] == [True, True, False]
    assert not signs[2].any()
    assert (drawn("shared_scale", "e4m3", "f32", 1 << 13) < np.uint64(1 << 31)).all()


def test_every_lane_holds_the_largest_number_and_specials() -> None:
    found = magnitudes("quantize", "mxfp4_e2m1", 1 << 12)
    ordinary = (found < 0x7F800000).all(axis=1)
    for lane in range(32):
        largest = found[:, lane] == found.max(axis=1)
        assert (largest & ordinary).sum() > 32
        assert (found[:, lane] == 0x7F800000).sum() >= 4
        assert (found[:, lane] > 0x7F800000).sum() >= 4
    exponents = found[ordinary] >> 23
    assert (exponents.max(axis=1, keepdims=True) - exponents == 80).any(axis=0).all()
    assert (found == 0).all(axis=1).sum() > 1  # blocks of zeros


def test_numbers_under_small_scales_vanish() -> None:
    found = magnitudes("quantize", "nvfp4", 1 << 10)[:, 1:]
    assert 1 / 50 < np.mean(found == 0) < 1 / 5
    assert (found == 1).any()


def test_powers_of_two_of_normal_numbers() -> None:
    """What is zero or subnormal, before or after, or too large is zero."""
    one, small, large = 0x3F800001, 0x00800001, 0x7F000001
    numbers = [one, one, small, small, large, large, 0x00400001, 0]
    powers = [0, -3, 1, -1, -1, 1, 3, 3]
    found = _times_power(np.array(numbers), np.array(powers), F32)
    assert found.tolist() == [one, 0x3E000001, 0x01000001, 0, 0x7E800001, 0, 0, 0]


def test_shapes_of_layers() -> None:
    """Beside several rows and outputs: inputs of less than a block, one, several, and with tails.

    Rows of a call and outputs are those of blocks of gradients: fewer than 32 and more.
    """
    some = [shape for shape in SHAPES if min(shape[1:]) > 1]
    kinds = {(min(inputs // 32, 2), inputs % 32 > 0) for _, _, inputs, _ in some}
    assert {(0, True), (1, False), (1, True), (2, False)} <= kinds
    assert {sequences * rows < 32 for sequences, rows, _, _ in some} == {True, False}
    assert {outputs < 32 for *_, outputs in some} == {True, False}
    assert {1, 2, 3} <= {sequences for sequences, *_ in SHAPES}
    assert (1, 1, 1, 1) in SHAPES


def test_every_array_of_layers_of_seeds_in_a_row_is_another() -> None:
    arrays = [
        layer_words("linear_gradients", "mxint8", "f32", (1, 4, 4, 4), seed)[start:][:16]
        for seed in range(4)
        for start in (4, 20, 36)
    ]
    assert len(set(arrays)) == len(arrays) == 12


@pytest.mark.parametrize("format", ["mxfp4_e2m1", "nvfp4"])
def test_every_scale_and_code_is_read(format: str) -> None:
    words = drawn("dequantize", format, "f32", 1 << 12)
    whole = words[:, -1 - (16 if format == "nvfp4" else 32) :]
    assert set(whole[:, 0].tolist()) == set(range(128 if format == "nvfp4" else 256))
    assert set(whole[:, 1:].ravel().tolist()) == set(range(16))


@pytest.mark.parametrize("float", ["f16", "bf16"])
def test_of_floats_of_16_bits_every_pattern_is_asked(float: str) -> None:
    for op, format, count in (("encode", "e4m3", 1 << 16), ("shared_scale", "e4m3", 1 << 15)):
        assert drawn(op, format, float, 5)[:, 0].tolist() == list(range(count))


def test_a_seed_and_every_name_change_the_questions() -> None:
    words = [
        drawn("encode", "e4m3", "f32", 99).tobytes(),
        drawn("encode", "e4m3", "f32", 99, seed=1).tobytes(),
        drawn("encode", "e5m2", "f32", 99).tobytes(),
        drawn("encode", "e4m3", "f64", 99).tobytes(),
    ]
    assert len(set(words)) == 4
    assert drawn("encode", "e4m3", "f32", 99).tobytes() == words[0]
    assert drawn("pack", "e2m1", "bytes", 99).shape == (0, 1)


# --- integers -------------------------------------------------------------------------------------


COUNT = 1 << 8


def floats(words: Words) -> np.ndarray:
    with np.errstate(invalid="ignore"):  # signalling NaN
        return words.astype(np.uint32).view(np.float32).astype(np.float64)


def test_scales_of_weights_have_every_fraction_bit() -> None:
    words = drawn_calls("quantize_affine", "int16", COUNT, Draws("scales"))
    ordinary = words[[i % 3 > 0 for i in range(COUNT)], 2]
    assert np.bitwise_or.reduce(ordinary & np.uint64(0x7FFFFF)) == 0x7FFFFF
    fields = set((ordinary >> np.uint64(23)).tolist())
    assert fields == set(range(127 - 14, 127 + 3))
    assert 1 / 20 < np.mean(ordinary & np.uint64(0x7FFFFF) == 0) < 1 / 5  # powers of two


def test_numbers_lie_at_both_ends_on_ties_and_beside_them() -> None:
    words = drawn_calls("quantize_affine", "int16", COUNT, Draws("numbers"))
    scale, x = floats(words[:, 2:3]), floats(words[:, 4:])
    low, high, zero = (np.array([[signed(n)] for n in words[:, i].tolist()]) for i in (0, 1, 3))
    with np.errstate(all="ignore"):
        quotient = x / scale
        for end in (low, high):
            assert np.mean(abs(quotient + zero - end) <= 8) > 1 / 40
        assert np.mean(abs(quotient) > 2.0**33) > 1 / 100  # numbers of any size
        halves = (2 * quotient)[(words[:, 2] & np.uint64(0x7FFFFF)) == 0]
        exact = np.mean(halves == np.rint(halves))
    assert 1 / 10 < exact < 1 / 2  # the others are up to 2 ulp away


def test_layers_are_exact_or_cancel() -> None:
    odd, pairs = set(), []
    for i, row in enumerate(drawn_calls("linear_qcs8w", "int8", COUNT, Draws("layers"))):
        m, n, k, groups = row[:4].astype(int).tolist()
        scales, x = row[4:][: n * groups], row[4 + n * groups + n * k :][: m * k].reshape(m, k)
        if i % 2 == 0:  # powers of two, and small integers times one
            assert not (scales & np.uint64(0x7FFFFF)).any()
            for number in floats(x).ravel().tolist():
                numerator = number.as_integer_ratio()[0]
                odd.add(numerator // max(numerator & -numerator, 1))
        elif i % 4 == 1:
            fields = x >> np.uint64(23) & np.uint64(0xFF)
            assert ((fields >= 120) & (fields <= 130)).all()
            pairs += (x[:, 1::2] ^ x[:, : k - 1 : 2]).ravel().tolist()
    assert odd == set(range(-15, 16, 2)) | {0}
    assert 1 / 3 < np.mean(np.array(pairs) == 1 << 31) < 2 / 3
