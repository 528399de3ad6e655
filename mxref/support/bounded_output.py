"""What foreign code prints: to stderr, and only so much of it."""

from __future__ import annotations

import contextlib
import sys
from collections.abc import Iterator
from typing import Any, TextIO

__all__ = ["bounded_output"]

#: Characters that foreign code may print in this process.
MOST = 1 << 16


class _Bounded:
    """A text stream that writes only the first characters; all else is the stream itself."""

    left = MOST

    def __init__(self, stream: TextIO) -> None:
        self._stream = stream

    def write(self, text: str) -> int:
        """Write as much as may be written."""
        if _Bounded.left > 0:
            self._stream.write(text[: _Bounded.left])
            _Bounded.left -= len(text)
            if _Bounded.left <= 0:
                self._stream.write(f"\nmxref: the target has printed {MOST} characters: no more\n")
        return len(text)

    def writelines(self, lines: Any) -> None:
        """Write them one by one."""
        for line in lines:
            self.write(line)

    def __getattr__(self, name: str) -> Any:
        return getattr(self._stream, name)


@contextlib.contextmanager
def bounded_output() -> Iterator[None]:
    """Lead what a block prints to stderr, its first `MOST` characters in this process."""
    stream: Any = sys.stderr
    if stream is not None and not isinstance(stream, _Bounded):
        stream = _Bounded(stream)
    with contextlib.redirect_stdout(stream), contextlib.redirect_stderr(stream):
        yield
