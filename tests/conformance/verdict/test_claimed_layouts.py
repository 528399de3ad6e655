"""A layout that a target claims is no open choice: what it gives instead is named as a bug."""

from __future__ import annotations

import functools
from typing import Any

import kernel_reports
import numpy as np
import pytest

import mxref
from mxref.conformance import Report
from mxref.conformance.verdict.report_text import verdict_text
from mxref.mutants import MUTANTS
from mxref.policy.choices import ScaleLayout

TILES = "ocp+scale_layout=tiles_128x4"
OTHERS = [m.value for m in ScaleLayout if m is not ScaleLayout.TILES_128X4]
NEW = [m for m in MUTANTS if m.group in ("G11", "G12", "G13", "G14")]


def report_on(stem: str, policy: str, run: Any) -> Report:
    return kernel_reports.report_on(stem, policy, **{stem.partition("/")[0]: run})


def tiles(scale_codes: np.ndarray) -> np.ndarray:
    return mxref.pack_scales(scale_codes, scale_layout="tiles_128x4")


@pytest.mark.parametrize("layout", OTHERS)
def test_another_layout_is_named(layout: str) -> None:
    run = functools.partial(mxref.pack_scales, scale_layout=layout)
    report = report_on("pack_scales/e8m0.bytes", TILES, run)
    assert report.verdict == f"has bug: gives {layout}, claims tiles_128x4 in pack_scales e8m0"


def test_other_layouts_of_elements_and_blocks_are_named() -> None:
    high = functools.partial(mxref.pack, fp4_packing="high_nibble_first")
    halves = "ocp+fp4_packing=halves"
    verdict = report_on("pack/e2m1.bytes", halves, high).verdict
    assert verdict == "has bug: gives high_nibble_first, claims halves in pack e2m1"
    assert report_on("pack/e2m1.bytes", "ocp", high).verdict == (
        "conforms under ocp+fp4_packing=high_nibble_first"
    )


def test_no_known_layout_is_not_called_open() -> None:
    def run(scale_codes: np.ndarray) -> np.ndarray:
        packed = tiles(scale_codes)
        packed[::7] ^= 1
        return packed

    report = report_on("pack_scales/e8m0.bytes", TILES, run)
    wanted = "has bug: does not give tiles_128x4, which it claims, in pack_scales e8m0"
    assert report.verdict == verdict_text(report) == wanted
    # Without a claim it may be a layout of its own.
    assert report_on("pack_scales/e8m0.bytes", "ocp", run).verdict == "unexplained"


def test_errors_are_no_other_layout() -> None:
    def run(scale_codes: np.ndarray) -> np.ndarray:
        raise RuntimeError("no memory")

    assert report_on("pack_scales/e8m0.bytes", TILES, run).verdict == "fails with errors"


# --- planted bugs ---------------------------------------------------------------------------------


@pytest.mark.parametrize("id", ["G9", "G12", "G12b", "G13c", "G14b"])
def test_a_bug_is_named_without_a_claim(id: str) -> None:
    """Also where the layout that is meant is not the nearest, as for the first and G13c."""
    (mutant,) = (m for m in MUTANTS if m.id == id)
    report = report_on("pack_scales/e8m0.bytes", "ocp", mutant.run)
    (finding,) = report.findings
    assert id in (finding.cause.name, *finding.also)
    assert finding.cause.policy == mutant.policy
    assert f" over {mutant.policy}: " in report.verdict


@pytest.mark.sampled(6)
@pytest.mark.parametrize("mutant", NEW, ids=lambda mutant: mutant.id)
def test_every_mutant_of_scale_layouts_is_named(mutant: Any) -> None:
    (slot,) = mutant.floats
    report = report_on(f"{mutant.op}/e8m0.{slot}", mutant.policy, mutant.run)
    (finding,) = report.findings
    assert mutant.id in (finding.cause.name, *finding.also)
    assert finding.cause.complete
