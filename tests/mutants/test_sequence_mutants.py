"""Mutants of sequences: right in calls of any size, and caught by the calls that come before."""

from __future__ import annotations

import re
from collections.abc import Mapping
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
#: The files of mutants that read the scale of a tensor.
NVFP4 = {op: (f"{op}/nvfp4.f32",) for op in ("quantize", "dequantize")}
#: What reports say of each; of some that other questions find it as well.
SAID = {
    "U11": "in format alone|in one number in the middle|in argument",
    "U11b": "in tensor_scale alone",
    "U11c": "alone",
    "U12": "after an empty call",
    "U13": "after a call that raised",
    "U14": "calls of one size in a row, wrong in the next|not reproducible",
    "U15": "is overwritten by the next call, which is of",
    "U16": "not reproducible: the same ",
}
EXTENT = Extent(elements=2000, search=False)
#: One that reads another scale in all calls but the first is wrong in all of them, and in no other
#: way than the vectors show.
ALWAYS_WRONG = "U16b"
PAIRS = [(one, op) for one in SEQUENCES if one.id != ALWAYS_WRONG for op in one.ops]
SCALED = [(one, op) for one in SEQUENCES if one.id.startswith("U16") for op in one.ops]


def report_of(
    functions: dict[str, Any],
    ops: tuple[str, ...],
    files: Mapping[str, tuple[str, ...]] = FILES,
    extent: Extent = EXTENT,
) -> Any:
    # NVFP4 is asked only where a target says that it has it.
    scaled = "dequantize" in ops or files is not FILES
    more = {"FORMATS": ["mxfp8_e4m3", "nvfp4", "e4m3", "e5m2"]} if scaled else {}
    target = target_of(SimpleNamespace(**functions, **more), "target")
    return check(target, [vector_file(stem) for op in ops for stem in files[op]], extent=extent)


@pytest.mark.parametrize(("mutant", "op"), PAIRS, ids=lambda value: getattr(value, "id", value))
def test_a_check_catches_it_and_says_what_comes_before(mutant: UseMutant, op: str) -> None:
    ops = mutant.ops if mutant.id == "U15" else (op,)
    files = NVFP4 if (mutant, op) in SCALED else FILES
    report = report_of({one: mutant.spoil(RIGHT_CALLS[one]) for one in ops}, ops, files)
    uses = [use for use in report.uses if use.op == op]
    assert not report.passed
    assert {use.kind for use in uses} & mutant.kinds, [str(use) for use in uses]
    assert any(re.search(SAID[mutant.id], use.text) for use in uses), [str(u) for u in uses]


@pytest.mark.parametrize("op", FILES)
def test_what_they_are_made_of_is_right(op: str) -> None:
    assert report_of({op: RIGHT_CALLS[op]}, (op,)).uses == ()


@pytest.mark.parametrize(("mutant", "op"), SCALED, ids=lambda value: getattr(value, "id", value))
def test_the_vectors_catch_the_scale_of_another_tensor(mutant: UseMutant, op: str) -> None:
    only_vectors = Extent(elements=0, search=False)
    report = report_of({op: mutant.spoil(RIGHT_CALLS[op])}, (op,), NVFP4, only_vectors)
    assert not report.passed
    assert report.failures


@pytest.mark.parametrize("op", NVFP4)
def test_the_scale_of_another_tensor_is_put_into_what_is_right(op: str) -> None:
    report = report_of({op: RIGHT_CALLS[op]}, (op,), NVFP4)
    assert (report.passed, report.uses) == (True, ())
