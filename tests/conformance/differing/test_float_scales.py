"""What two profiles do differently in blocks under float32 scales, held against the slow twin."""

from __future__ import annotations

import functools
import json
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from mxref.cases.float_scaled import FLOAT_SCALES
from mxref.cli.command_line import main
from mxref.conformance.differing.difference import Difference, difference
from mxref.exact.float_scale import quantize_float_scaled
from mxref.formats.catalog import CODE_FORMATS

#: Sides with their choices in the slow twin.
SIDES: dict[str, dict[str, Any]] = {
    "ocp": {},
    "ocp+scale_power=bit_ceiling": {"scale_power": "bit_ceiling"},
    "deepseek_v3_fp8": {"amax_floor": "1e-4", "element_from": "quotient", "block_nan": "ignore"},
    "ocp+element_from=reciprocal": {"element_from": "reciprocal"},
}
PAIRS = [
    ("ocp", "ocp+scale_power=bit_ceiling", "e4m3"),
    ("ocp", "deepseek_v3_fp8", "e4m3"),
    ("ocp", "ocp+element_from=reciprocal", "e5m2"),
]


@functools.cache
def found(a: str, b: str, element: str) -> Difference:
    return difference(a, b, f"fp8_{element}_f32", float="f32")


@pytest.mark.parametrize(("a", "b", "element"), PAIRS)
def test_every_example_is_what_the_slow_twin_makes(a: str, b: str, element: str) -> None:
    one = found(a, b, element)
    assert one.examples
    for example in one.examples:
        words = list(example.words)
        for side, made in ((a, example.a), (b, example.b)):
            scale, codes = quantize_float_scaled(words, "f32", element, **SIDES[side])
            nan = {*CODE_FORMATS[element].nan_codes}
            if scale & 0x7FFFFFFF > 0x7F800000:
                assert made.scale is not None
                assert made.scale & 0x7FFFFFFF > 0x7F800000
                continue
            assert made.scale == scale
            assert all(x == y or {x, y} <= nan for x, y in zip(made.codes, codes, strict=True))


def test_kinds_by_hand() -> None:
    kinds = {one.kind: one for one in found(*PAIRS[0]).examples}
    assert {"zero block", "tiny block", "scale"} <= kinds.keys()
    scale = kinds["scale"]
    assert scale.words[:2] == (0x3F800000, 0)  # 1: a / 448 is 0x3b124925, the power above 2**-8
    assert (scale.a.scale, scale.b.scale) == (0x3B124925, 0x3B800000)
    assert (scale.a.codes[0], scale.b.codes[0]) == (0x7E, 0x78)


def test_both_read_all_codes_under_each_scale_that_is_asked() -> None:
    assert len(FLOAT_SCALES) == len({*FLOAT_SCALES}) == 21
    assert not any(found(*one).readings for one in PAIRS[:2])


def test_scales_have_eight_digits(capsys: pytest.CaptureFixture[str], tmp_path: Path) -> None:
    words = ["diff", *PAIRS[0][:2], "--format", "fp8_e4m3_f32"]
    assert main([*words, "--html", str(tmp_path / "page.html")]) == 1
    assert "00000000 00 = 0" in capsys.readouterr().out
    assert "3b124925" in (tmp_path / "page.html").read_text("utf-8")
    assert main([*words, "--json"]) == 1
    quantizing = json.loads(capsys.readouterr().out)["quantizing"]
    assert {len(one["a"]["scale"]) for one in quantizing} == {8}


def test_on_data() -> None:
    one = difference(
        "ocp",
        "ocp+element_from=reciprocal",
        "fp8_e4m3_f32",
        data={"twos": np.full((1, 128), 2, np.float32)},
    )
    assert len(one.figures) == 3
    assert not one.figures[2].differ
