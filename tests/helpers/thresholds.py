"""float32 blocks of NVFP4 whose scales and elements lie at their thresholds and next to them.

A tensor of largest magnitude A has the scale T = A / (6 * top) for a largest scale of `top`. The
numbers below are nearest to thresholds of the exact arithmetic, moved by up to two units of their
last place: roundings of the arithmetics fall on either side of them.
"""

from __future__ import annotations

import numpy as np
import numpy.typing as npt

TIES = np.float64([0.25, 0.75, 1.25, 1.75, 2.5, 3.5, 5.0])
STEPS = (0, -1, 1, -2, 2)
SIZE = 16
#: Numbers up to this one have three bits or fewer.
_COARSE = 2.0**-146
_MOST = np.finfo(np.float32).max
#: Largest magnitudes at which formulas of tensor scales have an edge: 1 / A, 2688 / A and A / 2688
#: are infinite, subnormal or zero on one side; powers of two; A of its own.
_EDGES = (
    *(2.0**-128, 2.0**-126, 2688 / 2.0**128, 1536 / 2.0**128, 2.0**-149, 2.0**-127 * 21, 2.0**-117),
    *(21 * 2.0**-115, 2.0**127, 2.0**128, 2688.0, 1536.0, 1.0, 3.0, 2688 * 2.0**-126),
)


def scales() -> npt.NDArray[np.float64]:
    """The numbers of UE4M3 from code 00 to 7E, by its definition."""
    codes = np.arange(0x7F)
    field, fraction = codes >> 3, codes & 7
    normal = np.ldexp(8.0 + fraction, field - 10)
    return np.where(field == 0, np.ldexp(fraction.astype(float), -9), normal)


def amaxes(count: int = 24) -> npt.NDArray[np.float32]:
    """Edges of tensor scales and their neighbours, then numbers of many binades."""
    with np.errstate(over="ignore"):
        edges = np.minimum(np.float64(_EDGES), _MOST).astype(np.float32)
    near = np.concatenate([moved(edges, step) for step in (0, -1, 1)])
    generator = np.random.default_rng(36)
    powers = generator.integers(-110, 110, count).astype(np.int32)
    rest = np.ldexp(generator.uniform(1, 2, count), powers).astype(np.float32)
    every = np.concatenate([near, rest])
    return np.unique(every[(every > 0) & np.isfinite(every)])


def moved(x: npt.NDArray[np.float32], steps: int) -> npt.NDArray[np.float32]:
    """Magnitudes moved by units of their last place, not below zero."""
    words = x.view(np.uint32).astype(np.int64) + steps
    return np.clip(words, 0, 0x7F7FFFFF).astype(np.uint32).view(np.float32)


def at_thresholds(amax: float, top: float = 448.0, element: float = 6.0) -> npt.NDArray[np.float32]:
    """Blocks, one a row, of a tensor of this largest magnitude, none of which is above it.

    A block's largest magnitude is meant to become this element.
    """
    numbers, unit = scales(), amax / (6 * top)
    blocks = [[amax, *[0.0, -0.0] * 7, -0.0]]
    with np.errstate(over="ignore", under="ignore"):
        for code in range(1, 0x7F):  # elements at ties of the scale
            ties = [moved((TIES * numbers[code] * unit).astype(np.float32), s) for s in STEPS]
            near, largest = np.concatenate(ties), np.float32(element * numbers[code] * unit)
            blocks += [[largest, *near[start : start + 15]] for start in (0, 10, 20)]
        for code in range(0x7E):  # the scale at the midpoint of two
            middle = np.float64([element * (numbers[code] + numbers[code + 1]) / 2 * unit])
            for step in STEPS:
                largest = moved(middle.astype(np.float32), step)[0]
                above = (TIES * numbers[code + 1] * unit).astype(np.float32)
                below = moved((TIES * numbers[code] * unit).astype(np.float32), step)
                blocks.append([largest, *below, *above, largest / np.float32(2)])
    array = np.minimum(np.float32(blocks), np.float32(amax))
    array[:, 1::2] *= -1
    array[::2] *= -1
    return np.ascontiguousarray(array)


def count_at_thresholds(
    x: npt.NDArray[np.float32], amax: float, top: float = 448.0, element: float = 6.0
) -> int:
    """How many elements lie within two units of a threshold, of elements or of their scale.

    An element counts if it is that near to a tie of one of the two scales next to its block's
    largest magnitude; a whole block if that magnitude is near to a midpoint of two scales.
    Subnormal numbers of few bits, of which every one is near to something, do not count.
    """
    numbers, unit = scales(), amax / (6 * top)
    largest = np.abs(x).max(axis=1).astype(np.float64)
    middles = element * (numbers[:-1] + numbers[1:]) / 2 * unit
    at_scale = _near(largest, middles)
    index = np.searchsorted(middles, largest)
    at_tie = np.zeros(x.shape, bool)
    for shift in (0, 1):
        scale = numbers[np.clip(index - shift, 0, 0x7E)][:, np.newaxis]
        for tie in TIES:
            wanted = tie * scale * unit
            at_tie |= (np.abs(np.abs(x) - wanted) <= _unit(wanted) * 3) & (wanted > _COARSE)
    return int((at_tie | at_scale[:, np.newaxis]).sum())


def _near(x: npt.NDArray[np.float64], points: npt.NDArray[np.float64]) -> npt.NDArray[np.bool_]:
    index = np.clip(np.searchsorted(points, x), 1, len(points) - 1)
    nearest = np.minimum(np.abs(points[index] - x), np.abs(points[index - 1] - x))
    near: npt.NDArray[np.bool_] = (nearest <= 3 * _unit(x)) & (x > _COARSE)
    return near


def _unit(x: npt.NDArray[np.float64]) -> npt.NDArray[np.float64]:
    """A unit of the last place of float32."""
    unit: npt.NDArray[np.float64] = np.ldexp(1.0, np.maximum(np.frexp(x)[1] - 24, -149))
    return unit


def with_specials() -> npt.NDArray[np.float32]:
    """Tensors, along the first axis, each of four blocks with a NaN, an infinity or zeros."""
    x = np.linspace(-3, 5, 64, dtype=np.float32).reshape(4, 16)
    found = []
    for special in (np.nan, np.inf, -np.inf, 0.0, -0.0, 2.0**-149, -(2.0**-126)):
        for place in range(16):
            one = x.copy()
            one[place % 4, place] = special
            found.append(one)
        found.append(np.full((4, 16), special, np.float32))
        some = x.copy()
        some[1] = special
        found.append(some)
    return np.stack(found)


def tiles_of_equal_errors(across: int, factor: float) -> npt.NDArray[np.float32]:
    """Tiles of 16 x 16 for 4 over 6 in which both sums of errors are equal, but for roundings.

    Under the scale of 6 the error of 5 is 1, that of 4.5 is 1/2; under that of 4 they are 1/2 and
    0, and 1/4 for 1 and 2, which are exact under the other. In every other tile the squares have
    equal sums, else the magnitudes. So the order of additions decides.
    """
    generator = np.random.default_rng(6)
    mae = [5.0] * 40 + [4.5] * 40 + [1.0] * 80 + [2.0] * 80 + [0.0] * 15
    mse = [5.0] * 12 + [4.5] * 12 + [1.0] * 96 + [2.0] * 96 + [3.0] * 39
    tiles = [[6.0, *generator.permutation(mse if i % 2 else mae)] for i in range(across * across)]
    signs = generator.choice([-1.0, 1.0], (across * across, 256))
    x = np.float32(tiles * signs).reshape(across, across, 16, 16).swapaxes(1, 2)
    scaled: npt.NDArray[np.float32] = x.reshape(across * 16, -1) * np.float32(factor)
    return scaled
