"""How a command ends: signals, targets that end their process, what is left behind.

tests/support/test_own_process.py has the ends of a check without a target.
"""

from __future__ import annotations

import contextlib
import functools
import importlib
import json
import os
import signal
import subprocess
import sys
import threading
import time
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import helpers
import numpy as np
import pytest
from helpers import PATIENCE, VECTORS
from tables import rows
from verify_helpers import target_file

from mxref import files
from mxref.cli import main
from mxref.support.interruption import STEADY, TerminationError, unwinding_signals
from mxref.targets.exit_guards import exits_raised
from mxref.targets.loading import load_target
from mxref.targets.target import TargetError

pytestmark = pytest.mark.skipif(os.name != "posix", reason="needs POSIX signals")

Capture = pytest.CaptureFixture[str]
Patch = pytest.MonkeyPatch
DATA = Path(__file__).resolve().parent / "data"

#: The least words of each verb.
WORDS = (
    *("formats", "explain rceil", "quantize x.npy --format mxfp4_e2m1", "regen", "score", "sweep"),
    *("diff ocp ocp --format mxfp4_e2m1", "export --check x", "verify kernel.py", "prompts x"),
    *("identify kernel.py", "fuzz kernel.py", "gen encode e4m3", "check encode e4m3"),
)
#: The module and the function that do the work of a verb, if not `_run` of its own module.
WORK = {
    "sweep": ("sweep", "_swept"),
    "export": ("export", "_check"),
    "gen": ("pipe", "_gen"),
    "check": ("pipe", "_check"),
}
#: What each signal makes of a command: its exit status, and how it is told.
SIGNALS = {
    signal.SIGINT: (130, "interrupted"),
    signal.SIGTERM: (143, "ended by SIGTERM"),
    signal.SIGHUP: (129, "ended by SIGHUP"),
}


#: The command with little patience, and with more than any machine needs.
SOON, LATE = (
    "import sys; from mxref.support import own_process; "
    f"own_process.GRACE = {grace}; from mxref.cli import main; sys.exit(main())"
    for grace in (0.3, PATIENCE)
)


@pytest.fixture(autouse=True)
def usual_signals() -> Iterator[None]:
    """As in a terminal, also where `nohup` or a shell's `&` has started the tests."""
    old = {number: signal.getsignal(number) for number in SIGNALS}
    for number in SIGNALS:
        usual = signal.default_int_handler if number == signal.SIGINT else signal.SIG_DFL
        signal.signal(number, usual)
    yield
    for number, handler in old.items():
        signal.signal(number, handler)


# --- signals --------------------------------------------------------------------------------------


@pytest.mark.parametrize("number", SIGNALS)
@pytest.mark.parametrize("words", WORDS)
def test_a_signal_ends_every_verb_in_a_sentence(
    words: str, number: signal.Signals, monkeypatch: Patch, capsys: Capture
) -> None:
    def work(*_: object) -> int:
        os.kill(os.getpid(), number)
        raise AssertionError("the signal was lost")

    verb = words.split()[0]
    module, name = WORK.get(verb, (verb, "_run"))
    monkeypatch.setattr(importlib.import_module(f"mxref.cli.{module}_verb"), name, work)
    before = [signal.getsignal(one) for one in SIGNALS]
    status, text = SIGNALS[number]
    how = ": nothing is kept: use --state FILE" if verb == "sweep" else ""
    assert main(words.split()) == status
    assert capsys.readouterr() == ("", f"mxref: {text}{how}\n")
    assert [signal.getsignal(one) for one in SIGNALS] == before


@pytest.mark.parametrize("number", SIGNALS)
@pytest.mark.parametrize("early", [0, 3])
def test_a_signal_in_a_destructor_is_not_lost(
    early: int, number: signal.Signals, monkeypatch: Patch, capsys: Capture
) -> None:
    """Python drops exceptions there, and in callbacks of its import system.

    The signal comes once more, and on a busy machine even before Python has dropped the exception.
    """
    sent = 0

    class Sent(threading.Timer):
        def start(self) -> None:
            nonlocal sent
            sent += 1
            if sent <= early:
                self.function(*self.args)
            else:
                super().start()

    class Destroyed:
        def __del__(self) -> None:
            os.kill(os.getpid(), number)

    def work(_: object) -> int:
        Destroyed()
        time.sleep(PATIENCE)
        raise AssertionError("the signal was lost")

    monkeypatch.setattr("mxref.cli.formats_verb._run", work)
    monkeypatch.setattr(threading, "Timer", Sent)
    hook = sys.unraisablehook
    assert main(["formats"]) == SIGNALS[number][0]
    assert capsys.readouterr() == ("", f"mxref: {SIGNALS[number][1]}\n")
    assert sys.unraisablehook is hook


@pytest.mark.parametrize("number", SIGNALS)
@pytest.mark.parametrize("suffix", [".npz", ".safetensors", ".gguf"])
def test_a_signal_leaves_no_temporary_file(
    suffix: str, number: signal.Signals, tmp_path: Path, monkeypatch: Patch, capsys: Capture
) -> None:
    found: list[Path] = []

    def chunks(codes: Any) -> Iterator[Any]:
        yield codes[:1]
        found.extend(tmp_path.glob(".out*"))
        os.kill(os.getpid(), number)

    for module in (files.npz_files, files.safetensors_files, files.gguf_files):
        monkeypatch.setattr(module, "chunks", chunks)
    source, out = tmp_path / "in.npy", tmp_path / f"out{suffix}"
    np.save(source, np.ones((64, 32), np.float32))
    words = ["quantize", str(source), "--format", "mxfp4_e2m1", "-o", str(out)]
    status, text = SIGNALS[number]
    assert main(words) == status
    assert capsys.readouterr().err == f"mxref: {text}\n"
    assert len(found) == 1
    assert list(tmp_path.iterdir()) == [source]


def test_a_signal_is_no_fault_of_the_target(
    tmp_path: Path, monkeypatch: Patch, capsys: Capture
) -> None:
    text = "import os, signal\ndef decode(*_):\n    os.kill(os.getpid(), signal.SIGTERM)\n"
    words = ["--op", "decode", "--format", "e2m1", "--vectors", str(VECTORS)]
    assert main(["verify", kernel(tmp_path, text), *words]) == 143
    assert capsys.readouterr() == ("", "mxref: ended by SIGTERM\n")


# --- targets that end their process ---------------------------------------------------------------

#: What a command is asked, in little time; `DECODE` is right, and what is put before it runs first.
LITTLE = ("--op", "decode", "--format", "e2m1")
VERIFY = ("verify", "kernel.py", *LITTLE, "--sizes", "0", "--no-search")
DECODE = (
    "import os, time, mxref\ndef decode(codes, format):\n    return mxref.decode(codes, format)\n"
)
NO_VERDICT = "mxref: error: no verdict: the process of the check "
NO_REPORT = f"mxref: error: standard output: {os.strerror(9)}\n"
EXITED = "ended with exit status {}, as by os._exit\n"

kernel = functools.partial(target_file, name="kernel.py")


def calling(body: str) -> str:
    """The text of a target that does something in each call, and then is right."""
    return DECODE.replace("    return", f"    {body}\n    return")


@contextlib.contextmanager
def started(folder: Path, command: str) -> Iterator[tuple[subprocess.Popen[str], Any]]:
    """A check whose target has said something, and its standard error."""
    with subprocess.Popen(
        [sys.executable, "-c", command, *VERIFY],
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
        text=True,
        cwd=folder,
        start_new_session=True,
    ) as process:
        yield process, process.stderr


def checked(folder: Path) -> subprocess.CompletedProcess[str]:
    return helpers.run(sys.executable, "-m", "mxref", *VERIFY, cwd=folder)


@pytest.mark.sampled(12)
@pytest.mark.parametrize("verb", ["verify", "fuzz", "identify", "sweep"])
def test_no_verb_takes_an_exit_while_it_loads_a_target_for_a_pass(
    verb: str, tmp_path: Path
) -> None:
    """The process that waits has neither NumPy nor anything else that a target may load."""
    kernel(
        tmp_path,
        "import os, sys, numpy\n"
        "mapped = open(f'/proc/{os.getppid()}/maps').read() if sys.platform == 'linux' else ''\n"
        "os._exit(7 if 'numpy' in mapped or sys.stdin.read() != 'typed' else 0)\n",
    )
    command = [sys.executable, "-m", "mxref", verb, "kernel.py"]
    done = helpers.run(*command, cwd=tmp_path, input="typed")
    error = NO_VERDICT + EXITED.format(0)
    assert (done.returncode, done.stdout, done.stderr) == (1, "", error)


@pytest.mark.sampled(6)
@pytest.mark.parametrize(
    ("body", "error"),
    [
        *((body, f"mxref: error: {said}\n") for body, said in rows("cli", "exits", "call")),
        ("os.closerange(3, 1024)", NO_REPORT + NO_VERDICT + EXITED.format(2)),
        ("os.fork()", ""),  # a copy gives no report
    ],
)
def test_a_call_that_ends_the_process(body: str, error: str, tmp_path: Path) -> None:
    kernel(tmp_path, calling(body))
    done = checked(tmp_path)
    assert (done.returncode, done.stderr) == (int(bool(error)), error)
    assert (done.stdout.count("PASS"), done.stdout == "") == (1 - bool(error), bool(error))


@pytest.mark.sampled(12)
@pytest.mark.parametrize("verb", ["verify", "identify", "fuzz", "sweep"])
@pytest.mark.parametrize("way", [way for (way,) in rows("cli", "exits", "output")])
def test_a_target_cannot_take_the_report_away(way: str, verb: str, tmp_path: Path) -> None:
    """Nor write into it."""
    kernel(tmp_path, "import sys\nOPEN = {1, 2}\n" + calling(f"{way}\n    OPEN.clear()"))
    words = [*LITTLE, *(["--examples", "1"] if verb == "fuzz" else []), "--json"]
    done = helpers.run(sys.executable, "-m", "mxref", verb, "kernel.py", *words, cwd=tmp_path)
    assert done.returncode == 0, done.stderr
    json.loads(done.stdout)


def test_one_report_of_an_interruption(tmp_path: Path) -> None:
    """A terminal sends SIGINT to both processes."""
    kernel(tmp_path, calling("print('asked')\n    time.sleep(3600)"))
    with started(tmp_path, LATE) as (process, said):
        assert said.readline() == "asked\n"  # a target's output goes there
        os.killpg(process.pid, signal.SIGINT)
        assert process.communicate(timeout=PATIENCE) == ("", "mxref: interrupted\n")
    assert process.returncode == 130


@pytest.mark.sampled(0)
def test_a_target_that_goes_on_is_killed_by_a_second_signal(tmp_path: Path) -> None:
    kernel(tmp_path, calling((DATA / "deaf_call.txt").read_text("ascii")))
    with started(tmp_path, LATE) as (process, said):
        for _ in range(2):
            assert said.readline() == "asked\n"
            process.send_signal(signal.SIGTERM)
            time.sleep(STEADY + 0.1)
        assert process.communicate(timeout=PATIENCE) == ("", "mxref: ended by SIGTERM\n")
    assert process.returncode == 143


@pytest.mark.sampled(0)
def test_the_check_ends_with_the_command(tmp_path: Path) -> None:
    kernel(tmp_path, calling("print(os.getpid())\n    time.sleep(3600)"))
    with started(tmp_path, LATE) as (process, said):
        check = int(said.readline())
        process.kill()
        assert said.read() == "mxref: ended by SIGTERM\n"  # and it has closed its end
    assert check != process.pid


@pytest.mark.parametrize("option", [None, "--in-process"])
def test_in_process(
    option: str | None, tmp_path: Path, monkeypatch: Patch, capsys: Capture
) -> None:
    words = ["verify", kernel(tmp_path, DECODE), *VERIFY[2:]]
    monkeypatch.delattr(os, "fork")
    monkeypatch.setattr(sys, "argv", ["mxref", *words, "--in-process"])
    assert main(words if option is None else None) == 0
    assert capsys.readouterr().out.splitlines()[-1].startswith("PASS")


# --- under pytest ---------------------------------------------------------------------------------


def status_of_copy(body: Callable[[], object]) -> int:
    """How a copy of this process ends in which something happens."""
    if not (copy := os.fork()):
        with contextlib.suppress(BaseException):
            body()
        os._exit(0)
    return os.waitstatus_to_exitcode(os.waitpid(copy, 0)[1])


def test_an_exit_is_a_fault_where_it_is_raised(tmp_path: Path) -> None:
    """But not that of a copy of the process."""
    with exits_raised():
        with pytest.raises(TargetError, match=r"cannot be imported: SystemExit: os\._exit\(0\)$"):
            load_target(kernel(tmp_path, "import os\nos._exit(0)\n"))
        assert status_of_copy(lambda: os._exit(5)) == 5


def test_a_thread_that_ends_pytest_gives_no_pass() -> None:
    def waits() -> None:
        with exits_raised():
            threading.Thread(target=lambda: os._exit(0)).start()
            time.sleep(PATIENCE)

    assert status_of_copy(waits) == 1


def under_pytest(folder: Path, test: str) -> subprocess.CompletedProcess[str]:
    (folder / "test_kernel.py").write_text(test)
    options = [f"--mxref-{one.lstrip('-')}" if "--" in one else one for one in VERIFY[2:]]
    options += ["-q", "-p", "mxref.pytest_plugin", "--mxref-target", "kernel.py"]
    alone = {**os.environ, "PYTEST_DISABLE_PLUGIN_AUTOLOAD": "1"}
    return helpers.run(sys.executable, "-m", "pytest", *options, cwd=folder, env=alone)


@pytest.mark.sampled(6)
def test_a_target_cannot_end_pytest(tmp_path: Path) -> None:
    text = "import atexit, os\natexit.register(lambda: os._exit(0))\n"
    kernel(tmp_path, text + calling("os._exit(0) if codes[0] % 2 else os.execlp('true', 'true')"))
    done = under_pytest(tmp_path, "def test_mx(mxref_case): mxref_case.check()\n")
    assert done.returncode == 1, done.stdout
    assert "1 failed" in done.stdout
    assert "SystemExit: os._exit(0)" in done.stdout
    assert "SystemExit: os.execv(" in done.stdout


@pytest.mark.sampled(12)
@pytest.mark.parametrize("way", [way for (way,) in rows("cli", "exits", "way")])
def test_a_target_cannot_end_pytest_between_two_calls(way: str, tmp_path: Path) -> None:
    """Nor by an `_exit` that it had before pytest collected its tests."""
    text = "import posix, signal, threading\nfrom os import _exit\n"
    kernel(tmp_path, text + calling(way))
    (tmp_path / "conftest.py").write_text("import sys; sys.path.insert(0, '.'); import kernel\n")
    wait = "import time\ndef test_mx(mxref_case):\n    mxref_case.check()\n    time.sleep(3600)\n"
    done = under_pytest(tmp_path, wait)
    assert done.returncode == 1, done.stdout
    assert "passed" not in done.stdout


# --- what outlives a signal, a verdict or a copy --------------------------------------------------

KILLED = "mxref: the check did not end within 0.3 s: killed\n"


@pytest.mark.sampled(6)
@pytest.mark.parametrize("deaf", [way for (way,) in rows("cli", "exits", "deaf")])
def test_one_signal_ends_a_target_that_does_not_hear_it(deaf: str, tmp_path: Path) -> None:
    kernel(tmp_path, "import signal\n" + calling(f"{deaf}\n    time.sleep(3600)"))
    with started(tmp_path, SOON) as (process, said):
        assert said.readline() == "asked\n"
        process.send_signal(signal.SIGTERM)
        assert said.read() == f"{KILLED}mxref: ended by SIGTERM\n"
    assert process.returncode == 143


@pytest.mark.sampled(0)
def test_what_a_target_does_to_modules_is_told_in_a_sentence(tmp_path: Path) -> None:
    gone = "('mxref.con', 'mxref.tar', 'mxref.cli', 'numpy.')"
    body = f"for k in list(sys.modules):\n        if k.startswith({gone}): del sys.modules[k]"
    kernel(tmp_path, "import sys\n" + calling(body))
    done = checked(tmp_path)
    assert (done.returncode, done.stdout, len(done.stderr.splitlines())) == (1, "", 1)
    assert done.stderr.startswith("mxref: error: the check was ended by ImportError")
    assert done.stderr.endswith("; --in-process shows where\n")


def test_a_copy_ends_by_a_signal_as_it_would_without_mxref() -> None:
    with unwinding_signals():
        status = status_of_copy(lambda: os.kill(os.getpid(), signal.SIGTERM))
    assert status == -signal.SIGTERM


def test_a_signal_after_all_is_done_gives_no_traceback() -> None:
    def interrupted() -> None:
        signal.signal(signal.SIGINT, signal.default_int_handler)
        with unwinding_signals(last=True):
            pass
        os.kill(os.getpid(), signal.SIGINT)

    assert status_of_copy(interrupted) == -signal.SIGINT


def test_a_signal_that_something_else_is_made_of_is_told() -> None:
    """NumPy makes an ImportError of one that comes while it is imported."""

    def imported() -> None:
        try:
            os.kill(os.getpid(), signal.SIGTERM)
            time.sleep(PATIENCE)
        except KeyboardInterrupt:
            raise ImportError("numpy._core.umath failed to import") from None

    with pytest.raises(TerminationError), unwinding_signals():
        imported()


def test_a_signal_waits_for_an_import(monkeypatch: Patch, capsys: Capture) -> None:
    ended = []

    def imported(name: str) -> Any:
        os.kill(os.getpid(), signal.SIGTERM)
        ended.append(name)

    monkeypatch.setattr(importlib, "import_module", imported)
    assert main(["formats"]) == 143
    assert (ended, capsys.readouterr()) == (
        ["mxref.cli.formats_verb"],
        ("", "mxref: ended by SIGTERM\n"),
    )


@pytest.mark.sampled(12)
@pytest.mark.parametrize("verb", ["verify", "fuzz"])
def test_a_target_that_leaves_no_file_to_be_opened(tmp_path: Path, verb: str) -> None:
    target = kernel(tmp_path, (DATA / "leaking_kernel.txt").read_text("ascii"))
    words = [sys.executable, "-m", "mxref", verb, target, "--format", "e2m1"]
    done = helpers.run(*words, cwd=tmp_path)
    assert (done.returncode, done.stdout) == (2, "")
    assert done.stderr.endswith(
        "there is no verdict: the target must close the files that it opens\n"
    )
