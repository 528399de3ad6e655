"""Strategies of codes, encoded blocks and blocks of floats."""

from __future__ import annotations

import contextlib
import dataclasses
from collections.abc import Collection
from typing import Any, TypeVar

import numpy as np
from hypothesis import strategies as st
from numpy.typing import NDArray

from mxref.bits import simplicity
from mxref.bits.floats import U8, FloatLayout, compose, split
from mxref.cases.float_scaled import largest_magnitudes
from mxref.cases.grid import pattern
from mxref.formats.catalog import (
    E8M0,
    BlockFormat,
    ScaleKind,
    block_format,
    code_format,
    scale_format,
)
from mxref.policy.policy import Policy
from mxref.policy.scale_rule import ScaleRule
from mxref.strategies.for_floats import (
    around,
    layout_named,
    numbers,
    one_branch,
    ranges,
    rows,
    signs,
    stretches,
    threshold_patterns,
)

__all__ = ["blocks", "coded_blocks", "codes", "scale_codes", "shifted"]

_T = TypeVar("_T")


def codes(format: str) -> st.SearchStrategy[int]:
    """All codes of an element format; they shrink to 0.

    Raises:
        ValueError: unknown format.

    >>> from hypothesis import find, settings
    >>> quiet = settings(database=None, derandomize=True)
    >>> find(codes("e2m1"), lambda code: code > 8, settings=quiet)
    9
    """
    return st.integers(0, code_format(format).code_count - 1)


def scale_codes(format: str = "e8m0") -> st.SearchStrategy[int]:
    """All codes of a scale format; those of E8M0 shrink to 7F, the scale 1.

    Raises:
        ValueError: unknown format.

    >>> from hypothesis import find, settings
    >>> quiet = settings(database=None, derandomize=True)
    >>> [find(scale_codes(), lambda code: code > n, settings=quiet) for n in (3, 130)]
    [127, 131]
    """
    fmt = scale_format(format)
    one = fmt.bias << fmt.mantissa_bits
    low, high = -one, fmt.code_count - 1 - one
    steps = ranges((low, high), (-4, 4), (low, low + 1), (high - 1, high))
    return steps.map(lambda step: one + step)


def coded_blocks(format: str, *, count: int = 1) -> st.SearchStrategy[tuple[NDArray[Any], U8]]:
    """Encoded blocks: scale codes (count,), uint32 if they are float32, and element codes.

    The latter are (count, block size): zeros but for a few at some place, or these repeated. Blocks
    shrink to zeros and one other code.

    Args:
        format: a block format.
        count: number of blocks.

    Raises:
        ValueError: unknown format.

    >>> from hypothesis import find, settings
    >>> quiet = settings(database=None, derandomize=True)
    >>> pairs = coded_blocks("mxfp4_e2m1")
    >>> scales, codes = find(pairs, lambda pair: (pair[1] > 4).any(), settings=quiet)
    >>> scales, codes[0, :4], codes.shape
    (array([127], dtype=uint8), array([5, 0, 0, 0], dtype=uint8), (1, 32))
    """
    fmt = block_format(format)
    one = st.tuples(
        scale_codes(fmt.scale.name),
        rows(st.lists(codes(fmt.element.name), max_size=8), fmt.elements_per_block),
    )

    word = np.min_scalar_type(fmt.scale.code_count - 1)

    def stacked(found: list[tuple[int, list[int]]]) -> tuple[NDArray[Any], U8]:
        scales, elements = zip(*found, strict=True)
        return np.array(scales, word), np.array(elements, np.uint8)

    return st.lists(one, min_size=count, max_size=count).map(stacked)


def blocks(
    format: str,
    float: str = "f32",
    *,
    count: int = 1,
    spread: int | None = None,
    specials: Collection[int] | None = None,
    policy: str | Policy = "ocp",
) -> st.SearchStrategy[NDArray[Any]]:
    """Blocks of floats (count, block size) for `quantize`.

    The elements of a block are zeros but for a few numbers at some place, or these numbers
    repeated. The numbers are zeros, any numbers, thresholds of the element format, and values of
    amax at which a scale rule goes up, at any scale within the float type. Blocks shrink to zeros
    and one simple number.

    Args:
        format: a block format.
        float: `f32`, `f16`, `bf16` or `f64`.
        count: number of blocks.
        spread: number of binades below the largest numbers in which elements may lie; None for
            those of the element format and four more.
        specials: positions that may hold infinities and NaNs; None for all.
        policy: a `Policy` or its spelling, for the thresholds.

    Raises:
        ValueError: unknown format, float type or policy, a stochastic rounding, or a position
            outside the block.

    >>> from hypothesis import find, settings
    >>> quiet = settings(database=None, derandomize=True)
    >>> special = blocks("mxfp4_e2m1", specials=(7,))
    >>> block = find(special, lambda block: np.isnan(block).any(), settings=quiet)
    >>> np.flatnonzero(np.isnan(block[0])), block.shape
    (array([7]), (1, 32))
    """
    layout, fmt = layout_named(float), block_format(format)
    size = fmt.elements_per_block
    places = sorted(range(size) if specials is None else specials)
    if not set(places) <= set(range(size)):
        raise ValueError(f"specials must be positions from 0 to {size - 1}, got {places}")
    top, m = fmt.element.emax, fmt.element.mantissa_bits
    lowest = fmt.element.emin - m - 4 if spread is None else top - spread
    least = simplicity.number(layout, 0, max(lowest, simplicity.lowest_exponent(layout)))
    thresholds = threshold_patterns(fmt.element.name, float, policy)
    short = {
        simplicity.number(layout, f, top - gap) for f in range(4) for gap in range(top - lowest)
    }
    near = {*thresholds, *short, *(word | layout.sign_bit for word in short)}
    inside = simplicity.simplest_first(
        (word for word in near if word & (layout.sign_bit - 1) >= least), layout
    )
    limits = st.sampled_from(_limits(fmt, layout))
    numbered = one_branch(*numbers(layout, [(lowest, top)]))
    few = one_branch(signs(layout), numbered)
    singles = st.tuples(few) | st.tuples(st.sampled_from(inside)) | st.tuples(limits)
    pieces = st.lists(singles | stretches(inside, size - 1), min_size=1, max_size=4)
    palettes = pieces.map(lambda some: [word for piece in some for word in piece])
    low, high = simplicity.lowest_exponent(layout) - top, layout.bias - top
    clamps = (E8M0.emin, E8M0.emax)
    ends = [(k - 4, k + 4) for k in (*clamps, low, high) if low - 4 <= k <= high + 4]
    shifts = ranges((low - 4, high + 4), (-4, 4), *ends)
    put = st.lists(st.tuples(st.sampled_from(places), _specials(layout)), min_size=1, max_size=2)
    row = st.tuples(rows(palettes, size), shifts, st.just([]) | put if places else st.just([]))

    def stacked(found: list[tuple[list[int], int, list[tuple[int, int]]]]) -> NDArray[Any]:
        rows, binades, put = zip(*found, strict=True)
        words = shifted(np.array(rows, layout.uint), np.array(binades)[:, np.newaxis], layout)
        for word, replaced in zip(words, put, strict=True):
            for place, special in replaced:
                word[place] = special
        return words.view(layout.dtype)

    return st.lists(row, min_size=count, max_size=count).map(stacked)


def _specials(layout: FloatLayout) -> st.SearchStrategy[int]:
    """Infinities and NaNs of both signs."""
    magnitudes = (layout.inf_bits, layout.nan_bits, layout.inf_bits | 1)
    return st.sampled_from([bits | sign for bits in magnitudes for sign in (0, layout.sign_bit)])


def _limits(fmt: BlockFormat, layout: FloatLayout) -> list[int]:
    """Values of amax at which the scale of a block changes under some rule."""
    points = set()
    if fmt.scale == E8M0:
        for rule in ScaleRule:
            if not rule.is_quirk:
                binade, first = rule.limit(fmt.element).threshold(layout.mantissa_bits)
                points.add(((binade + layout.bias - 1) << layout.mantissa_bits) + first)
    elif fmt.scale.kind is ScaleKind.FLOAT32:
        points |= {bits for _, bits in largest_magnitudes(fmt, layout)}
    else:  # numbers and midpoints of the scale format, times the largest element
        largest, power = fmt.element.magnitude_parts(fmt.element.max_code)
        for code in range(1, fmt.scale.max_code + 1):
            n, exponent = fmt.scale.magnitude_parts(code)
            for twice in (2 * n, 2 * n + 1):
                with contextlib.suppress(ValueError):  # too large for float16
                    points.add(pattern(twice * largest, exponent + power - 1, layout))
    return around([point for point in points if point < layout.inf_bits], layout)


def shifted(words: NDArray[Any], shift: NDArray[Any], layout: FloatLayout) -> NDArray[Any]:
    """Patterns of numbers times 2**shift; overflow becomes the largest number."""
    parts = split(words, layout)
    moved = compose(dataclasses.replace(parts, exponent=parts.exponent + shift), layout)
    over = moved & layout.uint.type(layout.sign_bit - 1) >= layout.inf_bits
    result: NDArray[Any] = np.where(over, moved - layout.uint.type(1), moved)
    return result
