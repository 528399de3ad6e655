"""Formats and float types that a target has and no vector file: wrong answers are found there."""

from __future__ import annotations

from collections.abc import Callable
from types import SimpleNamespace
from typing import Any

import ml_dtypes
import numpy as np
import pytest
from helpers import VECTORS
from numpy.typing import NDArray
from right_calls import linear, product, quantized

from mxref import golden
from mxref.conformance import Extent, Report, check, target_of

Array = NDArray[Any]


def matmul(sa: Array, ca: Array, sb: Array, cb: Array, a: str, b: str, dtype: Any) -> Array:
    """In float64, with one rounding."""
    found: Array = product(sa, ca, sb, cb, a, b).astype(dtype)
    return found


def zeros_for_fp6(x: Array, w: Array, bias: Array | None, name: str) -> Array:
    return linear(x, w, bias, name) * (not name.startswith("mxfp6"))


def refuses_fp6(x: Array, w: Array, bias: Array | None, name: str) -> Array:
    if name.startswith("mxfp6"):
        raise NotImplementedError(name)
    return linear(x, w, bias, name)


def exchanged(sa: Array, ca: Array, sb: Array, cb: Array, a: str, b: str, dtype: Any) -> Array:
    """The formats of an E4M3 and an E5M2 operand, exchanged."""
    names = (b, a) if (a, b) == ("mxfp8_e4m3", "mxfp8_e5m2") else (a, b)
    return matmul(sa, ca, sb, cb, *names, dtype)


def truncated(sa: Array, ca: Array, sb: Array, cb: Array, a: str, b: str, dtype: Any) -> Array:
    """Results in bfloat16 are cut off."""
    exact = matmul(sa, ca, sb, cb, a, b, np.float32)
    if np.dtype(dtype) != ml_dtypes.bfloat16:
        return exact.astype(dtype)
    return (exact.view(np.uint32) & 0xFFFF0000).view(np.float32).astype(ml_dtypes.bfloat16)


def zeros_of_float16(values: Array, name: str, axis: int) -> tuple[Array, Array]:
    scales, codes = quantized(values, name, axis)
    return scales, codes * np.uint8(values.dtype != np.float16)


def report_of(op: str, function: Callable[..., Any], formats: tuple[str, ...]) -> Report:
    claims = {"FORMATS": formats, "FLOATS": ("f32", "bf16", "f16")}
    target = target_of(SimpleNamespace(**{op: function}, **claims), "kernel")
    names = [*formats, *(f"{one}-{one}" for one in formats)]
    files = golden.read_vectors(VECTORS, lambda s: s in [f"{op}/{name}.f32" for name in names])
    # Sums of a few numbers need no rounding.
    elements = 20_000 if function is truncated else 600
    return check(target, files, extent=Extent(elements=elements, search=False, unfiled=True))


FP6 = ("mxfp8_e4m3", "mxfp6_e2m3")
FP8 = ("mxfp8_e4m3", "mxfp8_e5m2")


@pytest.mark.sampled(4)
@pytest.mark.parametrize(
    ("op", "function", "formats", "where"),
    [
        ("linear", linear, FP6, None),
        ("linear", zeros_for_fp6, FP6, "mxfp6_e2m3"),
        ("linear", refuses_fp6, FP6, None),
        ("matmul", matmul, FP8, None),
        ("matmul", exchanged, FP8, "mxfp8_e4m3-mxfp8_e5m2"),
        ("matmul", truncated, ("mxfp6_e2m3",), "mxfp6_e2m3-mxfp6_e2m3"),
        ("quantize_tensor", quantized, ("mxfp4_e2m1",), None),
        ("quantize_tensor", zeros_of_float16, ("mxfp4_e2m1",), "mxfp4_e2m1"),
    ],
)
def test_what_no_vector_file_has_is_asked(
    op: str, function: Callable[..., Any], formats: tuple[str, ...], where: str | None
) -> None:
    report = report_of(op, function, formats)
    assert [use.format for use in report.uses] == ([where] if where else [])
    notes = [one for one in report.scope.notes if one.startswith("not in the vectors")]
    refused = ["not in the vectors, and refused: linear mxfp6_e2m3 f32"]
    assert notes == (refused if function is refuses_fp6 else [])
