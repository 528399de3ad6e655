"""The museum of mutants: wrong implementations, some of them seen, that the vectors must catch."""

from __future__ import annotations

from typing import TYPE_CHECKING

from mxref.support.lazy_names import lazy_names

if TYPE_CHECKING:
    from mxref.mutants.equivalents import EQUIVALENT, Equivalent, equivalent
    from mxref.mutants.museum import MUTANTS, mutants_of
    from mxref.mutants.mutant import Mutant, origins
    from mxref.mutants.sequence_mutants import SEQUENCES
    from mxref.mutants.use_mutants import USES, UseMutant

__all__ = [
    "EQUIVALENT",
    "MUTANTS",
    "SEQUENCES",
    "USES",
    "Equivalent",
    "Mutant",
    "UseMutant",
    "equivalent",
    "mutants_of",
    "origins",
]

if not TYPE_CHECKING:
    _HOMES = {
        "mxref.mutants.equivalents": ("EQUIVALENT", "Equivalent", "equivalent"),
        "mxref.mutants.museum": ("MUTANTS", "mutants_of"),
        "mxref.mutants.mutant": ("Mutant", "origins"),
        "mxref.mutants.sequence_mutants": ("SEQUENCES",),
        "mxref.mutants.use_mutants": ("USES", "UseMutant"),
    }

    __getattr__ = lazy_names(__name__, _HOMES)

    def __dir__() -> list[str]:
        return sorted({*globals(), *__all__})
