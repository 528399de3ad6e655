"""How a command ends: signals, targets that end the process, what is left behind."""

from __future__ import annotations

import importlib
import os
import signal
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from helpers import VECTORS

from mxref import files
from mxref.cli import main

pytestmark = pytest.mark.skipif(os.name != "posix", reason="needs POSIX signals")

Capture, Patch = pytest.CaptureFixture[str], pytest.MonkeyPatch

#: The least words of each verb.
WORDS = {
    "formats": [],
    "explain": ["rceil"],
    "quantize": ["x.npy", "--format", "mxfp4_e2m1"],
    "diff": ["ocp", "ocp", "--format", "mxfp4_e2m1"],
    "regen": [],
    "export": ["--check", "x"],
    "score": [],
    "verify": ["kernel.py"],
    "identify": ["kernel.py"],
    "fuzz": ["kernel.py"],
    "sweep": [],
    "prompts": ["x"],
    "gen": ["encode", "e4m3"],
    "check": ["encode", "e4m3"],
}
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


# --- signals --------------------------------------------------------------------------------------


@pytest.mark.parametrize("number", SIGNALS)
@pytest.mark.parametrize("verb", WORDS)
def test_a_signal_ends_every_verb_in_a_sentence(
    verb: str, number: signal.Signals, monkeypatch: Patch, capsys: Capture
) -> None:
    def work(*_: object) -> int:
        os.kill(os.getpid(), number)
        raise AssertionError("the signal was lost")

    module, name = WORK.get(verb, (verb, "_run"))
    monkeypatch.setattr(importlib.import_module(f"mxref.cli.{module}_verb"), name, work)
    before = [signal.getsignal(one) for one in SIGNALS]
    status, text = SIGNALS[number]
    how = ": nothing is kept: use --state FILE" if verb == "sweep" else ""
    assert main([verb, *WORDS[verb]]) == status
    assert capsys.readouterr() == ("", f"mxref: {text}{how}\n")
    assert [signal.getsignal(one) for one in SIGNALS] == before


@pytest.mark.parametrize("number", SIGNALS)
@pytest.mark.parametrize("suffix", [".npz", ".safetensors", ".gguf"])
def test_a_signal_leaves_no_temporary_file(
    suffix: str, number: signal.Signals, tmp_path: Path, monkeypatch: Patch, capsys: Capture
) -> None:
    found = []

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
    target = tmp_path / "target.py"
    target.write_text(
        "import os, signal\ndef decode(*_):\n    os.kill(os.getpid(), signal.SIGTERM)\n"
    )
    words = ["--op", "decode", "--format", "e2m1", "--vectors", str(VECTORS)]
    assert main(["verify", str(target), *words]) == 143
    assert capsys.readouterr() == ("", "mxref: ended by SIGTERM\n")
