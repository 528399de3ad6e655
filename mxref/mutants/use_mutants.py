"""Class U: functions that answer every case alone rightly and are wrong as kernels are called.

The vectors cannot catch them. Each makes a wrong function of a right one, whatever the operation
is. It goes wrong by the size of a call, by what was called before, or by an array's address.
"""

from __future__ import annotations

import functools
from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

from mxref.mutants.mutant import Function

__all__ = ["USES", "UseMutant", "changed", "flipped", "reading", "reading_from", "where"]

Array = NDArray[Any]
#: The bytes of an array that is allocated but not written.
_FILLER = 0xCD


@dataclass(frozen=True, slots=True)
class UseMutant:
    """A way to make a right operation wrong in use.

    Args:
        id: the letter U, a number, and a letter where there are several.
        name: a short name in words.
        text: what is wrong, in one sentence.
        kinds: the kinds of use that a check may report for it; see `mxref.conformance`.
        spoil: makes the wrong function of a right one.
        ops: the operations that can have it.
    """

    id: str
    name: str
    text: str
    kinds: frozenset[str]
    spoil: Callable[[Function], Function]
    ops: tuple[str, ...] = ("quantize", "encode", "dequantize", "pack")


def _rows(arguments: tuple[Any, ...]) -> int:
    return len(arguments[0])


def _bits(array: Array) -> Array:
    return array.view(f"u{array.itemsize}")


def changed(result: Any, change: Callable[[Array], None]) -> Any:
    """A result whose last array is a copy, the patterns of which are changed in place."""
    arrays = result if isinstance(result, tuple) else (result,)
    last = np.array(arrays[-1])
    change(_bits(last))
    return (*arrays[:-1], last) if isinstance(result, tuple) else last


def flipped(part: slice = slice(None)) -> Callable[[Array], None]:
    """A wrong last bit in every pattern of a part."""

    def change(patterns: Array) -> None:
        patterns[part] ^= 1

    return change


def where(
    wrong: Callable[..., bool], change: Callable[[Array], None]
) -> Callable[[Function], Function]:
    """A function whose last array is changed in calls whose arguments say so."""

    def spoil(right: Function) -> Function:
        def run(*arguments: Any) -> Any:
            result = right(*arguments)
            return changed(result, change) if wrong(*arguments) else result

        return run

    return spoil


def _where(
    wrong: Callable[[int], bool], change: Callable[[Array], None]
) -> Callable[[Function], Function]:
    """A function that is wrong in calls whose number of rows says so."""
    return where(lambda *arguments: wrong(_rows(arguments)), change)


def _tail_not_written(right: Function) -> Function:
    """Only whole vectors of eight rows are written; the rest stays as it was allocated."""

    def run(*arguments: Any) -> Any:
        result, left = right(*arguments), _rows(arguments) % 8

        def change(patterns: Array) -> None:
            if left:
                patterns.view(np.uint8)[-left:] = _FILLER & 7

        return changed(result, change)

    return run


def _every_sixteenth(right: Function) -> Function:
    calls = 0

    def run(*arguments: Any) -> Any:
        nonlocal calls
        calls += 1
        result = right(*arguments)
        return changed(result, flipped()) if calls % 16 == 0 else result

    return run


def _first_scales(right: Function) -> Function:
    """The scales of the first call of a size come back from every later one."""
    kept: dict[int, Array] = {}

    def run(*arguments: Any) -> Any:
        result = right(*arguments)
        if isinstance(result, tuple):
            return kept.setdefault(_rows(arguments), result[0]), *result[1:]
        scales = kept.setdefault(_rows(arguments), np.array(arguments[0]))
        return right(scales, *arguments[1:])

    return run


def _one_buffer(right: Function) -> Function:
    """Results of one size and type share one buffer."""
    buffers: dict[tuple[int, tuple[int, ...], Any], Array] = {}

    def kept(place: int, array: Array) -> Array:
        buffer = buffers.setdefault((place, array.shape, array.dtype), np.empty_like(array))
        _bits(buffer)[...] = _bits(array)
        return buffer

    def run(*arguments: Any) -> Any:
        result = right(*arguments)
        if isinstance(result, tuple):
            return tuple(kept(i, np.array(array)) for i, array in enumerate(result))
        return kept(0, np.array(result))

    return run


def _cached(key: Callable[[Array], Any]) -> Callable[[Function], Function]:
    """Results are cached under something of the arrays that is not their content.

    The arrays are kept, too, so that no other array is given their memory: what is wrong does not
    depend on how memory is given.
    """

    def spoil(right: Function) -> Function:
        kept: dict[Any, Any] = {}

        def run(*arguments: Any) -> Any:
            keys = [key(one) if isinstance(one, np.ndarray) else one for one in arguments]
            found = tuple(map(str, keys))
            if found not in kept:
                kept[found] = right(*arguments), arguments
            return kept[found][0]

        return run

    return spoil


def _address(array: Array) -> int:
    address: int = array.__array_interface__["data"][0]
    return address


def reading_from(multiple: Callable[[Array], int]) -> Callable[[Array], Array]:
    """Reads an array from the multiple of some bytes before its first one."""

    def read(array: Array) -> Array:
        if not array.flags.c_contiguous:
            return array
        before = _address(array) % multiple(array)
        memory = np.concatenate([np.zeros(before, np.uint8), array.reshape(-1).view(np.uint8)])
        return memory[: array.nbytes].view(array.dtype).reshape(array.shape)

    return read


def reading(read: Callable[[Array], Array]) -> Callable[[Function], Function]:
    """A function that reads its arrays in a way of its own."""

    def spoil(right: Function) -> Function:
        def run(*arguments: Any) -> Any:
            return right(*(read(a) if isinstance(a, np.ndarray) else a for a in arguments))

        return run

    return spoil


def _rows_in_16_bits(right: Function) -> Function:
    """Rows beyond the largest 16-bit number are left zero."""

    def run(*arguments: Any) -> Any:
        return _computed(right(*arguments), _rows(arguments), 65535)

    return run


def _computed(result: Any, rows: int, limit: int) -> Any:
    """A result of which only `limit` rows are computed; the others are zeros."""

    def change(patterns: Array) -> None:
        patterns[limit * len(patterns) // rows :] = 0

    return changed(result, change) if rows > limit else result


def _grid_of_call_before(right: Function) -> Function:
    """Only as many rows are computed as the call before had; the first call is right."""
    before: int | None = None

    def run(*arguments: Any) -> Any:
        nonlocal before
        rows, limit = _rows(arguments), before
        before = rows
        return _computed(right(*arguments), rows, rows if limit is None else limit)

    return run


_size = functools.partial(UseMutant, kinds=frozenset({"size"}))
_state = functools.partial(UseMutant, kinds=frozenset({"state", "size"}))

USES: tuple[UseMutant, ...] = (
    _size(
        "U1",
        "rows_from_1024",
        "makes rows from number 1024 on wrong",
        spoil=_where(lambda rows: rows > 1024, flipped(slice(1024, None))),
    ),
    _size(
        "U1b",
        "calls_from_1024",
        "is wrong in calls with 1024 rows and more",
        spoil=_where(lambda rows: rows >= 1024, flipped()),
    ),
    _size(
        "U2",
        "rows_beside_warps",
        "makes the last row wrong where the number of rows is no multiple of 32",
        spoil=_where(lambda rows: rows % 32 != 0, flipped(slice(-1, None))),
    ),
    _size(
        "U3",
        "rows_in_16_bits",
        "computes the first 65,535 rows only",
        spoil=_rows_in_16_bits,
    ),
    _state(
        "U4",
        "first_scales_kept",
        "uses the scales of the first call of a size for every later one",
        spoil=_first_scales,
        ops=("quantize", "dequantize"),
    ),
    _state(
        "U5",
        "buffer_overwritten",
        "returns a buffer that the next call of that size overwrites",
        spoil=_one_buffer,
    ),
    _state(
        "U6",
        "cached_by_shape",
        "keeps results by the shapes of the arrays",
        spoil=_cached(lambda array: (array.shape, array.dtype)),
    ),
    _state(
        "U6b",
        "cached_by_address",
        "keeps results by the addresses and shapes of the arrays",
        spoil=_cached(lambda array: (_address(array), array.shape, array.dtype)),
    ),
    _state(
        "U7",
        "every_sixteenth_call",
        "is wrong in every sixteenth call",
        spoil=_every_sixteenth,
    ),
    UseMutant(
        "U8",
        "read_aligned",
        "reads an array from the multiple of 16 bytes before it",
        frozenset({"memory"}),
        reading(reading_from(lambda _: 16)),
    ),
    _state(
        "U9",
        "grid_of_call_before",
        "computes no more rows than the call before had",
        spoil=_grid_of_call_before,
    ),
    _size(
        "U10",
        "tail_not_written",
        "does not write the rows beyond a multiple of 8",
        spoil=_tail_not_written,
    ),
)
