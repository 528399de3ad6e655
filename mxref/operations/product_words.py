"""Words of cases about products: two operands in blocks along the summed axis, and their formats.

A case of `matmul` is one dot product of K elements. Its words are the float32 scale of the tensor,
where the format has one, the scale codes and the element codes of the first operand, then those of
the second. With blocks of 32, K elements have ceil(K / 32) scales, so that the number of words
tells K; what lacks of the last block is zeros. Both formats have blocks of one size.
"""

from __future__ import annotations

import functools
from collections.abc import Sequence
from dataclasses import dataclass
from fractions import Fraction
from typing import TYPE_CHECKING

import numpy as np
from numpy.typing import NDArray

from mxref.bits.floats import U8
from mxref.blocks.two_level import TensorScale
from mxref.formats.catalog import BLOCK_FORMATS, MX_BLOCKS, OTHER_BLOCK_FORMATS, BlockFormat

if TYPE_CHECKING:
    from mxref.blocks.container import Blocks

__all__ = [
    "BOUNDS",
    "MX_PAIRS",
    "ONE",
    "PAIRS",
    "SCALED_PAIRS",
    "TENSORS",
    "DotSide",
    "blocks_of",
    "code_of_one",
    "numbers",
    "operands",
    "pair_formats",
    "rows_of_operands",
    "show_rows",
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
#: The pairs of formats that have vectors: of MX, and of blocks of 16.
MX_PAIRS = tuple("-".join(pair) for pair in (*((name, name) for name in MX_BLOCKS), *_MIXED))
_SAME = ("nvfp4", "fp4_ue4m3", "fp4_e8m0", "fp4_ue5m3")
SCALED_PAIRS = (*(f"{name}-{name}" for name in _SAME), "nvfp4-fp4_e8m0")
PAIRS = (*MX_PAIRS, *SCALED_PAIRS)
#: The pattern of a tensor's scale of 1, and the parameters for the scales of both.
ONE = 0x3F800000
TENSORS = ("tensor_scale_a", "tensor_scale_b")


@dataclass(frozen=True, slots=True)
class DotSide:
    """One side of a dot product: a scale for each block, the element codes, and the tensor's scale.

    Args:
        scales: scale codes.
        codes: element codes.
        tensor: the float32 pattern of the tensor's scale; None where the format has none.
    """

    scales: tuple[int, ...]
    codes: tuple[int, ...]
    tensor: int | None = None

    @property
    def words(self) -> tuple[int, ...]:
        """The words of a case that this side has."""
        tensor = () if self.tensor is None else (self.tensor,)
        return (*tensor, *self.scales, *self.codes)


def pair_formats(name: str) -> tuple[BlockFormat, BlockFormat]:
    """The formats of both operands, by the name of the pair.

    >>> [fmt.element.name for fmt in pair_formats("mxfp8_e5m2-mxfp4_e2m1")]
    ['e5m2', 'e2m1']

    Raises:
        ValueError: no pair of block formats whose rows have blocks of one size.
    """
    names = name.split("-")
    known = [OTHER_BLOCK_FORMATS.get(one) or BLOCK_FORMATS.get(one) for one in names]
    found = [one for one in known if one is not None and not one.is_tiled]
    if not len(names) == len(found) == 2 or found[0].block_size != found[1].block_size:
        raise ValueError(
            "format must be two formats of blocks of one size joined by a hyphen, both of MX or "
            f"both of blocks of 16, got {name!r}"
        )
    return found[0], found[1]


def code_of_one(fmt: BlockFormat) -> int:
    """The scale code of 1.

    >>> [hex(code_of_one(fmt)) for fmt in pair_formats("mxint8-mxint8")]
    ['0x7f', '0x7f']
    >>> hex(code_of_one(pair_formats("nvfp4-nvfp4")[0]))
    '0x38'
    """
    return fmt.scale.bias << fmt.scale.mantissa_bits


def operands(words: Sequence[int], format: str) -> tuple[DotSide, DotSide]:
    """Both operands of a dot product.

    >>> operands((127, 1, 2, 128, 3, 4), "mxint8-mxint8")[1]
    DotSide(scales=(128,), codes=(3, 4), tensor=None)
    >>> operands((ONE, 0x38, 1, ONE, 0x40, 3), "nvfp4-nvfp4")[1]
    DotSide(scales=(64,), codes=(3,), tensor=1065353216)

    Raises:
        ValueError: no number of elements has this number of words.
    """
    first, second = _places(len(words), pair_formats(format))
    return _side(words, *first), _side(words, *second)


def rows_of_operands(words: NDArray[np.uint64], format: str) -> list[tuple[DotSide, DotSide]]:
    """Both operands of dot products with as many words, one a row; raises as `operands`."""
    first, second = _places(words.shape[1], pair_formats(format))
    return [(_side(row, *first), _side(row, *second)) for row in map(tuple, words.tolist())]


def _side(words: Sequence[int], tensor: int | None, scales: slice, codes: slice) -> DotSide:
    """The words of one side, by their places."""
    bits = None if tensor is None else words[tensor]
    return DotSide(tuple(words[scales]), tuple(words[codes]), bits)


@functools.lru_cache(1 << 10)
def _places(
    count: int, formats: tuple[BlockFormat, BlockFormat]
) -> tuple[tuple[int | None, slice, slice], ...]:
    """Where so many words have the tensor's scale, if any, scales and codes of each operand.

    Raises:
        ValueError: no number of elements has this number of words.
    """
    size, tensors = formats[0].elements_per_block, [fmt.tensor_scale for fmt in formats]
    half, odd = divmod(count - sum(tensors), 2)
    blocks = -(-half // (size + 1))
    if odd or half < 1 or half - blocks <= (blocks - 1) * size:
        raise ValueError(
            f"a dot product must have two operands of equal length, each with a scale for every "
            f"{size} elements, got {count} words"
        )
    sides = []
    start = 0
    for has_tensor in tensors:
        first = start + has_tensor
        end = first + half
        codes = slice(first + blocks, end)
        sides.append((start if has_tensor else None, slice(first, first + blocks), codes))
        start = end
    return tuple(sides)


def blocks_of(rows: Sequence[DotSide], fmt: BlockFormat) -> Blocks:
    """Operands of one length, and of one tensor, as its rows with blocks along its second axis."""
    from mxref.blocks.container import Blocks

    scales: U8 = np.array([row.scales for row in rows], np.uint8)
    codes: U8 = np.array([row.codes for row in rows], np.uint8)
    bits = rows[0].tensor
    tensor = None if bits is None else TensorScale(bits)
    return Blocks(codes, scales, fmt, 1, codes.shape, tensor_scale=tensor)


def numbers(words: Sequence[int], format: str) -> list[list[Fraction]] | None:
    """The numbers of both operands, exactly; None if a scale or an element is no number.

    >>> numbers((ONE + 0x400000, 0x39, 3, ONE, 0x38, 1), "nvfp4-nvfp4")
    [[Fraction(81, 32)], [Fraction(1, 2)]]
    """
    sides = []
    for side, fmt in zip(operands(words, format), pair_formats(format), strict=True):
        values = [fmt.element.value(code) for code in side.codes]
        scales = [fmt.scale.value(code) for code in side.scales]
        tensor = 1.0 if side.tensor is None else TensorScale(side.tensor).value
        if not (np.isfinite(values).all() and np.isfinite(scales).all()):
            return None
        factors = [Fraction(scale) * Fraction(tensor) for scale in scales]
        size = fmt.elements_per_block
        sides.append([Fraction(v) * factors[i // size] for i, v in enumerate(values)])
    return sides


def terms(words: Sequence[int], format: str) -> list[Fraction] | None:
    """The products that a dot product sums up, exactly; None if a scale or element is no number.

    >>> terms((127, 56, 8, 130, 56, 1), "mxfp8_e4m3-mxfp8_e4m3")
    [Fraction(8, 1), Fraction(1, 4096)]
    """
    sides = numbers(words, format)
    return None if sides is None else [x * y for x, y in zip(*sides, strict=True)]


def show_rows(words: Sequence[int], format: str) -> str:
    """The elements of both rows that are not zero, and where scales are not 1 the scales.

    >>> show_rows((127, 0x78, 0x18, 0, 127, 0x78, 0x18, 0), "mxfp8_e4m3-mxfp8_e4m3")
    '78 18 . 78 18'
    """
    a, b = operands(words, format)
    some = [i for i in range(len(a.codes)) if a.codes[i] or b.codes[i]]
    apart = f" in {', '.join(map(str, some[:8]))}" if some != list(range(len(some))) else ""
    texts = []
    for side, fmt in zip((a, b), pair_formats(format), strict=True):
        scales = "" if set(side.scales) == {code_of_one(fmt)} else f" under {_hex(side.scales)}"
        texts.append(f"{_hex([side.codes[i] for i in some[:8]])}{scales}")
    more = " ..." if len(some) > 8 else ""
    return f"{' . '.join(texts)}{apart}{more}"


def _hex(codes: Sequence[int]) -> str:
    return " ".join(f"{code:02x}" for code in codes)
