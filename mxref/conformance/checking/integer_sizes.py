"""The sizes of calls of integer operations."""

from __future__ import annotations

from collections.abc import Iterator

from mxref.conformance.checking.axis_sizes import FAR, LARGE, LONG, SMALL, long_axes

__all__ = ["EMPTY", "sizes_of"]

#: Numbers of scales, channels, pixels and points: around powers of two, and others.
_COUNTS = (
    1, 2, 3, 4, 5, 6, 7, 8, 9, 12, 13, 14, 15, 16, 17, 22, 24, 31, 32, 33, 44, 48, 53, 62, 63, 64,
    65, 86, 100, 127, 128, 129, 149, 255, 256, 257,
)  # fmt: skip
#: The sizes beside one of these.
_BESIDE = (1, 3, 2, 5, 4, 7)
#: Further calls of each kind: large ones, equal sizes and one long one. The sizes of `axis` are the
#: scales along the axis, the values of each, and the lengths of the two other axes.
_MORE: dict[str, tuple[tuple[int, ...], ...]] = {
    "values": (),
    "axis": (
        (1000, 1, 3, 5), (3, 1, 40, 33), (1, 1, 1025, 3), (5, 1, 1, 4097), (33, 64, 2, 3),
        (12, 1, 10, 9), (32, 1, 24, 20), (48, 1, 40, 36), (8, 5, 6, 7), (16, 8, 9, 11),
        (24, 16, 14, 15), (128, 1, 2, 128), (256, 1, 1, 256), (32, 32, 1, 96),
        (1, 1, 256, 257), (512, 1, 4, 512),
        *((n, 1, *others) for n in (2, 5, 6, 7, 8, 16) for others in ((n, n), (n, 3), (3, n))),
    ),
    "int4": (
        (1, 1023), (1, 1025), (1025, 1), (257, 33), (129, 65), (3, 4097), (2049, 5), (4097, 2),
        (513, 512), (65_573, 1), (1, 65_573), (64, 96), (128, 128), (256, 384), (1024, 1024),
        (1024, 1056),
    ),
    "rescale": (
        (1, 1025), (1025, 3), (257, 65), (4097, 1), (3, 4097), (2, 2048), (513, 512), (7, 7),
        (300, 300), (65_573, 1), (64, 96), (128, 128), (256, 384), (1024, 1024), (1024, 1056),
    ),
    "grid_sample": (
        (1, 64, 64, 32, 32), (3, 33, 65, 17, 31), (4, 128, 128, 64, 64), (1, 300, 257, 3, 3),
        (2, 5, 7, 257, 255), (2, 7, 7, 5, 5), (3, 33, 33, 33, 33), (1, 300, 310, 40, 50),
        (2, 64, 64, 64, 64), (1, 384, 512, 16, 32), (3, 128, 256, 32, 64), (1, 362, 363, 64, 64),
        (1, 1024, 1024, 8, 8),
    ),
    "layer": (
        (3, 5, 511), (2, 3, 1025), (7, 65, 333), (33, 129, 65), (300, 3, 31), (1, 1025, 7),
        (64, 64, 256), (7, 7, 33), (5, 5, 5), (9, 33, 33), (33, 9, 33), (300, 310, 64),
        (1, 512, 1024), (2, 1024, 1024), (64, 128, 128), (128, 256, 512), (256, 256, 64),
    ),
    "layer_groups": (
        (3, 5, 7, 73), (2, 3, 8, 128), (7, 65, 9, 33), (33, 129, 2, 32), (7, 7, 3, 16),
        (5, 5, 5, 1), (300, 310, 2, 32), (1, 512, 32, 32), (2, 1024, 16, 64), (64, 128, 4, 32),
        (128, 256, 8, 64),
    ),
    "qlinear_matmul": (
        (3, 511, 5), (33, 33, 9), (9, 33, 33), (7, 33, 7), (33, 65, 129), (64, 256, 64),
        (64, 128, 128), (128, 512, 256), (1, 1024, 512), (300, 64, 310),
    ),
    "elementwise": (
        (1, 1023), (1, 1025), (1025, 1), (257, 33), (129, 65), (3, 4097), (2049, 5), (513, 512),
        (7, 7), (300, 300), (65_573, 1), (1, 65_573), (64, 96), (128, 128), (256, 384),
        (1024, 1024),
    ),
    "mma": (
        (3, 511, 5), (33, 33, 9), (9, 33, 33), (7, 33, 7), (33, 65, 129), (64, 256, 64),
        (1, 4096, 3), (130, 64, 140),
    ),
    "addmm": (
        (3, 511, 5), (33, 33, 9), (9, 33, 33), (7, 33, 7), (33, 65, 129), (64, 256, 64),
        (1, 1024, 3), (130, 64, 140),
    ),
}  # fmt: skip
#: The longest sizes of each kind, asked of the first format alone.
_LONG_SIZES: dict[str, tuple[int, ...]] = {
    "axis": LONG, "int4": LONG, "rescale": LONG, "grid_sample": LONG, "layer": LONG,
    "layer_groups": (300, 513, 1025, 2048, 4097), "recipe": (300, 513, 1025),
}  # fmt: skip
#: The sizes of calls without a value.
EMPTY = {
    "values": (0,),
    "axis": (3, 1, 0, 2),
    "int4": (0, 3),
    "rescale": (0, 3),
    "grid_sample": (2, 3, 3, 0, 0),
    "elementwise": (0, 3),
    "layer": (0, 3, 5),
    "layer_groups": (0, 3, 2, 5),
}


def sizes_of(kind: str, axes: int, *, all: bool) -> Iterator[tuple[int, ...]]:
    """The sizes of the calls of a kind; all of them, or those of further formats.

    Args:
        kind: of the operation.
        axes: how many sizes a call has.
        all: whether also the longest.

    >>> list(sizes_of("values", 1, all=False))[:3]
    [(1,), (2,), (3,)]
    """
    if axes == 1:
        yield from ((count,) for count in (*SMALL, *(sorted({*LARGE, *FAR}) if all else LARGE)))
        return
    found: dict[tuple[int, ...], None] = {}
    for place in range(axes):
        for i, count in enumerate(_COUNTS):
            sizes = [_BESIDE[(i + 2 * place + 5 * p) % len(_BESIDE)] for p in range(axes)]
            sizes[place] = count
            if kind == "axis" and place != 1 and i % 3:
                sizes[1] = 1  # channels, not groups
            found[tuple(sizes)] = None
            if kind == "axis" and place == 0:  # of which the axis depends
                found[count, 1, sizes[2] + 1, sizes[3]] = None
                found[count, 1, sizes[2] + 2, sizes[3]] = None
    yield from found
    yield from _MORE.get(kind, ())
    yield from long_axes(axes, _BESIDE, _LONG_SIZES.get(kind, LONG)) if all else ()
