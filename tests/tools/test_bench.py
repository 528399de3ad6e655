"""Measuring: the arithmetic of rounds and rows. How long anything takes is not tested."""

from __future__ import annotations

import dataclasses
import functools
import gc
import importlib.util
import itertools
import json
import math
import re
import sys
import tracemalloc
from collections.abc import Callable
from pathlib import Path
from typing import Any

import bench
import ml_dtypes
import numpy as np
import pytest
import tables
from bench import main
from bench_helpers import QUICK, SHAPE, peer, rows_beside, take_no_time
from benchmark import peers, rows
from benchmark.jobs import DATA, OPS, Job, Side, bits_of_array, own, values_of
from benchmark.measure import Timing, extra_memory, in_turns
from benchmark.peers import PEERS
from benchmark.rows import BenchRow, beside, cells, jobs_of, other_choices, report, versus
from benchmark.sections import SECTIONS, Options, Wanted
from helpers import ROOT, SMALL_FLOATS, sentence

import mxref
from mxref.policy.policy import READS, Policy

no_time = pytest.fixture(take_no_time)


# --- rounds ---------------------------------------------------------------------------------------


class Machine:
    """Where calls take the time that they say, and no other."""

    def __init__(self) -> None:
        self.now, self.calls = 0.0, ""

    def call(self, name: str, seconds: float) -> Callable[[], None]:
        def take_time() -> None:
            self.now += seconds
            self.calls += name

        return take_time

    def clock(self) -> float:
        return self.now


@pytest.mark.parametrize(
    ("seconds", "least", "rounds", "calls"),
    [
        # A call of each to warm it, another that says how many fit, and the rounds in turns.
        (1.0, 0, 5, "ab" + "ab" + "ab" + "ba" + "ab" + "ba" + "ab"),
        (1.0, 37, 10, "ab" + "ab" + "abba" * 5),  # rounds that fill the time
        (2.0**-10, 0, 5, "abab" + "a" * 11 + "bb" + "a" * 11),  # short calls, several at once
    ],
)
def test_rounds_are_taken_in_turns(seconds: float, least: float, rounds: int, calls: str) -> None:
    machine, other = Machine(), 3.0 if seconds == 1 else 1.0
    call = machine.call("a", seconds), machine.call("b", other)
    timing = in_turns(*call, least, machine.clock)
    assert timing == Timing((seconds,) * rounds, (other,) * rounds)
    assert machine.calls.startswith(calls)
    assert seconds < 1 or machine.calls == calls


def test_a_slow_moment_is_not_the_median() -> None:
    timing = Timing((1.0, 1.0, 8.0, 2.0, 1.0), (4.0, 5.0, 4.0, 8.0, 4.0))
    assert timing.ratios == (4.0, 5.0, 0.5, 4.0, 4.0)
    assert (timing.ratio, timing.lowest, timing.of_minima) == (4.0, 0.5, 4.0)


def test_garbage_is_collected_again_whatever_happens() -> None:
    machine, enabled = Machine(), []
    call = machine.call("a", 1.0)
    in_turns(call, lambda: (call(), enabled.append(gc.isenabled())), 0, machine.clock)
    assert enabled == [True] + [False] * 6
    turns = itertools.count()

    def fails() -> None:
        machine.now += 1
        if next(turns) == 3:
            raise ArithmeticError

    with pytest.raises(ArithmeticError):
        in_turns(call, fails, 0, machine.clock)
    assert gc.isenabled()


def test_memory_is_what_neither_goes_in_nor_comes_out() -> None:
    """By the count of what Python and NumPy allocate, which is the same in every run."""
    size = 1 << 24

    def used() -> int:
        tracemalloc.reset_peak()
        return tracemalloc.get_traced_memory()[0]

    def extra(call: Callable[[], Any]) -> int | None:
        return extra_memory(call, used, lambda: tracemalloc.get_traced_memory()[1])

    def needs(count: int) -> Any:
        arrays = [np.full(size, 1, np.uint8) for _ in range(count)]
        return arrays[0]

    tracemalloc.start()
    try:
        one = np.full(size, 1, np.uint8)  # in use before
        found = [extra(lambda count=count: needs(count)) for count in (1, 2, 4)]  # type: ignore[misc]
        found.append(extra(lambda: {"a": (one.copy(), [one.copy()])}))
    finally:
        tracemalloc.stop()
    assert [round((each or 0) / size, 1) for each in found] == [0, 1, 3, 0]


def test_memory_of_the_process_is_in_bytes() -> None:
    """In kB it would be a thousandth; pages that the system takes away are never so many."""
    size = 1 << 26
    found = extra_memory(lambda: len(np.full(size, 1, np.uint8)))
    if sys.platform != "linux":
        assert found is None
        return
    assert found is not None
    assert size / 8 < found < 8 * size


# --- jobs -----------------------------------------------------------------------------------------


def test_log_uniform_data_reach_beyond_every_format() -> None:
    values = values_of(Job("encode", "e4m3", (1 << 6, 1024), data="log_uniform"))
    assert values.dtype == np.float32
    _, exponents = np.frexp(values)
    found, counts = np.unique(exponents - 1, return_counts=True)
    assert found.tolist() == list(range(-24, 16))
    assert counts.min() > 0.8 * counts.max()
    assert abs(np.signbit(values).mean() - 0.5) < 0.01
    for name, small in SMALL_FLOATS.items():
        limits = ml_dtypes.finfo(small)
        assert (np.abs(values) > float(limits.max)).any(), name
        assert (np.abs(values) < float(limits.smallest_subnormal) / 2).any(), name


@pytest.mark.parametrize("data", DATA)
def test_both_sides_get_the_same_values(data: str) -> None:
    single, narrow = (Job("encode", "e4m3", SHAPE, float, data) for float in ("f32", "bf16"))
    assert values_of(single) is values_of(dataclasses.replace(single, op="decode"))
    assert (values_of(narrow) == values_of(single).astype(narrow.dtype)).all()


def test_what_mxref_is_asked() -> None:
    x = values_of(Job("encode", "e2m1", SHAPE))
    codes, blocks = mxref.encode(x, "e2m1"), mxref.quantize(x, "mxfp4_e2m1")
    packed = mxref.pack(codes, "e2m1")
    want: dict[str, Any] = {
        "encode": codes,
        "decode": mxref.decode(codes, "e2m1"),
        "quantize": np.concatenate([blocks.scale_codes.reshape(-1), blocks.codes.reshape(-1)]),
        "dequantize": blocks.dequantize(),
        "pack": packed,
        "unpack": codes,
    }
    for op in OPS:
        side = own(Job(op, "mxfp4_e2m1" if "quant" in op else "e2m1", SHAPE))
        assert side.answer is not None
        assert (side.answer(side.call()) == bits_of_array(want[op])).all(), op


def test_threads_and_choices_are_passed_on(monkeypatch: pytest.MonkeyPatch) -> None:
    encode, asked = mxref.encode, []

    @functools.wraps(encode)
    def spy(*args: Any, **options: Any) -> Any:
        asked.append(options)
        return encode(*args, **options)

    monkeypatch.setattr(mxref, "encode", spy)
    job = Job("encode", "e4m3", SHAPE, threads=2, choices={"overflow": "nonsaturating"})
    own(job).call()
    assert asked == [{"threads": 2, "overflow": "nonsaturating"}]
    own(dataclasses.replace(job, threads=1, choices={"rounding": "stochastic_a"})).call()
    assert asked[1]["rounding"] == "stochastic_a"
    assert asked[1]["random_bits"].shape == SHAPE
    assert 0 <= asked[1]["random_bits"].min() < asked[1]["random_bits"].max() < 256


@pytest.mark.parametrize(
    ("op", "format", "shape", "float", "data", "reason"), tables.rows("tools", "bench", "job")
)
def test_jobs_that_are_refused(
    op: str, format: str, shape: str, float: str, data: str, reason: str
) -> None:
    with pytest.raises(ValueError, match=f"^{reason}"):
        Job(op, format, tuple(json.loads(shape)), float, data)


def test_the_jobs_of_a_format() -> None:
    asked = [(job.op, job.format) for job in jobs_of(["encode", "quantize"], "e3m2", SHAPE)]
    assert asked == [("encode", "e3m2"), ("quantize", "mxfp6_e3m2")]
    asked = [(job.op, job.format) for job in jobs_of(["encode", "quantize"], "mxint8", SHAPE)]
    assert asked == [("quantize", "mxint8")]
    assert len(jobs_of(["encode", "pack"], None, SHAPE, threads=2)) == 6 + 3
    said = sentence(ValueError, lambda: jobs_of(["pack"], "e9", SHAPE))
    assert said == "--format must be one of e3m2, e2m3, e2m1, got 'e9'"


def test_each_choice_is_changed_once() -> None:
    changed = [job.choices for job in other_choices(Job("encode", "e4m3", SHAPE))]
    default = Policy().choices()
    assert changed == [
        {name: member.value}
        for name in READS["encode"]
        for member in Policy.members(name)
        if member.value != default[name]
    ]
    # A block format with E8M0 scales reads no scale arithmetic.
    names = {
        name for job in other_choices(Job("quantize", "mxint8", SHAPE)) for name in job.choices
    }
    assert names == set(READS["quantize"]) - {"scale_arithmetic"}


# --- rows -----------------------------------------------------------------------------------------


def test_a_row_in_figures() -> None:
    job = Job("encode", "e4m3", (1, 1000 * 32), choices={"overflow": "propagate"})
    timing = Timing((32e-6, 64e-6, 32e-6), (96e-6, 64e-6, 128e-6))
    row = BenchRow(job, "ocp", timing, (3 << 19, None))
    first = ("encode", "e4m3", "f32", "normal", "overflow=propagate beside ocp")
    assert cells(row) == (*first, "1.00", "2.00", "3.00", "1.00", "1.5", "-", "-")
    wanted = json.loads((ROOT / "tests" / "tools" / "data" / "bench_row.json").read_text())
    assert report([row])["rows"] == [wanted]


def test_a_report_names_what_was_measured() -> None:
    row = BenchRow(Job("encode", "e4m3", SHAPE), "ml_dtypes", None)
    found = report([row, dataclasses.replace(row, other="ocp")])
    assert list(found["peers"]) == ["ml_dtypes"]
    assert found["mxref"] == mxref.__version__
    assert {"numpy", "python", "processor", "cores"} <= set(found)


@pytest.mark.parametrize(("threads", "clock"), [(1, "process_time"), (2, "perf_counter")])
def test_the_clock_of_one_core_counts_every_thread(
    threads: int, clock: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    used = []

    def in_no_time(mine: Any, theirs: Any, seconds: float, clock: Any) -> Timing:
        used.append(clock.__name__)
        return Timing((1.0,), (1.0,))

    monkeypatch.setattr(rows, "in_turns", in_no_time)
    job = Job("encode", "e4m3", SHAPE)
    versus(dataclasses.replace(job, threads=threads), job, "one thread", 0)
    versus(job, dataclasses.replace(job, threads=threads), "two threads", 0)
    assert used == [clock] * 2


# --- the command ----------------------------------------------------------------------------------


def test_a_small_run(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    path = tmp_path / "a" / "bench.json"
    arguments = [*QUICK, "--op", "encode", "--format", "e2m1", "--peer", "ml_dtypes"]
    assert main([*arguments, "--json", str(path)]) == 0
    lines = capsys.readouterr().out.splitlines()
    assert lines[0].split()[:4] == ["op", "format", "float", "data"]
    words = lines[1].split()
    assert words[:5] == ["encode", "e2m1", "f32", "normal", "ml_dtypes"]
    assert words[-1] == "same"
    (found,) = json.loads(path.read_text("ascii"))["rows"]
    assert found["ratio_lowest"] <= found["ratio_median"]
    assert 0 < found["seconds"] < math.inf
    assert found["rounds"] >= 5


@pytest.mark.usefixtures("no_time")
def test_json_is_all_that_is_printed(capsys: pytest.CaptureFixture[str]) -> None:
    assert main([*QUICK, "--op", "encode", "--peer", "ml_dtypes", "--json", "-"]) == 0
    found = json.loads(capsys.readouterr().out)
    assert [row["format"] for row in found["rows"]] == ["e5m2", "e4m3", "e3m2", "e2m3", "e2m1"]
    assert {row["ratio_median"] for row in found["rows"]} == {3.0}
    assert {row["beside"] for row in found["rows"]} == {"ml_dtypes"} == set(found["peers"])
    assert set(SMALL_FLOATS) > {row["format"] for row in found["rows"]}


@pytest.mark.usefixtures("no_time")
def test_what_is_not_measured_is_said(
    monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    lacking = peer(own, module="no_such_library")
    slow = peer(own, name="slow", slow=True)
    known = {"ml_dtypes": PEERS["ml_dtypes"], "other": lacking, "slow": slow}
    monkeypatch.setattr(peers, "PEERS", known)
    assert main([*QUICK, "--op", "encode"]) == 0
    out = capsys.readouterr().out.splitlines()
    assert "beside itself: no library here does this, and x shows how much the clock strays" in out
    assert out[-2:] == [
        "not measured: other (pip install other==1.0)",
        "not measured: slow, which starts slowly (--peer slow)",
    ]
    measured = [tuple(line.split()[1:5:3]) for line in out if line.startswith("encode")]
    assert measured == [
        *((format, "ml_dtypes") for format in ("e5m2", "e4m3", "e3m2", "e2m3", "e2m1")),
        ("int8", "itself"),
    ]
    assert main([*QUICK, "--peer", "other"]) == 2
    said = capsys.readouterr()
    assert (said.out, said.err) == (
        "",
        "bench.py: error: other is not installed: pip install other==1.0\n",
    )


@pytest.mark.usefixtures("no_time")
def test_the_policies(capsys: pytest.CaptureFixture[str]) -> None:
    assert main([*QUICK, "--policies", "--op", "decode", "--json", "-"]) == 0
    (row,) = json.loads(capsys.readouterr().out)["rows"]
    assert (row["format"], row["beside"]) == ("e4m3", "ocp")
    assert row["choices"] == {"decoded_zero": "dropped"}


@pytest.mark.parametrize(("options", "reason"), tables.rows("tools", "bench", "refused"))
def test_misuse(options: str, reason: str, capsys: pytest.CaptureFixture[str]) -> None:
    assert main(options.split()) == 2
    said = capsys.readouterr()
    assert said.out == ""
    assert re.fullmatch(f"bench.py: error: {reason}.*\n", said.err)


def test_an_interrupted_run_writes_nothing(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    def interrupted(*_: object) -> BenchRow:
        raise KeyboardInterrupt

    monkeypatch.setattr(rows, "beside", interrupted)
    path = tmp_path / "bench.json"
    path.write_text("old")
    assert main([*QUICK, "--json", str(path)]) == 130
    said = capsys.readouterr().err
    assert said == "bench.py: interrupted: no JSON is written, and rows are missing\n"
    assert [each.read_text() for each in tmp_path.iterdir()] == ["old"]


# --- the sides of other libraries, and what is said of their results ----------------------------


@pytest.mark.usefixtures("no_time")
@pytest.mark.parametrize("data", DATA)
@pytest.mark.parametrize("name", ["ml_dtypes", "gfloat", "gguf"])
def test_a_peer_does_what_mxref_does_or_what_its_profile_does(name: str, data: str) -> None:
    found = rows_beside(name, data)
    for row in found:
        assert row.timing is not None, row.note
        if row.differing:
            assert row.note == f"as profile {PEERS[name].profiles[0]}", row
    if data == "normal" and name == "ml_dtypes":
        assert not any(row.differing for row in found)


def test_a_peer_measures_its_own_formats_only() -> None:
    job = Job("quantize", "mxfp4_e2m1", SHAPE)
    assert PEERS["gguf"].measures(job)
    for change in (
        {"float": "bf16"},
        {"format": "mxint8"},
        {"choices": {"rounding": "to_odd"}},
        {"choices": {"scale_rule": "even"}},
    ):
        assert not PEERS["gguf"].measures(dataclasses.replace(job, **change)), change  # type: ignore[arg-type]
    assert PEERS["torchao"].measures(dataclasses.replace(job, choices={"scale_rule": "even"}))


@pytest.mark.usefixtures("no_time")
def test_other_codes_are_counted() -> None:
    def wrong(job: Job) -> Side:
        def call() -> Any:
            codes = mxref.encode(values_of(job), job.format).copy()
            codes[1, [3, 7]] ^= 1
            return codes

        return Side(call, bits_of_array)

    row = beside(Job("encode", "e4m3", SHAPE), peer(wrong), 0)
    assert (row.differing, row.note) == (2, "")
    assert cells(row)[-1] == "2 differ"
    assert report([row])["rows"][0]["differing"] == 2


@pytest.mark.usefixtures("no_time")
def test_other_codes_may_be_those_of_the_profile() -> None:
    def as_gguf(job: Job) -> Side:
        return own(job, mxref.profile("gguf_mxfp4"))

    job = Job("quantize", "mxfp4_e2m1", SHAPE)
    row = beside(job, peer(as_gguf, profiles=("gguf_mxfp4",)), 0)
    assert row.differing is not None
    assert row.differing > 0
    assert cells(row)[-1] == f"{row.differing} differ, as profile gguf_mxfp4"
    row = beside(job, peer(as_gguf, profiles=("torchao_0_18_{rule}",)), 0)
    assert (row.differing, row.note) == (row.differing, "")


@pytest.mark.usefixtures("no_time")
def test_numbers_may_be_all_that_there_is() -> None:
    def numbers(change: int) -> Callable[[Job], Side]:
        def side(job: Job) -> Side:
            def values(blocks: Any) -> Any:
                found = blocks.dequantize().view(np.uint32)
                at = int(np.flatnonzero(found == 0)[0])
                found.reshape(-1)[at] ^= change
                return found.reshape(-1)

            return Side(lambda: mxref.quantize(values_of(job), job.format), None, values)

        return side

    job = Job("quantize", "mxint8", SHAPE)
    ours = peer(numbers(0), profiles=("torch", "ocp"))
    assert beside(job, ours, 0).differing == 0
    row = beside(job, dataclasses.replace(ours, side=numbers(1 << 31)), 0)
    assert (row.differing, row.note) == (1, "as profile ocp, but for signs of zeros")
    assert beside(job, dataclasses.replace(ours, side=numbers(1)), 0).note == ""


@pytest.mark.usefixtures("no_time")
def test_a_peer_that_fails_leaves_a_row() -> None:
    def broken(job: Job) -> Side:
        raise RuntimeError("no such\nkernel")

    job = Job("encode", "e4m3", SHAPE)
    row = beside(job, peer(broken), 0)
    assert row.timing is None
    assert cells(row)[4:] == ("other", *"------", "fails: RuntimeError: no such kernel")
    assert report([row])["rows"][0]["note"] == "fails: RuntimeError: no such kernel"

    def short(job: Job) -> Side:
        return Side(lambda: np.zeros(3, np.uint8), bits_of_array)

    assert beside(job, peer(short), 0).note == "fails: ValueError: 3 codes instead of 4096"


def test_what_is_absent_says_how_to_get_it(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    assert peer(own, module="no_such_library").absent == "pip install other==1.0"
    there = peer(own, checkout="MXREF_OTHER", needs="example.org/other at 1234")
    monkeypatch.setattr(importlib.util, "find_spec", lambda name: name)
    assert there.absent == "MXREF_OTHER must name a checkout of example.org/other at 1234"
    monkeypatch.setenv("MXREF_OTHER", str(tmp_path))
    assert (there.absent, there.version) == ("", "a checkout")


# --- sections with limits -------------------------------------------------------------------------


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
        assert main(["--check", "--only", *names]) == status
        assert main(["--only", *names]) == 0
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
    small = ["--elements", "1024", "--seconds", "0", "--json", str(path)]
    assert main(["--only", "rules", *small]) == 0
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
    assert [wanted for what, wanted in asked("encode") if "torch" in what] == [">= 0.35 x"] * 2
    assert [wanted for _, wanted in asked("dequantize")] == [">= 3 x"] * 10
    assert {wanted for _, wanted in asked("bfloat16")} == {">= 1 x"}
    assert {wanted for _, wanted in asked("threads")} == {">= 1.6 x", ">= 1.4 x"}
    assert {wanted for _, wanted in asked("policies")} == {">= 0.8333 x", "shown"}
    limits = [wanted for _, wanted in asked("adders")]
    assert limits[::2] == ["<= 3.2 ns a product"] * 23
    assert sorted(set(limits[1::2])) == [">= 0.5 x", ">= 15 x"]
    assert limits[1::2].count(">= 15 x") == 22  # all but the FMA of float32
    assert [wanted for _, wanted in asked("integers")] == [">= 1 x", ">= 1 x", "<= 30 s"]
    assert [wanted for _, wanted in asked("start")] == ["<= 0.2 s", "<= 60 s"]
