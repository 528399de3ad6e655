"""Operands of layers: normal numbers whose rows and columns have powers of two of their own."""

from __future__ import annotations

import math
from typing import Any

import numpy as np
from helpers import SOURCES


def scaled(seed: int, shape: tuple[int, ...], name: str = "f32", spread: int = 9) -> Any:
    """Normal numbers times powers of two for each index of each axis, as a float type."""
    rng = np.random.default_rng(seed)
    values = rng.standard_normal(shape)
    for axis, count in enumerate(shape):
        powers = np.exp2(rng.integers(-spread, spread + 1, count))
        values *= powers.reshape(-1, *(1,) * (len(shape) - axis - 1))
    return values.astype(SOURCES[name])


def operands(
    seed: int, lead: tuple[int, ...], k: int, n: int, name: str = "f32", spread: int = 9
) -> list[Any]:
    """x, w, the gradient of the output, and a bias."""
    shapes = (*lead, k), (n, k), (*lead, n), (n,)
    return [scaled(4 * seed + i, shape, name, spread) for i, shape in enumerate(shapes)]


def words(array: Any) -> list[Any]:
    """Patterns of the rows of an array."""
    rows = array.reshape(math.prod(array.shape[:-1]), array.shape[-1])
    return list(rows.view(f"u{array.dtype.itemsize}").tolist())
