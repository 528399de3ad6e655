"""RESCALE beside Arm's reference model of TOSA."""

from __future__ import annotations

import itertools
import sys
from collections.abc import Iterator
from typing import Any

import numpy as np
from helpers import ROOT
from live import compared as live_compared
from needs import needs

from mxref.integer import multiplier_shift, rescale

sys.path.insert(0, str(ROOT / "tools" / "adapters"))

TOSA = needs("tosa_rescale_adapter", "tosa-tools==2026.8.0")


def cases() -> Iterator[tuple[Any, ...]]:
    drawn = np.random.default_rng(1)
    ratios = [1, 1 / 2, 1 / 4, 3 / 4, 3 / 2, 0.1, 1 / 3, 1 / 127, 2, 2.0**-20, 2.0**-31, 7]
    m, s = multiplier_shift(np.append(ratios, 2.0 ** drawn.uniform(-20, 3, 20)))
    m = np.append(m, [2**30, 2**31 - 1, 1, 12345678]).astype(np.int32)
    s = np.append(s, [9, 62, 62, 33]).astype(np.int8)
    eight = np.repeat(np.arange(-128, 128)[:, None], len(m), 1)
    sixteen = drawn.integers(-32768, 32768, (400, 20))
    # Every value that the shift allows, up to its limits.
    limits = np.array([2, 3, 8, 20, 31, 32, 33, 40, 61, 62], np.int8)
    tops = np.minimum(2.0 ** (limits - 1.0), 2.0**31)
    values = np.floor(drawn.uniform(-1, 1, (300, 10)) * tops)
    values[0], values[1], values[2] = -tops, tops - 1, 0
    multipliers = drawn.integers(0, 2**31, 10).astype(np.int32)
    ties = multiplier_shift(np.array([0.5, 0.25, 0.75, 1 / 3, 0.1] * 4))
    for rounding, dtype in itertools.product(("single", "double"), ("int8", "int16", "int32")):
        rest = (0, 0, dtype, rounding, 32)
        yield eight.astype(np.int8), m, s, *rest
        yield sixteen.astype(np.int16), *ties, *rest
        yield values.astype(np.int32), multipliers, limits, *rest
    for rounding in ("single", "double"):
        yield eight.astype(np.int8), m, s, 5, -7, "int8", rounding, 32
        yield eight.astype(np.int8), m, s, -9, 3, "uint8", rounding, 32
        yield (eight + 128).astype(np.uint8), m, s, 100, -1, "int8", rounding, 32
    short, shifts = multiplier_shift(np.array([0.5, 2.0**-10, 2.0**-16, 1 / 3]), 16)
    far = drawn.integers(-(2**31) + 9, 2**31 - 9, (200, 4))
    # 48 bits, with ratios that leave 32 of them.
    few, cuts = multiplier_shift(2.0**-16 * np.array([0.5, 2.0**-9, 0.3, 1 / 3]), 16)
    wide = drawn.integers(-(2**47), 2**47, (200, 4))
    wide[0], wide[1] = -(2**47), 2**47 - 1
    for dtype in ("int32", "int16", "int8"):
        yield wide, few.astype(np.int16), cuts, 0, 0, dtype, "single", 16
    for q, dtype in ((far, "int32"), (far, "int16"), (sixteen[:, :4].astype(np.int16), "int16")):
        yield q, short.astype(np.int16), shifts, 0, 0, dtype, "single", 16


def test_the_reference_model_gives_the_same() -> None:
    compared = 0
    for q, m, s, input_zp, output_zp, dtype, rounding, bits in cases():
        narrow = m if bits == 32 else m.astype(np.int16)
        got = rescale(q, narrow, s, input_zp, output_zp, rounding, dtype=dtype, bits=bits)
        want = TOSA.model_rescale(q, narrow, s, input_zp, output_zp, dtype, bits, rounding)
        assert np.array_equal(got, want), (input_zp, output_zp, dtype, rounding, bits)
        compared += got.size
        live_compared("tosa-tools", "rescale", got.size)
    assert compared > 90_000
