"""How often two sides differ on data, and the loss in signal-to-noise ratio."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass, field
from typing import Any

import numpy as np
from numpy.typing import NDArray

from mxref.bits.floats import F32, F64
from mxref.blocks.tiles import cut
from mxref.conformance.differing.sides import Side, exact
from mxref.conformance.differing.tensor_rows import extremes
from mxref.formats.catalog import BlockFormat
from mxref.support.decibels import SumOfSquares, decibels
from mxref.support.spread import Spread

__all__ = ["DataFigures", "FigureTally", "figures", "tally"]

#: Elements of a part, unless a row is longer.
_PART = 1 << 18


@dataclass(slots=True)
class _Ratio:
    """A signal-to-noise ratio over pairs of finite numbers."""

    signal: SumOfSquares = field(default_factory=SumOfSquares)
    noise: SumOfSquares = field(default_factory=SumOfSquares)
    lost: int = 0  #: finite numbers that became infinite or NaN

    def add(self, wanted: NDArray[np.float64], got: NDArray[np.float64]) -> None:
        finite = np.isfinite(wanted) & np.isfinite(got)
        self.lost += int((np.isfinite(wanted) & ~finite).sum())
        self.signal.add(np.where(finite, wanted, 0.0))
        with np.errstate(all="ignore"):
            self.noise.add(np.where(finite, got - wanted, 0.0))

    @property
    def decibels(self) -> float | None:
        return decibels(self.signal.total, self.noise.total)


@dataclass(frozen=True, slots=True)
class DataFigures:
    """Two sides on the same data; a ratio is None without noise or without signal.

    Args:
        data: name of the data.
        elements: number of elements.
        blocks: number of blocks.
        sqnr_db: signal-to-noise ratio of each side's own bytes (a, b), of b relative to a (a_b), of
            a's bytes read by b (b_reads_a) and of b's bytes read by a (a_reads_b).
        lost: number of finite numbers read as infinite or NaN, by the same keys.
        other_scale: share of blocks with different scale codes.
        other_code: share of elements with different codes.
        other_value: share of elements that the sides read as different numbers.
        other_sign: share of elements that the sides read as zeros of different signs.
        other_reading: share of elements of a's bytes, and of b's bytes, that the two sides read as
            different numbers; None of bytes that the other does not read, whose ratio is left out.
        errors: the relative errors of a's bytes read by a, and of b's read by b.
    """

    data: str
    elements: int
    blocks: int
    sqnr_db: dict[str, float | None]
    lost: dict[str, int]
    other_scale: float
    other_code: float
    other_value: float
    other_sign: float
    other_reading: tuple[float | None, float | None]
    errors: tuple[Spread, Spread]

    @property
    def differ(self) -> bool:
        """Whether the sides differ on the data."""
        shares = (self.other_scale, self.other_code, self.other_value, self.other_sign)
        return any((*shares, *self.other_reading))


class FigureTally:
    """What two sides do on tensors with blocks along their last axes, added up.

    Args:
        a: the first side.
        b: the second side.
        fmt: the block format.
    """

    def __init__(self, a: Side, b: Side, fmt: BlockFormat) -> None:
        self.sides = a, b
        self.format = fmt
        self.ratios = {one: _Ratio() for one in ("a", "b", "a_b", "b_reads_a", "a_reads_b")}
        self.errors = Spread(), Spread()
        self.elements = self.blocks = 0
        self.other = np.zeros(6, np.int64)
        self.unread: set[str] = set()  #: what a side does not read of the other's bytes

    def add(self, values: NDArray[Any]) -> None:
        """Add a tensor.

        Raises:
            ValueError: values that a side refuses.
        """
        dtype = F64.dtype if values.dtype == F64.dtype else F32.dtype
        elsewhere = extremes(values) if self.format.tensor_scale else None
        for part in _parts(values):
            self._add(part, dtype, elsewhere)

    def _add(
        self, part: NDArray[Any], dtype: np.dtype[Any], elsewhere: NDArray[Any] | None
    ) -> None:
        (a, b), fmt, numbers = self.sides, self.format, exact(part)
        of_a, of_b = (one.blocks(part, fmt, elsewhere) for one in (a, b))
        read = {"a": a.reader.dequantize(of_a, dtype), "b": b.reader.dequantize(of_b, dtype)}
        for name, side, made in (("b_reads_a", b, of_a), ("a_reads_b", a, of_b)):
            tensor = made.tensor_scale
            if side.reads(None if tensor is None else tensor.kind, fmt):
                read[name] = side.reader.dequantize(made, dtype)
            else:
                self.unread.add(name)
        wide = {one: exact(some) for one, some in read.items()}
        for one, some in wide.items():
            self.ratios[one].add(numbers, some)
        self.ratios["a_b"].add(wide["a"], wide["b"])
        for spread, one in zip(self.errors, ("a", "b"), strict=True):
            spread.add(numbers, wide[one])
        codes = (cut(one.codes, part.shape) for one in (of_a, of_b))
        pairs = (("a", "b_reads_a"), ("b", "a_reads_b"))
        zeros = int(((read["a"] == 0) & (read["b"] == 0) & _differ(read["a"], read["b"])).sum())
        self.other += [
            int((of_a.scale_codes != of_b.scale_codes).sum()),
            int(np.not_equal(*codes).sum()),
            int(_differ(read["a"], read["b"]).sum()) - zeros,
            zeros,
            *(int(_differ(read[one], read.get(two, read[one])).sum()) for one, two in pairs),
        ]
        self.elements += part.size
        self.blocks += of_a.scale_codes.size

    def __iadd__(self, other: FigureTally) -> FigureTally:
        """Add what another one has seen."""
        for one, ratio in other.ratios.items():
            self.ratios[one].signal.bins += ratio.signal.bins
            self.ratios[one].noise.bins += ratio.noise.bins
            self.ratios[one].lost += ratio.lost
        for spread, more in zip(self.errors, other.errors, strict=True):
            spread.exact += more.exact
            spread.counts += more.counts
        self.elements += other.elements
        self.blocks += other.blocks
        self.other += other.other
        self.unread |= other.unread
        return self

    def figures(self, name: str) -> DataFigures:
        """The figures of all that was added."""
        shares = self.other[1:] / max(self.elements, 1)
        crosswise = zip(("b_reads_a", "a_reads_b"), shares[3:].tolist(), strict=True)
        first, second = (None if one in self.unread else share for one, share in crosswise)
        ratios = {one: ratio for one, ratio in self.ratios.items() if one not in self.unread}
        return DataFigures(
            name,
            self.elements,
            self.blocks,
            {one: ratio.decibels for one, ratio in ratios.items()},
            {one: ratio.lost for one, ratio in ratios.items()},
            float(self.other[0] / max(self.blocks, 1)),
            float(shares[0]),
            float(shares[1]),
            float(shares[2]),
            (first, second),
            self.errors,
        )


def tally(values: NDArray[Any], a: Side, b: Side, fmt: BlockFormat) -> FigureTally:
    """The tally of one tensor.

    Raises:
        ValueError: values that a side refuses.
    """
    result = FigureTally(a, b, fmt)
    result.add(values)
    return result


def figures(name: str, values: NDArray[Any], a: Side, b: Side, fmt: BlockFormat) -> DataFigures:
    """The figures of one tensor; see `tally`."""
    return tally(values, a, b, fmt).figures(name)


def _parts(values: NDArray[Any]) -> Iterator[NDArray[Any]]:
    """A tensor in parts of whole rows."""
    rows = values.reshape(-1, values.shape[-1] if values.ndim else 1)
    step = max(1, _PART // max(rows.shape[1], 1))
    for start in range(0, len(rows), step):
        yield rows[start : start + step]


def _differ(a: NDArray[Any], b: NDArray[Any]) -> NDArray[np.bool_]:
    """Which patterns differ; all NaNs are equal, -0 and +0 are not."""
    unsigned = np.dtype(f"u{a.dtype.itemsize}")
    same: NDArray[np.bool_] = a.view(unsigned) == b.view(unsigned)
    same |= np.isnan(a) & np.isnan(b)
    return ~same
