"""torchmx's calling conventions on mxref: tools/adapters/torchmx_order.py."""

from __future__ import annotations

import runpy
from fractions import Fraction
from types import SimpleNamespace
from typing import Any

import ml_dtypes
import numpy as np
import pytest
from helpers import ROOT
from tables import arguments, codes, rows

from mxref import exact

BF16 = ml_dtypes.bfloat16
FLOATS = ("float8_e4m3", "float6_e3m2", "float6_e2m3", "float4_e2m1")
FILE = ROOT / "tools" / "adapters" / "torchmx_order.py"
torchmx: Any = SimpleNamespace(**runpy.run_path(str(FILE)))


def bf16(*values: float) -> np.ndarray:
    return np.array(values, BF16)


# torchmx.


@pytest.mark.parametrize(("name", "scale", "elements"), rows("tools", "torchmx", "block"))
def test_torchmx_by_hand(name: str, scale: str, elements: str) -> None:
    x, byte, want = bf16(1.0, -1.5, 0.25, -0.0), int(scale), codes(elements)
    scales, stored = torchmx.quantize_mx(x, name, 4)
    assert (scales.tolist(), stored.tolist()) == ([byte], want)
    assert (scales.dtype, stored.dtype) == (np.uint8, np.int8 if name == "int8" else np.uint8)
    for dtype in (np.float32, BF16):
        values = torchmx.dequantize_mx(stored, scales, name, 4, dtype, 0)
        assert values.dtype == dtype
        assert values.tolist() == x.tolist()
    # Rows, and then columns of the transposed tensor.
    double = bf16(2.0, -3.0, 0.5, -0.0)
    scales, stored = torchmx.quantize_mx(np.stack([x, double]), name, 4)
    assert (scales.tolist(), stored.tolist()) == ([[byte], [byte + 1]], [want] * 2)
    values = torchmx.dequantize_mx(stored.T, scales.T, name, 4, np.float32, -2)
    assert values.T.tolist() == [x.tolist(), double.tolist()]


def test_torchmx_int8_is_plain_integers() -> None:
    # Every finite number alone in a block, by the formula in fractions.
    bits = np.arange(0x7F80, dtype=np.uint16)
    scales, stored = torchmx.quantize_mx(np.stack([bits, bits | 0x8000], 1).view(BF16), "int8", 2)
    for pattern, scale, pair in zip(bits.tolist(), scales.tolist(), stored.tolist(), strict=True):
        field = pattern >> 7
        significand = (pattern & 0x7F) + (0x80 if field else 0)
        byte = max(field - 6, 0)
        # round() of a Fraction goes to the even neighbour of a tie.
        q = round(significand * Fraction(2) ** (max(field, 1) - 127 - 7 - (byte - 127)))
        assert (scale, pair) == ([byte], [min(q, 127), -min(q, 127)])
    # The same the other way, to the ends of the scale.
    codes = np.array([-128, -127, -1, 0, 1, 127], np.int8)
    for byte in (0, 5, 127, 248, 249, 254):
        values = torchmx.dequantize_mx(codes, np.uint8([byte]), "int8", 6, np.float64, 0)
        assert values.tolist() == [code * 2.0 ** (byte - 127) for code in codes.tolist()]


@pytest.mark.parametrize("name", FLOATS)
def test_torchmx_floats_are_those_of_mx(name: str) -> None:
    bits = np.random.default_rng(3).integers(0, 1 << 16, (200, 32)).astype(np.uint16)
    bits[:100] = bits[:100] & 0x83FF | 0x3C00  # near each other, so that codes are not all 0
    scales, stored = torchmx.to_mx(bits.view(BF16), name)
    for row, scale, found in zip(bits.tolist(), scales.tolist(), stored.tolist(), strict=True):
        byte, codes = exact.quantize(row, "bf16", name.partition("_")[2])
        if name == "float4_e2m1":
            codes = [16 * a + b for a, b in zip(codes[::2], codes[1::2], strict=True)]
        assert (scale, found) == ([byte], codes)


@pytest.mark.parametrize("name", [*FLOATS, "int8"])
def test_torchmx_blocks_without_a_number(name: str) -> None:
    for special in (np.nan, np.inf, -np.inf):
        scales, stored = torchmx.quantize_mx(bf16(1.0, special, -2.0, 1.0, 1.0, 1.0), name, 2)
        assert scales.tolist()[0] == 255
        first = stored[: 1 if name == "float4_e2m1" else 2]
        assert not first.any()
        values = torchmx.dequantize_mx(stored, scales, name, 2, np.float32, 0)
        assert np.isnan(values).tolist() == [True, True] + [False] * 4


@pytest.mark.parametrize(("name", "emax", "first", "second"), rows("tools", "torchmx", "tail"))
def test_torchmx_stores_no_padding(name: str, emax: str, first: str, second: str) -> None:
    x = bf16(1, 2, 3, 1, 2, 4).reshape(2, 3)
    scales, stored = torchmx.to_mx(x, name, 32)
    assert scales.tolist() == [[128 - int(emax)], [129 - int(emax)]]
    assert stored.tolist() == [codes(first), codes(second)]
    values = torchmx.dequantize_mx(stored, scales, name, 32, np.float32, 1)
    assert values[:, :3].tolist() == x.tolist()
    assert values.shape == (2, 4 if name == "float4_e2m1" else 3)
    # Two blocks, the second of which has a tail; the scales count it.
    scales, stored = torchmx.to_mx(x.reshape(6)[:5], name, 4)
    assert (scales.shape, stored.shape) == ((2,), (3 if name == "float4_e2m1" else 5,))


NAMED = {
    **{"X": bf16(1, 2, 3), "SINGLE": np.float32([1, 2]), "SCALAR": np.array(1.0, BF16)},
    "BYTE": np.uint8([0]),
}


@pytest.mark.parametrize(("function", "given", "said"), rows("tools", "torchmx", "refused"))
def test_what_torchmx_refuses(function: str, given: str, said: str) -> None:
    with pytest.raises((ValueError, TypeError), match=said):
        getattr(torchmx, function)(**arguments(given, NAMED))
