"""An extension of griffe: doctests in docstrings become fenced blocks, which look like code."""

from __future__ import annotations

import re
from typing import Any

import griffe

_DOCTEST = re.compile(r"(?:^>>> .*\n?(?:^(?!>>> )[^\n]+\n?)*)+", re.MULTILINE)


class FencedDoctests(griffe.Extension):
    """Fences every run of examples, up to the next empty line."""

    def on_object(self, *, obj: griffe.Object, **_: Any) -> None:
        """Change the docstring of an object."""
        if obj.docstring:
            text = _DOCTEST.sub(
                lambda found: f"\n```pycon\n{found[0].rstrip()}\n```\n", obj.docstring.value
            )
            obj.docstring.value = text
