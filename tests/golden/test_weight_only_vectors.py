"""The vectors of weight-only linear layers, and what is said of targets of them."""

from __future__ import annotations

from collections.abc import Callable
from types import SimpleNamespace
from typing import Any

import numpy as np
import pytest
from helpers import VECTORS, records, words

from mxref import integer
from mxref.bits.floats import F32
from mxref.cases.read import read_vectors
from mxref.conformance import Report, target_of, verify
from mxref.conformance.identification.integer_identification import identify_integers
from mxref.conformance.verdict.product_verdict import accumulation_notes
from mxref.operations.product_words import BOUNDS
from mxref.operations.registry import CALL_OPERATIONS
from mxref.products.intervals import Bounds

Array = np.ndarray[Any, Any]
Layer = Callable[[Array, Array, Array], Array]
INT8, INT8_GROUPS = "linear_qcs8w/int8.f32", "linear_qcs8w/int8_groups.f32"
INT4, INT4_GROUPS = "linear_qcs4w/int4.f32", "linear_qcs4w/int4_groups.f32"
STEMS = (INT8, INT8_GROUPS, INT4, INT4_GROUPS)
ORDERS = ("default", *(f"order={name}" for name in ("dequantize", "scale_last", "offset")))


def columns(stem: str) -> dict[str, dict[str, tuple[int, ...]]]:
    """The answers of each case of a file, by case and column."""
    header, cases = records(stem)
    return {
        case["name"]: dict(
            zip(header["columns"], (tuple(words(out)) for out in case["outs"]), strict=True)
        )
        for case in cases
    }


def arguments(op: str, format: str, case: tuple[int, ...]) -> Any:
    """The activations, weights and scales of a case."""
    return CALL_OPERATIONS[op].call(format, case).arguments


def inputs(stem: str) -> dict[str, tuple[int, ...]]:
    return {case["name"]: tuple(words(case["in"])) for case in records(stem)[1]}


# --- the vectors ----------------------------------------------------------------------------------


@pytest.mark.parametrize("stem", STEMS)
def test_every_order_is_inside_of_the_interval(stem: str) -> None:
    exact = 0
    for name, found in columns(stem).items():
        ends = (np.array(found[end], np.uint32).view(np.float32) for end in BOUNDS[:3])
        bounds, same = Bounds(*ends), np.array(found["bits"], np.uint32)
        is_same = same != F32.nan_bits
        for end in bounds:
            assert (end.view(np.uint32)[is_same] == same[is_same]).all(), name
        for order in ORDERS:
            got = np.array(found[order], np.uint32)
            assert bounds.hold(got.view(np.float32)).all(), (name, order)
            assert (got[is_same] == same[is_same]).all(), (name, order)
        exact += int(is_same.sum())
    assert exact > 100


def test_the_worked_examples_are_there() -> None:
    one = [0x3F71463A, 0x3F71463B, 0x3F71463A, 0x3F71463D]
    for stem in (INT8, INT4):
        found = columns(stem)
        assert found["worked"]["bits"] == (0xBF800000, 0xC0700000)  # -1 and -3.75
        assert [found["one_product"][order][0] for order in ORDERS] == one
        three = 0x40400000
        assert [found["swamped_3"][order][0] for order in ORDERS] == [three, three, three, 0]
        assert found["no_columns"]["bits"] == (0,) * 6
        assert inputs(stem)["no_columns"][2] == 0
    packed = inputs(INT4)["worked"]
    assert packed[6:10] == (0x0F, 0x87, 0x9A, 0xB4)
    # A sum that overflows before the scale, and not after it.
    row = columns(INT8)["overflow_way"]
    assert row["order=scale_last"][0] == 0x7F800000
    assert row["default"][0] == row["order=dequantize"][0] < 0x7F800000
    groups = columns(INT8_GROUPS)["subnormal"]
    assert (groups["default"][0], groups["order=scale_last"][0]) == (3, 4)


def test_codes_lanes_and_pads_are_there() -> None:
    words8, words4 = (inputs(stem) for stem in (INT8, INT4))
    codes = arguments("linear_qcs8w", "int8", words8["codes"])[1]
    assert {*codes.reshape(-1).tolist()} == {*range(-128, 128)}
    stored = arguments("linear_qcs4w", "int4", words4["codes"])[1]
    assert {*stored.reshape(-1).tolist()} == {*range(256)}
    for k in (1, 2, 3, 7, 8, 9):
        x, w, scales = arguments("linear_qcs4w", "int4", words4[f"lanes_{k}_1"])
        assert np.array_equal(x, np.eye(k))
        want = (integer.unpack_int4(w, k) * scales[:, np.newaxis]).T
        got = np.uint32(columns(INT4)[f"lanes_{k}_1"]["bits"]).view("f4")
        assert np.array_equal(got.reshape(k, 2), want)
        if k % 2:  # the pad is stored as 8, and as 15
            filled = words4[f"lanes_{k}_1_filled"]
            assert {*(w[:, -1] & 15)} == {8}
            assert filled != words4[f"lanes_{k}_1"]


def test_weights_of_eight_bits_may_be_those_of_four() -> None:
    found = [columns(stem) for stem in (INT8, INT4)]
    for k in (3, 8):
        names = "linear_qcs8w", "int8", inputs(INT8)[f"four_bits_{k}"]
        x, w, scales = arguments(*names)
        assert w.min() >= -8
        assert w.max() <= 7
        for order in ("exact", "dequantize", "scale_last", "offset"):
            packed = integer.linear_qcs4w(x, integer.pack_int4(w), scales, order)
            column = "default" if order == "exact" else f"order={order}"
            want = found[0][f"four_bits_{k}"][column]
            assert tuple(packed.reshape(-1).view(np.uint32).tolist()) == want


def test_int8_activations_are_sums_of_integers() -> None:
    for name, case in inputs(INT8).items():
        if not name.startswith("activations"):
            continue
        zero = int(name.split("_")[-2]) * (-1 if "minus" in name else 1)
        x, w, _ = arguments("linear_qcs8w", "int8", case)
        codes = x.astype(np.int64) + zero
        assert codes.min() >= -128
        assert codes.max() <= 127
        wide = w.astype(np.int64)
        sums = codes @ wide.T - zero * wide.sum(1)
        found = np.uint32(columns(INT8)[name]["bits"]).view("f4")
        assert found.tolist() == sums.reshape(-1).tolist()
        # And so RESCALE of the sums, or a quantization of the float32 numbers, may follow.
        multiplier, shift = integer.multiplier_shift(2.0**-6)
        rescaled = integer.rescale(sums.astype(np.int32), multiplier, shift)
        half_up = np.floor(found.astype(np.float64) * 2.0**-6 + 0.5)
        assert rescaled.reshape(-1).tolist() == np.clip(half_up, -128, 127).tolist()


# --- targets --------------------------------------------------------------------------------------


def of_codes(layer: Layer, *, low_first: bool = False, offset: int = 8) -> SimpleNamespace:
    """A target that multiplies x, codes and scales (N, G)."""
    nibbles = "low_first" if low_first else "high_first"

    def four(x: Array, packed: Array, scales: Array) -> Array:
        codes = integer.unpack_int4(packed, x.shape[1], nibbles) + np.int8(8 - offset)
        return layer(x, codes, scales.reshape(len(packed), -1))

    def eight(x: Array, w: Array, scales: Array) -> Array:
        return layer(x, w, scales.reshape(len(w), -1))

    return SimpleNamespace(linear_qcs8w=eight, linear_qcs4w=four)


def backwards(order: str) -> Layer:
    """The float32 sums of an order from the last column to the first: none of the named ones."""

    def run(x: Array, w: Array, scales: Array) -> Array:
        turned = scales[:, ::-1]
        return integer.linear_qcs8w(x[:, ::-1], w[:, ::-1], turned, order)

    return run


def named(order: str) -> Layer:
    return lambda x, w, scales: integer.linear_qcs8w(x, w, scales, order)


def report_on(module: SimpleNamespace, *stems: str) -> Report:
    files = read_vectors(VECTORS, lambda stem: stem in (stems or STEMS))
    return verify(target_of(module, "mine"), files)


@pytest.mark.sampled(6)
@pytest.mark.parametrize("order", ["exact", "dequantize", "scale_last", "offset"])
def test_verify_and_identify_name_the_order_and_the_nibbles(order: str) -> None:
    low_first = order in ("scale_last", "offset")
    module = of_codes(named(order), low_first=low_first)
    report = report_on(module)
    assert report.passed
    parts = [f"order={order}"] * (order != "exact") + ["nibbles=low_first"] * low_first
    assert {row.policy for row in report.rows if row.op == "linear_qcs4w"} == {
        "+".join(parts) or "default"
    }
    (note, *_) = accumulation_notes(report.rows)
    assert note == f"linear_qcs8w int8: all 51 answers have the bits of order={order}"
    found = identify_integers(target_of(module, "mine"), ["linear_qcs4w"], ["int4"])
    assert [one.policies for one in found] == [("+".join(parts) or "default",)]


@pytest.mark.sampled(6)
@pytest.mark.parametrize(
    ("order", "said"),
    [
        ("dequantize", "order=dequantize and order=scale_last"),
        ("scale_last", "order=scale_last"),
        ("offset", "order=offset"),
    ],
)
def test_sums_in_another_order_are_inside(order: str, said: str) -> None:
    report = report_on(of_codes(backwards(order), low_first=True))
    assert report.passed
    assert {row.policy for row in report.rows} == {"default", "nibbles=low_first"}
    assert report.verdict == ("conforms; linear_qcs4w (int4, int4_groups) under nibbles=low_first")
    (note, *_) = accumulation_notes(report.rows)
    assert note == (
        "linear_qcs8w int8: all 51 answers are inside what float32 sums in some order give for "
        f"{said}, and have the bits of no named order"
    )


def test_answers_beyond_the_intervals_fail() -> None:
    last = named("scale_last")
    wrong = of_codes(lambda x, w, s: last(x, w, s) * np.float32(1 + 2.0**-12))
    report = report_on(wrong, INT8)
    assert not report.passed
    assert report.verdict == "outside every float32 accumulation; cause unknown"
    description = report.rows[0].description
    assert description is not None
    assert description.text.endswith(
        f"{len(report.failures)} of 51 answers are outside what float32 sums give in any order, "
        "with the scales before or after them"
    )


def next_row(x: Array, w: Array, scales: Array) -> Array:
    return backwards("scale_last")(x, w, np.roll(scales, -1, 0))


def next_group(x: Array, w: Array, scales: Array) -> Array:
    return backwards("scale_last")(x, w, np.roll(scales, -1, 1))


def half_of_the_columns(x: Array, w: Array, scales: Array) -> Array:
    return backwards("offset")(x * (np.arange(x.shape[1]) % 2 == 0), w, scales)


@pytest.mark.sampled(6)
@pytest.mark.parametrize(
    ("layer", "offset", "stem", "verdict"),
    [
        (backwards("dequantize"), 0, INT4, "has bug I18: "),
        (next_row, 8, INT8, "has bug I20: "),
        (next_group, 8, INT4_GROUPS, "has bug I20cw: "),
        (half_of_the_columns, 8, INT8, "outside every float32 accumulation; cause unknown"),
    ],
)
def test_bugs_are_named_whatever_the_order_of_additions(
    layer: Layer, offset: int, stem: str, verdict: str
) -> None:
    report = report_on(of_codes(layer, offset=offset), stem)
    assert not report.passed
    assert report.verdict.startswith(verdict)


def test_nan_is_one_class_and_shapes_count() -> None:
    def other_nan(x: Array, w: Array, scales: Array) -> Array:
        found = integer.linear_qcs8w(x, w, scales, "scale_last")
        found[np.isnan(found)] = np.uint32(0xFFC00001).view(np.float32)
        return found

    report = report_on(of_codes(other_nan))
    assert report.passed
    assert {row.policy for row in report.rows} == {"order=scale_last"}
    flat = of_codes(lambda x, w, s: integer.linear_qcs8w(x, w, s).reshape(-1))
    report = report_on(flat, INT8)
    assert "the result must have shape (1, 2), got (2,)" in report.failures[0][1].error
