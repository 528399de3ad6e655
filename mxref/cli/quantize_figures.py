"""The error of a quantized tensor in figures, computed a part at a time."""

from __future__ import annotations

import dataclasses
from collections.abc import Callable
from dataclasses import dataclass, field
from typing import Any

import numpy as np
from numpy.typing import NDArray

from mxref.blocks.container import Blocks
from mxref.blocks.dequantization import dequantize
from mxref.blocks.tiles import Tiling, cut
from mxref.numbers.codes import are_nan
from mxref.support.decibels import SumOfSquares, decibels
from mxref.support.mapped import Mapped
from mxref.support.spread import Spread

Read = Callable[[Blocks, type[np.float64]], NDArray[Any]]
#: Elements in a part.
PART = 1 << 17


@dataclass
class Figures:
    """Figures on the error of a tensor, over the finite elements outside NaN blocks.

    The result is the same to the last bit however the tensor is cut into parts: counts and sums of
    squares are integers, and each is rounded to float64 once.
    """

    elements: int = 0
    finite: int = 0
    blocks: int = 0
    nan_blocks: int = 0
    saturated: int = 0
    flushed: int = 0
    largest_error: float = 0.0
    signal: SumOfSquares = field(default_factory=SumOfSquares)
    noise: SumOfSquares = field(default_factory=SumOfSquares)
    errors: Spread | None = None  #: counts the relative errors, if wanted

    @classmethod
    def of(
        cls,
        values: NDArray[Any],
        blocks: Blocks,
        read: Read = dequantize,
        tell: Callable[[int], None] = lambda count: None,
        errors: Spread | None = None,
    ) -> Figures:
        """The figures of a tensor and the blocks that it was quantized to.

        Args:
            values: the tensor.
            blocks: its blocks.
            read: dequantizes blocks.
            tell: called with the number of elements of each part that is done.
            errors: counts the relative errors, if wanted.
        """
        result = cls(errors=errors)
        tiling = blocks.tiling
        lifted = values.reshape(tiling.shape)
        mapped = Mapped(values, blocks.codes, blocks.scale_codes)
        for tile, some in tiling.parts(PART):
            part = lifted[tile]
            codes, scales = blocks.codes[tile], blocks.scale_codes[some]
            inside = dataclasses.replace(blocks, codes=codes, scale_codes=scales, shape=part.shape)
            result._add_part(part.astype(np.float64), inside, read)
            mapped.use(part.nbytes)
            tell(part.size)
        for _, some in Tiling(tiling.counts, (0,), (1,)).tiles(PART):
            scales = blocks.scale_codes[some]
            result.blocks += scales.size
            result.nan_blocks += int(are_nan(scales, blocks.format.scale).sum())
            mapped.use(scales.nbytes)
        return result

    def _add_part(self, exact: NDArray[np.float64], blocks: Blocks, read: Read) -> None:
        result = read(blocks, np.float64)
        limit = _limits(blocks, read)
        finite = np.isfinite(result) & np.isfinite(exact)
        with np.errstate(all="ignore"):
            saturated = finite & (np.abs(exact) > limit) & (limit > 0)
            flushed = finite & (exact != 0) & (result == 0)
            error = np.where(finite, result - exact, 0.0)
        self.elements += exact.size
        self.finite += int(finite.sum())
        self.saturated += int(saturated.sum())
        self.flushed += int(flushed.sum())
        self.largest_error = max(self.largest_error, float(np.abs(error).max(initial=0.0)))
        self.signal.add(np.where(finite, exact, 0.0))
        self.noise.add(error)
        if self.errors is not None:
            self.errors.add(exact, result)

    def __iadd__(self, other: Figures) -> Figures:
        for name in ("elements", "finite", "blocks", "nan_blocks", "saturated", "flushed"):
            setattr(self, name, getattr(self, name) + getattr(other, name))
        self.largest_error = max(self.largest_error, other.largest_error)
        self.signal.bins += other.signal.bins
        self.noise.bins += other.noise.bins
        return self

    def report(self) -> dict[str, Any]:
        """The figures by name; counts of elements become shares."""
        count = max(self.elements, 1)
        return {
            "blocks": self.blocks,
            "sqnr_db": decibels(self.signal.total, self.noise.total),
            "saturated": self.saturated / count,
            "flushed": self.flushed / count,
            "largest_error": self.largest_error,
            "not_finite": (self.elements - self.finite) / count,
            "nan_blocks": self.nan_blocks,
        }


def _limits(blocks: Blocks, read: Read) -> NDArray[np.float64]:
    """The largest magnitude of the block of each element."""
    fmt, tiling = blocks.format, blocks.tiling
    ones = (1,) * len(blocks.axis) if isinstance(blocks.axis, tuple) else 1
    singles = dataclasses.replace(fmt, block_size=ones)
    codes = np.full(tiling.counts, fmt.element.max_code, np.uint8)
    most = dataclasses.replace(blocks, codes=codes, format=singles, shape=tiling.counts)
    limit = read(most, np.float64)
    for axis, unit in enumerate(tiling.unit):
        if unit > 1:
            limit = np.repeat(limit, min(unit, tiling.shape[axis]), axis=axis)
    return cut(limit, Tiling.of(blocks.shape, blocks.axis, fmt.block_shape).shape)
