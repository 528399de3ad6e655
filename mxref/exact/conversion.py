"""Number to element code and back, one at a time.

Source: OCP MX v1.0 5.3; OFP8 Rev 1.0 5.2.1.
"""

from __future__ import annotations

from collections.abc import Callable
from functools import cache

from mxref.exact.breakpoints import breakpoints, code_finder
from mxref.exact.choice_table import DECODED_ZERO, ELEMENT_CHOICES, INPUT_CHOICES, settle
from mxref.exact.format_table import FLOATS, FORMATS, check_int, domain_error, look_up, read_code
from mxref.exact.patterns import write_float
from mxref.exact.rounding import check_random
from mxref.exact.sources import prepared


@cache
def encoder(
    source: str,
    format: str,
    rounding: str = "ties_to_even",
    overflow: str = "saturate",
    **choices: str,
) -> Callable[[int, int, int], int]:
    """Make the function from x_bits, random_bits and random_width to a code, for fixed names.

    source, format, rounding, overflow, choices: as in `encode`.
    Special values: see `encode`.
    Source: OCP MX v1.0 5.3.

    >>> encoder("f32", "e2m1", rounding="to_odd")(0x40A00000, 0, 0)  # 5, between 4 and 6
    7
    """
    look_up(FORMATS, "format", format)
    given = {"rounding": rounding, "overflow": overflow, **choices}
    chosen = settle(given, ELEMENT_CHOICES, INPUT_CHOICES)
    kind = prepared(source, *(chosen.pop(name) for name in ("pre_rounding", "subnormal_inputs")))
    breaks = breakpoints(format, **chosen)
    width, read, place, drawn = (
        kind.bits,
        kind.read,
        code_finder(breaks),
        breaks.stochastic is not None,
    )

    def encode_one(x_bits: int, random_bits: int, random_width: int) -> int:
        if type(x_bits) is not int or x_bits >> width:
            check_int("x_bits", x_bits, width)
        if drawn:
            check_random(random_bits, random_width)
        return place(read(x_bits), random_bits, random_width)

    return encode_one


def encode(
    x_bits: int,
    source: str,
    format: str,
    rounding: str = "ties_to_even",
    overflow: str = "saturate",
    *,
    random_bits: int = 0,
    random_width: int = 0,
    **choices: str,
) -> int:
    """Return the element code of one number, rounded once.

    x_bits: bits of the number, 0 to 2**width - 1. source: a float (f16, bf16, f32, f64), a format,
    whose codes are then the bits, or an integer (i8 to i64 in two's complement, u8 to u64).
    format: one of FORMATS. rounding: the exponent is unbounded above the maximum; a stochastic one
    takes random_bits of random_width bits, 1 to 32, which the others do not read.
    overflow, of Inf and of numbers that round past the maximum: saturate: +-max. nonsaturating:
    Inf, or NaN if the format has no Inf, or +-max if it has neither. nonsaturating_ieee: likewise,
    but +-max for a finite number if the rounding points to zero. propagate: likewise, but +-max
    for every finite number.
    choices, the first of each being the default:
      clamp: after_rounding, before_rounding (overflows if and only if it exceeds the maximum).
      nan: positive (7F), signed, negative, signed_quiet (in formats with several NaNs the one with
        the top fraction bit only, as E5M2 7E). Formats whose one NaN is -0's code give that.
      nan_to_finite, of formats without NaN: max, signed_max, zero, signed_zero, opposite_zero,
        error.
      zero_sign, of zeros: kept, dropped. underflow_sign, of underflow: kept, dropped.
      int8_range: symmetric, full (negative numbers down to -2).
      pre_rounding: none, float32, bfloat16, float16, to nearest even, if the source is wider.
      subnormal_inputs: kept, flushed (of the source, or of the type of pre_rounding).
    Special values: by default Inf overflows, NaN gives the top NaN code, else +max. INT8, FNUZ and
    P3109 formats have no -0. A format without sign takes the magnitude.
    Source: OCP MX v1.0 5.3.1 Table 3, 5.3.2 to 5.3.4; OFP8 Rev 1.0 5.2.1.

    >>> hex(encode(0x43E80000, "f32", "e4m3"))  # 464 is the tie between 448 and 480
    '0x7e'
    >>> hex(encode(0x43E80001, "f32", "e4m3", overflow="nonsaturating"))
    '0x7f'
    >>> [encode(0x8001, "f16", "e2m1", underflow_sign=sign) for sign in ("kept", "dropped")]
    [8, 0]
    >>> [encode(5, "i8", "e2m1", "stochastic_a", random_bits=r, random_width=2) for r in range(4)]
    [6, 6, 7, 7]
    """
    encode_one = encoder(source, format, rounding, overflow, **choices)
    return encode_one(x_bits, random_bits, random_width)


@cache
def _decoded(format: str, target: str, **choices: str) -> tuple[int, ...]:
    """Decode every code of a format."""
    fmt = look_up(FORMATS, "format", format)
    kind = look_up(FLOATS, "target", target)
    dropped = settle(choices, DECODED_ZERO)["decoded_zero"] == "dropped"
    table = []
    for code in range(1 << fmt.bits):
        sign, n, e = read_code(code, fmt)
        table.append(write_float((0 if dropped and n == 0 else sign, n, e), kind))
    return tuple(table)


def decode(code: int, format: str, target: str = "f32", **choices: str) -> int:
    """Return the bits of the float that an element code stands for.

    code: 0 to 2**bits - 1 of the format. format: one of FORMATS.
    target: f16, bf16, f32 or f64; all finite elements but the largest of ue5m3 are exact in each.
    choices: decoded_zero: kept, dropped (-0 decodes to +0).
    Special values: NaN codes give the positive quiet NaN with an otherwise empty payload; Inf and
    -0 keep the sign; INT8 0x80 is -2.
    Source: OCP MX v1.0 5.3, 5.3.4; OFP8 Rev 1.0 4.

    >>> hex(decode(0x7E, "e4m3")), hex(decode(0xFC, "e5m2", "f16")), hex(decode(0x80, "int8"))
    ('0x43e00000', '0xfc00', '0xc0000000')
    """
    table = _decoded(format, target, **choices)
    if type(code) is not int or not 0 <= code < len(table):
        raise domain_error("code", f"a Python int from 0 to {len(table) - 1:#x}", code)
    return table[code]
