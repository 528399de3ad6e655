"""Probes of blocks and of their neighbourhoods."""

from __future__ import annotations

import numpy as np

from mxref.bits.floats import F32
from mxref.cases.probes import _around, probes


def test_infinity_is_beside_the_largest_number() -> None:
    near = _around(np.array([F32.inf_bits - 1, 1], np.uint64), F32).tolist()
    magnitudes = {0, 1, 2, 3, *range(F32.inf_bits - 3, F32.inf_bits + 1)}
    assert set(near) == magnitudes | {bits | F32.sign_bit for bits in magnitudes}


def test_blocks_of_two_levels_hold_numbers_far_below_the_largest() -> None:
    words = probes("quantize", "nvfp4", "f32")[:, 1:]
    far = np.float32([3 * 2.0**-k for k in range(80)]).view(np.uint32)
    assert np.isin(far, words).all()
