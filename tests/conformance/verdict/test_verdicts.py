"""The verdict where the standard leaves something open, but not everything."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np
import pytest
from helpers import VECTORS

import mxref
from mxref import golden
from mxref.conformance import target_of, verify

Change = Callable[[Any, Any], Any]


def verdict(stem: str, change: Change) -> str:
    """Of a target that is right, but for a change of its answers to inputs."""
    op = stem.partition("/")[0]

    class Changed:
        pass

    def answer(inputs: Any, format: str) -> Any:
        return change(inputs, getattr(mxref, op)(inputs, format))

    setattr(Changed, op, staticmethod(answer))
    files = golden.read_vectors(VECTORS, lambda name: name == stem)
    return verify(target_of(Changed, "changed"), files).verdict


def underflow(values: Any) -> Any:
    return (values > -0.1) & (values < 0)


@pytest.mark.parametrize(
    ("stem", "change", "wanted"),
    [
        # The sign of a zero is open for FP6 and FP4, its magnitude is not.
        ("encode/e2m1.f32", lambda x, c: np.where(underflow(x), 0x07, c), "violates MX-5.3.3"),
        ("encode/e2m1.f32", lambda x, c: np.where(underflow(x), 0x10, c), "violates MX-5.3.3"),
        (
            "encode/e2m1.f32",
            lambda x, c: np.where((x == 0) | underflow(x), c & 7, c),
            "legal but unnamed",
        ),
        # What is below -127/64 becomes that, or -2.
        ("encode/int8.f32", lambda x, c: np.where(x < -5, 0x7F, c), "violates MX-5.3.4"),
        ("encode/int8.f32", lambda x, c: np.where(x < -5, 0x80, c), "legal but unnamed"),
        (
            "decode/e2m1.f32",
            lambda c, x: np.where(c == 8, np.float32(6), x).astype(np.float32),
            "violates MX-5.3.3",
        ),
        # A policy that FP8 rules out is a policy of other formats.
        (
            "encode/e2m1.f32",
            lambda x, c: np.where(x == 0, 0, c),
            "conforms under ocp+zero_sign=dropped",
        ),
        ("encode/e4m3.f32", lambda x, c: np.where(x == 0, 0, c), "violates N25"),
    ],
)
def test_of_a_free_sign_the_magnitude_is_not_free(stem: str, change: Change, wanted: str) -> None:
    assert verdict(stem, change) == wanted


def test_a_nan_in_place_of_what_overflows_has_no_sign_to_be_wrong() -> None:
    def change(values: Any, codes: Any) -> Any:  # saturates on one side only
        return np.where(values < -464, 0xFF, codes)

    assert verdict("encode/e4m3.f32", change) == "legal but unnamed"


def test_what_one_format_does_not_show_another_one_may() -> None:
    class Target:
        @staticmethod
        def encode(values: Any, format: str) -> Any:
            return mxref.encode(values, format, overflow="nonsaturating", nan_to_finite="zero")

    stems = ("encode/e4m3.f32", "encode/e2m1.f32")
    files = golden.read_vectors(VECTORS, lambda name: name in stems)
    found = verify(target_of(Target, "target"), files[::-1] if files[0].format == "e2m1" else files)
    policy = "ocp+overflow=nonsaturating+nan_to_finite=zero"
    assert found.verdict == f"conforms under {policy}"


def test_elements_of_a_block_of_zeros_are_zeros() -> None:
    def change(values: Any, blocks: Any) -> Any:
        codes = np.where((values == 0).all(axis=1, keepdims=True), 7, blocks.codes)
        return blocks.scale_codes, codes

    assert verdict("quantize/mxfp4_e2m1.f32", change) == "violates MX-6.3"
