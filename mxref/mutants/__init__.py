"""The museum of mutants: wrong implementations, many of them seen, that the vectors must catch."""

from __future__ import annotations

from mxref.mutants.equivalents import EQUIVALENT, Equivalent, equivalent
from mxref.mutants.museum import MUTANTS
from mxref.mutants.mutant import Mutant

__all__ = ["EQUIVALENT", "MUTANTS", "Equivalent", "Mutant", "equivalent"]
