"""One answer of an operation on integers, step by step: what is computed, exactly, and rounded.

The last step of each function is what the function of that name gives in `mxref.exact.integer`.
Source: SPEC_NOTES Q1 to Q12.
"""

from __future__ import annotations

from collections.abc import Sequence
from fractions import Fraction
from typing import Final, NamedTuple

from mxref.exact.arithmetic import F32, product, quotient, ratio
from mxref.exact.format_table import FLOATS, FloatType
from mxref.exact.integer import ONE
from mxref.exact.integers import INF, NAN, Number
from mxref.exact.patterns import converted, float_reader, write_float
from mxref.exact.sums import dyadic, fraction, integer32, nearest, total_of

_F64: Final = FLOATS["f64"]
_EVEN: Final = "an integer, ties to even"


class Step(NamedTuple):
    """One step.

    name: what its result is called in later steps. text: what is computed. exact: the number that
    this gives, exactly. rounding: what it is rounded or limited to; empty where it stays. word: the
    result, the pattern of a float or an integer. kind: the float type, "integer", "code" for that
    of the answer, or "exact" for a number that has no word.
    """

    name: str
    text: str
    exact: str
    rounding: str
    word: int
    kind: str


def exactly(number: Number | Fraction | int) -> str:
    """Write a number exactly, with a power of two where decimals would be long.

    >>> exactly(Fraction(-5, 2)), exactly((0, 3, -40)), exactly(Fraction(1, 3)), exactly((1, -1, 0))
    ('-2.5', '3*2^-40', '1/3', '-inf')
    """
    if isinstance(number, tuple):
        if number[1] < 0:
            return "nan" if number[1] == NAN else "-inf" if number[0] else "inf"
        if number[:2] == (1, 0):
            return "-0"
        number = fraction(number)
    number = Fraction(number)
    n, d = number.numerator, number.denominator
    if n == 0:
        return "0"
    halves = d.bit_length() - 1
    if d == 1 << halves and halves <= 12 and abs(n) >> halves < 10**12:
        digits = f"{abs(n) * 5**halves:0{halves + 1}d}"
        point = len(digits) - halves
        rest = f".{digits[point:]}" if halves else ""
        return f"{'-' if n < 0 else ''}{digits[:point]}{rest}"
    twos = [(one & -one).bit_length() - 1 for one in (n, d)]
    n, d, power = n >> twos[0], d >> twos[1], twos[0] - twos[1]
    over = f"/{d}" if d > 1 else ""
    if power and abs(n) == d == 1:
        return f"{'-' if n < 0 else ''}2^{power}"
    return f"{n}{over}*2^{power}" if power else f"{n}{over}"


class Log(list[Step]):
    """The steps so far; each method writes one down and returns its result."""

    def kept(self, name: str, number: Number, kind: FloatType = F32) -> Number:
        """A number that is given."""
        self.append(Step(name, "given", exactly(number), "", write_float(number, kind), kind.name))
        return number

    def fl(self, name: str, text: str, exact: Number, kind: FloatType = F32) -> Number:
        """A number that is rounded to a float type."""
        word = write_float(exact, kind)
        self.append(Step(name, text, exactly(exact), kind.name, word, kind.name))
        return converted(exact, kind)

    def over(self, name: str, text: str, x: Number, y: Number, kind: FloatType = F32) -> Number:
        """A quotient that is rounded to a float type."""
        result = quotient(x, y, kind)
        finite = x[1] >= 0 and y[1] > 0
        exact = exactly(ratio(x, y) * (-1 if x[0] ^ y[0] else 1) if finite else result)
        self.append(Step(name, text, exact, kind.name, write_float(result, kind), kind.name))
        return result

    def near(self, name: str, text: str, exact: Number) -> Number:
        """A float that is rounded to an integer, of which there are infinite ones."""
        result = nearest(exact)
        self.append(Step(name, text, exactly(exact), _EVEN, write_float(result, F32), F32.name))
        return result

    def whole(self, name: str, text: str, exact: Fraction | int, rounding: str = _EVEN) -> int:
        """A number that becomes an integer: ties to even, ties away from zero, or down."""
        value = Fraction(exact)
        result = round(value)
        if rounding.endswith("down"):
            result = value.numerator // value.denominator
        elif rounding.endswith("away from zero"):
            size = (2 * abs(value) + 1) / 2
            result = size.numerator // size.denominator * (-1 if value < 0 else 1)
        rounding = "" if value == result and rounding == _EVEN else rounding
        self.append(Step(name, text, exactly(value), rounding, result, "integer"))
        return result

    def limited(self, text: str, value: int | Number, low: int, high: int) -> int:
        """The code that is the answer, between the ends."""
        infinite = isinstance(value, tuple)
        sign = isinstance(value, tuple) and value[0]
        result = (low if sign else high) if infinite else min(max(int(value), low), high)  # type: ignore[arg-type]
        ends = f"{low} to {high}"
        self.append(Step("q", text, exactly(value), ends, result, "code"))
        return result

    def code(self, text: str, value: int, rounding: str = "") -> int:
        """The code that is the answer, whatever was computed."""
        self.append(Step("q", text, str(value), rounding, value, "code"))
        return value


def quantize_affine(
    x_bits: int,
    scale_bits: int,
    zero_point: int,
    low: int,
    high: int,
    bits: int,
    choices: Sequence[str],
) -> Log:
    """Return the steps from a float32 pattern to a code; arguments as those of the twin.

    >>> plain = ("reciprocal", "after", "error", "saturate", "saturate", "float32")
    >>> for step in quantize_affine(0x3FC00000, 0x3FF0000000000000, 3, -128, 127, 8, plain)[2:]:
    ...     print(step.name, "=", step.text, "=", step.exact, "to", step.rounding)
    i = 1 / s = 1 to f32
    y = x * i = 1.5 to f32
    n = y = 1.5 to an integer, ties to even
    t = n + zero_point = 5 to f32
    q = t = 5 to -128 to 127
    """
    scaling, when, nan, infinite, int32, scale_type = choices
    log = Log()
    x = log.kept("x", float_reader(F32)(x_bits))
    scale = double = float_reader(_F64)(scale_bits)
    if scale_type == "float64":
        first = log.over("d", "1 / s, s in float64", ONE, log.kept("s", double, _F64), _F64)
        inverse = log.fl("i", "d", first)
    else:
        scale = _scale(log, scale_bits)
        inverse = log.over("i", "1 / s", ONE, scale) if scaling == "reciprocal" else ONE
    zero = integer32(zero_point)
    if fraction(zero) != zero_point:
        log.fl("zero_point", f"{zero_point}", dyadic(Fraction(zero_point)))
    exact = product(x, inverse)
    if when == "fused":
        y = log.fl("t", "x * i + zero_point", total_of(exact, zero))
        y = log.near("n", "t", y)
    else:
        divided = scaling != "reciprocal"
        y = log.over("y", "x / s", x, scale) if divided else log.fl("y", "x * i", exact)
        if when == "after":
            y = log.near("n", "y", y)
        y = log.fl(
            "t", "n + zero_point" if when == "after" else "y + zero_point", total_of(y, zero)
        )
        if when != "after":
            y = log.near("n", "t", y)
    name = "t" if when == "after" else "n"
    if y[1] == NAN:
        if nan == "error":
            raise ValueError("x_bits is a NaN")
        if nan == "int32_min":
            _int32_min(log, None, zero_point, low, high)
            return log
        found = {"zero": -(2**31) if bits == 32 else 0, "lowest": low, "highest": high}[nan]
        log.code(f"nan={nan}", found)
        return log
    size = INF if y[1] == INF else abs(fraction(y))
    if infinite == "lowest" and not y[0] and (size == INF or size >= 2**63):
        log.code("infinite=lowest: 2^63 and above", low)
    elif infinite == "int32_min":
        before = log[-2].word if when == "after" else log[-1].word
        _int32_min(log, float_reader(F32)(before), zero_point, low, high)
    elif bits == 32 and int32 == "wrap":
        ends = [int(fraction(integer32(end))) for end in (low, high)]
        far = 2**200 * (-1 if y[0] else 1) if y[1] == INF else int(fraction(y))
        found = min(max(far, ends[0]), ends[1])
        found = log.whole("c", f"{name}, from {ends[0]} to {ends[1]}, as float32 has them", found)
        log.code("c modulo 2^32", (found + 2**31) % 2**32 - 2**31, "int32, wrapped")
    else:
        log.limited(name, y if y[1] == INF else int(fraction(y)), low, high)
    return log


def _scale(log: Log, bits: int) -> Number:
    """A float64 scale as float32 has it."""
    scale = converted(float_reader(_F64)(bits), F32)
    if write_float(scale, _F64) == bits:
        return log.kept("s", scale)
    return log.fl("s", "scale", float_reader(_F64)(bits))


def _int32_min(log: Log, y: Number | None, zero_point: int, low: int, high: int) -> None:
    """The ends of a sum in int32, which has -2**31 for what it does not hold."""
    held = y is not None and y[1] >= 0 and abs(fraction(y)) < 2**31
    value = int(fraction(y)) if held and y is not None else -(2**31)
    log.code("n as an int32" if held else "n is no int32: -2^31", value)
    log[-1] = log[-1]._replace(name="c", kind="integer")
    total = (value + zero_point + 2**31) % 2**32 - 2**31
    log.whole("t", "c + zero_point modulo 2^32", total)
    log.limited("t", total, low, high)


def dequantize_affine(code: int, scale_bits: int, zero_point: int) -> Log:
    """Return the steps from a code to a float32 number.

    >>> [step.text for step in dequantize_affine(-128, 0x3FF0000000000000, 0)]
    ['given', 'code - zero_point', 'd * s']
    """
    log = Log()
    scale = _scale(log, scale_bits)
    steps = log.fl("d", "code - zero_point", dyadic(Fraction(code - zero_point)))
    log.fl("x", "d * s", product(steps, scale))
    return log


def pack_int4(first: int, second: int, nibbles: str, stored: str) -> Log:
    """Return the steps from two codes to a byte.

    >>> pack_int4(1, 2, "high_first", "offset")[-1][1:4]
    ('16 * u + v', '154', '')
    """
    log = Log()
    for name, code in (("u", first), ("v", second)):
        text, kept = (
            (f"{code} + 8", code + 8) if stored == "offset" else (f"{code} mod 16", code % 16)
        )
        log.whole(name, text, kept)
    u, v = log[0].word, log[1].word
    high = nibbles == "high_first"
    log.code("16 * u + v" if high else "16 * v + u", 16 * u + v if high else 16 * v + u)
    return log


def unpack_int4(byte: int, place: int, nibbles: str, stored: str) -> Log:
    """Return the steps from a byte to its first code, with `place` 0, or its second.

    >>> unpack_int4(0x9A, 1, "high_first", "offset")[-1][1:4]
    ('u - 8', '2', '')
    """
    log = Log()
    high = (place == 0) == (nibbles == "high_first")
    u = log.whole(
        "u",
        f"the {'high' if high else 'low'} bits of {byte:#04x}",
        byte >> 4 if high else byte & 15,
    )
    if stored == "offset":
        log.code("u - 8", u - 8)
    else:
        log.code("u, from 8 on less 16", u - 16 if u >= 8 else u)
    return log


def rescale(
    value: int,
    multiplier: int,
    shift: int,
    zeros: tuple[int, int],
    ends: tuple[int, int],
    rounding: str = "single",
) -> Log:
    """Return the steps of RESCALE; zeros are those of input and output, ends those of the range.

    >>> [step.word for step in rescale(7, 1 << 30, 31, (0, 1), (-128, 127))]
    [7, 7516192768, 4, 5, 5]
    """
    log = Log()
    v = log.whole("v", f"{value} - {zeros[0]}" if zeros[0] else f"{value}", value - zeros[0])
    p = log.whole("p", f"v * {multiplier}", v * multiplier)
    exact, text = Fraction(p, 2**shift) + Fraction(1, 2), f"p * 2^-{shift} + 1/2"
    if rounding == "double" and shift > 31:
        exact += Fraction(1 if v >= 0 else -1, 2 ** (shift - 30))
        text += f" {'+' if v >= 0 else '-'} 2^{30 - shift}"
    r = log.whole("r", text, exact, "an integer, down")
    t = log.whole("t", f"r + {zeros[1]}", r + zeros[1]) if zeros[1] else r
    log.limited("t" if zeros[1] else "r", t, *ends)
    return log
