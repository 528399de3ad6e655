"""The words of hypotheses about what a target does, which are rows of a text beside this module."""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping
from pathlib import Path
from typing import TypeVar

Made = TypeVar("Made")
_LINES = Path(__file__).with_name("hypotheses.txt").read_text("utf-8").splitlines()
_TEXTS = {
    (kind, name): text
    for kind, name, text in (re.split(" {2,}", line) for line in _LINES if line[:1] != "#")
}


def told(kind: str, made: Mapping[str, Made]) -> Iterator[tuple[str, str, Made]]:
    """The hypotheses of a kind: the name of each, what it says, and what it computes.

    >>> [*told("order", {"block_reversed": -1})]
    [('block_reversed', 'reverses a block', -1)]
    """
    yield from ((name, _TEXTS[kind, name], one) for name, one in made.items())
