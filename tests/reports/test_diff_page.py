"""The page of `mxref diff --html`."""

from __future__ import annotations

import contextlib
import io
import json
import re
import shlex
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import numpy as np
import pytest
from browser import problems
from safetensors.numpy import save_file

from mxref.bits.floats import F32
from mxref.cli import main
from mxref.conformance.differing.difference import BlockBytes, Example
from mxref.reports.diff_page import _plots
from mxref.reports.quantize_page import write_quantize_page
from mxref.support.spread import SMALLEST, Spread

#: Casts with another code, with an error, and with other readings of the same codes.
CASTS = {
    "torch cuda --format e8m0 --float bf16": 3,
    "ocp ocp+nan_to_finite=error --format e2m1 --float bf16": 1,
    "ocp+scale_of_zero=nan ocp+scale_00=zero+scale_ff=inf --format e8m0 --float bf16": 3,
    "ocp ocp --format e2m1 --float bf16": 0,
}


BOTH = "fbgemm_mx4_floor mlx_0_32 --format mxfp4_e2m1 --data w.npy"
SAME = "ocp ocp --format mxfp8_e4m3"


@pytest.fixture(scope="module")
def pages(tmp_path_factory: pytest.TempPathFactory) -> dict[str, str]:
    """The page of each command, and what it prints."""
    folder = tmp_path_factory.mktemp("diff")
    np.save(folder / "w.npy", np.random.default_rng(1).normal(size=(8, 96)).astype(np.float32))
    found = {}
    for command, differ in {BOTH: 1, SAME: 0, **CASTS}.items():
        words = command.replace("w.npy", str(folder / "w.npy")).split()
        words += ["--json"] * (command in CASTS) + ["--html", str(folder / "page.html")]
        with contextlib.redirect_stdout(io.StringIO()) as said:
            assert main(["diff", *words]) == (differ > 0)
        found[f"{command}, printed"] = said.getvalue()
        found[command] = (folder / "page.html").read_text("utf-8")
    return found


def text_of(page: str) -> str:
    assert not re.search(r"<(script|link|img)|src=", page)
    return re.sub(r"\s+", " ", re.sub(r"<[^>]*>", " ", page))


def test_all_of_it_can_be_read(pages: dict[str, str]) -> None:
    assert problems({name: pages[name] for name in (BOTH, SAME, *CASTS)}) == []


def test_the_last_line_has_the_command(pages: dict[str, str]) -> None:
    for command in (SAME, *CASTS):
        assert f"; made by <code>mxref diff {command} " in pages[command]


def test_what_it_says(pages: dict[str, str]) -> None:
    assert "no difference" in pages[SAME]
    text = text_of(pages[BOTH])
    kinds = re.search(r": (\d+ kinds of difference)", pages[f"{BOTH}, printed"])
    assert kinds
    assert kinds[1] in text
    assert text.count("quantizing, ") + text.count("reading, ") == int(kinds[1].split()[0])
    assert "errors on w.npy" in text


def test_casts_have_a_page(pages: dict[str, str]) -> None:
    for command, kinds in CASTS.items():
        found = json.loads(pages[f"{command}, printed"])
        assert len(found["casting"]) + len(found["reading"]) == kinds
        text = text_of(pages[command])
        texts = re.split(r"(?=casting, |reading, )", text)[1:]
        shown = [*found["casting"], *found["reading"]]
        for one, said_of_it in zip(shown, texts, strict=True):
            assert f"ing, {one['kind']}: {one.get('numbers', one.get('codes'))} " in said_of_it
            if "code" in one:
                words = [one["code"], one["a"], one["b"]]
            else:
                words = [one["in"]]
                for side in (one["a"], one["b"]):
                    keys = ("code", "read", "read_by_the_other")
                    words += [side[key] for key in keys if key in side]
                assert said_of_it.count("an error") == ("error" in one["a"]) + ("error" in one["b"])
            assert all(f": {word} " in said_of_it for word in words)
        assert ("no difference" in text) == (not kinds)
        assert "numbers with another code" in text


def test_a_spread_counts_by_the_binade_of_the_relative_error() -> None:
    spread = Spread()
    wanted = np.array([1.0, 1.0, 1.0, 3.0, 0.0, 0.0, 1.0, np.inf, 1.0, 1.0])
    got = np.array([1.0, 1.25, 1.249, 0.0, 0.0, 1.0, np.nan, 1.0, 1 + 2.0**-40, 9.0])
    spread.add(wanted, got)
    found = {SMALLEST + k: int(n) for k, n in enumerate(spread.counts) if n}
    assert (spread.exact, found) == (2, {-24: 1, -3: 1, -2: 1, 0: 1, 1: 2})


def test_a_block_is_drawn_where_two_sides_read_other_numbers() -> None:
    one, two, inf, nan = 0x3F800000, 0x40000000, F32.inf_bits, F32.nan_bits
    read, other = BlockBytes(127, (2,), (one,), (one,)), BlockBytes(128, (2,), (two,), (two,))
    found: Any = SimpleNamespace(a="a", b="b", layout=F32)
    error = BlockBytes(None, (), (), ())
    pairs = {
        "other numbers": (read, other),
        "the same numbers": (read, read),
        "an error and an answer": (error, read),
        "an answer and an error": (read, error),
    }
    drawn = {
        (name, word): [title for title, _ in _plots(found, Example("kind", 1, (word,), *pair))]
        for name, pair in pairs.items()
        for word in (two, 0, inf, nan)
    }
    text = "kind: the block and what is read, in units of 2^1"
    assert {case: some for case, some in drawn.items() if some} == {("other numbers", two): [text]}


# --- the page of mxref quantize -------------------------------------------------------------------


@pytest.mark.sampled(3)
def test_a_page_of_a_file(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    generator = np.random.default_rng(0)
    tensors = {
        f"layers.{i}.<weight>": generator.normal(size=(4, 64)).astype(np.float32) for i in range(3)
    }
    save_file({**tensors, "ids": np.arange(3)}, tmp_path / "w.safetensors")
    page = tmp_path / "page.html"
    words = ["quantize", str(tmp_path / "w.safetensors"), "--format", "mxfp4_e2m1"]
    assert main([*words, "--html", str(page)]) == 0
    said = capsys.readouterr().out
    assert main(words) == 0
    assert capsys.readouterr().out == said
    html = page.read_text("utf-8")
    text = re.sub(r"\s+", " ", re.sub(r"<[^>]*>", " ", html))
    for line in said.splitlines():
        if line.startswith(("layers", "total")):
            for figure in line.split()[-6:]:
                assert f" {figure} " in text
    assert "ids: it holds I64, no floats" in text
    assert f"made by {shlex.join(['mxref', *words, '--html', str(page)])}" in text
    assert "<weight>" not in html
    assert not re.search(r"<(script|link|img)|src=", html)
    several = tmp_path / "several.html"
    names = [f"mxfp8_e4m3 by ocp+scale_rule={rule}" for rule in "abcdefgh"]
    spreads = {name: Spread() for name in names}
    for place, one in enumerate(spreads.values()):
        one.add(np.arange(1.0, 100), np.arange(1.0, 100) + place)
    write_quantize_page(
        several,
        "weights.npy",
        tables={"All tensors": (["way", "sqnr_db"], [[name, "18.1"] for name in names])},
        ratios={name: [1.0, None, 3.0] for name in names},
        errors=spreads,
    )
    assert several.read_text("utf-8").count("<svg") == 4
    assert problems({"one": html, "several": several.read_text("utf-8")}) == []
