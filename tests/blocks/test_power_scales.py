"""Scales that are powers of two like E8M0's, of fewer bits, bit for bit those of the twin."""

from __future__ import annotations

from typing import Any, cast

import numpy as np
import pytest
from helpers import sentence
from tables import choices

import mxref
from mxref import exact
from mxref.bits.floats import BF16, F16, F32, F64, LAYOUTS, FloatLayout
from mxref.blocks.routes import FEW
from mxref.exact.format_table import POWERS, PowerFormat
from mxref.formats import catalog
from mxref.formats.catalog import BlockFormat, ElementFormat, ScaleFormat
from mxref.numbers.scale_steps import scale_steps
from mxref.operands.splitmix import splitmix64
from mxref.policy.policy import Policy
from mxref.policy.scale_rule import ScaleRule


def powers(name: str, bits: int, bias: int) -> ScaleFormat:
    return ScaleFormat(name, bits, 0, bias, catalog.Specials.TOP_CODE_NAN, subnormals=False)


#: The last two lie at the ends of E8M0: keys of small numbers, and scales that are flushed.
SCALES = [catalog.E5M0, powers("e4m0", 4, 7), powers("e2m0", 2, 1)]
SCALES += [powers("low", 4, 127), powers("high", 4, 14 - 127)]
E2M1, E4M3, E5M2, INT8 = catalog.E2M1, catalog.E4M3, catalog.E5M2, catalog.INT8
ELEMENTS = [E5M2, E4M3, E2M1, INT8]


@pytest.fixture(autouse=True)
def twin_of_the_ends(monkeypatch: pytest.MonkeyPatch) -> None:
    table = cast("dict[str, PowerFormat]", POWERS)
    monkeypatch.setitem(table, "low", PowerFormat("low", 4, 127, 14, 15))
    monkeypatch.setitem(table, "high", PowerFormat("high", 4, -113, 14, 15))


def of(element: ElementFormat, scale: ScaleFormat, size: int = 4) -> BlockFormat:
    return BlockFormat(f"{element.name}_{scale.name}", element, scale, size)


def rows_of(amax: np.ndarray, layout: FloatLayout) -> np.ndarray:
    """Blocks of four with these largest magnitudes: others are 3 and 7 binades below, and -0."""
    words = np.asarray(amax, np.uint64)
    down = np.uint64(1 << layout.mantissa_bits)
    third, seventh = (
        np.where(words > n * down, words - n * down, 0) for n in map(np.uint64, (3, 7))
    )
    sign = np.uint64(layout.sign_bit)
    rows = np.stack([third, words | sign, seventh | sign, np.full(words.shape, sign)], axis=1)
    return rows.astype(layout.uint)


def check(
    rows: np.ndarray, layout: FloatLayout, fmt: BlockFormat, rule: str = "floor", **choices: str
) -> None:
    """Both ways of quantizing, few elements and many, against the twin."""
    chosen: Any = {"scale_rule": rule, **choices}
    few = mxref.quantize(rows.view(layout.dtype), fmt, **chosen)
    times = -(-FEW // rows.size)
    many = mxref.quantize(np.tile(rows, (times, 1)).view(layout.dtype), fmt, **chosen)
    assert np.array_equal(many.scale_codes, np.tile(few.scale_codes, (times, 1)))
    assert np.array_equal(many.codes, np.tile(few.codes, (times, 1)))
    twin: Any = {"rule": rule, "scale_format": fmt.scale.name, **choices}
    for row, code, codes in zip(rows.tolist(), few.scale_codes, few.codes, strict=True):
        want = exact.quantize(row, layout.name, fmt.element.name, **twin)
        assert (int(code[0]), codes.tolist()) == want, [hex(word) for word in row]


def binades_near(fmt: BlockFormat, layout: FloatLayout, *, far: int) -> np.ndarray:
    """Exponent fields of amax around those of all scales, and every `far`-th other."""
    low, high = (layout.bias + fmt.element.emax + e for e in (fmt.scale.emin, fmt.scale.emax))
    fields = np.arange(1, (1 << layout.exponent_bits) - 1)
    if layout is F64:
        fields = fields[abs(fields - layout.bias) < 170]
    return fields[((low - 3 <= fields) & (fields <= high + 3)) | (fields % far == 0)]


@pytest.mark.sampled(12)
@pytest.mark.parametrize("rule", ScaleRule)
@pytest.mark.parametrize("scale", SCALES, ids=lambda scale: scale.name)
def test_every_step_of_every_rule(scale: ScaleFormat, rule: ScaleRule) -> None:
    """The first and the last amax of each binade, and those on both sides of its step."""
    for element in ELEMENTS:
        fmt = of(element, scale)
        steps = scale_steps(element, Policy().replace(scale_rule=rule).scale, F32, scale=scale)
        fields = binades_near(fmt, F32, far=16).astype(np.uint32)
        first = fields << np.uint32(23)
        last, step = first + np.uint32(0x7FFFFF), steps.last[fields]
        subnormal = np.uint32([1, 2, 0x400000, 0x7FFFFF])
        amax = np.concatenate([first, step, np.minimum(step + 1, last), last, subnormal])
        check(rows_of(np.unique(amax), F32), F32, fmt, rule.value, scale_overflow="nan")


def special_rows(fmt: BlockFormat, layout: FloatLayout) -> np.ndarray:
    """Blocks around both ends of the scales, of zeros and subnormals, with infinity and NaN."""
    one = 1 << layout.mantissa_bits
    fields = binades_near(fmt, layout, far=1 << 12).tolist()
    fields = [*fields[:8], *fields[-8:], 1, (1 << layout.exponent_bits) - 2]
    amax = [field * one + more for field in fields for more in (0, 3 * one // 4, one - 1)]
    rows = rows_of(np.array([0, 1, one // 2, *amax], np.uint64), layout)
    special = rows[2::5].copy()
    special[:, 0] = np.resize([layout.inf_bits, layout.nan_bits | layout.sign_bit], len(special))
    return np.concatenate([rows, special])


ENDS = choices(
    "scale_overflow=clamp,nan,wrap scale_underflow=clamp,nan,wrap,flush,flush_subnormal "
    "zero_block=code_00,code_01,one,minus_emax,nan"
)
SPECIALS = choices(
    "block_inf=nan_block,largest_scale,ignore block_nan=nan_block,ignore "
    "scaling=divide,reciprocal_flushed scale_overflow=clamp,wrap "
    "nan_block_codes=ones int8_emax=one zero_block=minus_emax"
)
TYPES = choices("amax_type=float32,bfloat16,float16 scale_overflow=nan,wrap")


@pytest.mark.sampled(6)
@pytest.mark.parametrize("layout", [F32, BF16, F16, F64], ids=lambda layout: layout.name)
@pytest.mark.parametrize("scale", SCALES, ids=lambda scale: scale.name)
def test_every_choice_at_the_ends(scale: ScaleFormat, layout: FloatLayout) -> None:
    for index, chosen in enumerate((*ENDS, *SPECIALS, *TYPES)):
        element = ELEMENTS[index % 4 if chosen.get("block_nan") != "ignore" else index % 2]
        fmt = of(element, scale)
        check(special_rows(fmt, layout), layout, fmt, **chosen)


def test_some_of_each_kind() -> None:
    """Quirks, flushed reciprocals, and directed and stochastic roundings of elements."""
    high = of(INT8, SCALES[-1])  # whose amax reaches 2**127
    check(special_rows(high, F32), F32, high, scaling="reciprocal_flushed")
    fmt = of(E2M1, catalog.E5M0)
    rows = special_rows(fmt, F32)
    for rounding in ("toward_positive", "to_odd", "ties_to_away"):
        check(rows, F32, fmt, "floor_log2_float32", rounding=rounding, scale_overflow="nan")
    draws = (splitmix64(5, rows.size).reshape(rows.shape) >> np.uint64(56)).astype(np.int64)
    blocks = mxref.quantize(
        rows.view(np.float32), fmt, rounding="stochastic_a", random_bits=draws, random_width=8
    )
    for row, draw, code, codes in zip(rows, draws, blocks.scale_codes, blocks.codes, strict=True):
        drawn: Any = {"random_bits": draw.tolist(), "random_width": 8, "scale_format": "e5m0"}
        want = exact.quantize(row.tolist(), "f32", "e2m1", "stochastic_a", **drawn)
        assert (int(code[0]), codes.tolist()) == want


@pytest.mark.sampled(4)
@pytest.mark.parametrize("target", LAYOUTS)
@pytest.mark.parametrize("scale", SCALES, ids=lambda scale: scale.name)
def test_every_code_under_every_scale_is_read_as_by_the_twin(
    scale: ScaleFormat, target: str
) -> None:
    layout = LAYOUTS[target]
    ways = choices("scale_00=power,zero scale_ff=nan,inf,power product_rounding=once,scale_first")
    for index, way in enumerate(ways):
        element = (E2M1, E5M2, INT8, E4M3)[index % 4]
        size = element.code_count
        codes = np.tile(np.arange(size, dtype=np.uint8), (scale.code_count, 1))
        scales = np.arange(scale.code_count, dtype=np.uint8)[:, np.newaxis]
        way["product_overflow"] = ("saturate", "nan")[index % 2]
        blocks = mxref.Blocks(codes, scales, of(element, scale, size), -1, codes.shape)
        got = mxref.dequantize(blocks, layout.dtype, **way).view(layout.uint)
        for power, code in np.ndindex(codes.shape):
            want = exact.dequantize(power, code, element.name, target, scale.name, **way)
            assert got[power, code] == want, (power, code, way)


def test_blocks_of_them() -> None:
    blocks = mxref.quantize(np.float32([[3.0, -1.0], [2.0**20, 1.0]]), of(E2M1, catalog.E5M0, 2))
    assert blocks.scale_codes.tolist() == [[14], [30]]
    assert "first scale: 0e = 2**-1" in repr(blocks)
    assert sentence(TypeError, lambda: blocks.scales) == (
        "e5m0 has no NumPy or ml_dtypes dtype: use the codes"
    )
    wrong = sentence(ValueError, lambda: mxref.Blocks([[1, 2]], [[32]], blocks.format, 1, (1, 2)))
    assert wrong == "scale_codes must be in [0, 31] for e5m0, got 32 at index (0, 0)"
    wrong = sentence(ValueError, lambda: blocks.dequantize(scale_arithmetic="exact"))
    assert wrong.endswith("does not read scale_arithmetic, since its scale is e5m0")
    long = np.full(1 << 19, 3.0, np.float32)
    long[-1] = 2.0**-30
    whole = mxref.quantize(long, of(E2M1, catalog.E5M0, long.size))
    assert (whole.scale_codes.tolist(), set(whole.codes[:-1].tolist())) == ([14], {7})


@pytest.mark.parametrize("scale", [catalog.E5M0, catalog.UE5M3], ids=lambda scale: scale.name)
def test_a_profile_speaks_of_its_own_scales(scale: ScaleFormat) -> None:
    other = BlockFormat("mxfp8_e4m3", E4M3, scale, 32)
    text = "mxfp8_e4m3 must be of e4m3 and e8m0 for profile microxcaling_torch, got one of e4m3"
    one = mxref.profile("microxcaling_torch")
    assert text in sentence(ValueError, lambda: one.quantize(np.ones(32, np.float32), other))
    blocks = mxref.quantize(np.ones(32, np.float32), other)
    assert text in sentence(ValueError, lambda: one.dequantize(blocks))
