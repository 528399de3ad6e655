"""What a target keeps from other calls: its file is loaded once more, and asked otherwise."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path

import pytest
from helpers import table
from kernel_reports import file_of, files_of
from uses import assert_use, no_time  # noqa: F401

from mxref.conformance import Extent, check, load_target

KEPT_BY_WIDTH = table("kernels")["loaded_afresh_kept_by_width"]
ALWAYS_WRONG = table("kernels")["loaded_afresh_always_wrong"]
ALWAYS_WRONG_BLOCKS = table("kernels")["loaded_afresh_always_wrong_blocks"]
FIRST_TENSOR_SCALE = table("kernels")["loaded_afresh_first_tensor_scale"]
READ_UNDER_THE_FIRST = table("kernels")["loaded_afresh_read_under_the_first"]
AFTER = "not reproducible: other answers after another first call: "


@pytest.mark.parametrize(
    ("source", "text"),
    [
        (
            KEPT_BY_WIDTH,
            "not reproducible: right where nothing was called before, wrong after calls of encode "
            "e5m2 (f16): encode.e4m3.f16.",
        ),
        (ALWAYS_WRONG, ""),
    ],
)
def test_what_other_calls_of_the_vectors_leave(source: str, text: str, tmp_path: Path) -> None:
    """Each format's answers are right in a file that was just loaded, or wrong there as well."""
    path = tmp_path / "kernel.py"
    path.write_text(source)
    every = [file_of(f"encode/{name}.f16") for name in ("e5m2", "e4m3", "e2m1")]
    files = [replace(one, cases=one.cases[:64]) for one in every]
    report = check(load_target(str(path)), files, extent=Extent(elements=300_000, search=False))
    assert not report.passed
    if text:
        use = assert_use(report.uses, "state", text)
        assert (use.op, use.format) == ("encode", "e4m3")
    else:
        assert not report.uses


@pytest.mark.parametrize(
    ("source", "stem", "text"),
    [
        (FIRST_TENSOR_SCALE, "quantize/nvfp4.f32", f"{AFTER}quantize.nvfp4.f32."),
        (READ_UNDER_THE_FIRST, "dequantize/nvfp4.f32", f"{AFTER}dequantize.nvfp4.f32."),
        (ALWAYS_WRONG_BLOCKS, "quantize/nvfp4.f32", ""),
    ],
)
def test_what_the_first_call_leaves(source: str, stem: str, text: str, tmp_path: Path) -> None:
    """Another first call gives other answers, all of them wrong; no cause is named then."""
    path = tmp_path / "kernel.py"
    path.write_text(source)
    report = check(load_target(str(path)), files_of(stem), extent=Extent(search=False))
    assert not report.passed
    if text:
        assert_use(report.uses, "state", text)
        assert "has bug" not in report.verdict
    else:
        assert not report.uses
        assert "has bug D7b" in report.verdict
