"""Many more inputs of an operation than the vectors have, to see whether two variants differ.

All patterns of 16-bit floats and all codes; of wider floats the thresholds with 2 ulp on both
sides, and seeded random patterns.
"""

from __future__ import annotations

import itertools
from collections.abc import Sequence

import numpy as np
from numpy.typing import NDArray

from mxref.bits.floats import F32, LAYOUTS, FloatLayout
from mxref.cases.float_scaled import (
    FLOAT_SCALES,
    drawn_float_scaled,
    largest_magnitudes,
    under_largest,
)
from mxref.cases.grid import grid, pattern
from mxref.cases.random_blocks import random_blocks
from mxref.formats.catalog import (
    BLOCK_FORMATS,
    CODE_FORMATS,
    E8M0,
    BlockFormat,
    ScaleKind,
    block_format,
)
from mxref.formats.scale_kinds import has_small_float_scales, scale_kind
from mxref.operands.draws import Draws
from mxref.operands.splitmix import splitmix64
from mxref.operations.registry import REGISTRY

__all__ = ["probes"]

Words = NDArray[np.uint64]

#: Number of random patterns of a float type.
COUNT = 1 << 20
#: Number of random blocks.
BLOCKS = 1 << 11
#: Lanes from the largest element of a designed block to that of the next.
_LANE = 37
#: Significands in 64ths at which the known scale rules change the scale, and their neighbours.
_SIGNIFICANDS = (64, 80, 91, 96, 112, 116, 120, 124, 126, 127)


def probes(op: str, format: str, float: str) -> Words:
    """Inputs of an operation, one case a row; no rows where the vectors' inputs suffice.

    >>> probes("encode", "e2m1", "bf16").shape, probes("dequantize", "mxfp4_e2m1", "f32").shape
    ((65536, 1), (256, 33))
    """
    scaled = block_format(format) if has_small_float_scales(format) else None
    if op == "encode_stochastic":
        return np.zeros((0, 3), np.uint64)
    if op == "quantize_tensor":
        return _tensor(BLOCK_FORMATS[format], LAYOUTS[float])
    if REGISTRY[op].varied:
        return np.zeros((0, 1), np.uint64)
    layout = LAYOUTS[float]
    if scale_kind(format) is ScaleKind.FLOAT32:
        return _float_scaled(op, block_format(format), layout)
    if scaled is not None and scaled.tensor_scale:
        nothing = np.zeros((0, 1), np.uint64)
        return _two_level(scaled, layout) if op == "quantize" else nothing
    if scaled is not None:
        return _scaled(op, scaled, layout)
    if op in ("decode", "decode_scale"):
        count = CODE_FORMATS[format].code_count if op == "decode" else E8M0.code_count
        return np.arange(count, dtype=np.uint64)[:, np.newaxis]
    if op == "dequantize":
        return _scales_and_codes(block_format(format))
    if op == "quantize":
        return _blocks(block_format(format), layout)
    if layout.width == 16:
        words = np.arange(1 << 16, dtype=np.uint64)
    else:
        points = _edges(layout)
        if op == "encode":
            numbers, middles = grid(CODE_FORMATS[format], layout)
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


def _blocks(fmt: BlockFormat, layout: FloatLayout) -> Words:
    """Blocks with the thresholds and the exponents of all elements, and random ones."""
    numbers, middles = grid(fmt.element, layout)
    points = [*_near(numbers, middles, layout), *_ladder(layout).tolist()]
    designed = _filled(points, numbers[-1], layout, fmt.elements_per_block)
    return np.concatenate([designed, _random_blocks(fmt, layout)])


def _random_blocks(fmt: BlockFormat, layout: FloatLayout) -> Words:
    """Random blocks with NaN and infinities, and ones with something of note in each lane."""
    size = fmt.elements_per_block
    some = random_blocks("probes", layout, fmt.element, BLOCKS, size=size, specials=True)
    sign, large = layout.sign_bit, pattern(11, 0, layout)
    found = [some]
    for bits in (layout.nan_bits, layout.inf_bits, layout.inf_bits | sign, large, large | sign):
        for rest in (0, pattern(1, 0, layout)):
            lanes = np.full((size, size), rest, np.uint64)
            np.fill_diagonal(lanes, bits)
            found.append(lanes)
    return np.concatenate(found)


def _near(numbers: Sequence[int], middles: Sequence[int], layout: FloatLayout) -> list[int]:
    """Numbers and midpoints, what is next to them, and midpoints with one lower bit set."""
    sticky = [tie | 1 << bit for tie in middles for bit in range((tie & -tie).bit_length() - 1)]
    points = np.array([*numbers, *middles, *sticky[:2048]], np.uint64)
    return [int(bits) for bits in _around(points, layout)]


def _ladder(layout: FloatLayout) -> Words:
    """First, middle and last significand of every exponent, both signs."""
    fields = np.arange((1 << layout.exponent_bits) - 1, dtype=np.uint64)[:, np.newaxis]
    half = 1 << layout.mantissa_bits - 1
    words = fields << np.uint64(layout.mantissa_bits) | np.array([0, half, 2 * half - 1], np.uint64)
    return np.concatenate([words.reshape(-1), words.reshape(-1) | np.uint64(layout.sign_bit)])


def _filled(points: Sequence[int], top: int, layout: FloatLayout, size: int) -> Words:
    """Blocks of the points in the binade of `top` and below it, with `top` in front."""
    end = (top >> layout.mantissa_bits) + 1 << layout.mantissa_bits
    inside = [bits for bits in points if bits & (layout.sign_bit - 1) < end]
    inside += [0] * (-len(inside) % (size - 1))
    rows = np.array(inside, np.uint64).reshape(-1, size - 1)
    return np.concatenate([np.full((len(rows), 1), top, np.uint64), rows], axis=1)


def _tensor(fmt: BlockFormat, layout: FloatLayout) -> Words:
    """One tensor with a block in each row."""
    blocks = _blocks(fmt, layout)
    head = np.array([*blocks.shape, 1], np.uint64)
    return np.concatenate([head, blocks.reshape(-1)])[np.newaxis]


def _scaled(op: str, fmt: BlockFormat, layout: FloatLayout) -> Words:
    """Blocks within the reach of a scale that is a small float, or every scale with every code."""
    size = fmt.elements_per_block
    if op == "dequantize":
        scales = np.arange(fmt.scale.code_count, dtype=np.uint64)[:, np.newaxis]
        codes = np.arange(size, dtype=np.uint64) % np.uint64(fmt.element.code_count)
        return np.concatenate([scales, np.tile(codes, (len(scales), 1))], axis=1)
    draws = splitmix64(layout.width + 3, BLOCKS * size).reshape(-1, size)
    highest = draws[:, :1] % np.uint64(24) + np.uint64(layout.bias - 12)
    fields = highest - np.minimum((draws >> np.uint64(8)) % np.uint64(6), highest)
    fractions = draws >> np.uint64(64 - layout.mantissa_bits)
    signs = (draws >> np.uint64(4)) % np.uint64(2) << np.uint64(layout.width - 1)
    words: Words = fields << np.uint64(layout.mantissa_bits) | fractions | signs
    return np.concatenate(
        [
            _under_scales(fmt, layout, (1, 8, 11, 13), _ladder(layout).tolist()),
            words,
            _random_blocks(fmt, layout),
        ]
    )


def _float_scaled(op: str, fmt: BlockFormat, layout: FloatLayout) -> Words:
    """Designed blocks under float32 scales, one large element in many lanes, and random blocks."""
    size = fmt.elements_per_block
    if op == "dequantize":
        return _with_codes(fmt, np.array(FLOAT_SCALES, np.uint64))
    largest = [bits for _, bits in largest_magnitudes(fmt, layout)]
    specials = [layout.nan_bits, layout.inf_bits, layout.inf_bits | layout.sign_bit]
    some = [*largest, *specials]
    lanes = np.arange(0, size, max(1, size >> 7))
    places = [i * _LANE % size for i in range(len(some))]
    count = max(8, BLOCKS * 16 // size)
    return np.concatenate(
        [
            under_largest(fmt, layout, some, places, range(len(some))),
            under_largest(fmt, layout, [pattern(11, 0, layout)] * len(lanes), lanes, lanes),
            drawn_float_scaled(Draws(f"probes {fmt.name} {layout.name}"), fmt, layout, count),
        ]
    )


def _under_scales(
    fmt: BlockFormat, layout: FloatLayout, scales: Sequence[int], ladder: Sequence[int]
) -> Words:
    """Blocks with the thresholds of all elements under scales in eighths, and further points."""
    counts = [fmt.element.magnitude_parts(code) for code in range(fmt.element.max_code + 1)]
    unit = min(exponent for _, exponent in counts) - 1
    numbers = [n << exponent - unit for n, exponent in counts]
    middles = [(low + high) // 2 for low, high in itertools.pairwise(numbers)]
    found = []
    for scale in scales:
        exact = [pattern(n * scale, unit - 3, layout) for n in (*numbers, *middles)]
        points = [*_near(exact, exact[len(numbers) :], layout), *ladder]
        top = pattern(numbers[-1] * scale, unit - 3, layout)
        fits = [bits for bits in points if bits & (layout.sign_bit - 1) <= top]
        found.append(_filled(fits, top, layout, fmt.elements_per_block))
    # Beyond the largest scale: quotients from 7 to 8, and much larger ones.
    n, exponent = fmt.scale.magnitude_parts(fmt.scale.max_code)
    tops = [layout.inf_bits - 1]
    if (15 * n).bit_length() + exponent - 1 <= layout.bias + 1:  # else the float type ends below
        tops.insert(0, pattern(15 * n, exponent - 1, layout))
    for top in tops:
        signed = [top, top | layout.sign_bit] * (fmt.elements_per_block // 2)
        found.append(np.array([signed], np.uint64))
    return np.concatenate(found)


def _two_level(fmt: BlockFormat, layout: FloatLayout) -> Words:
    """Blocks with the thresholds of all elements, and some far below, under scales of 1."""
    least = layout.emin - layout.mantissa_bits  # of subnormal numbers
    far = [pattern(3, -k, layout) for k in range(min(80, 1 - least))]
    blocks = _under_scales(fmt, layout, (8,), far)
    tensor = np.full((len(blocks), 1), pattern(1, 0, F32), np.uint64)
    return np.concatenate([tensor, blocks], axis=1)


def _scales_and_codes(fmt: BlockFormat) -> Words:
    """Every scale code with every element code, as many to a block as it has."""
    return _with_codes(fmt, np.arange(fmt.scale.code_count, dtype=np.uint64))


def _with_codes(fmt: BlockFormat, scales: Words) -> Words:
    """Scales with every element code, as many to a block as it has."""
    count, size = fmt.element.code_count, fmt.elements_per_block
    codes = (np.arange(-(-count // size) * size) % count).reshape(-1, size).astype(np.uint64)
    repeated = np.repeat(scales, len(codes))[:, np.newaxis]
    return np.concatenate([repeated, np.tile(codes, (len(scales), 1))], axis=1)
