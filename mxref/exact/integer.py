"""Operations on integers, one number at a time: affine, int4, weight-only, RESCALE.

Floats come in and go out as bit patterns. Source: SPEC_NOTES Q1 to Q12, Q14, Q16.
"""

from __future__ import annotations

from collections.abc import Sequence
from fractions import Fraction
from typing import Final

from mxref.exact.arithmetic import F32, product, quotient
from mxref.exact.format_table import FLOATS
from mxref.exact.integers import INF, NAN, Number
from mxref.exact.patterns import converted, float_reader, write_float
from mxref.exact.sums import dyadic, fl_dot, fl_sum, fraction, integer32, nearest, total_of

F64: Final = FLOATS["f64"]
ONE: Final[Number] = (0, 1, 0)
#: A code, the ratio of its scale and its zero point.
Term = tuple[int, Number, int]


def quantize_affine(
    x_bits: int,
    scale_bits: int,
    zero_point: int = 0,
    quant_min: int = -128,
    quant_max: int = 127,
    bits: int = 8,
    choices: Sequence[str] = ("reciprocal", "after", "error", "saturate", "saturate", "float32"),
) -> int:
    """Quantize a float32 pattern with a float64 scale; choices in the order of Q2 to Q6.

    >>> quantize_affine(0x3F000000, 0x3F80204080000000, 0, -127, 127)
    64
    """
    scaling, when, nan, infinite, int32, scale_type = choices

    def clamp(code: int) -> int:
        return min(max(code, quant_min), quant_max)

    double = float_reader(F64)(scale_bits)
    scale = converted(double, F32)
    float64 = converted(quotient(ONE, double, F64), F32)
    inverse = float64 if scale_type == "float64" else quotient(ONE, scale, F32)
    x = float_reader(F32)(x_bits)
    times = converted(product(x, inverse), F32)
    y = times if scaling == "reciprocal" else quotient(x, scale, F32)
    y = nearest(y) if when == "after" else y
    held = y[1] >= 0 and abs(fraction(y)) < 2**31
    sum32 = clamp(((int(fraction(y)) if held else -(2**31)) + zero_point + 2**31) % 2**32 - 2**31)
    y = product(x, inverse) if when == "fused" else y
    y = fl_sum(y, integer32(zero_point))
    y = y if when == "after" else nearest(y)
    if y[1] == NAN:
        if nan == "error":
            raise ValueError("x_bits is a NaN")
        zero = -(2**31) if bits == 32 else 0
        return {"zero": zero, "lowest": quant_min, "int32_min": sum32, "highest": quant_max}[nan]
    code = 2**200 if y[1] == INF else int(abs(fraction(y)))
    code = -code if y[0] else code
    if infinite == "lowest" and code >= 2**63:
        return quant_min
    if infinite == "int32_min":
        return sum32
    if bits == 32 and int32 == "wrap":
        low, high = (int(fraction(integer32(end))) for end in (quant_min, quant_max))
        return (min(max(code, low), high) + 2**31) % 2**32 - 2**31
    return clamp(code)


def dequantize_affine(code: int, scale_bits: int, zero_point: int = 0) -> int:
    """Return the float32 pattern of a code under a float64 scale.

    >>> hex(dequantize_affine(-128, 0x3F80204080000000))
    '0xbf810204'
    """
    scale = converted(float_reader(F64)(scale_bits), F32)
    return write_float(product(integer32(code - zero_point), scale), F32)


def choose_qparams(
    low_bits: int, high_bits: int, quant_min: int, quant_max: int, eps_bits: int, *, symmetric: bool
) -> tuple[int, int]:
    """Return the float32 pattern of the scale, and the zero point.

    >>> [hex(part) for part in choose_qparams(0, 0x3ECCCCCD, -8, 7, 0x34000000, symmetric=True)]
    ['0x3d5a740e', '0x0']
    """
    read = float_reader(F32)
    zero = Fraction(0)
    low, high = min(zero, fraction(read(low_bits))), max(zero, fraction(read(high_bits)))
    steps = Fraction(quant_max - quant_min)
    span = converted(dyadic(high - low), F32)
    if symmetric:
        span, steps = dyadic(max(-low, high)), steps / 2
    scale = max(fraction(quotient(span, dyadic(steps), F32)), fraction(read(eps_bits)))
    if symmetric:
        return write_float(dyadic(scale), F32), 0
    shift = round(fraction(quotient(dyadic(low), dyadic(scale), F32)))
    return write_float(dyadic(scale), F32), min(max(quant_min - shift, quant_min), quant_max)


def pack_int4(
    codes: Sequence[int], nibbles: str = "high_first", stored: str = "offset"
) -> list[int]:
    """Pack the codes -8 to 7 of one row in bytes; a missing last one is a 0.

    >>> [hex(byte) for byte in pack_int4([1, 2, 3])]
    ['0x9a', '0xb8']
    """
    pairs = zip(codes[::2], [*codes[1::2], 0], strict=False)
    kept = [[c + 8 if stored == "offset" else c % 16 for c in pair] for pair in pairs]
    both = kept if nibbles == "high_first" else [pair[::-1] for pair in kept]
    return [16 * high + low for high, low in both]


def nbits_weights(
    row: Sequence[int], zero_points: Sequence[int] | None, groups: int, bits: int
) -> list[int]:
    """Return the integers of one output of MatMulNBits, from its bytes and those of zero points.

    >>> nbits_weights([0x22, 0x31], [0x53], 2, 4)
    [-1, -1, -4, -2]
    """
    whole = int.from_bytes(bytes(row), "little")
    zeros = int.from_bytes(bytes(zero_points or ()), "little")
    count = len(row) * 8 // bits
    found = []
    for i in range(count):
        group = i // (count // groups)
        zero = zeros >> bits * group & 2**bits - 1 if zero_points is not None else 2 ** (bits - 1)
        found.append((whole >> bits * i & 2**bits - 1) - zero)
    return found


def linear(
    x_bits: Sequence[int], w: Sequence[int], scale_bits: Sequence[int], order: str = "exact"
) -> int:
    """Return the float32 pattern of one output; scales are float32, one for each group of w.

    >>> [hex(linear([0x40490FDB], [3], [0x3DCCCCCD], o)) for o in ("dequantize", "offset")]
    ['0x3f71463b', '0x3f71463d']
    """
    read = float_reader(F32)
    xs, scales = [read(bits) for bits in x_bits], [read(bits) for bits in scale_bits]
    size = len(w) // len(scales)
    weights = [integer32(code) for code in w]
    if order in ("exact", "dequantize"):
        each = [(x, v, scales[i // size]) for i, (x, v) in enumerate(zip(xs, weights, strict=True))]
        if order == "exact":
            total: Number = (0, 0, 0)
            for x, v, s in each:
                total = total_of(total, product(product(x, v), s))
            return write_float(total, F32)
        return write_float(fl_dot([(x, converted(product(v, s), F32)) for x, v, s in each]), F32)
    acc: Number = (0, 0, 0)
    for i, s in enumerate(scales):
        part = slice(i * size, (i + 1) * size)
        total = fl_dot(zip(xs[part], weights[part], strict=True))
        if order == "offset":
            codes = [integer32(code + 8) for code in w[part]]
            total = fl_dot(zip(xs[part], codes, strict=True))
            eights = product(fl_dot((x, ONE) for x in xs[part]), integer32(-8))
            total = fl_sum(total, converted(eights, F32))
        scaled = converted(product(total, s), F32)
        acc = scaled if len(scales) == 1 else fl_sum(acc, scaled)
    return write_float(acc, F32)


def qlinear(
    pairs: Sequence[tuple[int, int]],
    scale_bits: Sequence[int],
    zero_points: Sequence[int],
    low: int,
    high: int,
) -> int:
    """Return one code of a product; scales and zero points are those of a, of b and of the result.

    >>> qlinear([(1, 3), (2, -4)], [0x3F000000, 0x3F800000, 0x3F800000], [0, 0, 7], -128, 127)
    5
    """
    read = float_reader(F32)
    a_scale, b_scale, y_scale = (read(bits) for bits in scale_bits)
    a_zero, b_zero, y_zero = zero_points
    total = sum((a - a_zero) * (b - b_zero) for a, b in pairs)
    factor = quotient(converted(product(a_scale, b_scale), F32), y_scale, F32)
    if factor[1] == INF:
        raise ValueError("scale_bits have no finite quotient")
    y = nearest(converted(product(integer32(total), factor), F32))
    if y[1] == INF:
        return low if y[0] else high
    return min(max(round(fraction(y)) + y_zero, low), high)


def multiplier_shift(scale: Fraction, bits: int = 32) -> tuple[int, int]:
    """Return M and S, so that M * 2**-S is nearest to the scale with M below 2**(bits - 1).

    >>> multiplier_shift(Fraction(1)), [hex(part) for part in multiplier_shift(Fraction(1, 3))]
    ((1073741824, 30), ['0x55555555', '0x20'])
    """
    shift = bits - 1
    while scale * 2**shift >= 2 ** (bits - 1):
        shift -= 1
    while scale * 2**shift < 2 ** (bits - 2):
        shift += 1
    multiplier = round(scale * 2**shift)
    if multiplier == 2 ** (bits - 1):
        multiplier, shift = multiplier // 2, shift - 1
    return (multiplier, shift) if shift <= 62 else (multiplier >> min(31, shift - 62), 62)


def rescale(value: int, multiplier: int, shift: int, rounding: str = "single") -> int:
    """Multiply with M * 2**-S; zero points and the clamp are the caller's.

    >>> [rescale(7984, 1583594044, 40, rounding) for rounding in ("single", "double")]
    [11, 12]
    """
    total = Fraction(value * multiplier, 2**shift) + Fraction(1, 2)
    if rounding == "double" and shift > 31:
        total += Fraction(1 if value >= 0 else -1, 2 ** (shift - 30))
    return total.numerator // total.denominator


def qlinear_add(
    a: int,
    b: int,
    scale_bits: Sequence[int],
    zero_points: Sequence[int],
    low: int,
    high: int,
    sum: str = "fused",
    one: str = "",
) -> int:
    """Return the code of a sum; scales and zero points are those of a, of b and of the result.

    `one` says which of them, `a` or `b`, is a single code beside several, if one is.

    >>> qlinear_add(20, 3, [0x3F000000, 0x3F800000, 0x3E800000], [0, 1, 5], 0, 255)
    53
    """
    scales = [float_reader(F32)(bits) for bits in scale_bits]
    a_zero, b_zero, y_zero = zero_points
    f, g = (quotient(scale, scales[2], F32) for scale in scales[:2])
    exact = [(a - a_zero) * fraction(scales[0]), (b - b_zero) * fraction(scales[1])]
    if any(one[1] < 0 or fraction(one) >= 2**100 for one in (f, g)) and sum != "exact":
        raise ValueError("scale_bits have a quotient that is too large")
    if sum == "exact":
        code = round((exact[0] + exact[1]) / fraction(scales[2]) + y_zero)
    elif sum == "fixed_point" and (factors := fixed_point(fraction(f), fraction(g))):
        m, n, shift = factors
        total = (a - a_zero) * m + (b - b_zero) * n
        size = (2 * abs(total) + (1 << shift)) >> (shift + 1)
        code = (size if total > 0 else -size) + y_zero
    elif sum in ("fixed_point", "quotient"):
        parts = [converted(dyadic(part), F32) for part in exact]
        y = fraction(quotient(fl_sum(*parts), scales[2], F32))
        y = min(max(y, Fraction(low - y_zero)), Fraction(high - y_zero))
        code = round(fraction(fl_sum(dyadic(y), integer32(y_zero))))
    else:
        terms: list[Term] = [(a, f, a_zero), (b, g, b_zero)]
        first, second = reversed(terms) if one == "a" else terms
        order = [second, first] if one or sum == "fused" else [first, second]
        code = _with_ratios(first, second, order, y_zero, fused=sum == "fused")
    return min(max(code, low), high)


def _with_ratios(a: Term, b: Term, order: Sequence[Term], y_zero: int, *, fused: bool) -> int:
    """A sum of codes, each with its ratio and its zero point, before it is clamped."""

    def times(ratio: Number, code: int, *, rounded: bool) -> Number:
        exact = product(integer32(code), ratio)
        return converted(exact, F32) if rounded else exact

    moved = fl_sum(times(*a[1:], rounded=not fused), times(*b[1:], rounded=True))
    total = fl_sum(integer32(y_zero), (1 - moved[0], *moved[1:]))
    for code, ratio, _ in order:
        total = fl_sum(times(ratio, code, rounded=not fused), total)
    return round(fraction(total))


def fixed_point(f: Fraction, g: Fraction) -> tuple[int, int, int] | None:
    """Return ratios times 2**shift, the larger one of 22 bits, and the shift; None if none is.

    >>> fixed_point(Fraction(1, 2), Fraction(1, 4))
    (2097152, 1048576, 22)
    """
    for shift in range(13, 32):
        m, n = round(f * (1 << shift)), round(g * (1 << shift))
        if 2**21 <= max(f, g) * (1 << shift) < 2**22:
            wide = min(f, g) < Fraction(1, 2**14) or max(f, g) >= 256
            return None if wide or max(m, n) == 2**22 else (m, n, shift)
    return None


def qlinear_mul(
    a: int,
    b: int,
    scale_bits: Sequence[int],
    zero_points: Sequence[int],
    low: int,
    high: int,
    zero_added: str = "before",
) -> int:
    """Return the code of a product; scales and zero points as of `qlinear_add`.

    >>> ends = [0x3F800000, 0x3F800000, 0x40000000], [0, 0, 7], -128, 127
    >>> qlinear_mul(5, 1, *ends), qlinear_mul(5, 1, *ends, "after")
    (10, 9)
    """
    a_scale, b_scale, y_scale = (float_reader(F32)(bits) for bits in scale_bits)
    a_zero, b_zero, y_zero = zero_points
    factor = quotient(converted(product(a_scale, b_scale), F32), y_scale, F32)
    if factor[1] == INF:
        raise ValueError("scale_bits have no finite quotient")
    y = converted(product(integer32((a - a_zero) * (b - b_zero)), factor), F32)
    y = nearest(fl_sum(y, integer32(y_zero))) if zero_added == "before" else nearest(y)
    if y[1] == INF:
        return low if y[0] else high
    code = int(fraction(y)) + (y_zero if zero_added == "after" else 0)
    return min(max(code, low), high)
