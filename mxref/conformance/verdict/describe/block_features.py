"""Features of blocks that are quantized: of their scales, and of their elements."""

from __future__ import annotations

from typing import Any

import numpy as np
from numpy.typing import NDArray

from mxref.bits.floats import I64, FloatLayout
from mxref.conformance.verdict.describe.features import Table
from mxref.conformance.verdict.describe.number_features import (
    encoding_table,
    known,
    number_table,
    wanted_table,
)
from mxref.formats.catalog import E8M0, BlockFormat

__all__ = ["block_tables", "place_table", "spread"]


def block_tables(
    bits: NDArray[Any], layout: FloatLayout, fmt: BlockFormat, scales: I64, codes: I64
) -> tuple[Table, Table]:
    """The features of blocks, one entry each, and of their elements, in rows.

    Args:
        bits: float patterns, a block a row.
        layout: their type.
        fmt: the block format.
        scales: the wanted scale code of each block.
        codes: the wanted codes, a block a row.
    """
    magnitudes = (bits & bits.dtype.type(layout.sign_bit - 1)).astype(np.int64)
    numbers = np.where(magnitudes > layout.inf_bits, -1, magnitudes)
    amax = numbers.max(axis=1)
    block = _amax_table(bits, numbers, amax, layout)
    # Other scales than E8M0 are no powers of two: where x lies between two numbers is not said.
    encoding = (
        encoding_table(bits, layout, fmt.element, codes, scales[:, np.newaxis] - E8M0.bias)
        if fmt.scale is E8M0
        else wanted_table(codes, fmt.element)
    )
    elements = {
        **number_table(bits, layout),
        **encoding,
        **place_table(bits.shape),
        **spread({**block, "scale code": scales, "scale parity": scales & 1}, bits.shape),
        "largest": (numbers == amax[:, np.newaxis]).astype(np.int64),
    }
    return {**block, "wanted scale": scales}, elements


def _amax_table(bits: NDArray[Any], numbers: I64, amax: I64, layout: FloatLayout) -> Table:
    """Features of blocks and of the largest magnitude, NaN aside, of each."""
    count, width = bits.shape
    found = number_table(np.maximum(amax, 0).astype(bits.dtype), layout)
    first = numbers.argmax(axis=1)
    sign = number_table(bits[np.arange(count), first], layout)["sign"]
    some = amax > 0
    kinds = ((numbers < 0).any(axis=1), amax == layout.inf_bits, amax == 0)
    return {
        "block": np.select(kinds, (3, 2, 0), 1).astype(np.int64),
        "amax": known(found["magnitude"], amax >= 0),
        "amax significand": known(found["significand"], some),
        "amax sign": known(sign, some),
        "amax place": known(_places(first, width), some),
        "amax position": known(first, some),
        "amax position parity": known(first & 1, some),
        "amax count": known((numbers == amax[:, np.newaxis]).sum(axis=1), some),
    }


def _places(index: NDArray[Any], count: int) -> I64:
    """First, inner or last."""
    return np.select((index == 0, index == count - 1), (0, 2), 1).astype(np.int64)


def place_table(shape: tuple[int, ...]) -> Table:
    """Where elements stand in their blocks, which are rows."""
    index = np.broadcast_to(np.arange(shape[1]), shape)
    return {
        "place": _places(index, shape[1]),
        "position": index,
        "position parity": index & 1,
        "position of four": index & 3,
    }


def spread(table: Table, shape: tuple[int, ...]) -> Table:
    """Features of blocks as features of their elements, in rows."""
    return {name: np.broadcast_to(v[:, np.newaxis], shape) for name, v in table.items()}
