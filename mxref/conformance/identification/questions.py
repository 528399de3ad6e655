"""The questions of `identify`: pools of inputs, each with the choices that its answers depend on.

Two policies that differ as functions differ on some input of a pool: the pools hold every kind of
input that a choice concerns, and both sides of every step that a choice can move.
"""

from __future__ import annotations

import dataclasses
import math
from collections.abc import Iterable
from functools import partial

import numpy as np

from mxref.bits.floats import F16, FloatLayout, split
from mxref.cases.grid import grid, pattern
from mxref.conformance.identification.accumulation_rows import accumulation_pool
from mxref.conformance.identification.block_questions import block_pools, usual_exponent
from mxref.conformance.identification.float_scale_questions import (
    float_scale_pools,
    float_scale_products,
)
from mxref.conformance.identification.place_questions import largest_in_each_lane
from mxref.conformance.identification.pools import (
    Maker,
    Pool,
    Words,
    around,
    both_signs,
    element_points,
    end_powers,
    nans,
    pool_of,
    power_bits,
)
from mxref.conformance.identification.scale_questions import encode_scale_pools, shared_scale_pools
from mxref.conformance.identification.scaled_questions import (
    scaled_places,
    scaled_pools,
    scaled_products,
)
from mxref.conformance.identification.setting import Setting
from mxref.formats.catalog import E8M0, CodeFormat, block_format
from mxref.golden.designed_blocks import resized
from mxref.operands.word_rows import padded
from mxref.operations.layouts import LayoutOperation
from mxref.policy.policy import Policy
from mxref.support.distinct import distinct, distinct_rows

__all__ = ["pools", "unasked_places"]


def pools(setting: Setting) -> tuple[Maker, ...]:
    """The pools of an operation, in the order in which they are asked."""
    row, reads = setting.row, setting.row.reads(setting.format)
    if row.of_layers:
        from mxref.conformance.identification.layer_questions import layer_pools

        return layer_pools(setting)
    if row.before_block:
        return (*(_as_tensor(maker, setting) for maker in block_pools(setting)), _tail(setting))
    if row.blocks == "numbers":
        if setting.is_float_scaled or setting.is_scaled:
            return (float_scale_pools if setting.is_float_scaled else scaled_pools)(setting)
        size = block_format(setting.format).elements_per_block
        return tuple(partial(_of_size, maker, size, setting) for maker in block_pools(setting))
    if row.blocks:
        made = _dequantize(setting)
    elif row.one_code:
        made = [_codes(setting)]
    elif isinstance(row, LayoutOperation):
        made = [_layouts(setting, row)]
    elif "rounding" in reads:
        made = _encode(setting)
    elif "scale_rounding" in reads:
        made = encode_scale_pools(setting)
    elif "scale_rule" in reads:
        made = shared_scale_pools(setting)
    else:
        made = [accumulation_pool(setting.format)]
    return tuple(lambda _, pool=pool: pool for pool in made)


_OCP = Policy()


def unasked_places(
    setting: Setting, probes: Iterable[tuple[int, ...]], found: Policy = _OCP
) -> Words:
    """Questions about the places of a block on which no answer to some probes depends.

    Args:
        setting: what is asked about; only operations that make blocks have such questions.
        probes: the questions that were asked.
        found: the policy found so far.
    """
    start = setting.row.before_block
    if start is None:
        return np.zeros((0, 1), np.uint64)
    if setting.is_scaled:
        return scaled_places(setting, probes, usual_exponent(setting), found)
    size = block_format(setting.format).elements_per_block
    asked = [words[len(start) :] for words in probes if words[: len(start)] == start]
    whole = [block for block in asked if len(block) == size]
    blocks = largest_in_each_lane(whole, usual_exponent(setting), setting.layout, size)
    if not (start and blocks.size):
        return blocks
    return np.array([[len(blocks), *start[1:], *blocks.reshape(-1)]], np.uint64)  # one tensor


def _ties(fmt: CodeFormat, layout: FloatLayout) -> Words:
    """Ties above an even code of every binade, signs alternating; of few binades above odd, too."""
    _, middles = grid(fmt, layout)
    one = 1 << fmt.mantissa_bits
    codes = list(range(0, fmt.max_code, max(one, 2)))
    if getattr(fmt, "twos_complement", False):
        codes = [0, 2, 4, 8, 16, 32, 64, 100]
    if len(codes) <= 8:
        codes += [code + 1 for code in codes if code + 1 < fmt.max_code]
    ties = [middles[code] | layout.sign_bit * (i % 2 * fmt.signed) for i, code in enumerate(codes)]
    return np.array(ties, np.uint64)


def _encode(setting: Setting) -> list[Pool]:
    fmt, layout = setting.element, setting.layout
    points = around(element_points(fmt, layout), layout)
    numbers, middles = grid(fmt, layout)
    # Smaller numbers are subnormal in float16, to which the policy may round first.
    ordinary = max(pattern(1, F16.emin + 1, layout), numbers[1] * 2 - middles[0])
    ties = _ties(fmt, layout)
    ties_in = ties[(ties & np.uint64(layout.sign_bit - 1)) > ordinary]
    inside = points[(points > ordinary) & (points <= numbers[-1])]
    ends = around(power_bits(end_powers(layout), layout), layout)
    small = np.concatenate([points[points <= ordinary * 2], ends[ends <= ordinary]])
    large = np.concatenate([points[points >= numbers[-2]], ends[ends > numbers[-1]]])
    large = np.append(large, np.uint64(layout.inf_bits))
    far = np.append(_far_above(fmt, layout), both_signs(large[-1:], layout))
    rounds = ("rounding", "pre_rounding")
    signs = ("zero_sign", "underflow_sign", "subnormal_inputs")
    beyond = ("overflow", "clamp", "nan", "int8_range")
    parts: list[tuple[str, tuple[str, ...], Words, Words]] = [
        ("rounding", rounds, both_signs(inside, layout), ties_in),
        (
            _SMALL,
            (*rounds, *signs),
            both_signs(distinct(small), layout),
            np.append(ties[:2], both_signs(np.zeros(1, np.uint64), layout)),
        ),
        (
            "overflow",
            (*rounds, *beyond),
            both_signs(distinct(large), layout),
            far,
        ),
        ("NaN", ("nan", "nan_to_finite", "int8_range"), nans(layout), nans(layout)),
    ]
    made = [pool_of(about, reads, words, must) for about, reads, words, must in parts]
    if setting.row.random_bits:
        made = [_drawn(pool, fmt, layout) for pool in made]
        made.append(_wide_draws(ties_in[-1:]))
    whole = distinct_rows(np.concatenate([pool.words for pool in made[:3]]))
    return [*made, Pool("all of it", (), whole)]


def _far_above(fmt: CodeFormat, layout: FloatLayout) -> Words:
    """Numbers far above the largest one, which a wrapped exponent makes ordinary; signs alternate.

    They are 8, 16, 32 and so on binades above it.
    """
    powers = [fmt.emax + (1 << i) for i in range(3, layout.exponent_bits)]
    fitting = [power for power in powers if power < layout.bias]
    return np.array(
        [pattern(3 * (-1) ** i, p - 1, layout) for i, p in enumerate(fitting)], np.uint64
    )


#: The name of the questions about small numbers.
_SMALL = "small numbers and zeros"
#: Random bits and their width: none set, all set, and those that just carry a quarter or a half.
_DRAWS = ((0, 1), (1, 1), (0, 4), (4, 4), (7, 4), (8, 4), (11, 4), (12, 4), (15, 4))
_FINE_DRAWS = ((1, 1), (7, 4), (8, 4))
#: Widths of random bits that kernels have, for which few numbers are asked.
_WIDTHS = (8, 16, 23, 32)


def _drawn(pool: Pool, fmt: CodeFormat, layout: FloatLayout) -> Pool:
    """The pool with random bits; questions that are always asked take them in turn."""
    words = pool.words[:, 0]
    asked = [_with_draws(words, _DRAWS)]
    if pool.about == "rounding":  # numbers at 32nds of a unit, between which draws round up
        low = element_points(fmt, layout)
        low = low[low >= words.min()][:2]
        unit = np.uint64(1 << max(0, layout.mantissa_bits - fmt.mantissa_bits - 5))
        some = np.concatenate([low + unit * np.uint64(i) for i in range(33)])
        asked.append(_with_draws(both_signs(around(some, layout), layout), _FINE_DRAWS))
    elif pool.about == _SMALL:  # the same below the smallest number: float16 may round there
        least = split(np.array(grid(fmt, layout)[0][1:2], np.uint64), layout)
        one, exponent = int(least.significand[0]), int(least.exponent[0]) - 5
        some = np.array([pattern(i * one, exponent, layout) for i in range(33)], np.uint64)
        asked.append(_with_draws(both_signs(around(some, layout), layout), _FINE_DRAWS))
    must = [row + words.size * (i % len(_DRAWS)) for i, row in enumerate(pool.always)]
    return dataclasses.replace(pool, words=np.concatenate(asked), always=must)


def _wide_draws(tie: Words) -> Pool:
    """A tie with as few random bits as carry it, with one less, and with all, in wide draws."""
    halves = [(1 << width - 1, width) for width in _WIDTHS]
    draws = [
        draw
        for half, width in halves
        for draw in ((half - 1, width), (half, width), (2 * half - 1, width))
    ]
    words = _with_draws(tie, tuple(draws))
    return Pool("wide draws", ("rounding", "pre_rounding"), words, range(len(words)))


def _with_draws(words: Words, draws: tuple[tuple[int, int], ...]) -> Words:
    """Every word with every draw of random bits."""
    repeated = np.repeat(np.array(draws, np.uint64), words.size, axis=0)
    return np.column_stack([np.tile(words, len(draws)), repeated])


# Products.


def _codes(setting: Setting) -> Pool:
    """Every code."""
    fmt, of_scales = setting.element, setting.element == E8M0
    codes = np.arange(fmt.code_count, dtype=np.uint64)[:, np.newaxis]
    some = [0, 1, 0x7F, 0xFE, 0xFF] if of_scales else [0, fmt.sign_bit, 1, fmt.max_code]
    return Pool("scales" if of_scales else "codes", (), codes, some)


def _dequantize(setting: Setting) -> list[Pool]:
    if setting.is_float_scaled or setting.is_scaled:
        return [(float_scale_products if setting.is_float_scaled else scaled_products)(setting)]
    size, codes = block_format(setting.format).elements_per_block, setting.element.code_count
    rows = (np.arange(-(-codes // size) * size, dtype=np.uint64) % codes).reshape(-1, size)
    layout = setting.layout
    low, high = layout.emin - layout.mantissa_bits + 127, layout.bias + 127
    near_ends = {p + step for p in (low, layout.emin + 127, high) for step in range(-18, 19)}
    scales = sorted({0, 1, 2, 0x7F, 0xFD, 0xFE, 0xFF} | {s for s in near_ends if 0 <= s < 256})
    words = np.array([[s, *row] for s in scales for row in rows.tolist()], np.uint64)
    count, firsts = len(rows), (0, 1, 0x7F, 0xFE, 0xFF)
    must = [scales.index(s) * count + part for s in firsts for part in (0, count - 1)]
    return [Pool("products", (), words, sorted(set(must)))]


# Layouts.


def _layouts(setting: Setting, row: LayoutOperation) -> Pool:
    """Codes that differ, or bytes of all sizes that a layout has."""
    fmt = setting.element
    codes = [i * 11 % 61 % fmt.code_count for i in range(64)]
    if row.works_on == "scales":
        sizes = [130 * 5]
        if row.unpacks:
            from mxref.packing.scale_orders import SCALE_ORDERS

            sizes = sorted({math.prod(one.filled(130, 5)) for one in SCALE_ORDERS.values()})
        rows = [[130, 5, *((i * 7 + i // 250) % 255 for i in range(size))] for size in sizes]
    elif row.works_on == "codes":
        rows = [codes, codes[:37]]
        if row.unpacks:
            sizes = sorted({64 * fmt.bits // 8, 64})
            rows = [[64, *((i * 37 + 5) % 256 for i in range(size))] for size in sizes]
    else:
        rows = [[0x85, *codes[:32]], [0xFF, *codes[32:]]]
        if row.unpacks:
            sizes = sorted({32 * fmt.bits // 8, 32})
            firsts = [(size, first) for size in sizes for first in (5, 133)]
            rows = [[(i * 37 + at) % 256 for i in range(size + 1)] for size, at in firsts]
    return Pool("places", (), padded(rows), range(len(rows)))


def _of_size(maker: Maker, size: int, setting: Setting, found: Policy) -> Pool:
    """The pool's blocks of 32 as blocks of another size."""
    pool = maker(found)
    if pool.words.shape[1] == size:
        return pool
    layout = setting.layout
    parts = [[part for _, part in resized("", row, size, layout)] for row in pool.words.tolist()]
    first = np.cumsum([0, *map(len, parts)])
    words = np.array([part for some in parts for part in some], np.uint64)
    return dataclasses.replace(pool, words=words, always=first[[*pool.always]].tolist())


def _as_tensor(maker: Maker, setting: Setting) -> Maker:
    """The pool's blocks as tensors of one row."""

    def made(found: Policy) -> Pool:
        pool = maker(found)
        start = np.array(setting.row.before_block, np.uint64)
        first = np.tile(start, (len(pool.words), 1))
        words = np.concatenate([first, pool.words], axis=1)
        reads = pool.reads or tuple(name for name in setting.choices if name != "tail")
        return dataclasses.replace(pool, words=words, reads=reads)

    return made


def _tail(setting: Setting) -> Maker:
    """Tensors with tails and with several blocks, whose numbers and scales differ."""
    layout = setting.layout
    numbers = [pattern((8 + i * 5 % 8) * (-1) ** i, i * 7 % 11 - 8, layout) for i in range(80)]
    rows = [[1, 40, 1, *numbers[:40]], [40, 2, 0, *numbers], [32, 2, 0, *numbers[:64]]]
    return lambda _: Pool("tails", ("tail",), padded(rows), range(3), "number")
