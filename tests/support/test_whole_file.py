"""Whole files: devices and pipes are refused, and what killed writers left is removed."""

from __future__ import annotations

import os
import subprocess
import sys
from pathlib import Path

import pytest
from helpers import PATIENCE, ROOT, table

from mxref.golden import store
from mxref.support.whole_file import read_file, write_file

pytestmark = pytest.mark.skipif(os.name != "posix", reason="needs pipes and devices")

TARGET = str(ROOT / "tools" / "adapters" / "ml_dtypes_adapter.py")


def special(kind: str, folder: Path) -> Path:
    path = folder / "special"
    if kind == "fifo":
        os.mkfifo(path)
    elif kind == "link":
        path.symlink_to("/dev/full")
    else:
        return Path(kind)
    return path


KINDS = ["fifo", "link", "/dev/zero"]


@pytest.mark.parametrize("kind", KINDS)
def test_no_special_file_is_read_or_replaced(kind: str, tmp_path: Path) -> None:
    path = special(kind, tmp_path)
    for call in (read_file, lambda path: write_file(path, b"x")):
        with pytest.raises(ValueError, match="must be a regular file, it is a device"):
            call(path)


@pytest.mark.sampled(6)
@pytest.mark.parametrize(
    ("verb", "option", "kind"), [("sweep", "--state", "fifo"), ("verify", "--xfail", "/dev/zero")]
)
def test_commands_refuse_them(verb: str, option: str, kind: str, tmp_path: Path) -> None:
    """In time: a read of /dev/zero ends when memory does, that of a pipe never."""
    path = special(kind, tmp_path)
    done = subprocess.run(
        [
            *("sh", "-c", 'ulimit -v 8000000; exec "$@"', "sh", sys.executable, "-m", "mxref"),
            *(verb, TARGET, "--float", "bf16", option, str(path)),
        ],
        capture_output=True,
        text=True,
        timeout=PATIENCE,
    )
    assert done.returncode == 2
    assert f"{path} must be a regular file, it is a device, a pipe or a socket" in done.stderr


def test_one_regen_holds_a_folder(tmp_path: Path) -> None:
    folder = tmp_path / "vectors"
    command = [sys.executable, "-m", "mxref", "regen", "--out", str(folder)]
    with store.locked(folder):
        done = subprocess.run(command, capture_output=True, text=True, timeout=PATIENCE)
        assert (done.returncode, done.stdout) == (2, "")
        assert done.stderr.endswith(
            f"{folder} must be written by one regen at a time, another one is at work there: "
            "wait for its end\n"
        )
        with pytest.raises(ValueError, match="one regen at a time"), store.locked(folder):
            pass
    with store.locked(folder):
        assert list(folder.iterdir()) == []


_WRITER = table("kernels")["whole_file_writer"]


def test_what_killed_writers_left_is_removed_by_the_next_one(tmp_path: Path) -> None:
    """But not what a writer that lives is about to finish, nor what others have written."""
    path, others = tmp_path / "x.bin", [".x.bin.tmp", ".x.bin.0123456789abcdef.tmp", ".y.bin.0.tmp"]
    for other in others:
        (tmp_path / other).write_bytes(b"")
    command = [sys.executable, "-c", _WRITER, str(path)]
    with subprocess.Popen(command, stdout=subprocess.PIPE, text=True) as writer:
        assert writer.stdout is not None
        try:
            half = writer.stdout.readline().strip()
            assert half in os.listdir(tmp_path)
            write_file(path, b"first")
            assert (tmp_path / half).read_bytes() == b"half"
        finally:
            writer.kill()
    assert set(os.listdir(tmp_path)) == {"x.bin", half, *others}
    write_file(path, b"second")
    assert set(os.listdir(tmp_path)) == {"x.bin", *others}
    assert path.read_bytes() == b"second"
