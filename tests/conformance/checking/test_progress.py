"""What a check tells of how far it is."""

from __future__ import annotations

import io
import re
import sys
from pathlib import Path
from types import SimpleNamespace

import pytest
from helpers import vector_file
from json_tables import cases
from verify_helpers import RIGHT, Vectors, target_file

import mxref
from mxref.cli import main
from mxref.cli import screen as screen_module
from mxref.conformance import Extent, check, target_of

FILES = ("encode/e2m1.f32", "pack/e2m1.bytes")
QUICK = Extent(elements=0, search=False)


def told(extent: Extent) -> list[tuple[str, float]]:
    found: list[tuple[str, float]] = []
    kernel = SimpleNamespace(encode=mxref.encode, pack=mxref.pack)
    files = [vector_file(stem) for stem in FILES]
    target = target_of(kernel, "kernel")
    report = check(target, files, extent=extent, tell=lambda *one: found.append(one))
    assert report.passed
    return found


def test_parts_come_in_their_order_and_shares_only_grow() -> None:
    found = told(Extent(elements=1000))
    shares = [share for _, share in found]
    assert shares == sorted(shares)
    assert shares[0] == 0
    assert 0.9 < shares[-1] < 1
    assert len({*shares}) > 100
    assert [*dict.fromkeys(what for what, _ in found)] == cases(__file__, "parts in order")


def test_of_the_vectors_alone_nothing_else_is_told() -> None:
    found = told(QUICK)
    assert {what for what, share in found if share < 1} == {"the vectors"}


def test_verify_shows_it_on_a_terminal(
    tmp_path: Path, vectors: Vectors, monkeypatch: pytest.MonkeyPatch
) -> None:
    err = io.StringIO()
    monkeypatch.setattr(err, "isatty", lambda: True)
    monkeypatch.setattr(sys, "stderr", err)
    monkeypatch.setattr(screen_module, "_QUIET", 0.0)
    monkeypatch.setattr(screen_module, "_REDRAW", 0.0)
    words = [target_file(tmp_path, RIGHT), "--in-process", "--sizes", "40"]
    assert main(["verify", *words, "--vectors", vectors("encode/e2m1.f32")]) == 0
    shown = re.findall(r"\r([a-z, ]+): (\d+)%, about \d+ (?:s|min|h) to go", err.getvalue())
    assert {what for what, _ in shown} >= {"the vectors again, in other calls", "a search"}
    assert err.getvalue().endswith("\r")
