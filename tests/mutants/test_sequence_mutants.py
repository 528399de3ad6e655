"""Mutants of sequences: right in calls of any size, and caught by the calls that come before."""

from __future__ import annotations

import re
from types import SimpleNamespace
from typing import Any

import pytest
from helpers import vector_file
from right_calls import RIGHT_CALLS

from mxref.conformance import Extent, check, target_of
from mxref.mutants import SEQUENCES, UseMutant

#: Two vector files of each operation.
FILES = {
    "encode": ("encode/e4m3.f32", "encode/e5m2.f32"),
    "quantize": ("quantize/mxfp4_e2m1.f32", "quantize/mxfp8_e4m3.f32"),
    "dequantize": ("dequantize/mxfp8_e4m3.f32", "dequantize/nvfp4.f32"),
    "quantize_affine": ("quantize_affine/int8.f32", "quantize_affine/uint8.f32"),
    "rescale": ("rescale/int8-int8.bytes", "rescale/int8-uint8.bytes"),
    "linear": ("linear/mxfp8_e4m3.f32", "linear/mxfp8_e5m2.f32"),
}
#: What reports say of each; of some that other questions find it as well.
SAID = {
    "U11": "in format alone|in one number in the middle|in argument",
    "U11b": "in tensor_scale alone",
    "U11c": "alone",
    "U12": "after an empty call",
    "U13": "after a call that raised",
    "U14": "calls of one size in a row, wrong in the next|not reproducible",
    "U15": "is overwritten by the next call, which is of",
}
EXTENT = Extent(elements=2000, search=False)
PAIRS = [(mutant, op) for mutant in SEQUENCES for op in mutant.ops]


def report_of(functions: dict[str, Any], ops: tuple[str, ...]) -> Any:
    # NVFP4 is asked only where a target says that it has it.
    more = {"FORMATS": ["mxfp8_e4m3", "nvfp4", "e4m3", "e5m2"]} if "dequantize" in ops else {}
    target = target_of(SimpleNamespace(**functions, **more), "target")
    return check(target, [vector_file(stem) for op in ops for stem in FILES[op]], extent=EXTENT)


@pytest.mark.parametrize(("mutant", "op"), PAIRS, ids=lambda value: getattr(value, "id", value))
def test_a_check_catches_it_and_says_what_comes_before(mutant: UseMutant, op: str) -> None:
    ops = mutant.ops if mutant.id == "U15" else (op,)
    report = report_of({one: mutant.spoil(RIGHT_CALLS[one]) for one in ops}, ops)
    uses = [use for use in report.uses if use.op == op]
    assert not report.passed
    assert {use.kind for use in uses} & mutant.kinds, [str(use) for use in uses]
    assert any(re.search(SAID[mutant.id], use.text) for use in uses), [str(u) for u in uses]


@pytest.mark.parametrize("op", FILES)
def test_what_they_are_made_of_is_right(op: str) -> None:
    assert report_of({op: RIGHT_CALLS[op]}, (op,)).uses == ()
