"""Python targets that never return, print without end, or raise what a person's Ctrl-C raises."""

from __future__ import annotations

import os
import re
import subprocess
import sys
import time
from pathlib import Path

import pytest
from json_tables import cases

from mxref.support import time_limit

pytestmark = pytest.mark.skipif(not hasattr(os, "fork"), reason="needs os.fork")

ENCODE = "import os, signal, time\ndef encode(values, format):\n    "
LIMIT = 3
ONE_FILE = ("--op", "encode", "--format", "e2m1", "--float", "bf16")


def verified(folder: Path, source: str, *options: str) -> subprocess.CompletedProcess[str]:
    """`mxref verify` of a target in a process of its own."""
    (folder / "kernel.py").write_text(source)
    command = [sys.executable, "-m", "mxref", "verify", "kernel.py", *ONE_FILE, *options]
    return subprocess.run(command, cwd=folder, capture_output=True, text=True, check=False)


@pytest.mark.parametrize(("source", "what"), cases(__file__, "a target that hangs is killed"))
def test_a_target_that_hangs_is_killed(source: str, what: str, tmp_path: Path) -> None:
    run = verified(tmp_path, source, "--timeout", str(LIMIT))
    assert (run.returncode, run.stdout) == (1, "")
    assert run.stderr.endswith(
        f"no verdict: the process of the check was killed: {what} within {LIMIT} s; "
        "--timeout SECONDS gives it longer\n"
    )
    assert len(run.stderr) < 100_000


def test_a_program_that_a_target_waits_for_ends_with_it(tmp_path: Path) -> None:
    program = "import os, pathlib, time; pathlib.Path('pid').write_text(str(os.getpid()))"
    command = f"[sys.executable, '-c', {f'{program}; time.sleep(600)'!r}]"
    run = verified(
        tmp_path, f"import subprocess, sys\n{ENCODE}subprocess.run({command})\n", "--timeout=3"
    )
    assert run.returncode == 1
    assert "encode of the target did not end" in run.stderr
    with pytest.raises(ProcessLookupError):
        os.kill(int((tmp_path / "pid").read_text()), 0)


def test_what_a_target_prints_is_bounded(tmp_path: Path) -> None:
    source = f"{ENCODE}import sys, mxref\n    print('a' * 50_000)\n"
    source += "    print('b' * 50_000, file=sys.stderr)\n    return mxref.encode(values, format)\n"
    run = verified(tmp_path, source, "--sizes", "0", "--no-search")
    assert run.returncode == 0
    printed = (1 << 16) - 50_001
    more = "mxref: the target has printed 65536 characters: no more\n"
    assert run.stderr == "a" * 50_000 + "\n" + "b" * printed + "\n" + more


def test_a_keyboard_interrupt_of_the_target_is_its_error(tmp_path: Path) -> None:
    run = verified(tmp_path, f"{ENCODE}raise KeyboardInterrupt\n")
    assert (run.returncode, run.stderr) == (1, "")
    assert re.search(r"^encode e2m1: \d+ x KeyboardInterrupt \(kernel.py:3\)", run.stdout, re.M)
    run = verified(tmp_path, "raise KeyboardInterrupt\n")
    text = "target kernel.py cannot be imported: KeyboardInterrupt\n"
    assert (run.returncode, run.stdout, run.stderr) == (2, "", f"mxref: error: {text}")


@pytest.mark.parametrize("given", ["0", "-1", "inf", "nan"])
def test_a_limit_is_a_number_of_seconds(given: str, tmp_path: Path) -> None:
    run = verified(tmp_path, ENCODE + "return values\n", f"--timeout={given}")
    assert run.returncode == 2
    assert "--timeout must be a number of seconds above 0, got " in run.stderr


def test_no_process_no_limit(tmp_path: Path) -> None:
    run = verified(tmp_path, ENCODE + "return values\n", "--timeout", "9", "--in-process")
    assert run.returncode == 2
    assert "--timeout must be given without --in-process" in run.stderr


def test_a_process_that_was_stopped_itself_waits_on() -> None:
    board = time_limit.Board()
    board.limit = 0.01
    board.begin("encode")
    time.sleep(1.5)
    assert board.hung(time_limit.STOPPED + 1) == ""  # it was stopped, too: the end is put off
    assert board.hung(0) == ""
    board.end()
    board.begin("decode")
    time.sleep(1.5)
    assert board.hung(0) == "decode did not end within 0.01 s"
    board.end()
    assert board.hung(0) == ""
