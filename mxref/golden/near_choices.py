"""Blocks for NVFP4's "4 over 6", whose two scales have errors that are equal or nearly so."""

from __future__ import annotations

from collections.abc import Callable, Iterator

from mxref.operands.splitmix import splitmix64

__all__ = ["near_choices"]

_SIZE = 16
#: Seeds of blocks whose errors have equal sums, for each error that is added; found by search among
#: 60,000, with most of the three that are near it told apart by orders and precisions of sums.
_SEEDS = {"mae": (23408, 56312), "mse": (39974, 1764)}


def near_choices(points: Callable[[int], int], sign_bit: int) -> Iterator[tuple[str, list[int]]]:
    """Blocks of amax 6 whose errors under the scales 1 and 1.5 have equal sums, and near ones.

    Each is followed by three with every element moved by -1, 0 or 1 ulp: what decides there is the
    order of the additions and their precision. Random ones come last.

    Args:
        points: the float pattern of n eighths, 0 to 48.
        sign_bit: that of the float type.

    >>> blocks = dict(near_choices(lambda n: n << 20, 1 << 31))
    >>> len(blocks), len(blocks["mae_0"])
    (20, 16)
    """
    for name, seeds in _SEEDS.items():
        for i, seed in enumerate(seeds):
            eighths, signs, steps = _tie(seed)
            block = [points(n) | sign_bit * sign for n, sign in zip(eighths, signs, strict=True)]
            yield f"{name}_{i}", block
            for j, moved in enumerate(steps):
                near = [
                    bits + step * (bits % sign_bit > 0)
                    for bits, step in zip(block, moved, strict=True)
                ]
                yield f"{name}_{i}_near_{j}", near
    for i in range(4):
        draws = [int(word) for word in splitmix64(i, _SIZE)]
        yield (
            f"any_{i}",
            [
                points(draw % 49) + (draw >> 32) % 0x80000 | sign_bit * (draw >> 16 & 1)
                for draw in draws
            ],
        )


def _tie(seed: int) -> tuple[list[int], list[int], list[list[int]]]:
    """Eighths of a block with its largest element, signs, and three times steps of -1, 0 or 1."""
    draws = [int(word) for word in splitmix64(seed, 2 * _SIZE)]
    eighths = [draw % 49 for draw in draws[:_SIZE]]
    eighths[seed % _SIZE] = 48
    more = draws[_SIZE:]
    steps = [[(draw >> shift) % 3 - 1 for draw in more] for shift in (8, 24, 40)]
    return eighths, [draw & 1 for draw in more], steps
