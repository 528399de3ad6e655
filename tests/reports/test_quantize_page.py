"""The page of `mxref quantize --html`."""

from __future__ import annotations

import re
import shlex
from pathlib import Path

import numpy as np
import pytest
from browser import problems
from safetensors.numpy import save_file

from mxref.cli import main
from mxref.reports.quantize_page import write_quantize_page
from mxref.support.spread import Spread


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
