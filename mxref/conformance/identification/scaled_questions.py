"""The questions of `identify` about blocks under scales that are small floats.

In formats with a tensor scale a question begins with its number, whose meaning depends on the
arithmetic: it is a factor, a divisor or the largest magnitude. Each kind is asked where the block's
scale is an ordinary one.
"""

from __future__ import annotations

from collections.abc import Iterable

import numpy as np

from mxref.bits.floats import F32
from mxref.blocks.two_level import TensorScaleKind
from mxref.cases.grid import holds_steps, pattern
from mxref.cases.probes import probes
from mxref.conformance.identification.place_questions import (
    largest_in_each_lane,
    specials_in_each_quarter,
)
from mxref.conformance.identification.pools import Maker, Pool, Words
from mxref.conformance.identification.setting import Setting
from mxref.formats.catalog import BLOCK_FORMATS, E8M0, BlockFormat, ScaleKind, block_format
from mxref.formats.scale_kinds import in_rows
from mxref.operations.blocks import TENSOR_KINDS
from mxref.policy.policy import Policy

__all__ = ["has_questions", "scaled_places", "scaled_pools", "scaled_products"]

#: Designed blocks that are asked under each plain number of a tensor, and of how many others one
#: is.
_DESIGNED, _STEP = 600, 6
#: float32 patterns of further numbers of tensors: 3, 1/3, 1000, 2688 / 7, 0.1 and 5/4 of 2688.
_OTHERS = (0x40400000, 0x3EAAAAAB, 0x447A0000, 0x43C00000, 0x3DCCCCCD, 0x45520000)
#: Two more. Some scales times the one, or divided by the other, lie so near a midpoint of bfloat16
#: and of float16 that float32 rounds them to it.
_NEAR_MIDPOINTS = (0x3F99AAAB, 0x3FAB1CBE)
_FINITE = ("scale_arithmetic", "rounding", "overflow", "clamp", "int8_range")


def has_questions(setting: Setting) -> bool:
    """Whether there are questions about an operation, a format and a float type.

    >>> tiles = "fp8_e4m3_f32_128x128"
    >>> [has_questions(Setting("quantize", one, "f32")) for one in ("nvfp4", "fp8_e4m3_f32", tiles)]
    [True, True, False]
    """
    row, format = setting.row, setting.format
    if not row.blocks:
        return holds_steps(row, format, setting.float)
    if format in BLOCK_FORMATS or row.from_codes:
        return format not in BLOCK_FORMATS or BLOCK_FORMATS[format].scale == E8M0
    fmt = block_format(format)
    if fmt.scale.kind is ScaleKind.FLOAT32:  # tiles of so many elements are left to `verify`
        return not fmt.is_tiled
    return in_rows(fmt, tensor_scale=False) is not None


def scaled_pools(setting: Setting) -> tuple[Maker, ...]:
    """The pools of `quantize` under scales that are small floats."""
    fmt, layout = block_format(setting.format), setting.layout
    flat = in_rows(fmt, tensor_scale=False) or fmt
    blocks = probes("quantize", flat.name, setting.float)
    blocks = np.tile(blocks, fmt.elements_per_block // flat.elements_per_block)  # rows of a tile
    blocks = np.concatenate([blocks[:_DESIGNED], blocks[_DESIGNED::_STEP]])
    finite = ((blocks & np.uint64(layout.sign_bit - 1)) < layout.inf_bits).all(axis=1)
    usual = _in_tensors(blocks[finite], fmt)
    others = _in_tensors(blocks[~finite], fmt)
    zeros = _in_tensors(np.zeros((1, fmt.elements_per_block), np.uint64), fmt)
    signs = ("zero_sign", "underflow_sign")

    def places(found: Policy) -> Pool:
        words = specials_in_each_quarter(layout, fmt.elements_per_block)
        first = _first(fmt, found)
        whole = np.concatenate([_beside(words, first), zeros])
        return Pool("specials", (), whole, range(len(words)))

    always = range(0, len(usual), max(1, len(usual) // 6))
    made = (
        Pool("blocks", _FINITE, usual, always),
        Pool("small elements", (*_FINITE, *signs), np.concatenate([usual, zeros]), ()),
        Pool("NaN and infinity", (), others, (0,)),
    )
    return (*(lambda _, pool=pool: pool for pool in made), places)


def scaled_products(setting: Setting) -> Pool:
    """The pool of `dequantize`: every scale with every code, after many numbers of tensors."""
    fmt = block_format(setting.format)
    size, count = fmt.elements_per_block, fmt.element.code_count
    codes = (np.arange(-(-count // size) * size, dtype=np.uint64) % count).reshape(-1, size)
    scales = np.repeat(np.arange(fmt.scale.code_count, dtype=np.uint64), len(codes))
    blocks = np.column_stack([scales, np.tile(codes, (fmt.scale.code_count, 1))])
    if not fmt.tensor_scale:
        return Pool("products", (), blocks, range(0, len(blocks), 8))
    numbers = np.array([*sorted({*_plain(fmt).values()}), *_OTHERS, *_NEAR_MIDPOINTS], np.uint64)
    first = np.repeat(numbers, len(blocks))
    words = np.column_stack([first, np.tile(blocks, (len(numbers), 1))])
    return Pool("products", (), words, range(0, len(words), len(blocks) - 1))


def scaled_places(
    setting: Setting, probes: Iterable[tuple[int, ...]], exponent: int, found: Policy
) -> Words:
    """Questions with their largest element in the lanes where no probe has it."""
    fmt = block_format(setting.format)
    size = fmt.elements_per_block
    whole = [words[-size:] for words in probes]
    with np.errstate(invalid="ignore"):  # a signalling NaN
        blocks = largest_in_each_lane(whole, exponent, setting.layout, size)
    return _beside(blocks, _first(fmt, found))


def _first(fmt: BlockFormat, found: Policy) -> tuple[int, ...]:
    """What stands before a block under a tensor scale of 1: its number by an arithmetic."""
    if not fmt.tensor_scale:
        return ()
    kind = TENSOR_KINDS[found.scale.scale_arithmetic.value]
    return (_plain(fmt)[kind],)


def _plain(fmt: BlockFormat) -> dict[TensorScaleKind, int]:
    """The number of each kind that scales nothing."""
    (m, e), (c, f) = (one.magnitude_parts(one.max_code) for one in (fmt.element, fmt.scale))
    one, top, top_256 = (1, 0), (m * c, e + f), (m, e + 8)
    return {
        TensorScaleKind.FACTOR: pattern(*one, F32),
        TensorScaleKind.DIVISOR: pattern(*one, F32),
        TensorScaleKind.AMAX: pattern(*top, F32),
        TensorScaleKind.AMAX_256: pattern(*top_256, F32),
    }


def _in_tensors(blocks: Words, fmt: BlockFormat) -> Words:
    """The first blocks after each plain number of a tensor, and the others after one of many."""
    if not fmt.tensor_scale:
        return blocks
    plain = sorted({*_plain(fmt).values()})
    few, rest = blocks[:_DESIGNED], blocks[_DESIGNED:]
    found = [_beside(few, (bits,)) for bits in plain]
    numbers = np.array([*plain, *_OTHERS], np.uint64)
    first = numbers[np.arange(len(rest)) % len(numbers)]
    return np.concatenate([*found, np.insert(rest, 0, first, axis=1)])


def _beside(blocks: Words, first: tuple[int, ...]) -> Words:
    """Blocks after the same words."""
    before = np.tile(np.array(first, np.uint64), (len(blocks), 1))
    return np.concatenate([before, blocks], axis=1).astype(np.uint64)
