"""The numbers that plots of `mxref verify --html` draw."""

from __future__ import annotations

from pathlib import Path

import numpy as np
from verify_helpers import Vectors, read, target_file

import mxref
from mxref.conformance import load_target
from mxref.conformance.compare.compare import asked
from mxref.conformance.verdict.verify import begun, with_rows
from mxref.reports.points import points

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


def test_points_are_the_numbers_of_the_codes(tmp_path: Path, vectors: Vectors) -> None:
    folder = vectors("quantize/mxfp4_e2m1.f32", "encode/e2m1.f32")
    files = read(folder)
    target = load_target(target_file(tmp_path, WRONG))
    report, files = begun(target, files)
    report = with_rows(report, [(asked(target, file),) for file in files], why=False)
    rows = {row.op: row for row in report.rows}

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
    fine = ~np.isnan(numbers)  # what is in a NaN block has no number
    shape = inputs.shape
    np.testing.assert_array_equal(found.want.reshape(shape)[fine], numbers[fine])
    with np.errstate(all="ignore"):
        np.testing.assert_array_equal(found.x.reshape(shape)[fine], (inputs / scales)[fine])
    even = (np.arange(shape[1]) % 2 == 0) & fine
    assert found.wrong.reshape(shape).tolist() == even.tolist()
    np.testing.assert_array_equal(found.got.reshape(shape)[even], -numbers[even])
    assert found.lane.reshape(shape)[0].tolist() == [*range(32)]
