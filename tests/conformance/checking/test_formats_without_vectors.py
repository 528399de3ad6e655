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

from mxref import golden, integer
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


def quantizes(**choices: str) -> Callable[..., Array]:
    """`quantize_affine` with choices; those that int32 has not are of NaN and infinities."""

    def run(values: Array, *qparams: Any) -> Array:
        own = dict(choices)
        if qparams[4] == np.int32:
            own |= {"nan": "zero", "infinite": "saturate"}
        else:
            own.pop("int32", None)
        chosen: Any = own
        return integer.quantize_affine(values, integer.QParams(*qparams), **chosen)

    return run


def rescales_twice(q: Array, *rest: Any) -> Array:
    """With two roundings, which multipliers of 16 bits have not; no uint16."""
    m, s, *zeros, dtype, bits = rest
    if np.uint16 in (q.dtype, dtype):
        raise NotImplementedError("uint16")
    rounding = "double" if bits == 32 else "single"
    return integer.rescale(q, m, s, *zeros, rounding, dtype=dtype, bits=bits)


@pytest.mark.sampled(3)
@pytest.mark.parametrize(
    ("op", "function", "refused"),
    [
        ("quantize_affine", quantizes(nan="zero", int32="wrap"), ""),
        ("quantize_affine", quantizes(nan="zero", zero_point="before", scaling="divide"), ""),
        ("quantize_affine", quantizes(nan="int32_min", infinite="int32_min"), ""),
        ("quantize_affine", quantizes(nan="lowest", infinite="lowest"), ""),
        ("rescale", rescales_twice, "rescale int8-uint16, rescale int16-uint16"),
    ],
)
def test_integers_are_asked_with_the_choices_of_the_vectors(
    op: str, function: Callable[..., Any], refused: str
) -> None:
    target = target_of(SimpleNamespace(**{op: function}), "kernel")
    files = golden.read_vectors(VECTORS, lambda stem: stem.startswith(f"{op}/"))
    report = check(target, files, extent=Extent(elements=300, search=False, unfiled=True))
    assert (report.passed, report.uses) == (True, ())
    notes = [one for one in report.scope.notes if one.startswith("not in the vectors")]
    assert [one.partition(refused)[1] for one in notes] == [refused] * bool(refused)
