"""Names of a package that are imported when they are first asked for."""

from __future__ import annotations

import importlib
from collections.abc import Callable, Mapping, Sequence
from typing import Any

__all__ = ["lazy_names"]


def lazy_names(package: str, homes: Mapping[str, Sequence[str]]) -> Callable[[str], Any]:
    """The `__getattr__` of a package whose names live in modules that take time to import.

    Args:
        package: its name.
        homes: the names by the modules that have them.

    >>> ask = lazy_names("mxref.golden", {"mxref.cases.records": ("Case",)})
    >>> ask("Case").__name__
    'Case'
    >>> ask("Cas")
    Traceback (most recent call last):
    AttributeError: module 'mxref.golden' has no attribute 'Cas'
    """

    def named(name: str) -> Any:
        for home, names in homes.items():
            if name in names:
                return getattr(importlib.import_module(home), name)
        raise AttributeError(f"module {package!r} has no attribute {name!r}")

    return named
