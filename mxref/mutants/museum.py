"""The museum: every mutant in one tuple, in the order of classes."""

from __future__ import annotations

import importlib
import pkgutil
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import replace

from mxref.mutants.mutant import Mutant, named
from mxref.mutants.sources import sources
from mxref.operations.registry import REGISTRY

__all__ = ["MUTANTS", "mutants_of"]


def _place(mutant: Mutant) -> tuple[str, int, str]:
    return mutant.group[0], int(mutant.group[1:]), mutant.id


def _every() -> Iterator[Mutant]:
    """The mutants of all tables that modules called `*_mutants` make public."""
    for module in pkgutil.iter_modules(importlib.import_module(__package__).__path__):
        if module.name.endswith("_mutants"):
            public = vars(importlib.import_module(f"{__package__}.{module.name}"))
            for table in map(public.__getitem__, public["__all__"]):
                if isinstance(table, Mapping) and _are_mutants([*table.values()]):
                    yield from named(table)


def _are_mutants(entries: Sequence[object]) -> bool:
    """Whether the entries of a table are mutants, or pairs of them."""
    return all(isinstance(one[0] if isinstance(one, tuple) else one, Mutant) for one in entries)


#: Every mutant, in the order of classes.
MUTANTS: tuple[Mutant, ...] = tuple(
    replace(mutant, seen=tuple(sources(mutant.id, mutant.lifted_from)))
    for mutant in sorted(_every(), key=_place)
)


def mutants_of(op: str) -> tuple[Mutant, ...]:
    """The mutants of an operation, also of one that is defined elsewhere.

    >>> {mutant.op for mutant in mutants_of("encode")}
    {'encode'}
    """
    own = getattr(REGISTRY[op], "mutants", ())
    return (*(mutant for mutant in MUTANTS if mutant.op == op), *own)
