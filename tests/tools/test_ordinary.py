"""tools/ordinary.py: how many mutants ordinary test data catch."""

from __future__ import annotations

import functools
import json
import re
from collections.abc import Callable
from fractions import Fraction
from pathlib import Path
from typing import Any

import numpy as np
import ordinary
import pytest
from helpers import VECTORS

from mxref import golden
from mxref.formats.catalog import ELEMENT_FORMATS
from mxref.mutants import Mutant
from mxref.mutants.encoder import encoder

read_once = functools.cache(golden.read_vectors)
Call = Callable[..., tuple[int, str, str]]


@pytest.fixture
def call(capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch) -> Call:
    """The script in this process, with the vectors read once: status, output and errors."""
    monkeypatch.setattr(ordinary, "read_vectors", read_once)

    def in_process(*arguments: str) -> tuple[int, str, str]:
        status = ordinary.main([*arguments, "--vectors", str(VECTORS)])
        return status, *capsys.readouterr()

    return in_process


@pytest.mark.sampled(12)
def test_misuse(call: Call) -> None:
    status, out, err = call("--class", "E1")
    assert (status, out) == (2, "")
    assert "nothing to compare" in err


def test_the_table(call: Call, monkeypatch: pytest.MonkeyPatch) -> None:
    """Ties away from zero: every comparison but that of bits on the vectors misses them."""
    monkeypatch.setattr(ordinary, "COUNT", 1 << 12)
    status, out, _ = call("--class", "A1", "--json")
    assert status == 0
    rows = {(row["data"], row["comparison"]): row for row in json.loads(out)}
    assert len(rows) == 7
    # A1 and A1b in five formats, A1c in six.
    assert {row["total"] for row in rows.values()} == {16}
    bits = rows.pop(("these vectors", "bits"))
    assert (bits["killed"], bits["share"]) == (16, 1.0)
    assert rows[("these vectors", "one code allowed")]["killed"] == 0
    assert rows[("normal", "bits")]["killed"] == 0
    # Of ONNX's inputs -3.5 and 0.25 are ties: -3.5 goes to the even code and to the larger one
    # alike, but not up; 0.25 goes to zero, but up for A1 and A1c.
    assert rows[("ONNX's own cast tests", "bits")]["killed"] == 2
    status, out, _ = call("--class", "A2", "--set", "encode/e2m1.f32")
    assert re.search(r"^random float patterns +bits +4096 +1/1 +100%$", out, re.M)


def test_the_table_of_a_page(tmp_path: Path, call: Call) -> None:
    rows = [
        ordinary.OrdinaryRow("normal", "bits", 1_000_000, 212, 342),
        ordinary.OrdinaryRow("these vectors", "bits", 3166, 342, 342),
    ]
    page = f"before\n\n{ordinary.HEADER}| old |\n\nafter\n"
    assert ordinary.with_table(page, rows) == page.replace(
        "| old |\n",
        "| **these vectors** | at most 3,166 | bits | **100 %** `####################` |\n"
        "| normal | 1,000,000 | bits | 62 % `############` |\n",
    )
    (tmp_path / "page.md").write_text("no table\n")
    status, _, err = call(
        "--set", "encode/e2m1.f32", "--class", "A1", "--write", str(tmp_path / "page.md")
    )
    assert (status, (tmp_path / "page.md").read_text()) == (2, "no table\n")
    assert "the page has no table with the header | test data |" in err


@pytest.mark.parametrize("format", ELEMENT_FORMATS)
def test_the_data_of_the_comparison(format: str, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(ordinary, "COUNT", 1 << 14)
    file = next(file for file in read_once(VECTORS) if file.stem == f"encode/{format}.f32")
    sets = {data: (words, judge) for data, _, words, judge in ordinary._sets(file)}
    largest = Fraction(ELEMENT_FORMATS[format].max_normal)

    def numbers(data: str) -> np.ndarray[Any, Any]:
        return sets[data][0].astype(np.uint32).view(np.float32)[:, 0].astype(np.float64)

    assert abs(numbers("normal").std() - 1) < 0.02
    assert abs(numbers("normal").mean()) < 0.03
    assert Fraction(float(abs(numbers("normal, scaled")).max())) <= largest
    ends = abs(numbers("uniform up to 1.3 max")).max() / float(largest)
    assert 1.299 < ends <= np.float32(1.3)
    assert len(numbers("ONNX's own cast tests")) == 15
    # An encoder in which nothing is wrong passes all of them.
    healthy = Mutant("A99", "none", "nothing", "encode", encoder(), (format,), ("f32",), "M1")
    for words, judge in sets.values():
        assert not judge(file, healthy, words, ordinary._right(file, words, "ocp"))


def test_the_limits_of_the_comparison_are_real() -> None:
    """Zeros have an SQNR of 0 dB, and NaN is no answer."""
    file = next(file for file in read_once(VECTORS) if file.stem == "encode/e4m3.f32")
    words = file.input_words()[:100]
    for code in (0x00, 0x7F):

        def run(values: Any, format: str, code: int = code) -> Any:
            return np.full(values.shape, code, np.uint8)

        mutant = Mutant("A99", "same", "one code", "encode", run, ("e4m3",), ("f32",), "M1")
        assert ordinary._is_noisy(18, file, mutant, words, words)
