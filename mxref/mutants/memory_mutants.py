"""Class U: functions that are right wherever arrays usually lie, and wrong in some memory.

Each reads some arrays otherwise than they are: those with a stride of 0, at odd addresses or with
rows far apart. Two are wrong where an array is read-only, and where two arguments are one array.
"""

from __future__ import annotations

import itertools
from collections.abc import Callable
from functools import partial
from typing import Any

import numpy as np
from numpy.lib.stride_tricks import as_strided
from numpy.typing import NDArray

from mxref.mutants.mutant import Function
from mxref.mutants.use_mutants import UseMutant, reading, reading_from, where

__all__ = ["MEMORY_USES"]

Array = NDArray[Any]
#: Operations of both engines that ask calls.
_OPS = ("encode", "quantize", "dequantize", "quantize_tensor", "matmul", "linear", "rescale")
_FLOATS = ("encode", "quantize", "quantize_tensor", "linear", "grid_sample")


def _where(
    wrong: Callable[[list[Array]], bool], change: Callable[[Array], None]
) -> Callable[[Function], Function]:
    """A function that is wrong where its arrays say so."""
    return where(
        lambda *arguments: wrong([one for one in arguments if isinstance(one, np.ndarray)]), change
    )


def _first_row(array: Array) -> Array:
    """Only the first of repeated rows or numbers; zeros in place of the others."""
    if not any(n > 1 and step == 0 for n, step in zip(array.shape, array.strides, strict=True)):
        return array
    found = np.zeros_like(array, order="C", subok=False)
    found[:1] = array[:1]
    return found


def _one_twice(arrays: list[Array]) -> bool:
    return any(np.may_share_memory(a, b) for a, b in itertools.combinations(arrays, 2))


def _lost(patterns: Array) -> None:
    patterns[-1:] = 0


def _nothing(patterns: Array) -> None:
    patterns[...] = 0


def _short_strides(array: Array) -> Array:
    """Read with the last 16 bits of each stride, which all lie in the same memory."""
    return as_strided(
        array, strides=[step if step < 0 else step % (1 << 16) for step in array.strides]
    )


def _short_offsets(array: Array) -> Array:
    """Zeros where a number lies 4 GiB and more behind the first one."""
    if max(array.strides, default=0) < 1 << 16:
        return array
    steps = zip(np.indices(array.shape), array.strides, strict=True)
    found = array.copy()
    found[sum(places * step for places, step in steps) >= 1 << 32] = 0
    return found


_memory = partial(UseMutant, kinds=frozenset({"memory"}))

MEMORY_USES: tuple[UseMutant, ...] = (
    _memory(
        "U70",
        "stride_of_zero",
        "reads the first of the rows that a stride of 0 repeats, and zeros behind it",
        spoil=reading(_first_row),
        ops=_OPS,
    ),
    _memory(
        "U71",
        "read_only",
        "writes nothing where an array is read-only",
        spoil=_where(lambda arrays: not all(one.flags.writeable for one in arrays), _nothing),
        ops=(*_OPS, "decode", "pack", "grid_sample"),
    ),
    _memory(
        "U72",
        "one_array_twice",
        "loses the last row where two of its arrays are one",
        spoil=_where(_one_twice, _lost),
        ops=("matmul", "linear_gradients", "qlinear_matmul"),
    ),
    _memory(
        "U73",
        "odd_address",
        "reads an array from the multiple of its item size before it",
        spoil=reading(reading_from(lambda array: array.itemsize)),
        ops=_FLOATS,
    ),
    _memory(
        "U74",
        "strides_in_16_bits",
        "reads rows with strides of 16 bits",
        spoil=reading(_short_strides),
        ops=(*_OPS, "pack", "grid_sample"),
    ),
    _memory(
        "U75",
        "offsets_in_32_bits",
        "reads zeros in place of numbers 4 GiB and more behind the first one",
        spoil=reading(_short_offsets),
        ops=(*_OPS, "pack", "grid_sample"),
    ),
)
