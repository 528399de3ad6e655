"""Arrays of codes: what is taken as one, and the dtypes that formats have."""

from __future__ import annotations

from typing import Any

import ml_dtypes
import numpy as np
import pytest
from helpers import SMALL_FLOATS, sentence

import mxref
from mxref.formats.catalog import E2M1, E4M3, E8M0, ELEMENT_FORMATS, INT8, UE4M3
from mxref.numbers.codes import codes_of, dtype_of, every_code, is_writeable, view_codes

BYTES = "codes must be an array, got bytes: use numpy.frombuffer(data, numpy.uint8)"
INTEGERS = "codes must be unsigned integers or float4_e2m1fn for e2m1"


def test_dtypes() -> None:
    for name in ("e5m2", "e4m3", "e3m2", "e2m3", "e2m1"):
        assert dtype_of(ELEMENT_FORMATS[name]) == np.dtype(SMALL_FLOATS[name])
    assert dtype_of(INT8) == np.int8
    assert dtype_of(E8M0) == np.dtype(ml_dtypes.float8_e8m0fnu)
    assert dtype_of(UE4M3) is None


def test_a_view_has_the_dtype_of_the_format() -> None:
    codes = np.uint8([0x38, 0xC0])
    assert view_codes(codes, E4M3).tolist() == [1.0, -2.0]
    assert np.shares_memory(view_codes(codes, INT8), codes)
    assert sentence(TypeError, lambda: view_codes(codes, UE4M3)) == (
        "ue4m3 has no NumPy or ml_dtypes dtype: use the codes"
    )


@pytest.mark.parametrize(
    ("given", "codes"),
    [
        ([1, 15], [1, 15]),
        ([], []),
        (np.array([[3]], np.int64), [[3]]),
        (np.array([7], ">u2"), [7]),
        (np.array([0.5, -6], ml_dtypes.float4_e2m1fn), [1, 15]),
        (np.zeros((0, 2)), np.zeros((0, 2)).tolist()),
        (5, 5),
    ],
)
def test_codes_that_are_taken(given: Any, codes: Any) -> None:
    found = codes_of(given, E2M1)
    assert (found.tolist(), found.dtype) == (codes, np.uint8)


@pytest.mark.parametrize(
    ("given", "kind", "text"),
    [
        (b"ab", TypeError, BYTES),
        ([1.0], TypeError, f"{INTEGERS}, got float64"),
        (np.zeros(0, np.float32), TypeError, f"{INTEGERS}, got float32"),
        ([[1], [1, 2]], TypeError, None),
        ([3, 16], ValueError, "codes must be in [0, 15] for e2m1, got 16 at index (1,)"),
        ([[3], [-1]], ValueError, "codes must be in [0, 15] for e2m1, got -1 at index (1, 0)"),
        ([16, -1], ValueError, "codes must be in [0, 15] for e2m1, got -1 at index (1,)"),
    ],
)
def test_codes_that_are_refused(given: Any, kind: type[Exception], text: str | None) -> None:
    error = sentence(kind, lambda: codes_of(given, E2M1))
    assert error == text or (
        text is None and error.startswith("codes must be a rectangular array of codes: ")
    )


def test_blocks_are_no_codes() -> None:
    blocks = mxref.quantize(np.ones(32, np.float32), "mxfp4_e2m1")
    for parameter, name in (("codes", "codes"), ("scale_codes", "scale_codes"), ("data", "codes")):
        assert sentence(TypeError, lambda at=parameter: codes_of(blocks, E2M1, at)) == (
            f"{parameter} must be an array of codes, got Blocks: pass .{name}"
        )


def test_codes_of_a_format_without_a_dtype() -> None:
    assert sentence(TypeError, lambda: codes_of(np.float32([1]), UE4M3)) == (
        "codes must be unsigned integers for ue4m3, got float32"
    )
    assert codes_of(np.int8([127]), UE4M3).tolist() == [127]
    assert codes_of(np.int8([-1, 1]), INT8).tolist() == [255, 1]  # INT8's own dtype
    assert sentence(ValueError, lambda: codes_of(np.int16([-1]), INT8)).endswith("at index (0,)")


def test_memory_that_can_be_written_to() -> None:
    memory = np.zeros(4, np.uint8)
    view = memory[:2]
    view.flags.writeable = False
    assert is_writeable(view)  # through `memory`
    memory.flags.writeable = False
    assert not is_writeable(view)
    assert is_writeable(np.frombuffer(bytearray(4), np.uint8))


def test_every_code_is_read_only() -> None:
    parts = every_code(E4M3)
    for name in ("negative", "significand", "exponent", "is_inf", "is_nan", "is_subnormal"):
        assert not getattr(parts, name).flags.writeable
    assert parts.is_nan.nonzero()[0].tolist() == [0x7F, 0xFF]
    assert not parts.negative[0xFF]
    assert parts.is_subnormal.nonzero()[0].tolist() == [*range(1, 8), *range(0x81, 0x88)]
