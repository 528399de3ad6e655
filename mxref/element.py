"""Element codes: numbers to codes and back, one rounding, integers inside."""

from __future__ import annotations

import functools
from typing import Any

import numpy as np
from numpy.typing import ArrayLike, DTypeLike, NDArray

from mxref._bits import (
    CHUNK,
    I64,
    U8,
    Bits,
    FloatLayout,
    Floats,
    Parts,
    bits_of,
    compose,
    floats_from,
    layout_of,
    odd_key,
    round_to_code,
    split,
)
from mxref._codes import CodeFormat, codes_of, parts_of
from mxref.formats import ElementFormat, element_format
from mxref.policy import ElementPolicy, Overflow, Policy, resolve

__all__ = ["decode", "encode"]

#: The choices that encoding an element reads.
READS = ("rounding", "overflow")


def encode(
    values: ArrayLike, format: str | ElementFormat, policy: str | Policy = "ocp", **choices: str
) -> U8:
    """Element codes of numbers, each rounded once, directly from its own type.

    Exact for every float64, float32, float16 and bfloat16, subnormals included, whatever the
    processor's rounding and flushing modes are.

    Args:
        values: float64, float32, float16 or bfloat16, any shape and byte order.
        format: element format or its name.
        policy: a `Policy` or its spelling.
        choices: `rounding`, `overflow`: single choices of the policy.

    Returns:
        uint8 codes of the same shape. NaN becomes 7F in E4M3 and E5M2 and the largest number
        elsewhere; infinities and numbers that round past the largest one follow `overflow`;
        -0 and negative underflow keep their sign, except in INT8, which has no -0.

    Raises:
        TypeError: values of another type.
        ValueError: unknown format, policy or choice.

    Source: OCP MX v1.0 §5.3; OFP8 Rev 1.0 §5.2; SPEC_NOTES N11, N13, N14, N15, N17, N25, N36.

    >>> encode(np.float32([0.3, 5.0, -7.1, np.inf]), "e2m1")
    array([ 1,  6, 15,  7], dtype=uint8)
    >>> encode(np.float32([480.0]), "e4m3", overflow="nonsaturating")
    array([127], dtype=uint8)
    """
    fmt = element_format(format)
    chosen = resolve("encode", READS, policy, choices).element
    bits, layout = bits_of(values)
    return encode_bits(bits, layout, fmt, chosen)


def decode(codes: ArrayLike, format: str | ElementFormat, dtype: DTypeLike = np.float32) -> Floats:
    """The numbers that element codes stand for; exact in every supported dtype.

    Args:
        codes: unsigned integers below 2**bits, or an array of the format's ml_dtypes type (int8 for
            INT8), any shape.
        format: element format or its name.
        dtype: float64, float32, float16 or bfloat16.

    Returns:
        Floats of the same shape. NaN codes give the positive quiet NaN; INT8 80 gives -2.

    Raises:
        TypeError: codes or dtype of another type.
        ValueError: unknown format, or a code out of range.

    Source: OCP MX v1.0 §5.3; SPEC_NOTES N13, N15.

    >>> decode([0x1, 0x7, 0xF, 0x8], "e2m1")
    array([ 0.5,  6. , -6. , -0. ], dtype=float32)
    """
    fmt = element_format(format)
    return decode_codes(codes_of(codes, fmt), fmt, layout_of(dtype))


def encode_bits(bits: Bits, layout: FloatLayout, fmt: ElementFormat, policy: ElementPolicy) -> U8:
    """`encode` on bit patterns: an odd-rounded key looks the code up."""
    table, drop = _encode_table(fmt, layout, policy)
    flat = bits.reshape(-1)
    codes = np.empty(flat.size, np.uint8)
    for start in range(0, flat.size, CHUNK):
        part = slice(start, start + CHUNK)
        np.take(table, odd_key(flat[part], drop), out=codes[part], mode="wrap")
    return codes.reshape(bits.shape)


def decode_codes(codes: U8, fmt: CodeFormat, layout: FloatLayout) -> Floats:
    """The numbers that element or scale codes stand for, rounded once to the layout."""
    return floats_from(np.asarray(_decode_table(fmt, layout)[codes]), layout)


def encode_parts(parts: Parts, fmt: ElementFormat, policy: ElementPolicy) -> U8:
    """Element codes of numbers in integer parts: the one place where an element is rounded."""
    magnitude = round_to_code(
        parts.significand,
        parts.exponent,
        parts.negative,
        fmt.mantissa_bits,
        fmt.emin,
        policy.rounding.increments(),
    )
    magnitude = np.where(
        parts.is_inf | (magnitude > fmt.max_code), _overflow_code(fmt, policy.overflow), magnitude
    )
    nan_code = fmt.max_code if fmt.nan_code is None else fmt.nan_code
    magnitude = np.where(parts.is_nan, nan_code, magnitude)
    # A NaN carries no sign, whether it came in or was made by overflow (SPEC_NOTES N13).
    negative = parts.negative & ~parts.is_nan & (magnitude != fmt.nan_code)
    return _with_sign(magnitude, negative, fmt)


def _overflow_code(fmt: ElementFormat, overflow: Overflow) -> int:
    if overflow is Overflow.SATURATE:
        return fmt.max_code
    specials = [code for code in (fmt.inf_code, fmt.nan_code) if code is not None]
    return specials[0] if specials else fmt.max_code


def _with_sign(magnitude: I64, negative: NDArray[np.bool_], fmt: ElementFormat) -> U8:
    if fmt.twos_complement:
        codes = np.where(negative, -magnitude, magnitude) & (fmt.code_count - 1)
    else:
        codes = magnitude | np.where(negative, fmt.sign_bit, 0)
    return codes.astype(np.uint8)


@functools.lru_cache(maxsize=128)
def _encode_table(fmt: ElementFormat, layout: FloatLayout, policy: ElementPolicy) -> tuple[U8, int]:
    """Codes by key, and how many low bits the key drops.

    A key keeps two fraction bits more than the target, and more again where the target's
    subnormals reach below those of the source; it is then itself a float of a shorter layout.
    """
    keep = fmt.mantissa_bits + 2 + max(0, layout.emin - fmt.emin)
    drop = max(0, layout.mantissa_bits - keep)
    short = FloatLayout("key", layout.exponent_bits, layout.mantissa_bits - drop)
    table = encode_parts(split(np.arange(1 << short.width), short), fmt, policy)
    table.flags.writeable = False
    return table, drop


@functools.cache
def _decode_table(fmt: CodeFormat, layout: FloatLayout) -> NDArray[Any]:
    return compose(parts_of(fmt), layout)
