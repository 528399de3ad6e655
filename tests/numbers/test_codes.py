"""Arrays of codes: what is taken as one, and the dtypes that formats have."""

from __future__ import annotations

from typing import Any

import ml_dtypes
import numpy as np
import pytest
from helpers import SMALL_FLOATS, sentence

import mxref
from mxref.formats.catalog import E2M1, E4M3, ELEMENT_FORMATS, INT8, UE4M3
from mxref.numbers.codes import codes_of, dtype_of, every_code, is_writeable, view_codes


@pytest.mark.parametrize("name", [*ELEMENT_FORMATS, "e8m0"])
def test_dtypes(name: str) -> None:
    own = {"int8": np.int8, "e8m0": ml_dtypes.float8_e8m0fnu}.get(name) or SMALL_FLOATS[name]
    fmt = getattr(mxref.formats, name.upper())
    assert dtype_of(fmt) == np.dtype(own)
    codes = np.arange(fmt.code_count, dtype=np.uint8)
    for typed in (codes.view(own), np.repeat(codes, 3).view(own)[::3]):
        assert codes_of(typed[::-1], fmt).tolist() == codes[::-1].tolist()
    assert codes_of(codes.view(own)[5], fmt) == 5


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


def test_codes_that_are_refused() -> None:
    assert sentence(TypeError, lambda: codes_of(b"ab", E2M1)) == (
        "codes must be an array, got bytes: use numpy.frombuffer(data, numpy.uint8)"
    )
    for codes, got in (
        ([[3], [-1]], "-1 at index (1, 0)"),
        ([16, -1], "-1 at index (1,)"),
        (np.uint8([3, 16]), "16 at index (1,)"),
    ):
        wrong = sentence(ValueError, lambda some=codes: codes_of(some, E2M1))
        assert wrong == f"codes must be in [0, 15] for e2m1, got {got}"


def test_blocks_are_no_codes() -> None:
    blocks = mxref.quantize(np.ones(32, np.float32), "mxfp4_e2m1")
    for parameter, name in (("codes", "codes"), ("scale_codes", "scale_codes"), ("data", "codes")):
        assert sentence(TypeError, lambda at=parameter: codes_of(blocks, E2M1, at)) == (
            f"{parameter} must be an array of codes, got Blocks: pass .{name}"
        )


def test_codes_with_a_sign() -> None:
    assert dtype_of(UE4M3) is None
    assert codes_of(np.int8([127]), UE4M3).tolist() == [127]
    assert codes_of(np.int8([-1, 1]), INT8).tolist() == [255, 1]  # INT8's own dtype


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
