"""The museum of mutants: wrong implementations, most of them seen, that the vectors must catch."""

from __future__ import annotations

from mxref.golden.mutants.blocks import QUANTIZERS
from mxref.golden.mutants.decoding import DECODERS
from mxref.golden.mutants.layout import PACKINGS
from mxref.golden.mutants.ledger import EQUIVALENT, Equivalent, equivalent
from mxref.golden.mutants.mutant import Mutant
from mxref.golden.mutants.places import PLACES
from mxref.golden.mutants.products import PRODUCTS
from mxref.golden.mutants.ranges import RANGES
from mxref.golden.mutants.rounding import INTEGERS, ROUNDING
from mxref.golden.mutants.scale_codes import E8M0_ENCODERS
from mxref.golden.mutants.scaled import SCALED
from mxref.golden.mutants.scales import SCALES
from mxref.golden.mutants.stochastic import STOCHASTIC
from mxref.golden.mutants.tensors import TENSORS
from mxref.golden.mutants.waiting import WAITING

__all__ = ["EQUIVALENT", "MUTANTS", "Equivalent", "Mutant", "equivalent"]


def _place(mutant: Mutant) -> tuple[str, int, str]:
    return mutant.group[0], int(mutant.group[1:]), mutant.id


_ALL = (
    *(*ROUNDING, *INTEGERS, *RANGES, *STOCHASTIC),
    *(*SCALES, *E8M0_ENCODERS, *QUANTIZERS),
    *(*DECODERS, *PRODUCTS, *SCALED),
    *(*PACKINGS, *PLACES, *TENSORS, *WAITING),
)
#: Every mutant, in the order of classes.
MUTANTS: tuple[Mutant, ...] = tuple(sorted(_ALL, key=_place))
