"""Mutants of use: right on the vectors, and caught by a check that asks as kernels are used."""

from __future__ import annotations

import re
from types import SimpleNamespace
from typing import Any

import numpy as np
import pytest
from helpers import vector_file
from right_calls import RIGHT_CALLS, matmul, quantized
from tables import rows

import mxref
from mxref.conformance import Extent, check, target_of
from mxref.mutants import SEQUENCES, USES, UseMutant
from mxref.mutants.call_mutants import CALL_USES
from mxref.mutants.data_mutants import DATA_USES
from mxref.mutants.memory_mutants import MEMORY_USES
from mxref.mutants.type_mutants import TYPE_USES


def quantize(values: Any, format: str) -> Any:
    blocks = mxref.quantize(values, format)
    return blocks.scale_codes[:, 0], blocks.codes


def dequantize(scales: Any, codes: Any, format: str, dtype: Any) -> Any:
    values = mxref.decode(codes, "e2m1", np.float64)
    powers = mxref.decode_scale(scales).astype(np.float64)[:, np.newaxis]
    return (values * powers).astype(dtype)


#: Whatever the machine's speed is, so that no size is left out.
EXTENT = Extent(elements=2_200_000)
#: What is asked of kernels that are wrong in smaller calls, too.
SMALLER = Extent(elements=140_000)
#: Those that are not: no call of so few elements is wrong.
LARGE = (
    *("U3-quantize", "U3-dequantize", "U3-pack", "U40-pack_scales", "U41-matmul", "U42-matmul"),
    *("U43-grid_sample", "U44-linear_qcs4w", "U44-linear_qcs8w", "U46-quantize_affine"),
    *("U46-rescale", "U46-pack_int4", "U46-unpack_scales", "U46b-quantize_tensor", "U46b-rescale"),
)
#: A right function of each operation, and its vectors.
RIGHT = {
    "quantize": (quantize, "quantize/mxfp4_e2m1.f32"),
    "encode": (mxref.encode, "encode/e2m1.f32"),
    "dequantize": (dequantize, "dequantize/mxfp4_e2m1.f32"),
    "pack": (mxref.pack, "pack/e2m1.bytes"),
}
#: The same of operations with several axes.
CALLS = {stem.partition("/")[0]: stem for (stem,) in rows("mutants", "files", "uses")}
_MORE = {
    "matmul": matmul,
    "quantize_tensor": quantized,
    "pack_scales": mxref.pack_scales,
    "unpack_scales": mxref.unpack_scales,
}
RIGHT |= {op: ((RIGHT_CALLS | _MORE)[op], stem) for op, stem in CALLS.items()}
PAIRS = [(mutant, op) for mutant in (*USES, *CALL_USES, *DATA_USES) for op in mutant.ops]


def target(op: str, function: Any) -> Any:
    return target_of(SimpleNamespace(**{op: function}), "target")


def test_ids_names_and_texts() -> None:
    every = [*USES, *SEQUENCES, *CALL_USES, *DATA_USES, *MEMORY_USES, *TYPE_USES]
    assert len({one.id for one in every}) == len({one.name for one in every}) == len(every)
    for mutant in every:
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
    extent = EXTENT if f"{mutant.id}-{op}" in LARGE else SMALLER
    report = check(
        target(op, mutant.spoil(RIGHT[op][0])), [vector_file(RIGHT[op][1])], extent=extent
    )
    assert not report.passed
    if op == "pack" and report.rows[0].failures:
        return  # a call for each case of the vectors shows it: no other calls are made
    kinds = {use.kind for use in report.uses}
    assert kinds & mutant.kinds, [str(use) for use in report.uses]
