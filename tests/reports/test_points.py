"""The numbers that plots of `mxref verify --html` draw, and words in bits."""

from __future__ import annotations

from pathlib import Path
from types import SimpleNamespace
from typing import Any

import numpy as np
import pytest
from helpers import VECTORS, table
from verify_helpers import Vectors, read, target_file

import mxref
from mxref.bits.floats import LAYOUTS, FloatLayout
from mxref.cases.names import names_of
from mxref.cases.read import by_stem, read_manifest
from mxref.conformance import load_target
from mxref.conformance.compare.compare import asked
from mxref.conformance.verdict.row import VerifyRow
from mxref.conformance.verdict.verify import begun, with_rows
from mxref.formats.catalog import ELEMENT_FORMATS
from mxref.operations.registry import REGISTRY
from mxref.reports.bit_fields import of_code, of_float, sides
from mxref.reports.points import Points, numbers, points
from mxref.reports.verify_plots import _shown, _what
from mxref.targets.calls import without_cases

WRONG = table("kernels")["even_lanes"]


OTHER_SCALE = table("kernels")["twice_the_scale"]


def rows_of(source: str, tmp_path: Path, folder: str) -> dict[str, VerifyRow]:
    target = load_target(target_file(tmp_path, source))
    report, files = begun(target, read(folder))
    report = with_rows(report, [(asked(target, file),) for file in files], why=False)
    return {row.op: row for row in report.rows}


def test_numbers_under_a_wrong_scale_are_told_over_the_right_one(
    tmp_path: Path, vectors: Vectors
) -> None:
    rows = rows_of(OTHER_SCALE, tmp_path, vectors("quantize/mxfp4_e2m1.f32"))
    found = points(rows["quantize"])
    assert found is not None
    (outcome,) = rows["quantize"].outcomes
    right = mxref.quantize(outcome.inputs.astype(np.uint32).view(np.float32), "mxfp4_e2m1")
    doubled = (right.scale_codes < 254).repeat(32, axis=1).reshape(-1)
    assert found.wrong.tolist() == doubled.tolist()
    assert np.count_nonzero(found.want[doubled]) > 1000
    np.testing.assert_array_equal(found.got[doubled], 2 * found.want[doubled])
    others = ~doubled & ~np.isnan(found.x)  # what is in a NaN block has no number
    np.testing.assert_array_equal(found.got[others], found.want[others])


def test_points_are_the_numbers_of_the_codes(tmp_path: Path, vectors: Vectors) -> None:
    rows = rows_of(WRONG, tmp_path, vectors("quantize/mxfp4_e2m1.f32", "encode/e2m1.f32"))

    found = points(rows["encode"])
    assert found is not None
    (outcome,) = rows["encode"].outcomes
    inputs = outcome.inputs[:, 0].astype(np.uint32).view(np.float32)
    with np.errstate(invalid="ignore"):  # signaling NaN
        np.testing.assert_array_equal(found.x, inputs.astype(np.float64))
    np.testing.assert_array_equal(found.want, mxref.decode(mxref.encode(inputs, "e2m1"), "e2m1"))
    assert found.wrong.tolist() == (np.abs(inputs) == 2.5).tolist()
    assert {*found.got[found.wrong]} == {3.0, -3.0}  # 2 was right
    assert {*found.binades} >= {1}

    found = points(rows["quantize"])
    assert found is not None
    (outcome,) = rows["quantize"].outcomes
    inputs = outcome.inputs.astype(np.uint32).view(np.float32)
    blocks = mxref.quantize(inputs, "mxfp4_e2m1")
    scales = mxref.decode_scale(blocks.scale_codes, np.float64)
    numbers = blocks.dequantize(np.float64) / scales
    fine = ~np.isnan(numbers)
    shape = inputs.shape
    np.testing.assert_array_equal(found.want.reshape(shape)[fine], numbers[fine])
    with np.errstate(all="ignore"):
        np.testing.assert_array_equal(found.x.reshape(shape)[fine], (inputs / scales)[fine])
    even = (np.arange(shape[1]) % 2 == 0) & fine
    assert found.wrong.reshape(shape).tolist() == even.tolist()
    np.testing.assert_array_equal(found.got.reshape(shape)[even], -numbers[even])
    assert found.lane.reshape(shape)[0].tolist() == [*range(32)]


def test_binades_of_wrong_answers_and_of_right_ones_near_what_was_asked_are_shown() -> None:
    power = np.array([-40, -20, 0, 3, 9, 30, 100])
    x = np.ldexp(1.0, power)
    want = np.array([0, 0, 1.25, 8, 448, 448, np.nan])
    lane = np.zeros(7, np.int64)
    wrong = np.zeros((3, 7), bool)
    wrong[1, 1] = wrong[2, [1, 5]] = True
    shown = [_shown(Points(x, want, np.where(bad, 7, want), lane, bad)) for bad in wrong]
    assert shown == [(-1, 10), (-21, 10), (-21, 31)]
    # If there are none, all that was asked.
    assert _shown(Points(x[:2], want[:2], want[:2], lane[:2], wrong[0, :2])) == (-41, -19)


def test_what_x_is() -> None:
    wanted = {
        "quantize": "element over its right scale",
        "dequantize": "right number",
        "decode": "right number",
        "decode_scale": "right number",
        "shared_scale": "amax",
        "encode": "input",
        "encode_scale": "input",
    }
    rows: dict[str, Any] = {op: SimpleNamespace(operation=REGISTRY[op]) for op in wanted}
    assert {op: _what(row) for op, row in rows.items()} == wanted


# --- fields of bits -------------------------------------------------------------------------------


def test_every_file_has_sides_that_are_as_wide_as_its_words() -> None:
    seen = set()
    for stem in by_stem(read_manifest(VECTORS)):
        file = without_cases(*names_of(stem))
        asked, answered = sides(file)
        assert bool(asked) is bool(answered)
        if asked:
            seen.add(file.op)
            widths = [getattr(kind, "width", None) or kind.bits for kind in (*asked, *answered)]
            assert max(widths) <= 4 * max(file.in_digits, file.out_digits)
    assert seen == {
        "encode", "decode", "encode_scale", "decode_scale", "shared_scale", "quantize", "dequantize"
    }  # fmt: skip


@pytest.mark.parametrize("name", ELEMENT_FORMATS)
def test_fields_are_the_bits_of_a_code_and_marks_are_those_that_differ(name: str) -> None:
    fmt = ELEMENT_FORMATS[name]
    values = numbers(np.arange(fmt.code_count + 1, dtype=np.uint64), fmt)
    assert np.isnan(values[-1])
    for code in range(fmt.code_count):
        word = of_code("got", code, fmt, 5)
        bits = [bit for field in word.fields for bit in field.bits]
        assert int("".join(bit for bit, _ in bits), 2) == code
        assert len(bits) == fmt.bits
        assert int("".join(str(int(wrong)) for _, wrong in bits), 2) == code ^ 5
        value = fmt.value(code)
        assert values[code] == value or value != value


@pytest.mark.parametrize("layout", LAYOUTS.values(), ids=LAYOUTS)
def test_fields_of_a_float(layout: FloatLayout) -> None:
    word = of_float("input", layout.inf_bits | layout.sign_bit, layout)
    assert ["".join(bit for bit, _ in field.bits) for field in word.fields] == [
        "1",
        "1" * layout.exponent_bits,
        "0" * layout.mantissa_bits,
    ]
