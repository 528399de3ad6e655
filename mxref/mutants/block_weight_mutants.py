"""Class I: `matmul_nbits` gone wrong, by what it reads: the products are added exactly."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np
from numpy.typing import NDArray

from mxref.integer.layers import linear_qcs8w
from mxref.mutants.mutant import Function, Mutants, wrong

__all__ = ["BLOCK_OPERANDS", "BLOCK_WEIGHTS", "Operands", "exactly"]

Array = NDArray[Any]
#: Turns the arguments of a weight-only layer into x, integers and scales.
Operands = Callable[..., tuple[Array, Array, Array]]
_BARE, _ZEROS = ("uint4", "uint2"), ("uint4_zeros", "uint2_zeros", "uint4_long")
_ALL = (*_BARE, *_ZEROS)
#: The longest block of onnxruntime.
_LONGEST = 256


def exactly(operands: Operands) -> Function:
    """The exact product of wrong operands."""

    def run(*arguments: Any) -> Array:
        return linear_qcs8w(*operands(*arguments))

    return run


def _fields(given: Array, bits: int, *, high_first: bool = False) -> Array:
    """The codes of bytes along the last axis."""
    places = np.arange(0, 8, bits)[:: -1 if high_first else 1]
    parts = given[..., np.newaxis] >> places & _mask(bits)
    return parts.reshape(*given.shape[:-1], -1).astype(np.int64)


def _reading(
    *,
    high_first: bool = False,
    zeros: Callable[[Array, Array, int], Array] | None = None,
    default: int | None = None,
    scales: Callable[[Array], Array] = lambda scales: scales,
    whole: bool = False,
    longest: int = 0,
) -> Operands:
    """Operands that are right but for what is given.

    Args:
        high_first: whether the first code is in the highest bits.
        zeros: the zero points (N, G), of the right ones, the bytes and the bits.
        default: the zero point of all blocks where none is given.
        scales: which are taken, of those that are given.
        whole: whether a block in which K ends is left out.
        longest: the longest block that is not taken for zeros; 0 for any.
    """

    def operands(
        x: Array, packed: Array, factors: Array, zero_points: Array | None, bits: int
    ) -> tuple[Array, Array, Array]:
        (n, groups, size), k = packed.shape, x.shape[1]
        block = size * 8 // bits
        codes = _fields(packed, bits, high_first=high_first)
        own: Array = np.full((n, groups), 1 << bits - 1 if default is None else default)
        if zero_points is not None:
            own = _fields(zero_points, bits)[:, :groups]
            own = own if zeros is None else zeros(own, zero_points, bits)
        integers = (codes - own[:, :, np.newaxis]).reshape(n, groups * block)
        integers[:, k // block * block if whole else k :] = 0
        integers = integers * (not longest or block <= longest)
        return np.pad(x, [(0, 0), (0, groups * block - k)]), integers, scales(factors)

    return operands


def _mask(bits: int) -> int:
    return (1 << bits) - 1


def _run_on(own: Array, given: Array, bits: int) -> Array:
    """Zero points of all outputs in one run, without a byte of their own for each."""
    found = np.resize(_fields(given.reshape(-1), bits), own.size)
    return found.reshape(own.shape)


def _of_next_row(x: Array, packed: Array, *rest: Any) -> tuple[Array, Array, Array]:
    return _reading()(x, np.roll(packed, -1, 0), *rest)


#: Mistakes by heading, each with what it reads and the formats in which that is seen.
_READ: dict[str, tuple[Operands, tuple[str, ...]]] = {
    "I27 zero_points_left_out: takes 2**(bits - 1) for every zero point": (
        _reading(zeros=lambda own, given, bits: np.full_like(own, 1 << bits - 1)),
        _ZEROS,
    ),
    "I27b no_default_zero_point: takes 0 where no zero points are given": (
        _reading(default=0),
        _BARE,
    ),
    "I27c default_zero_point_of_4_bits: takes 8 of 2 bits, too, where no zero points are given": (
        _reading(default=8),
        ("uint2",),
    ),
    "I27d codes_high_bits_first: reads the code in the highest bits of a byte first": (
        _reading(high_first=True),
        _ALL,
    ),
    "I27e zero_points_high_bits_first: reads the zero point in the highest bits first": (
        _reading(
            zeros=lambda own, given, bits: _fields(given, bits, high_first=True)[:, : own.shape[1]]
        ),
        _ZEROS,
    ),
    "I27f zero_points_run_on: reads zero points without a byte of its own for each output": (
        _reading(zeros=_run_on),
        _ZEROS,
    ),
    "I27g zero_point_a_byte: takes the lowest bits of a byte for each zero point": (
        _reading(
            zeros=lambda own, given, bits: (
                np.resize(given, own.shape).astype(np.int64) & _mask(bits)
            )
        ),
        _ZEROS,
    ),
    "I27h zero_point_of_next_block: takes the zero point of the next block": (
        _reading(zeros=lambda own, given, bits: np.roll(own, -1, 1)),
        _ZEROS,
    ),
    "I27i first_zero_point_of_row: takes the first zero point of an output for all its blocks": (
        _reading(zeros=lambda own, given, bits: np.repeat(own[:, :1], own.shape[1], 1)),
        _ZEROS,
    ),
    "I27j scale_of_next_weight_block: takes the scale of the next block": (
        _reading(scales=lambda scales: np.roll(scales, -1, 1)),
        _ALL,
    ),
    "I27k first_scale_of_row: takes the first scale of an output for all its blocks": (
        _reading(scales=lambda scales: np.repeat(scales[:, :1], scales.shape[1], 1)),
        _ALL,
    ),
    "I27l scales_turned: reads the scales block by block": (
        _reading(scales=lambda scales: scales.reshape(scales.shape[::-1]).T),
        _ALL[:-1],
    ),
    "I27m last_weight_block_dropped: leaves out a block in which K ends": (
        _reading(whole=True),
        _ALL,
    ),
    "I27n long_blocks_are_zeros: gives zeros for blocks of more than 256 codes": (
        _reading(longest=_LONGEST),
        ("uint4_long",),
    ),
    "I27o bytes_of_next_output: takes the weights of the next output": (
        _of_next_row,
        _ALL,
    ),
}
BLOCK_WEIGHTS: Mutants = {
    heading: wrong(
        exactly(operands), op="matmul_nbits", formats=formats, floats=("f32",), model="M29"
    )
    for heading, (operands, formats) in _READ.items()
}
#: id -> its operands, which may be added in any order.
BLOCK_OPERANDS = {heading.partition(" ")[0]: one[0] for heading, one in _READ.items()}
