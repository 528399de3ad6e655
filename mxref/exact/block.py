"""One block of numbers to a scale code and element codes, and one element back.

Source: OCP MX v1.0 §5.1 (value of an element), §6.3 (conversion).
"""

from __future__ import annotations

from collections.abc import Sequence

from mxref.exact.element import encode_number, ruler
from mxref.exact.floats import read_float, write_float
from mxref.exact.formats import (
    ELEMENTS,
    FLOATS,
    SCALE_BIAS,
    SCALE_NAN,
    bad,
    check_int,
    look_up,
    magnitude,
    split_sign,
)
from mxref.exact.scale import shared_scale


def quantize(
    x_bits: Sequence[int],
    source: str,
    format: str,
    rounding: str = "ties_to_even",
    overflow: str = "saturate",
    rule: str = "floor",
) -> tuple[int, list[int]]:
    """Return the scale code and the element codes of one block.

    x_bits: bits of the floats, one or more. source: f16, bf16, f32 or f64. format, rounding and
    overflow: as in `encode`; rule: as in `shared_scale`. Each element is x / 2**(scale - 127),
    rounded once.
    Special values: a block with Inf or NaN gives scale FF and element codes 00. A block of zeros
    gives scale 00; its elements keep their signs.
    Source: OCP MX v1.0 §6.3.

    >>> quantize([0x3F800000, 0xC0400000, 0x3E800000], "f32", "e2m1")  # 1, -3, 0.25
    (126, [4, 15, 1])
    """
    kind = look_up(FLOATS, "source", source)
    marks = ruler(format, rounding, overflow)
    if len(x_bits) == 0:
        raise bad("x_bits", "a block of one number or more", x_bits)
    for bits in x_bits:
        check_int("x_bits", bits, kind.bits)
    # Without their signs, bit patterns are in the order of their values, with Inf and NaN on top.
    amax_bits = max(bits % (1 << (kind.bits - 1)) for bits in x_bits)
    scale_code = shared_scale(amax_bits, source, format, rule)
    if scale_code == SCALE_NAN:
        return SCALE_NAN, [0] * len(x_bits)
    codes = []
    for bits in x_bits:
        sign, n, e = read_float(bits, kind)
        codes.append(encode_number(sign, n, e - (scale_code - SCALE_BIAS), marks))
    return scale_code, codes


def dequantize(scale_code: int, code: int, format: str, target: str = "f32") -> int:
    """Return the bits of element times scale, the exact product rounded once to nearest even.

    scale_code: 0 to 255. code: 0 to 2**bits - 1 of the format. format: an element format.
    target: f16, bf16, f32 or f64.
    Special values: scale FF, whatever the element, and a NaN element give the positive quiet NaN;
    an Inf element keeps its sign; a product beyond the target's range gives +-Inf; -0 and a
    negative product that rounds to zero give -0.
    Source: OCP MX v1.0 §5.1.

    >>> hex(dequantize(126, 0xF, "e2m1")), hex(dequantize(0xFE, 0x7F, "int8"))  # -3, 127 * 2**121
    ('0xc0400000', '0x7f7e0000')
    """
    fmt = look_up(ELEMENTS, "format", format)
    kind = look_up(FLOATS, "target", target)
    check_int("scale_code", scale_code, 8)
    check_int("code", code, fmt.bits)
    sign, magnitude_code = split_sign(code, fmt)
    if scale_code == SCALE_NAN or magnitude_code in fmt.nans:
        return kind.quiet_nan
    if magnitude_code == fmt.infinity:
        return kind.infinity + (sign << (kind.bits - 1))
    n, e = magnitude(magnitude_code, fmt)
    return write_float(sign, n, e + scale_code - SCALE_BIAS, kind)
