"""Elements of blocks by estimates: beside every threshold and carry, against exact ways."""

from __future__ import annotations

import dataclasses
import math
from fractions import Fraction

import numpy as np
import pytest
from helpers import ELEMENT

import mxref
from mxref import exact
from mxref.bits.floats import BF16, F16, F32, F64, FloatLayout, Stochastic
from mxref.blocks import quantization, routes
from mxref.blocks.estimates import estimates
from mxref.blocks.pattern_tables import pattern_tables
from mxref.blocks.two_level import TensorScale
from mxref.formats import block_format
from mxref.formats.catalog import BLOCK_FORMATS, OTHER_BLOCK_FORMATS, BlockFormat, ScaleKind
from mxref.numbers import estimated
from mxref.policy.choices import Rounding
from mxref.policy.policy import Policy

LAYOUTS = (F32, BF16, F16, F64)
TWO_LEVELS = tuple(
    name for name, one in OTHER_BLOCK_FORMATS.items() if one.scale.kind is ScaleKind.SMALL_FLOAT
)
#: Scales of tensors: 1, 1 + 2**-23, two of full precision, and near the ends of float32.
NUMBERS = (0x3F800000, 0x3F800001, 0x3A5F1D37, 0x3B124925, 0x7C123457, 0x05800001)
DETERMINISTIC = [one.value for one in Rounding if not one.stochastic]
#: Numbers of E2M1 and midpoints between them, and what lies beyond the largest.
POINTS = (0.125, 0.25, 0.5, 0.75, 1, 1.25, 1.5, 1.75, 2, 2.5, 3, 3.5, 4, 5, 6, 7)


def tensor_of(fmt: BlockFormat, bits: int) -> TensorScale | None:
    return TensorScale(bits) if fmt.tensor_scale else None


def scale_rows(fmt: BlockFormat, tensor: TensorScale | None) -> np.ndarray:
    """For each scale its amax and, of both signs, points times it and the floats beside them."""
    codes = np.arange(fmt.scale.max_code + 1, dtype=np.uint8)
    scales = mxref.decode(codes, fmt.scale, np.float64)
    t = 1.0 if tensor is None else tensor.value
    with np.errstate(over="ignore"):
        middle = (scales[:, np.newaxis] * np.array(POINTS) * t).astype(np.float32).view(np.uint32)
    beside = np.stack([middle + np.uint32(step % 2**32) for step in (-1, 0, 1)], axis=1)
    rows = beside.reshape(len(codes), -1)
    rows[:, ::2] |= np.uint32(F32.sign_bit)
    top = middle[:, [-2]] + np.array([0, 0, 1, 0], np.uint32)[codes % 4, np.newaxis]
    rows = np.concatenate([top, rows], axis=1)
    rows[rows & (F32.sign_bit - 1) >= F32.inf_bits] = 0
    # Nothing is larger than the number that gives the scale; 7 times it belongs to the last one.
    larger = rows & (F32.sign_bit - 1) > top & (F32.sign_bit - 1)
    larger[-1] = False
    return np.where(larger, np.uint32(1), rows)


def as_layout(rows: np.ndarray, layout: FloatLayout) -> np.ndarray:
    """Patterns of float32 as those of another float type, some of them rounded."""
    if layout is F32:
        return rows
    with np.errstate(all="ignore"):
        return rows.view(np.float32).astype(layout.dtype).view(layout.uint)


def agree(
    rows: np.ndarray,
    layout: FloatLayout,
    fmt: BlockFormat,
    text: str,
    tensor: TensorScale | None = None,
    draw: Stochastic | None = None,
    beside: int = 1,
) -> None:
    """Estimates against integer parts, of blocks in rows or beside one another.

    So are the tables of bfloat16 patterns.
    """
    policy = Policy.parse(text)
    wide = F32 if layout is F16 else layout
    by = estimates(fmt, policy, wide, tensor, draw.width if draw else 0)
    assert by is not None
    want = routes._exact_rows(rows, layout, fmt, policy, tensor, draw)

    def lanes(array: np.ndarray) -> np.ndarray:
        return np.ascontiguousarray(array.reshape(-1, beside, rows.shape[1]).swapaxes(1, 2))

    random = draw and dataclasses.replace(draw, bits=lanes(draw.bits))
    tables = pattern_tables(fmt, policy, tensor) if layout is BF16 and draw is None else None
    for one in (by, tables) if tables else (by,):
        found = routes.quantize_two_levels(lanes(rows), layout, fmt, policy, tensor, random, one)
        assert found is not None
        scales, codes = found
        assert (scales.reshape(-1) == want[0]).all()
        assert (codes.swapaxes(1, 2).reshape(rows.shape) == want[1]).all()


@pytest.mark.sampled(6)
@pytest.mark.parametrize("number", NUMBERS, ids=hex)
@pytest.mark.parametrize("name", TWO_LEVELS)
def test_every_threshold_under_every_scale_is_that_of_the_twin(name: str, number: int) -> None:
    fmt = OTHER_BLOCK_FORMATS[name]
    tensor = tensor_of(fmt, number)
    rows = scale_rows(fmt, tensor)
    by = estimates(fmt, Policy(), F32, tensor)
    assert by is not None
    scales, codes, left = by.quantized(rows[..., np.newaxis], F32, None)
    given = number if fmt.tensor_scale else None
    _, want = exact.quantize_scaled(rows.tolist(), "f32", "e2m1", fmt.scale.name, "exact", given)
    found = list(zip(scales[:, 0].tolist(), codes[..., 0].tolist(), strict=True))
    taken = ~left[:, 0]
    assert [one for one, good in zip(found, taken, strict=True) if good] == [
        one for one, good in zip(want, taken, strict=True) if good
    ]
    assert taken.sum() > 100


@pytest.mark.sampled(6)
@pytest.mark.parametrize("layout", LAYOUTS, ids=lambda layout: layout.name)
@pytest.mark.parametrize("rounding", DETERMINISTIC)
def test_every_rounding_at_every_threshold(rounding: str, layout: FloatLayout) -> None:
    for i, name in enumerate(TWO_LEVELS):
        fmt = OTHER_BLOCK_FORMATS[name]
        for number in NUMBERS[i % 2 :: 2]:
            tensor = tensor_of(fmt, number)
            rows = as_layout(scale_rows(fmt, tensor), layout)
            for more in ("", "+zero_sign=dropped", "+underflow_sign=dropped+overflow=propagate"):
                agree(rows, layout, fmt, f"ocp+rounding={rounding}{more}", tensor)


@pytest.mark.parametrize("text", ["", "+rounding=toward_positive", "+rounding=to_odd"])
def test_the_last_bit_of_float64_at_every_threshold(text: str) -> None:
    """Quotients that no division in float64 tells from the threshold."""
    fmt = block_format("nvfp4")
    for number in NUMBERS:
        tensor = TensorScale(number)
        rows = scale_rows(fmt, None).view(np.float32).astype(np.float64) * tensor.value
        bits = rows.view(np.uint64)
        for step in (-1, 0, 1):
            moved = np.where(bits << np.uint64(1) != 0, bits + np.uint64(step % 2**64), bits)
            agree(moved, F64, fmt, f"ocp{text}", tensor)


@pytest.mark.parametrize("element", ["e2m3", "e4m3", "e5m2", "int8"])
def test_other_elements_of_two_levels(element: str) -> None:
    chosen = mxref.formats.element_format(element)
    fmt = dataclasses.replace(block_format("nvfp4"), element=chosen)
    random = np.random.default_rng(len(element))
    values = np.abs(mxref.decode(np.arange(chosen.code_count), chosen, np.float64))
    values = np.unique(values[np.isfinite(values)])
    points = np.concatenate([values, (values[1:] + values[:-1]) / 2])
    for number in NUMBERS[:4]:
        tensor = TensorScale(number)
        scales = mxref.decode(random.integers(1, 127, 300), fmt.scale, np.float64) * tensor.value
        x = (random.choice(points, (300, 40)) * scales[:, np.newaxis]).astype(np.float32)
        x[:, 0] = (values[-1] * scales).astype(np.float32)
        rows = x.view(np.uint32) + random.integers(-1, 2, x.shape).astype(np.uint32)
        rows[rows >= F32.inf_bits] = 0
        for text in ("ocp", "ocp+rounding=toward_negative+overflow=nonsaturating"):
            agree(rows, F32, fmt, text, tensor)
            agree((rows >> 16).astype(np.uint16), BF16, fmt, text, tensor, beside=4)


@pytest.mark.parametrize("number", NUMBERS, ids=hex)
def test_every_bfloat16(number: int) -> None:
    """Each beside an amax that is 0 to 7 binades above it."""
    bits = np.arange(F32.sign_bit >> 16, dtype=np.uint16)
    bits = bits[bits < BF16.inf_bits]
    rows = np.zeros((len(bits), 3), np.uint16)
    rows[:, 0] = np.minimum(bits + (bits % 8 << BF16.mantissa_bits), BF16.inf_bits - 1)
    rows[:, 1], rows[:, 2] = bits, bits | BF16.sign_bit
    fmt = block_format("nvfp4")
    tensor = TensorScale(number)
    for text in ("ocp", "ocp+rounding=toward_positive", "ocp+underflow_sign=dropped"):
        agree(rows, BF16, fmt, text, tensor)


def patterns(layout: FloatLayout, seed: int) -> np.ndarray:
    """Any patterns, and blocks of each binade, of zeros, of subnormal numbers and of specials."""
    random = np.random.default_rng(seed)
    rows = random.integers(0, 1 << layout.width, (600, 16), np.uint64)
    field = random.integers(0, (1 << layout.exponent_bits) - 1, (400, 1))
    field = np.clip(field - random.integers(0, 6, (400, 16)), 0, None).astype(np.uint64)
    below = np.uint64(layout.sign_bit | (1 << layout.mantissa_bits) - 1)
    rows[200:] = rows[200:] & below | field << np.uint64(layout.mantissa_bits)
    rows[::7, ::2] &= np.uint64(layout.sign_bit)
    rows[:40] &= below
    rows[40:80] &= np.uint64(layout.sign_bit)
    rows[80, 3], rows[81, 3], rows[82, 3] = layout.inf_bits, layout.nan_bits, layout.inf_bits + 1
    return rows.astype(layout.uint)


@pytest.mark.parametrize("layout", LAYOUTS, ids=lambda layout: layout.name)
def test_any_patterns_of_two_levels(layout: FloatLayout) -> None:
    for name in TWO_LEVELS:
        fmt = OTHER_BLOCK_FORMATS[name]
        for number in NUMBERS if fmt.tensor_scale else (0,):
            for text, beside in (("ocp", 1), ("ocp+rounding=ties_to_zero+block_nan=ignore", 3)):
                tensor = tensor_of(fmt, number)
                agree(patterns(layout, number), layout, fmt, text, tensor, beside=beside)


# Stochastic rounding.


def carries(x: np.ndarray, width: int, fmt: BlockFormat, seed: int) -> np.ndarray:
    """Random bits at both ends, in the middle, any, and beside the carry of blocks of scale 1."""
    random = np.random.default_rng(seed)
    with np.errstate(invalid="ignore", over="ignore"):
        magnitude = np.nan_to_num(np.abs(x.astype(np.float64)))
        element = fmt.element
        exponent = np.maximum(np.frexp(magnitude)[1] - 1, element.emin) - element.mantissa_bits
        part = np.mod(magnitude * 2.0 ** -exponent.astype(float), 1)
        carry = np.rint((1 - part) * 2.0**width).astype(np.int64)
    carry += random.integers(-1, 2, x.shape)
    any_bits = random.integers(0, 1 << width, x.shape)
    ends = random.choice(np.array([0, (1 << width) - 1, 1 << width - 1]), x.shape)
    which = random.integers(0, 4, x.shape)
    return np.clip(np.choose(which, [ends, any_bits, carry, carry]), 0, (1 << width) - 1)


def drawn(layout: FloatLayout, seed: int) -> np.ndarray:
    """Blocks of numbers below 6 * 2**k, many of them with few bits, the largest 4 * 2**k."""
    random = np.random.default_rng(seed)
    few = random.integers(0, 97, (256, 32)) / 16
    x = np.where(random.random(few.shape) < 0.5, few, random.uniform(0, 6, few.shape))
    x[:, 0] = 6
    x *= random.choice([-1, 1], x.shape)
    scale = np.where(random.random((256, 1)) < 0.7, 0, random.integers(-9, 8, (256, 1)))
    return (x * 2.0**scale).astype(layout.dtype)


CHOICES = (
    "",
    "+overflow=nonsaturating",
    "+zero_block=nan+underflow_sign=dropped",
    "+zero_sign=dropped+overflow=propagate+int8_range=full",
    "+scale_underflow=flush+scaling=reciprocal_flushed+block_inf=largest_scale+block_nan=ignore",
)


@pytest.mark.sampled(8)
@pytest.mark.parametrize("width", [*range(1, 33)])
def test_every_width_of_random_bits(width: int) -> None:
    """At carries, of every variant and float type, with patterns of all kinds."""
    others = (one for one in OTHER_BLOCK_FORMATS.values() if not one.scale.is_float32)
    formats = [*BLOCK_FORMATS.values(), *others]
    for i, fmt in enumerate(formats):
        for j, layout in enumerate(LAYOUTS):
            turn = width + i + j
            text = f"ocp+rounding=stochastic_{'abc'[turn % 3]}{CHOICES[turn % 5]}"
            if not fmt.scale.is_power:
                powers = "scale_underflow=flush", "scaling=reciprocal_flushed", "zero_block=nan"
                for power in powers:
                    text = text.replace(f"+{power}", "")
            tensor = tensor_of(fmt, NUMBERS[turn % 4])
            for rows in (drawn(layout, turn).view(layout.uint), patterns(layout, turn)):
                bits = carries(rows.view(layout.dtype), width, fmt, turn)
                draw = Stochastic("abc"[turn % 3], bits, width)
                agree(rows, layout, fmt, text, tensor, draw, beside=1 + turn % 2)


@pytest.mark.parametrize("variant", "abc")
@pytest.mark.parametrize("name", BLOCK_FORMATS)
def test_powers_of_two_are_those_of_the_twin(name: str, variant: str) -> None:
    fmt = BLOCK_FORMATS[name]
    for width in (8, 16, 32):
        x = drawn(F32, width)[:40]
        bits = carries(x, width, fmt, width).astype(np.uint32)
        rounding = f"stochastic_{variant}"
        policy = Policy.parse(f"ocp+rounding={rounding}")
        by = estimates(fmt, policy, F32, None, width)
        assert by is not None
        draw = Stochastic(variant, bits[..., np.newaxis], width)
        rows = x.view(np.uint32)
        scales, codes, left = by.quantized(rows[..., np.newaxis], F32, draw)
        assert not left.any()
        for row, random, scale, found in zip(rows, bits, scales, codes, strict=True):
            numbers = {"random_bits": random.tolist(), "random_width": width}
            want = exact.quantize(row.tolist(), "f32", ELEMENT[name], rounding, **numbers)
            assert (int(scale[0]), found[:, 0].tolist()) == want


@pytest.mark.parametrize("width", [8, 16, 32])
def test_two_levels_carry_where_fractions_say(width: int) -> None:
    """E2M1 by the definition of the variants, one unit of R on both sides of each carry."""
    number = 0x3B124925
    t = Fraction(float(np.uint32([number]).view(np.float32)[0]))
    values = [Fraction(v) for v in (0, 0.5, 1, 1.5, 2, 3, 4, 6)]
    random = np.random.default_rng(width)
    x = random.uniform(-1, 1, (300, 16)).astype(np.float32)
    x[:, 0] = 1
    bits = np.zeros(x.shape, np.int64)
    blocks = mxref.quantize(np.ones(16, np.float32), "nvfp4", tensor_scale=TensorScale(number))
    scale = mxref.decode(blocks.scale_codes, "ue4m3", float)[0]
    d = Fraction(float(scale)) * t
    parts = {}
    for place, one in np.ndenumerate(x):
        q = abs(Fraction(float(one)) / d)
        n = max(i for i, value in enumerate(values) if value <= q)
        unit = values[n + 1] - values[n] if n < 7 else Fraction(2)
        parts[place] = n, (q - values[n]) / unit
        carry = math.ceil((1 - parts[place][1]) * 2**width)
        bits[place] = min(max(carry + int(random.integers(-1, 2)), 0), 2**width - 1)
    for variant in "abc":
        found = mxref.quantize(
            np.tile(x, (2, 1)),  # enough for estimates
            "nvfp4",
            rounding=f"stochastic_{variant}",
            random_bits=np.tile(bits, (2, 1)),
            random_width=width,
            tensor_scale=TensorScale(number),
        ).codes
        assert (found[:300] == found[300:]).all()
        for place, (n, nu) in parts.items():
            r = int(bits[place])
            sums = {
                "a": math.floor(nu * 2**width) + r >= 2**width,
                "b": math.floor(nu * 2 ** (width + 1)) + 2 * r + 1 >= 2 ** (width + 1),
                "c": round(nu * 2**width) + r >= 2**width,
            }
            want = min(n + sums[variant], 7) | (8 if x[place] < 0 else 0)
            assert found[place] == want, (variant, place)


def test_random_bits_of_any_dtype_and_shape() -> None:
    x = np.random.default_rng(1).standard_normal((64, 128)).astype(np.float32)
    for name, width in (("nvfp4", 8), ("mxfp4_e2m1", 8), ("mxfp8_e4m3", 5)):
        bits = np.random.default_rng(2).integers(0, 1 << width, 128)

        def codes(random: np.ndarray, format: str = name, n: int = width) -> np.ndarray:
            how = {"rounding": "stochastic_b", "random_bits": random, "random_width": n}
            return mxref.quantize(x, format, **how).codes

        want = codes(np.tile(bits, (64, 1)))
        for dtype in (np.uint8, np.int16, np.uint32, np.int32, np.uint64):
            assert (codes(bits.astype(dtype)) == want).all()
        few = [
            mxref.quantize(
                row,
                name,
                rounding="stochastic_b",
                random_bits=bits,
                random_width=width,
                tensor_scale=mxref.quantize(x, name).tensor_scale,
            ).codes
            for row in x
        ]
        assert (np.stack(few) == want).all()


@pytest.mark.parametrize("layout", LAYOUTS[:3], ids=lambda layout: layout.name)
def test_few_numbers_are_estimated_too(
    layout: FloatLayout, monkeypatch: pytest.MonkeyPatch
) -> None:
    """A block takes no longer way than a thousand."""
    x = np.random.default_rng(3).standard_normal((3, 40)).astype(layout.dtype)
    drawn = {"rounding": "stochastic_b", "random_width": 3, "random_bits": np.arange(40) % 8}
    calls = [("nvfp4", {"tensor_scale": 0.375}), ("fp4_ue4m3", {}), ("mxfp4_e2m1", drawn)]
    want = [mxref.quantize(np.tile(x, (64, 1)), name, **how) for name, how in calls]

    def refuse(*_: object) -> None:
        raise AssertionError

    monkeypatch.setattr(quantization, "quantize_rows", refuse)
    for (name, how), many in zip(calls, want, strict=True):
        few = mxref.quantize(x, name, **how)
        assert (few.codes == many.codes[:3]).all()
        assert (few.scale_codes == many.scale_codes[:3]).all()


def test_what_is_not_estimated() -> None:
    nvfp4, mxfp4 = block_format("nvfp4"), block_format("mxfp4_e2m1")
    one = TensorScale(0x3F800000)
    stochastic = Policy.parse("ocp+rounding=stochastic_a")
    before = Policy.parse("ocp+rounding=stochastic_a+clamp=before_rounding")
    assert estimates(nvfp4, Policy(), F32, one)
    assert estimates(nvfp4, stochastic, F32, one, 8)
    assert estimates(mxfp4, before, F32, None, 8)
    assert estimates(mxfp4, Policy(), F32) is None
    assert estimates(nvfp4, Policy.parse("ocp+scale_arithmetic=torchao"), F32, one) is None
    assert estimates(nvfp4, before, F32, one, 8) is None
    assert estimates(mxfp4, before, F64, None, 8) is None
    for beyond in (1, 0x7F123457):
        assert estimates(nvfp4, Policy(), F32, TensorScale(beyond)) is None
    assert estimates(nvfp4, Policy(), F64, TensorScale(1))
    far = dataclasses.replace(nvfp4, element=mxref.formats.ElementFormat("far", 2, 1, 120))
    assert estimates(far, Policy(), F64, one) is None


def test_every_index_of_the_tables_of_patterns() -> None:
    """Both signs of every difference, under a scale with each significand, and what is beyond."""
    fmt, tensor = block_format("nvfp4"), TensorScale(0x3A5F1D37)
    tables = pattern_tables(fmt, Policy(), tensor)
    assert tables is not None
    for scale in range(64, 72):
        divisor = mxref.decode([scale], fmt.scale, np.float64) * tensor.value
        bits = int(tables.floors.array[scale]) + np.arange(-200, 4096 + 200)
        bits = np.concatenate([bits, bits | BF16.sign_bit]).astype(np.uint16)
        quotients = (bits.astype(np.uint32) << 16).view(np.float32) / divisor  # in float64
        # A largest element of 6 times the divisor gives this scale.
        inside = np.abs(quotients) <= 6.0
        top = (6 * divisor).astype(BF16.dtype).view(np.uint16)
        lanes = np.append(top, bits[inside]).reshape(1, -1, 1)
        scales, codes, left = tables.quantized(lanes, BF16)
        assert (scales == scale, left) == (True, False)
        assert (codes[0, 1:, 0] == mxref.encode(quotients[inside], "e2m1")).all()
        assert inside.sum() > 1200


def test_an_element_far_above_its_scale_by_patterns() -> None:
    """Scales end at 448, elements do not."""
    fmt = block_format("nvfp4")
    rows = np.array([[0x3F80, 0xBF80, 0x7F7F, 0x4700], [0x7F7F, 0xFF7F, 0, 0x8000]], np.uint16)
    agree(rows, BF16, fmt, "ocp", TensorScale(0x3A5F1D37))
    tables = pattern_tables(fmt, Policy(), TensorScale(0x3A5F1D37))
    assert tables is not None
    assert not tables.quantized(rows[..., np.newaxis], BF16)[2].any()


def test_which_tensors_are_looked_up_by_patterns(monkeypatch: pytest.MonkeyPatch) -> None:
    x = np.random.default_rng(5).standard_normal((513, 1024)).astype(BF16.dtype)
    for axis, name in ((-1, "nvfp4"), (0, "nvfp4"), (-1, "fp4_ue5m3")):
        how = {"tensor_scale": 0.375} if name == "nvfp4" else {}
        blocks = mxref.quantize(x, name, axis=axis, **how)
        with monkeypatch.context() as patch:
            patch.setattr(quantization, "pattern_tables", lambda *_: None)
            assert mxref.quantize(x, name, axis=axis, **how) == blocks
    policy, one, nvfp4 = Policy(), TensorScale(0x3F800000), block_format("nvfp4")
    for other in ("e4m3", "e5m2"):
        element = mxref.formats.element_format(other)
        taken = pattern_tables(dataclasses.replace(nvfp4, element=element), policy, one)
        assert (taken is None) == (other == "e5m2")  # whose binades are too many
    assert pattern_tables(nvfp4, Policy.parse("ocp+rounding=to_odd"), one) is None
    assert pattern_tables(nvfp4, policy, TensorScale(0x7C123457)) is None
    assert pattern_tables(block_format("mxfp4_e2m1"), policy) is None
    fine = dataclasses.replace(nvfp4.scale, name="fine", exponent_bits=3, mantissa_bits=4)
    assert pattern_tables(dataclasses.replace(nvfp4, scale=fine), policy, one) is None


def test_few_estimates_do_not_decide() -> None:
    """One in a thousand of any numbers: none would decide under a wider margin."""
    keys = estimated.key_table(block_format("nvfp4").element, Policy().element)
    numbers = np.random.default_rng(0).uniform(-6, 6, 1 << 16).astype(np.float32)
    codes = np.empty(numbers.size, np.uint8)
    places, _ = keys.write(numbers.view(np.uint32), codes)
    assert places.size < numbers.size >> 10
    assert (codes == mxref.encode(numbers, "e2m1"))[~np.isin(np.arange(codes.size), places)].all()
