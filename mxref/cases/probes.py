"""Many more inputs of an operation than the vectors have, to see whether two variants differ.

All patterns of 16-bit floats and all codes; of wider floats the thresholds with 2 ulp on both
sides, and seeded random patterns.
"""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from mxref.bits.floats import LAYOUTS, FloatLayout
from mxref.cases.grid import grid
from mxref.cases.splitmix import splitmix64
from mxref.cases.words import LAYOUT_OPERATIONS
from mxref.formats.catalog import (
    BLOCK_FORMATS,
    E8M0,
    ELEMENT_FORMATS,
    OTHER_BLOCK_FORMATS,
    BlockFormat,
)

__all__ = ["probes"]

Words = NDArray[np.uint64]

#: Number of random patterns of a float type.
COUNT = 1 << 20
#: Significands in 64ths at which the known scale rules change the scale, and their neighbours.
_SIGNIFICANDS = (64, 80, 91, 96, 112, 116, 120, 124, 126, 127)


def probes(op: str, format: str, float: str) -> Words:
    """Inputs of an operation, one case a row; no rows where the vectors' inputs suffice.

    >>> probes("encode", "e2m1", "bf16").shape, probes("dequantize", "mxfp4_e2m1", "f32").shape
    ((65536, 1), (256, 33))
    """
    scaled = OTHER_BLOCK_FORMATS.get(format)
    if op == "encode_stochastic":
        return np.zeros((0, 3), np.uint64)
    if op in LAYOUT_OPERATIONS or (scaled is not None and scaled.tensor_scale):
        return np.zeros((0, 1), np.uint64)
    layout = LAYOUTS[float]
    if scaled is not None:
        return _scaled(op, scaled, layout)
    if op in ("decode", "decode_scale"):
        count = ELEMENT_FORMATS[format].code_count if op == "decode" else E8M0.code_count
        return np.arange(count, dtype=np.uint64)[:, np.newaxis]
    if op == "dequantize":
        return _scales_and_codes(BLOCK_FORMATS[format].element.code_count)
    if op == "quantize":
        return _blocks(layout)
    if layout.width == 16:
        words = np.arange(1 << 16, dtype=np.uint64)
    else:
        points = _edges(layout)
        if op == "encode":
            numbers, middles = grid(ELEMENT_FORMATS[format], layout)
            points = np.concatenate([np.array([*numbers, *middles], np.uint64), points])
        words = np.concatenate([_around(points, layout), _random(layout)])
    if op == "shared_scale":
        words = words & np.uint64(layout.sign_bit - 1)
    return words[:, np.newaxis]


def _edges(layout: FloatLayout) -> Words:
    """Patterns of all binades at which an answer can change."""
    fields = np.arange((1 << layout.exponent_bits) - 1, dtype=np.uint64)[:, np.newaxis]
    fractions = [(n - 64) << layout.mantissa_bits >> 6 for n in _SIGNIFICANDS]
    return (fields << np.uint64(layout.mantissa_bits) | np.array(fractions, np.uint64)).reshape(-1)


def _around(points: Words, layout: FloatLayout) -> Words:
    """Points and the floats up to 2 ulp away, of both signs."""
    steps = np.arange(-2, 3)[:, np.newaxis]
    near = (points.astype(np.int64) + steps).reshape(-1)
    near = near[(near >= 0) & (near <= layout.inf_bits)].astype(np.uint64)
    return np.concatenate([near, near | np.uint64(layout.sign_bit)])


def _random(layout: FloatLayout) -> Words:
    return splitmix64(layout.width, COUNT) >> np.uint64(64 - layout.width)


def _blocks(layout: FloatLayout) -> Words:
    """Random blocks whose elements lie in the 16 binades below a random one."""
    rows = COUNT // 32
    draws = splitmix64(layout.width + 1, COUNT).reshape(rows, 32)
    top = (1 << layout.exponent_bits) - 1
    highest = splitmix64(layout.width + 2, rows)[:, np.newaxis] % np.uint64(top)
    below = draws % np.uint64(16)
    fields = np.maximum(highest, below) - below
    fractions = draws >> np.uint64(64 - layout.mantissa_bits)
    signs = (draws >> np.uint64(4)) % np.uint64(2) << np.uint64(layout.width - 1)
    words: Words = fields << np.uint64(layout.mantissa_bits) | fractions | signs
    words[::64, 7] = layout.inf_bits
    words[::96, 9] = layout.nan_bits
    words[::128, :31] = 0
    return words


def _scaled(op: str, fmt: BlockFormat, layout: FloatLayout) -> Words:
    """Blocks within the reach of a scale that is a small float, or every scale with every code."""
    size = fmt.elements_per_block
    if op == "dequantize":
        scales = np.arange(fmt.scale.code_count, dtype=np.uint64)[:, np.newaxis]
        codes = np.arange(size, dtype=np.uint64) % np.uint64(fmt.element.code_count)
        return np.concatenate([scales, np.tile(codes, (len(scales), 1))], axis=1)
    draws = splitmix64(layout.width + 3, COUNT).reshape(-1, size)
    highest = draws[:, :1] % np.uint64(24) + np.uint64(layout.bias - 12)
    fields = highest - (draws >> np.uint64(8)) % np.uint64(6)
    fractions = draws >> np.uint64(64 - layout.mantissa_bits)
    signs = (draws >> np.uint64(4)) % np.uint64(2) << np.uint64(layout.width - 1)
    words: Words = fields << np.uint64(layout.mantissa_bits) | fractions | signs
    return words


def _scales_and_codes(count: int) -> Words:
    """Every scale code with every element code, 32 to a block."""
    codes = (np.arange(max(count, 32)) % count).reshape(-1, 32).astype(np.uint64)
    scales = np.repeat(np.arange(256, dtype=np.uint64), len(codes))[:, np.newaxis]
    return np.concatenate([scales, np.tile(codes, (256, 1))], axis=1)
