"""torchmx's calling conventions on mxref: tools/adapters/torchmx_order.py."""

from __future__ import annotations

import importlib.util
from fractions import Fraction
from types import ModuleType
from typing import Any

import ml_dtypes
import numpy as np
import pytest
from helpers import ROOT

from mxref import exact

BF16 = ml_dtypes.bfloat16
ADAPTERS = ROOT / "tools" / "adapters"
ELEMENTS = {
    "float8_e4m3": "e4m3",
    "float6_e3m2": "e3m2",
    "float6_e2m3": "e2m3",
    "float4_e2m1": "e2m1",
}


def load(name: str) -> ModuleType:
    spec = importlib.util.spec_from_file_location(name, ADAPTERS / f"{name}.py")
    assert spec is not None
    assert spec.loader is not None
    module = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(module)
    return module


torchmx: Any = load("torchmx_order")


def bf16(*values: float) -> np.ndarray:
    return np.array(values, BF16)


# torchmx.


@pytest.mark.parametrize(
    ("name", "scale", "elements"),
    [
        ("float8_e4m3", 127 - 8, [0x78, 0xFC, 0x68, 0x80]),
        ("float6_e3m2", 127 - 4, [0x1C, 0x3E, 0x14, 0x20]),
        ("float6_e2m3", 127 - 2, [0x18, 0x3C, 0x08, 0x20]),
        ("float4_e2m1", 127 - 2, [0x6F, 0x28]),  # codes 6, f, 2, 8; the first in the high nibble
        ("int8", 127 - 6, [64, -96, 16, 0]),  # plain integers: 64 * 2**-6 is 1
    ],
)
def test_torchmx_by_hand(name: str, scale: int, elements: list[int]) -> None:
    x = bf16(1.0, -1.5, 0.25, -0.0)
    scales, stored = torchmx.quantize_mx(x, name, 4)
    assert (scales.tolist(), stored.tolist()) == ([scale], elements)
    assert (scales.dtype, stored.dtype) == (np.uint8, np.int8 if name == "int8" else np.uint8)
    for dtype in (np.float32, BF16):
        values = torchmx.dequantize_mx(stored, scales, name, 4, dtype, 0)
        assert values.dtype == dtype
        assert values.tolist() == x.tolist()
    # Rows, and then columns of the transposed tensor.
    double = bf16(2.0, -3.0, 0.5, -0.0)
    scales, stored = torchmx.quantize_mx(np.stack([x, double]), name, 4)
    assert (scales.tolist(), stored.tolist()) == ([[scale], [scale + 1]], [elements] * 2)
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


@pytest.mark.parametrize("name", ELEMENTS)
def test_torchmx_floats_are_those_of_mx(name: str) -> None:
    bits = np.random.default_rng(3).integers(0, 1 << 16, (200, 32)).astype(np.uint16)
    bits[:100] = bits[:100] & 0x83FF | 0x3C00  # near each other, so that codes are not all 0
    scales, stored = torchmx.to_mx(bits.view(BF16), name)
    for row, scale, found in zip(bits.tolist(), scales.tolist(), stored.tolist(), strict=True):
        byte, codes = exact.quantize(row, "bf16", ELEMENTS[name])
        if name == "float4_e2m1":
            codes = [16 * a + b for a, b in zip(codes[::2], codes[1::2], strict=True)]
        assert (scale, found) == ([byte], codes)


@pytest.mark.parametrize("name", [*ELEMENTS, "int8"])
def test_torchmx_blocks_without_a_number(name: str) -> None:
    for special in (np.nan, np.inf, -np.inf):
        scales, stored = torchmx.quantize_mx(bf16(1.0, special, -2.0, 1.0, 1.0, 1.0), name, 2)
        assert scales.tolist()[0] == 255
        first = stored[: 1 if name == "float4_e2m1" else 2]
        assert not first.any()
        values = torchmx.dequantize_mx(stored, scales, name, 2, np.float32, 0)
        assert np.isnan(values).tolist() == [True, True] + [False] * 4


@pytest.mark.parametrize(
    ("name", "elements"),
    [
        ("float4_e2m1", [[0x46, 0x70], [0x24, 0x60]]),  # 2 4 6 0 and 1 2 4 0 times a half, one
        ("float8_e4m3", [[0x70, 0x78, 0x7C], [0x68, 0x70, 0x78]]),
        ("int8", [[32, 64, 96], [16, 32, 64]]),
    ],
)
def test_torchmx_stores_no_padding(name: str, elements: list[list[int]]) -> None:
    x = bf16(1, 2, 3, 1, 2, 4).reshape(2, 3)
    emax = {"float4_e2m1": 2, "float8_e4m3": 8, "int8": 6}[name]
    scales, stored = torchmx.to_mx(x, name, 32)
    assert scales.tolist() == [[128 - emax], [129 - emax]]
    assert stored.tolist() == elements
    values = torchmx.dequantize_mx(stored, scales, name, 32, np.float32, 1)
    assert values[:, :3].tolist() == x.tolist()
    assert values.shape == (2, 4 if name == "float4_e2m1" else 3)
    # Two blocks, the second of which has a tail; the scales count it.
    scales, stored = torchmx.to_mx(x.reshape(6)[:5], name, 4)
    assert (scales.shape, stored.shape) == ((2,), (3 if name == "float4_e2m1" else 5,))


FORMATS = "elem_dtype_name must be one of float8_e4m3, float6"
BYTE, X = np.uint8([0]), bf16(1, 2, 3)


@pytest.mark.parametrize(
    ("function", "arguments", "said"),
    [
        ("quantize_mx", (X, "int8", 2), "values must fill whole blocks of 2 under tail=refused"),
        ("to_mx", (X, "int8", 5), "values must fill whole blocks of 5 under tail=refused"),
        (
            "quantize_mx",
            (X, "float4_e2m1", 3),
            "values must be even in number to be packed, got 3",
        ),
        ("to_mx", (X, "int8", 0), "block_size must be at least 1"),
        ("to_mx", (X, "float8_e5m2"), FORMATS),
        ("dequantize_mx", (BYTE, BYTE, "e4m3", 1, np.float32, 0), FORMATS),
        *(
            ("to_mx", (wrong, "int8"), "values must be a bfloat16 array of at least one axis")
            for wrong in (np.float32([1, 2]), [1.0, 2.0], np.array(1.0, BF16))
        ),
    ],
)
def test_what_torchmx_refuses(function: str, arguments: tuple[Any, ...], said: str) -> None:
    with pytest.raises((ValueError, TypeError), match=said):
        getattr(torchmx, function)(*arguments)
