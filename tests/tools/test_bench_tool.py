"""tools/bench.py: its sections, their limits, and what is missed."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import bench
import pytest
from benchmark.peers import PEERS
from benchmark.sections import SECTIONS, Options, Wanted


def run(*arguments: object) -> int:
    return bench.main([str(each) for each in arguments])


def test_what_is_wanted() -> None:
    def line(**limits: float) -> Any:
        return Wanted("", lambda: 0.0, **limits)

    found = [line(least=7).met(figure) for figure in (6.99, 7.0, 900.0, None)]
    assert found == [False, True, True, False]
    assert [line(most=5).met(figure) for figure in (5.0, 5.01, None)] == [True, False, False]
    found = [line(least=0.5, most=2).met(figure) for figure in (0.4, 1.0, 2.1)]
    assert found == [False, True, False]
    assert line().met(0.0) is line().met(None) is None
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

    encode, quantize = asked("encode"), asked("quantize")
    assert ("encode e5m2 f32 log_uniform 1024: ml_dtypes", ">= 7 x") in encode
    assert ("encode e2m3 f32 normal 1024: gfloat", ">= 25 x") in encode
    assert [wanted for what, wanted in encode if "torch" in what] == [">= 0.5 x"] * 2
    wants = {what: wanted for what, wanted in quantize if "log_uniform" in what}
    of_format = {
        "mxfp8_e4m3": {"torchao": ">= 1 x", "torchao_compiled": "shown"},
        "mxfp6_e2m3": {"torchao": ">= 6 x", "torchao_compiled": ">= 1 x"},
        "mxfp4_e2m1": {"torchao": ">= 6 x", "torchao_compiled": ">= 1 x", "gguf": ">= 15 x"},
        "mxint8": {"microxcaling": ">= 15 x"},
    }
    for format, names in of_format.items():
        for name, wanted in names.items():
            assert wants[f"quantize {format} f32 log_uniform 1024: {name}"] == wanted
    assert len(asked("dequantize")) == 10
    assert {wanted for _, wanted in asked("dequantize")} == {">= 3 x"}
    assert {wanted for _, wanted in asked("bfloat16")} == {">= 1 x"}
    assert {wanted for _, wanted in asked("threads")} == {">= 1.6 x"}
    deterministic = [wanted for _, wanted in asked("policies") if wanted != "shown"]
    assert set(deterministic) == {">= 0.9091 x"}
    assert [wanted for _, wanted in asked("integers")] == [">= 1 x", ">= 1 x", "<= 30 s"]
    assert [wanted for _, wanted in asked("start")] == ["<= 0.2 s", "<= 60 s"]


def test_misuse_of_the_tool(capsys: pytest.CaptureFixture[str]) -> None:
    for arguments, reason in (
        (["--only", "encod"], "--only must be one of encode, "),
        (["--elements", "1000"], "--elements must be a multiple of 1024, got 1000"),
        (["--only", "rules", "--op", "encode"], "--op must not be given with --check or --only"),
    ):
        assert run(*arguments) == 2
        assert reason in capsys.readouterr().err
