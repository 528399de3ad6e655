"""Wrong conventions worked out by hand: biases, emax, scales of tensors and of neighbours."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

import mxref
from mxref.mutants import MUTANTS
from mxref.mutants.tensor_mutants import pair

BY_ID = {mutant.id: mutant for mutant in MUTANTS}
Array = Any
ONE, NEXT = 0x38, 0x40  # 1 and 2 in E4M3


def run(id: str, *arguments: Any) -> Any:
    found = BY_ID[id].run
    assert found is not None
    return found(*arguments)


def u8(*codes: int) -> Array:
    return np.array(codes, np.uint8)


@pytest.mark.parametrize(
    ("id", "scale"), [("C5a", 120), ("C5b", 118), ("C5c", 127), ("C5d", 135)], ids=str
)
def test_the_scale_of_one(id: str, scale: int) -> None:
    """1 in E4M3, whose emax is 8: 127 - 8 = 119 is right. Its element is 1 over that scale."""
    assert mxref.shared_scale(np.float32([1.0]), "e4m3").tolist() == [119]
    assert run(id, np.float32([1.0]), "e4m3").tolist() == [scale]
    values = np.full((1, 32), 1.0, np.float32)
    element = min(2.0 ** (127 - scale), 448.0)
    code = mxref.encode(np.float32([element]), "e4m3")[0]
    for letter, more in (("q", ()), ("t", (1,))):
        scales, codes = run(id + letter, values, "mxfp8_e4m3", *more)
        assert (scales.reshape(-1)[0], codes[0, 0]) == (scale, code)


@pytest.mark.parametrize(("id", "scale"), [("C6q", 126), ("C6r", 125), ("C6s", 128)], ids=str)
def test_a_scale_that_is_stored_with_another_bias(id: str, scale: int) -> None:
    values = np.full((1, 32), 448.0, np.float32)
    assert [side.reshape(-1)[0] for side in run(id, values, "mxfp8_e4m3")] == [scale, 0x7E]
    tensor = run(f"{id}t", values, "mxfp8_e4m3", 1)
    assert [side.reshape(-1)[0] for side in tensor] == [scale, 0x7E]
    ends = np.full((2, 32), np.ldexp(448.0, 127))
    ends[1, 5] = np.nan  # FE and FF
    assert run(id, ends, "mxfp8_e4m3")[0].tolist() == [min(127 + scale, 254), 0xFF]


@pytest.mark.parametrize(
    ("id", "output"),
    [("C6dq", 0.5), ("C6fq", 2.0), ("C6gq", 4.0), ("C5e", 256.0), ("C5f", 2.0**-8)],
    ids=str,
)
def test_the_output_of_one(id: str, output: float) -> None:
    codes = np.full((1, 32), ONE, np.uint8)
    assert run(id, u8(127), codes, "mxfp8_e4m3", np.float32)[0, 0] == output
    if id.startswith("C6"):
        assert run(id[:-1], u8(127)) == output


#: Id, and of amax 12 and of 2 under the tensor's scale 2 the scale code and both codes.
TENSOR_SCALES = [
    ("D7b", 0x40, 7, 2),  # 2; 6, 1
    ("D7d", 0x48, 7, 2),  # 12 * 2 / 6 = 4; 6, 1
    ("D7e", 0x38, 7, 4),  # 1; 12, 2
    ("D7f", 0x40, 5, 1),  # 2; 3, 0.5
    ("D7g", 0x30, 7, 2),  # 12 / 4 / 6 = 0.5; 6, 1
    ("D7h", 0x38, 5, 1),  # 1; 3, 0.5
    ("D7i", 0x38, 7, 6),  # 1; 24, 4
    ("D7j", 0x48, 3, 0),  # 4; 1.5, 0.25
]


@pytest.mark.parametrize(("id", "scale", "first", "second"), TENSOR_SCALES)
def test_the_scale_of_a_tensor(id: str, scale: int, first: int, second: int) -> None:
    values = np.array([[12.0, 2.0] * 8], np.float32)
    right = mxref.quantize(values, "nvfp4", tensor_scale=2.0)
    assert (right.scale_codes[0, 0], *right.codes[0, :2]) == (0x38, 7, 2)
    scales, codes = run(id, values, "nvfp4", np.float32(2.0))
    assert (scales[0], *codes[0, :2]) == (scale, first, second)


@pytest.mark.parametrize(("id", "output"), [("D7c", 1), ("D7k", 0.5), ("D7l", 0.5), ("D7m", 4)])
def test_the_scale_of_a_tensor_on_reading(id: str, output: float) -> None:
    codes = np.full((1, 16), 2, np.uint8)
    assert run(id, u8(ONE), codes, "nvfp4", np.float32, np.float32(2.0))[0, 0] == output


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


#: Id, and the products of rows of ones: 2 x 64 by 64 x 2, with the scales below.
PRODUCTS = [
    ("H22", [[24.0, 48.0], [96.0, 192.0]]),
    ("H22b", [[48.0, 96.0], [192.0, 384.0]]),
    ("H22c", [[384.0, 768.0], [1536.0, 3072.0]]),
    ("H22d", [[96.0 * 2**16, 192.0 * 2**16], [384.0 * 2**16, 768.0 * 2**16]]),
    ("H7d", [[96.0, 192.0], [384.0, 768.0]]),
    ("H7e", [[96.0, 192.0], [384.0, 768.0]]),
    ("H8", [[384.0, 768.0], [96.0, 192.0]]),
    ("H8b", [[192.0, 96.0], [768.0, 384.0]]),
]


@pytest.mark.parametrize(("id", "output"), PRODUCTS, ids=lambda value: str(value)[:4])
def test_products(id: str, output: list[list[float]]) -> None:
    """Scales of blocks 1, 2 and 4, 8 of the first operand, 1, 1 and 2, 2 of the second."""
    ones = np.full((2, 64), ONE, np.uint8)
    a, b = u8(127, 128, 129, 130).reshape(2, 2), u8(127, 127, 128, 128).reshape(2, 2)
    name = "mxfp8_e4m3"
    assert run(id, a, ones, b, ones, name, name, np.float32).tolist() == output


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


def test_stored_blocks() -> None:
    codes = np.arange(32, dtype=np.uint8)[np.newaxis] % 16
    packed = run("G1f", u8(127), codes, "mxfp4_e2m1")
    assert packed.reshape(-1)[:3].tolist() == [127, 0x01, 0x23]
    scales, read = run("G1z", packed.reshape(1, -1), "mxfp4_e2m1")
    assert (scales.tolist(), read.reshape(-1).tolist()) == ([127], codes[0].tolist())
    for id, first in (("C6h", 126), ("C6i", 128)):
        assert run(id, u8(127), codes, "mxfp4_e2m1").reshape(-1)[:2].tolist() == [first, 0x10]
        assert run(id, u8(255), codes, "mxfp4_e2m1").reshape(-1)[0] == 255
    right = mxref.pack_blocks(u8(127), codes.reshape(-1), "mxfp4_e2m1", scale_place="before")
    for id, first in (("C6u", 126), ("C6v", 128)):
        assert run(id, right.reshape(1, -1), "mxfp4_e2m1")[0].tolist() == [first]


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
