"""Words of cases about products: two operands in blocks along the summed axis, and their formats.

A case of `matmul` is one dot product of K elements. Its words are the scale codes and the element
codes of the first operand, then those of the second. With blocks of 32, K elements have
ceil(K / 32) scales, so that the number of words tells K; what lacks of the last block is zeros.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from fractions import Fraction

import numpy as np

from mxref.bits.floats import U8
from mxref.blocks.container import Blocks
from mxref.formats.catalog import BLOCK_FORMATS, MX_BLOCKS, BlockFormat

__all__ = [
    "BOUNDS",
    "PAIRS",
    "DotSide",
    "blocks_of",
    "numbers",
    "operands",
    "pair_formats",
    "terms",
]

#: Columns of a file of products that are no policies: what `matmul_bounds` gives, and the answer
#: that every order of float32 additions gives, NaN where it is not one.
BOUNDS = ("lo", "hi", "overflow", "bits")
_MIXED = (
    ("mxfp8_e5m2", "mxfp8_e4m3"),
    ("mxfp8_e4m3", "mxfp4_e2m1"),
    ("mxfp8_e5m2", "mxfp6_e2m3"),
)
#: The pairs of formats that have vectors.
PAIRS = tuple("-".join(pair) for pair in (*((name, name) for name in MX_BLOCKS), *_MIXED))
_SIZE = 32


@dataclass(frozen=True, slots=True)
class DotSide:
    """One side of a dot product: a scale for each block, and the element codes."""

    scales: tuple[int, ...]
    codes: tuple[int, ...]

    @property
    def words(self) -> tuple[int, ...]:
        """The words of a case that this side has."""
        return (*self.scales, *self.codes)


def pair_formats(name: str) -> tuple[BlockFormat, BlockFormat]:
    """The formats of both operands, by the name of the pair.

    >>> [fmt.element.name for fmt in pair_formats("mxfp8_e5m2-mxfp4_e2m1")]
    ['e5m2', 'e2m1']

    Raises:
        ValueError: no pair of block formats.
    """
    names = name.split("-")
    if len(names) != 2 or not BLOCK_FORMATS.keys() >= set(names):
        raise ValueError(f"format must be two MX formats joined by a hyphen, got {name!r}")
    return BLOCK_FORMATS[names[0]], BLOCK_FORMATS[names[1]]


def operands(words: Sequence[int]) -> tuple[DotSide, DotSide]:
    """Both operands of a dot product.

    >>> operands((127, 1, 2, 128, 3, 4))[1]
    DotSide(scales=(128,), codes=(3, 4))

    Raises:
        ValueError: no number of elements has this number of words.
    """
    half, odd = divmod(len(words), 2)
    blocks = -(-half // (_SIZE + 1))
    if odd or not half or half - blocks <= (blocks - 1) * _SIZE:
        raise ValueError(
            f"a dot product must have two operands of equal length, each with a scale for every "
            f"{_SIZE} elements, got {len(words)} words"
        )
    first, second = words[:half], words[half:]
    a, b = (DotSide(tuple(w[:blocks]), tuple(w[blocks:])) for w in (first, second))
    return a, b


def blocks_of(rows: Sequence[DotSide], fmt: BlockFormat) -> Blocks:
    """Operands of one length as the rows of a tensor with blocks along its second axis."""
    scales: U8 = np.array([row.scales for row in rows], np.uint8)
    codes: U8 = np.array([row.codes for row in rows], np.uint8)
    return Blocks(codes, scales, fmt, 1, codes.shape)


def numbers(words: Sequence[int], format: str) -> list[list[Fraction]] | None:
    """The numbers of both operands, exactly; None if a scale or an element is no number."""
    sides = []
    for side, fmt in zip(operands(words), pair_formats(format), strict=True):
        values = [fmt.element.value(code) for code in side.codes]
        if 0xFF in side.scales or not np.isfinite(values).all():
            return None
        powers = [Fraction(2) ** (scale - 127) for scale in side.scales]
        sides.append([Fraction(v) * powers[i // _SIZE] for i, v in enumerate(values)])
    return sides


def terms(words: Sequence[int], format: str) -> list[Fraction] | None:
    """The products that a dot product sums up, exactly; None if a scale or element is no number.

    >>> terms((127, 56, 8, 130, 56, 1), "mxfp8_e4m3-mxfp8_e4m3")
    [Fraction(8, 1), Fraction(1, 4096)]
    """
    sides = numbers(words, format)
    return None if sides is None else [x * y for x, y in zip(*sides, strict=True)]
