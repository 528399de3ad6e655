"""Matrices of plain numbers for matrix units, drawn near what their adders decide."""

from __future__ import annotations

import itertools
from collections.abc import Iterator

import ml_dtypes
import numpy as np
from numpy.typing import NDArray

import mxref
from mxref.formats.catalog import CODE_FORMATS

DTYPES = {
    **{name: np.dtype(getattr(ml_dtypes, fmt.dtype_name)) for name, fmt in CODE_FORMATS.items()
       if fmt.dtype_name and hasattr(ml_dtypes, fmt.dtype_name)},
    "f16": np.dtype(np.float16),
    "bf16": np.dtype(ml_dtypes.bfloat16),
    "tf32": np.dtype(np.float32),
    "f32": np.dtype(np.float32),
}  # fmt: skip
UINT = {1: np.uint8, 2: np.uint16, 4: np.uint32}
#: The named adders of plain arrays.
PLAIN = [name for name, one in mxref.ADDERS.items() if not (one.blocks or one.scaling)]


def pairs(name: str) -> Iterator[tuple[str, str]]:
    """The formats that an adder multiplies; float16 and bfloat16 are not mixed."""
    for a, b in itertools.product(mxref.ADDERS[name].formats, repeat=2):
        if a == b or "16" not in a + b:
            yield a, b


def words(numbers: NDArray[np.generic]) -> NDArray[np.generic]:
    """Patterns."""
    return numbers.view(UINT[numbers.dtype.itemsize])


def drawn(
    state: np.random.Generator, name: str, shape: tuple[int, int], *, special: bool = False
) -> NDArray[np.generic]:
    """Rows of any patterns, of numbers near 1, and of few binades; zeros of both signs between."""
    dtype = DTYPES[name]
    uint = UINT[dtype.itemsize]
    bits = CODE_FORMATS[name].bits if name in CODE_FORMATS else 8 * dtype.itemsize
    found = state.integers(1 << bits, size=shape).astype(uint)
    kind = state.integers(4, size=(shape[0], 1))
    for place, reach in ((1, 8), (2, 14), (3, 2)):
        significand = state.choice([1, 1.25, 1.375, 1.5, 1.9990234375, 1 + 2**-7], shape)
        powers = np.ldexp(significand, state.integers(-reach, reach, shape))
        with np.errstate(over="ignore", invalid="ignore"):
            some = (state.choice([1, -1], shape) * powers).astype(dtype).view(uint)
        found = np.where(kind == place, some, found)
    signs = [0] if name.endswith("fnuz") else [0, 1 << (bits - 1)]
    zeros = state.choice(np.array(signs, uint), shape)
    found = np.where(
        state.random(shape) < state.choice([0.05, 0.5, 0.9], (shape[0], 1)), zeros, found
    )
    # The last number of half of the rows is that of the first, negated: sums that cancel.
    if not name.endswith("fnuz"):
        found[::2, -1] = found[::2, 0] ^ uint(1 << (bits - 1))
    with np.errstate(invalid="ignore"):
        finite = np.isfinite(found.view(dtype).astype(np.float64))
    return (found if special else np.where(finite, found, 0)).astype(uint).view(dtype)


def with_few_specials(state: np.random.Generator, numbers: NDArray[np.generic]) -> None:
    """Put an infinity or a NaN into a third of the rows, if the type has them."""
    for value in (np.inf, -np.inf, np.nan):
        with np.errstate(over="ignore", invalid="ignore"):
            one = np.array(value).astype(numbers.dtype)
        if not np.isfinite(one.astype(np.float64)):
            rows = np.flatnonzero(state.random(len(numbers)) < 0.12)
            numbers[rows, state.integers(numbers.shape[1], size=rows.size)] = one


def before(state: np.random.Generator, output: str, shape: tuple[int, int]) -> NDArray[np.generic]:
    """Sums so far: zeros, numbers near 1, subnormal ones, large ones."""
    return drawn(state, output, shape)
