"""Class U, of calls with several axes: right but in real shapes, or but for ordinary data.

Vectors and small calls cannot catch them: a fast path for aligned sizes, for one scale, or for
numbers without a sign is entered by tensors as they are, and by nothing else.
"""

from __future__ import annotations

import functools
import math
from collections.abc import Callable
from typing import Any

import numpy as np
from numpy.typing import NDArray

from mxref.mutants.mutant import Function
from mxref.mutants.use_mutants import UseMutant, changed, where

__all__ = ["CALL_USES"]

Array = NDArray[Any]
#: Where the data of a call decide, it is said so, or with a size that goes along.
_DATA = frozenset({"data", "size"})


def _when(wrong: Callable[..., bool]) -> Callable[[Function], Function]:
    """A function whose last row or number has one wrong bit where the arguments say so."""
    return where(wrong, _spoil_last_row)


def _spoil_last_row(patterns: Array) -> None:
    """Change one bit of the last row, a high one of wide numbers."""
    patterns[-1:] ^= patterns.dtype.type(1 << 8 * patterns.itemsize - 8)


def _index_of(bits: int) -> Callable[[Function], Function]:
    """Numbers whose index needs more bits are left zero."""

    def spoil(right: Function) -> Function:
        def run(*arguments: Any) -> Any:
            return changed(right(*arguments), lose)

        return run

    def lose(patterns: Array) -> None:
        patterns.reshape(-1)[1 << bits :] = 0

    return spoil


def _is_vector(sa: Array, a: Array, sb: Array, b: Array, *_: Any) -> bool:
    """One row times many columns, over a long axis."""
    return len(sa) == 1 and len(sb) >= 1024 and a.size >= 1024


def _last_tile_lost(right: Function) -> Function:
    """A row times a wide and deep matrix leaves out the last block."""

    def run(sa: Array, a: Array, sb: Array, b: Array, *rest: Any) -> Any:
        if _is_vector(sa, a, sb, b):
            sa, a, sb, b = sa[:, :-1], a[:, :-32], sb[:, :-1], b[:, :-32]
        return right(sa, a, sb, b, *rest)

    return run


def _equal(array: Array) -> bool:
    return bool(array.size) and bool((array == array.flat[0]).all())


def _rises(array: Array) -> bool:
    numbers = array.ravel().astype(np.float64)
    return bool((numbers[1:] >= numbers[:-1]).all())


def _sums_in_float16(right: Function) -> Function:
    """Sums under one scale for all are rounded to float16 every 32 numbers."""

    def run(sa: Array, a: Array, sb: Array, b: Array, *rest: Any) -> Any:
        if not (_equal(np.concatenate([sa.ravel(), sb.ravel()])) and len(sa)):
            return right(sa, a, sb, b, *rest)
        blocks = sa.shape[1]
        scale = np.ldexp(1.0, 2 * int(sa.flat[0]) - 254)
        total = np.zeros((len(sa), len(sb)), np.float16)
        for i in range(blocks):
            columns, of_codes = slice(i, i + 1), slice(32 * i, 32 * i + 32)
            part = right(sa[:, columns], a[:, of_codes], sb[:, columns], b[:, of_codes], *rest)
            total += (part.astype(np.float64) / scale).astype(np.float16)
        return (total.astype(np.float64) * scale).astype(np.float32)

    return run


_size = functools.partial(UseMutant, kinds=frozenset({"size"}))
_data = functools.partial(UseMutant, kinds=_DATA)

CALL_USES: tuple[UseMutant, ...] = (
    _size(
        "U40",
        "sides_of_128",
        "is wrong where both sides are multiples of 128",
        spoil=_when(lambda x, *_: x.shape[0] % 128 == x.shape[1] % 128 == 0),
        ops=("quantize_tensor", "rescale", "pack_int4", "pack_scales"),
    ),
    _size(
        "U40b",
        "sides_of_32",
        "is wrong where both sides are multiples of 32, from 4,096 numbers on",
        spoil=_when(lambda x, *_: x.shape[0] % 32 == x.shape[1] % 32 == 0 and x.size > 4096),
        ops=("quantize_tensor", "rescale", "pack_int4"),
    ),
    _size(
        "U41",
        "last_tile_lost",
        "loses the last block of a row times a matrix of 1,024 x 1,024 and more",
        spoil=_last_tile_lost,
        ops=("matmul",),
    ),
    _size(
        "U42",
        "large_products",
        "is wrong in products of 256 x 256 and more over 512 and more",
        spoil=_when(lambda sa, a, sb, b, *_: min(len(a), len(b), a.shape[1] >> 1) >= 256),
        ops=("matmul",),
    ),
    _size(
        "U42b",
        "layers_of_128",
        "is wrong in layers of which every axis is a multiple of 128",
        spoil=_when(lambda x, w, *_: math.gcd(math.prod(x.shape[:2]), *w.shape) % 128 == 0),
        ops=("linear", "linear_gradients"),
    ),
    _size(
        "U43",
        "large_images",
        "is wrong in images of more than 2^17 pixels",
        spoil=_when(lambda image, *_: image[0].size > 1 << 17),
        ops=("grid_sample",),
    ),
    _size(
        "U44",
        "large_weights",
        "is wrong in layers of more than 2^18 bytes of weights",
        spoil=_when(lambda x, w, *_: w.size > 1 << 18),
        ops=("linear_qcs4w", "linear_qcs8w"),
    ),
    _size(
        "U45",
        "wide_tiles",
        "is wrong in whole tiles of 128 rows with 64 columns and more",
        spoil=_when(lambda scales, *_: len(scales) % 128 == 0 and scales.shape[1] >= 64),
        ops=("pack_scales",),
    ),
    _size(
        "U46",
        "index_in_16_bits",
        "leaves the numbers from number 65,536 on zero",
        spoil=_index_of(16),
        ops=("quantize_tensor", "rescale", "pack_int4", "quantize_affine", "unpack_scales"),
    ),
    _size(
        "U46b",
        "index_in_20_bits",
        "leaves the numbers from number 1,048,576 on zero",
        spoil=_index_of(20),
        ops=("quantize_tensor", "rescale"),
    ),
    _data(
        "U50",
        "float16_under_one_scale",
        "adds in float16 where all scales are equal",
        spoil=_sums_in_float16,
        ops=("matmul",),
    ),
    _data(
        "U51",
        "no_negative_numbers",
        "is wrong where none of more than 1,024 numbers is below zero",
        spoil=_when(lambda x, *_: x.size > 1024 and bool((x >= 0).all())),
        ops=("linear", "linear_gradients", "quantize_tensor", "quantize_affine", "linear_qcs8w"),
    ),
    _data(
        "U52",
        "one_multiplier",
        "is wrong where all channels have one multiplier and one shift",
        spoil=_when(lambda q, m, s, *_: _equal(m) and _equal(s) and m.size > 4),
        ops=("rescale",),
    ),
    _data(
        "U53",
        "weights_of_one_sign",
        "is wrong where no weight is below zero",
        spoil=_when(lambda x, w, *_: bool((w >= 0).all()) and w.size > 64),
        ops=("linear_qcs8w", "linear"),
    ),
    _data(
        "U54",
        "equal_scales",
        "is wrong where all scales are equal",
        spoil=_when(lambda scales, *_: _equal(scales) and scales.size > 8),
        ops=("pack_scales", "unpack_scales"),
    ),
    _data(
        "U55",
        "sorted_numbers",
        "is wrong where more than 1,024 numbers rise from first to last",
        spoil=_when(lambda x, *_: x.size > 1024 and _rises(x)),
        ops=("quantize_tensor", "quantize_affine"),
    ),
    _data(
        "U56",
        "small_codes",
        "is wrong where no code is beyond 3",
        spoil=_when(lambda q, *_: q.size > 64 and int(np.abs(q.astype(np.int64)).max()) <= 3),
        ops=("dequantize_affine", "pack_int4", "rescale"),
    ),
)
