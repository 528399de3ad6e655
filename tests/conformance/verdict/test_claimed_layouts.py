"""A layout that a target claims is no open choice: what it gives instead is named as a bug."""

from __future__ import annotations

import functools
from types import SimpleNamespace
from typing import Any

import numpy as np
import pytest
from helpers import VECTORS

import mxref
from mxref import golden
from mxref.conformance import Report, target_of, verify
from mxref.conformance.compare.failure_text import describe
from mxref.conformance.verdict.report_text import verdict_text
from mxref.golden import VectorFile
from mxref.mutants import MUTANTS
from mxref.policy.choices import ScaleLayout

TILES = "ocp+scale_layout=tiles_128x4"
OTHERS = [m.value for m in ScaleLayout if m is not ScaleLayout.TILES_128X4]
NEW = [m for m in MUTANTS if m.group in ("G11", "G12", "G13", "G14")]


@functools.cache
def file(stem: str) -> VectorFile:
    (found,) = golden.read_vectors(VECTORS, lambda one: one == stem)
    return found


def report_on(stem: str, policy: str, run: Any) -> Report:
    op = stem.split("/")[0]
    return verify(target_of(SimpleNamespace(**{op: run}, POLICY=policy), "target"), [file(stem)])


def tiles(scale_codes: np.ndarray) -> np.ndarray:
    return mxref.pack_scales(scale_codes, scale_layout="tiles_128x4")


@pytest.mark.parametrize("layout", OTHERS)
def test_another_layout_is_named(layout: str) -> None:
    run = functools.partial(mxref.pack_scales, scale_layout=layout)
    report = report_on("pack_scales/e8m0.bytes", TILES, run)
    assert report.verdict == f"has bug: gives {layout}, claims tiles_128x4 in pack_scales e8m0"


def test_without_a_claim_every_layout_conforms() -> None:
    run = functools.partial(mxref.pack_scales, scale_layout="tiles_gfx950")
    report = report_on("pack_scales/e8m0.bytes", "ocp", run)
    assert report.verdict == "conforms under ocp+scale_layout=tiles_gfx950"


def test_other_layouts_of_elements_and_blocks_are_named() -> None:
    high = functools.partial(mxref.pack, fp4_packing="high_nibble_first")
    halves = "ocp+fp4_packing=halves"
    verdict = report_on("pack/e2m1.bytes", halves, high).verdict
    assert verdict == "has bug: gives high_nibble_first, claims halves in pack e2m1"
    assert report_on("pack/e2m1.bytes", "ocp", high).verdict == (
        "conforms under ocp+fp4_packing=high_nibble_first"
    )

    def behind(scales: Any, codes: Any, format: str) -> Any:
        return mxref.pack_blocks(scales, codes.reshape(-1), format, scale_place="after")

    verdict = report_on("pack_blocks/mxint8.bytes", "ocp+scale_place=before", behind).verdict
    assert verdict == "has bug: gives after, claims before in pack_blocks mxint8"


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


def test_a_layout_beside_another_failure() -> None:
    files = [file("pack_scales/e8m0.bytes"), file("encode_scale/e8m0.f32")]
    functions = {
        "pack_scales": mxref.pack_scales,
        "encode_scale": lambda v: mxref.encode_scale(v) ^ 1,
    }
    report = verify(target_of(SimpleNamespace(**functions, POLICY=TILES), "target"), files)
    named, rest = report.verdict.split("; elsewhere ")
    assert named == "has bug: gives row_major, claims tiles_128x4 in pack_scales e8m0"
    assert rest.startswith("violates MX-5.4.1")


def told(report: Report, name: str) -> str:
    (text,) = (describe(*pair) for pair in report.failures if pair[1].case.name == name)
    return text


def test_a_value_is_said_once() -> None:
    """A scale alone in its byte is the wanted byte; codes that share a byte are not."""
    report = report_on("pack_scales/e8m0.bytes", TILES, _exchanged)
    text = told(report, "hashed_32x4")
    assert "byte 0 holding scale of row 0, column 0, want 8b, got 86;" in text
    high = functools.partial(mxref.pack, fp4_packing="high_nibble_first")
    text = told(report_on("pack/e2m1.bytes", "ocp", high), "up_2")
    assert "byte 0 holding element 0 = 00 and element 1 = 01, want 10, got 01" in text
    assert "(holding 01 and 00)" in text


def _exchanged(scale_codes: np.ndarray) -> np.ndarray:
    return tiles(scale_codes[:, ::-1])


# --- planted bugs ---------------------------------------------------------------------------------


def twice(scale_codes: np.ndarray) -> np.ndarray:
    rows = -(-len(scale_codes) // 128) * 128
    return tiles(tiles(scale_codes).reshape(rows, -1))


def row_below(scale_codes: np.ndarray) -> np.ndarray:
    return tiles(np.concatenate([scale_codes[1:], scale_codes[:1]]))


def column_beside(scale_codes: np.ndarray) -> np.ndarray:
    return tiles(np.concatenate([scale_codes[:, 1:], scale_codes[:, :1]], axis=1))


def tile_behind(scale_codes: np.ndarray) -> np.ndarray:
    whole = tiles(scale_codes).reshape(-1, 512)
    return whole[(np.arange(len(whole)) + 1) % len(whole)].reshape(-1)


@pytest.mark.parametrize(
    ("run", "name", "words"),
    [
        (twice, "G12", "makes tiles of 128 x 4 of the bytes of tiles"),
        (row_below, "G11c", "stores the scale of the next row in tiles"),
        (column_beside, "G11d", "stores the scale of the next column in tiles"),
        (tile_behind, "G11e", "stores the next tile of 128 x 4"),
    ],
)
def test_a_planted_bug_is_named_in_words(run: Any, name: str, words: str) -> None:
    report = report_on("pack_scales/e8m0.bytes", TILES, run)
    (finding,) = report.findings
    assert (finding.cause.name, finding.cause.text) == (name, words)
    assert report.verdict.startswith(f"has bug {name}")


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
