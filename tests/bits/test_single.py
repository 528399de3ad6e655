"""float32 arithmetic under the modes in force: both ways have the same bits."""

from __future__ import annotations

import numpy as np

from mxref.bits.single import CAREFUL, NATIVE, single


def numbers() -> np.ndarray:
    """Halves and their neighbours, powers of two, random patterns, infinities, NaN."""
    drawn = np.random.default_rng(1)
    halves = np.arange(-600, 600) * 0.5
    powers = 2.0 ** np.arange(-60, 60)
    around = [np.nextafter(halves, end) for end in (np.inf, -np.inf)]
    odd = np.concatenate([powers - 0.5, powers + 0.5, powers + 1, powers + 1.5])
    patterns = drawn.integers(0, 1 << 64, 100_000, np.uint64).view(np.float64)
    small = drawn.normal(size=100_000) * 2.0 ** drawn.integers(-4, 54, 100_000)
    parts = [halves, *around, powers, -powers, odd, -odd, patterns, small, [0.0, -0.0, np.inf]]
    return np.concatenate(parts)


def test_the_nearest_integers_are_those_of_numpy() -> None:
    x = numbers()
    with np.errstate(invalid="ignore"):
        want = np.rint(x)
    got, nan = CAREFUL.nearest(x), np.isnan(x)
    assert np.array_equal(got[~nan].view(np.uint64), want[~nan].view(np.uint64))
    assert np.isnan(got[nan]).all()
    out = np.empty_like(x)
    assert CAREFUL.nearest(x, out=out) is out
    assert out.tobytes() == got.tobytes()
    assert CAREFUL.nearest(np.array(2.5)).shape == ()


def test_both_ways_have_the_same_bits() -> None:
    assert single() is NATIVE
    drawn = np.random.default_rng(2)
    one, other = drawn.integers(0, 1 << 32, (2, 1 << 16), np.uint32)
    other[: 1 << 14] = one[: 1 << 14] ^ np.uint32(1 << 31)  # the other number, negated
    results = []
    for s in (NATIVE, CAREFUL):
        x, y = s.read(one), s.read(other)
        with np.errstate(all="ignore"):
            found = [s.fl(z) for z in (x * y, x + y, x / y, s.nearest(x))]
        patterns = [s.write(np.where(np.isnan(z), s.dtype.type(np.nan), z)) for z in found]
        results.append([each.tobytes() for each in patterns])
    assert results[0] == results[1]
