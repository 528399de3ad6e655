"""The museum: every mutant in one tuple, and those that wait for vectors."""

from __future__ import annotations

from functools import partial

from mxref.mutants.block_mutants import QUANTIZERS
from mxref.mutants.decode_mutants import DECODERS
from mxref.mutants.encode_scale_mutants import E8M0_ENCODERS
from mxref.mutants.lane_mutants import LANES
from mxref.mutants.layout_mutants import PLACES
from mxref.mutants.lifted_mutants import LIFTED
from mxref.mutants.mutant import BLOCKS, FLOATS, Mutant, Mutants, named, wrong
from mxref.mutants.nvfp4_mutants import SCALED
from mxref.mutants.packing_mutants import PACKINGS
from mxref.mutants.pair_mutants import PAIRS
from mxref.mutants.product_mutants import PRODUCTS
from mxref.mutants.range_mutants import RANGES
from mxref.mutants.rounding_mutants import INTEGERS, ROUNDING
from mxref.mutants.shared_scale_mutants import SCALES
from mxref.mutants.stochastic_mutants import STOCHASTIC
from mxref.mutants.tensor_mutants import TENSORS

__all__ = ["MUTANTS"]


def _place(mutant: Mutant) -> tuple[str, int, str]:
    return mutant.group[0], int(mutant.group[1:]), mutant.id


#: Mutants of dot products wait for vectors; they are never counted as killed.
_waits = partial(
    wrong,
    None,
    op="dot",
    formats=BLOCKS,
    floats=FLOATS,
    model="M12",
    waiting="there are no dot products",
)
_WAITING: Mutants = {
    "H1 narrow_sums: sums in float16 or bfloat16": _waits(),
    "H2 alignment_truncated: cuts products off when it aligns them": _waits(
        seen=("arXiv 2403.00232",)
    ),
    "H3 scale_product_first: multiplies the scales beyond float32": _waits(),
    "H4 nan_scale_of_zeros: ignores a NaN scale of zeros": _waits(),
    "H5 infinity_times_zero: makes infinity times zero a zero": _waits(),
}
_TABLES: tuple[Mutants, ...] = (
    ROUNDING,
    INTEGERS,
    RANGES,
    LIFTED,
    LANES,
    PAIRS,
    STOCHASTIC,
    SCALES,
    E8M0_ENCODERS,
    QUANTIZERS,
    DECODERS,
    PRODUCTS,
    SCALED,
    PACKINGS,
    PLACES,
    TENSORS,
    _WAITING,
)
#: Every mutant, in the order of classes.
MUTANTS: tuple[Mutant, ...] = tuple(
    sorted((mutant for table in _TABLES for mutant in named(table)), key=_place)
)
