"""The sizes that calls of a target have, along one axis.

A kernel that is wrong from some size on, up to some size, between two, or at multiples of a number
has to meet a size where it is wrong, in each axis: around the powers of two, which vectors, warps,
blocks of threads and caches have, at other multiples of them, and in between.
"""

from __future__ import annotations

from collections.abc import Iterator

__all__ = ["FAR", "LARGE", "LONG", "SMALL", "TELLING", "around", "long_axes"]

#: Rows of a call that every float type is asked with: around one, a vector, a warp, a block.
SMALL = (
    1, 2, 3, 7, 8, 9, 15, 16, 17, 31, 32, 33, 63, 64, 65, 127, 128, 129, 255, 256, 257,
)  # fmt: skip
#: Rows of a call that one float type of a format is asked with: with every rest of a vector of 16,
#: and around blocks of threads; the last is beyond 16 bits.
LARGE = (
    4, 5, 6, *range(10, 15), *range(18, 31), *range(68, 340, 17), 384, 512, 700, 1023, 1024, 1025,
    2048, 4095, 4096, 4097, 65_573,
)  # fmt: skip
#: Further rows of a call that one float type of one format is asked with.
FAR = (
    300, 511, 513, 1000, *range(1100, 3200, 131), 1536, 2047, 2049, 6006, 8191, 8192, 8193, 12_005,
    16_383, 16_385, 32_769, 50_004, 65_535, 65_536, 65_537, 131_073, 262_145, 1_048_582,
)  # fmt: skip
#: Sizes of the calls that tell what wrong ones have in common.
TELLING = (*range(1, 41), 48, 56, 96, 100, 160, 192, 200, 320, 384, 500, 512, 640, 1000)
#: Sizes of one of several axes: the hidden sizes of models, and those around them.
LONG = (
    300, 357, 384, 462, 511, 512, 513, 699, 768, 770, 1001, 1023, 1025, 1534, 2048, 2049, 3005,
    4096, 4097,
)  # fmt: skip

#: Steps from a wrong size to those that tell whether its remainder decides, or a limit near it.
_AROUND = tuple(1 << power for power in range(13))


def around(size: int) -> list[int]:
    """Sizes that tell what makes a wrong one so: near it, some steps on, and rounded to each step.

    >>> around(4097)[:10]
    [1, 2048, 2049, 3073, 3585, 3841, 3969, 4033, 4065, 4081]
    """
    steps = [size + way * step for step in _AROUND for way in (-1, 1)]
    rounded = [n for step in _AROUND for n in (size // step * step, -(-size // step) * step)]
    found = {*steps, *rounded, size // 2, size * 3 // 2, 2 * size}
    return sorted(n for n in found if n > 0 and n != size)


def long_axes(
    axes: int, beside: tuple[int, ...], sizes: tuple[int, ...] = LONG
) -> Iterator[tuple[int, ...]]:
    """Shapes with one long axis each, by turns, the others of small sizes, those of `beside`.

    >>> list(long_axes(2, (1, 3)))[:4]
    [(300, 3), (1, 300), (357, 1), (3, 357)]
    """
    for i, size in enumerate(sizes):
        for place in range(axes):
            shape = [beside[(i + other * (other != place)) % len(beside)] for other in range(axes)]
            shape[place] = size
            yield tuple(shape)
