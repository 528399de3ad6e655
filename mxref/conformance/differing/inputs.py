"""Blocks on which profiles are compared, and data for the figures; the same on every machine."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

from mxref.bits.floats import F32, F64, FloatLayout
from mxref.cases.float_scaled import FLOAT_SCALES
from mxref.cases.grid import grid, held_grid, pattern
from mxref.cases.probes import COUNT, probes
from mxref.cases.random_blocks import random_blocks
from mxref.cases.read import read_vectors
from mxref.cases.records import VectorFile
from mxref.conformance.differing.sides import Words, exact_words, rounded_to
from mxref.formats.catalog import OWN_FORMATS, BlockFormat
from mxref.operands.splitmix import splitmix64
from mxref.support.distinct import distinct

__all__ = ["blocks", "codes", "data"]

#: Blocks of each kind of data, of 32 elements.
_ROWS = 4096
#: Random blocks that are compared.
_RANDOM = 1 << 13
#: Amaxes of tensors, all over the float type, whose steps are compared.
_TENSORS = 12
#: Binades between the amaxes of random tensors: each of them is a call.
_RUNG = 4
#: Random blocks that are alone, with infinity, and with NaN elsewhere.
_ALONE = 48


def blocks(fmt: BlockFormat, layout: FloatLayout, vectors: Path) -> Words:
    """Blocks as patterns, one a row.

    The blocks of level 1; blocks of one number, at every step of the known scale rules; the numbers
    and midpoints of the format under scale 1; blocks by which mutants are told apart; and random
    blocks. Of scales that are small floats the steps are those between the scales. In formats with
    a tensor scale each block comes after one number more of its tensor.
    """
    stem = f"quantize/{fmt.name}.{layout.name}"
    files = _own(stem) if fmt.name in OWN_FORMATS else []
    files = files or read_vectors(vectors, lambda one: one == stem)
    known = [file.input_words() for file in files]
    random = random_blocks(
        "blocks of diff", layout, fmt.element, _RANDOM, size=fmt.elements_per_block, specials=True
    )
    designed = probes("quantize", fmt.name, layout.name)
    if fmt.tensor_scale:
        designed, *known = (_in_tensors(one, fmt, layout) for one in (designed, *known))
        every = [*known, designed, _in_range(fmt, layout), _drawn_tensors(random, layout)]
    elif fmt.scale.is_float32:  # whose probes have the steps of its choices
        every = [*known, designed, random]
    elif fmt.scale.is_power:
        every = [*known, _alone(fmt, layout), _grid(fmt, layout), designed, random]
    else:
        steps = _scale_steps(fmt, fmt.element.max_normal, layout)
        every = [*known, _rows_of(steps[:, np.newaxis], fmt), designed, random]
    return np.concatenate(every)


def _own(stem: str) -> list[VectorFile]:
    """The file of a user's format, if it has one."""
    from mxref.golden.made_files import own_files  # which imports all operations

    makers = own_files()
    return [makers[stem]()] if stem in makers else []


def codes(fmt: BlockFormat) -> Words:
    """Every scale code with every element code, one block a row; some of float32 scales."""
    count, size = fmt.element.code_count, fmt.elements_per_block
    blocks = (np.arange(-(-count // size) * size) % count).reshape(-1, size).astype(np.uint64)
    some = FLOAT_SCALES if fmt.scale.is_float32 else range(fmt.scale.code_count)
    scales = np.repeat(np.array(some, np.uint64), len(blocks))
    every = np.tile(blocks, (len(some), 1))
    return np.concatenate([scales[:, np.newaxis], every], axis=1)


def _in_tensors(words: Words, fmt: BlockFormat, layout: FloatLayout) -> Words:
    """Blocks after exact scales of their tensors: after the amax that gives these."""
    factor = words[:, 0].astype(F32.uint).view(F32.dtype).astype(np.float64)
    top = fmt.element.max_normal * fmt.scale.max_normal
    rows = words.copy()
    rows[:, 0] = np.minimum(_patterns(factor * top, layout), layout.inf_bits - 1)
    return rows


def _in_range(fmt: BlockFormat, layout: FloatLayout) -> Words:
    """Blocks at the steps between the scales, and their elements at midpoints, in some tensors."""
    top = fmt.element.max_normal * fmt.scale.max_normal
    fields = np.linspace(1, (layout.inf_bits >> layout.mantissa_bits) - 1, _TENSORS).astype(int)
    fractions = splitmix64(73, _TENSORS) >> np.uint64(64 - layout.mantissa_bits)
    every = fields.astype(np.uint64) << np.uint64(layout.mantissa_bits) | fractions
    one = pattern(1, 0, layout)
    middles = np.array(grid(fmt.element, F64)[1][:-1], np.uint64).view(np.float64)
    found = [np.zeros((1, 1 + fmt.elements_per_block), np.uint64)]
    for bits in [*_patterns(np.array([top]), layout).tolist(), one, *every.tolist()]:
        amax = float(exact_words(np.array([bits], np.uint64), layout)[0])
        steps = _scale_steps(fmt, amax / fmt.scale.max_normal, layout)
        rows = [_rows_of(steps[steps <= bits][:, np.newaxis], fmt)]
        scales = fmt.scale.max_normal / 2.0 ** np.arange(0, 12, 1.5).round() * np.float64(13 / 14)
        for scale in (scales * (amax / top)).tolist():
            near = _near(np.array([fmt.element.max_normal * scale, *middles * scale]), layout)
            points = near[1:, 1:-1].reshape(-1)
            points = np.pad(points, (0, -len(points) % (fmt.elements_per_block - 1)))
            few = points.reshape(-1, fmt.elements_per_block - 1)
            first = np.full((len(few), 1), near[0, 2], np.uint64)
            rows.append(_rows_of(np.concatenate([first, few], axis=1), fmt))
        together = np.concatenate(rows)
        found.append(np.insert(together, 0, bits, axis=1))
    return np.concatenate(found)


def _drawn_tensors(blocks: Words, layout: FloatLayout) -> Words:
    """Random blocks in tensors with some larger number, of few kinds; some alone, or with NaN."""
    m = layout.mantissa_bits
    magnitude = blocks & np.uint64(layout.sign_bit - 1)
    amax = np.where(magnitude < layout.inf_bits, magnitude, 0).max(axis=1)
    above = np.arange(len(blocks), dtype=np.uint64) % np.uint64(20)
    rung = ((amax >> np.uint64(m)) + above) // np.uint64(_RUNG) * np.uint64(_RUNG)
    field = np.minimum(rung + np.uint64(_RUNG), np.uint64((layout.inf_bits >> m) - 1))
    fraction = splitmix64(74, 1 << layout.exponent_bits)[field] >> np.uint64(64 - m)
    first = field << np.uint64(m) | fraction
    alone, inf, nan = np.arange(0, 8 * _ALONE, 8) + np.arange(3)[:, np.newaxis]
    first[alone], first[inf], first[nan] = 0, layout.inf_bits, layout.nan_bits
    rows: Words = np.insert(blocks, 0, first, axis=1)
    return rows


def _scale_steps(fmt: BlockFormat, times: float, layout: FloatLayout) -> Words:
    """Scales and the midpoints between them times a number, and floats up to 2 ulp away."""
    points = np.concatenate(held_grid(fmt.scale, F64)).astype(np.uint64).view(np.float64)
    steps: Words = distinct(_near(points * times, layout))
    return steps


def _near(numbers: NDArray[np.float64], layout: FloatLayout) -> Words:
    """Positive numbers in a float type, and the finite floats up to 2 ulp away, (n, 5)."""
    near = _patterns(numbers, layout).astype(np.int64)[:, np.newaxis] + np.arange(-2, 3)
    words: Words = np.clip(near, 0, layout.inf_bits - 1).astype(np.uint64)
    return words


def _patterns(numbers: NDArray[np.float64], layout: FloatLayout) -> Words:
    found: Words = rounded_to(numbers, layout).view(layout.uint).astype(np.uint64)
    return found


def _rows_of(first: Words, fmt: BlockFormat) -> Words:
    """Blocks with these first elements, (n, m), and zeros."""
    return np.pad(first, ((0, 0), (0, fmt.elements_per_block - first.shape[1])))


def _alone(fmt: BlockFormat, layout: FloatLayout) -> Words:
    amax = probes("shared_scale", fmt.element.name, layout.name)[:, 0]
    amax = distinct(amax if layout.width == 16 else amax[:-COUNT])
    rows = np.zeros((len(amax), fmt.elements_per_block), np.uint64)
    rows[:, 0] = amax
    return rows[amax < layout.sign_bit]


def _grid(fmt: BlockFormat, layout: FloatLayout) -> Words:
    """Blocks of scale 1 with one number or midpoint of the format, or a float next to it."""
    anchor = pattern(1, fmt.element.emax, layout)
    points = np.concatenate(grid(fmt.element, layout)).astype(np.int64)
    near = distinct(np.concatenate([points + step for step in (-1, 0, 1)]))
    limit = pattern(1, fmt.element.emax + 1, layout)
    near = near[(near >= 0) & (near < limit)].astype(np.uint64)
    near = np.concatenate([near, near | np.uint64(layout.sign_bit)])
    rows = np.zeros((len(near), fmt.elements_per_block), np.uint64)
    rows[:, 0], rows[:, 1] = anchor, near
    return rows


def data(layout: FloatLayout, size: int) -> dict[str, NDArray[Any]]:
    """Data by name, (n, size): nearly normal and log-uniform numbers.

    The former are sums of 12 uniform numbers less 6; the latter have uniform exponents (-16 to 15),
    significands and signs.
    """
    count = _ROWS * 32
    draws = splitmix64(71, 3 * count).view(np.uint16).astype(np.int64).reshape(12, count)
    normal = (draws.sum(axis=0) - 12 * 32767.5) / 65536
    bits = splitmix64(72, count)
    exponents = (bits >> np.uint64(52) & np.uint64(31)) + np.uint64(1023 - 16)
    fractions = bits & np.uint64((1 << 52) - (1 << 29))  # of float32
    log_uniform = bits & np.uint64(1 << 63) | exponents << np.uint64(52) | fractions
    numbers = {"normal": normal, "log-uniform": log_uniform.view(np.float64)}
    return {
        name: rounded_to(one, layout)[: count // size * size].reshape(-1, size)
        for name, one in numbers.items()
    }
