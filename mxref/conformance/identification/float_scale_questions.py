"""The questions of `identify` about blocks under float32 scales."""

from __future__ import annotations

from itertools import product

import numpy as np

from mxref.bits.floats import FloatLayout
from mxref.cases.float_scaled import largest_magnitudes, under_largest
from mxref.cases.probes import probes
from mxref.conformance.identification.pools import Maker, Pool, Words
from mxref.conformance.identification.setting import Setting
from mxref.formats.catalog import BlockFormat, block_format

__all__ = ["float_scale_pools", "float_scale_products"]

#: Choices on which scales depend, and those beside them on which finite elements do.
_SCALES = ("amax_floor", "scale_from", "scale_power", "pre_rounding", "subnormal_inputs")
_ELEMENTS = ("element_from", "rounding", "overflow", "clamp")
_SIGNS = ("zero_sign", "underflow_sign")
#: The name of the largest magnitude that stands in each lane.
_USUAL = "plain_08"


def float_scale_pools(setting: Setting) -> tuple[Maker, ...]:
    """The pools of `quantize`: one number in a block, whole blocks, and NaN and infinity."""
    fmt, layout = block_format(setting.format), setting.layout
    largest = [bits for _, bits in largest_magnitudes(fmt, layout)]
    alone = np.zeros((len(largest), fmt.elements_per_block), np.uint64)
    alone[:, 0] = largest
    blocks = probes("quantize", setting.format, setting.float)
    designed = len(largest) + 3
    magnitudes = blocks & np.uint64(layout.sign_bit - 1)
    finite = (magnitudes < layout.inf_bits).all(axis=1)
    usual, special = blocks[finite], blocks[~finite]
    reads = (*_SCALES, *_ELEMENTS, *_SIGNS)
    lanes, places = _in_each_lane(fmt, layout), _specials(fmt, layout)
    made = (
        Pool("scales", _SCALES, alone, range(0, len(alone), 8), "scale"),
        Pool("blocks", reads, usual, range(0, designed, 8)),
        Pool("lanes", (), lanes, range(len(lanes))),
        Pool("NaN and infinity", (), np.concatenate([places, special]), range(len(places) + 2)),
    )
    return tuple(lambda _, pool=pool: pool for pool in made)


def _in_each_lane(fmt: BlockFormat, layout: FloatLayout) -> Words:
    """Blocks of one number and zeros: the number in every fourth lane, of either sign."""
    lanes = np.arange(0, fmt.elements_per_block, 4)
    _, usual = next(one for one in largest_magnitudes(fmt, layout) if one[0] == _USUAL)
    words = np.zeros((len(lanes), fmt.elements_per_block), np.uint64)
    each = np.where(lanes % 8, usual, usual | layout.sign_bit)
    words[np.arange(len(lanes)), lanes] = each.astype(np.uint64)
    return words


def _specials(fmt: BlockFormat, layout: FloatLayout) -> Words:
    """Zeros with a -0, and blocks with an infinity or a NaN of either sign in each quarter."""
    kinds, turns, quarters = (layout.inf_bits, layout.nan_bits), (0, 2), range(4)
    every = [*product(kinds, turns, quarters)]
    largest, signs, where = zip(*every, strict=True)
    lanes = [fmt.elements_per_block * quarter // 4 + 1 for quarter in where]
    zeros = np.zeros((1, fmt.elements_per_block), np.uint64)
    zeros[0, 1] = layout.sign_bit
    return np.concatenate([zeros, under_largest(fmt, layout, largest, lanes, signs)])


def float_scale_products(setting: Setting) -> Pool:
    """The pool of `dequantize`: scales from both ends of float32 with every code."""
    words = probes("dequantize", setting.format, setting.float)
    return Pool("products", (), words, range(0, len(words), 4))
