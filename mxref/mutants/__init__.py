"""The museum of mutants: wrong implementations, most of them seen, that the vectors must catch."""

from __future__ import annotations

from mxref.mutants.block_mutants import QUANTIZERS
from mxref.mutants.decode_mutants import DECODERS
from mxref.mutants.encode_scale_mutants import E8M0_ENCODERS
from mxref.mutants.equivalents import EQUIVALENT, Equivalent, equivalent
from mxref.mutants.layout_mutants import PLACES
from mxref.mutants.mutant import Mutant
from mxref.mutants.nvfp4_mutants import SCALED
from mxref.mutants.packing_mutants import PACKINGS
from mxref.mutants.product_mutants import PRODUCTS
from mxref.mutants.range_mutants import RANGES
from mxref.mutants.rounding_mutants import INTEGERS, ROUNDING
from mxref.mutants.shared_scale_mutants import SCALES
from mxref.mutants.stochastic_mutants import STOCHASTIC
from mxref.mutants.tensor_mutants import TENSORS
from mxref.mutants.waiting import WAITING

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
