"""Inputs of affine quantization: midpoints, ends of the range, zero points, axes and every code."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence
from fractions import Fraction
from struct import pack, unpack

import numpy as np

from mxref.operands.case_input import CaseInput, spelled

__all__ = ["axis_cases", "code_cases", "double_cases", "value_cases"]

_MODEL = "M18"
#: Values of a case.
_SIZE = 32
_RANGES = {
    "int8": (-128, 127),
    "uint8": (0, 255),
    "int16": (-32768, 32767),
    "int32": (-(2**31), 2**31 - 1),
}
#: Scales whose midpoints are asked: of SNORM and UNORM, a power of two, and others.
_SCALES = {
    "int8": (0.013, 0.1, 0.3, 1 / 127, 2.0**-16, 1 / 255, 1 / 32767),
    "uint8": (0.1, 1 / 255, 2.0**-16),
    "int16": (0.013, 0.1, 1 / 32767, 2.0**-16),
    "int32": (0.1, 0.3, 1.0),
}
_LARGEST = 0x7F7FFFFF
#: The ends of the scales: the smallest normal number and its neighbours, powers, the largest.
_END_SCALES = (0x00800000, 0x00800001, 0x00FFFFFF, 0x01000000, 0x7E800000, 0x7F000000, _LARGEST)
_NANS = (0x7FC00000, 0xFFC00000, 0x7F800001, 0xFFFFFFFF)


def value_cases(format: str) -> Iterator[CaseInput]:
    """Cases of `quantize_affine` with one scale."""
    low, high = _RANGES[format]
    for s in map(_bits, _SCALES[format]):
        middles = [m for k in _steps(format) for m in _around(Fraction(2 * k + 1, 2) * _value(s))]
        yield from _several(f"midpoints_{s:08x}", (low, high, s, 0), middles, ("tie", "near_tie"))
    for s in map(_bits, (1.0, 0.1, 0.013)):
        ends = [*_ends(low, high, _value(s)), *_ends(-(2**31), 2**31, _value(s))]
        ends += [end for n in (-(2**63), 2**63) for end in _around(n * _value(s))]
        specials = [0, 0x80000000, 1, 0x80000001, _LARGEST, _LARGEST | 1 << 31]
        specials += [0x7F800000, 0xFF800000]
        for zero in dict.fromkeys((low, 0 if low else 128, 3, high)):
            yield from _several(
                f"ends_{s:08x}_{spelled(zero)}", (low, high, s, zero), [*ends, *specials], ("inf",)
            )
    for zero in dict.fromkeys((low, -3, -2, -1, 0, 1, 2, 3, 100, high)):
        if low <= zero <= high:
            ties = [_bits(k / 2) for k in range(-15, 16)]
            near = [m for k in (-3, -2, -1, 0, 1, 2) for m in _around(Fraction(2 * k + 1, 20))]
            for s, numbers, flag in ((_bits(1.0), ties, "tie"), (_bits(0.1), near, "near_tie")):
                name = f"zero_point_{s:08x}_{spelled(zero)}"
                yield from _several(name, (low, high, s, zero), numbers, (flag,))
    for s in _END_SCALES:
        numbers = [b for k in (-3, -1, 1, 2, 3, 5) for b in _around(Fraction(k, 2) * _value(s))]
        numbers += [0x3F800000, _LARGEST, 1, 0x00800000, 0x80800000, 0x007FFFFF]
        yield from _several(f"scale_{s:08x}", (low, high, s, 0), numbers, ())
    for i, bits in enumerate(_NANS):
        for zero in (0, -5, 5) if low else (128, 5):
            words = (low, high, _bits(0.1), zero), [0x3F000000, bits, 0x3F800000]
            yield from _several(f"nan_{i}_{spelled(zero)}", *words, ("nan",))
    if format != "int32":
        yield from _narrow(format)
    codes = range(max(low, -60), 250)
    for s in map(_bits, (0.013, 0.1, 0.3)):
        for zero in _FUSED_ZEROS if low else _FUSED_ZEROS[1:]:
            fused = [bits for k in codes for bits in _fused(s, zero, k)]
            first = (low, high, s, zero)
            yield from _several(
                f"fused_{s:08x}_{spelled(zero)}", first, fused[:_SIZE], ("near_tie",)
            )


#: Zero points under which a fused sum is another one.
_FUSED_ZEROS = (-100, 3, 100)


def _fused(scale: int, zero: int, code: int) -> Iterator[int]:
    """Numbers above a code whose product the zero point joins before it is rounded, or after it."""
    inverse = _value(_bits(1 / _value(scale)))
    for bits in _around((Fraction(2 * code + 1, 2) - zero) * _value(scale)):
        exact = _value(bits) * inverse
        both = _value(_bits(exact + zero)), _value(_bits(_value(_bits(exact)) + zero))
        if round(both[0]) != round(both[1]):
            yield bits


def _narrow(format: str) -> Iterator[CaseInput]:
    """Ranges inside of the dtype: SNORM, and 4 bits; 1 and -1 are the ends of SNORM."""
    low, high = _RANGES[format]
    if format in ("int8", "int16"):
        s = _bits(Fraction(1, high))
        numbers = [b for n in (-1, -0.5, 0, 0.5, 1) for b in _around(Fraction(n))]
        numbers += [b for n in (low, -high, high) for b in _around(Fraction(n) * _value(s))]
        yield from _several("snorm", (-high, high, s, 0), [*numbers, 0xC0000000], ("overflow",))
    if format in ("int8", "uint8"):
        small, large = (-8, 7) if low else (0, 15)
        s = _bits(0.4 / 7.5)
        middles = [
            b
            for k in range(small - 2, large + 2)
            for b in _around(Fraction(2 * k + 1, 2) * _value(s))
        ]
        numbers = [*middles, 0x3ECCCCCD, 0xBECCCCCD]
        yield from _several("four_bits", (small, large, s, 0), numbers, ("tie", "near_tie"))


#: Scales whose 1/scale in float64 is one ulp off that of the float32 scale; the last one is exact.
_DOUBLES = (0.013, 0.007, 1 / 255, 2.0**-16)


def double_cases() -> Iterator[CaseInput]:
    """Cases of `quantize_affine` with a float64 scale: midpoints that 1/scale decides."""
    for scale in _DOUBLES:
        name = pack(">d", scale).hex()
        single = _value(_bits(scale))
        words = unpack(">2I", pack(">d", scale))
        middles = [b for k in range(-25, 24, 6) for b in _around(Fraction(2 * k + 1, 2) * single)]
        for zero in (0, 3):
            first = (*_RANGES["int8"], *words, zero)
            yield from _several(f"{name}_{zero}", first, middles, ("tie", "near_tie"))
        fused = [bits for k in range(-60, 60) for bits in _fused(_bits(scale), 100, k)]
        first = (*_RANGES["int8"], *words, 100)
        yield from _several(f"{name}_fused", first, fused[:_SIZE], ("near_tie",))


def code_cases(format: str) -> Iterator[CaseInput]:
    """Cases of `dequantize_affine` with one scale: every code of 8 bits, else around powers."""
    low, high = _RANGES[format]
    codes = list(range(low, high + 1)) if high < 256 else _around_powers(low, high)
    zeros = {"int8": (0, -128, 3), "uint8": (0, 128, 255)}.get(format, (0, -7, high))
    scales = [_bits(s) for s in dict.fromkeys((*_SCALES[format], 1.0))]
    words = [code & 0xFFFFFFFF for code in codes]
    for s in scales:
        for zero in zeros if s == scales[0] else zeros[:1]:
            name = f"codes_{s:08x}_{spelled(zero)}"
            yield from _several(name, (low, high, s, zero), words, ())
    few = words[:: max(1, len(words) // _SIZE)]
    for s in _END_SCALES:
        yield from _several(f"scale_{s:08x}", (low, high, s, zeros[1]), few, ())
    if format == "int8":
        yield from _several("snorm", (-127, 127, scales[3], 0), words, ())


def axis_cases(format: str, *, codes: bool) -> Iterator[CaseInput]:
    """Cases with scales along an axis, or for each group of it: all of them are different."""
    low, high = _RANGES[format.removesuffix("_axis")]
    plans = [
        (f"axis_{spelled(axis)}_{'x'.join(map(str, sizes))}", axis, sizes[axis], sizes)
        for sizes in ((2, 3, 4), (3, 3, 3), (1, 5, 1), (4, 1, 2))
        for axis in (0, 1, -1)
    ]
    plans += [
        ("groups_last", 2, 2, (1, 3, 8)),
        ("groups_middle", 1, 3, (2, 6, 2)),
        ("groups_first", 0, 2, (4, 2, 2)),
        ("one_group", -1, 1, (2, 2, 4)),
    ]
    for name, axis, count, sizes in plans:
        total = count if count == sizes[axis] else int(np.prod(sizes)) // sizes[axis] * count
        scales = [_bits(Fraction(13 * (i + 1), 1000) + Fraction(i % 3, 4)) for i in range(total)]
        zeros = [(low + high + 1) // 2 + (i % 5) - 2 for i in range(total)]
        if total > 2:  # a channel of zeros, whose scale is the smallest that is chosen
            scales[1], zeros[1] = _bits(2.0**-23), zeros[0] + 1
        first = (low, high, axis, count, *sizes, *scales, *zeros)
        size = int(np.prod(sizes))
        which = _which(sizes, axis, count, total)
        values = []
        for i in range(size):
            middle = Fraction(2 * (i * 7 % 23 - 11) + 1, 2) * _value(scales[which[i]])
            zero = total > 2 and which[i] == 1
            values.append(0 if zero else _around(middle)[i % 3] if i % 5 else _bits(float(i - 9)))
        if codes:
            ends = [low, high]
            values = [low + (i * 37 + 11) % (high - low + 1) for i in range(size)]
            values = (ends + values)[:size]
        yield CaseInput(name, _words(*first, *values), _MODEL, ())
    if not codes:
        middles = range(max(low, -60), high)
        six = map(_bits, (0.013, 0.1, 0.3, 0.007, 0.05, 1 / 255))
        rows = list(zip(six, (3, 100) * 3, strict=True))
        fused = [[b for k in middles for b in _fused(*row, k)][:8] for row in rows]
        first = (low, high, 1, 6, 1, 6, 8, *(s for s, _ in rows), *(zero for _, zero in rows))
        words = [bits for row in fused for bits in (row * 8)[:8]]
        yield CaseInput("fused", _words(*first, *words), _MODEL, ("near_tie",))


def _which(sizes: Sequence[int], axis: int, count: int, total: int) -> list[int]:
    shape = [count if i == axis % 3 else n for i, n in enumerate(sizes)]
    if total == count:
        shape = [count if i == axis % 3 else 1 for i in range(3)]
    numbers = np.repeat(np.arange(total).reshape(shape), sizes[axis] // count, axis)
    found: list[int] = np.broadcast_to(numbers, sizes).reshape(-1).tolist()
    return found


def _several(
    name: str, first: Sequence[int], words: Iterable[int], flags: tuple[str, ...]
) -> Iterator[CaseInput]:
    """Cases with a few of the words each, and the same first words."""
    every = list(dict.fromkeys(words))
    for start in range(0, len(every), _SIZE):
        some = every[start : start + _SIZE]
        yield CaseInput(f"{name}_{start // _SIZE}", _words(*first, *some), _MODEL, flags)


def _words(*values: int) -> tuple[int, ...]:
    return tuple(value & 0xFFFFFFFF for value in values)


def _steps(format: str) -> Sequence[int]:
    """The codes above which midpoints are asked."""
    low, high = _RANGES[format]
    if high < 256:
        return range(low - 1, high + 1)
    return _around_powers(low, high)


def _around_powers(low: int, high: int) -> list[int]:
    """Every power of two within a range, of both signs, and the integers beside it."""
    powers = [1 << i for i in range(high.bit_length() + 1)]
    near = {s * p + step for p in (0, *powers) for s in (1, -1) for step in (-1, 0, 1)}
    return sorted(n for n in near if low <= n <= high)


def _ends(low: int, high: int, scale: Fraction) -> list[int]:
    """Both sides of the limits of a range, half a code beyond its ends."""
    places = (low - Fraction(1, 2), low, high, high + Fraction(1, 2))
    return [bits for place in places for bits in _around(place * scale)]


def _bits(number: Fraction | float) -> int:
    """The float32 nearest to a number, ties to even; in integers, so that no mode changes it."""
    size = abs(Fraction(number))
    if not size:
        return 0
    exponent = size.numerator.bit_length() - size.denominator.bit_length()
    exponent = max(exponent - (size < Fraction(2) ** exponent), -126)
    significand = round(size / Fraction(2) ** (exponent - 23))
    return (exponent + 126 << 23) + significand | (number < 0) << 31


def _value(bits: int) -> Fraction:
    """The number of a finite float32."""
    field = bits >> 23 & 0xFF
    size = (bits & 0x7FFFFF | (field > 0) << 23) * Fraction(2) ** (max(field, 1) - 150)
    return -size if bits >> 31 else size


def _around(number: Fraction | float) -> list[int]:
    """The float32 nearest to a number, and the floats beside it, away from zero and toward it."""
    largest = _value(_LARGEST)
    bits = _bits(min(max(Fraction(number), -largest), largest))
    if bits & 0x7FFFFFFF == 0:
        return [0, 1, 0x80000001]
    return [bits - 1, bits, min(bits & 0x7FFFFFFF, _LARGEST - 1) + 1 | bits & 0x80000000]
