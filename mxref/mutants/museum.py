"""The museum: every mutant in one tuple, in the order of classes."""

from __future__ import annotations

from dataclasses import replace

from mxref.mutants.addmm_mutants import EPILOGUES
from mxref.mutants.affine_mutants import AFFINE
from mxref.mutants.block_mutants import QUANTIZERS
from mxref.mutants.decode_mutants import DECODERS
from mxref.mutants.elementwise_mutants import ELEMENTWISE
from mxref.mutants.encode_scale_mutants import E8M0_ENCODERS
from mxref.mutants.float_scale_mutants import FLOAT_SCALES
from mxref.mutants.fnuz_mutants import FNUZ
from mxref.mutants.four_over_six_mutants import FOUR_OVER_SIX
from mxref.mutants.infinity_mutants import INFINITIES
from mxref.mutants.integer_mutants import INTEGER_OPERATIONS
from mxref.mutants.lane_mutants import LANES
from mxref.mutants.layout_mutants import PLACES
from mxref.mutants.lifted_mutants import LIFTED
from mxref.mutants.linear_mutants import LINEARS
from mxref.mutants.matmul_mutants import MATMULS
from mxref.mutants.mutant import Mutant, Mutants, named
from mxref.mutants.nvfp4_mutants import SCALED
from mxref.mutants.nvfp4_scale_mutants import NVFP4_SCALES
from mxref.mutants.packing_mutants import PACKINGS
from mxref.mutants.pair_mutants import PAIRS
from mxref.mutants.product_mutants import PRODUCTS
from mxref.mutants.range_mutants import RANGES
from mxref.mutants.recipe_mutants import RECIPE_LAYERS
from mxref.mutants.rounding_mutants import INTEGERS, ROUNDING
from mxref.mutants.sampling_mutants import SAMPLING
from mxref.mutants.scale_order_mutants import SCALE_ORDER_MUTANTS
from mxref.mutants.scaled_product_mutants import SCALED_PRODUCTS
from mxref.mutants.shared_scale_mutants import SCALES
from mxref.mutants.sixteen_mutants import SIXTEENS
from mxref.mutants.sources import sources
from mxref.mutants.stochastic_mutants import STOCHASTIC
from mxref.mutants.tensor_mutants import TENSORS
from mxref.mutants.tile_mutants import TILES
from mxref.mutants.unit_mutants import UNITS
from mxref.mutants.weight_only_mutants import WEIGHT_ONLY
from mxref.operations.registry import REGISTRY

__all__ = ["MUTANTS", "mutants_of"]


def _place(mutant: Mutant) -> tuple[str, int, str]:
    return mutant.group[0], int(mutant.group[1:]), mutant.id


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
    INFINITIES,
    FOUR_OVER_SIX,
    FNUZ,
    DECODERS,
    PRODUCTS,
    SCALED,
    NVFP4_SCALES,
    SIXTEENS,
    TILES,
    FLOAT_SCALES,
    PACKINGS,
    PLACES,
    SCALE_ORDER_MUTANTS,
    TENSORS,
    MATMULS,
    SCALED_PRODUCTS,
    UNITS,
    EPILOGUES,
    LINEARS,
    RECIPE_LAYERS,
    AFFINE,
    INTEGER_OPERATIONS,
    ELEMENTWISE,
    WEIGHT_ONLY,
    SAMPLING,
)
#: Every mutant, in the order of classes.
MUTANTS: tuple[Mutant, ...] = tuple(
    replace(mutant, seen=tuple(sources(mutant.id, mutant.lifted_from)))
    for mutant in sorted((one for table in _TABLES for one in named(table)), key=_place)
)


def mutants_of(op: str) -> tuple[Mutant, ...]:
    """The mutants of an operation, also of one that is defined elsewhere.

    >>> {mutant.op for mutant in mutants_of("encode")}
    {'encode'}
    """
    own = getattr(REGISTRY[op], "mutants", ())
    return (*(mutant for mutant in MUTANTS if mutant.op == op), *own)
