"""`by_block` against MATMUL_T_BLOCK_SCALED of the TOSA reference model, bit for bit."""

from __future__ import annotations

import sys

import numpy as np
import pytest
from helpers import ROOT
from needs import needs
from product_rows import LENGTHS, drawn, side
from shares import Share

from mxref.policy.choices import Accumulation
from mxref.products.accumulation import accumulated
from mxref.products.operand import Operand

sys.path.insert(0, str(ROOT / "tools" / "adapters"))
tosa = needs("tosa_adapter", "tosa-tools==2026.8.0")

FORMATS = ("e5m2", "e4m3", "e3m2", "e2m3", "e2m1", "int8")
#: Above it, an element times its own scale is beyond float32, which TOSA multiplies first.
LARGEST_SCALE = {"e5m2": 0xEE, "e4m3": 0xF6, "e3m2": 0xFA, "e2m3": 0xFC, "e2m1": 0xFC, "int8": 0xFD}


def by_model(a: Operand, b: Operand, monkeypatch: pytest.MonkeyPatch) -> np.ndarray:
    """All sums; every NaN is the positive quiet one and every zero +0."""
    operation = tosa._OP.MATMUL_T_BLOCK_SCALED
    monkeypatch.setitem(tosa._ATTRIBUTES, operation, "MatMulTBlockScaledAttribute")
    inputs = []
    for one in (a, b):
        kind = tosa._TYPES.get(one.format.name, tosa._TYPE.MXINT8)
        inputs += [(one.codes[None], kind), (one.scales[None], tosa._TYPE.FP8UE8M0)]
    outputs = [((1, len(a.codes), len(b.codes)), tosa._TYPE.FP32)]
    sums = tosa._run(operation, inputs, outputs)[0][0]
    sums[sums == 0] = 0
    return np.where(np.isnan(sums), np.float32(np.nan), sums)


@pytest.mark.parametrize("format", FORMATS)
def test_sums_by_block(format: str, share: Share, monkeypatch: pytest.MonkeyPatch) -> None:
    state = np.random.default_rng([*format.encode()])
    for length in (n for n in LENGTHS if n % 32 == 0):
        a, b = drawn((format, format), length, 16 if share.complete else 6, state)
        top = np.uint8(LARGEST_SCALE[format])
        a, b = (side(format, one.codes, np.minimum(one.scales, top)) for one in (a, b))
        own = accumulated(a, b, Accumulation.BY_BLOCK)
        found = by_model(a, b, monkeypatch)
        assert np.array_equal(found.view(np.uint32), own.view(np.uint32))


def test_elements_beyond_float32_are_infinite_there(monkeypatch: pytest.MonkeyPatch) -> None:
    """448 * 2**127 is, so that its product with 448 * 2**-126 is not 401408."""
    codes = np.zeros((1, 32), np.uint8)
    codes[0, 0] = 0x7E
    a, b = (side("e4m3", codes, np.array([[scale]], np.uint8)) for scale in (0xFE, 0x01))
    assert accumulated(a, b, Accumulation.BY_BLOCK).tolist() == [[401408.0]]
    assert not np.isfinite(by_model(a, b, monkeypatch)).any()
