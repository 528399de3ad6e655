"""Questions of the search, drawn where kernels go wrong: near ties, in every lane, far below amax.

Everything is drawn by splitmix64 in NumPy, the same on every machine. Of 16-bit floats `encode`,
`encode_scale` and `shared_scale` are asked every pattern; `decode` and `decode_scale` have every
code in the vectors.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping

import numpy as np

from mxref.bits.floats import F16, F32, LAYOUTS, FloatLayout
from mxref.cases.drawn_layers import SHAPES, layer_words
from mxref.cases.float_scaled import FLOAT_SCALES, drawn_float_scaled
from mxref.cases.grid import grid
from mxref.cases.random_blocks import random_blocks
from mxref.formats.catalog import (
    BlockFormat,
    CodeFormat,
    ElementFormat,
    ScaleKind,
    block_format,
    code_format,
)
from mxref.operands.draws import Draws, Ints, Words
from mxref.operands.word_rows import padded
from mxref.operations.registry import CALL_OPERATIONS, LAYER_OPERATIONS, REGISTRY

__all__ = ["drawn", "drawn_calls"]

#: Widths of random bits and scales of tensors: each is a call of its own.
_WIDTHS = np.array([1, 2, 4, 8, 11, 16, 23, 32])
_TENSORS = 6
#: Elements of a block of which as many are drawn as are asked for.
_MOST = 256
#: Significands in 64ths at which scale rules change the scale.
_STEPS = np.array([64, 80, 90, 91, 96, 112, 116, 120, 124, 126, 127])


def drawn(op: str, format: str, float: str, count: int, seed: int = 0) -> Words:
    """Questions about an operation, format and float type, one a row; no rows if it has none.

    Args:
        op: the operation.
        format: the format.
        float: the float type.
        count: number of questions.
        seed: another seed gives other questions.

    >>> drawn("quantize", "mxfp4_e2m1", "f32", 64).shape, drawn("encode", "e4m3", "bf16", 64).shape
    ((64, 32), (65536, 1))
    """
    if not REGISTRY[op].questions:
        return np.zeros((0, 1), np.uint64)
    draws = Draws(f"{seed} {op} {format} {float}")
    if REGISTRY[op].own_choices:
        return drawn_calls(op, format, count, draws)
    if op in LAYER_OPERATIONS:
        layers = (
            layer_words(op, format, float, SHAPES[i % len(SHAPES)], (seed + 1 << 20) + i)
            for i in range(min(count, REGISTRY[op].questions))
        )
        return padded(list(layers))
    layout = LAYOUTS[float]
    if op in ("encode", "encode_scale", "shared_scale") and layout.width == 16:
        patterns = np.arange(1 << (15 if op == "shared_scale" else 16), dtype=np.uint64)
        return patterns[:, np.newaxis]
    if op in ("encode_scale", "shared_scale"):
        signs = op == "encode_scale"
        return _signed(draws, _of_binades(draws, layout, (count, 1)), layout, signs=signs)
    if op in ("encode", "encode_stochastic"):
        fmt = code_format(format)
        magnitudes = _near(draws, fmt, layout, (count, 1))
        any_at_all = draws.below((count, 1), layout.sign_bit)
        magnitudes = np.where(draws.one_in((count, 1), 4), any_at_all, magnitudes)
        numbers = _signed(draws, magnitudes, layout)
        if op == "encode":
            return numbers
        bits, widths = draws.words((count, 1)), _WIDTHS[draws.below((count, 1), len(_WIDTHS))]
        drawn_bits = bits & ((np.uint64(1) << widths.astype(np.uint64)) - np.uint64(1))
        return np.concatenate([numbers, drawn_bits, widths.astype(np.uint64)], axis=1)
    block = block_format(format)
    if op == "dequantize":
        return _scales_and_codes(draws, block, layout, count)
    if block.scale.kind is ScaleKind.FLOAT32:
        return drawn_float_scaled(draws, block, layout, _fewer(block, count))
    if not block.scale.is_power:
        return _scaled_blocks(draws, block, layout, count)
    size = block.elements_per_block
    words = _blocks(draws, block.element, layout, -(-count * size // 32))
    return words.reshape(-1)[: count * size].reshape(count, size)


def drawn_calls(op: str, format: str, count: int, draws: Draws) -> Words:
    """Questions about an operation of calls and a format, one a row, padded.

    >>> drawn_calls("pack_int4", "int4", 2, Draws("seed")).shape[0]
    2
    """
    mask = np.int64(0xFFFFFFFF)
    rows = (np.asarray(CALL_OPERATIONS[op].question(format, draws, i)) for i in range(count))
    return padded([(row & mask).astype(np.uint64) for row in rows])


def _signed(draws: Draws, magnitudes: Ints, layout: FloatLayout, *, signs: bool = True) -> Words:
    """Magnitude patterns with random signs."""
    words = magnitudes.astype(np.uint64)
    negative = draws.one_in(magnitudes.shape, 2) & signs
    return words | np.where(negative, np.uint64(layout.sign_bit), np.uint64(0))


def _near(draws: Draws, fmt: CodeFormat, layout: FloatLayout, shape: tuple[int, ...]) -> Ints:
    """Magnitude patterns at and around numbers and midpoints of a format."""
    numbers, middles = grid(fmt, layout)
    points = np.array([bits for bits in (*numbers, *middles) if bits < layout.inf_bits])
    found = points[draws.below(shape, len(points))]
    bit = np.int64(1) << draws.below(shape, layout.mantissa_bits)
    step = draws.below(shape, 4)
    kind = draws.below(shape, 8)
    # Half of them exact or next to it; some with one bit or many changed; others in between.
    moved = [step * 0, step - 1, bit, -bit]
    found = found + np.select([kind < 2, kind < 4, kind == 4, kind == 5], moved, 0)
    inside = draws.below(shape, 1 << layout.mantissa_bits)
    found = np.where(kind == 6, found ^ (inside & (bit - 1)), found)
    binade = found >> layout.mantissa_bits << layout.mantissa_bits
    found = np.where(kind == 7, binade | inside, found)
    clipped: Ints = np.clip(found, 0, layout.inf_bits - 1)
    return clipped


def _of_binades(draws: Draws, layout: FloatLayout, shape: tuple[int, ...]) -> Ints:
    """Magnitude patterns: half of any kind, the others within 3 ulp of a step of a scale rule."""
    m = layout.mantissa_bits
    field = draws.below(shape, layout.inf_bits >> m)
    step = (_STEPS[draws.below(shape, len(_STEPS))] - 64) << m >> 6
    near = (field << m | step) + draws.below(shape, 7) - 3
    any_at_all = draws.below(shape, layout.sign_bit)
    found = np.where(draws.one_in(shape, 2), near, any_at_all)
    return np.clip(found, 0, layout.sign_bit - 1)


def _times_power(magnitudes: Ints, k: Ints, layout: FloatLayout) -> Ints:
    """Magnitude patterns times 2**k; 0 where the number or the result is not normal."""
    m = layout.mantissa_bits
    field = (magnitudes >> m) + k
    normal = (magnitudes >> m > 0) & (field > 0) & (field < layout.inf_bits >> m)
    return np.where(normal, magnitudes + (k << m), 0)


def _blocks(draws: Draws, fmt: ElementFormat, layout: FloatLayout, count: int) -> Words:
    """Blocks of eight kinds in turns, so that each kind follows every other."""
    kinds: Mapping[int, Callable[[int], Words]] = {
        0: lambda n: random_blocks(draws.name, layout, fmt, n, specials=True),
        1: lambda n: _near_ties(draws, fmt, layout, n),
        2: lambda n: _near_ties(draws, fmt, layout, n),
        3: lambda n: _like_data(draws, layout, n),
        4: lambda n: _sparse(draws, layout, n),
        5: lambda n: _far_below(draws, layout, n),
        6: lambda n: _specials(draws, layout, n),
        7: lambda n: _amax_steps(draws, layout, n),
    }
    order = draws.below((count,), len(kinds))
    words = np.zeros((count, 32), np.uint64)
    for kind, make in kinds.items():
        rows = np.flatnonzero(order == kind)
        words[rows] = make(rows.size)
    return words


def _powers(draws: Draws, layout: FloatLayout, count: int) -> Ints:
    """Exponents of the scales of blocks: near 0, or anywhere."""
    near = draws.below((count, 1), 9) - 4
    reach = min(layout.bias - 1, 150)
    far = draws.below((count, 1), 2 * reach) - reach
    return np.where(draws.one_in((count, 1), 2), near, far)


def _put(magnitudes: Ints, lanes: Ints, values: Ints) -> Ints:
    """Magnitudes with one lane of each block replaced."""
    np.put_along_axis(magnitudes, lanes, values, axis=1)
    return magnitudes


def _near_ties(draws: Draws, fmt: ElementFormat, layout: FloatLayout, count: int) -> Words:
    """Near ties of elements under scales of any size, set by one lane."""
    m = layout.mantissa_bits
    found = _near(draws, fmt, layout, (count, 32))
    significand = draws.below((count, 1), 1 << m)
    top = (layout.bias + fmt.emax) << m | np.where(draws.one_in((count, 1), 2), 0, significand)
    found = np.where(found >> m > layout.bias + fmt.emax, top, found)
    found = _put(found, draws.below((count, 1), 32), top)
    return _signed(draws, _times_power(found, _powers(draws, layout, count), layout), layout)


def _like_data(draws: Draws, layout: FloatLayout, count: int) -> Words:
    """Numbers that get twice as rare with each binade, as those of weights do."""
    m = layout.mantissa_bits
    low = draws.words((count, 32))
    below = np.log2((low & (~low + np.uint64(1))).astype(np.float64) + 1).astype(np.int64)
    field = layout.bias + _powers(draws, layout, count) - below
    found = np.maximum(field, 0) << m | draws.below((count, 32), 1 << m)
    found = np.where(field >= layout.inf_bits >> m, layout.inf_bits - 1, found)
    return _signed(draws, found, layout)


def _sparse(draws: Draws, layout: FloatLayout, count: int) -> Words:
    """Blocks of zeros with one to three numbers, often equal ones."""
    top = _of_binades(draws, layout, (count, 1))
    top = np.where(top >= layout.inf_bits, 1, top)
    found = np.zeros((count, 32), np.int64)
    for _ in range(3):
        lanes = draws.below((count, 1), 32)
        other = top - draws.below((count, 1), 3)
        found = _put(found, lanes, np.where(draws.one_in((count, 1), 2), top, np.maximum(other, 0)))
    return _signed(draws, found, layout)


def _far_below(draws: Draws, layout: FloatLayout, count: int) -> Words:
    """Elements up to 90 binades below the largest: significands 1, 1.5, all ones, or any."""
    m = layout.mantissa_bits
    top = layout.bias + np.abs(_powers(draws, layout, count))
    field = np.maximum(top - draws.below((count, 32), 90), 1)
    ones = (1 << m) - 1
    any_at_all = draws.below((count, 32), 1 << m)
    fraction = np.choose(
        draws.below((count, 32), 4), [any_at_all * 0, 1 << m - 1, ones, any_at_all]
    )
    found = _put(field << m | fraction, draws.below((count, 1), 32), top << m)
    return _signed(draws, np.minimum(found, layout.inf_bits - 1), layout)


def _specials(draws: Draws, layout: FloatLayout, count: int) -> Words:
    """NaN and infinities beside zeros, beside each other, and beside numbers."""
    plain = _like_data(draws, layout, count).astype(np.int64) & (layout.sign_bit - 1)
    zeros = draws.one_in((count, 1), 3)
    found = np.where(zeros, 0, plain)
    for _ in range(2):
        payload = draws.below((count, 1), (1 << layout.mantissa_bits) - 1) + 1
        nan = draws.one_in((count, 1), 2)
        special = np.where(nan, layout.inf_bits | payload, layout.inf_bits)
        lanes = draws.below((count, 1), 32)
        same = np.take_along_axis(found, lanes, axis=1)
        found = _put(found, lanes, np.where(draws.one_in((count, 1), 4), same, special))
    return _signed(draws, found, layout)


def _amax_steps(draws: Draws, layout: FloatLayout, count: int) -> Words:
    """Amax at and around steps of scale rules, at 64ths of a binade, and constant blocks."""
    m = layout.mantissa_bits
    field = np.clip(layout.bias + _powers(draws, layout, count), 1, (layout.inf_bits >> m) - 1)
    fraction = draws.below((count, 1), 64) << m >> 6
    amax = (field << m | fraction) + draws.below((count, 1), 3) - 1
    amax = np.clip(amax, 1, layout.inf_bits - 1)
    below = draws.below((count, 32), 12) << m
    others = np.maximum(amax - below - draws.below((count, 32), 1 << m), 0)
    others = np.where(draws.one_in((count, 1), 4), amax, others)
    return _signed(draws, _put(others, draws.below((count, 1), 32), amax), layout)


def _scales_and_codes(draws: Draws, block: BlockFormat, layout: FloatLayout, count: int) -> Words:
    """Any scale with any codes, behind one of few scales of tensors if the format has one."""
    count = _fewer(block, count)
    codes = draws.below((count, block.elements_per_block), block.element.code_count)
    scales = draws.below((count, 1), block.scale.code_count)
    if block.scale.kind is ScaleKind.FLOAT32:
        some = np.array(FLOAT_SCALES)[draws.below((count, 1), len(FLOAT_SCALES))]
        scales = np.where(draws.one_in((count, 1), 4), some, scales)
    words = np.concatenate([scales, codes], axis=1).astype(np.uint64)
    if not block.tensor_scale:
        return words
    some = _few_tensor_scales(draws, layout)
    if layout.mantissa_bits < F32.mantissa_bits:
        some[-2:] = [_near_midpoint(draws, block, layout) for _ in range(2)]
    tensors = some[draws.below((count, 1), _TENSORS)]
    return np.concatenate([tensors.astype(np.uint64), words], axis=1)


def _fewer(block: BlockFormat, count: int) -> int:
    """As many blocks as have the elements of so many blocks of 128, and one at least."""
    return max(1, min(count, count * _MOST // block.elements_per_block))


def _few_tensor_scales(draws: Draws, layout: FloatLayout) -> Ints:
    """Float32 numbers: two of few bits, a large one, a subnormal one, and two neighbours.

    Of float16 most are from 2**-18 to 2**5, so that blocks are not all of the largest numbers.
    """
    least, count = (-18, 23) if layout == F16 else (-60, 120)
    fields = draws.below((_TENSORS,), count) + F32.bias + least
    fractions = draws.below((_TENSORS,), 1 << F32.mantissa_bits)
    fractions[:2] &= 3 << F32.mantissa_bits - 2
    fields[2], fields[3] = F32.bias + 120 + int(draws.below((), 8)), 0
    fields[5], fractions[5] = fields[4], fractions[4] ^ 1
    found: Ints = fields << F32.mantissa_bits | np.maximum(fractions, fields == 0)
    return found


def _near_midpoint(draws: Draws, block: BlockFormat, layout: FloatLayout) -> int:
    """A tensor scale whose products with an element and a scale are beside midpoints of a type.

    A float32 of such a product is the midpoint itself, and is rounded once more.
    """
    bits = block.scale.mantissa_bits
    factor = (1, 3)[int(draws.below((), 2))] * int((1 << bits) + draws.below((), 1 << bits))
    middle = 1 | 2 * int((1 << layout.mantissa_bits) + draws.below((), 1 << layout.mantissa_bits))
    found = np.float32(middle / factor)  # both are exact, so that this is rounded twice at most
    field = F32.bias + int(draws.below((), 12)) - 8
    return field << F32.mantissa_bits | int(found.view(np.uint32)) & (1 << F32.mantissa_bits) - 1


def _scaled_blocks(draws: Draws, block: BlockFormat, layout: FloatLayout, count: int) -> Words:
    """Near ties of elements under scales that are small floats, and any numbers in their reach."""
    size, fmt = block.elements_per_block, block.element
    numbers, middles = grid(fmt, LAYOUTS["f64"])
    points = np.array([*numbers, *middles[:-1]], np.uint64).view(np.float64)
    scales = np.array([block.scale.value(code) for code in range(1, block.scale.max_code + 1)])
    middle = (scales[1:] + scales[:-1]) / 2
    at_a_scale = scales[draws.below((count, 1), len(scales))]
    scale = middle[draws.below((count, 1), len(middle))]
    scale = np.where(draws.one_in((count, 1), 4), scale, at_a_scale)
    quotient = points[draws.below((count, size), len(points))]
    np.put_along_axis(quotient, draws.below((count, 1), size), fmt.max_normal, axis=1)
    tensor = _few_tensor_scales(draws, layout)[draws.below((count, 1), _TENSORS)].astype(np.uint64)
    if block.tensor_scale:
        scale = scale * tensor.astype(np.uint32).view(np.float32).astype(np.float64)
    with np.errstate(over="ignore"):
        values = (quotient * scale).astype(layout.dtype).view(layout.uint).astype(np.int64)
    steps = draws.below((count, size), 5) - 2
    any_low = draws.below((count, size), 1 << layout.mantissa_bits)
    values = np.where(draws.one_in((count, 1), 3), values ^ any_low, values + steps)
    words = _signed(draws, np.clip(values, 0, layout.inf_bits - 1), layout)
    return np.concatenate([tensor, words], axis=1) if block.tensor_scale else words
