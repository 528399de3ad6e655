"""Threads of libraries: few by default, as a target sees them, and what the user sets stays."""

from __future__ import annotations

import json
import os
import subprocess
import sys
from pathlib import Path
from types import SimpleNamespace

import numpy as np
import pytest
from verify_helpers import ENCODE, target_file

from mxref.cases.folder import vectors_folder
from mxref.conformance import Extent, check, target_of
from mxref.policy.policy import Policy
from mxref.support import library_threads
from mxref.support.library_threads import LIMITS, few_threads, limit_libraries, limit_note
from mxref.targets.asked_files import read_for

#: A kernel that says what it sees when it is imported, beside a `torch` that is none.
KERNEL = f"""\
import json, os, sys
import torch

sys.stderr.write(json.dumps({{name: os.environ.get(name) for name in {[*LIMITS]}}}))
FORMATS, FLOATS = ["e2m1"], ["bf16"]
{ENCODE}"""
#: The command line, which says whether NumPy was imported before the limits were set.
MAIN = """\
import sys
from mxref.cli import command_line as line
limit = line.limit_libraries
line.limit_libraries = lambda: (limit(), sys.stderr.write("late" * ("numpy" in sys.modules)))
sys.exit(line.main())
"""


def seen(folder: Path, verb: str, *options: str, **given: str) -> tuple[dict[str, str], str]:
    """What the kernel sees, and the report."""
    (folder / "torch.py").write_text("", "utf-8")
    kernel = target_file(folder, KERNEL)
    environment = {name: value for name, value in os.environ.items() if name not in LIMITS}
    words = [sys.executable, "-c", MAIN, verb, kernel, *options]
    run = subprocess.run(words, capture_output=True, text=True, env=environment | given, check=True)
    found: dict[str, str] = json.loads(run.stderr)
    return found, run.stdout


def test_a_target_sees_limits_that_are_set_before_numpy_is_imported(tmp_path: Path) -> None:
    found, said = seen(tmp_path, "verify", "--sizes", "0", "--no-search")
    assert found == LIMITS
    assert found["OMP_NUM_THREADS"] == "2"
    assert "note: torch has 2 threads: OMP_NUM_THREADS sets another number\n" in said


def test_what_the_user_has_set_stays(tmp_path: Path) -> None:
    found, said = seen(tmp_path, "verify", "--sizes", "0", "--no-search", OMP_NUM_THREADS="7")
    assert found == LIMITS | {"OMP_NUM_THREADS": "7"}
    assert "note: torch" not in said


def test_a_sweep_has_all_threads(tmp_path: Path) -> None:
    found, _ = seen(tmp_path, "sweep", "--float", "bf16")
    assert set(found.values()) == {None}


class Torch(SimpleNamespace):
    """What torch has of threads."""

    threads = 48

    def get_num_threads(self) -> int:
        return self.threads

    def set_num_threads(self, count: int) -> None:
        self.threads = count


@pytest.fixture
def torch(monkeypatch: pytest.MonkeyPatch) -> Torch:
    """A torch that was imported before, in a process without limits."""
    monkeypatch.setitem(sys.modules, "torch", Torch())
    monkeypatch.setattr(library_threads, "_set", set())
    monkeypatch.setattr(os, "environ", {})
    return sys.modules["torch"]  # type: ignore[return-value]


def test_a_check_lets_torch_have_few_threads_and_gives_them_back(torch: Torch) -> None:
    numbers = []

    def decode(codes: np.ndarray, format: str) -> np.ndarray:
        numbers.append(torch.threads)
        return np.zeros(codes.shape, np.float32)

    module = SimpleNamespace(decode=decode, FORMATS=["e2m1"], FLOATS=["f32"])
    target = target_of(module, "kernel")
    files = read_for(vectors_folder(), target, Policy())
    check(target, files, extent=Extent(elements=0, search=False))
    assert numbers
    assert {*numbers} == {2}
    assert torch.threads == 48


def test_torch_that_has_one_thread_or_has_read_the_limit_is_left(torch: Torch) -> None:
    torch.threads = 1
    with few_threads():
        assert torch.threads == 1
    torch.threads = 48
    os.environ["OMP_NUM_THREADS"] = "48"
    with few_threads():
        assert torch.threads == 48


def test_the_note_is_about_torch_and_a_limit_of_mxref(
    torch: Torch, monkeypatch: pytest.MonkeyPatch
) -> None:
    assert limit_note() == ""
    limit_libraries()
    assert limit_note() == "torch has 2 threads: OMP_NUM_THREADS sets another number"
    monkeypatch.delitem(sys.modules, "torch")
    assert limit_note() == ""
