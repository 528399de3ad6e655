"""The vectors of FP8 under float32 scales, by NumPy's float32 arithmetic and ml_dtypes' casts."""

from __future__ import annotations

from typing import Any

import ml_dtypes
import numpy as np
import pytest
from helpers import SOURCES, records, words

from mxref.bits.floats import LAYOUTS
from mxref.formats.catalog import FLOAT_SCALED_FORMATS
from mxref.golden.float_scaled_cases import float_scaled_files

M = np.float32(448)
FORMAT = "fp8_e4m3_f32"
FLOATS = {
    f"ocp+amax_floor={name}": np.float32(number)
    for name, number in (("none", 0), ("1e-12", 1e-12), ("1e-10", 1e-10), ("1e-4", 1e-4))
}
Array = np.ndarray[Any, Any]


def finite_blocks(float: str) -> tuple[Array, list[dict[str, Any]], list[str]]:
    """The numbers of the blocks without NaN and infinity as float32, their cases, the columns."""
    header, cases = records(f"quantize/{FORMAT}.{float}")
    dtype = np.dtype(SOURCES[float])
    inputs = np.array([words(case["in"]) for case in cases]).astype(f"u{dtype.itemsize}")
    x = inputs.view(dtype).astype(np.float32)
    some = np.isfinite(x).all(axis=1)
    return (
        x[some],
        [one for one, is_one in zip(cases, some, strict=True) if is_one],
        header["columns"],
    )


def column(cases: list[dict[str, Any]], columns: list[str], name: str) -> tuple[Array, Array]:
    """Scales as float32 numbers, and codes, of a policy."""
    rows = np.array([words(case["outs"][columns.index(name)]) for case in cases])
    return rows[:, 0].astype(np.uint32).view(np.float32), rows[:, 1:].astype(np.uint8)


def cast(quotients: Array) -> Array:
    """E4M3 codes of float32 numbers, saturated; of an exact quotient's neighbour no tie is lost."""
    with np.errstate(invalid="ignore"):
        return np.clip(quotients, -M, M).astype(ml_dtypes.float8_e4m3fn).view(np.uint8)


@pytest.mark.parametrize("float", ["f32", "bf16"])
def test_scales_of_every_floor(float: str) -> None:
    x, cases, columns = finite_blocks(float)
    amax = np.abs(x).max(axis=1)
    for name, floor in FLOATS.items():
        scales, _ = column(cases, columns, "ocp" if name.endswith("none") else name)
        assert (scales == np.maximum(amax, floor) / M).all(), name
    scales, _ = column(cases, columns, "ocp+amax_floor=scale")
    assert (scales == np.maximum(amax / M, np.float32(1) / (np.float32(512) * M))).all()


@pytest.mark.parametrize("float", ["f32", "bf16"])
def test_scales_by_reciprocal_and_multiplier(float: str) -> None:
    x, cases, columns = finite_blocks(float)
    amax = np.abs(x).max(axis=1)
    one = np.float32(1)
    scales, _ = column(cases, columns, "ocp+scale_from=reciprocal")
    assert (scales == amax * (one / M)).all()
    with np.errstate(divide="ignore", over="ignore"):
        wanted = one / (M / amax)
    scales, _ = column(cases, columns, "ocp+scale_from=multiplier")
    assert (scales == wanted).all()
    assert (scales != amax / M).sum() > 5  # which it is told from


@pytest.mark.parametrize("float", ["f32", "bf16"])
def test_powers_are_at_or_above_the_scale(float: str) -> None:
    x, cases, columns = finite_blocks(float)
    scale = np.abs(x).max(axis=1) / M
    fraction, exponent = np.frexp(scale)
    at_or_above = np.ldexp(np.float32(1), exponent - (fraction == 0.5))
    least = np.float32(2.0**-126)
    scales, _ = column(cases, columns, "ocp+scale_power=bit_ceiling")
    assert (scales == np.maximum(np.where(scale > 0, at_or_above, 0), least)).all()
    by_log, _ = column(cases, columns, "ocp+scale_power=exp2_ceil_log2")
    few_ulps = np.abs(scale.view(np.int32) - (at_or_above / 2).view(np.int32)) < 64
    differ = (by_log != at_or_above) & (scale > 0)
    assert few_ulps[differ].all()  # whose logarithm is rounded to a whole number
    assert differ.any() == (float == "f32")
    assert (by_log[scale == 0] == 0).all()


@pytest.mark.parametrize("float", ["f32", "bf16"])
def test_elements_by_quotient_and_by_reciprocal(float: str) -> None:
    x, cases, columns = finite_blocks(float)
    one, told = np.float32(1), 0
    for name in ("quotient", "reciprocal"):
        scales, codes = column(cases, columns, f"ocp+element_from={name}")
        some = scales > 0  # 0 / 0 is NaN, whose code no clip says
        x_some, s = x[some], scales[some, np.newaxis]
        with np.errstate(over="ignore", invalid="ignore"):
            quotients = x_some / s if name == "quotient" else x_some * (one / s)
        is_nan = np.isnan(quotients)
        wanted = cast(quotients)
        assert (codes[some][~is_nan] == wanted[~is_nan]).all(), name
        told += int((codes != column(cases, columns, "ocp")[1]).sum())
    assert told > 100


def test_exact_quotients() -> None:
    """Of float64, by integers: the code whose number is nearest, the even one of two."""
    x, cases, columns = finite_blocks("f32")
    scales, codes = column(cases, columns, "ocp")
    table = np.arange(127, dtype=np.uint8).view(ml_dtypes.float8_e4m3fn).astype(np.float64)
    middles = (table[1:] + table[:-1]) / 2
    some = scales > 0
    s = scales[some, np.newaxis].astype(np.float64)
    # Products of midpoints (5 bits) and scales (24 bits) are exact, and are compared with |x|.
    above = np.abs(x[some]).astype(np.float64)[..., np.newaxis] - middles * s[..., np.newaxis]
    even = np.arange(126) % 2 == 0
    code = ((above > 0) | ((above == 0) & ~even)).sum(axis=-1)
    assert (codes[some] == code + 128 * np.signbit(x[some])).all()


def test_blocks_with_nan_and_infinity() -> None:
    header, cases = records(f"quantize/{FORMAT}.f32")
    special = {
        case["name"]: case["outs"] for case in cases if case["name"].startswith(("n", "inf"))
    }
    ocp, ignore = 0, header["columns"].index("ocp+block_nan=ignore")
    for name, outs in special.items():
        if "nan" in name or "inf" in name:
            assert words(outs[ocp]) == [0x7FC00000, *[0] * 128], name
    assert words(special["nan_first"][ignore])[0] < 0x7F800000


def test_made_files_are_those_of_the_other_formats_and_types() -> None:
    made = float_scaled_files()
    stored = {
        f"{op}/{FORMAT}.{float}" for op in ("quantize", "dequantize") for float in ("f32", "bf16")
    }
    assert {*made} | stored == {
        f"{op}/{name}.{float}"
        for op in ("quantize", "dequantize")
        for name in FLOAT_SCALED_FORMATS
        for float in LAYOUTS
    }
    assert not {*made} & stored
