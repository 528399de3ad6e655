"""Kernels that are right on calls with specials in them, and wrong on calls like tensors."""

from __future__ import annotations

from collections.abc import Callable
from types import SimpleNamespace
from typing import Any

import numpy as np
import pytest
from helpers import vector_file

import mxref
from mxref.conformance import Extent, check, target_of

EXTENT = Extent(elements=1 << 20, search=False)


def encode(fast: Callable[[Any], bool], **choices: Any) -> Callable[[Any, str], Any]:
    """Right, but with other choices where a call may take the fast path."""

    def run(values: Any, format: str) -> Any:
        return mxref.encode(values, format, **(choices if fast(values) else {}))

    return run


def by_float16(values: Any, format: str) -> Any:
    fits = np.isfinite(values).all() and np.abs(values).max(initial=0) <= 448
    return mxref.encode(values.astype(np.float16) if fits else values, format)


def dequantize(scales: Any, codes: Any, format: str, dtype: Any) -> Any:
    values = mxref.decode(codes, "e2m1", np.float64)
    powers = mxref.decode_scale(scales).astype(np.float64)[:, np.newaxis]
    if len(scales) > 1 and (scales == scales[0]).all() and scales[0] > 127:
        powers = 2.0 ** (scales.view(np.int8).astype(np.float64)[:, np.newaxis] - 127)
    return (values * powers).astype(dtype)


def decode(codes: Any, format: str) -> Any:
    found = mxref.decode(codes, format)
    return found if np.isnan(found).any() or len(codes) < 9 else np.abs(found)


class AfterSpecial:
    """Keeps whether a call had NaN, and takes another way in the next call."""

    def __init__(self) -> None:
        self.nan = False

    def __call__(self, values: Any, format: str) -> Any:
        before, self.nan = self.nan, bool(np.isnan(values).any() and values.size == 1024)
        return mxref.encode(values, format, rounding="toward_zero" if before else "ties_to_even")


def words_of(op: str, function: Any, stem: str) -> tuple[str, str]:
    report = check(
        target_of(SimpleNamespace(**{op: function}), "t"), [vector_file(stem)], extent=EXTENT
    )
    assert not report.passed
    (use,) = report.uses
    return use.kind, use.text


@pytest.mark.parametrize(
    ("op", "function", "stem", "kind", "text"),
    [
        ("encode", by_float16, "encode/e4m3.f32", "data",
         "wrong only in calls with numbers in the format's range alone"),
        ("encode", encode(lambda x: not np.signbit(x).any(), rounding="toward_zero"),
         "encode/e4m3.f32", "data", "wrong only in calls with no negative number"),
        ("encode", AfterSpecial(), "encode/e4m3.f32", "state", "not reproducible"),
        ("dequantize", dequantize, "dequantize/mxfp4_e2m1.f32", "data",
         "wrong only in calls with equal scales"),
        ("decode", decode, "decode/e4m3.f32", "data", "wrong only in calls with no NaN code"),
    ],
)  # fmt: skip
def test_words(op: str, function: Any, stem: str, kind: str, text: str) -> None:
    found = words_of(op, function, stem)
    assert (found[0], found[1][: len(text)]) == (kind, text)


def test_wrong_numbers_are_no_matter_of_the_call() -> None:
    """A code that no vector has: wrong in every call, so that it is an answer and no dependence."""

    def wrong(values: Any, format: str) -> Any:
        codes = mxref.encode(values, format)
        return np.where((values > 1.1) & (values < 1.11), 0x7E, codes)

    file = vector_file("encode/e4m3.f32")
    report = check(target_of(SimpleNamespace(encode=wrong), "t"), [file], extent=EXTENT)
    assert (report.passed, report.uses) == (False, ())


def test_every_kind_is_asked_of_a_slow_target() -> None:
    file = vector_file("quantize/mxfp4_e2m1.f32")
    target = target_of(SimpleNamespace(quantize=quantize), "t")
    scope = check(target, [file], extent=Extent(elements=1100, search=False)).scope
    (one,) = scope.ordinary
    assert (len(one.kinds), one.calls) == (13, 117)
    assert one.largest == 256


def quantize(values: Any, format: str) -> Any:
    blocks = mxref.quantize(values, format)
    return blocks.scale_codes[:, 0], blocks.codes
