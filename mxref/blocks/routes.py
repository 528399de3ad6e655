"""Quantization of blocks: by keys or by quotients where these are exact, else by integer parts."""

from __future__ import annotations

import dataclasses
import functools
from typing import Any

import numpy as np
from numpy.typing import NDArray

from mxref.bits.float32 import F64Array, as_float32, wide
from mxref.bits.floats import F16, F32, F64, U8, Bool, FloatLayout, Stochastic, split
from mxref.blocks.arithmetics import ARITHMETICS, give_signs, numbers
from mxref.blocks.estimates import Estimates
from mxref.blocks.exact_scales import block_scales, scaled
from mxref.blocks.key_tables import SMALL, SPECIAL, key_tables, keyed_layout
from mxref.blocks.keyed import quantize_keyed, times_2_to_64
from mxref.blocks.named import quantize_named
from mxref.blocks.pattern_tables import PatternTables
from mxref.blocks.two_level import TensorScales
from mxref.formats.catalog import BlockFormat, ElementFormat
from mxref.numbers.element import FEW, encode_parts, encoded, nan_error
from mxref.numbers.scale_steps import FLUSHED, OTHER, Words, scale_codes
from mxref.policy import choices as c
from mxref.policy.groups import ElementPolicy
from mxref.policy.policy import Policy

_BYTE = np.dtype(np.uint8)


def takes_keys(fmt: BlockFormat, policy: Policy) -> bool:
    """Whether `quantize_lanes` takes these blocks: powers of two, a deterministic rounding."""
    return fmt.scale.is_power and not policy.element.rounding.stochastic


def quantize_lanes(
    lanes: NDArray[Any],
    layout: FloatLayout,
    fmt: BlockFormat,
    policy: Policy,
    out: U8 | None = None,
) -> tuple[U8, U8]:
    """Scale codes (m, n) and element codes of blocks along the middle axis, (m, size, n).

    The element codes are written to `out`, C-contiguous memory, if it is given.
    """
    words, codes, plain = _keyed(lanes, layout, fmt, policy, out=out)
    if not plain:
        rows, codes_of_rows = lanes.swapaxes(1, 2), codes.swapaxes(1, 2)
        for word, way in ((SPECIAL, _special_rows), (OTHER, quantize_rows)):
            some = words == word
            if some.any():
                words[some], codes_of_rows[some] = way(rows[some], layout, fmt, policy)
    return words.astype(_BYTE), codes


def _keyed(
    lanes: NDArray[Any],
    layout: FloatLayout,
    fmt: BlockFormat,
    policy: Policy,
    largest: Bool | None = None,
    out: U8 | None = None,
) -> tuple[Words, U8, bool]:
    """Scale words and codes by keys, also of blocks under small scales."""
    if keyed_layout(fmt.element, layout) != layout:
        lanes, layout = as_float32(lanes, layout), F32
    tables = key_tables(fmt.element, policy.scale, policy.element, layout, fmt.scale)
    words, codes, plain = quantize_keyed(lanes, tables, largest, out)
    if plain:
        return words, codes, plain
    small = words == SMALL
    if small.any():
        rows = times_2_to_64(as_float32(lanes.swapaxes(1, 2)[small], layout))[..., np.newaxis]
        choices = fmt.element, policy.scale, policy.element, F32, fmt.scale
        found = quantize_keyed(rows, key_tables(*choices, is_scaled_up=True))
        words[small], codes.swapaxes(1, 2)[small] = found[0][:, 0], found[1][..., 0]
    return words, codes, plain


def _special_rows(
    rows: NDArray[Any], layout: FloatLayout, fmt: BlockFormat, policy: Policy
) -> tuple[Words, U8]:
    """Scale words and codes of rows with NaN or infinity, whose codes are written at the end."""
    word, size = layout.uint.type, rows.shape[1]
    finite = rows.copy()
    flat = finite.reshape(-1)
    where = np.flatnonzero((flat & word(layout.sign_bit - 1)) >= word(layout.inf_bits))
    negative = flat[where] >= word(layout.sign_bit)
    is_nan = flat[where] & word(layout.sign_bit - 1) > word(layout.inf_bits)
    flat[where] &= word(layout.sign_bit)
    has_inf, has_nan = np.zeros((2, len(rows)), bool)
    has_inf[where[~is_nan] // size] = has_nan[where[is_nan] // size] = True
    largest = has_inf & (policy.scale.block_inf is c.BlockInf.LARGEST_SCALE)
    found = _keyed(finite[..., np.newaxis], layout, fmt, policy, largest[:, np.newaxis])
    words, codes = found[0][:, 0], found[1][..., 0]
    special = _special_codes(fmt.element, policy.element)[2 * is_nan + negative]
    number = words[where // size] < FLUSHED
    codes.reshape(-1)[where[number]] = special[number]
    nan_block = has_inf & (policy.scale.block_inf is c.BlockInf.NAN_BLOCK)
    nan_block |= has_nan & (policy.scale.block_nan is c.BlockNaN.NAN_BLOCK)
    refused = has_nan & bool(nan_error(fmt.element, policy.element))
    words[nan_block | refused] = OTHER
    return words, codes


@functools.lru_cache(maxsize=256)
def _special_codes(fmt: ElementFormat, policy: ElementPolicy) -> U8:
    """Codes of +infinity, -infinity, +NaN and -NaN."""
    inf, sign = F64.inf_bits, F64.sign_bit
    patterns = np.array([inf, inf | sign, F64.nan_bits, F64.nan_bits | sign], np.uint64)
    return encode_parts(split(patterns, F64), fmt, policy)


def quantize_two_levels(
    lanes: NDArray[Any],
    layout: FloatLayout,
    fmt: BlockFormat,
    policy: Policy,
    tensor: TensorScales | None = None,
    draw: Stochastic | None = None,
    by: Estimates | PatternTables | None = None,
    out: U8 | None = None,
) -> tuple[U8, U8] | None:
    """`quantize_lanes` by estimates or in float32, and of other blocks by rows.

    None if all must go by rows. Without `out` the next call overwrites the codes.
    """
    if layout == F16 and by is not None:
        lanes, layout = as_float32(lanes, layout), F32
    found = by.quantized(lanes, layout, draw, out) if by else None
    found = found or quantize_named(lanes, layout, fmt, policy, tensor, out)
    if found is None:
        return None
    scales, codes, left = found
    if left.any():
        rows = lanes.swapaxes(1, 2)[left]
        some = draw and dataclasses.replace(draw, bits=draw.bits.swapaxes(1, 2)[left])
        rest = quantize_rows(rows, layout, fmt, policy, tensor and tensor.at(left), some)
        scales[left], codes.swapaxes(1, 2)[left] = rest
    return scales, codes


def quantize_rows(
    rows: NDArray[Any],
    layout: FloatLayout,
    fmt: BlockFormat,
    policy: Policy,
    tensor: TensorScales | None = None,
    draw: Stochastic | None = None,
) -> tuple[U8, U8]:
    """Scale codes and element codes of any blocks, one a row."""
    if policy.scale.scale_arithmetic is not c.ScaleArithmetic.EXACT:
        return _float32_rows(wide(rows, layout), layout, fmt, policy, tensor, draw)
    if fmt.scale.is_power or layout == F64 or draw is not None or rows.size < FEW:
        return _exact_rows(rows, layout, fmt, policy, tensor, draw)
    x = wide(rows, layout)
    amax = np.abs(x).max(axis=1)
    scales, codes = _quotient_rows(x, amax, fmt, policy, tensor)
    special = ~(amax < np.inf)
    if special.any():
        some = tensor and tensor.at(special)
        rest = _exact_rows(rows[special], layout, fmt, policy, some, draw)
        scales[special], codes[special] = rest
    return scales, codes


def _quotient_rows(
    x: F64Array, amax: F64Array, fmt: BlockFormat, policy: Policy, tensor: TensorScales | None
) -> tuple[U8, U8]:
    """Blocks of numbers of 24 bits at most by float64 division, which never misses a threshold.

    A threshold T, the largest element and the scale have at most 9 bits, the tensor's scale has 24,
    so that T times the divisor d has at most 42. Where n / d is not T, n - T d is at least one unit
    of the last place of n or of T d, so that n / d is off T by at least one part in 2**42. float64
    division is off by less than one in 2**52 in any rounding mode, and is exact where n / d is T.
    All numbers are normal, also those of formats with the largest bias: from 2**-850 to 2**850.
    """
    t = np.ones(1) if tensor is None else tensor.numbers
    with np.errstate(all="ignore"):
        scales = encoded(amax / (fmt.element.max_normal * t), fmt.scale, ElementPolicy())
        flushed = scales == 0
        quotients = x / np.where(flushed, 1.0, numbers(fmt.scale)[scales] * t)[:, np.newaxis]
        if flushed.any():
            quotients[flushed] *= 0.0
    return scales, encoded(quotients, fmt.element, policy.element)


def _exact_rows(
    rows: NDArray[Any],
    layout: FloatLayout,
    fmt: BlockFormat,
    policy: Policy,
    tensor: TensorScales | None,
    draw: Stochastic | None,
) -> tuple[U8, U8]:
    """`quantize_rows` in integer parts, where every number is exact."""
    parts = split(rows, layout)
    # Magnitude patterns are ordered as the numbers are, with infinity and NaN above them all.
    magnitude = rows & layout.uint.type(layout.sign_bit - 1)
    finite = np.where(parts.is_inf | parts.is_nan, layout.uint.type(0), magnitude)
    amax = finite.max(axis=1)
    if fmt.scale.is_power:
        result = scale_codes(amax, layout, fmt.element, policy.scale, fmt.scale)
        code, from_amax, flushed = result.codes, result.is_nan, result.flushed
    else:
        code = block_scales(split(amax, layout), fmt, tensor)
        from_amax, flushed = np.zeros(code.shape, bool), code == 0
    has_inf, has_nan = parts.is_inf.any(axis=1), parts.is_nan.any(axis=1)
    if policy.scale.block_inf is c.BlockInf.LARGEST_SCALE:
        code = np.where(has_inf, fmt.scale.max_code, code)
        from_amax, flushed = from_amax & ~has_inf, flushed & ~has_inf
    nan_block = from_amax | (has_nan & (policy.scale.block_nan is c.BlockNaN.NAN_BLOCK))
    nan_block |= has_inf & (policy.scale.block_inf is c.BlockInf.NAN_BLOCK)

    numbers = ~flushed[:, np.newaxis]  # in a flushed block every element is a zero
    is_inf, is_nan = parts.is_inf & numbers, parts.is_nan & numbers
    if policy.scale.scaling is c.Scaling.RECIPROCAL_FLUSHED:  # 1 / 2**127 is flushed to 0
        numbers = numbers & (code - fmt.scale.bias < F32.bias)[:, np.newaxis]
        is_inf, is_nan = is_inf & numbers, is_nan | (is_inf & ~numbers)
    significand = parts.significand * numbers
    if fmt.scale.is_power:
        exponent = parts.exponent - (code - fmt.scale.bias)[:, np.newaxis]
        quotients = dataclasses.replace(parts, significand=significand, exponent=exponent)
    else:
        whole = dataclasses.replace(parts, significand=significand)
        quotients = scaled(whole, code, fmt, tensor)
    quotients = dataclasses.replace(quotients, is_inf=is_inf, is_nan=is_nan)
    refuse_nan(is_nan[~nan_block], fmt, policy)
    codes = encode_parts(quotients, fmt.element, policy.element, draw)
    ones = policy.scale.nan_block_codes is c.NaNBlockCodes.ONES
    codes[nan_block] = fmt.element.code_count - 1 if ones else 0
    if fmt.scale.nan_code is not None:
        code = np.where(nan_block, fmt.scale.nan_code, code)
    elif nan_block.any():
        raise ValueError(
            f"values must be finite for {fmt.name}, whose scale {fmt.scale.name} has no NaN for "
            "a whole block, got NaN or infinity: choose another block_nan or block_inf"
        )
    return code.astype(np.uint8), codes


def _float32_rows(
    x: F64Array,
    layout: FloatLayout,
    fmt: BlockFormat,
    policy: Policy,
    tensor: TensorScales | None,
    draw: Stochastic | None,
) -> tuple[U8, U8]:
    """`quantize_rows` by one of the named arithmetics."""
    arithmetic = ARITHMETICS[policy.scale.scale_arithmetic]
    largest = np.maximum if arithmetic.nan_in_amax else np.fmax
    with np.errstate(all="ignore"):
        amax = largest.reduce(np.abs(x), axis=1, initial=0.0)
        stored = None if tensor is None else tensor.numbers[:, np.newaxis]
        scales, quotients = arithmetic.blocks(x, amax[:, np.newaxis], stored, fmt, layout)
        give_signs(quotients, x)
    refuse_nan(np.isnan(quotients), fmt, policy)
    if draw is None and x.size >= FEW:
        return scales.reshape(-1), encoded(quotients, fmt.element, policy.element)
    parts = split(quotients.view(np.uint64), F64)
    return scales.reshape(-1), encode_parts(parts, fmt.element, policy.element, draw)


def refuse_nan(is_nan: Bool, fmt: BlockFormat, policy: Policy) -> None:
    """Refuse elements that are NaN where the policy makes them errors.

    Raises:
        ValueError: there is one.
    """
    message = nan_error(fmt.element, policy.element)
    if message and is_nan.any():
        raise ValueError(message)
