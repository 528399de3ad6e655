"""The words of hypotheses about what a target does, which are rows of a text beside this module."""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping
from pathlib import Path
from typing import Generic, NamedTuple, TypeVar

Made = TypeVar("Made")


class Hypothesis(NamedTuple, Generic[Made]):
    """What a target may do: a short name, what it says, and what it computes."""

    name: str
    text: str
    what: Made


_LINES = Path(__file__).with_name("hypotheses.txt").read_text("utf-8").splitlines()
_TEXTS = {
    (kind, name): text
    for kind, name, text in (re.split(" {2,}", line) for line in _LINES if line[:1] != "#")
}


def told(kind: str, made: Mapping[str, Made]) -> Iterator[Hypothesis[Made]]:
    """The hypotheses of a kind, by their names with what each computes.

    >>> [*told("order", {"block_reversed": -1})]
    [Hypothesis(name='block_reversed', text='reverses a block', what=-1)]
    """
    yield from (Hypothesis(name, _TEXTS[kind, name], one) for name, one in made.items())
