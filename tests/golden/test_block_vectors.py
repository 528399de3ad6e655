"""What the cases of blocks cover: rounding, lanes and orders of codes, found from the files alone.

Midpoints come from `mxref.exact.decode`; quotients are float64, which holds all of them.
"""

from __future__ import annotations

import functools
import itertools

import numpy as np
import pytest
from helpers import ELEMENT, FILES, SOURCES, WIDTH, records, words

from mxref import exact
from mxref.formats.catalog import ELEMENT_FORMATS
from mxref.golden import level2

DTYPES = {float: (dtype, np.dtype(f"u{WIDTH[float] // 8}")) for float, dtype in SOURCES.items()}
#: Width and fraction bits. Source: IEEE 754-2019 3.4.
FLOATS = {"f16": (16, 10), "bf16": (16, 7), "f32": (32, 23), "f64": (64, 52)}
BLOCKS = [stem for stem in FILES if stem.startswith("quantize/mx")]
NARROW = [stem for stem in BLOCKS if stem.endswith((".f32", ".bf16"))]
DEQUANTIZED = [stem for stem in FILES if stem.startswith("dequantize/mx")]
Rows = list[tuple[str, list[int], list[int]]]


@functools.cache
def rows(stem: str) -> Rows:
    """Name, input words and `ocp` output words of each case."""
    return [(case["name"], words(case["in"]), words(case["outs"][0])) for case in records(stem)[1]]


def numbers_of(element: str) -> list[float]:
    """The numbers of a format from zero to the largest, from the slow twin."""
    fmt = ELEMENT_FORMATS[element]
    bits = [exact.decode(code, element, "f64") for code in range(fmt.max_code + 1)]
    return [float(x) for x in np.array(bits, np.uint64).view(np.float64)]


def quotients(stem: str) -> np.ndarray:
    """Magnitudes of all elements over their scales, one block a row; no blocks with NaN or Inf."""
    float = stem.rpartition(".")[2]
    dtype, uint = DTYPES[float]
    finite = [(inputs, out) for _, inputs, out in rows(stem) if out[0] != 0xFF]
    values = np.array([inputs for inputs, _ in finite], np.uint64).astype(uint).view(dtype)
    scales = np.array([out[0] for _, out in finite])[:, np.newaxis] - 127
    found: np.ndarray = np.ldexp(values.astype(np.float64), -scales)
    return found


@pytest.mark.parametrize("stem", BLOCKS)
def test_both_neighbours_of_every_midpoint_stand_in_a_block(stem: str) -> None:
    block, float = stem.partition("/")[2].split(".")
    dtype, uint = DTYPES[float]
    numbers = numbers_of(ELEMENT[block])
    middles = [(low + high) / 2 for low, high in itertools.pairwise(numbers)]
    patterns = np.array(middles).astype(dtype).view(uint)
    wanted = [side.view(dtype).astype(np.float64) for side in (patterns + 1, patterns - 1)]
    found = np.abs(quotients(stem))
    for side in wanted:
        assert np.isin(side, found).all(), side[~np.isin(side, found)]


@pytest.mark.parametrize("stem", BLOCKS)
def test_a_tie_with_each_lower_bit_set_stands_in_a_block(stem: str) -> None:
    """The tie above a power of two, in some binade where the spacing is in proportion."""
    block, float = stem.partition("/")[2].split(".")
    tie = (1 + min(number for number in numbers_of(ELEMENT[block]) if number > 1)) / 2
    found = np.abs(quotients(stem))
    binades = 2.0 ** np.arange(-16, 4)
    bits = [2.0**-k for k in range(1, FLOATS[float][1] + 1) if 2.0**-k < tie - 1]
    assert bits or float == "bf16"
    for bit in bits:
        assert np.isin((tie + bit) * binades, found).any(), (tie, bit)


@pytest.mark.parametrize("stem", [stem for stem in BLOCKS if not stem.endswith("f16")])
def test_every_binade_far_below_the_scale_holds_three_significands(stem: str) -> None:
    block, float = stem.partition("/")[2].split(".")
    smallest = numbers_of(ELEMENT[block])[1]
    found = np.abs(quotients(stem))
    all_ones = 2 - 2.0 ** -FLOATS[float][1]
    start = int(np.log2(smallest)) - 2
    # Where the shift of what is subnormal wraps if it is counted modulo 64.
    emin = ELEMENT_FORMATS[ELEMENT[block]].emin
    wrapped = [emin - depth for depth in (*range(64, 71), *range(128, 141))]
    for exponent in (*range(start, -77, -1), *wrapped):
        wanted = np.ldexp([1, 1.5, all_ones], exponent)
        assert np.isin(wanted, found).all(), exponent


KINDS = ("nan", "+inf", "-inf", "+", "-")


def seen_in_lanes(blocks: list[list[int]], float: str) -> set[tuple[int, str]]:
    """Lanes with the one special, or the one largest element, that a block has."""
    width, fraction = FLOATS[float]
    sign, inf = 1 << (width - 1), (1 << (width - 1)) - (1 << fraction)
    seen = set()
    for block in blocks:
        magnitudes = [bits & (sign - 1) for bits in block]
        top = max(magnitudes)
        drop = fraction if len(block) == 32 else 0  # MX: the others are in lower binades
        if sum(m >= inf for m in magnitudes) == 1:
            lane = magnitudes.index(top)
            is_nan = top > inf
            seen.add((lane, "nan" if is_nan else "-inf" if block[lane] & sign else "+inf"))
        elif top < inf and sorted(magnitudes)[-2] >> drop < top >> drop:
            lane = magnitudes.index(top)
            seen.add((lane, "-" if block[lane] & sign else "+"))
    return seen


@pytest.mark.parametrize(
    "stem", [*NARROW, "quantize/fp4_ue4m3.f32", "quantize/fp4_ue4m3.bf16", "quantize/nvfp4.f32"]
)
def test_every_lane_holds_each_special_and_the_largest_of_each_sign_alone(stem: str) -> None:
    lanes = range(32 if "/mx" in stem else 16)
    blocks = [inputs["nvfp4" in stem :] for _, inputs, _ in rows(stem)]
    seen = seen_in_lanes(blocks, stem.rpartition(".")[2])
    assert seen >= {*itertools.product(lanes, KINDS)}


@pytest.mark.parametrize("float", ["f16", "f64"])
@pytest.mark.parametrize("block", ELEMENT)
def test_every_lane_of_level_2_holds_them(block: str, float: str) -> None:
    (family,) = level2.select(f"quantize.{block}.{float}.ocp")
    (words,) = family.chunks()
    seen = seen_in_lanes(words.astype(object).tolist(), float)
    assert seen == {*itertools.product(range(32), KINDS)}


@pytest.mark.parametrize("stem", NARROW)
def test_the_largest_elements_in_lanes_have_64_significands(stem: str) -> None:
    float = stem.rpartition(".")[2]
    width, fraction = FLOATS[float]
    tops = [
        max(bits & ((1 << (width - 1)) - 1) for bits in inputs)
        for name, inputs, _ in rows(stem)
        if name.startswith("lane_") and name.endswith(("plus", "minus"))
    ]
    significands = {(top & ((1 << fraction) - 1)) >> (fraction - 6) for top in tops}
    assert len(tops) == 64
    assert significands == set(range(64))


@pytest.mark.parametrize("stem", [stem for stem in FILES if stem.startswith("shared_scale/")])
def test_amax_has_64_significands(stem: str) -> None:
    fraction = FLOATS[stem.rpartition(".")[2]][1]
    inputs = [int(case["in"], 16) for case in records(stem)[1]]
    exact_ones = {
        (bits & ((1 << fraction) - 1)) >> (fraction - 6)
        for bits in inputs
        if not bits & ((1 << (fraction - 6)) - 1)
    }
    assert exact_ones == set(range(64))


@pytest.mark.parametrize("stem", NARROW)
def test_a_number_block_follows_a_nan_block_and_a_zero_block_a_full_one(stem: str) -> None:
    scales = [out[0] for _, _, out in rows(stem)]
    zeros = [not any(word & 0x7FFF for word in inputs) for _, inputs, _ in rows(stem)]
    pairs = list(zip(scales, scales[1:], zeros[1:], strict=False))
    assert any(one == 0xFF and 0 < two < 0xFF for one, two, _ in pairs)
    assert any(0 < one < 0xFF and zero for one, _, zero in pairs)


@pytest.mark.parametrize("stem", DEQUANTIZED)
def test_no_two_lanes_hold_equal_codes_in_all_cases(stem: str) -> None:
    """Lanes swapped, also i with i ^ 1, 2, 4, 8 or 16, and a block reversed, show."""
    codes = np.array([inputs[1:] for _, inputs, _ in rows(stem) if inputs[0] != 0xFF])
    outputs = np.array([out for _, inputs, out in rows(stem) if inputs[0] != 0xFF])
    for i, j in itertools.combinations(range(32), 2):
        assert (codes[:, i] != codes[:, j]).any()
        assert (outputs[:, i] != outputs[:, j]).any(), (i, j)


def test_dequantize_to_float16_overflows_and_becomes_subnormal() -> None:
    for block in ELEMENT:
        header, cases = records(f"dequantize/{block}.f16")
        flags = [set(case.get("flags", ())) for case in cases]
        assert sum("product_overflow" in some for some in flags) >= 3
        assert sum("product_subnormal" in some for some in flags) >= 3
        by_rule = {case["rule"] for case in cases}
        assert by_rule == {"MX-5.1", "N20", "N21"}
        assert header["required"] == ["MX-5.1"]


@pytest.mark.parametrize("stem", [stem for stem in FILES if stem.startswith("quantize_tensor/")])
def test_a_tensor_and_its_transpose_are_rounded_alike(stem: str) -> None:
    found = {name: (inputs, out) for name, inputs, out in rows(stem)}
    (across,) = [found[name] for name in found if name.startswith("rounding_") and "32_" in name]
    (down,) = [found[name] for name in found if name.startswith("rounding_32x")]
    count = across[0][0]
    assert (across[0][1], down[0][:3]) == (32, [32, count, 0])
    for first, second in ((across[0][3:], down[0][3:]), (across[1][count:], down[1][count:])):
        assert np.array_equal(np.array(first).reshape(count, 32).T.ravel(), second)
    assert across[1][:count] == down[1][:count]


@pytest.mark.parametrize("float", ["f32", "bf16", "f16", "f64"])
def test_every_tie_of_fp4_stands_in_every_position_but_one_of_a_block(float: str) -> None:
    """A kernel may be wrong in one lane only; the last position has the block's largest number."""
    found = quotients(f"quantize/mxfp4_e2m1.{float}")
    for tie in (0.25, 0.75, 1.25, 1.75, 2.5, 3.5, 5):
        lanes = (np.abs(found) == tie).any(axis=0)
        assert lanes[:31].all(), tie
