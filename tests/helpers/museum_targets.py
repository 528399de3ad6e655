"""Wrong implementations with one bug each, written from the museum's texts, not from its code.

Numbers are looked up in the table of a format's values and compared in float64, which holds them
and their midpoints exactly.
"""

from __future__ import annotations

import functools
from collections.abc import Callable
from typing import Any

import numpy as np
from right_calls import encode_stochastic

import mxref

Array = Any
Function = Callable[..., Any]


@functools.cache
def table(format: str) -> Array:
    """The values of the magnitude codes of a format, largest last; then what would follow."""
    top = {"e5m2": 0x7B, "e4m3": 0x7E, "e3m2": 0x1F, "e2m3": 0x1F, "e2m1": 7, "int8": 127}[format]
    values = mxref.decode(np.arange(top + 1), format, np.float64)
    return np.append(values, 2 * values[-1] - values[-2])


#: The sign bit and the code of the smallest normal number.
SIGN = {"e5m2": 0x80, "e4m3": 0x80, "e3m2": 0x20, "e2m3": 0x20, "e2m1": 8}
NORMAL = {"e5m2": 4, "e4m3": 8, "e3m2": 4, "e2m3": 8, "e2m1": 2}


def encoder(
    up: Callable[[Array, Array, Array, Array, str], Array],
    finish: Callable[[Array, Array, str], Array] = lambda codes, values, format: codes,
    signed: Callable[[Array, Array, str], Array] | None = None,
) -> Function:
    """An `encode` that rounds up where it is told: by code below, number, numbers around it."""

    def encode(values: Array, format: str) -> Array:
        x = np.abs(values.astype(np.float64))
        numbers = table(format)
        inside = np.where(x < numbers[-1], x, 0.0)
        below = np.searchsorted(numbers, inside, side="right") - 1
        with np.errstate(all="ignore"):
            rounds_up = up(below, inside, numbers[below], numbers[below + 1], format)
        codes = np.minimum(below + rounds_up, len(numbers) - 2)
        codes = np.where(x < numbers[-1], codes, len(numbers) - 2)
        if signed is not None:
            codes = signed(codes, values, format)
        else:
            codes = np.where(np.signbit(values.astype(np.float64)), codes | SIGN[format], codes)
        nan = {"e5m2": 0x7F, "e4m3": 0x7F}.get(format, len(numbers) - 2)
        codes = np.where(np.isnan(x), nan, codes)
        return finish(codes, values, format).astype(np.uint8)

    return encode


def nearest(below: Array, x: Array, low: Array, high: Array, format: str) -> Array:
    """Ties to even."""
    return (2 * x > low + high) | ((2 * x == low + high) & (below % 2 == 1))


def ties_away_in_normals(below: Array, x: Array, low: Array, high: Array, format: str) -> Array:
    """A1b."""
    tie = 2 * x == low + high
    smallest = table(format)[NORMAL[format]]
    return np.where(tie & (x >= smallest), True, nearest(below, x, low, high, format))


def ties_lost_in_subnormals(below: Array, x: Array, low: Array, high: Array, format: str) -> Array:
    """A7."""
    tie = 2 * x == low + high
    smallest = table(format)[NORMAL[format]]
    return np.where(tie & (x < smallest), True, nearest(below, x, low, high, format))


def ties_to_odd(below: Array, x: Array, low: Array, high: Array, format: str) -> Array:
    """A3."""
    return (2 * x > low + high) | ((2 * x == low + high) & (below % 2 == 0))


def remainder_up(below: Array, x: Array, low: Array, high: Array, format: str) -> Array:
    """A5."""
    return x != low


def more_than_half_is_a_tie(below: Array, x: Array, low: Array, high: Array, format: str) -> Array:
    """A8."""
    return (2 * x >= low + high) & (below % 2 == 1)


def flushed(codes: Array, values: Array, format: str) -> Array:
    """B1: below the smallest normal number nothing is left but the sign."""
    small = np.abs(values.astype(np.float64)) < table(format)[NORMAL[format]]
    return np.where(small, codes & SIGN[format], codes)


def largest_240(codes: Array, values: Array, format: str) -> Array:
    """B9a."""
    beyond = ((codes & 0x7F) > 0x77) & ~np.isnan(values.astype(np.float64))
    return np.where(beyond, (codes & 0x80) | 0x77, codes)


def positive_when_saturated(codes: Array, values: Array, format: str) -> Array:
    """B12: numbers that round past the largest one lose their sign."""
    x = values.astype(np.float64)
    numbers = table(format)
    beyond = np.abs(x) >= (numbers[-1] + numbers[-2]) / 2
    return np.where(beyond, len(numbers) - 2, codes)


def nan_to_zero(codes: Array, values: Array, format: str) -> Array:
    """B15."""
    return np.where(np.isnan(values.astype(np.float64)), 0, codes)


def last_bit_cleared(codes: Array, values: Array, format: str) -> Array:
    """A16, of numbers; what saturates at an odd code comes after it."""
    x = np.abs(values.astype(np.float64))
    numbers = table(format)
    inside = x < (numbers[-2] + numbers[-1]) / 2
    return np.where(inside, codes & ~1, codes)


def sign_and_magnitude(codes: Array, values: Array, format: str) -> Array:
    """F4."""
    return np.where(np.signbit(values.astype(np.float64)), codes | 0x80, codes)


def shift_modulo_32(values: Array, format: str) -> Array:
    """A17a, for E2M1 from float32: a subnormal is shifted by a count of five bits."""
    codes = mxref.encode(values, format)
    bits = values.view(np.uint32).astype(np.int64)
    field = bits >> 23 & 0xFF
    significand = (bits & 0x7FFFFF) | (np.minimum(field, 1) << 23)
    count = 22 + 127 - np.maximum(field, 1)  # 22 for the smallest normal number, 1.0
    shift = count & 31
    kept, rest = significand >> shift, significand & ((1 << shift) - 1)
    up = (2 * rest > 1 << shift) | ((2 * rest == 1 << shift) & (kept & 1 == 1))
    wrong = np.minimum(kept + up, 7) | (bits >> 28 & 8)
    return np.where(count >= 32, wrong, codes).astype(np.uint8)


# Scales.


def power_of(amax: Array) -> Array:
    """floor(log2 amax)."""
    return np.frexp(amax.astype(np.float64))[1] - 1


EMAX = {"e5m2": 15, "e4m3": 8, "e3m2": 4, "e2m3": 2, "e2m1": 2, "int8": 0}


def scale_chooser(exponent: Callable[[Array, str], Array], low: int = 0) -> Function:
    """A `shared_scale` with this exponent of amax."""

    def shared_scale(amax: Array, format: str) -> Array:
        x = amax.astype(np.float64)
        number = np.where(np.isfinite(x), x, 1.0)
        code = np.clip(exponent(np.where(number == 0, 1.0, number), format) + 127, low, 254)
        code = np.where(number == 0, low, code)
        return np.where(np.isfinite(x), code, 255).astype(np.uint8)

    return shared_scale


def log2_truncated(amax: Array, format: str) -> Array:
    """C2: rounds a negative logarithm up, which is floor + 1 unless it is whole."""
    power, mantissa = power_of(amax), np.frexp(amax)[0]
    return power + ((power < 0) & (mantissa != 0.5)) - EMAX[format]


emax_one_too_small = scale_chooser(lambda amax, format: power_of(amax) - EMAX[format] + 1)  # C5a
code_00_missing = scale_chooser(lambda amax, format: power_of(amax) - EMAX[format], low=1)  # C12


def even_of_fp4(amax: Array, format: str) -> Array:
    """C18: EVEN with one bit of fraction whatever the format is."""
    mantissa = 2 * np.frexp(amax)[0]
    return power_of(amax) - EMAX[format] + (mantissa >= 1.75)


def block_quantizer(scales: Callable[[Array, str], Array], encode: Function) -> Function:
    """A `quantize` to MX blocks from its two parts."""

    def quantize(values: Array, format: str) -> tuple[Array, Array]:
        element = format.split("_")[-1].replace("mx", "")
        x = values.astype(np.float64)
        codes = scales(x, element)
        with np.errstate(all="ignore"):
            elements = encode(np.ldexp(x, 127 - codes[:, np.newaxis].astype(int)), element)
        elements[codes == 255] = 0
        return codes, elements

    return quantize


def scales_of_magnitudes(shared_scale: Function = mxref.shared_scale) -> Function:
    """The scales of the largest magnitudes."""
    return lambda x, element: shared_scale(np.abs(x).max(axis=1), element)


def scales_of_signed(x: Array, element: str) -> Array:
    """C8: of the largest number, whatever is below it."""
    unseen = np.isnan(x) & np.signbit(x)
    return mxref.shared_scale(np.abs(np.where(unseen, -np.inf, x).max(axis=1)), element)


def in_order(*order: int) -> Function:
    """A right `quantize` whose codes are stored in another order, so many at a time."""

    def quantize(values: Array, format: str) -> tuple[Array, Array]:
        blocks = mxref.quantize(values, format)
        groups = blocks.codes.reshape(-1, len(order))
        return blocks.scale_codes, groups[:, list(order)].reshape(blocks.codes.shape)

    return quantize


# The way back.


def hidden_bit(codes: Array, format: str) -> Array:
    """E5: subnormal codes are read as normal numbers of the binade below."""
    right = mxref.decode(codes, format, np.float64)
    magnitude = codes & (SIGN[format] - 1)
    step = NORMAL[format]
    smallest = table(format)[step] / 2
    wrong = smallest * (1 + magnitude / step) * np.where(codes & SIGN[format], -1, 1)
    low = (magnitude < step) & (magnitude > 0)
    return np.where(low, wrong, right).astype(np.float32)


def e4m3_nan_is_480(codes: Array, format: str) -> Array:
    """E6."""
    sign = np.where(codes & 0x80, -1, 1)
    return np.where((codes & 0x7F) == 0x7F, 480.0 * sign, mxref.decode(codes, format)).astype("f4")


def linear_scale(codes: Array) -> Array:
    """E10."""
    return codes.astype(np.float32)


def divided(scales: Array, codes: Array, format: str, dtype: Any) -> Array:
    """D7."""
    values = mxref.decode(codes, format.split("_")[-1].replace("mx", ""), np.float64)
    exponent = 127 - scales.astype(int)[:, np.newaxis]
    with np.errstate(all="ignore"):
        result = np.ldexp(values, exponent)
        return np.where(scales[:, np.newaxis] == 255, np.nan, result).astype(dtype)


def saturated(scales: Array, codes: Array, format: str, dtype: Any) -> Array:
    """E9a: products that are too large are the largest number."""
    values = mxref.decode(codes, format.split("_")[-1], np.float64)
    result = np.ldexp(values, scales.astype(int)[:, np.newaxis] - 127)
    largest = float(np.finfo(np.float32).max)
    result = np.where(np.isinf(values), result, np.clip(result, -largest, largest))
    return np.where(scales[:, np.newaxis] == 255, np.nan, result).astype(dtype)


# Layouts.


def from_the_top(codes: Array, format: str) -> Array:
    """G2: FP6 as a stream of bits, each code from its top bit."""
    text = "".join(f"{code:06b}" for code in codes)
    text += "0" * (-len(text) % 24)
    return np.array([int(text[i : i + 8], 2) for i in range(0, len(text), 8)], np.uint8)


def last_code_high(codes: Array, format: str) -> Array:
    """G1b: an odd last code of FP4 goes into the high nibble."""
    pairs = zip(codes[::2], [*codes[1::2], 0], strict=False)
    packed = [int(low) | int(high) << 4 for low, high in pairs]
    if len(codes) % 2:
        packed[-1] <<= 4
    return np.array(packed, np.uint8)


def tile_rows_exchanged(scales: Array) -> Array:
    """G9: scale (r, c) of a tile at r // 4 * 16 + r % 4 * 4 + c."""
    rows, columns = scales.shape
    across = -(-columns // 4)
    packed = np.zeros(-(-rows // 128) * across * 512, np.uint8)
    for r in range(rows):
        for c in range(columns):
            tile = r // 128 * across + c // 4
            packed[tile * 512 + r % 128 // 4 * 16 + r % 4 * 4 + c % 4] = scales[r, c]
    return packed


def other_axis(values: Array, format: str, axis: int) -> tuple[Array, Array]:
    """G4b."""
    blocks = mxref.quantize(np.ascontiguousarray(values.T), format, axis=axis)
    return blocks.scale_codes.T, blocks.codes.T


def across_rows(values: Array, format: str, axis: int) -> tuple[Array, Array]:
    """G5: one row after the other, cut every 32 elements."""
    flat = np.array([x for line in (values if axis else values.T) for x in line], values.dtype)
    blocks = mxref.quantize(flat, format)
    return blocks.scale_codes, blocks.codes


def each_element(quantize: Function) -> Function:
    """A `quantize_tensor` by rows of blocks, of tensors that have blocks along their last axis."""

    def quantize_tensor(values: Array, format: str, axis: int) -> tuple[Array, Array]:
        lines = np.ascontiguousarray(values if axis else values.T)
        whole = np.zeros((len(lines), -(-lines.shape[1] // 32) * 32), lines.dtype)
        whole[:, : lines.shape[1]] = lines
        scales, codes = quantize(whole.reshape(-1, 32), format)
        sides = (scales.reshape(len(lines), -1), codes.reshape(len(lines), -1))
        return sides if axis else (sides[0].T, sides[1].T)

    return quantize_tensor


def half_of_the_bits(values: Array, random_bits: Array, random_width: int, format: str) -> Array:
    """S2: the random bits one place too low."""
    return encode_stochastic(values, random_bits // 2, random_width, format)
