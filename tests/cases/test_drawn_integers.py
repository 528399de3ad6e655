"""Questions of the search about integers: what their draws promise to contain is there."""

from __future__ import annotations

import numpy as np

from mxref.cases.drawn import drawn_calls
from mxref.operands.draws import Draws, Words
from mxref.operands.kinds import signed

COUNT = 1 << 8


def floats(words: Words) -> np.ndarray:
    with np.errstate(invalid="ignore"):  # signalling NaN
        return words.astype(np.uint32).view(np.float32).astype(np.float64)


def test_scales_of_weights_have_every_fraction_bit() -> None:
    words = drawn_calls("quantize_affine", "int16", COUNT, Draws("scales"))
    ordinary = words[[i % 3 > 0 for i in range(COUNT)], 2]
    assert np.bitwise_or.reduce(ordinary & np.uint64(0x7FFFFF)) == 0x7FFFFF
    fields = set((ordinary >> np.uint64(23)).tolist())
    assert fields == set(range(127 - 14, 127 + 3))
    assert 1 / 20 < np.mean(ordinary & np.uint64(0x7FFFFF) == 0) < 1 / 5  # powers of two


def test_numbers_lie_at_both_ends_on_ties_and_beside_them() -> None:
    words = drawn_calls("quantize_affine", "int16", COUNT, Draws("numbers"))
    scale, x = floats(words[:, 2:3]), floats(words[:, 4:])
    low, high, zero = (np.array([[signed(n)] for n in words[:, i].tolist()]) for i in (0, 1, 3))
    with np.errstate(all="ignore"):
        quotient = x / scale
        for end in (low, high):
            assert np.mean(abs(quotient + zero - end) <= 8) > 1 / 40
        assert np.mean(abs(quotient) > 2.0**33) > 1 / 100  # numbers of any size
        halves = (2 * quotient)[(words[:, 2] & np.uint64(0x7FFFFF)) == 0]
        exact = np.mean(halves == np.rint(halves))
    assert 1 / 10 < exact < 1 / 2  # the others are up to 2 ulp away


def test_layers_are_exact_or_cancel() -> None:
    odd, pairs = set(), []
    for i, row in enumerate(drawn_calls("linear_qcs8w", "int8", COUNT, Draws("layers"))):
        m, n, k, groups = row[:4].astype(int).tolist()
        scales, x = row[4:][: n * groups], row[4 + n * groups + n * k :][: m * k].reshape(m, k)
        if i % 2 == 0:  # powers of two, and small integers times one
            assert not (scales & np.uint64(0x7FFFFF)).any()
            for number in floats(x).ravel().tolist():
                numerator = number.as_integer_ratio()[0]
                odd.add(numerator // max(numerator & -numerator, 1))
        elif i % 4 == 1:
            fields = x >> np.uint64(23) & np.uint64(0xFF)
            assert ((fields >= 120) & (fields <= 130)).all()
            pairs += (x[:, 1::2] ^ x[:, : k - 1 : 2]).ravel().tolist()
    assert odd == set(range(-15, 16, 2)) | {0}
    assert 1 / 3 < np.mean(np.array(pairs) == 1 << 31) < 2 / 3
