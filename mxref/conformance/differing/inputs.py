"""Blocks on which profiles are compared, and data for the figures; the same on every machine."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

from mxref.bits.floats import FloatLayout
from mxref.cases.grid import grid, pattern
from mxref.cases.probes import COUNT, probes
from mxref.cases.random_blocks import random_blocks
from mxref.cases.read import read_vectors
from mxref.conformance.differing.sides import Words, rounded_to
from mxref.formats.catalog import BlockFormat
from mxref.golden.vector_cases import own_files
from mxref.operands.splitmix import splitmix64
from mxref.support.distinct import distinct

__all__ = ["blocks", "data"]

#: Blocks of each kind of data, of 32 elements.
_ROWS = 4096
#: Random blocks that are compared.
_RANDOM = 1 << 13


def blocks(fmt: BlockFormat, layout: FloatLayout, vectors: Path) -> Words:
    """Blocks as patterns, one a row.

    The blocks of level 1; blocks of one number, at every step of the known scale rules; the numbers
    and midpoints of the format under scale 1; blocks by which mutants are told apart; and random
    blocks.
    """
    stem = f"quantize/{fmt.name}.{layout.name}"
    makers = own_files()
    own = [makers[stem]()] if stem in makers else []
    (file,) = own or read_vectors(vectors, lambda one: one == stem)
    random = random_blocks(
        "blocks of diff", layout, fmt.element, _RANDOM, size=fmt.elements_per_block, specials=True
    )
    designed = probes("quantize", fmt.name, layout.name)
    every = [file.input_words(), _alone(fmt, layout), _grid(fmt, layout), designed, random]
    return np.concatenate(every)


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
