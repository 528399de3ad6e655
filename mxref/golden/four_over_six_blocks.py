"""Blocks for NVFP4's "4 over 6" whose two scales have equal or nearly equal errors."""

from __future__ import annotations

from collections.abc import Callable, Iterator

from mxref.operands.splitmix import splitmix64

__all__ = ["four_over_six_blocks"]

_SIZE = 16
#: Seeds of blocks whose errors have equal sums, by the kind of error. They were found among 60,000:
#: most of the three blocks near each one depend on the order and precision of the sums.
_SEEDS = {"mae": (23408, 56312), "mse": (39974, 1764)}


def four_over_six_blocks(
    points: Callable[[int], int], sign_bit: int
) -> Iterator[tuple[str, list[int]]]:
    """Blocks of amax 6 with equal sums of errors under the scales 1 and 1.5, and blocks near them.

    Each is followed by three blocks in which every element is moved by -1, 0 or 1 ulp: there the
    order and precision of the additions decide. Random blocks come last.

    Args:
        points: the float pattern of n eighths, 0 to 48.
        sign_bit: the sign bit of the float type.

    >>> blocks = dict(four_over_six_blocks(lambda n: n << 20, 1 << 31))
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
    """A block in eighths with its largest element, its signs, and three lists of steps in ulps."""
    draws = [int(word) for word in splitmix64(seed, 2 * _SIZE)]
    eighths = [draw % 49 for draw in draws[:_SIZE]]
    eighths[seed % _SIZE] = 48
    more = draws[_SIZE:]
    steps = [[(draw >> shift) % 3 - 1 for draw in more] for shift in (8, 24, 40)]
    return eighths, [draw & 1 for draw in more], steps
