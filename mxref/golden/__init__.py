"""Golden vectors: coverage models, cases, records, files and their checks."""

from __future__ import annotations

from typing import TYPE_CHECKING

from mxref.support.lazy_names import lazy_names

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

    __getattr__ = lazy_names(__name__, _HOMES)

    def __dir__() -> list[str]:
        return sorted({*globals(), *__all__})
