"""What the process that waits for a check in another one makes of every end of it."""

from __future__ import annotations

import contextlib
import os
import resource
import signal
import sys
import time
from collections.abc import Callable
from pathlib import Path

import pytest

from mxref.support import own_process

pytestmark = pytest.mark.skipif(not hasattr(os, "fork"), reason="needs os.fork")

NO_VERDICT = "mxref: error: no verdict: the process of the check "
KILLED = "mxref: the check did not end within 0.1 s: killed\n"
#: What ends long after all of a test should have ended.
LONG = 20.0


def going_on() -> None:
    """Say a word late."""
    time.sleep(LONG)
    os.write(2, b"late")


def ended(
    folder: Path, check: Callable[[], int], after: Callable[[], None], grace: float = LONG
) -> tuple[int, str]:
    """The exit status of a copy of this process that waits for the check, and all that is said.

    `after` is what the process of the check does with its verdict.
    """
    said = folder / "said"
    copy = os.fork()
    if not copy:
        status = 99  # of an exception
        with contextlib.suppress(BaseException):
            file = os.open(said, os.O_CREAT | os.O_WRONLY | os.O_APPEND)
            for number in (1, 2):
                os.dup2(file, number)
            sys.stdout, sys.stderr = (os.fdopen(number, "w") for number in (1, 2))
            own_process.GRACE = grace
            own = os.getpid()
            status = own_process.in_own_process(check)
            if os.getpid() != own:
                after()
            sys.stdout.flush()
            sys.stderr.flush()
        os._exit(status)
    return os.waitstatus_to_exitcode(os.waitpid(copy, 0)[1]), said.read_text()


def signalled(number: int, process: Callable[[], int]) -> Callable[[], int]:
    """A check that sends a signal to itself or to the process that waits for it."""

    def check() -> int:
        signal.signal(number, signal.SIG_DFL)
        os.kill(process(), number)
        time.sleep(LONG)
        return 0

    return check


def nothing() -> None:
    """The process ends."""


LEFT = f"{NO_VERDICT}ended with exit status"
ENDS: dict[str, tuple[Callable[[], int], Callable[[], None], int, str]] = {
    "right": (lambda: 0, nothing, 0, ""),
    "wrong": (lambda: 1, nothing, 1, ""),
    "misused": (lambda: 2, nothing, 2, ""),
    "after the verdict": (lambda: 3, lambda: os._exit(0), 3, ""),
    "left": (lambda: os._exit(0), nothing, 1, f"{LEFT} 0, as by os._exit\n"),
    "left with a status": (lambda: os._exit(1), nothing, 1, f"{LEFT} 1, as by os._exit\n"),
    "interrupted": (signalled(signal.SIGINT, os.getppid), nothing, 130, "mxref: interrupted\n"),
    "ended": (signalled(signal.SIGTERM, os.getppid), nothing, 143, "mxref: ended by SIGTERM\n"),
}
NAMES = {signal.SIGTERM: "SIGTERM", signal.SIGHUP: "SIGHUP"}
if hasattr(signal, "SIGRTMIN"):  # macOS has only signals with names
    NAMES[signal.SIGRTMIN + 1] = f"signal {signal.SIGRTMIN + 1}"
for signalled_by, said in NAMES.items():
    check_ends = signalled(signalled_by, os.getpid)
    ENDS[said] = check_ends, nothing, 1, f"{NO_VERDICT}was ended by {said}\n"


@pytest.mark.parametrize("name", ENDS)
def test_every_end_of_a_check_is_told(name: str, tmp_path: Path) -> None:
    check, after, status, text = ENDS[name]
    assert ended(tmp_path, check, after) == (status, text)


def test_what_goes_on_after_the_verdict_is_killed(tmp_path: Path) -> None:
    assert ended(tmp_path, lambda: 3, going_on, 0.1) == (3, KILLED)


def test_a_check_that_ends_is_not_waited_for_with_what_it_has_started(tmp_path: Path) -> None:
    """A copy of it holds every file that it had open."""
    number = tmp_path / "number"

    def check() -> int:
        copy = os.fork()
        if not copy:
            going_on()
            os._exit(0)
        number.write_text(str(copy))
        os._exit(7)

    how = f"{LEFT} 7, as by os._exit\n"
    try:
        assert ended(tmp_path, check, nothing) == (1, how)
    finally:
        with contextlib.suppress(ProcessLookupError):
            os.kill(int(number.read_text()), signal.SIGKILL)


def test_a_verdict_and_what_is_printed_arrive_where_few_files_may_be_open(tmp_path: Path) -> None:
    """File descriptors of its own begin at 256 elsewhere."""

    def few() -> int:
        print("said")
        return 3

    most = resource.getrlimit(resource.RLIMIT_NOFILE)
    resource.setrlimit(resource.RLIMIT_NOFILE, (128, most[1]))
    try:
        assert ended(tmp_path, few, nothing) == (3, "said\n")
    finally:
        resource.setrlimit(resource.RLIMIT_NOFILE, most)
