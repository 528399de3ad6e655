"""Where files go: links, pipes, long names, and writers that are several, fail or are killed."""

from __future__ import annotations

import os
import signal
import stat
import subprocess
import sys
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from file_helpers import assert_same, numbers
from helpers import table

import mxref
from mxref import files
from mxref.golden.store import _is_left_over
from mxref.support.whole_file import whole_file

EVERY = [".npz", ".safetensors", ".gguf"]
FINE = mxref.quantize(numbers((2, 32)), "mxfp4_e2m1")


def test_each_call_has_a_file_of_its_own(tmp_path: Path) -> None:
    """Two writers of one file in one process: the last to end wins, and nothing is mixed."""
    path = tmp_path / "x.bin"
    with whole_file(path) as first, whole_file(path) as second:
        assert first != second
        first.write_bytes(b"first")
        second.write_bytes(b"second")
    assert path.read_bytes() == b"first"
    assert list(tmp_path.iterdir()) == [path]


def test_threads_that_write_one_file(tmp_path: Path) -> None:
    path = tmp_path / "x.npz"
    blocks = [mxref.quantize(numbers((64, 64)) * 2.0**n, "mxfp8_e4m3") for n in range(4)]
    with ThreadPoolExecutor(4) as pool:
        for _ in range(8):
            list(pool.map(lambda one: files.write_blocks(path, {"x": one}), blocks))
            assert files.read_blocks(path)["x"] in blocks
    assert list(tmp_path.iterdir()) == [path]


def test_a_killed_writer_s_file_is_known_as_left_over(tmp_path: Path) -> None:
    """Its name ends in .PID.tmp: clean-up takes it once that process is gone."""
    with whole_file(tmp_path / "x.bin") as temporary:
        temporary.touch()
        assert temporary.name.startswith(".x.bin.")
        assert temporary.name.endswith(f".{os.getpid()}.tmp")
        assert not _is_left_over(temporary)
    done = subprocess.Popen([sys.executable, "-c", ""])
    done.wait()
    gone = temporary.name.replace(f".{os.getpid()}.tmp", f".{done.pid}.tmp")
    assert _is_left_over(temporary.with_name(gone))


@pytest.mark.parametrize("name", ["x" * 242 + ".npz", "é" * 120 + ".npz"])
def test_long_names_of_files(tmp_path: Path, name: str) -> None:
    files.write_blocks(tmp_path / name, {"x": FINE})
    assert_same(files.read_blocks(tmp_path / name)["x"], FINE)


def test_a_link_stays_a_link(tmp_path: Path) -> None:
    (tmp_path / "there.npz").write_bytes(b"old")
    (tmp_path / "x.npz").symlink_to("there.npz")
    files.write_blocks(tmp_path / "x.npz", {"x": FINE})
    assert (tmp_path / "x.npz").is_symlink()
    assert_same(files.read_blocks(tmp_path / "there.npz")["x"], FINE)


@pytest.mark.skipif(os.name != "posix", reason="needs named pipes")
@pytest.mark.parametrize("suffix", [*EVERY, ".npy"])
@pytest.mark.parametrize("linked", [False, True])
def test_a_pipe_is_neither_read_nor_replaced(tmp_path: Path, suffix: str, *, linked: bool) -> None:
    pipe = path = tmp_path / f"pipe{suffix}"
    os.mkfifo(pipe)
    if linked:
        path = tmp_path / f"x{suffix}"
        path.symlink_to(pipe)
    sentence = r" must be a regular file, it is a device, a pipe or a socket$"
    with pytest.raises(ValueError, match=sentence):
        list(files.entries(path))
    if suffix != ".npy":
        with pytest.raises(ValueError, match=sentence):
            files.write_blocks(path, {"x": FINE})
    assert stat.S_ISFIFO(path.stat().st_mode)
    assert set(tmp_path.iterdir()) == {pipe, path}


KILLED = table("kernels")["where_files_go_killed"]


@pytest.mark.sampled(6)
@pytest.mark.skipif(os.name != "posix", reason="needs POSIX signals")
@pytest.mark.parametrize("suffix", EVERY)
@pytest.mark.parametrize("old", [None, b"an older file"])
def test_killed_writer_leaves_no_half_file(tmp_path: Path, suffix: str, old: bytes | None) -> None:
    path = tmp_path / f"x{suffix}"
    if old is not None:
        path.write_bytes(old)
    done = subprocess.run([sys.executable, "-c", KILLED, str(path)])
    assert done.returncode == -signal.SIGKILL
    assert (path.read_bytes() if path.exists() else None) == old


@pytest.mark.parametrize("suffix", EVERY)
def test_a_failed_writer_leaves_nothing(
    tmp_path: Path, suffix: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    def chunks(codes: np.ndarray) -> Any:
        yield codes[:1]
        raise OSError(28, "No space left on device")

    for module in (files.npz_files, files.safetensors_files, files.gguf_files):
        monkeypatch.setattr(module, "chunks", chunks)
    path = tmp_path / f"x{suffix}"
    with pytest.raises(OSError, match="No space left") as error:
        files.write_blocks(path, {"x": FINE})
    assert error.value.filename == str(path)
    assert list(tmp_path.iterdir()) == []
