"""ONNX's reference evaluator beside its profiles, in the formats that no vectors have."""

from __future__ import annotations

import sys
from pathlib import Path

import numpy as np
import pytest

import mxref
from mxref.bits.floats import LAYOUTS
from mxref.cases.probes import probes

sys.path.insert(0, str(Path(__file__).resolve().parents[2] / "tools" / "adapters"))
import onnx_adapter


@pytest.mark.parametrize("format", ["e5m2fnuz", "e4m3fnuz"])
@pytest.mark.parametrize("float", LAYOUTS)
def test_fnuz(format: str, float: str) -> None:
    layout = LAYOUTS[float]
    ends = [0, 1, layout.inf_bits - 1, layout.inf_bits, layout.nan_bits]
    signed = [*ends, *(bits | layout.sign_bit for bits in ends)]
    words = np.concatenate([np.array(signed, np.uint64), probes("encode", format, float)[:, 0]])
    x = words.astype(layout.uint).view(layout.dtype)
    for name, encode in (("onnx", onnx_adapter.encode), ("onnx_nosat", onnx_adapter.NOSAT.encode)):
        with np.errstate(all="ignore"):
            want = encode(x, format)
        assert np.array_equal(mxref.profile(name).encode(x, format), want)


@pytest.mark.parametrize("format", ["e5m2fnuz", "e4m3fnuz"])
def test_fnuz_read(format: str) -> None:
    codes = np.arange(256, dtype=np.uint8)
    got = mxref.profile("onnx").decode(codes, format)
    assert np.array_equal(got, onnx_adapter.decode(codes, format), equal_nan=True)
