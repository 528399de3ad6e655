"""The page of `mxref diff --html`."""

from __future__ import annotations

import contextlib
import io
import json
import re
from types import SimpleNamespace
from typing import Any

import numpy as np
import pytest
from browser import problems

from mxref.bits.floats import F32
from mxref.cli import main
from mxref.conformance.differing.difference import Bytes, Example
from mxref.reports.diff_page import _plots
from mxref.support.spread import SMALLEST, Spread

#: Casts with another code, with an error, and with other readings of the same codes.
CASTS = {
    "torch cuda --format e8m0 --float bf16": 3,
    "ocp ocp+nan_to_finite=error --format e2m1 --float bf16": 1,
    "ocp+scale_of_zero=nan ocp+scale_00=zero+scale_ff=inf --format e8m0 --float bf16": 3,
    "ocp ocp --format e2m1 --float bf16": 0,
}


@pytest.fixture(scope="module")
def pages(tmp_path_factory: pytest.TempPathFactory) -> dict[str, str]:
    folder = tmp_path_factory.mktemp("diff")
    np.save(folder / "w.npy", np.random.default_rng(1).normal(size=(8, 96)).astype(np.float32))
    found = {}
    for name, a, b, format, *more in (
        ("both", "fbgemm_mx4_floor", "mlx_0_32", "mxfp4_e2m1", "--data", str(folder / "w.npy")),
        ("same", "ocp", "ocp", "mxfp8_e4m3"),
    ):
        path = folder / f"{name}.html"
        words = ["diff", a, b, "--format", format, *more, "--html", str(path)]
        with contextlib.redirect_stdout(io.StringIO()) as said:
            assert main(words) == (name == "both")
        found[f"{name}, printed"] = said.getvalue()
        found[name] = path.read_text("utf-8")
    for command, kinds in CASTS.items():
        path = folder / "cast.html"
        with contextlib.redirect_stdout(io.StringIO()) as said:
            status = main(["diff", *command.split(), "--json", "--html", str(path)])
        assert status == (kinds > 0)
        found[f"{command}, printed"] = said.getvalue()
        found[command] = path.read_text("utf-8")
    return found


def test_all_of_it_can_be_read(pages: dict[str, str]) -> None:
    assert problems({name: pages[name] for name in ("both", "same", *CASTS)}) == []


def test_the_last_line_has_the_command(pages: dict[str, str]) -> None:
    for name, command in {"same": "ocp ocp --format mxfp8_e4m3", **{c: c for c in CASTS}}.items():
        assert f"; made by <code>mxref diff {command} " in pages[name]


def test_what_it_says(pages: dict[str, str]) -> None:
    assert "no difference" in pages["same"]
    said = pages["both, printed"]
    text = re.sub(r"\s+", " ", re.sub(r"<[^>]*>", " ", pages["both"]))
    kinds = re.search(r": (\d+ kinds of difference)", said)
    assert kinds
    assert kinds[1] in text
    assert text.count("quantizing, ") + text.count("reading, ") == int(kinds[1].split()[0])
    assert "errors on w.npy" in text
    assert not re.search(r"<(script|link|img)|src=", pages["both"])


def test_casts_have_a_page(pages: dict[str, str]) -> None:
    for command, kinds in CASTS.items():
        found = json.loads(pages[f"{command}, printed"])
        assert len(found["casting"]) + len(found["reading"]) == kinds
        text = re.sub(r"\s+", " ", re.sub(r"<[^>]*>", " ", pages[command]))
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
        assert not re.search(r"<(script|link|img)|src=", pages[command])


def test_a_spread_counts_by_the_binade_of_the_relative_error() -> None:
    spread = Spread()
    wanted = np.array([1.0, 1.0, 1.0, 3.0, 0.0, 0.0, 1.0, np.inf, 1.0, 1.0])
    got = np.array([1.0, 1.25, 1.249, 0.0, 0.0, 1.0, np.nan, 1.0, 1 + 2.0**-40, 9.0])
    spread.add(wanted, got)
    found = {SMALLEST + k: int(n) for k, n in enumerate(spread.counts) if n}
    assert (spread.exact, found) == (2, {-24: 1, -3: 1, -2: 1, 0: 1, 1: 2})


def test_a_block_is_drawn_where_two_sides_read_other_numbers() -> None:
    one, two, inf, nan = 0x3F800000, 0x40000000, F32.inf_bits, F32.nan_bits
    read, other = Bytes(127, (2,), (one,), (one,)), Bytes(128, (2,), (two,), (two,))
    found: Any = SimpleNamespace(a="a", b="b", layout=F32)
    error = Bytes(None, (), (), ())
    drawn = {
        (name, word): [title for title, _ in _plots(found, Example("kind", 1, (word,), *pair))]
        for name, pair in {
            "other numbers": (read, other),
            "the same numbers": (read, read),
            "an error and an answer": (error, read),
            "an answer and an error": (read, error),
        }.items()
        for word in (two, 0, inf, nan)
    }
    text = "kind: the block and what is read, in units of 2^1"
    assert {case: titles for case, titles in drawn.items() if titles} == {
        ("other numbers", two): [text]
    }
