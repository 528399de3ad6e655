"""Mutants of use: right on the vectors, and caught by a check that asks as kernels are used."""

from __future__ import annotations

import re
from types import SimpleNamespace
from typing import Any

import numpy as np
import pytest
from helpers import vector_file

import mxref
from mxref.conformance import Extent, check, target_of
from mxref.mutants import USES, UseMutant


def quantize(values: Any, format: str) -> Any:
    blocks = mxref.quantize(values, format)
    return blocks.scale_codes[:, 0], blocks.codes


def dequantize(scales: Any, codes: Any, format: str, dtype: Any) -> Any:
    values = mxref.decode(codes, "e2m1", np.float64)
    powers = mxref.decode_scale(scales).astype(np.float64)[:, np.newaxis]
    return (values * powers).astype(dtype)


#: Whatever the machine's speed is, so that no size is left out.
EXTENT = Extent(elements=2_200_000)
#: A right function of each operation, and its vectors.
RIGHT = {
    "quantize": (quantize, "quantize/mxfp4_e2m1.f32"),
    "encode": (mxref.encode, "encode/e2m1.f32"),
    "dequantize": (dequantize, "dequantize/mxfp4_e2m1.f32"),
    "pack": (mxref.pack, "pack/e2m1.bytes"),
}
PAIRS = [(mutant, op) for mutant in USES for op in mutant.ops]


def target(op: str, function: Any) -> Any:
    return target_of(SimpleNamespace(**{op: function}), "target")


def test_ids_names_and_texts() -> None:
    assert len({mutant.id for mutant in USES}) == len({mutant.name for mutant in USES}) == len(USES)
    for mutant in USES:
        assert re.fullmatch(r"U\d+[a-z]?", mutant.id)
        assert re.fullmatch(r"[a-z0-9_]+", mutant.name)
        assert re.fullmatch(r"[a-z].*[^.]", mutant.text)


def test_scales_of_the_first_call_are_kept() -> None:
    """For a call with as many rows, whether scales come out or go in."""
    (mutant,) = (one for one in USES if one.name == "first_scales_kept")
    make = mutant.spoil(lambda values: (values[:, 0], values + 1))
    read = mutant.spoil(lambda scales, values: scales[:, np.newaxis] * values)
    kept: tuple[list[int], ...] = ([7], [7], [9, 9])
    for scale, count, first in zip((7, 8, 9), (1, 1, 2), kept, strict=True):
        values = np.full((count, 3), scale)
        scales, codes = make(values)
        assert (scales.tolist(), codes.tolist()) == (first, (values + 1).tolist())
        assert read(values[:, 0], values)[:, 0].tolist() == [n * scale for n in first]


@pytest.mark.sampled(6)
@pytest.mark.parametrize("op", RIGHT)
def test_what_they_are_made_of_is_right(op: str) -> None:
    report = check(target(op, RIGHT[op][0]), [vector_file(RIGHT[op][1])], extent=EXTENT)
    assert (report.passed, report.uses) == (True, ())


@pytest.mark.sampled(24)
@pytest.mark.parametrize(("mutant", "op"), PAIRS, ids=lambda value: getattr(value, "id", value))
def test_a_check_catches_it_and_says_why(mutant: UseMutant, op: str) -> None:
    report = check(
        target(op, mutant.spoil(RIGHT[op][0])), [vector_file(RIGHT[op][1])], extent=EXTENT
    )
    assert not report.passed
    if op == "pack" and report.rows[0].failures:
        return  # a call for each case of the vectors shows it: no other calls are made
    kinds = {use.kind for use in report.uses}
    assert kinds & mutant.kinds, [str(use) for use in report.uses]
