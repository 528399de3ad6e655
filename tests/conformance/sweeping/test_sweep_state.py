"""Sweeps over processes and formats, interrupted and killed ones: always the same result."""

from __future__ import annotations

import hashlib
import importlib.metadata
import json
import os
import shutil
import signal
import subprocess
import sys
import threading
import time
from concurrent.futures import Executor, Future, ThreadPoolExecutor
from functools import partial
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import numpy as np
import pytest
from helpers import PATIENCE, run, sentence, table
from ml_dtypes import _ml_dtypes_ext
from sweep_helpers import OWN, PLANTED, findings, parts, target

import mxref
from mxref.cli import main
from mxref.conformance import TargetError, load_target, target_of
from mxref.conformance.sweeping.digests import recorded_digest
from mxref.conformance.sweeping.intervals import Tally
from mxref.conformance.sweeping.loaded import LoadedCode
from mxref.conformance.sweeping.state import fingerprint, read_state, write_state
from mxref.conformance.sweeping.sweep import Swept, sweep, sweeps
from mxref.conformance.sweeping.sweep_text import summary, sweeps_lines, swept_json
from mxref.formats.catalog import CODE_FORMATS
from mxref.policy.policy import Policy
from mxref.targets.calls import without_cases

# --- who works ------------------------------------------------------------------------------------

RANGE = parts(5)


@pytest.fixture
def planted(tmp_path: Path) -> str:
    (tmp_path / "planted.py").write_text(PLANTED)
    return str(tmp_path / "planted.py")


@pytest.mark.sampled(6)
def test_processes_and_threads_find_the_same(planted: str) -> None:
    load = partial(load_target, planted)
    what = partial(sweep, op="encode", format="e2m1", digest=True, **RANGE)
    alone = what(load)
    assert alone.tally.count > 2
    assert findings(what(load, jobs=2)) == findings(alone)
    before = threading.enumerate()
    with ThreadPoolExecutor(2) as pool:
        assert findings(what(load(), executor=pool)) == findings(alone)
    assert set(threading.enumerate()) <= set(before)


def test_a_target_that_other_processes_cannot_load() -> None:
    local = target(encode=lambda values, format: values)
    said = sentence(ValueError, lambda: sweep(local, "encode", "e2m1", jobs=2, **RANGE))
    assert said.startswith("source must be what other processes can load")


@pytest.mark.sampled(6)
def test_a_target_that_ends_its_process(tmp_path: Path) -> None:
    path = tmp_path / "crash.py"
    path.write_text("import os\n\ndef encode(values, format):\n    os._exit(3)\n")
    crash = partial(load_target, str(path))
    said = sentence(TargetError, lambda: sweep(crash, "encode", "e2m1", jobs=2, **RANGE))
    assert said.startswith("a process of the sweep has ended")


# --- going on -------------------------------------------------------------------------------------

KILLED = table("kernels")["sweep_killed"]


@pytest.mark.sampled(6)
def test_a_killed_sweep_goes_on_to_the_same_result(planted: str, tmp_path: Path) -> None:
    state = tmp_path / "state.json"
    killed = run(sys.executable, "-c", KILLED, planted, state, *RANGE.values())
    assert (killed.returncode, killed.stderr) == (-signal.SIGKILL, "")
    assert json.loads(state.read_bytes())["done"] == 2
    seen: list[int] = []

    def progress(done: int, total: int, wrong: int) -> None:
        assert total == 5
        seen.append(done)

    what = partial(sweep, partial(load_target, planted), "encode", "e2m1", **RANGE)
    rest = what(state=state, progress=progress)
    assert findings(rest) == findings(what())
    # What is complete is not done again.
    assert findings(what(state=state, progress=progress)) == findings(rest)
    assert seen == [3, 4, 5]


def interrupted(process: subprocess.Popen[str]) -> str:
    """What a command says that Ctrl-C has ended, workers included."""
    os.killpg(process.pid, signal.SIGINT)
    out, err = process.communicate(timeout=PATIENCE)
    assert (process.returncode, out) == (130, ""), err
    assert "Traceback" not in err
    # Python may warn after it of semaphores that workers left, if they end late.
    (said,) = (line for line in err.splitlines() if line.startswith("mxref: interrupted"))
    return said


@pytest.mark.sampled(0)
def test_an_interrupted_sweep_says_how_to_go_on(planted: str, tmp_path: Path) -> None:
    state = tmp_path / "state.json"
    command = [sys.executable, "-m", "mxref", "sweep", planted, "--format", "e2m1"]
    start = partial(
        subprocess.Popen,
        stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True, start_new_session=True,
    )  # fmt: skip
    with start([*command, "--state", str(state), "--jobs", "2"]) as process:
        while not (state.exists() and json.loads(state.read_bytes())["done"]):
            assert process.poll() is None, process.communicate()
            time.sleep(0.005)
        said = interrupted(process)
    assert said == f"mxref: interrupted: the same command goes on from {state}"
    record = json.loads(state.read_bytes())
    assert record["sweeps"][0]["cases"] == record["done"] << 22
    # A target that has changed is another one.
    Path(planted).write_text(PLANTED.replace("= 3", "= 2"))
    done = run(*command, "--state", state)
    assert done.returncode == 2
    assert done.stderr.startswith(
        f"mxref: error: state {state} is of a sweep before the target's file changed: remove it"
    )
    Path(planted).write_text("print('it is loaded', flush=True)\n" + PLANTED)
    with start(command) as process:
        assert process.stderr is not None
        assert process.stderr.readline() == "it is loaded\n"
        said = interrupted(process)
    assert said == "mxref: interrupted: nothing is kept: use --state FILE"


@pytest.mark.sampled(3)
def test_the_state_of_another_sweep_is_refused(planted: str, tmp_path: Path) -> None:
    state, load = tmp_path / "state.json", partial(load_target, planted)
    sweep(load, "encode", "e2m1", "f32", state=state, end=1000)

    def said(*arguments: Any, **given: Any) -> str:
        what = partial(sweep, load, "encode", *arguments, state=state, **given)
        return sentence(ValueError, what)

    assert said("e4m3", end=1000).startswith(
        f"state {state} is of a sweep with another format, 'e2m1' and not 'e4m3': remove it"
    )
    assert "another end, 1000 and not 999" in said("e2m1", end=999)
    assert "before the target's file changed" in said("e2m1", end=1000, fingerprint="x")
    assert sweep(load, "encode", "e2m1", state=state, end=1000).cases == 1000


@pytest.mark.parametrize("text", ["", "[]", "{}", '{"mxref_sweep": 1}', "{", "\xff", '"done": 999'])
def test_what_is_no_state_is_refused_and_kept(tmp_path: Path, text: str) -> None:
    state = tmp_path / "notes.txt"
    what = partial(sweep, OWN, "encode", "e2m1", state=state, end=1000)
    if "done" in text:  # as somebody has changed it
        assert what().passed
        assert '"done": 1' in state.read_text()
        text = state.read_text().replace('"done": 1', text)
    state.write_text(text)
    assert "must be a file that a sweep has written" in sentence(ValueError, what)
    assert state.read_text() == text


@pytest.mark.parametrize("more", [0, -1, 1])
def test_a_state_of_another_version_is_refused(tmp_path: Path, more: int) -> None:
    """Whole as it is: its digest is that of its text."""
    path, code = tmp_path / "state.json", LoadedCode()
    write_state(path, {"op": "encode"}, {"code": code.record()})
    state = json.loads(path.read_text())
    del state["sha256"]
    state["mxref_sweep"] += more
    digest = hashlib.sha256(json.dumps(state).encode()).hexdigest()
    path.write_text(json.dumps({**state, "sha256": digest}))
    what = partial(read_state, path, {"op": "encode"}, code)
    if more:
        assert "must be a file that a sweep has written" in sentence(ValueError, what)
    else:
        assert what() == state


def test_fingerprint_is_of_files_named(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)
    path = tmp_path / "kernel.py"
    path.write_text("1")
    first = fingerprint([str(path), "--fast"])
    assert fingerprint([str(path), "--fast"]) == first
    assert fingerprint([str(path), "--slow"]) != first
    module = fingerprint(["kernel"])
    path.write_text("2")
    assert fingerprint([str(path), "--fast"]) != first
    assert fingerprint(["kernel"]) != module


# --- what a target has loaded ---------------------------------------------------------------------

LOADS = table("kernels")["sweep_loads"]


@pytest.fixture
def loads(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    monkeypatch.setattr(sys, "modules", dict(sys.modules))  # each test loads its own
    monkeypatch.setattr(sys, "path", list(sys.path))
    for name in ("near", "late", "__init__", "not_loaded"):
        path = tmp_path / "mxref_swept" / f"{name}.py"
        path.parent.mkdir(exist_ok=True)
        path.write_text("x = 1\n")
    shutil.copy(_ml_dtypes_ext.__file__, tmp_path / "library.so")
    (tmp_path / "loads.py").write_text(LOADS)
    return tmp_path


def swept_with_state(folder: Path) -> Swept:
    load = partial(load_target, str(folder / "loads.py"))
    return sweep(load, "decode", "e2m1", state=folder / "state.json")


LOADED = ["loads.py", "library.so", *(f"mxref_swept/{one}.py" for one in ("near", "late"))]


@pytest.mark.sampled(6)
@pytest.mark.parametrize("file", [*LOADED, "mxref_swept/__init__.py", "mxref_swept_faster.py"])
def test_no_state_is_replayed_after_a_file_was_changed(file: str, loads: Path) -> None:
    assert swept_with_state(loads).passed
    (loads / "mxref_swept" / "not_loaded.py").write_text("x = 2\n")
    assert swept_with_state(loads).passed
    path = loads / file
    data = path.read_bytes() if path.exists() else b""
    path.unlink(missing_ok=True)  # or the library would change while it is loaded
    path.write_bytes(data + b"\n")
    said = sentence(ValueError, lambda: swept_with_state(loads))
    state = loads / "state.json"
    assert said == (
        f"state {state} is of a sweep before {path} changed: remove it, or give another name"
    )


def test_no_state_is_replayed_under_another_version(
    loads: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    assert swept_with_state(loads).passed
    version, other = importlib.metadata.version, {"ml_dtypes": "x"}
    monkeypatch.setattr("importlib.metadata.version", lambda one: version(one) + other.get(one, ""))
    said = sentence(ValueError, lambda: swept_with_state(loads))
    assert "before the version of ml_dtypes changed" in said


def test_a_result_from_a_state_says_so(loads: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    clock = [time.gmtime(0)]  # the first of January 1970
    later = time.gmtime(86_400 * 20_000)
    monkeypatch.setattr("time.gmtime", lambda *_: clock[0])
    first = swept_with_state(loads)
    assert "from the state" not in summary(first)
    assert swept_json(first)["state_date"] == ""
    for _ in range(2):  # to replay it is not to write it
        clock[0] = later
        again = swept_with_state(loads)
        assert summary(again) == f"{summary(first)}, from the state of 1970-01-01"
        assert swept_json(again)["state_date"] == "1970-01-01"
    load = partial(load_target, str(loads / "loads.py"))
    what = partial(sweeps, load, "decode", ("e2m1", "e4m3"), state=loads / "both.json")
    lines, replayed = sweeps_lines(what()), sweeps_lines(what())
    assert len(lines) == 3
    day = time.strftime("%Y-%m-%d", clock[0])
    assert replayed == [f"{line}, from the state of {day}" for line in lines]


# --- the command ----------------------------------------------------------------------------------


def test_the_command(capsys: pytest.CaptureFixture[str], tmp_path: Path) -> None:
    path = tmp_path / "zero.py"
    path.write_text(
        "import mxref\nprint('hello')\n\ndef decode(codes, format):\n    print('there')\n"
        "    numbers = mxref.decode(codes, format)\n    numbers[codes == 3] = 9\n"
        "    return numbers\n"
    )
    assert main(["sweep", str(path), "--op", "decode", "--format", "e2m1"]) == 1
    out, err = capsys.readouterr()
    lines = out.splitlines()
    assert lines[0] == "03 = 1.5: want 3fc00000 = 0x1.8p+0 = 1.5, got 41100000 = 0x1.2p+3 = 9"
    said = f"FAIL {path}: decode e2m1 f32 under ocp: 1 of 16 wrong in 1 interval, in 0."
    assert lines[1].startswith(said)
    assert lines[1].endswith("% of it in the target")
    assert len(lines) == 2
    assert err.split() == ["hello", "there"]
    assert main(["sweep", str(path), "--op", "decode", "--format", "e2m1", "--json"]) == 1
    record = json.loads(capsys.readouterr().out)
    one = {"first": 3, "last": 3, "want": [0x3FC00000], "got": [0x41100000], "error": ""}
    assert record["intervals"] == [one]
    assert (record["wrong"], record["compared"], record["passed"]) == (1, 16, False)


def test_the_command_without_a_target(capsys: pytest.CaptureFixture[str]) -> None:
    policy = "ocp+rounding=to_odd"
    arguments = ["sweep", "--format", "e3m2", "--float", "f16", "--policy", policy, "--digest"]
    assert main(arguments) == 0
    out = capsys.readouterr().out.splitlines()
    assert out[0].startswith("digest ")
    assert out[1].startswith(f"PASS mxref: encode e3m2 f16 under {policy}: 0 of 65536 wrong, in ")


# --- several formats ------------------------------------------------------------------------------


SIX = ["e5m2", "e4m3", "e3m2", "e2m3", "e2m1", "int8"]
ALL = list(CODE_FORMATS)


def two_wrong(values: Any, format: str) -> Any:
    """Wrong in E4M3 and in E2M1, over borders of parts."""
    codes, bits = mxref.encode(values, format), values.view(np.uint32)
    if format in ("e4m3", "e2m1"):
        codes[(bits % 5000000 < 1000000) & (codes < 64)] = 1
    return codes


TWO_WRONG = target(encode=two_wrong)


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
    small = target_of(
        SimpleNamespace(dequantize=two_wrong, FORMATS=["mxfp4_e2m1", "int8"]), "small"
    )
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
        sweeps(TWO_WRONG, "encode", formats, state=state, progress=interrupt, **RANGE)
    assert json.loads(state.read_bytes())["done"] == stop
    rest = sweeps(
        TWO_WRONG, "encode", formats, state=state, progress=lambda *now: seen.append(now), **RANGE
    )
    whole = sweeps(TWO_WRONG, "encode", formats, **RANGE)
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
        alone = sweep(TWO_WRONG, "encode", one.file.format, **RANGE)
        assert (alone.tally, alone.cases) == (one.tally, one.cases)
    said = sentence(ValueError, lambda: sweeps(TWO_WRONG, "encode", formats[:2], state=state))
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
    lines = sweeps_lines(sweeps(TWO_WRONG, "encode", ("e4m3", "e3m2"), **RANGE))
    verdicts = [line for line in lines if line.startswith(("PASS", "FAIL"))]
    assert [line[:4] for line in verdicts] == ["FAIL", "PASS", "FAIL"]
    wrong = sweep(TWO_WRONG, "encode", "e4m3", **RANGE).tally.wrong
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
