"""Files that appear whole or not at all."""

from __future__ import annotations

import contextlib
import os
from collections.abc import Iterator
from pathlib import Path


@contextlib.contextmanager
def whole_file(path: Path) -> Iterator[Path]:
    """The name to write a file to; it is renamed to the file's own name when all went well.

    Raises:
        OSError: the file cannot be written; nothing is left behind.
    """
    path = Path(os.path.realpath(path))  # a link stays a link
    temporary = path.with_name(f".{path.name}.{os.getpid()}.tmp")
    try:
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
    """
    with whole_file(path) as temporary:
        temporary.write_bytes(data)
