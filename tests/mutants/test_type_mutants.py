"""Mutants of use that are right in all that a vector file has, and are asked what none has."""

from __future__ import annotations

from types import SimpleNamespace
from typing import Any

import numpy as np
import pytest
from helpers import VECTORS
from right_calls import RIGHT_CALLS

from mxref import golden, integer
from mxref.conformance import Extent, Report, check, target_of
from mxref.mutants import UseMutant
from mxref.mutants.mutant import Function
from mxref.mutants.type_mutants import TYPE_USES


def linear_qcs8w(x: Any, w: Any, scales: Any) -> Any:
    """In float64, with one rounding."""
    factors = np.repeat(scales.reshape(len(w), -1), w.shape[1] // (scales.size // len(w)), 1)
    with np.errstate(all="ignore"):
        return (x.astype(np.float64) @ (w * factors.astype(np.float64)).T).astype(np.float32)


def linear_qcs4w(x: Any, w: Any, scales: Any) -> Any:
    return linear_qcs8w(x, integer.unpack_int4(w, x.shape[1]), scales)


def quantize(*arguments: Any) -> Any:
    blocks = RIGHT_CALLS["quantize"](*arguments)
    return blocks.scale_codes[:, 0], blocks.codes


#: Of NVFP4 both formats are asked where a target names them.
NVFP4 = ("fp4_ue4m3", "nvfp4")
#: What is asked of each operation; layers are wrong in large calls.
EXTENT = Extent(elements=1_000, search=False, unfiled=True)
LARGER = Extent(elements=140_000, search=False, unfiled=True)
RIGHT = {
    **RIGHT_CALLS,
    "quantize": quantize,
    "linear_qcs8w": linear_qcs8w,
    "linear_qcs4w": linear_qcs4w,
}
PAIRS = [(mutant, op) for mutant in TYPE_USES for op in mutant.ops]


def checked(op: str, function: Function, *, quick: bool = False) -> Report:
    is_layer, wide = op.startswith("linear"), op.endswith("quantize")
    names = {op: function} | ({"FORMATS": NVFP4} if wide else {})
    target = target_of(SimpleNamespace(**names), "kernel")
    files = golden.read_vectors(VECTORS, lambda stem: stem.split("/")[0] == op)
    files = [one for one in files if target.covers(one.op, one.format, one.float)]
    if quick:
        return check(target, files, extent=Extent(elements=0, search=False))
    some = [one for one in files if not (is_layer and one.format.endswith("_groups"))]
    return check(target, some, extent=LARGER if is_layer else EXTENT)


@pytest.mark.sampled(4)
@pytest.mark.parametrize("op", sorted({op for _, op in PAIRS}))
def test_what_they_are_made_of_is_right(op: str) -> None:
    report = checked(op, RIGHT[op])
    assert (report.passed, report.uses) == (True, ())


@pytest.mark.sampled(6)
@pytest.mark.parametrize(("mutant", "op"), PAIRS, ids=lambda value: getattr(value, "id", value))
def test_the_vectors_do_not_catch_it(mutant: UseMutant, op: str) -> None:
    assert checked(op, mutant.spoil(RIGHT[op]), quick=True).passed


@pytest.mark.sampled(6)
@pytest.mark.parametrize(("mutant", "op"), PAIRS, ids=lambda value: getattr(value, "id", value))
def test_a_check_catches_it(mutant: UseMutant, op: str) -> None:
    report = checked(op, mutant.spoil(RIGHT[op]))
    assert not report.passed
    kinds = {use.kind for use in report.uses}
    assert kinds & mutant.kinds or report.failures, [str(use) for use in report.uses]
