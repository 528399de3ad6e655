"""Random blocks: the same everywhere, and of all that they promise."""

from __future__ import annotations

import hashlib
from typing import Any

import numpy as np
import pytest

from mxref.bits.floats import LAYOUTS
from mxref.cases.random_blocks import random_blocks
from mxref.formats.catalog import E2M1, E4M3, E5M2

F32 = LAYOUTS["f32"]
INF = F32.inf_bits


def test_random_blocks_are_the_same_for_ever() -> None:
    blocks = random_blocks("quantize/mxfp8_e4m3.f32", F32, E4M3, 64)
    digest = hashlib.sha256(blocks.astype("<u8").tobytes()).hexdigest()
    assert digest[:16] == "ea4cc8ad01a55eb5"
    part = random_blocks("quantize/mxfp8_e4m3.f32", F32, E4M3, 10, 30)
    assert (part == blocks[30:40]).all()
    assert (random_blocks("another", F32, E4M3, 64) != blocks).mean() > 0.9


@pytest.mark.parametrize("fmt", [E5M2, E4M3, E2M1], ids=lambda fmt: fmt.name)
@pytest.mark.parametrize("layout", LAYOUTS.values(), ids=lambda layout: layout.name)
def test_random_blocks_hold_what_they_promise(layout: Any, fmt: Any) -> None:
    blocks = random_blocks("test", layout, fmt, 1 << 13)
    x = blocks & np.uint64(layout.sign_bit - 1)
    assert x.max() < layout.inf_bits
    assert blocks.max() < 1 << layout.width
    signs = blocks >> np.uint64(layout.width - 1)
    assert 0.4 < signs.mean() < 0.6
    assert ((x > 0) & (x < 1 << layout.mantissa_bits)).any(), "subnormal"
    assert (blocks == layout.sign_bit).any(), "-0"
    field = x.astype(np.int64) >> layout.mantissa_bits
    spread = field.max(axis=1) - field.min(axis=1)
    assert (spread == 0).mean() > 0.03
    assert (spread > 20).mean() > 0.1
    # The largest element of one block in four is within 50 ulp of an edge.
    amax, m = x.max(axis=1).astype(np.int64), layout.mantissa_bits
    fraction = round((fmt.max_normal / 2.0**fmt.emax - 1) * 2**m)
    for edge in (0, fraction):
        ulps = (amax - edge + (1 << (m - 1))) % (1 << m) - (1 << (m - 1))
        near = np.abs(ulps) <= 50
        assert near.mean() > 0.1
        assert near[amax >> m > 0].mean() > 0.1


def test_special_blocks_hold_nan_infinities_and_nothing_but_zeros() -> None:
    x = random_blocks("test", F32, E4M3, 1 << 12, specials=True) & np.uint64(F32.sign_bit - 1)
    nan, inf = (x > INF).any(axis=1), (x == INF).any(axis=1)
    assert 0.2 < nan.mean() < 0.45
    assert 0.2 < inf.mean() < 0.45
    assert (nan & inf).any()
    assert (~nan & ~inf).mean() > 0.4
    assert (x.max(axis=1) == 0).mean() > 0.02
