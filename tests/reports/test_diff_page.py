"""The page of `mxref diff --html`."""

from __future__ import annotations

import contextlib
import io
import re

import numpy as np
import pytest
from browser import problems

from mxref.cli import main
from mxref.support.spread import SMALLEST, Spread


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
    return found


def test_all_of_it_can_be_read(pages: dict[str, str]) -> None:
    assert problems({name: pages[name] for name in ("both", "same")}) == []


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


def test_a_spread_counts_by_the_binade_of_the_relative_error() -> None:
    spread = Spread()
    wanted = np.array([1.0, 1.0, 1.0, 3.0, 0.0, 0.0, 1.0, np.inf, 1.0, 1.0])
    got = np.array([1.0, 1.25, 1.249, 0.0, 0.0, 1.0, np.nan, 1.0, 1 + 2.0**-40, 9.0])
    spread.add(wanted, got)
    found = {SMALLEST + k: int(n) for k, n in enumerate(spread.counts) if n}
    assert (spread.exact, found) == (2, {-24: 1, -3: 1, -2: 1, 0: 1, 1: 2})
