"""Tables of cases as JSON, beside the tests that are asked of each row."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any


def cases(file: str, name: str) -> list[Any]:
    """The rows of a table for tests of `test_X.py`, which `data/X_cases.json` has by its name."""
    path = Path(file)
    tables = path.parent / "data" / f"{path.stem.removeprefix('test_')}_cases.json"
    found: list[Any] = json.loads(tables.read_text("utf-8"))[name]
    return found
