"""Number to E8M0 scale code and back, and the scale that a block shares.

Source: OCP MX v1.0 §5.4.1 (E8M0), §6.3 (conversion).
"""

from __future__ import annotations

from mxref.exact.floats import checked_float, floor_log2, is_finite, read_float, write_float
from mxref.exact.formats import (
    ELEMENTS,
    FLOATS,
    SCALE_BIAS,
    SCALE_MAX_CODE,
    SCALE_NAN,
    check_int,
    look_up,
)
from mxref.exact.rounding import ABOVE, BELOW, ON, TIE, check_rounding, choose
from mxref.exact.rules import RULES


def encode_scale(x_bits: int, source: str, rounding: str = "toward_zero") -> int:
    """Return the E8M0 code of |x|.

    x_bits: bits of the float. source: f16, bf16, f32 or f64. rounding: one of seven, applied to
    |x| between adjacent powers of two; nearest is by distance of values, so 1.5 * 2**k is a tie,
    and even and odd are meant of the code.
    Special values: 0 and what is below 2**-127 give 00; what is above 2**127 gives FE; Inf and
    NaN give FF.
    Source: OCP MX v1.0 §5.4.1.

    >>> [encode_scale(0x3FC00000, "f32", r) for r in ("toward_zero", "ties_to_even", "to_odd")]
    [127, 128, 127]
    """
    kind = checked_float("x_bits", x_bits, source)
    check_rounding(rounding)
    if not is_finite(x_bits, kind):
        return SCALE_NAN
    _, n, e = read_float(x_bits, kind)
    if n == 0:
        return 0
    lower = floor_log2(n, e) + SCALE_BIAS
    if lower < 0:
        return 0
    if lower >= SCALE_MAX_CODE:
        return SCALE_MAX_CODE
    power = 1 << (n.bit_length() - 1)
    if n == power:
        where = ON
    elif 2 * n == 3 * power:
        where = TIE
    else:
        where = BELOW if 2 * n < 3 * power else ABOVE
    return choose(lower, where, 0, rounding)


def decode_scale(code: int, target: str = "f32") -> int:
    """Return the bits of 2**(code - 127), rounded once to nearest even.

    code: 0 to 255. target: f16, bf16, f32 or f64.
    Special values: FF gives the positive quiet NaN. 00 is 2**-127, subnormal in f32 and bf16. In
    f16 codes up to 102 round to 0 and codes from 143 to Inf.
    Source: OCP MX v1.0 §5.4.1.

    >>> hex(decode_scale(0)), hex(decode_scale(127)), hex(decode_scale(0, "f16"))
    ('0x400000', '0x3f800000', '0x0')
    """
    kind = look_up(FLOATS, "target", target)
    check_int("code", code, 8)
    if code == SCALE_NAN:
        return kind.quiet_nan
    return write_float(0, 1, code - SCALE_BIAS, kind)


def shared_scale(amax_bits: int, source: str, format: str, rule: str = "floor") -> int:
    """Return the scale code of a block whose largest magnitude is |amax|.

    amax_bits: bits of a float, its sign ignored. source: f16, bf16, f32 or f64. format: an
    element format. rule: one of eight, see `mxref.exact.rules`; "floor" is floor(log2(amax)) -
    emax. The exponent is clamped to [-127, 127].
    Special values: zero gives 00; Inf and NaN give FF.
    Source: OCP MX v1.0 §6.3 step 1.

    >>> shared_scale(0x43E00000, "f32", "e4m3"), shared_scale(0x3F800000, "f32", "e2m1")
    (127, 125)
    """
    kind = checked_float("amax_bits", amax_bits, source)
    fmt = look_up(ELEMENTS, "format", format)
    exponent = look_up(RULES, "rule", rule)
    if not is_finite(amax_bits, kind):
        return SCALE_NAN
    _, n, e = read_float(amax_bits, kind)
    if n == 0:
        return 0
    return min(max(exponent(n, e, fmt), -127), 127) + SCALE_BIAS
