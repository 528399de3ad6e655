"""Golden vectors: coverage models, cases, records, files and their checks."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from mxref.cases.folder import vectors_folder
    from mxref.cases.read import VectorError, read_vectors
    from mxref.cases.records import Case, VectorFile
    from mxref.golden.regen import build, check, write

__all__ = [
    "Case",
    "VectorError",
    "VectorFile",
    "build",
    "check",
    "read_vectors",
    "vectors_folder",
    "write",
]

if not TYPE_CHECKING:
    _HOMES = {
        "mxref.cases.folder": ("vectors_folder",),
        "mxref.cases.read": ("VectorError", "read_vectors"),
        "mxref.cases.records": ("Case", "VectorFile"),
        "mxref.golden.regen": ("build", "check", "write"),
    }

    def __getattr__(name: str) -> Any:
        """Import a name's module when it is first asked for: `mxref --help` asks for none."""
        import importlib

        for home, names in _HOMES.items():
            if name in names:
                return getattr(importlib.import_module(home), name)
        raise AttributeError(f"module 'mxref.golden' has no attribute {name!r}")

    def __dir__() -> list[str]:
        return sorted({*globals(), *__all__})
