"""Operands of a product: rows of codes whose blocks run along the axis that is summed over."""

from __future__ import annotations

import dataclasses
import functools
import itertools
import math
from dataclasses import dataclass

import numpy as np

from mxref.bits.floats import U8
from mxref.blocks.fields import BlockFields
from mxref.blocks.tiles import cut
from mxref.blocks.two_level import Ratio, RowScales, TensorScale
from mxref.formats.base import CodeFormat
from mxref.formats.catalog import E8M0, BlockFormat, ElementFormat, ScaleFormat
from mxref.numbers.codes import every_code

#: Elements of a run at most: sums of so many products stay within what float64 holds exactly.
LONGEST_RUN = 32
#: The same under float32 scales, which multiply the sums.
LONGEST_UNSCALED = 128
#: An element times its scale is a multiple of 2**-UNIT and below 2**UNIT.
UNIT = 168
#: The factor of a tensor without a scale of its own.
NO_FACTOR = Ratio()
#: Fraction bits of a small scale at most: float32 then holds every product of two scaled elements.
_MOST_FRACTION_BITS = 3


@dataclass(frozen=True, slots=True)
class Operand:
    """Rows of codes, each cut into runs of elements that share a scale.

    Args:
        format: the element format.
        codes: (rows, K'), filled up with code 00 to whole runs, whatever the padding of the blocks.
        scales: (rows, K' / run), scale codes.
        run: elements of a run, at most 32, or 128 under float32 scales.
        length: K, the elements of a row before filling.
        scale: the format of the scales.
        tensor: the factor of all the numbers.
        of_rows: those of rows, in place of one for all; empty where there is one.
    """

    format: ElementFormat
    codes: U8
    scales: U8
    run: int
    length: int
    scale: ScaleFormat = E8M0
    tensor: Ratio = NO_FACTOR
    of_rows: tuple[Ratio, ...] = ()

    @property
    def factors(self) -> tuple[Ratio, ...]:
        """The factors of the rows, or that of all."""
        return self.of_rows or (self.tensor,)

    @property
    def has_plain_rows(self) -> bool:
        """Whether the factors of rows, if they have some, are no quotients."""
        return all(one.denominator == 1 for one in self.of_rows)

    def part(self, rows: slice, *, mixed: bool = False) -> Operand:
        """Some rows, of one factor: that of the first of them; or each of its own if `mixed`."""
        some = self.of_rows[rows]
        tensor = self.tensor if mixed or not some else some[0]
        codes, scales = self.codes[rows], self.scales[rows]
        own = some if mixed else ()
        return dataclasses.replace(self, codes=codes, scales=scales, tensor=tensor, of_rows=own)

    def parts(self, size: int, *, mixed: bool = False) -> list[slice]:
        """Slices of at most so many rows, each of one factor, or of any if `mixed`."""
        ends = [0, *range(size, len(self.codes), size), len(self.codes)]
        pairs = [] if mixed else zip(self.of_rows, self.of_rows[1:], strict=False)
        ends += [i for i, (one, other) in enumerate(pairs, 1) if one != other]
        return [slice(*pair) for pair in itertools.pairwise(sorted({*ends}))]


def operand(blocks: BlockFields, axis: int, parameter: str = "blocks") -> Operand:
    """The operand of blocks that run along the axis; the other axis, if there is one, has the rows.

    Blocks longer than 32 (128 under float32 scales) are cut into equal runs, the longest of at most
    so many, and their scale is repeated, as is that of a tile over both axes. A tensor may have a
    scale for each row.

    Args:
        blocks: one or two axes, blocks along `axis`, and perhaps along the other one, too.
        axis: the axis that is summed over.
        parameter: what error messages call the blocks.

    Raises:
        TypeError: blocks is no `Blocks`.
        ValueError: more axes, blocks that do not run along the axis, or numbers beyond what is
            computed exactly here, which formats of a user may have.
    Source: OCP MX v1.0 6.1, 6.2; SPEC_NOTES N26, N29, N30, N42.

    >>> import mxref
    >>> blocks = mxref.quantize(np.float32([[1.0, 2.0, 3.0]]), "mxfp4_e2m1", block_size=2)
    >>> found = operand(blocks, 1)
    >>> found.codes.tolist(), found.scales.tolist(), found.run, found.length
    ([[4, 6, 7, 0]], [[126, 126]], 2, 3)
    """
    if not isinstance(blocks, BlockFields):
        raise TypeError(f"{parameter} must be a Blocks, got {type(blocks).__name__}")
    fmt, ndim = blocks.format, len(blocks.shape)
    if not 1 <= ndim <= 2:
        raise ValueError(
            f"{parameter} must have one axis or two, got shape {blocks.shape}: take its matrices "
            "one by one"
        )
    axis %= ndim
    if axis not in blocks.tiling.axes:
        raise ValueError(
            f"{parameter} must have its blocks along axis {axis}, which is summed over, got axis "
            f"{blocks.axis}: quantize it with axis={axis}"
        )
    _check_range(fmt, parameter)
    codes, scales = cut(blocks.codes, blocks.shape), blocks.scale_codes
    unit = blocks.tiling.unit
    if ndim == 1:
        codes, scales, unit = codes[np.newaxis], scales[np.newaxis], (1, *unit)
    elif axis == 0:
        codes, scales, unit = codes.T, scales.T, unit[::-1]
    beside, size = unit
    rows, length = codes.shape
    longest = LONGEST_UNSCALED if fmt.scale.is_float32 else LONGEST_RUN
    run = max(n for n in range(1, min(size, longest) + 1) if size % n == 0)
    runs = -(-length // run)
    filled = np.zeros((rows, runs * run), np.uint8)
    filled[:, :length] = codes
    each = scales[np.ix_(np.arange(rows) // beside, np.arange(runs) * run // size)]
    tensor, of_rows = blocks.tensor_scale, tuple[Ratio, ...]()
    if isinstance(tensor, RowScales):
        every = np.broadcast_to(tensor.bits.reshape(-1), (rows,)).tolist()
        of_rows = tuple(TensorScale(bits, tensor.kind).ratio(fmt) for bits in every)
    factor = tensor.ratio(fmt) if isinstance(tensor, TensorScale) else NO_FACTOR
    return Operand(fmt.element, filled, each, run, length, fmt.scale, factor, of_rows)


def _check_range(fmt: BlockFormat, parameter: str) -> None:
    """Refuse numbers that are not computed exactly here."""
    end = fmt.element.emax + fmt.scale.emax + 2
    if (
        (fmt.scale.mantissa_bits > _MOST_FRACTION_BITS and not fmt.scale.is_float32)
        or unit_of(fmt.element) + unit_of(fmt.scale) < -UNIT
        or end > UNIT
    ):
        raise ValueError(
            f"{parameter} must have scales of at most {_MOST_FRACTION_BITS} fraction bits, and "
            f"numbers from 2**-{UNIT} to 2**{UNIT}, got {fmt.name}: dequantize it"
        )


@functools.cache
def unit_of(fmt: CodeFormat) -> int:
    """The exponent of a power of two that divides all numbers of a format."""
    if isinstance(fmt, ScaleFormat) and fmt.is_float32:  # whose codes are too many to list
        return 1 - fmt.bias - fmt.mantissa_bits
    parts = every_code(fmt)
    number = ~(parts.is_inf | parts.is_nan) & (parts.significand > 0)
    return int(parts.exponent[number].min())


def in_common_runs(a: Operand, b: Operand, *, equal: bool) -> tuple[Operand, Operand]:
    """Both operands with runs of one length, which divides those that they have.

    Args:
        a: one operand.
        b: the other.
        equal: whether they must have such runs already.

    Raises:
        ValueError: another number of elements, or of elements to a scale.
    """
    if a.length != b.length:
        raise ValueError(
            f"b must have as many elements along the axis that is summed over as a, {a.length}, "
            f"got {b.length}"
        )
    if equal and a.run != b.run:
        raise ValueError(f"b must have blocks as long as those of a, {a.run}, got {b.run}")
    run = math.gcd(a.run, b.run)
    return _in_runs(a, run), _in_runs(b, run)


def _in_runs(side: Operand, run: int) -> Operand:
    if run == side.run:
        return side
    runs = -(-side.length // run)
    scales = np.repeat(side.scales, side.run // run, axis=1)[:, :runs]
    codes = side.codes[:, : runs * run]
    return dataclasses.replace(side, codes=codes, scales=scales, run=run)
