"""The numbers that plots of `mxref verify --html` draw."""

from __future__ import annotations

from pathlib import Path
from types import SimpleNamespace
from typing import Any

import numpy as np
from verify_helpers import Vectors, read, target_file

import mxref
from mxref.conformance import load_target
from mxref.conformance.compare.compare import asked
from mxref.conformance.verdict.row import VerifyRow
from mxref.conformance.verdict.verify import begun, with_rows
from mxref.reports.points import Points, points
from mxref.reports.verify_plots import _shown, _what

#: The sign is wrong in the even lanes, and ties of 2 and 3 go up.
WRONG = """\
import mxref

def quantize(values, format):
    blocks = mxref.quantize(values, format)
    codes = blocks.codes.copy()
    codes[:, ::2] ^= 8
    return blocks.scale_codes, codes

def encode(values, format):
    return mxref.encode(values, format) ^ (abs(values) == 2.5)
"""


#: Right codes under scales twice as large.
OTHER_SCALE = """\
import mxref

def quantize(values, format):
    blocks = mxref.quantize(values, format)
    return blocks.scale_codes + (blocks.scale_codes < 254), blocks.codes
"""


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
    rows: dict[str, Any] = {op: SimpleNamespace(op=op) for op in wanted}
    assert {op: _what(row) for op, row in rows.items()} == wanted
