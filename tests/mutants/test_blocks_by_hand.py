"""Wrong blocks worked out by hand: elements under right scales, lanes, pairs, intervals."""

from __future__ import annotations

from typing import Any

import ml_dtypes
import numpy as np
import pytest

import mxref
from mxref.mutants import MUTANTS
from mxref.mutants.lane_mutants import exchanged
from mxref.mutants.lifted_mutants import in_blocks, in_tensors

BY_ID = {mutant.id: mutant for mutant in MUTANTS}
Array = Any


def run(id: str, *arguments: Any) -> Any:
    found = BY_ID[id].run
    assert found is not None
    return found(*arguments)


def block(lanes: dict[int, float], rest: float = 1.0, size: int = 32) -> Array:
    """One block of float32."""
    values = np.full((1, size), rest, np.float32)
    for lane, value in lanes.items():
        values[0, lane] = value
    return values


#: E4M3 has 1.0 (38), 1.125 (39) and 448 (7e); 1.0625 is midway.
JUST_ABOVE = 1.0625 + 2.0**-20


def test_a_rounding_mistake_under_a_scale() -> None:
    """More than half is treated as a tie: 1.0625 and a bit goes to 1.0, whatever the scale is."""
    for power in (0, -37, 41):
        values = block({0: 448.0, 1: JUST_ABOVE, 2: -JUST_ABOVE}) * np.float32(2.0**power)
        scales, codes = run("A8q", values, "mxfp8_e4m3")
        assert (scales[0], codes[0, :3].tolist()) == (127 + power, [0x7E, 0x38, 0xB8])
    assert mxref.quantize(values, "mxfp8_e4m3").codes[0, :3].tolist() == [0x7E, 0x39, 0xB9]


def test_a_rounding_mistake_in_a_tensor() -> None:
    """Along both axes, and the tail of 8 is filled up with zeros."""
    values = np.full((3, 40), 448.0, np.float32)
    values[1, 33] = JUST_ABOVE
    scales, codes = run("A8t", values, "mxfp8_e4m3", 1)
    right = mxref.quantize(values, "mxfp8_e4m3", axis=1)
    assert (scales == right.scale_codes).all()
    assert (codes != right.codes).nonzero() == (np.array([1]), np.array([33]))
    assert codes[1, 33] == 0x38
    _, down = run("A8t", values.T, "mxfp8_e4m3", 0)
    assert (down == codes.T).all()


def test_a_rounding_mistake_in_nvfp4() -> None:
    """E2M1 has 1.0 (2) and 1.5 (3): 1.25 is a tie, which goes to 2; ties away make it 3."""
    values = block({0: 6.0, 1: 1.25}, size=16)
    scales, codes = run("A1n", values, "fp4_ue4m3")
    assert (scales.tolist(), codes[0, :2].tolist()) == ([0x38], [7, 3])
    scales, codes = run("A1v", values * np.float32(0.75), "nvfp4", np.float32(0.75))
    assert (scales.tolist(), codes[0, :2].tolist()) == ([0x38], [7, 3])
    assert mxref.quantize(values, "fp4_ue4m3").codes[0, :2].tolist() == [7, 2]


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


def test_too_small_for_float32_is_still_not_zero() -> None:
    """Rounding every remainder up makes 2**-149 beside 2**127 the smallest number."""
    values = block({0: 2.0**127, 1: 2.0**-149, 2: 0.0})
    assert run("A5q", values, "mxfp8_e4m3")[1][0, :3].tolist() == [0x78, 0x01, 0x00]


#: id, the block, and the scale and the codes of lanes 6 and 7 that come out; 119 is 2**-8.
LANES = [
    ("L1.07", block({7: np.nan}), 119, 0x78, 0x7F),
    ("L2.07", block({7: -np.inf}), 119, 0x78, 0xFE),
    ("L3.07", block({7: -448.0}), 119, 0x78, 0xFE),
    ("L3.07", block({7: 448.0}), 127, 0x38, 0x7E),  # right
    ("L4.07", block({7: 448.0}), 119, 0x78, 0x7E),
    ("L5.07", block({0: 448.0, 6: JUST_ABOVE, 7: JUST_ABOVE}), 127, 0x39, 0x38),
    ("L6.07", block({7: 448.0}), 127, 0x38, 0x38),
    ("L7.07", block({6: -448.0, 7: -448.0}), 127, 0xFE, 0x7E),
    ("L8b", block({7: 448.0}), 119, 0x78, 0x7E),
    ("L8a", block({6: 448.0}), 119, 0x7E, 0x78),
    ("L9b", block({7: -448.0}), 119, 0x78, 0xFE),
    ("L10a", block({6: -448.0}), 127, 0x38, 0xFE),
    ("L10f", block({24: -448.0}), 127, 0x38, 0xFE),
    ("P1", block({6: 448.0, 7: -448.0}), 127, 0x7E, 0x00),
    ("P1b", block({6: 448.0, 7: -448.0}), 127, 0x00, 0xFE),
    ("P2", block({6: 448.0, 7: -448.0}), 0, 0x00, 0x00),
    ("P3", block({0: 448.0, 6: 1.0625, 7: 1.0625}), 127, 0x38, 0x39),
    ("P3b", block({0: 448.0, 6: 1.0625, 7: 1.0625}), 127, 0x39, 0x38),
    ("P4", block({}), 0, 0x00, 0x00),
    ("P5", block({6: np.nan, 7: np.inf}), 0xFE, 0x00, 0x00),
    ("P5", block({7: np.inf}), 0xFF, 0x00, 0x00),  # right
    ("P8", block({7: 448.0}, 0.0), 0, 0x00, 0x00),
    # A number over 0 is infinite, and saturates; 0 / 0 is NaN. 103 is 2**-24, float16's smallest.
    ("D2", block({6: 2.0**-130}, 0.0), 0, 0x7E, 0x7F),
    ("D5q", block({6: 448 * 2.0**-25}, 0.0), 102, 0x7E, 0x7F),
    ("D5q", block({6: 448 * 2.0**-24}, 0.0), 103, 0x7E, 0x00),  # right
]


@pytest.mark.parametrize(("id", "values", "scale", "sixth", "seventh"), LANES)
def test_a_wrong_lane_or_pair(id: str, values: Array, scale: int, sixth: int, seventh: int) -> None:
    scales, codes = run(id, values, "mxfp8_e4m3")
    assert (scales[0], codes[0, 6], codes[0, 7]) == (scale, sixth, seventh)


def test_a_wrong_lane_of_nvfp4() -> None:
    """Scales of amax / 6: 1 of 6.0, and 1/6, which is 0x23 (0.171875), of 1.0."""
    values = block({7: -6.0}, size=16)
    assert run("L7.07", values, "fp4_ue4m3")[1][0, 6:8].tolist() == [0x2, 0x7]
    for id in ("L3.07", "L4.07"):
        scales, codes = run(id, values, "fp4_ue4m3")
        assert (scales.tolist(), codes[0, 6:8].tolist()) == ([0x23], [0x7, 0xF])


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


def test_an_interval_of_amax() -> None:
    amax = np.float32([1.413, 1.414, 1.42, 1.4225, 0.71])
    assert run("C21", amax, "e4m3").tolist() == [119, 120, 120, 119, 119]
    assert run("C21a", np.float32([1.0, 1.015625, 1.03125]), "e4m3").tolist() == [119, 120, 119]


def test_where_the_scale_goes_up() -> None:
    """RCEIL of E4M3 goes up above 448, where the first eight bits are those of 449 and all below
    450; a float64 log2 is too large just below 2**5, but not just below 2**2."""
    assert run("C17b", np.float32([448, 449, 450]), "e4m3").tolist() == [127, 127, 128]
    below = np.nextafter([32.0, 8.0, 4.0, 0.25, 0.125], 0)
    assert run("C1b", below, "e4m3").tolist() == [124, 122, 120, 116, 116]


def test_the_sign_is_lost_beyond_the_largest_number_alone() -> None:
    """Of E2M1: -6, what rounds to -6, the tie of -6 with -8, and an infinity."""
    codes = run("B12", np.float32([-6.0, -6.875, -7.0, -np.inf, 7.0]), "e2m1")
    assert codes.tolist() == [0xF, 0xF, 0x7, 0x7, 0x7]


def test_products_too_small_for_float16() -> None:
    """1, 3 and 5 halves of 2**-24, the smallest float16: to even 0, 2 and 2."""
    codes, scales = np.zeros((1, 32), np.uint8), np.array([111], np.uint8)
    codes[0, :3] = 1, 3, 5  # multiples of 2**-9 under 2**-16
    found = [
        run(id, scales, codes, "mxfp8_e4m3", np.float16).view(np.uint16)[0, :4].tolist()
        for id in ("E8b", "E8c")
    ]
    assert found == [[0, 1, 2, 0], [1, 2, 3, 0]]
    right = (np.array([1, 3, 5]) * 2.0**-25).astype(np.float16)
    assert right.view(np.uint16).tolist() == [0, 2, 2]
