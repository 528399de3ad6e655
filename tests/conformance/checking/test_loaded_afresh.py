"""What a target keeps from other calls: its file is loaded once more, and asked otherwise."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path
from types import SimpleNamespace

import pytest
from kernel_reports import file_of, files_of
from uses import assert_use

from mxref.conformance import Extent, check, load_target
from mxref.conformance.checking import target_speed

KEPT_BY_WIDTH = """
import numpy as np
import mxref

BITS = {"e5m2": 8, "e4m3": 8, "e2m1": 4}
FORMATS = tuple(BITS)
KEPT = {}


def encode(values, format):
    if values.dtype != np.float16:
        return mxref.encode(values, format)
    if BITS[format] not in KEPT:
        every = np.arange(65536, dtype=np.uint16).view(np.float16)
        KEPT[BITS[format]] = mxref.encode(every, format)
    return KEPT[BITS[format]][values.view(np.uint16)]
"""
ALWAYS_WRONG = """
import mxref


def encode(values, format):
    return mxref.encode(values, format) ^ (values == 1)
"""
ALWAYS_WRONG_BLOCKS = """
import mxref

FORMATS, FLOATS = ["nvfp4"], ["f32"]


def quantize(values, block_format, tensor_scale):
    blocks = mxref.quantize(values, block_format, tensor_scale=1.0)
    return blocks.scale_codes.reshape(-1), blocks.codes
"""
FIRST_TENSOR_SCALE = """
import mxref

FORMATS, FLOATS, KEPT = ["nvfp4"], ["f32"], []


def quantize(values, block_format, tensor_scale):
    KEPT.append(float(tensor_scale))
    blocks = mxref.quantize(values, block_format, tensor_scale=KEPT[0])
    return blocks.scale_codes.reshape(-1), blocks.codes
"""
READ_UNDER_THE_FIRST = """
import numpy as np
import mxref

FORMATS, FLOATS, KEPT = ["nvfp4"], ["f32"], []


def dequantize(scale_codes, codes, block_format, dtype, tensor_scale):
    KEPT.append(np.float64(tensor_scale))
    scales = mxref.decode(scale_codes, "e4m3").astype(np.float64)[:, np.newaxis]
    with np.errstate(all="ignore"):
        return (mxref.decode(codes, "e2m1").astype(np.float64) * scales * KEPT[0]).astype(dtype)
"""
AFTER = "not reproducible: other answers after another first call: "


@pytest.fixture(autouse=True)
def no_time(monkeypatch: pytest.MonkeyPatch) -> None:
    """Every target takes no time, so that what is asked does not depend on the machine."""
    monkeypatch.setattr(target_speed, "time", SimpleNamespace(perf_counter=lambda: 0.0))


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
