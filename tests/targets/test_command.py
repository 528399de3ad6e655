"""Targets that are programs: right ones, and every way to misbehave; none is left running.

The programs are small scripts, of data/programs.toml. Each writes the number of its process, and of
processes that it starts, into a file, so that the tests can look whether they are gone. The time
that passes for mxref is what the programs say, in another file.
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
import tomllib
from collections.abc import Iterator
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import numpy as np
import pytest
from helpers import PATIENCE, copy_vectors, sentence, vector_file

from mxref import golden
from mxref.cases.beside import beside
from mxref.cli import main
from mxref.conformance import CommandTarget, Report, TargetError, check, command_results, verify
from mxref.golden import VectorFile
from mxref.targets.calls import without_cases
from mxref.targets.line_protocol import Dialogue, questions_of
from mxref.targets.process import RunningProgram

pytestmark = pytest.mark.skipif(os.name != "posix", reason="a command needs POSIX")

PROGRAMS = tomllib.loads((Path(__file__).parent / "data" / "programs.toml").read_text("utf-8"))
FLUSHED, AT_05, TWICE = (PROGRAMS[name] for name in ("flushed", "at_05", "twice"))
E2M1 = without_cases("decode", "e2m1", "f32")
Capture, Patch = pytest.CaptureFixture[str], pytest.MonkeyPatch
Files = list[VectorFile]


@pytest.fixture(scope="module")
def vectors(tmp_path_factory: pytest.TempPathFactory) -> Path:
    files = ("decode/e2m1.f32.jsonl", "decode/e2m3.f32.jsonl")
    return copy_vectors(tmp_path_factory.mktemp("vectors"), *files)


@pytest.fixture(scope="module")
def files(vectors: Path) -> Files:
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


class Program:
    """Makes a command of a script, and knows what it has started."""

    def __init__(self, folder: Path) -> None:
        self._script, self._pids, self._ticks = (
            folder / one for one in ("script", "pids", "ticks")
        )
        self._pids.touch()
        self._ticks.touch()

    def __call__(self, body: str) -> str:
        begin = PROGRAMS["begin"].replace("PIDS", repr(str(self._pids)))
        begin = begin.replace("TICKS", repr(str(self._ticks)))
        self._script.write_text(begin + body.replace("{flushed}", FLUSHED))
        return shlex.join([sys.executable, "-S", "-E", str(self._script)])

    @property
    def pids(self) -> list[int]:
        """The processes that it has noted so far."""
        return [int(line) for line in self._pids.read_text("ascii").splitlines()]

    @property
    def passed(self) -> int:
        """Seconds that have passed for mxref, as it says."""
        return self._ticks.stat().st_size


@pytest.fixture
def program(tmp_path: Path, monkeypatch: Patch) -> Iterator[Program]:
    """A maker of commands; what they have started must be gone in the end."""
    made = Program(tmp_path)
    clock = SimpleNamespace(monotonic=lambda: made.passed)
    monkeypatch.setattr("mxref.targets.process.time", clock)
    yield made
    assert_gone(made.pids)


def results(command: str, files: Files, timeout: float = PATIENCE, **options: Any) -> Report:
    return verify(command_results(command, files, timeout=timeout, **options), files)


def errors(report: Report) -> dict[str, str]:
    """Why cases of E2M1 have failed."""
    failures = [failure for file, failure in report.failures if file.format == "e2m1"]
    return {failure.case.name: failure.error for failure in failures}


def after(name: str, text: str) -> dict[str, str]:
    """The same text for all cases behind one."""
    return {f"{code:02x}": text for code in range(int(name, 16) + 1, 16)}


def words(*codes: int) -> Any:
    return np.array([[code] for code in codes], np.uint64)


# --- programs that pass ---------------------------------------------------------------------------


@pytest.mark.parametrize("name", PROGRAMS["right"])
def test_a_right_program_passes(name: str, program: Program, files: Files) -> None:
    report = results(program(PROGRAMS["right"][name]), files)
    assert (report.passed, report.compared, report.failures) == (True, 16, [])
    assert (report.verdict, report.not_covered) == ("conforms", ("decode e2m3",))
    assert len(program.pids) == 1 + ("grandchild" in name)  # it was started once


@pytest.mark.parametrize("twice", [True, False])
def test_how_far_a_program_is(program: Program, files: Files, *, twice: bool) -> None:
    shares: list[float] = []
    results(program(FLUSHED), files, twice=twice, tell=shares.append)
    cases = sum(len(file.cases) for file in files)
    assert shares[:2] == [1 / cases / (1 + twice), 2 / cases / (1 + twice)]
    assert (shares, shares[-1]) == (sorted(shares), 1)


def test_the_command_line(program: Program, vectors: Path, capsys: Capture) -> None:
    options = ["--vectors", str(vectors), "--timeout", str(PATIENCE)]
    handler = signal.getsignal(signal.SIGTERM)
    command = program(FLUSHED)
    assert main(["verify", "--cmd", command, *options]) == 0
    last = f"PASS {command}: 16 cases, 0 failed: conforms\n"
    out, err = capsys.readouterr()
    assert (out.endswith(last), err) == (True, "")
    assert signal.getsignal(signal.SIGTERM) is handler
    assert main(["verify", "--cmd", program("VALUES[5] = 3.5\n" + FLUSHED), *options]) == 1
    out, _ = capsys.readouterr()
    assert "decode.e2m1.f32.05: code 05 = 3, want 40400000 = 0x1.8p+1 = 3, got 40600000" in out
    where = "in the cases asked, wrong exactly where the code without its sign is 05 (2 of 2)"
    last = f"FAIL {command}: 16 cases, 2 failed: violates MX-5.3.3; {where}: bit 21 is wrong\n"
    assert out.endswith(last)


def test_what_is_not_claimed_is_not_compared(program: Program, files: Files) -> None:
    body = "say('# formats e4m3')\nfor line in questions: say(line.split()[0] + ' 0')\n"
    report = results(program(body), files)
    assert (report.compared, report.verdict) == (0, "nothing compared")
    with CommandTarget(program("say('# formats e2m3')\n" + FLUSHED)) as target:
        assert not target.covers("decode", "e2m1", "f32")


def test_a_claimed_policy(program: Program, files: Files) -> None:
    dropped = FLUSHED.replace("answer(line)", "answer(line).replace('80000000', '0')")
    report = results(program("say('# policy ocp+decoded_zero=dropped')\n" + dropped), files)
    assert report.verdict == "conforms under ocp+decoded_zero=dropped"
    with pytest.raises(TargetError, match="claims an unknown policy"):
        results(program("say('# policy mine')\n" + FLUSHED), files)


# --- programs that misbehave ----------------------------------------------------------------------


@pytest.mark.parametrize("name", PROGRAMS["untrusted"])
def test_behind_what_is_no_answer_nothing_counts(name: str, program: Program, files: Files) -> None:
    wrong = PROGRAMS["untrusted"][name]
    body = AT_05.format(wrong["at_05"]) if "at_05" in wrong else wrong["body"]
    report = results(program(body), files, 1.0 if "within 1 s" in wrong["error"] else PATIENCE)
    found, first = errors(report), wrong.get("code", "05")
    said, goes_on, _ = wrong["error"].partition("...")
    assert found[first].startswith(said) if goes_on else found[first] == said
    assert found == {first: found[first], **after(first, f"does not count: {found[first]}")}
    assert (report.not_covered == ("decode e2m3",)) == (first == "0f")
    assert len(program.pids) == 1  # it is not started again


@pytest.mark.sampled(4)
@pytest.mark.parametrize("name", PROGRAMS["failed"])
def test_a_crash_or_hang_fails_its_case_only(name: str, program: Program, files: Files) -> None:
    wrong = PROGRAMS["failed"][name]
    timeout = 1.5 if "hang" in wrong["at_05"] or "pass_time" in wrong["at_05"] else PATIENCE
    report = results(program(AT_05.format(wrong["at_05"])), files, timeout)
    assert errors(report) == {"05": wrong["error"]}
    assert report.verdict == f"fails with errors: {wrong['error']}"
    assert (program.passed > 1.5) == (timeout == 1.5)
    assert len(program.pids) == 2 + ("grandchild" in name)  # it was started again behind it


@pytest.mark.parametrize("name", PROGRAMS["never"])
def test_a_program_that_never_answers(name: str, program: Program) -> None:
    never = PROGRAMS["never"][name]
    options, starts = never["options"], never["starts"]
    questions = questions_of(E2M1, np.arange(12, dtype=np.uint64)[:, np.newaxis])
    with CommandTarget(program(never["body"]), **{"timeout": PATIENCE, **options}) as target:
        answers = [answer.error for answer in target.answers(questions, last=never["last"])]
    reason = f"the program {never['reason']}"
    assert answers[:starts] == [reason] * starts
    times = "1 start" if starts == 1 else f"{starts} starts"
    assert set(answers[starts:]) == {f"not asked after {times}: {reason}"}
    assert len(program.pids) == starts


def test_a_program_is_started_again_three_times(program: Program, files: Files) -> None:
    body = FLUSHED.replace("say", "sys.exit(2) if line[-2] in '13579' else say")
    ended = "the program ended with exit status 2 before an answer"
    others = after("07", f"not asked after 4 starts: {ended}")
    crashes = dict.fromkeys(("01", "03", "05", "07"), ended)
    assert errors(results(program(body), files[:1])) == crashes | others
    assert len(program.pids) == 4


@pytest.mark.parametrize("asked", ["questions", "list(questions)"], ids=["each", "all first"])
def test_the_pipes_do_not_block_each_other(asked: str, program: Program, tmp_path: Path) -> None:
    """More than pipes hold, in both directions."""
    files = golden.read_vectors(copy_vectors(tmp_path / "vectors", "encode/e4m3.f32.jsonl"))
    body = f"for line in {asked}: print(line.split()[0], '0' * 1000)\n"
    (answers,) = command_results(program(body), files, timeout=PATIENCE).answers.values()
    assert len(answers) == len(files[0].cases) > 3000
    assert all(answer.words == (0,) for answer in answers.values())
    # And where it stops reading amid many questions.
    body = "for i in range(10): say(next(questions).split()[0] + ' 0')\nos.close(0)\n"
    target = command_results(program(body), files, timeout=PATIENCE, restarts=0)
    said = [answer.error for answer in target.answers[files[0].stem].values()]
    assert said[:11] == [""] * 10 + ["the program ended before an answer"]


def test_claims_outlive_a_crash(program: Program, files: Files, tmp_path: Path) -> None:
    first = f"open({str(tmp_path / 'pids')!r}).read().count(chr(10)) == 1"
    crash = AT_05.format("sys.exit(1)").replace("say(answer(line))", "say(line.split()[0] + ' 0')")
    report = results(program(f"if {first}: say('# formats e2m1')\n{crash}"), files)
    assert report.not_covered == ("decode e2m3",)


@pytest.mark.sampled(0)
def test_time_counts_from_answer_to_answer(program: Program, files: Files) -> None:
    body = FLUSHED.replace("say", "pass_time(1); say")  # 16 cases, twice
    assert results(program(body), files[:1], 1.5).passed
    assert program.passed == 32


def test_what_came_while_mxref_did_not_run_came_in_time(program: Program) -> None:
    command = shlex.split(program("say('a'); pass_time(99)"))
    for look, want in ((RunningProgram.line, b"a\n"), (RunningProgram.ending, "")):
        running = RunningProgram(command, timeout=1.0)
        os.waitid(os.P_PID, running._process.pid, os.WEXITED | os.WNOWAIT)
        assert program.passed - running._progress == 99
        assert look(running) == want
        running.stop()


# --- every case twice -----------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("action", "text"),
    [
        ("say(id + ' 40600000')", "the same code gave 40400000 and 40600000"),
        ("say(id + ' unsupported')", "the same code was `unsupported` once, and was answered"),
    ],
)
def test_two_answers_are_not_reproducible(
    action: str, text: str, program: Program, vectors: Path, capsys: Capture
) -> None:
    command = program(TWICE.format(f"{action}; continue"))
    assert main(["verify", "--cmd", command, "--vectors", str(vectors)]) == 1
    out, _ = capsys.readouterr()
    text += " (decode.e2m1.f32.05); 1 of 16 cases, asked again in another order"
    assert f"\nBUG: decode e2m1: not reproducible: {text}\n" in out
    assert "wrong exactly where" not in out
    verdict = "is not reproducible: decode e2m1"
    assert out.splitlines()[-1] == f"FAIL {command}: 16 cases, 0 failed: {verdict}"


def test_a_nan_with_another_payload_is_no_other_answer(program: Program, tmp_path: Path) -> None:
    files = golden.read_vectors(copy_vectors(tmp_path / "vectors", "decode/e4m3.f32.jsonl"))
    body = TWICE.replace('and is_case(line, "05")', "").replace(
        "say(answer(line))", "say(id + ' 7fc00000')"
    )
    body = body.format("say(id + ' 7fc00001'); continue")
    report = check(command_results(program(body), files, timeout=PATIENCE), files)
    assert (report.uses, len(report.failures)) == ((), 254)


def test_a_crash_at_the_second_time_fails_the_case(program: Program, files: Files) -> None:
    # The program that is started again has seen nothing, and is asked the others only.
    report = check(command_results(program(TWICE.format("sys.exit(3)")), files), files)
    ended = "the program ended with exit status 3 before an answer"
    assert errors(report) == {"05": f"asked a second time: {ended}"}
    assert (report.uses, len(program.pids)) == ((), 2)


def test_the_second_time_has_another_order(program: Program, files: Files, tmp_path: Path) -> None:
    log = tmp_path / "log"
    body = f"log = open({str(log)!r}, 'w')\n" + FLUSHED.replace("say(", "log.write(line); say(")
    drawn = {"decode/e2m1.f32": words(3, 9)}
    target = command_results(program(body), files, drawn=drawn, timeout=PATIENCE)
    asked = [line.split() for line in log.read_text().splitlines()]
    ids = [line[0] for line in asked]
    cases = [case.id for file in files for case in file.cases]
    assert ids[:80] == cases
    assert asked[80] == ["decode.e2m1.f32.search_0", "decode", "e2m1", "f32", "03"]
    assert ids[81] == "decode.e2m1.f32.search_1"
    assert sorted(ids[82:]) == sorted(cases)
    assert sum(one == other for one, other in zip(ids[82:], cases, strict=True)) < 8
    assert target.ask(E2M1, words(3, 9)).words.tolist() == [[0x3FC00000], [0xBF000000]]
    with pytest.raises(ValueError, match="there are answers to those only"):
        target.ask(E2M1, words(3, 8))


@pytest.mark.parametrize("stem", ["qlinear_add/int8.bytes", "mma/volta_f16-f16-f16.f32"])
def test_no_id_is_asked_with_two_inputs(stem: str, program: Program, tmp_path: Path) -> None:
    """Files of which cases, too, have names like `drawn_0`."""
    log = tmp_path / "log"
    body = f"log = open({str(log)!r}, 'w')\n" + FLUSHED.replace("say(", "log.write(line); say(")
    file = vector_file(stem)
    assert any(".drawn_0" in case.id for case in file.cases)
    command_results(program(body), [file], drawn=beside([file]), timeout=PATIENCE)
    lines = {*log.read_text().splitlines()}
    ids = [line.split()[0] for line in lines]
    assert len(ids) > len(file.cases)
    assert len(ids) == len({*ids})


@pytest.mark.sampled(6)
def test_a_search_is_made_in_the_same_run(
    program: Program, tmp_path: Path, capsys: Capture
) -> None:
    """Of 256 questions, and of 256 ordinary numbers of each of 13 kinds."""
    folder = copy_vectors(tmp_path / "vectors", "encode/e2m1.f32.jsonl")
    arguments = ["verify", "--cmd", program(PROGRAMS["encode"]), "--vectors", str(folder)]
    assert main([*arguments, "--no-search"]) == 0
    assert "a search" not in capsys.readouterr().out
    assert len(program.pids) == 1
    for seed in ("0", "3"):
        assert main([*arguments, "--seed", seed]) == 1
        out, _ = capsys.readouterr()
        assert f"asked: the vectors (level 1); a search of 3,584 questions (seed {seed})\n" in out
        assert "  encode.e2m1.f32.search_0: in " in out
    arguments[2] = program(PROGRAMS["encode"].replace("0x15", "99"))
    assert main(arguments) == 0
    assert len(program.pids) == 4


def test_a_search_of_no_questions_has_no_answers(program: Program, files: Files) -> None:
    few = [dataclasses.replace(files[0], cases=files[0].cases[:2])]
    nothing = {few[0].stem: np.zeros((0, 1), np.uint64)}
    assert results(program(PROGRAMS["right"]["buffered"]), few, drawn=nothing).passed


# --- asked again and again ------------------------------------------------------------------------


def test_one_process_for_all_questions(program: Program) -> None:
    with CommandTarget(program("say('# policy ocp+decoded_zero=dropped')\n" + FLUSHED)) as target:
        assert str(target.policy) == "ocp+decoded_zero=dropped"
        assert target.covers("decode", "e2m1", "f32")
        assert not target.covers("decode", "e2m3", "f32")
        assert not target.covers("quantize", "mxfp4_e2m1", "bf16")
        for code, word in ((1, 0x3F000000), (15, 0xC0C00000), (8, 0x80000000)):
            found = target.ask(E2M1, words(code, 0))
            assert (found.words.tolist(), found.errors) == ([[word], [0]], {})
        assert target.ask(E2M1, np.empty((0, 1), np.uint64)).errors == {}
    assert len(program.pids) == 1


def test_a_crash_is_the_answer_to_its_question(program: Program) -> None:
    body = FLUSHED.replace("say", "os.abort() if line.split()[-1] == '05' else say")
    with CommandTarget(program(body), timeout=PATIENCE, restarts=1) as target:
        found = target.ask(E2M1, words(1, 5, 2, 5, 3))
        ended = "the program was ended by SIGABRT before an answer"
        assert found.errors == {1: ended, 3: ended, 4: f"not asked after 2 starts: {ended}"}
        assert found.words[[0, 2], 0].tolist() == [0x3F000000, 0x3F800000]
        assert set(target.ask(E2M1, words(1, 5, 2, 5, 3)).errors) == set(range(5))
    assert len(program.pids) == 2


def test_what_nobody_asked_for_is_found_at_the_next_question(program: Program) -> None:
    body = FLUSHED.replace("say(answer(line))", "say(answer(line) + chr(10) + answer(line))")
    with CommandTarget(program(body), timeout=PATIENCE) as target:
        assert target.ask(E2M1, words(1)).errors == {}
        found = target.ask(E2M1, words(1))
    assert found.errors == {0: "line 2 must begin with 2, whose answer is due, got '1 3f000000'"}


def test_a_program_may_end_by_itself(program: Program, tmp_path: Path, monkeypatch: Patch) -> None:
    monkeypatch.setattr("mxref.targets.command._GRACE", PATIENCE)
    done = tmp_path / "done"
    body = FLUSHED + f"time.sleep(0.1); open({str(done)!r}, 'w').close()\n"
    with CommandTarget(program(body), timeout=PATIENCE) as target:
        assert target.covers("decode", "e2m1", "f32")
    assert done.exists()


@pytest.mark.sampled(12)
@pytest.mark.parametrize("verb", ["verify --no-search", "identify", "fuzz --examples 1", "sweep"])
@pytest.mark.parametrize("body", PROGRAMS["end"])
def test_every_verb_judges_how_a_program_ends(
    body: str, verb: str, program: Program, capsys: Capture
) -> None:
    """Right answers alone are no pass."""
    ending = PROGRAMS["end"][body]
    words = [*verb.split(), "--cmd", program(f"{FLUSHED}{body}\n"), "--op", "decode"]
    timeout = "0.5" if "0.5 s" in ending else str(PATIENCE)
    assert main([*words, "--format", "e2m1", "--float", "f32", "--timeout", timeout]) == 1
    printed = capsys.readouterr()
    assert ending in printed.out, printed
    assert "PASS" not in printed.out


@pytest.mark.parametrize("verb", ["identify", "fuzz --examples 1", "sweep"])
def test_a_bad_end_and_json(verb: str, program: Program, capsys: Capture) -> None:
    words = [*verb.split(), "--cmd", program(FLUSHED + "sys.exit(3)"), "--json"]
    assert main([*words, "--op", "decode", "--format", "e2m1", "--float", "f32"]) == 1
    printed = capsys.readouterr()
    record = json.loads(printed.out)
    told = printed.err[:-1] if verb == "identify" else record["ending"]
    assert told.endswith("the program ended with exit status 3 after its last answer")
    assert verb == "identify" or not record["passed"]


@pytest.mark.parametrize("words", [[], ["--op", "unpack", "--op", "unpack_scales"]])
def test_what_a_program_calls_unsupported_is_not_identified(
    words: list[str], program: Program, capsys: Capture
) -> None:
    command = program(FLUSHED)
    options = ["--timeout", str(PATIENCE), *words]
    assert main(["identify", "--cmd", command, *options]) == (1 if words else 0)
    checks = re.escape(shlex.join(["mxref", "verify", "--cmd", command, "--policy", "ocp"]))
    last = rf"equals ocp on \d+ probes and \d+ vectors; `{checks}` checks it"
    last = "nothing asked: it covers nothing of this" if words else last
    assert re.fullmatch(f"{re.escape(command)}: {last}", capsys.readouterr().out.splitlines()[-1])


def test_an_end_without_answers_is_judged(program: Program) -> None:
    with CommandTarget(program(FLUSHED), timeout=PATIENCE) as target:
        assert target.end() == ""
        assert target.covers("decode", "e2m1", "f32")
        assert target.end() == ""


# --- nothing is left ------------------------------------------------------------------------------


@pytest.mark.sampled(3)
def test_a_target_that_is_dropped_leaves_no_process(program: Program) -> None:
    target = CommandTarget(program(FLUSHED + "time.sleep(100)"), timeout=PATIENCE)
    assert target.covers("decode", "e2m1", "f32")
    (pid,) = program.pids
    assert not is_gone(pid)
    del target
    gc.collect()
    assert_gone([pid])


def test_an_exception_leaves_no_process(program: Program, files: Files, monkeypatch: Patch) -> None:
    def interrupted(self: Dialogue, line: bytes) -> bool:
        raise KeyboardInterrupt

    monkeypatch.setattr(Dialogue, "hear", interrupted)
    with pytest.raises(KeyboardInterrupt):
        results(program(FLUSHED + "time.sleep(100)"), files)
    assert_gone(program.pids)


@pytest.mark.sampled(6)
@pytest.mark.parametrize(
    ("number", "status"),
    [(signal.SIGINT, (-signal.SIGINT, 130)), (signal.SIGTERM, (143,)), (signal.SIGHUP, (129,))],
)
def test_a_signal_leaves_no_process(
    number: int, status: tuple[int, ...], program: Program, vectors: Path
) -> None:
    body = "spawn()\nsignal.signal(signal.SIGTERM, signal.SIG_IGN)\ntime.sleep(100)"
    arguments = ["verify", "--cmd", program(body), "--vectors", str(vectors), "--timeout", "600"]
    command = [sys.executable, "-m", "mxref", *arguments]
    with subprocess.Popen(command, stdout=subprocess.PIPE, stderr=subprocess.PIPE) as process:
        try:
            deadline = time.monotonic() + PATIENCE
            while len(program.pids) < 2 and time.monotonic() < deadline:
                time.sleep(0.02)
            pids = program.pids
            assert len(pids) == 2
            process.send_signal(number)
            out, _ = process.communicate(timeout=PATIENCE)
        finally:
            process.kill()
    assert (process.returncode in status, out) == (True, b"")
    assert_gone(pids)


def test_no_such_program(files: Files) -> None:
    text = sentence(TargetError, lambda: command_results("/no/such --option", files))
    assert text == "command '/no/such' cannot be run: No such file or directory"


def test_the_last_line_of_errors_is_read_when_nothing_else_is_ready() -> None:
    text = "import sys; sys.stderr.write('one\\ntwo\\n'); sys.stderr.flush(); input()"
    running = RunningProgram([sys.executable, "-c", text], 60)
    try:
        select.select([running._errors], [], [], 60)
        assert running.last_errors() == "; the last line of its stderr: two"
    finally:
        running.finish(60)
