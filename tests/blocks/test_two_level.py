"""Scales that are no powers of two: the fast path against the slow twin, on every code."""

from __future__ import annotations

import dataclasses
import itertools
import math
import random
from fractions import Fraction
from functools import partial
from typing import Any

import numpy as np
import pytest
from helpers import sentence
from thresholds import tiles_of_equal_errors

import mxref
from mxref import exact
from mxref.bits.floats import F32, LAYOUTS, FloatLayout
from mxref.blocks import product_tables
from mxref.blocks.two_level import TensorScale, TensorScaleKind
from mxref.formats import catalog
from mxref.formats.catalog import E2M1, E4M3, SCALE_FORMATS, BlockFormat, ElementFormat

FOUR_OVER_SIX = ("transformer_engine_4over6", "transformer_engine_4over6_mse")
ARITHMETICS = (
    *("exact", "torchao", "transformer_engine", *FOUR_OVER_SIX, "cublas", "compressed_tensors"),
)
KINDS = {
    "torchao": "factor",
    "transformer_engine": "amax",
    **dict.fromkeys(FOUR_OVER_SIX, "amax_256"),
    "cublas": "divisor",
    "compressed_tensors": "divisor",
}
#: What compressed-tensors makes of zeros and NaN, and the slow twin with it.
ELEMENT_CHOICES: dict[str, dict[str, Any]] = {
    "compressed_tensors": {"zero_sign": "dropped", "nan_to_finite": "zero"}
}


def block_format(element: ElementFormat, scale: str, size: int, *, tensor: bool) -> BlockFormat:
    return BlockFormat("mine", element, SCALE_FORMATS[scale], size, tensor_scale=tensor)


def sample(layout: FloatLayout, blocks: int, size: int, seed: int) -> np.ndarray:
    """Blocks of patterns: each around a binade of its own, ties, zeros, now and then a special."""
    generator = random.Random(f"{layout.name}{seed}")
    middle = generator.choice([layout.bias, layout.bias + 6, layout.bias - 9, 20, 5])
    special = seed % 3 == 0
    rows = []
    for _ in range(blocks):
        field = min(max(middle + generator.randint(-14, 8), 0), (1 << layout.exponent_bits) - 2)
        row = []
        for _ in range(size):
            exponent = max(field - generator.choice([0, 0, 1, 1, 2, 3, 5]), 0)
            fraction = generator.getrandbits(layout.mantissa_bits)
            if generator.random() < 0.5:  # few bits: ties and exact numbers
                fraction &= -1 << (layout.mantissa_bits - 3)
            bits = exponent << layout.mantissa_bits | fraction
            bits = generator.choice([bits] * 9 + [0])
            row.append(bits | layout.sign_bit * generator.getrandbits(1))
        if special and generator.random() < 0.1:
            row[generator.randrange(size)] = generator.choice(
                [layout.inf_bits, layout.inf_bits | layout.sign_bit, layout.nan_bits]
            )
        rows.append(row)
    return np.array(rows, layout.uint)


def both(
    patterns: np.ndarray,
    layout: FloatLayout,
    element: ElementFormat,
    scale: str,
    arithmetic: str,
    tensor: int | str | None,
) -> tuple[mxref.Blocks, tuple[int | None, list[tuple[int, list[int]]]]]:
    choices = ELEMENT_CHOICES.get(arithmetic, {})
    fmt = block_format(element, scale, patterns.shape[1], tensor=tensor is not None)
    kind = TensorScaleKind(KINDS.get(arithmetic, "factor"))
    given = TensorScale(tensor, kind) if isinstance(tensor, int) else None
    blocks = mxref.quantize(
        patterns.view(layout.dtype), fmt, tensor_scale=given, scale_arithmetic=arithmetic, **choices
    )
    want = exact.quantize_scaled(
        patterns.tolist(), layout.name, element.name, scale, arithmetic, tensor
    )
    return blocks, want


def compare(blocks: mxref.Blocks, want: tuple[int | None, list[tuple[int, list[int]]]]) -> None:
    bits, rows = want
    if blocks.tensor_scale is None:
        assert bits is None
    else:
        assert bits is not None
        got_nan, want_nan = (
            b & 0x7FFFFFFF > F32.inf_bits for b in (blocks.tensor_scale.bits, bits)
        )
        assert got_nan == want_nan
        assert got_nan or blocks.tensor_scale.bits == bits
    assert blocks.scale_codes[:, 0].tolist() == [scale for scale, _ in rows]
    nan = max(blocks.format.scale.nan_codes)
    for row, (scale, codes) in zip(blocks.codes.tolist(), rows, strict=True):
        assert scale == nan or row == codes


@pytest.mark.parametrize("arithmetic", ARITHMETICS[1:])
def test_a_nan_has_the_sign_of_its_element(arithmetic: str) -> None:
    """A processor's sign depends on the processor, and on where in memory the element lies."""
    several = [[1e-30, -1e-30, 0.0, -0.0], [np.inf, -np.inf, 1.0, -1.0], [np.nan, -np.nan, -1.0]]
    values = np.float32([np.resize(some, 65) for some in several])
    choices: dict[str, Any] = {"nan": "signed", "zero_sign": "kept"}
    _, rows = exact.quantize_scaled(
        values.view(np.uint32).tolist(), "f32", "e4m3", "ue4m3", arithmetic, **choices
    )
    fmt = block_format(E4M3, "ue4m3", 65, tensor=False)
    for times in (1, 50):
        many = np.tile(values, (times, 1))
        blocks = mxref.quantize(many, fmt, scale_arithmetic=arithmetic, **choices)
        assert blocks.codes.tolist() == [codes for _, codes in rows] * times
        assert blocks.scale_codes[:, 0].tolist() == [scale for scale, _ in rows] * times


@pytest.mark.sampled(12)
@pytest.mark.parametrize("arithmetic", ARITHMETICS)
@pytest.mark.parametrize("source", LAYOUTS)
@pytest.mark.parametrize("tensor", [None, "dynamic", 0x3B124925, 0x00000003, 0x7F000000])
def test_random_blocks(arithmetic: str, source: str, tensor: int | str | None) -> None:
    layout = LAYOUTS[source]
    for seed, (element, scale) in enumerate(
        itertools.product((E2M1, catalog.E2M3, E4M3, catalog.INT8), ("ue4m3", "ue5m3"))
    ):
        patterns = sample(layout, 24, 16, seed)
        compare(*both(patterns, layout, element, scale, arithmetic, tensor))


@pytest.mark.sampled(8)
@pytest.mark.parametrize("arithmetic", ARITHMETICS)
@pytest.mark.parametrize("scale", ["ue4m3", "ue5m3"])
def test_every_scale_with_every_tie(arithmetic: str, scale: str) -> None:
    """Every scale times every number and midpoint of E2M1, and the floats beside them."""
    fmt = SCALE_FORMATS[scale]
    points = [0.25, 0.5, 0.75, 1.0, 1.25, 1.5, 1.75, 2.0, 2.5, 3.0, 3.5, 4.0, 5.0]
    rows = []
    for code in range(1, fmt.max_code + 1):
        value = fmt.value(code)
        middle = np.float32([point * value for point in points]).view(np.uint32)
        around = np.stack([middle - 1, middle, middle + 1]).reshape(-1)
        top = np.float32([6 * value]).view(np.uint32)[0]
        rows.append([top, *around.tolist()])
    patterns = np.array(rows, np.uint32)
    patterns[:, 1::2] |= np.uint32(1 << 31)
    for tensor in (None, "dynamic", 0x3F800000, 0x3DCCCCCD):
        compare(*both(patterns, F32, E2M1, scale, arithmetic, tensor))


@pytest.mark.sampled(6)
@pytest.mark.parametrize("arithmetic", ARITHMETICS)
def test_every_midpoint_between_two_scales(arithmetic: str) -> None:
    fmt = SCALE_FORMATS["ue4m3"]
    rows = []
    for code in range(fmt.max_code):
        middle = np.float32([3 * (fmt.value(code) + fmt.value(code + 1))]).view(np.uint32)[0]
        rows += [[int(middle) + step, int(middle) >> 1, 0, 1] for step in (-2, -1, 0, 1, 2)]
    patterns = np.array(rows, np.int64).clip(0).astype(np.uint32)
    for tensor in (None, "dynamic", 0x3F800000):
        compare(*both(patterns, F32, E2M1, "ue4m3", arithmetic, tensor))


@pytest.mark.sampled(12)
@pytest.mark.parametrize("arithmetic", ARITHMETICS)
def test_amax_of_every_binade(arithmetic: str) -> None:
    fields = [field << 23 | fraction for field in range(255) for fraction in (0, 0x7FFFFF)]
    for bits in fields[1:]:
        patterns = np.array([[bits, bits >> 1, 0x80000001, 0], [bits // 3, 0, 0, 1]], np.uint32)
        compare(*both(patterns, F32, E2M1, "ue4m3", arithmetic, "dynamic"))


@pytest.mark.sampled(28)
@pytest.mark.parametrize("arithmetic", ARITHMETICS)
@pytest.mark.parametrize("scale", ["ue4m3", "ue5m3"])
@pytest.mark.parametrize("target", LAYOUTS)
def test_dequantize(arithmetic: str, scale: str, target: str) -> None:
    """Every scale with every element of three formats under several tensor scales."""
    layout, fmt = LAYOUTS[target], SCALE_FORMATS[scale]
    kind = TensorScaleKind(KINDS.get(arithmetic, "factor"))
    scales = range(fmt.code_count)
    for element, tensor in itertools.product(
        (E2M1, E4M3) if (scale, target) == ("ue4m3", "f32") else (E2M1,),
        (None, 0x3B124925, 0x00000001, 0x7F7FFFFF, 0x3FC00000, 0x5E2A3B4C, 0, 0x7F800000),
    ):
        if tensor in (0, 0x7F800000) and arithmetic == "exact":
            continue  # which gives no such scale
        if element is E4M3 and tensor != 0x3B124925:
            continue
        codes = np.tile(np.arange(element.code_count, dtype=np.uint8), (len(scales), 1))
        block = block_format(element, scale, codes.shape[1], tensor=tensor is not None)
        given = None if tensor is None else TensorScale(tensor, kind)
        column = np.array(scales, np.uint8)[:, np.newaxis]
        blocks = mxref.Blocks(codes, column, block, 1, codes.shape, tensor_scale=given)
        got = blocks.dequantize(layout.dtype, scale_arithmetic=arithmetic).view(layout.uint)
        how = element.name, scale, arithmetic, target
        every = range(element.code_count)
        want = [[exact.dequantize_scaled(tensor, s, c, *how) for c in every] for s in scales]
        assert np.array_equal(got, np.array(want, layout.uint)), (element.name, tensor)


def test_a_tensor_scale_of_another_kind_or_for_another_format() -> None:
    def quantize(format: str, scale: Any) -> mxref.Blocks:
        return mxref.quantize(np.ones(16, np.float32), format, tensor_scale=scale)

    amax = TensorScale(0x3F800000, TensorScaleKind.AMAX)
    assert sentence(ValueError, lambda: quantize("nvfp4", amax)) == (
        "tensor_scale must be of kind factor for this scale_arithmetic, got amax"
    )
    assert "fp4_ue4m3 has none" in sentence(ValueError, lambda: quantize("fp4_ue4m3", 1.0))
    text = "tensor_scale must be a TensorScale or a number that a float holds, got "
    blocks = quantize("nvfp4", 1.0)
    for given in ("1", [1.0, "2"], 10**400, object(), None):
        of = partial(TensorScale.of, given, TensorScaleKind.FACTOR)
        assert sentence(TypeError, of) == f"{text}{type(given).__name__}"
        if given is not None:
            held = partial(dataclasses.replace, blocks, tensor_scale=given)
            for call in (partial(quantize, "nvfp4", given), held):
                assert sentence(TypeError, call).startswith(text)


@pytest.mark.parametrize("arithmetic", ARITHMETICS)
@pytest.mark.parametrize("values", [[0.0, -0.0], [1.0, np.inf], [1.0, np.nan]], ids=str)
def test_a_tensor_scale_is_taken_back(arithmetic: str, values: list[float]) -> None:
    """Also 0, which Transformer Engine and torchao give for zeros, infinity and NaN."""
    x = np.float32([values + [0.0] * 14])
    choices = ELEMENT_CHOICES.get(arithmetic, {})
    first = mxref.quantize(x, "nvfp4", scale_arithmetic=arithmetic, **choices)
    assert first.tensor_scale is not None
    given = first.tensor_scale.bits
    blocks, want = both(x.view(np.uint32), F32, E2M1, "ue4m3", arithmetic, given)
    compare(blocks, want)
    assert blocks.tensor_scale == first.tensor_scale
    assert np.array_equal(blocks.codes, first.codes)
    assert np.array_equal(blocks.scale_codes, first.scale_codes)


def test_the_tensor_scale_of_zeros() -> None:
    zeros = np.zeros(16, np.float32)
    for arithmetic, kind in (("transformer_engine", "amax"), ("torchao", "factor")):
        blocks = mxref.quantize(zeros, "nvfp4", scale_arithmetic=arithmetic)
        assert blocks.tensor_scale == TensorScale(0, TensorScaleKind(kind))


def test_blocks_take_a_number_for_a_factor() -> None:
    def value(scale: Any) -> float:
        blocks = mxref.Blocks([2] + [0] * 15, [0x38], "nvfp4", 0, (1,), tensor_scale=scale)  # type: ignore[arg-type]
        assert isinstance(blocks.tensor_scale, mxref.TensorScale)
        return float(blocks.dequantize()[0])

    # Code 2 is 1, scale 38 is 1: the value is the tensor's scale.
    assert [value(scale) for scale in (0.5, 3, np.float32(0.1))] == [0.5, 3.0, np.float32(0.1)]
    for bits, quotient in ((0x40000000, 0.5), (0x7F800000, 0.0), (0, np.inf)):
        assert value(mxref.TensorScale(bits, mxref.TensorScaleKind.DIVISOR)) == quotient
    for scale in (0.1, -1.0, 0):
        with pytest.raises(ValueError, match=r"^tensor_scale must be one positive finite"):
            value(scale)


def test_block_choices_of_exact_scales() -> None:
    x = np.float32([1.0, np.inf, -3.0, np.nan] + [0.5] * 4)
    nan = mxref.quantize(x, "fp4_ue4m3", block_size=4)
    assert nan.scale_codes.tolist() == [0x7F, 0x1B]  # 0.5 / 6 is nearest to 11 / 8 * 2**-4
    assert nan.codes[:4].tolist() == [0] * 4
    ones = mxref.quantize(x, "fp4_ue4m3", block_size=4, nan_block_codes="ones")
    assert ones.codes[:4].tolist() == [15] * 4
    largest = mxref.quantize(x[:3], "fp4_ue4m3", block_size=3, block_inf="largest_scale")
    assert (largest.scale_codes.tolist(), largest.codes.tolist()) == ([0x7E], [0, 7, 8])
    ignored = mxref.quantize(x[[0, 2, 3]], "fp4_ue4m3", block_size=3, block_nan="ignore")
    assert (ignored.scale_codes.tolist(), ignored.codes.tolist()) == ([0x30], [4, 15, 7])


def test_a_scale_without_nan() -> None:
    bare = BlockFormat("mine", E2M1, catalog.ScaleFormat("bare", 5, 3, 15), 4)
    values = sample(F32, 200, 4, 1).view(np.float32)  # none of them special
    here, there = mxref.quantize(values, bare), mxref.quantize(values, "fp4_ue5m3", block_size=4)
    assert len(set(here.scale_codes.flat)) > 100
    assert here.scale_codes.tolist() == there.scale_codes.tolist()
    assert here.codes.tolist() == there.codes.tolist()
    top = np.float32([6, -3, 0.5, 0]) * np.float32(1.875 * 2**16)  # the last code is a number
    blocks = mxref.quantize(top, bare)
    assert (blocks.scale_codes.tolist(), blocks.codes.tolist()) == ([0xFF], [7, 13, 1, 0])
    assert blocks.dequantize().tolist() == top.tolist()
    for special in (np.nan, np.inf):
        assert sentence(ValueError, partial(mxref.quantize, np.float32([1, special]), bare)) == (
            "values must be finite for mine, whose scale bare has no NaN for a whole block, got "
            "NaN or infinity: choose another block_nan or block_inf"
        )
        kept = {"block_nan": "ignore", "block_inf": "ignore"}
        assert mxref.quantize(np.float32([3, special]), bare, **kept).codes[1] == 7


def test_the_last_bit_of_float64_decides_a_tie() -> None:
    """0.25 is halfway between 0 and 0.5: one ulp more is 0.5, also under a scale of 1.5."""
    last = 2.0**-52
    for scale, code in ((1.0, 0x38), (1.5, 0x3C)):
        values = np.float64([6, 0.25 * (1 + last), 0.25, 0.25 * (1 - last / 2)] + [0] * 12) * scale
        blocks = mxref.quantize(values, "fp4_ue4m3")
        assert blocks.scale_codes.tolist() == [code]
        assert blocks.codes.tolist() == [7, 1, 0, 0] + [0] * 12
        _, [(found, codes)] = exact.quantize_scaled(
            [values.view(np.uint64).tolist()], "f64", "e2m1", "ue4m3", "exact", None
        )
        assert (found, codes) == (code, blocks.codes.tolist())


@pytest.mark.parametrize("number", [3.0, 5.0, 7.0, 10.0, 0.1, 16777215.0])
def test_a_product_by_a_divisor_is_rounded_once_to_float64(number: float) -> None:
    bits = np.float32(number).view(np.uint32).item()
    divisor = Fraction(float(np.float32(number)))
    codes = np.tile(np.arange(16, dtype=np.uint8), (127, 1))
    fmt = block_format(E2M1, "ue4m3", 16, tensor=True)
    scales = np.arange(127, dtype=np.uint8)[:, np.newaxis]
    stored = TensorScale(bits, TensorScaleKind.DIVISOR)
    blocks = mxref.Blocks(codes, scales, fmt, 1, codes.shape, tensor_scale=stored)
    found = blocks.dequantize(np.float64)
    numerators = mxref.decode(codes, "e2m1", np.float64) * mxref.decode(scales, "ue4m3", np.float64)
    exactly = [float(Fraction(n) / divisor) for n in numerators.flat]  # to nearest even
    assert found.ravel().tolist() == exactly
    assert (np.signbit(found) == (codes >= 8)).all()


def test_a_quotient_of_integers_to_53_bits() -> None:
    """Ties to even and what lies a little beside them, against Python's division of fractions."""
    for d in (1, 3, 7, 21, 2**24 - 1, 2**24 - 3):
        for n in (0, 1, 2, 5, 2**53 - 1, 2**53 + 1, 2**54 + 2, 2**54 + 6, 2**63 + 2**10, 2**64 - 1):
            for near in (n, n * d % 2**64):
                whole, exponent = product_tables._nearest(near, d)
                assert whole < 1 << 53
                assert math.ldexp(whole, exponent) == float(Fraction(near, d))


@pytest.mark.parametrize("arithmetic", FOUR_OVER_SIX)
def test_four_over_six_of_tiles(arithmetic: str) -> None:
    """Whose sums of errors would be equal without roundings, so that their order decides."""
    x = tiles_of_equal_errors(5, 0.3)
    tiles = x.reshape(5, 16, 5, 16).swapaxes(1, 2).reshape(-1, 256)
    tensor, want = exact.quantize_scaled(
        tiles.view(np.uint32).tolist(), "f32", "e2m1", "ue4m3", arithmetic, "dynamic", 16
    )
    how: dict[str, Any] = {"scale_arithmetic": arithmetic, "block_size": (16, 16), "axis": (0, 1)}
    blocks = mxref.quantize(x, "nvfp4", **how)
    assert blocks.tensor_scale == TensorScale(tensor or 0, TensorScaleKind.AMAX_256)
    assert blocks.scale_codes.reshape(-1).tolist() == [scale for scale, _ in want]
    codes = blocks.codes.reshape(5, 16, 5, 16).swapaxes(1, 2).reshape(-1, 256)
    assert codes.tolist() == [codes for _, codes in want]


def test_rows_of_tiles_are_a_power_of_two() -> None:
    with pytest.raises(ValueError, match=r"^rows must be a power of two that divides"):
        exact.quantize_scaled([[0] * 48], "f32", "e2m1", "ue4m3", FOUR_OVER_SIX[0], None, 3)
