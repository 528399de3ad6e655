"""Files that appear whole or not at all."""

from __future__ import annotations

import contextlib
import os
import stat
from collections.abc import Iterator
from pathlib import Path


@contextlib.contextmanager
def whole_file(path: Path) -> Iterator[Path]:
    """The name to write a file to; it is renamed to the file's own name if nothing failed.

    Raises:
        OSError: the file cannot be written; nothing is left behind.
        ValueError: the path is a device, a pipe or a socket.
    """
    path = Path(os.path.realpath(path))  # a link stays a link
    # A new name for each call, even in one process, short enough for every file system.
    temporary = path.with_name(f".{path.name[:50]}.{os.urandom(8).hex()}.{os.getpid()}.tmp")
    try:
        refuse_special(path)
        path.parent.mkdir(parents=True, exist_ok=True)
        yield temporary
        temporary.replace(path)
    except OSError as error:
        raise type(error)(error.errno, error.strerror, str(path)) from None
    finally:
        with contextlib.suppress(OSError):
            temporary.unlink(missing_ok=True)


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
    return path.read_bytes()


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
