"""Sweeps of several formats: with one state, one line for each and one for all."""

from __future__ import annotations

import json
from concurrent.futures import Executor, Future
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import numpy as np
import pytest
from helpers import sentence
from sweep_helpers import OWN, findings, parts, target

import mxref
from mxref.cli import main
from mxref.conformance import TargetError, target_of
from mxref.conformance.sweeping.account import Swept
from mxref.conformance.sweeping.digests import recorded_digest
from mxref.conformance.sweeping.intervals import Tally
from mxref.conformance.sweeping.sweep import sweep, sweeps
from mxref.conformance.sweeping.sweep_text import sweeps_lines
from mxref.formats.catalog import CODE_FORMATS
from mxref.policy.policy import Policy
from mxref.targets.calls import without_cases

SIX = ["e5m2", "e4m3", "e3m2", "e2m3", "e2m1", "int8"]
ALL = list(CODE_FORMATS)
RANGE = parts(5)


def planted(values: Any, format: str) -> Any:
    """Wrong in E4M3 and in E2M1, over borders of parts."""
    codes, bits = mxref.encode(values, format), values.view(np.uint32)
    if format in ("e4m3", "e2m1"):
        codes[(bits % 5000000 < 1000000) & (codes < 64)] = 1
    return codes


PLANTED = target(encode=planted)


# --- which formats --------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("op", "formats"), [("encode", ALL), ("shared_scale", SIX), ("encode_scale", ["e8m0"])]
)
def test_without_names_all_formats_of_the_target(op: str, formats: list[str]) -> None:
    swept = sweeps(OWN, op, float="bf16")
    assert [one.file.format for one in swept] == formats
    assert all(one.passed for one in swept)
    halves = 1 if op == "shared_scale" else 2
    assert {one.cases for one in swept} == {halves << 15}


def test_blocks_have_formats_of_their_own() -> None:
    small = target_of(SimpleNamespace(dequantize=planted, FORMATS=["mxfp4_e2m1", "int8"]), "small")
    (one,) = sweeps(small, "dequantize", end=1)
    assert (one.file.format, one.cases) == ("mxfp4_e2m1", 32)


def test_what_a_target_does_not_have_is_left_out() -> None:
    two = target_of(
        SimpleNamespace(encode=mxref.encode, FORMATS=["int8", "e4m3"], FLOATS=["bf16"]), "two"
    )
    assert [one.file.format for one in sweeps(two, "encode", float="bf16")] == ["e4m3", "int8"]
    said = sentence(TargetError, lambda: sweeps(two, "encode"))
    assert said == "target two does not cover encode of any format with f32"


def test_an_end_beyond_the_inputs_of_one_format_is_refused() -> None:
    assert "first and end must be from 0 to 16, got 0 and 64" in sentence(
        ValueError, lambda: sweeps(OWN, "decode", ("e4m3", "e2m1"), end=64)
    )


# --- going on -------------------------------------------------------------------------------------


@pytest.mark.sampled(12)
@pytest.mark.parametrize("stop", [3, 5, 7])  # within a format, between two, and in the next one
def test_an_interrupted_sweep_of_formats_goes_on(tmp_path: Path, stop: int) -> None:
    formats = ("e2m1", "e4m3", "e3m2")
    state, seen = tmp_path / "state.json", []

    def interrupt(done: int, total: int, wrong: int) -> None:
        assert total == 15
        if done == stop:
            raise KeyboardInterrupt

    with pytest.raises(KeyboardInterrupt):
        sweeps(PLANTED, "encode", formats, state=state, progress=interrupt, **RANGE)
    assert json.loads(state.read_bytes())["done"] == stop
    rest = sweeps(
        PLANTED, "encode", formats, state=state, progress=lambda *now: seen.append(now), **RANGE
    )
    whole = sweeps(PLANTED, "encode", formats, **RANGE)
    assert [*map(findings, rest)] == [*map(findings, whole)]
    assert [bool(one.date) for one in rest] == [stop >= 5, False, False]  # wholly from the state
    assert [now[0] for now in seen] == list(range(stop + 1, 16))
    wrong = [one.tally.wrong for one in whole]
    assert wrong[0] > 0
    assert wrong[1] > 0
    assert wrong[2] == 0
    assert seen[-1][2] == sum(wrong)
    # Each format alone is the same.
    for one in whole:
        alone = sweep(PLANTED, "encode", one.file.format, **RANGE)
        assert (alone.tally, alone.cases) == (one.tally, one.cases)
    said = sentence(ValueError, lambda: sweeps(PLANTED, "encode", formats[:2], state=state))
    assert "another format, 'e2m1 e4m3 e3m2' and not 'e2m1 e4m3': remove it" in said


@pytest.mark.sampled(12)
def test_processes_find_the_same() -> None:
    toward_zero = Policy().replace(rounding="toward_zero")
    alone, two = (
        sweeps(OWN, "encode", SIX[:2], "f32", toward_zero, jobs=jobs, **RANGE) for jobs in (1, 2)
    )
    assert [*map(findings, alone)] == [*map(findings, two)]
    assert not alone[0].passed


class Dropping(Executor):
    """Has one future done, and the others cancelled."""

    def __init__(self) -> None:
        self.count = 0

    def submit(self, fn: Any, /, *args: Any, **kwargs: Any) -> Any:
        future: Future[Any] = Future()
        self.count += 1
        if self.count == 1:
            future.set_result(fn(*args, **kwargs))
        else:
            future.cancel()
        return future


def test_an_executor_that_cancels_its_futures() -> None:
    said = sentence(TargetError, lambda: sweep(OWN, "encode", "e2m1", executor=Dropping(), **RANGE))
    assert said.startswith("a part of the sweep was cancelled: its workers, or their scheduler,")


# --- the report -----------------------------------------------------------------------------------


def test_a_line_for_each_and_one_for_all() -> None:
    lines = sweeps_lines(sweeps(PLANTED, "encode", ("e4m3", "e3m2"), **RANGE))
    verdicts = [line for line in lines if line.startswith(("PASS", "FAIL"))]
    assert [line[:4] for line in verdicts] == ["FAIL", "PASS", "FAIL"]
    wrong = sweep(PLANTED, "encode", "e4m3", **RANGE).tally.wrong
    assert verdicts[2].startswith(
        f"FAIL planted: encode of 2 formats f32 under ocp: {wrong} of {2 * 5 << 22} wrong, "
        "1 of 2 formats pass, in "
    )


@pytest.mark.sampled(6)
def test_the_command_with_nothing_else(capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["sweep", "--float", "bf16"]) == 0
    lines = capsys.readouterr().out.splitlines()
    assert [line.split(" under")[0] for line in lines] == [
        *(f"PASS mxref: encode {name} bf16" for name in ALL),
        f"PASS mxref: encode of {len(ALL)} formats bf16",
    ]
    assert f" 0 of {len(ALL) << 16} wrong, {len(ALL)} of {len(ALL)} formats pass, in " in lines[-1]
    odd = "ocp+rounding=to_odd"
    assert main(["sweep", "--float", "bf16", "--json", "--jobs", "1", "--policy", odd]) == 0
    record = json.loads(capsys.readouterr().out)
    assert (record["passed"], record["compared"], record["wrong"]) == (True, len(ALL) << 16, 0)
    assert [one["policy"] for one in record["sweeps"]] == [odd] * len(ALL)


def test_one_wrong_format_fails_command(capsys: pytest.CaptureFixture[str], tmp_path: Path) -> None:
    path = tmp_path / "kernel.py"
    path.write_text(
        "import mxref\n\nFORMATS = ['e4m3', 'e2m1', 'e3m2']\n\n"
        "def decode(codes, format):\n"
        "    return mxref.decode(codes, format) * (1 + (format == 'e2m1'))\n"
    )
    assert main(["sweep", str(path), "--op", "decode"]) == 1
    assert [line[:4] for line in capsys.readouterr().out.splitlines()][-2:] == ["FAIL", "FAIL"]
    assert main(["sweep", str(path), "--op", "decode", "--format", "e4m3"]) == 0


# --- digests on record ----------------------------------------------------------------------------


def of_all(digest: str, **other: Any) -> Swept:
    file = without_cases("encode", "e2m1", "f32")
    given: dict[str, Any] = {"file": file, "policy": "ocp", "cases": 1 << 32, **other}
    return Swept("mxref", tally=Tally(), seconds=1.0, share=0.5, digest=digest, **given)


def test_a_digest_is_compared_with_the_one_on_record(
    capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    files = [without_cases("encode", name, "f32") for name in ALL]
    assert len({recorded_digest(of_all("0", file=file)) for file in files} - {""}) == len(ALL)
    known = recorded_digest(of_all("0"))
    assert known.startswith("ce1d60d1")
    assert sweeps_lines([of_all(known)])[0] == f"digest {known}, as recorded"
    assert sweeps_lines([of_all("0")])[0] == f"digest 0, recorded is {known}"
    for other in ({"policy": "ocp+nan=signed"}, {"cases": 5}):
        assert sweeps_lines([of_all("0", **other)])[0] == "digest 0"

    # The command fails of mxref itself; of another target, whose NaN may differ, it says it.
    for digest, arguments, status in ((known, [], 0), ("0", [], 1), ("0", ["kernel.py"], 0)):
        monkeypatch.setattr(
            "mxref.cli.sweep_verb._swept", lambda options, digest=digest: (of_all(digest),)
        )
        assert main(["sweep", *arguments, "--digest"]) == status
        capsys.readouterr()
