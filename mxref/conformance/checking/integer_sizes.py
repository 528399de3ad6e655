"""The sizes of calls of integer operations."""

from __future__ import annotations

from collections.abc import Iterator

from mxref.conformance.checking.axis_sizes import FAR, LARGE, LONG, SMALL, long_axes
from mxref.operations.call_fields import CallFields
from mxref.operations.call_sizes import Sizes

__all__ = ["sizes_of"]

#: Numbers of scales, channels, pixels and points: around powers of two, and others.
_COUNTS = (
    1, 2, 3, 4, 5, 6, 7, 8, 9, 12, 13, 14, 15, 16, 17, 22, 24, 31, 32, 33, 44, 48, 53, 62, 63, 64,
    65, 86, 100, 127, 128, 129, 149, 255, 256, 257,
)  # fmt: skip
#: The sizes beside one of these.
_BESIDE = (1, 3, 2, 5, 4, 7)


def sizes_of(operation: CallFields, format: str, *, all: bool) -> Iterator[Sizes]:
    """The sizes of the calls of an operation and a format.

    Args:
        operation: the operation.
        format: the format.
        all: whether also the longest, which are not those of further formats.

    >>> from mxref.operations.registry import CALL_OPERATIONS
    >>> list(sizes_of(CALL_OPERATIONS["quantize_affine"], "int8", all=False))[:3]
    [(1,), (2,), (3,)]
    """
    axes = len(operation.units(format))
    if axes == 1:
        yield from ((count,) for count in (*SMALL, *(sorted({*LARGE, *FAR}) if all else LARGE)))
        return
    found: dict[Sizes, None] = {}
    for place in range(axes):
        for i, count in enumerate(_COUNTS):
            sizes = [_BESIDE[(i + 2 * place + 5 * p) % len(_BESIDE)] for p in range(axes)]
            sizes[place] = count
            found |= dict.fromkeys(operation.varied_sizes(format, place, i, tuple(sizes)))
    yield from found
    asked = operation.asked_sizes(format)
    yield from asked.further
    yield from long_axes(axes, _BESIDE, asked.longest or LONG) if all else ()
