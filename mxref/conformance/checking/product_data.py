"""The numbers of questions about products: drawn, under one scale, of one sign, rising, equal."""

from __future__ import annotations

from dataclasses import dataclass
from functools import cache, lru_cache
from typing import Any, TypeAlias

import numpy as np
from numpy.typing import NDArray

from mxref.bits.floats import U8
from mxref.formats.catalog import BlockFormat, ElementFormat
from mxref.operands.splitmix import below, splitmix64

__all__ = [
    "AS_DRAWN",
    "PRODUCT_KINDS",
    "REPEATED",
    "Numbers",
    "ProductData",
    "drawn",
    "tensor_scales",
]

#: Of float32, or float64 for long rows.
Numbers: TypeAlias = NDArray[np.float32] | NDArray[np.float64]


@dataclass(frozen=True, slots=True)
class ProductData:
    """What the numbers of a product have in common.

    Args:
        equal: whether all scales are equal.
        numbers: what the elements are: `positive`, `negative`, `sorted`, `constant`, or any.
        broken: whether one row is an exception.
        one_row: whether every row is the first one.
    """

    equal: bool = False
    numbers: str = ""
    broken: bool = False
    one_row: bool = False

    @property
    def name(self) -> str:
        """It in words."""
        parts = ["scales equal"] * self.equal + [f"numbers {self.numbers}"] * bool(self.numbers)
        return ", ".join(parts)

    @property
    def blocks(self) -> int | None:
        """The most blocks whose sum has few bits; None for any number, as signs take turns."""
        return (16 if self.equal else 8) if self.numbers else None


#: Numbers as they are drawn, and the kinds of ordinary ones.
AS_DRAWN = ProductData()
PRODUCT_KINDS = (
    ProductData(equal=True),
    ProductData(equal=True, numbers="positive"),
    *(ProductData(numbers=one) for one in ("positive", "negative", "sorted", "constant")),
)
#: Numbers that can lie in arrays with a stride of 0.
REPEATED = ProductData(one_row=True), ProductData(equal=True)
#: Elements of a row up to which float32 adds products without error.
_IN_FLOAT32 = 1 << 16
#: The scales of tensors, of formats that have them: powers of two, which round nothing.
_TENSORS = np.float32(0.5), np.float32(8)


@cache
def _few(element: ElementFormat, *, more: bool) -> tuple[NDArray[np.float64], U8]:
    """The numbers that are drawn, and their codes; more of them where all scales are equal."""
    chosen = (0.5, 1, 1.5, 2) + (3, 4, 6) * more
    every = {element.value(code): code for code in range(1 << element.bits)}
    few = {number: code for number, code in every.items() if abs(number) in chosen}
    return np.array([*few]), np.array([*few.values()], np.uint8)


@lru_cache(16)  # both sides, asked for arrays and for outputs
def drawn(
    fmt: BlockFormat, rows: int, blocks: int, draw: int, *, single: bool, kind: ProductData
) -> tuple[U8, U8, Numbers]:
    """What `Product.side` gives; `single` for one element of a row that is not zero."""
    size = fmt.elements_per_block
    words = splitmix64((rows << 20 | blocks) << 8 | draw, rows * (blocks * (size + 1) + 2))
    words >>= np.uint64(32)
    few, codes = _few(fmt.element, more=kind.equal)
    rest = rows * (blocks + 2)
    of_row, place, of_block = words[:rows], words[rows : 2 * rows], words[2 * rows : rest]
    chosen = below(words[rest:], len(few)).reshape(rows, blocks * size)
    powers = below(of_row, 8).reshape(rows, 1) + below(of_block, 3).reshape(rows, blocks)
    ordinary = slice(rows - 1) if kind.broken and rows > 1 else slice(None)
    if kind.equal:
        powers[ordinary] = 4
    if kind.numbers in ("positive", "negative"):
        some = np.flatnonzero(few > 0 if kind.numbers == "positive" else few < 0)
        chosen[ordinary] = some[chosen[ordinary] % len(some)]
    elif kind.numbers == "sorted":
        order = np.argsort(few)
        chosen[ordinary] = order[np.sort(chosen[ordinary], axis=None)].reshape(-1, chosen.shape[1])
    elif kind.numbers == "constant":
        chosen[ordinary] = chosen[0, 0]
    if kind.one_row:
        powers, chosen = (np.repeat(one[:1], rows, axis=0) for one in (powers, chosen))
    # A product is at most 256 times what all of a row and a column are multiples of: float32 has
    # every sum of so many.
    type = np.float32 if blocks * size <= _IN_FLOAT32 else np.float64
    numbers: NDArray[Any] = few.astype(type).take(chosen).reshape(rows, blocks, size)
    numbers *= np.ldexp(type(1), powers - 4)[:, :, np.newaxis]
    scales = (powers - 4 + fmt.scale.bias) << fmt.scale.mantissa_bits
    found = scales.astype(np.uint8), codes.take(chosen), numbers.reshape(chosen.shape)
    if single:
        only = below(place, chosen.shape[1])
        only[::5] = chosen.shape[1] - 1
        kept = np.arange(chosen.shape[1]) == only[:, np.newaxis]
        found = found[0], found[1] * kept, found[2] * kept
    for array in found:  # of the cache
        array.flags.writeable = False
    return found


def tensor_scales(*formats: BlockFormat) -> tuple[np.float32, ...]:
    """The scales of both tensors, 1 of those that have none."""
    pairs = zip(formats, _TENSORS, strict=True)
    return tuple(tensor if fmt.tensor_scale else np.float32(1) for fmt, tensor in pairs)
