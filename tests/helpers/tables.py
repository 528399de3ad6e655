"""Tables of expected figures, which lie as text beside the tests."""

from __future__ import annotations

from pathlib import Path


def table(test: str, name: str) -> list[list[str]]:
    """Lines of a file in the folder `data` beside a test, each its columns, which `|` parts.

    What begins with # says where those below it come from.
    """
    text = Path(test).with_name("data").joinpath(name).read_text("utf-8")
    lines = [line for line in text.splitlines() if line and not line.startswith("#")]
    return [[column.strip() for column in line.split("|")] for line in lines]
