"""Kernels of NVFP4 and of tensors with two and three faults, each of which is named.

The kernels are made of plain NumPy and `mxref.encode`; what must be said of them comes from what
was planted.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np
import pytest
from numpy.typing import NDArray
from staged_kernels import Stages, assert_stages, checked, stages_of, told

import mxref
from mxref.formats import element_format

Values = NDArray[Any]
Pair = tuple[Values, Values]

# ---- NVFP4: tensor scale -> block scale -> element -----------------------------------------------

UE4M3 = np.array([mxref.decode(np.uint8([code]), "e4m3")[0] for code in range(127)], np.float64)


def given(tensor: float) -> tuple[float, float]:
    """The scale of the tensor, as block scales and as elements see it."""
    return tensor, tensor


def power_below(tensor: float) -> tuple[float, float]:
    power = 2.0 ** np.floor(np.log2(tensor))
    return power, power


def cut_for_elements(tensor: float) -> tuple[float, float]:
    bits = np.array([tensor], np.float32).view(np.uint32) & np.uint32(0xFFFF0000)
    return tensor, float(bits.view(np.float32)[0])


def above_for_scales(tensor: float) -> tuple[float, float]:
    return min(2.0 ** np.ceil(np.log2(tensor)), 2.0**127), tensor


def nearest(wanted: Values) -> Values:
    return np.asarray(mxref.encode(np.minimum(wanted, 448.0), "e4m3"))


def up(wanted: Values) -> Values:
    return np.minimum(np.searchsorted(UE4M3, wanted), 126)


def down(wanted: Values) -> Values:
    return np.searchsorted(UE4M3, wanted, side="right") - 1


def flushed(wanted: Values) -> Values:
    codes = nearest(wanted)
    return np.where(codes < 8, 0, codes)


def seen(values: Values) -> Values:
    return np.abs(values).max(axis=1)


def without_lane(lane: int) -> Callable[[Values], Values]:
    return lambda values: seen(np.delete(values, lane, axis=1))


def halves_compared(values: Values) -> Values:
    """The first step of the reduction takes the larger one of lanes i and i + 8."""
    return seen(np.fmax(values[:, :8], values[:, 8:]))


def away(values: Values, format: str) -> Values:
    return np.asarray(mxref.encode(values, format, rounding="ties_to_away"))


def nvfp4(
    tensor: Callable[[float], tuple[float, float]] = given,
    scale: Callable[[Values], Values] = nearest,
    amax: Callable[[Values], Values] = seen,
    encode: Callable[[Values, str], Values] = mxref.encode,
) -> Callable[[Values, str, Any], Pair]:
    """A `quantize` in stages, each of which may be another one."""

    def quantize(values: Values, format: str, tensor_scale: Any) -> Pair:
        x = values.astype(np.float64)
        special = ~np.isfinite(x).all(axis=1)
        of_scales, of_elements = tensor(float(tensor_scale))
        with np.errstate(all="ignore"):
            wanted = np.where(special, 0, amax(x) / (6 * of_scales))
            codes = scale(wanted).astype(np.int64)
            by = (UE4M3[codes] * of_elements)[:, np.newaxis]
            quotients = np.where(by == 0, np.copysign(0, x), x / np.where(by == 0, 1, by))
        found = np.asarray(encode(np.where(special[:, np.newaxis], 0, quotients), "e2m1"))
        return np.where(special, 0x7F, codes).astype(np.uint8), found.astype(np.uint8)

    return quantize


# ---- tensors: axis -> tail -> blocks -> matrix of scales -----------------------------------------


def right_tail(lines: Values) -> Values:
    return np.pad(lines, ((0, 0), (0, -lines.shape[1] % 32)))


def mirrored(lines: Values) -> Values:
    return np.pad(lines, ((0, 0), (0, -lines.shape[1] % 32)), mode="symmetric")


def no_tail(lines: Values) -> Values:
    whole = lines.shape[1] // 32 * 32
    kept = np.where(np.arange(lines.shape[1]) < whole, lines, 0).astype(lines.dtype)
    return right_tail(kept)


def turned(values: Values, axis: int) -> Values:
    return values.T if axis == 0 else values


def square_as_axis_1(values: Values, axis: int) -> Values:
    return values if values.shape[0] == values.shape[1] else turned(values, axis)


def line_before(scales: Values) -> Values:
    return np.roll(scales, 1, axis=0)


def every_lane(blocks: Values) -> Values:
    return blocks


def unseen_lane(blocks: Values) -> Values:
    kept = blocks.copy()
    kept[:, 7] = np.where(np.isfinite(blocks[:, 7]), 0, blocks[:, 7])
    return kept


def tensors(
    turn: Callable[[Values, int], Values] = turned,
    tail: Callable[[Values], Values] = right_tail,
    of_amax: Callable[[Values], Values] = every_lane,
    matrix: Callable[[Values], Values] = lambda scales: scales,
) -> Callable[[Values, str, int], Pair]:
    """A `quantize_tensor` in stages, each of which may be another one."""

    def quantize_tensor(values: Values, format: str, axis: int) -> Pair:
        lines = turn(values, axis)
        back = axis if turn is turned or values.shape[0] != values.shape[1] else 1
        whole = np.ascontiguousarray(tail(lines))
        blocks = whole.reshape(-1, 32)
        scales = mxref.quantize(of_amax(blocks), format, axis=1).scale_codes.reshape(-1)
        with np.errstate(all="ignore"):
            factors = np.ldexp(1.0, 127 - scales.astype(np.int32))[:, np.newaxis]
            quotients = np.where(scales[:, np.newaxis] == 255, 0, blocks * factors)
        codes = np.asarray(mxref.encode(quotients, element_of(format)))
        found = matrix(scales.reshape(len(lines), -1))
        return turned(found, back), turned(codes.reshape(whole.shape), back)

    return quantize_tensor


def element_of(format: str) -> str:
    name: str = mxref.formats.block_format(format).element.name
    assert element_format(name)
    return name


# ---- what is said of them ------------------------------------------------------------------------


TENSOR = "quantize_tensor/mxfp8_e4m3.f32"
#: Of each kernel in the table of stages how it quantizes.
KERNELS = {
    "power_up": nvfp4(power_below, up),
    "above_away": nvfp4(above_for_scales, encode=away),
    "cut_flushed": nvfp4(cut_for_elements, flushed),
    "power_down_lane": nvfp4(power_below, down, without_lane(3)),
    "halves_away": nvfp4(amax=halves_compared, encode=away),
    "tail_matrix": tensors(tail=mirrored, matrix=line_before),
    "tail_lane": tensors(tail=no_tail, of_amax=unseen_lane),
    "tail_lane_matrix": tensors(tail=mirrored, of_amax=unseen_lane, matrix=line_before),
}


@pytest.mark.parametrize(("kernel", "said"), stages_of("tensors").items())
def test_every_fault_is_named_with_its_stage(kernel: str, said: tuple[str, Stages]) -> None:
    stem, stages = said
    assert_stages(checked(KERNELS[kernel], stem, FLOATS=["f32"]), stages)


@pytest.mark.parametrize(
    ("stem", "function"), [("quantize/nvfp4.f32", nvfp4()), (TENSOR, tensors())]
)
def test_kernels_without_faults_are_right(stem: str, function: Callable[..., Pair]) -> None:
    report = checked(function, stem, FLOATS=["f32"])
    assert not report.failures, told(report)


def test_what_other_shapes_show_is_said_beside_the_bug_of_the_vectors() -> None:
    report = checked(tensors(square_as_axis_1, no_tail), TENSOR, elements=20_000, FLOATS=["f32"])
    (row,) = report.rows
    assert row.causes[0].complete, told(report)
    assert "all numbers of a short last block are taken as 0" in report.verdict
    (use,) = report.uses
    assert use.beside
    assert "with axis 0 a square tensor is cut along axis 1" in use.text
    assert "short last block" not in use.text
    assert "with axis 0 a square tensor is cut along axis 1" in report.verdict


def test_two_faults_of_no_stage_are_told_by_axis_and_kind() -> None:
    def quantize_tensor(values: Values, format: str, axis: int) -> Pair:
        scales, codes = (side.copy() for side in tensors()(values, format, axis))
        if axis == 0 and values.shape[1] >= 5:
            scales[:, 4] ^= 1
        if axis == 1 and values.shape[1] > 64:
            codes[:, 64] ^= 1
        return scales, codes

    report = checked(quantize_tensor, TENSOR, elements=20_000, FLOATS=["f32"])
    (use,) = report.uses
    assert "with axis 0, scales are wrong in calls with 5 columns and more" in use.text or (
        "with axis 0, scales are wrong in calls with 5 lines along the axis and more" in use.text
    ), told(report)
    assert "with axis 1, elements are wrong in calls with more than" in use.text, told(report)
    assert "with axis 0, elements" not in use.text
