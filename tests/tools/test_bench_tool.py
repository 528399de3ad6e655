"""tools/bench.py: its sections, their limits, and what is missed."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import bench
import pytest
from benchmark.peers import PEERS
from benchmark.sections import SECTIONS, Options, Wanted
from helpers import ROOT


def run(*arguments: object) -> int:
    return bench.main([str(each) for each in arguments])


def test_what_is_wanted() -> None:
    def line(**limits: float) -> Any:
        return Wanted("", lambda: 0.0, **limits)

    for limits, met in (
        ({"least": 7}, {6.99: False, 7.0: True, 900.0: True, None: False}),
        ({"most": 5}, {5.0: True, 5.01: False, None: False}),
        ({"least": 0.5, "most": 2}, {0.4: False, 1.0: True, 2.1: False}),
        ({}, {0.0: None, None: None}),
    ):
        assert {figure: line(**limits).met(figure) for figure in met} == met
    words = [
        line(**limits).limits for limits in ({"least": 7}, {"least": 1 / 1.2, "most": 1.2}, {})
    ]
    assert words == [">= 7 x", ">= 0.8333, <= 1.2 x", "shown"]


def test_check_fails_for_what_is_missed_and_for_what_is_not_measured(
    monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    def section(figure: float | str) -> Any:
        return lambda options: iter([Wanted("a thing", lambda: figure, most=5, unit="s")])

    monkeypatch.setattr(
        bench, "SECTIONS", {"good": section(4.0), "bad": section(6.0), "none": section("pip it")}
    )
    for names, status in ((["good"], 0), (["good", "bad"], 1), (["none"], 1)):
        assert run("--check", "--only", *names) == status
        assert run("--only", *names) == 0
    out = capsys.readouterr().out
    good, none = "nothing missed", "1 of 1 missed or not measured"
    bad = ["bad a thing <= 5 s 6 s MISSED", "1 of 2 missed or not measured"]
    assert [" ".join(line.split()) for line in out.splitlines()] == [
        *["good a thing <= 5 s 4 s met", good] * 2,
        *["good a thing <= 5 s 4 s met", *bad] * 2,
        *["none a thing <= 5 s - NOT MEASURED pip it", none] * 2,
    ]


@pytest.mark.sampled(6)
def test_the_rules_are_measured(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    path = tmp_path / "bench.json"
    small = ("--elements", 1024, "--seconds", 0, "--json", path)
    assert run("--only", "rules", *small) == 0
    found = json.loads(path.read_text())["lines"]
    assert len(found) == 2 * 6
    for line in found:
        assert line["figure"] == line["row"]["ratio_median"] > 0
        assert line["met"] is (1 / 1.2 <= line["figure"] <= 1.2)
        assert line["row"]["choices"] in ({"scale_rule": "rceil"}, {"scale_rule": "even"})
    assert capsys.readouterr().out.splitlines()[0].startswith("rules      quantize mxfp8_e5m2 f32")


def test_the_sections_ask_what_they_say(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(type(PEERS["torchao"]), "absent", "not here")
    options = Options(1024, 0.0, 1)

    def asked(name: str) -> list[tuple[str, str]]:
        return [(line.what, line.limits) for line in SECTIONS[name](options)]

    wanted = json.loads((ROOT / "tests" / "tools" / "data" / "sections.json").read_text("utf-8"))
    for name, some in wanted.items():
        lines = asked(name)
        assert {what: limits for what, limits in lines if what in some} == some, name
    assert [wanted for what, wanted in asked("encode") if "torch" in what] == [">= 0.5 x"] * 2
    assert [wanted for _, wanted in asked("dequantize")] == [">= 3 x"] * 10
    assert {wanted for _, wanted in asked("bfloat16")} == {">= 1 x"}
    assert {wanted for _, wanted in asked("threads")} == {">= 1.6 x"}
    assert {wanted for _, wanted in asked("policies")} == {">= 0.9091 x", "shown"}
    assert [wanted for _, wanted in asked("integers")] == [">= 1 x", ">= 1 x", "<= 30 s"]
    assert [wanted for _, wanted in asked("start")] == ["<= 0.2 s", "<= 60 s"]
