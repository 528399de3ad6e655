"""tools/bench.py: the sections whose limits are ratios."""

from __future__ import annotations

from typing import Any

import pytest
from benchmark import ratios
from benchmark.measure import Timing
from benchmark.ratios import MOST
from benchmark.sections import SECTIONS, Options
from helpers import ROOT

from mxref.cli import main


@pytest.fixture
def asked(monkeypatch: pytest.MonkeyPatch) -> list[tuple[Any, Any]]:
    """The results of what is measured: mine takes three microseconds, the other one."""
    results = []

    def in_no_time(mine: Any, theirs: Any, seconds: float, clock: Any) -> Timing:
        results.append((mine(), theirs()))
        assert (seconds, clock() >= 0) == (0.5, True)
        return Timing((3e-6, 3e-6), (1e-6, 1e-6))

    monkeypatch.setattr(ratios, "in_turns", in_no_time)
    return results


@pytest.mark.parametrize("section", ["nvfp4", "stochastic", "small"])
def test_each_line_is_measured_beside_what_it_names(section: str, asked: list[Any]) -> None:
    lines = list(SECTIONS[section](Options(1024, 0.5, 1)))
    assert [line.what.partition(":")[0] for line in lines] == [*MOST[section]]
    assert [line.most for line in lines] == [*MOST[section].values()]
    assert [(line.met(line.most), line.met(line.most * 1.01)) for line in lines] == [
        (True, False)
    ] * len(lines)
    assert [line.measure() for line in lines] == pytest.approx([3] * len(lines), rel=1e-12)


def test_nvfp4_is_measured_on_the_same_numbers(asked: list[Any]) -> None:
    for line in SECTIONS["nvfp4"](Options(1024, 0.5, 1)):
        line.measure()
    (mine, other), (narrow, _), (read, plain) = asked
    assert (mine.format.name, other.format.name) == ("nvfp4", "mxfp4_e2m1")
    assert (mine.codes.shape, narrow.codes.shape) == (other.codes.shape, (1, 1024))
    assert (read.shape, read.dtype) == (plain.shape, plain.dtype) == ((1, 1024), "float32")


def test_stochastic_rounding_changes_codes(asked: list[Any]) -> None:
    for line in SECTIONS["stochastic"](Options(1024, 0.5, 1)):
        line.measure()
    for mine, nearest in asked:
        codes = [getattr(one, "codes", one) for one in (mine, nearest)]
        assert 0 < (codes[0] != codes[1]).sum() < 1024


def test_verbs_that_are_measured_are_commands(
    asked: list[Any], monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    words: list[tuple[str, ...]] = []
    monkeypatch.setattr(ratios, "python", lambda *some: words.append(some))
    for line in SECTIONS["verbs"](Options(1024, 0.5, 1)):
        line.measure()
    assert words[1::2] == [("-c", "import numpy")] * len(asked)
    monkeypatch.chdir(ROOT)
    for m, mxref, *command in words[::2]:
        assert (m, mxref) == ("-m", "mxref")
        assert main(command) < 2
    assert capsys.readouterr().err == ""
