"""Golden vectors: coverage models, cases, records, files and their checks."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from mxref.golden.folder import vectors_folder
    from mxref.golden.read import VectorError, read_vectors
    from mxref.golden.records import Case, VectorFile
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
        "folder": ("vectors_folder",),
        "read": ("VectorError", "read_vectors"),
        "records": ("Case", "VectorFile"),
        "regen": ("build", "check", "write"),
    }

    def __getattr__(name: str) -> Any:
        """Import a name's module when it is first asked for: `mxref --help` asks for none."""
        import importlib

        for home, names in _HOMES.items():
            if name in names:
                return getattr(importlib.import_module(f"mxref.golden.{home}"), name)
        raise AttributeError(f"module 'mxref.golden' has no attribute {name!r}")

    def __dir__() -> list[str]:
        return sorted({*globals(), *__all__})
