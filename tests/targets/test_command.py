"""Targets that are programs: right ones, and every way to misbehave; none is left running.

The programs are small scripts. Each writes the number of its process, and of processes that it
starts, into a file, so that the tests can look whether they are gone. The time that passes for
mxref is what the programs say, in another file.
"""

from __future__ import annotations

import contextlib
import dataclasses
import gc
import json
import os
import re
import select
import shlex
import signal
import subprocess
import sys
import time
from collections.abc import Callable, Iterator
from pathlib import Path
from types import SimpleNamespace

import numpy as np
import pytest
from helpers import PATIENCE, copy_vectors, sentence

from mxref import golden
from mxref.cli import main
from mxref.conformance import CommandTarget, Report, TargetError, check, command_results, verify
from mxref.golden import VectorFile
from mxref.targets.calls import without_cases
from mxref.targets.line_protocol import Dialogue
from mxref.targets.process import Running

pytestmark = pytest.mark.skipif(os.name != "posix", reason="a command needs POSIX")

FILES = ("decode/e2m1.f32.jsonl", "decode/e2m3.f32.jsonl")
#: What every program begins with: `decode` of E2M1 (OCP MX v1.0 5.3.3), and how it answers.
BEGIN = """
import os, signal, struct, subprocess, sys, time
VALUES = [0.0, 0.5, 1.0, 1.5, 2.0, 3.0, 4.0, 6.0]

def note(pid):
    with open({pids!r}, "a") as file:
        print(pid, file=file)

def say(text):
    print(text, flush=True)

def pass_time(seconds):
    with open({ticks!r}, "a") as file:
        file.write(seconds * ".")

def hang():
    while True:
        pass_time(2)
        time.sleep(0.01)

def answer(line):
    id, op, format, float, code, *_ = line.split()
    if (op, format, float) != ("decode", "e2m1", "f32"):
        return id + " unsupported"
    number, sign = VALUES[int(code, 16) % 8], int(code, 16) >> 3 << 31
    return "%s %08x" % (id, struct.unpack(">I", struct.pack(">f", number))[0] | sign)

def is_case(line, name):
    return line.split()[0] == "decode.e2m1.f32." + name

questions = (line for line in sys.stdin if line[0] != "#")
note(os.getpid())
"""
FLUSHED = "for line in questions: say(answer(line))\n"
BUFFERED = "for line in questions: print(answer(line))\n"
#: A program that does something in the place of one answer.
AT_05 = """
for line in questions:
    if is_case(line, "05"):
        {}
    say(answer(line))
"""
#: A program that starts another one, and leaves it alone.
SPAWN = "note(subprocess.Popen(['sleep', '100']).pid)\n"
Program = Callable[[str], str]
Capture = pytest.CaptureFixture[str]


@pytest.fixture(scope="module")
def vectors(tmp_path_factory: pytest.TempPathFactory) -> Path:
    return copy_vectors(tmp_path_factory.mktemp("vectors"), *FILES)


@pytest.fixture(scope="module")
def files(vectors: Path) -> list[VectorFile]:
    return sorted(golden.read_vectors(vectors), key=lambda file: file.stem)


def is_gone(pid: int) -> bool:
    """Whether a process has ended; one that is dead, but was not waited for, has."""
    with contextlib.suppress(OSError):
        if Path(f"/proc/{pid}/stat").read_text("ascii").rpartition(")")[2].split()[0] == "Z":
            return True
    try:
        os.kill(pid, 0)
    except ProcessLookupError:
        return True
    return False


def assert_gone(pids: list[int]) -> None:
    deadline = time.monotonic() + PATIENCE  # the system may take a moment to bury the killed
    while not all(map(is_gone, pids)) and time.monotonic() < deadline:
        time.sleep(0.01)
    alive = [pid for pid in pids if not is_gone(pid)]
    for pid in alive:
        os.kill(pid, signal.SIGKILL)
    assert alive == []


@pytest.fixture
def program(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Iterator[Program]:
    """Makes a command of a script; what it has started must be gone in the end."""
    pids = tmp_path / "pids"
    pids.touch()
    clock = SimpleNamespace(monotonic=lambda: passed(tmp_path))
    monkeypatch.setattr("mxref.targets.process.time", clock)

    def command(body: str) -> str:
        begin = BEGIN.format(pids=str(pids), ticks=str(tmp_path / "ticks"))
        (tmp_path / "program.py").write_text(begin + body)
        return shlex.join([sys.executable, "-S", "-E", str(tmp_path / "program.py")])

    yield command
    assert_gone(noted(tmp_path))


def noted(folder: Path) -> list[int]:
    """The processes that the program has noted so far."""
    return [int(line) for line in (folder / "pids").read_text("ascii").splitlines()]


def passed(folder: Path) -> int:
    """Seconds that have passed for mxref, as the program says."""
    ticks = folder / "ticks"
    return ticks.stat().st_size if ticks.exists() else 0


def errors(report: Report) -> dict[str, str]:
    """Why cases of E2M1 have failed."""
    failures = [failure for file, failure in report.failures if file.format == "e2m1"]
    return {failure.case.name: failure.error for failure in failures}


def after(name: str, text: str) -> dict[str, str]:
    """The same text for all cases behind one."""
    return {f"{code:02x}": text for code in range(int(name, 16) + 1, 16)}


# --- programs that pass ---------------------------------------------------------------------------


@pytest.mark.parametrize(
    "body",
    [
        FLUSHED,
        BUFFERED,
        "for line in list(questions): print(answer(line))\n",
        "say('# mxref lines 1'); say('# made by hand')\n" + FLUSHED,
        "say('# formats e2m1'); say('# floats f32 bf16'); say('# policy ocp')\n" + FLUSHED,
        "for line in questions: say('# ' + line[:-1]); say(answer(line))\n",
        "for line in questions: sys.stderr.write('x' * 10000); say(answer(line))\n",
        "signal.signal(signal.SIGTERM, signal.SIG_IGN)\n" + FLUSHED,
        SPAWN + FLUSHED,
        SPAWN.replace("]", "], stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL") + FLUSHED,
        FLUSHED + "sys.stdout.close(); time.sleep(0.2)\n",
    ],
    ids=["flushed", "buffered", "collected", "remarks", "claims", "echo", "loud errors",
         "ignores SIGTERM", "grandchild with its pipes", "grandchild", "ends a little later"],
)  # fmt: skip
def test_a_right_program_passes(
    body: str, program: Program, files: list[VectorFile], tmp_path: Path
) -> None:
    report = verify(command_results(program(body), files, timeout=PATIENCE), files)
    assert (report.passed, report.compared, report.failures) == (True, 16, [])
    assert (report.verdict, report.not_covered) == ("conforms", ("decode e2m3",))
    mine = noted(tmp_path)
    assert len(mine) == 1 + ("note(sub" in body)  # it was started once


def test_the_command_line(program: Program, vectors: Path, capsys: Capture) -> None:
    command = program(FLUSHED)
    assert (
        main(["verify", "--cmd", command, "--vectors", str(vectors), "--timeout", str(PATIENCE)])
        == 0
    )
    out, err = capsys.readouterr()
    assert out.splitlines()[-1] == f"PASS {command}: 16 cases, 0 failed: conforms"
    assert err == ""


def test_a_wrong_program_fails(program: Program, vectors: Path, capsys: Capture) -> None:
    command = program("VALUES[5] = 3.5\n" + FLUSHED)
    assert main(["verify", "--cmd", command, "--vectors", str(vectors)]) == 1
    out, _ = capsys.readouterr()
    assert "decode.e2m1.f32.05: code 05 = 3, want 40400000 = 0x1.8p+1 = 3, got 40600000" in out
    assert out.splitlines()[-1] == f"FAIL {command}: 16 cases, 2 failed: violates MX-5.3.3"


def test_what_is_not_claimed_is_not_compared(program: Program, files: list[VectorFile]) -> None:
    body = "say('# formats e4m3')\nfor line in questions: say(line.split()[0] + ' 0')\n"
    report = verify(command_results(program(body), files, timeout=PATIENCE), files)
    assert (report.compared, report.passed) == (0, False)
    assert report.verdict == "nothing compared"


def test_a_claimed_policy(program: Program, files: list[VectorFile]) -> None:
    dropped = FLUSHED.replace("answer(line)", "answer(line).replace('80000000', '0')")
    body = "say('# policy ocp+decoded_zero=dropped')\n" + dropped
    report = verify(command_results(program(body), files, timeout=PATIENCE), files)
    assert report.verdict == "conforms under ocp+decoded_zero=dropped"
    with pytest.raises(TargetError, match="claims an unknown policy"):
        command_results(program("say('# policy mine')\n" + FLUSHED), files, timeout=PATIENCE)


# --- programs that misbehave ----------------------------------------------------------------------

DUE = "must begin with decode.e2m1.f32.05, whose answer is due, got"
OUT_OF_ORDER = (
    "line 6 answers decode.e2m1.f32.06, where decode.e2m1.f32.05 is due: "
    "answers come in the order of the questions, one for each"
)
LONG = "has more than 65536 characters"
SILENT = "the program gave no answer within 1.5 s"


@pytest.mark.parametrize(
    ("body", "reason"),
    [
        (AT_05.format("say('oh no')"), f"line 6 {DUE} 'oh no'"),
        (AT_05.format("sys.stdout.buffer.write(bytes(range(128, 256)) + b'\\n')"),
         r"line 6 is not ASCII: '\x80\x81\x82\x83"),
        (AT_05.format("continue"), OUT_OF_ORDER),
        (AT_05.format("other = next(questions); say(answer(other))"), OUT_OF_ORDER),
        (AT_05.format("say(answer(line)); say(answer(line))"),
         "line 7 answers decode.e2m1.f32.05 again, where decode.e2m1.f32.06 is due"),
        (AT_05.format("sys.stdout.write('a' * 70000 + '\\n')"), f"line 6 {LONG}"),
        (AT_05.format("\n        while True: sys.stdout.write('a' * 10000)"), f"line 6 {LONG}"),
        (AT_05.format("\n        while True: say('y')"), f"line 6 {DUE} 'y'"),
        (AT_05.format("\n        while True: sys.stdout.write('\\n' * 10000)"), "line 6 is empty"),
    ],
    ids=["garbage", "binary garbage", "one left out", "out of order", "twice", "long line",
         "endless line", "endless output", "endless empty lines"],
)  # fmt: skip
def test_what_is_no_answer_ends_the_comparison(
    body: str, reason: str, program: Program, files: list[VectorFile], tmp_path: Path
) -> None:
    found = errors(verify(command_results(program(body), files, timeout=PATIENCE), files))
    first = "06" if "again" in reason else "05"
    assert list(found) == [first, *after(first, "")]
    assert found[first].startswith(reason)
    assert all(found[name] == f"does not count: {found[first]}" for name in after(first, ""))
    assert len(noted(tmp_path)) == 1  # it is not started again


@pytest.mark.parametrize(
    ("body", "reason"),
    [
        (FLUSHED + "say('done')", "line 161 comes after the last answer: 'done'"),
        (FLUSHED + "say(answer(line))", "line 161 comes after the last answer: 'decode.e2m"),
        (FLUSHED + "while True: say('y')", "line 161 comes after the last answer: 'y'"),
        (FLUSHED + "sys.stdout.write('don'); sys.stdout.flush()",
         "the program ended after its last answer, within a line: 'don'"),
        (FLUSHED + "sys.exit(3)", "the program ended with exit status 3 after its last answer"),
        (FLUSHED + "raise OSError('no disk')", "the program ended with exit status 1 after its last"
         " answer; the last line of its stderr: OSError: no disk"),
        (FLUSHED + "os.kill(os.getpid(), signal.SIGABRT)",
         "the program was ended by SIGABRT after its last answer"),
        (FLUSHED + "hang()", "the program did not end within 1 s after its last answer"),
        (FLUSHED + "os.close(1); hang()",
         "the program did not end within 1 s after its last answer"),
        (FLUSHED + "while True: say('#'); pass_time(2)",
         "the program did not end within 1 s after its last answer"),
        (FLUSHED + "signal.signal(signal.SIGTERM, signal.SIG_IGN)\nhang()",
         "the program did not end within 1 s after its last answer"),
        ("sys.stdin = open(0, closefd=False)\nfor number, line in enumerate(sys.stdin):\n"
         "    if line[0] != '#': say(answer(line))\n    if number == 160:"
         " os.close(0); hang()",
         "the program did not end within 1 s after its last answer"),
    ],
    ids=["a line", "an answer", "endless", "half a line", "status", "exception", "abort", "sleeps",
         "closes its output", "remarks for ever", "ignores SIGTERM", "closes its input"],
)  # fmt: skip
def test_what_comes_after_the_last_answer(
    body: str, reason: str, program: Program, files: list[VectorFile], tmp_path: Path
) -> None:
    timeout = 1.0 if "within 1 s" in reason else PATIENCE
    report = verify(command_results(program(body), files, timeout=timeout), files)
    ((file, last),) = report.failures
    assert (file.format, last.case.name) == ("e2m1", "0f")  # the last one that it has answered
    assert last.error.startswith(reason)
    assert report.not_covered == ("decode e2m3",)
    assert len(noted(tmp_path)) == 1


@pytest.mark.sampled(6)
@pytest.mark.parametrize(
    ("action", "reason"),
    [
        ("sys.exit(1)", "the program ended with exit status 1 before an answer"),
        ("sys.exit(0)", "the program ended before an answer"),
        (
            "raise KeyError(line[-4:-1])",
            "the program ended with exit status 1 before an answer; "
            "the last line of its stderr: KeyError: ' 05'",
        ),
        ("os.kill(os.getpid(), 11)", "the program was ended by SIGSEGV before an answer"),
        ("os.kill(os.getpid(), 9)", "the program was ended by SIGKILL before an answer"),
        ("os.abort()", "the program was ended by SIGABRT before an answer"),
        (
            "sys.stdout.write('decode.e2m1.f'); sys.exit(0)",
            "the program ended before an answer, within a line: 'decode.e2m1.f'",
        ),
        (
            "os.write(1, b'deco'); os.abort()",
            "the program was ended by SIGABRT before an answer, within a line: 'deco'",
        ),
        (SPAWN.replace("\n", "; os.abort()"), "the program was ended by SIGABRT before an answer"),
    ],
)
def test_a_crash_fails_its_case_only(
    action: str, reason: str, program: Program, files: list[VectorFile], tmp_path: Path
) -> None:
    report = verify(command_results(program(AT_05.format(action)), files, timeout=PATIENCE), files)
    assert errors(report) == {"05": reason}
    assert report.verdict == "fails with errors"
    assert len(noted(tmp_path)) == 2 + ("note(" in action)  # it was started again behind it


@pytest.mark.sampled(3)
@pytest.mark.parametrize(
    ("action", "reason"),
    [
        ("hang()", SILENT),
        ("signal.signal(signal.SIGTERM, signal.SIG_IGN); hang()", SILENT),
        ("\n        while True: say('#'); pass_time(2)", SILENT),
        ("os.close(1); hang()", "the program closed its output before an answer"),
        (
            "os.close(0); sys.stderr.write('lost\\n'); hang()",
            f"{SILENT}; the last line of its stderr: lost",
        ),
        (SPAWN.replace("\n", "; hang()"), SILENT),
    ],
    ids=["sleeps", "ignores SIGTERM", "remarks for ever", "closes its output", "closes its input",
         "with a grandchild"],
)  # fmt: skip
def test_a_hang_fails_its_case_only(
    action: str, reason: str, program: Program, files: list[VectorFile], tmp_path: Path
) -> None:
    target = command_results(program(AT_05.format(action)), files, timeout=1.5)
    assert passed(tmp_path) > 1.5
    report = verify(target, files)
    assert errors(report) == {"05": reason}
    assert len(noted(tmp_path)) == 2 + ("note(" in action)


@pytest.mark.sampled(0)
def test_a_program_that_hangs_at_the_start(
    program: Program, files: list[VectorFile], tmp_path: Path
) -> None:
    target = command_results(program("hang()"), files, timeout=0.5)
    assert len(noted(tmp_path)) == 4
    found = [answer.error for of_file in target.answers.values() for answer in of_file.values()]
    reason = "gave no answer within 0.5 s"
    assert found[:4] == [f"the program {reason}"] * 4
    assert set(found[4:]) == {f"not asked after 4 starts: the program {reason}"}
    assert not verify(target, files).passed


def test_a_program_is_started_again_three_times(
    program: Program, files: list[VectorFile], tmp_path: Path
) -> None:
    body = FLUSHED.replace("say", "sys.exit(2) if line[-2] in '13579' else say")
    report = verify(command_results(program(body), files, timeout=PATIENCE), files[:1])
    ended = "ended with exit status 2 before an answer"
    crashes = dict.fromkeys(("01", "03", "05", "07"), f"the program {ended}")
    others = after("07", f"not asked after 4 starts: the program {ended}")
    assert errors(report) == crashes | others
    assert len(noted(tmp_path)) == 4


def test_a_program_that_reads_nothing(program: Program, files: list[VectorFile]) -> None:
    target = command_results(program("os.close(0)\n"), files, timeout=PATIENCE, restarts=0)
    first, *others = target.answers["decode/e2m1.f32"].values()
    assert first.error == "the program ended before an answer"
    reason = "not asked after 1 start: the program ended before an answer"
    assert {answer.error for answer in others} == {reason}


@pytest.mark.parametrize("asked", ["questions", "list(questions)"], ids=["each", "all first"])
def test_the_pipes_do_not_block_each_other(asked: str, program: Program, tmp_path: Path) -> None:
    """More than pipes hold, in both directions."""
    folder = copy_vectors(tmp_path / "vectors", "encode/e4m3.f32.jsonl")
    files = golden.read_vectors(folder)
    body = f"for line in {asked}: print(line.split()[0], '0' * 1000)\n"
    target = command_results(program(body), files, timeout=PATIENCE)
    (answers,) = target.answers.values()
    assert len(answers) == len(files[0].cases) > 3000
    assert all(answer.words == (0,) for answer in answers.values())


def test_a_program_that_stops_reading_amid_many_questions(program: Program, tmp_path: Path) -> None:
    folder = copy_vectors(tmp_path / "vectors", "encode/e4m3.f32.jsonl")
    body = "for i in range(10): say(next(questions).split()[0] + ' 0')\nos.close(0)\n"
    files = golden.read_vectors(folder)
    target = command_results(program(body), files, timeout=PATIENCE, restarts=0)
    answers = list(target.answers["encode/e4m3.f32"].values())
    assert [answer.error for answer in answers[:10]] == [""] * 10
    assert answers[10].error == "the program ended before an answer"


def test_claims_outlive_a_crash(program: Program, files: list[VectorFile], tmp_path: Path) -> None:
    body = (
        f"if open({str(tmp_path / 'pids')!r}).read().count(chr(10)) == 1: say('# formats e2m1')\n"
    )
    crash = AT_05.format("sys.exit(1)").replace("say(answer(line))", "say(line.split()[0] + ' 0')")
    target = command_results(program(body + crash), files, timeout=PATIENCE)
    assert verify(target, files).not_covered == ("decode e2m3",)


@pytest.mark.sampled(0)
def test_time_counts_from_answer_to_answer(
    program: Program, files: list[VectorFile], tmp_path: Path
) -> None:
    body = FLUSHED.replace("say", "pass_time(1); say")  # 16 cases, twice
    report = verify(command_results(program(body), files[:1], timeout=1.5), files[:1])
    assert report.passed
    assert passed(tmp_path) == 32


def test_what_came_while_mxref_did_not_run_came_in_time(program: Program, tmp_path: Path) -> None:
    command = shlex.split(program("say('a'); pass_time(99)"))
    for look, want in ((Running.line, b"a\n"), (Running.ending, "")):
        running = Running(command, timeout=1.0)
        os.waitid(os.P_PID, running._process.pid, os.WEXITED | os.WNOWAIT)
        assert passed(tmp_path) - running._progress == 99
        assert look(running) == want
        running.stop()


# --- every case twice -----------------------------------------------------------------------------

#: A program that does something at the second question with an id.
TWICE = """
seen = set()
for line in questions:
    id = line.split()[0]
    if id in seen and is_case(line, "05"):
        {}
    seen.add(id)
    say(answer(line))
"""


@pytest.mark.parametrize(
    ("action", "text"),
    [
        (
            "say(id + ' 40600000'); continue",
            "the same code gave 40400000 and 40600000 (decode.e2m1.f32.05)",
        ),
        (
            "say(id + ' unsupported'); continue",
            "the same code was `unsupported` once, and was answered (decode.e2m1.f32.05)",
        ),
    ],
)
def test_two_answers_are_not_reproducible(
    action: str, text: str, program: Program, vectors: Path, capsys: Capture
) -> None:
    command = program(TWICE.format(action))
    assert main(["verify", "--cmd", command, "--vectors", str(vectors)]) == 1
    out, _ = capsys.readouterr()
    counts = "1 of 16 cases, asked again in another order"
    assert f"\nBUG: decode e2m1: not reproducible: {text}; {counts}\n" in out
    assert "wrong exactly where" not in out
    assert out.splitlines()[-1] == f"FAIL {command}: 16 cases, 0 failed: is not reproducible"


def test_a_nan_with_another_payload_is_no_other_answer(program: Program, tmp_path: Path) -> None:
    files = golden.read_vectors(copy_vectors(tmp_path / "vectors", "decode/e4m3.f32.jsonl"))
    body = """
seen = set()
for line in questions:
    id = line.split()[0]
    say(id + (" 7fc00001" if id in seen else " 7fc00000"))
    seen.add(id)
"""
    report = check(command_results(program(body), files, timeout=PATIENCE), files)
    assert (report.uses, len(report.failures)) == ((), 254)


def test_a_crash_at_the_second_time_fails_the_case(
    program: Program, files: list[VectorFile], tmp_path: Path
) -> None:
    # The program that is started again has seen nothing, and is asked the others only.
    report = check(command_results(program(TWICE.format("sys.exit(3)")), files), files)
    ended = "the program ended with exit status 3 before an answer"
    assert errors(report) == {"05": f"asked a second time: {ended}"}
    assert report.uses == ()
    assert len(noted(tmp_path)) == 2


def test_the_second_time_has_another_order(
    program: Program, files: list[VectorFile], tmp_path: Path
) -> None:
    log = tmp_path / "log"
    body = f"log = open({str(log)!r}, 'w')\n" + FLUSHED.replace("say(", "log.write(line); say(")
    drawn = {"decode/e2m1.f32": np.array([[3], [9]], np.uint64)}
    target = command_results(program(body), files, drawn=drawn, timeout=PATIENCE)
    asked = [line.split() for line in log.read_text().splitlines()]
    ids = [line[0] for line in asked]
    cases = [case.id for file in files for case in file.cases]
    assert ids[:80] == cases
    assert asked[80] == ["decode.e2m1.f32.drawn_0", "decode", "e2m1", "f32", "03"]
    assert ids[81] == "decode.e2m1.f32.drawn_1"
    assert sorted(ids[82:]) == sorted(cases)
    assert sum(one == other for one, other in zip(ids[82:], cases, strict=True)) < 8
    file = without_cases("decode", "e2m1", "f32")
    found = target.ask(file, drawn["decode/e2m1.f32"])
    assert found.words.tolist() == [[0x3FC00000], [0xBF000000]]
    with pytest.raises(ValueError, match="there are answers to those only"):
        target.ask(file, np.array([[3], [8]], np.uint64))


#: `encode` to E2M1, wrong for numbers that no vector has.
ENCODE = """
MIDDLES = [0.25, 0.75, 1.25, 1.75, 2.5, 3.5, 5.0]

def answer(line):
    id, op, format, float, word = line.split()
    bits = int(word, 16)
    magnitude = bits & 0x7FFFFFFF
    number = struct.unpack(">f", struct.pack(">I", magnitude))[0]
    code = sum(number > m or (number == m and i % 2) for i, m in enumerate(MIDDLES))
    if magnitude > 0x7F800000:
        return id + " 7"
    wrong = (bits & 31) == 0x15
    return "%s %x" % (id, code ^ wrong | bits >> 31 << 3)

"""


@pytest.mark.sampled(6)
def test_a_search_is_made_in_the_same_run(
    program: Program, tmp_path: Path, capsys: Capture
) -> None:
    folder = copy_vectors(tmp_path / "vectors", "encode/e2m1.f32.jsonl")
    command = program(ENCODE + BUFFERED)
    arguments = ["verify", "--cmd", command, "--vectors", str(folder)]
    assert main([*arguments, "--no-search"]) == 0
    assert "a search" not in capsys.readouterr().out
    assert len(noted(tmp_path)) == 1
    for seed in ("0", "3"):
        assert main([*arguments, "--seed", seed]) == 1
        out, _ = capsys.readouterr()
        assert f"asked: the vectors (level 1); a search of 256 questions (seed {seed})\n" in out
        assert "  encode.e2m1.f32.search_0: in " in out
    assert (
        main(["verify", "--cmd", program(ENCODE.replace("0x15", "99") + BUFFERED), *arguments[3:]])
        == 0
    )
    assert len(noted(tmp_path)) == 4


# --- asked again and again ------------------------------------------------------------------------


def test_one_process_for_all_questions(program: Program, tmp_path: Path) -> None:
    file = without_cases("decode", "e2m1", "f32")
    with CommandTarget(program("say('# policy ocp+decoded_zero=dropped')\n" + FLUSHED)) as target:
        assert str(target.policy) == "ocp+decoded_zero=dropped"
        assert target.covers("decode", "e2m1", "f32")
        assert not target.covers("decode", "e2m3", "f32")
        assert not target.covers("quantize", "mxfp4_e2m1", "bf16")
        for code, word in ((1, 0x3F000000), (15, 0xC0C00000), (8, 0x80000000)):
            found = target.ask(file, np.array([[code], [0]], np.uint64))
            assert (found.words.tolist(), found.errors) == ([[word], [0]], {})
        assert target.ask(file, np.empty((0, 1), np.uint64)).errors == {}
    assert len(noted(tmp_path)) == 1


def test_formats_that_are_not_claimed(program: Program) -> None:
    with CommandTarget(program("say('# formats e2m3')\n" + FLUSHED)) as target:
        assert not target.covers("decode", "e2m1", "f32")


def test_a_crash_is_the_answer_to_its_question(program: Program, tmp_path: Path) -> None:
    body = FLUSHED.replace("say", "os.abort() if line.split()[-1] == '05' else say")
    file = without_cases("decode", "e2m1", "f32")
    inputs = np.array([[1], [5], [2], [5], [3]], np.uint64)
    with CommandTarget(program(body), timeout=PATIENCE, restarts=1) as target:
        found = target.ask(file, inputs)
        ended = "was ended by SIGABRT before an answer"
        assert found.errors == {
            1: f"the program {ended}",
            3: f"the program {ended}",
            4: f"not asked after 2 starts: the program {ended}",
        }
        assert found.words[[0, 2], 0].tolist() == [0x3F000000, 0x3F800000]
        assert set(target.ask(file, inputs).errors) == set(range(5))
    assert len(noted(tmp_path)) == 2


def test_a_program_that_does_not_flush(program: Program) -> None:
    body = "import threading; threading.Thread(target=hang, daemon=True).start()\n" + BUFFERED
    with CommandTarget(program(body), timeout=1) as target:
        found = target.ask(without_cases("decode", "e2m1", "f32"), np.array([[1], [2]], np.uint64))
    reason = "gave no answer within 1 s; it must flush its output after each line"
    assert found.errors == {
        0: f"the program {reason}",
        1: f"not asked after 1 start: the program {reason}",
    }


def test_a_program_that_closes_its_output_is_not_waited_for_again(program: Program) -> None:
    with CommandTarget(program("os.close(1); hang()"), timeout=1, restarts=60) as target:
        found = target.ask(without_cases("decode", "e2m1", "f32"), np.array([[1], [2]], np.uint64))
    reason = "the program closed its output before an answer"
    assert found.errors == {0: reason, 1: f"not asked after 1 start: {reason}"}


def test_a_program_that_never_answers_is_started_eight_times(
    program: Program, tmp_path: Path
) -> None:
    file, inputs = without_cases("decode", "e2m1", "f32"), np.arange(12, dtype=np.uint64)[:, None]
    with CommandTarget(program("sys.exit(3)"), timeout=PATIENCE, restarts=60) as target:
        found = target.ask(file, inputs)
    assert found.errors[11].startswith("not asked after 8 starts: the program ended with exit")
    assert len(noted(tmp_path)) == 8


def test_what_nobody_asked_for_is_found_at_the_next_question(program: Program) -> None:
    body = FLUSHED.replace("say(answer(line))", "say(answer(line) + chr(10) + answer(line))")
    file = without_cases("decode", "e2m1", "f32")
    with CommandTarget(program(body), timeout=PATIENCE) as target:
        assert target.ask(file, np.array([[1]], np.uint64)).errors == {}
        found = target.ask(file, np.array([[1]], np.uint64))
    assert found.errors == {0: "line 2 must begin with 2, whose answer is due, got '1 3f000000'"}


def test_a_program_may_end_by_itself(
    program: Program, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("mxref.targets.command._GRACE", PATIENCE)
    done = tmp_path / "done"
    body = FLUSHED + f"time.sleep(0.1); open({str(done)!r}, 'w').close()\n"
    with CommandTarget(program(body), timeout=PATIENCE) as target:
        assert target.covers("decode", "e2m1", "f32")
    assert done.exists()


#: How a program ends after right answers, and how that is told.
BAD_ENDS = {
    "sys.exit(255)": "ended with exit status 255 after its last answer",
    "os.kill(os.getpid(), 9)": "was ended by SIGKILL after its last answer",
    "while True: say('# bye'); pass_time(1)": "did not end within 0.5 s after its last answer",
    "hang()": "did not end within 0.5 s after its last answer",
    "say('more')": "comes after the last answer: 'more'",
    "os.write(1, b'mo')": "ended after its last answer, within a line: 'mo'",
}


@pytest.mark.sampled(12)
@pytest.mark.parametrize("verb", ["verify --no-search", "identify", "fuzz --examples 1", "sweep"])
@pytest.mark.parametrize("body", BAD_ENDS)
def test_every_verb_judges_how_a_program_ends(
    body: str, verb: str, program: Program, capsys: Capture
) -> None:
    """Right answers alone are no pass."""
    command = program(FLUSHED + body + "\n")
    words = [*verb.split(), "--cmd", command, "--op", "decode", "--format", "e2m1"]
    timeout = "0.5" if "0.5 s" in BAD_ENDS[body] else str(PATIENCE)
    assert main([*words, "--float", "f32", "--timeout", timeout]) == 1
    printed = capsys.readouterr()
    assert BAD_ENDS[body] in printed.out, printed
    assert "PASS" not in printed.out


@pytest.mark.parametrize("words", [[], ["--op", "unpack", "--op", "unpack_scales"]])
def test_what_a_program_calls_unsupported_is_not_identified(
    words: list[str], program: Program, capsys: Capture
) -> None:
    command = program(FLUSHED)
    options = ["--timeout", str(PATIENCE), *words]
    assert main(["identify", "--cmd", command, *options]) == (1 if words else 0)
    printed = capsys.readouterr().out.splitlines()[-1]
    nothing = "nothing asked: it covers nothing of this"
    checks = re.escape(shlex.join(["mxref", "verify", "--cmd", command, "--policy", "ocp"]))
    last = nothing if words else rf"equals ocp on \d+ probes; `{checks}` checks it"
    assert re.fullmatch(f"{re.escape(command)}: {last}", printed)


@pytest.mark.parametrize("verb", ["identify", "fuzz --examples 1", "sweep"])
def test_a_bad_end_and_json(verb: str, program: Program, capsys: Capture) -> None:
    words = [*verb.split(), "--cmd", program(FLUSHED + "sys.exit(3)"), "--json"]
    assert main([*words, "--op", "decode", "--format", "e2m1", "--float", "f32"]) == 1
    printed = capsys.readouterr()
    record = json.loads(printed.out)
    told = printed.err[:-1] if verb == "identify" else record["ending"]
    assert told.endswith("the program ended with exit status 3 after its last answer")
    assert verb == "identify" or not record["passed"]


def test_an_end_without_answers_is_judged(program: Program) -> None:
    with CommandTarget(program(FLUSHED), timeout=PATIENCE) as target:
        assert target.end() == ""
        assert target.covers("decode", "e2m1", "f32")
        assert target.end() == ""


@pytest.mark.sampled(3)
def test_a_target_that_is_dropped_leaves_no_process(program: Program, tmp_path: Path) -> None:
    target = CommandTarget(program(FLUSHED + "time.sleep(100)"), timeout=PATIENCE)
    assert target.covers("decode", "e2m1", "f32")
    (pid,) = noted(tmp_path)
    assert not is_gone(pid)
    del target
    gc.collect()
    assert_gone([pid])


def test_an_exception_leaves_no_process(
    program: Program, tmp_path: Path, files: list[VectorFile], monkeypatch: pytest.MonkeyPatch
) -> None:
    def interrupted(self: Dialogue, line: bytes) -> bool:
        raise KeyboardInterrupt

    monkeypatch.setattr(Dialogue, "hear", interrupted)
    with pytest.raises(KeyboardInterrupt):
        command_results(program(FLUSHED + "time.sleep(100)"), files, timeout=PATIENCE)
    assert_gone(noted(tmp_path))


# --- signals --------------------------------------------------------------------------------------


@pytest.mark.sampled(6)
@pytest.mark.parametrize(
    ("number", "status"),
    [(signal.SIGINT, (-signal.SIGINT, 130)), (signal.SIGTERM, (143,)), (signal.SIGHUP, (129,))],
)
def test_a_signal_leaves_no_process(
    number: int, status: tuple[int, ...], program: Program, vectors: Path, tmp_path: Path
) -> None:
    body = SPAWN + "signal.signal(signal.SIGTERM, signal.SIG_IGN)\ntime.sleep(100)"
    arguments = ["verify", "--cmd", program(body), "--vectors", str(vectors), "--timeout", "600"]
    command = [sys.executable, "-m", "mxref", *arguments]
    with subprocess.Popen(command, stdout=subprocess.PIPE, stderr=subprocess.PIPE) as process:
        try:
            deadline = time.monotonic() + PATIENCE
            while len(noted(tmp_path)) < 2 and time.monotonic() < deadline:
                time.sleep(0.02)
            pids = noted(tmp_path)
            assert len(pids) == 2
            process.send_signal(number)
            out, _ = process.communicate(timeout=PATIENCE)
        finally:
            process.kill()
    assert (process.returncode in status, out) == (True, b"")
    assert_gone(pids)


def test_signals_are_as_before_in_the_end(program: Program, vectors: Path, capsys: Capture) -> None:
    before = signal.getsignal(signal.SIGTERM)
    assert main(["verify", "--cmd", program(FLUSHED), "--vectors", str(vectors)]) == 0
    assert signal.getsignal(signal.SIGTERM) is before


def test_no_such_program(files: list[VectorFile]) -> None:
    text = sentence(TargetError, lambda: command_results("/no/such --option", files))
    assert text == "command '/no/such' cannot be run: No such file or directory"


def test_a_search_of_no_questions_has_no_answers(program: Program, files: list[VectorFile]) -> None:
    few = [dataclasses.replace(files[0], cases=files[0].cases[:2])]
    nothing = {few[0].stem: np.zeros((0, 1), np.uint64)}
    target = command_results(program(BUFFERED), few, drawn=nothing, timeout=PATIENCE)
    assert verify(target, few).passed


def test_the_last_line_of_errors_is_read_when_nothing_else_is_ready() -> None:
    text = "import sys; sys.stderr.write('one\\ntwo\\n'); sys.stderr.flush(); input()"
    running = Running([sys.executable, "-c", text], 60)
    try:
        select.select([running._errors], [], [], 60)
        assert running.last_errors() == "; the last line of its stderr: two"
    finally:
        running.finish(60)
