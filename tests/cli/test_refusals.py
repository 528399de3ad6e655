"""What is refused: data/refusals.txt, each in one sentence, and nothing is written."""

from __future__ import annotations

import os
import re
import shlex
from pathlib import Path

import numpy as np
import pytest
from commands import Call, assert_sentence, refusals, wildcards
from safetensors.numpy import save_file
from verify_helpers import RIGHT

import mxref
from mxref import files

FILE = Path(__file__).resolve().parent / "data" / "refusals.txt"


@pytest.fixture(scope="module")
def folder(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """The files that the commands name."""
    folder = tmp_path_factory.mktemp("refusals")
    arrays = {"x": np.ones((100,), np.float32), "xy": np.ones((2, 4), np.float32)}
    arrays |= {"zeros": np.zeros(32, np.float32)}
    arrays |= {name: np.ones(32, name) for name in ("f2", "i2", "u4", "f8")}
    for name, array in arrays.items():
        np.save(folder / f"{name}.npy", array)
    save_file({"a": np.ones((4, 64), np.float32)}, folder / "m.safetensors")
    save_file({"ids": np.arange(3)}, folder / "ids.safetensors")
    cut = (folder / "m.safetensors").read_bytes()[:-1]
    (folder / "cut.safetensors").write_bytes(cut)
    blocks = mxref.quantize(np.ones(32), "mxfp8_e5m2")
    files.write_blocks(folder / "blocks.npz", {"x": blocks})
    (folder / "folder.npz").mkdir()
    (folder / "right.py").write_text(RIGHT)
    (folder / "broken.py").write_text("def decode(:\n")
    return folder


@pytest.mark.parametrize(("command", "said"), refusals(FILE))
def test_what_is_refused(
    command: str, said: str, folder: Path, call: Call, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.chdir(folder)
    before = sorted(folder.rglob("*"))
    run = call(*shlex.split(command)[1:], *["--in-process"] * command.endswith(".py"))
    pattern = wildcards(said).replace(r"\$", "$")
    if run.err.startswith("usage: mxref "):
        assert (run.status, run.out) == (2, "")
        assert re.search(pattern, run.err.splitlines()[-1]), run.err
    else:
        assert_sentence(run, pattern)
    assert sorted(folder.rglob("*")) == before


@pytest.mark.skipif(os.name != "posix", reason="needs named pipes")
def test_a_pipe_is_refused(tmp_path: Path, call: Call) -> None:
    """Before it is opened, which would wait for a writer."""
    pipe = tmp_path / "pipe.npy"
    os.mkfifo(pipe)
    said = f"mxref: error: {pipe} must be a regular file, it is"
    assert_sentence(call("quantize", pipe, "--format", "mxint8"), said)
