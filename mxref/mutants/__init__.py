"""The museum of mutants: wrong implementations, some of them seen, that the vectors must catch."""

from __future__ import annotations

from mxref.mutants.equivalents import EQUIVALENT, Equivalent, equivalent
from mxref.mutants.museum import MUTANTS, mutants_of
from mxref.mutants.mutant import Mutant, origins
from mxref.mutants.use_mutants import USES, UseMutant

__all__ = [
    "EQUIVALENT",
    "MUTANTS",
    "USES",
    "Equivalent",
    "Mutant",
    "UseMutant",
    "equivalent",
    "mutants_of",
    "origins",
]
