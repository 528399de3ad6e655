"""Twenty questions about MX numerics, each answered by one command of a clean command line."""

from __future__ import annotations

import os
import shlex
import subprocess
import sys
from pathlib import Path

import pytest
from commands import Example, examples, fits

DATA = Path(__file__).parent / "data"
QUESTIONS = [examples(DATA / f"{name}.txt") for name in ("ten_questions", "ten_more_questions")]
#: Another command than this checkout's, such as that of an installed wheel.
COMMAND = os.environ.get("MXREF_COMMAND")


def test_there_are_ten_of_each() -> None:
    assert [len(some) for some in QUESTIONS] == [10, 10]


@pytest.mark.parametrize("example", [one for some in QUESTIONS for one in some])
def test_a_command_answers(example: Example, tmp_path: Path) -> None:
    """It runs in an empty folder, in a process of its own, without settings of the caller."""
    own = {"PYTHONPATH": os.pathsep.join(sys.path)} if COMMAND is None else {}
    first = [sys.executable, "-m", "mxref"] if COMMAND is None else [COMMAND]
    done = subprocess.run(
        [*first, *shlex.split(example.command)],
        capture_output=True,
        text=True,
        cwd=tmp_path,
        env={"PATH": os.environ["PATH"], "PYTHONIOENCODING": "utf-8", **own},
    )
    assert (done.returncode, done.stderr) == (example.status, "")
    assert fits(example.answer, done.stdout), done.stdout
