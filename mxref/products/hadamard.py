"""Hadamard transforms, which spread what is large over a group of numbers before quantizing."""

from __future__ import annotations

import math
from collections.abc import Iterable
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import ArrayLike, DTypeLike, NDArray

from mxref.bits.float32 import F64Array
from mxref.bits.floats import Floats, layout_of
from mxref.products.float_products import float_product


@dataclass(frozen=True, slots=True)
class Hadamard:
    """A Hadamard transform of groups of numbers: v becomes v D H / sqrt(n), rounded once.

    D has the signs on its diagonal, H is Sylvester's matrix of 1 and -1. H / sqrt(n) is orthogonal,
    so that a product of two operands that are both transformed along the summed axis stays the
    same, but for rounding.

    Args:
        signs: n numbers 1 or -1; n is a power of four, so that sqrt(n) is a power of two.
        dtype: float64, float32, bfloat16 or float16: the type to which each exact sum is rounded.

    Raises:
        ValueError: another number of signs, or other signs.
        TypeError: another dtype.
    Source: NVIDIA/TransformerEngine d0067d0d, transformer_engine/pytorch/tensor/nvfp4_tensor.py:
        get_hadamard_matrix and get_rht_matrix; SPEC_NOTES N53.

    >>> Hadamard((1, 1, 1, -1)).matrix
    array([[ 0.5,  0.5,  0.5,  0.5],
           [ 0.5, -0.5,  0.5, -0.5],
           [ 0.5,  0.5, -0.5, -0.5],
           [-0.5,  0.5,  0.5, -0.5]])
    """

    signs: tuple[int, ...]
    dtype: DTypeLike = "bfloat16"

    def __post_init__(self) -> None:
        if isinstance(self.signs, str) or not isinstance(self.signs, Iterable):
            raise TypeError(f"signs must be numbers 1 or -1, got {type(self.signs).__name__}")
        object.__setattr__(self, "signs", tuple(self.signs))
        size = len(self.signs)
        if not size or size & (size - 1) or size.bit_length() % 2 == 0:
            raise ValueError(f"signs must be a power of four in number, got {size}")
        if not {*self.signs} <= {1, -1}:
            raise ValueError(f"signs must be 1 or -1, got {self.signs}")
        object.__setattr__(self, "signs", tuple(map(int, self.signs)))
        object.__setattr__(self, "dtype", np.dtype(layout_of(self.dtype).dtype).name)

    @property
    def size(self) -> int:
        """How many numbers a group has."""
        return len(self.signs)

    @property
    def matrix(self) -> F64Array:
        """D H / sqrt(n), which a row of n numbers is multiplied by."""
        places = range(self.size)
        odd = [[(row & column).bit_count() & 1 for column in places] for row in places]
        signs = np.array(self.signs)[:, np.newaxis] * np.where(odd, -1, 1)
        return signs * math.ldexp(1.0, -(self.size.bit_length() // 2))

    def transformed(self, values: ArrayLike, axis: int = -1) -> Floats:
        """The numbers after the transform of each group of them along an axis.

        Args:
            values: floats, or integers up to 2**53, two axes.
            axis: the axis, whose length is a multiple of n.

        Returns:
            Floats of the same shape. Each sum is exact and rounded once, to nearest even; a sum
            that is zero is +0. A group with a NaN, or with infinities, has NaN and infinities as
            their sums have.

        Raises:
            ValueError: a length that is no multiple of n.

        >>> Hadamard((1, 1, 1, 1)).transformed([[8.0, 0.0, 0.0, 0.0]])
        array([[4, 4, 4, 4]], dtype=bfloat16)
        """
        array = np.asarray(values)
        if array.ndim == 0 or not -array.ndim <= axis < array.ndim:
            raise ValueError(f"axis must be one of the {array.ndim} axes of values, got {axis}")
        rows: NDArray[Any] = np.moveaxis(array, axis, -1)
        if rows.shape[-1] % self.size:
            raise ValueError(
                f"values must have a multiple of {self.size} numbers along the axis of the "
                f"Hadamard transform, got {rows.shape[-1]}: fill them up with zeros"
            )
        layout = layout_of(self.dtype)
        found = float_product(rows.reshape(-1, self.size), self.matrix, layout)
        return np.moveaxis(found.reshape(rows.shape), -1, axis)
