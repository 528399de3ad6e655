"""Classes A, B and F inside blocks: every wrong `encode` as the element step of a quantizer.

The scales and the quotients are right; see `mxref.mutants.quotients`.
"""

from __future__ import annotations

import dataclasses
from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

from numpy.typing import NDArray

from mxref.bits.floats import U8
from mxref.mutants.mutant import (
    BLOCKS,
    ELEMENTS,
    FLOATS,
    Function,
    Mutant,
    Mutants,
    blocks_of,
    moved_heading,
)
from mxref.mutants.quotients import quantized
from mxref.mutants.range_mutants import RANGES
from mxref.mutants.rounding_mutants import INTEGERS, ROUNDING

__all__ = ["LIFTED", "in_blocks", "in_tensors"]

Values = NDArray[Any]
Pair = tuple[U8, U8]


def in_blocks(encode: Function) -> Function:
    """A `quantize` with right scales, whose elements `encode` makes from the quotients.

    >>> import numpy as np
    >>> from mxref.numbers.element import encode
    >>> scales, codes = in_blocks(encode)(np.full((1, 32), 5.0, np.float32), "mxfp4_e2m1")
    >>> scales, codes[0, :4]
    (array([127], dtype=uint8), array([6, 6, 6, 6], dtype=uint8))
    """

    def run(values: Values, format: str, tensor_scale: Any = None) -> Pair:
        work = quantized(values, format, 1, tensor_scale)
        return work.scales[:, 0], work.encoded(encode)

    return run


def in_tensors(encode: Function) -> Function:
    """A `quantize_tensor` with right scales, whose elements `encode` makes from the quotients."""

    def run(values: Values, format: str, axis: int) -> Pair:
        work = quantized(values, format, axis)
        return work.scales, work.encoded(encode)

    return run


@dataclass(frozen=True, slots=True)
class _Place:
    """An operation in which the wrong element steps are put.

    Args:
        letter: what follows the mutant's id.
        words: what follows its name.
        op: the operation.
        lift: makes the operation of an `encode`.
        formats: the block formats by the names of their elements.
        floats: float types of the numbers -> that of the quotients.
        model: the coverage model that is expected to catch the mutants.
    """

    letter: str
    words: str
    op: str
    lift: Callable[[Function], Function]
    formats: dict[str, tuple[str, ...]]
    floats: dict[str, str]
    model: str

    def holds(self, mutant: Mutant) -> Mutant:
        """The same mistake in this place."""
        if mutant.run is None:
            raise ValueError(f"mutant {mutant.id} cannot be run: {mutant.waiting}")
        return dataclasses.replace(
            mutant,
            op=self.op,
            run=self.lift(mutant.run),
            formats=tuple(one for name in mutant.formats for one in self.formats.get(name, ())),
            floats=tuple(name for name, own in self.floats.items() if own in mutant.floats),
            model=self.model,
        )


#: Mutants that designed blocks catch, but none that are about rounding, by places.
_DESIGNED = {
    "q": ("A1b", "B17", "B17b"),
    "n": ("B7", "B7b", "B11", "B12"),
    "v": ("B7", "B7b", "B11", "B12"),
}
_ELEMENTS = {name: blocks_of((name,)) for name in ELEMENTS}
_OF_MX = {name: blocks_of((name,), BLOCKS) for name in ELEMENTS}
_OWN = {name: name if name != "f16" else "f32" for name in FLOATS}
#: Quotients of 16-bit floats by scales that are small floats are float32 numbers.
_IN_FLOAT32 = {name: name if name == "f64" else "f32" for name in FLOATS}
_PLACES = (
    _Place("q", "blocks", "quantize", in_blocks, _ELEMENTS, _OWN, "M16"),
    _Place(
        "t",
        "tensors",
        "quantize_tensor",
        in_tensors,
        _OF_MX,
        {name: name for name in ("f32", "bf16")},
        "M11",
    ),
    _Place(
        "n",
        "fp4_ue4m3",
        "quantize",
        in_blocks,
        {"e2m1": ("fp4_ue4m3",)},
        _IN_FLOAT32,
        "M16",
    ),
    _Place("v", "nvfp4", "quantize", in_blocks, {"e2m1": ("nvfp4",)}, _IN_FLOAT32, "M16"),
)


def _lifted() -> Mutants:
    found: dict[str, Mutant] = {}
    for heading, mutant in {**ROUNDING, **INTEGERS, **RANGES}.items():
        for place in _PLACES:
            assert isinstance(mutant, Mutant)
            lifted = place.holds(mutant)
            if lifted.formats and lifted.floats:
                of = heading.partition(" ")[0]
                model = "M9" if of in _DESIGNED.get(place.letter, ()) else place.model
                found[moved_heading(heading, place.letter, place.words)] = dataclasses.replace(
                    lifted, lifted_from=of, model=model
                )
    return found


#: The mutants of `encode` inside blocks, tensors and NVFP4 blocks.
LIFTED: Mutants = _lifted()
