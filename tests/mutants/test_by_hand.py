"""Wrong answers of mutants worked out by hand: elements, lanes, conventions, layouts, integers."""

from __future__ import annotations

from typing import Any

import ml_dtypes
import numpy as np
import pytest
from helpers import vector_file
from tables import codes, number, pattern, rows

import mxref
from mxref.cases.answers import exact_answer
from mxref.conformance.score import call_operation, covers
from mxref.mutants import MUTANTS
from mxref.mutants import layout_mutants as places
from mxref.mutants import packing_mutants as layout
from mxref.mutants.lane_mutants import exchanged
from mxref.mutants.lifted_mutants import in_blocks, in_tensors
from mxref.mutants.tensor_mutants import pair
from mxref.policy.policy import Policy

BY_ID = {mutant.id: mutant for mutant in MUTANTS}
Array = Any
ONE, NEXT = 0x38, 0x40  # 1 and 2 in E4M3


def run(id: str, *arguments: Any) -> Any:
    found = BY_ID[id].run
    assert found is not None
    return found(*arguments)


def u8(*codes: int) -> Array:
    return np.array(codes, np.uint8)


def block(lanes: dict[int, float], rest: float = 1.0, size: int = 32) -> Array:
    """One block of float32."""
    values = np.full((1, size), rest, np.float32)
    for lane, value in lanes.items():
        values[0, lane] = value
    return values


def words(text: str, float: str) -> list[int]:
    """Words in hexadecimal, and numbers of a float type, which have a point or an exponent."""
    found = []
    for word, times in (word.partition("*")[::2] for word in text.split()):
        is_number = {*word} & {*".p"}
        found += [pattern(word, float) if is_number else int(word, 16)] * int(times or 1)
    return found


@pytest.mark.parametrize(("id", "stem", "given", "answer"), rows("mutants", "words"))
def test_an_answer(id: str, stem: str, given: str, answer: str) -> None:
    mutant, asked = BY_ID[id], vector_file(stem)
    assert covers(mutant, asked)
    assert mutant.run is not None
    inputs, want = words(given, asked.float), codes(answer.removeprefix("right "))
    got = call_operation(mutant.run, asked, np.array([inputs], np.uint64))
    assert got.tolist() == [want]
    right = exact_answer(asked.op, asked.format, asked.float, inputs, Policy.parse(mutant.policy))
    assert ([*right] == want) == answer.startswith("right ")


@pytest.mark.parametrize("dtype", [np.float32, np.float64, np.float16, ml_dtypes.bfloat16])
@pytest.mark.parametrize("format", ["mxfp8_e5m2", "mxfp6_e2m3", "mxint8"])
def test_with_a_right_encoder_nothing_differs(format: str, dtype: Any) -> None:
    """Quotients far below the float type's smallest number included."""
    info = ml_dtypes.finfo(dtype)
    values = np.array([[float(info.max)] + [float(info.smallest_subnormal)] * 31] * 2)
    values[1] = np.linspace(-7, 9, 32)
    values = np.concatenate([values, block({3: np.nan}), block({4: np.inf})]).astype(dtype)
    right = mxref.quantize(values, format)
    scales, codes = in_blocks(mxref.encode)(values, format)
    assert (scales == right.scale_codes[:, 0]).all()
    assert (codes == right.codes).all()
    tensor = in_tensors(mxref.encode)(values, format, 0)
    right = mxref.quantize(values, format, axis=0)
    assert (tensor[0] == right.scale_codes).all()
    assert (tensor[1] == right.codes).all()


@pytest.mark.parametrize(("id", "rest", "lanes", "want"), rows("mutants", "lanes"))
def test_a_wrong_lane_or_pair(id: str, rest: str, lanes: str, want: str) -> None:
    others = dict(word.split("=") for word in lanes.split())
    values = block({int(lane): number(one) for lane, one in others.items()}, number(rest))
    scales, elements = run(id, values, "mxfp8_e4m3")
    assert [scales[0], *elements[0, 6:8]] == codes(want)


def test_blocks_in_a_row() -> None:
    values = np.concatenate([block({0: np.nan}), block({0: 448.0}), block({}, 0.0)])
    assert run("P6", values, "mxfp8_e4m3")[0].tolist() == [255, 255, 0]
    assert run("P7", values, "mxfp8_e4m3")[0].tolist() == [255, 127, 127]


def test_the_order_of_lanes() -> None:
    codes = np.arange(32, dtype=np.uint8)[np.newaxis]
    scales = np.array([127], np.uint8)
    right = mxref.decode(codes[0], "e4m3")
    read = run("L11c", scales, codes, "mxfp8_e4m3", np.float32)
    assert (read[0] == right[np.arange(32) ^ 4]).all()
    healthy = exchanged(list(range(32)))
    assert (healthy(scales, codes, "mxfp8_e4m3", np.float32)[0] == right).all()


# Conventions: biases, emax, scales of tensors and of neighbours.


def of(kind: str) -> Any:
    return pytest.mark.parametrize(("id", "want"), rows("mutants", "small", kind))


def numbers(text: str) -> list[float]:
    return [number(word) for word in text.split()]


@of("scale_of_one")
def test_the_scale_of_one(id: str, want: str) -> None:
    """Its element is 1 over that scale."""
    scale = int(want)
    assert run(id, np.float32([1.0]), "e4m3").tolist() == [scale]
    code = mxref.encode(np.float32([min(2.0 ** (127 - scale), 448.0)]), "e4m3")[0]
    for letter, more in (("q", ()), ("t", (1,))):
        scales, elements = run(id + letter, block({}), "mxfp8_e4m3", *more)
        assert (scales.reshape(-1)[0], elements[0, 0]) == (scale, code)


@of("stored_scale")
def test_a_scale_that_is_stored_with_another_bias(id: str, want: str) -> None:
    values = block({}, 448.0)
    for found in (run(id, values, "mxfp8_e4m3"), run(f"{id}t", values, "mxfp8_e4m3", 1)):
        assert [side.reshape(-1)[0] for side in found] == [int(want), 0x7E]
    ends = np.full((2, 32), np.ldexp(448.0, 127))
    ends[1, 5] = np.nan  # FE and FF
    assert run(id, ends, "mxfp8_e4m3")[0].tolist() == [min(127 + int(want), 254), 0xFF]


@of("output_of_one")
def test_the_output_of_one(id: str, want: str) -> None:
    ones = np.full((1, 32), ONE, np.uint8)
    assert run(id, u8(127), ones, "mxfp8_e4m3", np.float32)[0, 0] == number(want)
    if id.startswith("C6"):
        assert run(id[:-1], u8(127)) == number(want)


@of("tensor_scale")
def test_the_scale_of_a_tensor(id: str, want: str) -> None:
    values = np.array([[12.0, 2.0] * 8], np.float32)
    right = mxref.quantize(values, "nvfp4", tensor_scale=2.0)
    assert [right.scale_codes[0, 0], *right.codes[0, :2]] == [0x38, 7, 2]
    scales, elements = run(id, values, "nvfp4", np.float32(2.0))
    assert [scales[0], *elements[0, :2]] == codes(want)


@of("tensor_scale_read")
def test_the_scale_of_a_tensor_on_reading(id: str, want: str) -> None:
    twos = np.full((1, 16), 2, np.uint8)
    found = run(id, u8(ONE), twos, "nvfp4", np.float32, np.float32(2.0))
    assert found[0, 0] == number(want)


def test_a_rounded_reciprocal_of_the_scale_of_a_tensor() -> None:
    """1 / 7 in float32 is 0.14285715; times 1.5 its last bit is not that of 1.5 / 7."""
    codes, scale = np.full((1, 16), 3, np.uint8), np.float32(7.0)
    divided = np.float32(1.5) / scale
    assert run("D7k", u8(ONE), codes, "nvfp4", np.float32, scale)[0, 0] == divided
    times = np.float32(1.5) * (np.float32(1.0) / scale)
    assert run("D7l", u8(ONE), codes, "nvfp4", np.float32, scale)[0, 0] == times != divided


def test_scales_of_neighbours() -> None:
    values = np.repeat(np.float32([[1.0], [2.0], [4.0]]), 32, axis=1)
    assert run("G8", values, "mxfp8_e4m3")[0].tolist() == [120, 121, 119]
    assert run("G8h", values, "mxfp8_e4m3")[0].tolist() == [121, 119, 120]
    codes = np.full((3, 32), ONE, np.uint8)
    read = run("G8i", u8(127, 128, 129), codes, "mxfp8_e4m3", np.float32)
    assert read[:, 0].tolist() == [2.0, 4.0, 1.0]
    wide = np.concatenate([values, 8 * values], axis=1)
    right = pair(wide, "mxfp8_e4m3", 1)[0]
    assert right.tolist() == [[119, 122], [120, 123], [121, 124]]
    assert run("G8j", wide, "mxfp8_e4m3", 1)[0].tolist() == [[120, 123], [121, 124], [119, 122]]
    assert run("G8k", wide, "mxfp8_e4m3", 1)[0].tolist() == [[122, 119], [123, 120], [124, 121]]
    down = run("G8j", wide.T, "mxfp8_e4m3", 0)[0]
    assert down.T.tolist() == [[120, 123], [121, 124], [119, 122]]
    small = np.repeat(np.float32([[6.0], [12.0], [24.0]]), 16, axis=1)
    assert run("G8m", small, "fp4_ue4m3")[0].tolist() == [NEXT, 0x48, ONE]
    twos = np.full((2, 16), 2, np.uint8)
    for format, more in (("fp4_ue4m3", ()), ("nvfp4", (np.float32(1.0),))):
        read = run("G8n", u8(ONE, NEXT), twos, format, np.float32, *more)
        assert read[:, 0].tolist() == [2.0, 1.0]


def test_two_blocks_of_16_as_one_of_32() -> None:
    """The third one stands alone: of 4 the scale is 1, of 8 and 16 it is 2 and 4."""
    values = np.repeat(np.float32([[4.0], [8.0], [16.0]]), 16, axis=1)
    scales, elements = run("G7d", values, "fp4_e8m0")
    assert scales.tolist() == [128, 128, 129]
    assert elements[:, 0].tolist() == [4, 6, 6]  # 4 / 2, 8 / 2 and 16 / 4
    fours = np.full((3, 16), 6, np.uint8)
    read = run("G7e", u8(127, 128, 129), fours, "fp4_e8m0", np.float32)
    assert read[:, 0].tolist() == [4.0, 4.0, 16.0]


@of("product")
def test_products(id: str, want: str) -> None:
    ones = np.full((2, 64), ONE, np.uint8)
    a, b = u8(127, 128, 129, 130).reshape(2, 2), u8(127, 127, 128, 128).reshape(2, 2)
    name = "mxfp8_e4m3"
    found = run(id, a, ones, b, ones, name, name, np.float32)
    assert found.reshape(-1).tolist() == numbers(want)


def test_neighbouring_blocks_of_products() -> None:
    """Where the codes of the blocks differ: 1 and 2 under scales of 1 and 2 give 32 (1 + 4)."""
    codes = np.repeat(u8(ONE, NEXT), 32).reshape(1, 64)
    ones, scales, equal = np.full((1, 64), ONE, np.uint8), u8(127, 128)[None], u8(127, 127)[None]
    names = "mxfp8_e4m3", "mxfp8_e4m3", np.float32
    assert run("H7d", scales, codes, equal, ones, *names)[0, 0] == 32 * (2 + 2)
    assert run("H7d", equal, ones, scales, codes, *names)[0, 0] == 32 * (1 + 4)
    assert run("H7e", equal, ones, scales, codes, *names)[0, 0] == 32 * (2 + 2)


def test_linear_layers() -> None:
    """x of rows 1 and 4, w of outputs 1 and 2, two blocks of 1 and 2 each; a bias of 1."""
    blocks = np.repeat(np.float32([1.0, 2.0]), 32)
    x, w = np.float32([[1.0], [4.0]]) * blocks, np.float32([[1.0], [2.0]]) * blocks
    bias = np.float32([1.0, 1.0])
    right = 32.0 * (1 + 4)
    swapped = 32.0 * (2 * 1 + 1 * 2)
    for id, want in {
        "H22w": [[right / 2, right], [2 * right, 4 * right]],
        "H23": [[2 * right, right], [8 * right, 4 * right]],
        "H23b": [[swapped, 2 * swapped], [4 * swapped, 8 * swapped]],
        "H23c": [[4 * right, 8 * right], [right, 2 * right]],
        "H23d": [[swapped, 2 * swapped], [4 * swapped, 8 * swapped]],
    }.items():
        assert run(id, x, w, bias, "mxfp8_e4m3").tolist() == (np.array(want) + 1).tolist(), id


def test_words_of_words() -> None:
    """4 rows of 8 columns: words of rows 0 to 3 of columns 0 to 3, then those of 4 to 7."""
    scales = np.arange(32, dtype=np.uint8).reshape(4, 8)
    once = mxref.pack_scales(scales, scale_layout="mn_major_words")
    assert once[:8].tolist() == [0, 1, 2, 3, 8, 9, 10, 11]
    again = mxref.pack_scales(once.reshape(4, 8), scale_layout="mn_major_words")
    assert run("G12e", scales).tolist() == again.tolist() != once.tolist()
    assert run("G12f", scales).tolist() == scales.reshape(-1).tolist()
    assert run("G12y", again, (4, 8)).tolist() == scales.tolist()
    assert run("G12z", scales.reshape(-1), (4, 8)).tolist() == scales.tolist()


def test_the_packing_mutants() -> None:
    """Bytes by hand: the right ones are 21 43, 81 34 d2 and 10 32."""
    codes = np.array([1, 2, 3, 4], np.uint8)
    assert layout.high_nibble_first(codes, "e2m1").tolist() == [0x12, 0x34]
    sixes = np.array([[0x01, 0x12, 0x23, 0x34]] * 2, np.uint8)
    assert layout.most_significant_first(sixes, "e2m3").tolist() == [[0x05, 0x28, 0xF4]] * 2
    ramp = np.tile(np.arange(16, dtype=np.uint8), 4).reshape(2, 32)
    assert layout.halves(ramp, "e2m1")[1].tolist() == [0x11 * i for i in range(16)]
    scales = np.arange(1024).reshape(256, 4) // 8
    tile = places.swapped_tiles(scales.astype(np.uint8)).reshape(2, 512)
    healthy = places.swizzled((0, 3, 2, 1, 4))(scales.astype(np.uint8))
    tiles = mxref.pack_scales(scales.astype(np.uint8), scale_layout="tiles_128x4")
    assert healthy.tolist() == tiles.tolist()
    for row in range(128):
        wrong = row // 4 * 16 + row % 4 * 4  # right: row % 32 * 16 + row // 32 * 4
        assert tile[0, wrong] == row // 2
        assert tile[1, wrong + 3] == (128 + row) // 2


# Integers.


@of("packed")
def test_packed_nibbles(id: str, want: str) -> None:
    rows_of_three = np.array([[1, -2, 3], [4, 5, -6]], np.int8)
    assert run(id, rows_of_three).reshape(-1).tolist() == codes(want)


@of("unpacked")
def test_unpacked_nibbles(id: str, want: str) -> None:
    assert run(id, np.array([[0x96, 0xB8]], np.uint8), 3).tolist() == [numbers(want)]


@of("rescaled")
def test_rescaled(id: str, want: str) -> None:
    q = np.array([[2, -2, 1, 3, -2]], np.int32)
    m, s = np.full(5, 1 << 30, np.int32), np.array([31, 31, 32, 32, 32], np.int8)
    assert run(id, q, m, s, 0, 0, np.int32, 32).tolist() == [numbers(want)]


@of("rounded")
def test_rounded_codes(id: str, want: str) -> None:
    x = np.float32([0.5, 1.5, -0.5, 1.25, 2.75])
    found = run(id, x, np.float32(1), np.int32(0), -128, 127, np.int8, None)
    assert found.tolist() == numbers(want)
