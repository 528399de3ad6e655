"""Operands of a product: rows of codes whose blocks run along the axis that is summed over."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from mxref.bits.floats import U8
from mxref.blocks.fields import BlockFields
from mxref.blocks.tiles import cut
from mxref.formats.catalog import E8M0, ElementFormat

#: Elements of a run at most: sums of so many products stay within what float64 holds exactly.
LONGEST_RUN = 32


@dataclass(frozen=True, slots=True)
class Operand:
    """Rows of codes, each cut into runs of elements that share a scale.

    Args:
        format: the element format.
        codes: (rows, K'), filled up with code 00 to whole runs, whatever the padding of the blocks.
        scales: (rows, K' / run), E8M0 codes.
        run: elements of a run, at most 32.
        length: K, the elements of a row before filling.
    """

    format: ElementFormat
    codes: U8
    scales: U8
    run: int
    length: int


def operand(blocks: BlockFields, axis: int, parameter: str = "blocks") -> Operand:
    """The operand of blocks that run along the axis; the other axis, if there is one, has the rows.

    Blocks longer than 32 are cut into equal runs, the longest of at most 32, and their scale is
    repeated.

    Args:
        blocks: one or two axes, blocks along `axis`, and E8M0 scales.
        axis: the axis that is summed over.
        parameter: what error messages call the blocks.

    Raises:
        TypeError: blocks is no `Blocks`.
        ValueError: more axes, blocks along another axis or several, another scale format, or a
            tensor scale.
    Source: OCP MX v1.0 6.1, 6.2; SPEC_NOTES N26, N29.

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
    if isinstance(blocks.axis, tuple) or blocks.axis != axis:
        raise ValueError(
            f"{parameter} must have its blocks along axis {axis}, which is summed over, got axis "
            f"{blocks.axis}: quantize it with axis={axis}"
        )
    if fmt.tensor_scale:
        raise ValueError(
            f"{parameter} must have no tensor scale, got {fmt.name}: multiply the product by it "
            "afterwards"
        )
    if fmt.scale != E8M0:
        raise ValueError(f"{parameter} must have e8m0 scales, got {fmt.scale.name} of {fmt.name}")
    size = fmt.block_shape[0]
    run = max(n for n in range(1, min(size, LONGEST_RUN) + 1) if size % n == 0)
    codes = cut(blocks.codes, blocks.shape)
    scales = blocks.scale_codes
    if ndim == 1:
        codes, scales = codes[np.newaxis], scales[np.newaxis]
    elif axis == 0:
        codes, scales = codes.T, scales.T
    length = codes.shape[1]
    runs = -(-length // run)
    filled = np.zeros((len(codes), runs * run), np.uint8)
    filled[:, :length] = codes
    repeated = np.repeat(scales, size // run, axis=1)[:, :runs]
    return Operand(fmt.element, filled, np.ascontiguousarray(repeated), run, length)


def check_pair(a: Operand, b: Operand) -> None:
    """Refuse operands that have no product.

    Raises:
        ValueError: another number of elements, or of elements to a scale.
    """
    if a.length != b.length:
        raise ValueError(
            f"b must have as many elements along the axis that is summed over as a, {a.length}, "
            f"got {b.length}"
        )
    if a.run != b.run:
        raise ValueError(f"b must have blocks as long as those of a, {a.run}, got {b.run}")
