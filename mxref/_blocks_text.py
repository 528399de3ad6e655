"""What `Blocks` print: what they are, and their first block."""

from __future__ import annotations

import math
from typing import TYPE_CHECKING

import numpy as np

from mxref._tiles import cut
from mxref.formats import E8M0, ScaleFormat

if TYPE_CHECKING:
    from mxref.blocks import Blocks

#: Elements of the first block that are shown.
SHOWN = 8


def text_of(blocks: Blocks) -> str:
    """At most four lines, whatever the size.

    A block along several axes is shown in row-major order.

    >>> import mxref
    >>> mxref.quantize(np.float32([0.5, -3.0, 100.0, 7.0]), "mxfp8_e4m3", block_size=3)
    Blocks mxfp8_e4m3: shape (4,), axis 0, 2 blocks of 3, from float32
      first scale: 7d = 2**-2
      codes: 40 d4 7c
      values: 0.5 -3.0 96.0
    """
    fmt, tiling = blocks.format, blocks.tiling
    count = math.prod(tiling.counts)
    size = " x ".join(map(str, fmt.block_shape))
    lines = [
        f"Blocks {fmt.name}: shape {blocks.shape}, axis {blocks.axis}, "
        f"{count} block{'s' * (count != 1)} of {size}, from {blocks.dtype}"
    ]
    tensor = blocks.tensor_scale
    if tensor is not None:
        lines[0] += f", tensor scale {tensor.bits:08x} = {tensor.value} ({tensor.kind.value})"
    if not count:
        return lines[0]
    # A scalar has no axis to cut; every other tensor has a block axis at least.
    lengths = zip(tiling.shape, tiling.unit, strict=True) if blocks.shape else ()
    first = blocks[tuple(slice(min(length, unit)) for length, unit in lengths)]
    scale = int(first.scale_codes.flat[0])
    codes = cut(first.codes, first.tiling.shape).ravel()
    values = first.dequantize(np.float64).ravel()
    more = " ..." * (codes.size > SHOWN)
    digits = -(-fmt.element.bits // 4)
    return "\n".join(
        [
            *lines,
            f"  first scale: {scale:02x} = {_scale_text(fmt.scale, scale)}",
            f"  codes: {' '.join(f'{code:0{digits}x}' for code in codes[:SHOWN].tolist())}{more}",
            f"  values: {' '.join(map(str, values[:SHOWN].tolist()))}{more}",
        ]
    )


def _scale_text(fmt: ScaleFormat, code: int) -> str:
    if fmt == E8M0 and not fmt.is_nan(code):
        return f"2**{code - fmt.bias}"
    return str(fmt.value(code))
