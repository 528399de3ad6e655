"""What a check calls, seen from the target: no kind of ordinary call is left out."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest
from call_log import KINDS, CallLog
from helpers import vector_file
from right_calls import dequantize, encode_stochastic, quantize

import mxref
from mxref.conformance import Extent, check, target_of

#: A right function of each operation, and its vectors.
RIGHT: dict[str, tuple[Any, str]] = {
    "encode": (mxref.encode, "encode/e4m3.f32"),
    "decode": (mxref.decode, "decode/e4m3.f32"),
    "encode_stochastic": (encode_stochastic, "encode_stochastic/e4m3.f32"),
    "encode_scale": (mxref.encode_scale, "encode_scale/e8m0.f32"),
    "decode_scale": (mxref.decode_scale, "decode_scale/e8m0.f32"),
    "shared_scale": (mxref.shared_scale, "shared_scale/e4m3.f32"),
    "quantize": (quantize, "quantize/mxfp8_e4m3.f32"),
    "dequantize": (dequantize, "dequantize/mxfp8_e4m3.f32"),
}


def test_a_kind_is_what_the_arguments_are() -> None:
    log = CallLog()
    target = log.wrapped(encode=mxref.encode)
    target.encode(np.arange(1, 9, dtype=np.float32), "e4m3")
    target.encode(np.array([*range(8), np.nan], np.float32), "e4m3")
    target.encode(np.ones(7, np.float32), "e4m3")
    found = {kind for (_, kind), calls in log.calls.items() if calls}
    assert found == {"any", "all finite", "all positive", "sorted"}
    assert (log.calls["encode", "any"], log.elements["encode", "any"]) == (2, 17)
    assert log.largest["encode", "all positive"] == 8


@pytest.mark.parametrize("op", RIGHT)
def test_no_kind_is_left_out(op: str) -> None:
    log, (right, stem) = CallLog(), RIGHT[op]
    functions = log.wrapped(**{op: right})
    if op == "encode_stochastic":
        functions.POLICY = "ocp+rounding=stochastic_a"
    target = target_of(functions, "target")
    # Whatever the machine's speed is, so that no call is shorter.
    report = check(target, [vector_file(stem)], extent=Extent(elements=2_200_000, search=False))
    assert report.passed
    assert RIGHT.keys() == KINDS.keys()
    assert not log.empty((op,)), log.table()
    assert min(log.largest[op, kind] for kind in KINDS[op]) >= 1000, log.table()
