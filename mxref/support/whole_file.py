"""Files that appear whole or not at all."""

from __future__ import annotations

import contextlib
import os
import re
import stat
from collections.abc import Iterator
from pathlib import Path


@contextlib.contextmanager
def whole_file(path: Path) -> Iterator[Path]:
    """A temporary name to write a file to; the file is renamed to its own name if nothing failed.

    Temporary files that killed writers of the same file left behind are removed.

    Raises:
        OSError: the file cannot be written; nothing is left behind.
        ValueError: the path is a device, a pipe or a socket.
    """
    path = Path(os.path.realpath(path))  # a link stays a link
    temporary, held = path, -1
    try:
        refuse_special(path)
        path.parent.mkdir(parents=True, exist_ok=True)
        _remove_stale(path)
        while held < 0 or not os.fstat(held).st_nlink:  # taken for stale before the lock
            if held >= 0:
                os.close(held)
            # A new name for each call, even in one process, short enough for every file system.
            unique = f"{os.urandom(8).hex()}.{os.getpid()}"
            temporary = path.with_name(f".{path.name[:50]}.{unique}.tmp")
            held = os.open(temporary, os.O_WRONLY | os.O_CREAT | os.O_EXCL, 0o666)
            with contextlib.suppress(OSError):  # a file system without locks
                _lock(held)
        yield temporary
        if os.name != "posix":  # a file that is open cannot be renamed there
            os.close(held)
            held = -1
        temporary.replace(path)
    except OSError as error:
        raise type(error)(error.errno, error.strerror, str(path)) from None
    finally:
        if held >= 0:
            os.close(held)
        if temporary != path:
            with contextlib.suppress(OSError):
                temporary.unlink(missing_ok=True)


def _remove_stale(path: Path) -> None:
    """Remove the temporary files of a path that nobody has locked: their writers were killed."""
    name = re.compile(re.escape(f".{path.name[:50]}.") + r"[0-9a-f]{16}\.[0-9]+\.tmp")
    with contextlib.suppress(OSError):  # a folder that cannot be listed
        for found in [one for one in os.listdir(path.parent) if name.fullmatch(one)]:
            stale = path.with_name(found)
            with contextlib.suppress(OSError), stale.open("r+b") as file:
                _lock(file.fileno(), wait=False)  # which its writer holds while it lives
                stale.unlink()


def _lock(file: int, *, wait: bool = True) -> None:
    """Lock an open file until it is closed, or its process ends.

    Raises:
        OSError: another process has locked it, or the system has no such locks.
    """
    if os.name != "posix":
        raise OSError("no locks")
    import fcntl

    fcntl.flock(file, fcntl.LOCK_EX | (0 if wait else fcntl.LOCK_NB))


def write_file(path: Path, data: bytes) -> None:
    """Write a file whole.

    Raises:
        OSError: the file cannot be written; nothing is left behind.
        ValueError: the path is a device, a pipe or a socket.
    """
    with whole_file(path) as temporary:
        temporary.write_bytes(data)


def read_file(path: Path) -> bytes:
    """The bytes of a file.

    Raises:
        OSError: the file cannot be read.
        ValueError: the path is a device, a pipe or a socket, which might never end.
    """
    refuse_special(path)
    with named_errors(path):
        return path.read_bytes()


@contextlib.contextmanager
def named_errors(path: Path) -> Iterator[None]:
    """Name a file in the errors of reading it, which the system gives without a name."""
    try:
        yield
    except OSError as error:
        raise OSError(error.errno, error.strerror, error.filename or str(path)) from None


def refuse_special(path: Path) -> None:
    """Refuse a path that is neither a file nor a folder nor free: it must not be replaced.

    Raises:
        OSError: the path cannot be looked at.
        ValueError: it is a device, a pipe or a socket.
    """
    try:
        mode = path.stat().st_mode
    except FileNotFoundError:
        return
    if not stat.S_ISREG(mode) and not stat.S_ISDIR(mode):  # folders: the system's own message
        raise ValueError(f"{path} must be a regular file, it is a device, a pipe or a socket")
