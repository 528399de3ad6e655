"""Blocks whose scale is a float32 number, and one element back.

M is the largest element and a the largest magnitude of a block. Every * and / of a `Float` rounds
to float32, so the order of operations is the formula.

Source: DeepSeek-V3 inference/kernel.py, DeepGEMM utils/math.py, Transformer Engine
recipe_common.cuh, torchao float8_utils.py, vLLM input_quant_fp8.py and SGLang
per_token_group_quant_8bit.cu; SPEC_NOTES N48 to N51.
"""

from __future__ import annotations

import decimal
from collections.abc import Callable, Sequence
from fractions import Fraction
from functools import cache
from typing import Final, NamedTuple, TypeAlias

from mxref.exact.arithmetic import F32, Float, amax, product, quotient, ratio
from mxref.exact.breakpoints import Breakpoints, breakpoints, code_finder, code_of_ratio
from mxref.exact.choice_table import (
    ELEMENT_CHOICES,
    FLOAT_SCALE_CHOICES,
    INPUT_CHOICES,
    PRODUCT_CHOICES,
    STOCHASTIC,
    settle,
)
from mxref.exact.format_table import (
    ELEMENTS,
    FLOATS,
    ElementType,
    FloatType,
    check_int,
    domain_error,
    look_up,
    magnitude,
    read_code,
)
from mxref.exact.integers import INF, NAN, Number, floor_log2
from mxref.exact.one_block import checked_draws, settled_product
from mxref.exact.patterns import converted, float_reader, write_float
from mxref.exact.sources import narrower, prepared, read_checked

_ONE: Final = Float((0, 1, 0), F32)
_FLOORS: Final = {
    f"1e-{digits}": Float(quotient((0, 1, 0), (0, 10**digits, 0), F32), F32)
    for digits in (4, 10, 12)
}
_DIGITS: Final = decimal.Context(prec=60)
_FINE: Final = 512  # far below the last of 64 random bits under the least element
_Finder: TypeAlias = Callable[[Number], int]


class _Setting(NamedTuple):
    """The format, the breakpoints of its codes, the source's type and the choices."""

    element: ElementType
    breaks: Breakpoints
    source: FloatType
    chosen: dict[str, str]

    @property
    def m(self) -> Float:
        """The largest element, M."""
        return Float((0, *magnitude(self.element.max_code, self.element)), F32)


@cache
def _setting(format: str, source: str, **choices: str) -> _Setting:
    element = look_up(ELEMENTS, "format", format)
    chosen = settle(choices, ELEMENT_CHOICES, INPUT_CHOICES, FLOAT_SCALE_CHOICES)
    breaks = breakpoints(format, **{name: chosen[name] for name in ELEMENT_CHOICES})
    kind = look_up(FLOATS, "source", source)
    kind = narrower(prepared(source, "none"), chosen["pre_rounding"]) or kind
    return _Setting(element, breaks, kind, chosen)


def quantize_float_scaled(
    x_bits: Sequence[int],
    source: str,
    format: str,
    *,
    amax_bits: int | None = None,
    random_bits: Sequence[int] | None = None,
    random_width: int = 0,
    **choices: str,
) -> tuple[int, list[int]]:
    """Return the float32 bits of a block's scale, and its element codes.

    x_bits: bits of the numbers, one or more. source: f16, bf16, f32 or f64. format: an element
    format. amax_bits: float32 bits of a positive number that is in place of a. random_bits: as many
    as numbers, each of random_width bits, for a stochastic rounding of x / s.
    choices: those of elements and sources in `encode`, and
      amax_floor: none, 1e-12, 1e-10, 1e-4 (a is at least that float32 number), scale (the scale is
        at least 1 / (512 * M)).
      scale_from: quotient, a / M. source_quotient, the same rounded to the source's type (float32
        for f64). reciprocal, a * (1 / M). multiplier, 1 / r of r = M / a. multiplier_or_one, the
        same; r is 1 where a is 0, Inf or NaN, and the source's largest number where it is Inf.
      scale_power: any. bit_ceiling, the power of two at or above, or of r at or below, but from
        2**-126 to 2**127, also of 0 (2**-126), Inf and NaN (2**127). exp2_ceil_log2, 2 to the power
        of the float32 logarithm's ceiling, or of r its floor; 0, Inf and NaN stay.
      element_from: exact, x / s not rounded. quotient, x / s. reciprocal, x * (1 / s). multiplier,
        x * r, where r is M / a, or 1 / s of a power that s was rounded to; at most 512 * M under
        the floor of the scale.
      block_nan: nan_block, ignore (a NaN counts for a, or is passed over).
    Special values: with exact quotients a block with Inf, or with a NaN that counts, has the scale
    NaN and codes 0, a and M / a of f64 are rounded once, no scale is above the largest float32, and
    a scale of 0 makes zeros. With others as float arithmetic gives, f64 being rounded to float32
    first.
    Source: SPEC_NOTES N48 to N51.

    >>> one, six = 0x3F800000, 0xC0C00000
    >>> code, codes = quantize_float_scaled([one, six], "f32", "e4m3")
    >>> hex(code), [hex(c) for c in codes]
    ('0x3c5b6db7', ['0x69', '0xfe'])
    """
    setting = _setting(format, source, **choices)
    chosen, is_exact = setting.chosen, setting.chosen["element_from"] == "exact"
    if len(x_bits) == 0:
        raise domain_error("x_bits", "a block of one number or more", x_bits)
    kind = prepared(source, chosen["pre_rounding"], chosen["subnormal_inputs"])
    draws: Sequence[int] = [0] * len(x_bits)
    if chosen["rounding"] in STOCHASTIC:
        draws = checked_draws(random_bits, random_width, len(x_bits))
    asked = [*zip(x_bits, draws, strict=True)]
    once = [*dict.fromkeys(asked)]  # a tile repeats its numbers
    place = code_finder(setting.breaks)
    finders = [_with_draw(place, draw, random_width) for _, draw in once]
    given = None if amax_bits is None else float_reader(F32)(amax_bits)
    make = _by_quotients if is_exact else _by_floats
    numbers = [read_checked("x_bits", bits, kind) for bits, _ in once]
    scale, codes = make(given, numbers, finders, setting)
    code_of = dict(zip(once, codes, strict=True))
    return scale, [code_of[one] for one in asked]


def _by_quotients(
    given: Number | None, numbers: Sequence[Number], finders: Sequence[_Finder], setting: _Setting
) -> tuple[int, list[int]]:
    """The block by exact quotients."""
    counts = setting.chosen["block_nan"] == "nan_block"
    if any(n == INF or (n == NAN and counts) for _, n, _ in numbers):
        return F32.quiet_nan, [0] * len(numbers)
    largest = given or amax(numbers, nan_counts=False)
    scale, _ = _scales(largest, setting)
    scale = scale.at_most(Float((0, 2**24 - 1, 104), F32))
    codes = []
    for (sign, n, e), place in zip(numbers, finders, strict=True):
        if n <= 0 or scale.is_zero:
            codes.append(place((sign, min(n, 0), 0)))
            continue
        by = ratio((sign, n, e), scale.number)
        if setting.breaks.stochastic is None:
            codes.append(code_of_ratio(setting.breaks, sign, by))
        else:
            codes.append(place(_to_odd(sign, by)))
    return write_float(scale.number, F32), codes


def _with_draw(place: Callable[[Number, int, int], int], draw: int, width: int) -> _Finder:
    """What gives the code of a number under its random bits."""
    return lambda number: place(number, draw, width)


def _to_odd(sign: int, magnitude: Fraction) -> Number:
    """A number that is on the same side of every multiple of 2**-_FINE."""
    count, rest = divmod(magnitude.numerator << _FINE, magnitude.denominator)
    return sign, count << 1 | (rest != 0), -_FINE - 1


def _by_floats(
    given: Number | None, numbers: Sequence[Number], finders: Sequence[_Finder], setting: _Setting
) -> tuple[int, list[int]]:
    """The block by float32 operations."""
    x = [Float(converted(v, F32), F32) for v in numbers]
    counts = setting.chosen["block_nan"] == "nan_block"
    scale, r = _scales(given or amax((v.number for v in x), nan_counts=counts), setting)
    how = setting.chosen["element_from"]
    codes, inverse = [], _ONE / scale
    for v, place in zip(x, finders, strict=True):
        q = v / scale if how == "quotient" else v * (inverse if how == "reciprocal" else r)
        sign, n, e = q.number
        codes.append(place((v.number[0] if n == NAN else sign, n, e)))
    return write_float((0, *scale.number[1:]), F32), codes


def _scales(largest: Number, setting: _Setting) -> tuple[Float, Float]:
    """The scale of a block, and what its elements may be multiplied by."""
    m, chosen = setting.m, setting.chosen
    how, power = chosen["scale_from"], chosen["scale_power"]
    exact = Float(largest, FLOATS["f64"])
    a = Float(converted(largest, F32), F32)
    if chosen["amax_floor"] in _FLOORS:
        exact, a = (v.at_least(_FLOORS[chosen["amax_floor"]]) for v in (exact, a))
    r = m / a
    if how in ("multiplier", "multiplier_or_one"):
        if how == "multiplier_or_one":
            if a.is_zero or a.number[1] in (INF, NAN):
                r = _ONE
            elif r.number[1] == INF:
                source = setting.source if setting.source.bits < 32 else F32
                r = Float(float_reader(source)(source.infinity - 1), F32)
        r = _to_power(r, power, up=False)
        scale = _ONE / r
    else:
        if how == "quotient":
            once = chosen["element_from"] == "exact"
            scale = (exact if once else a).over(m, F32)
        elif how == "source_quotient":
            source = setting.source if setting.source.bits < 32 else F32
            scale = a.over(m, source).of(F32)
        else:
            scale = a * (_ONE / m)
        if power != "any":
            scale = _to_power(scale, power, up=True)
            r = _ONE / scale
    if chosen["amax_floor"] == "scale":
        most = m * Float((0, 1, 9), F32)
        return scale.at_least(_ONE / most), r.at_most(most)
    return scale, r


def _to_power(x: Float, power: str, *, up: bool) -> Float:
    """Round to a power of two."""
    _, n, e = x.number
    if power == "any":
        return x
    if power == "bit_ceiling":
        k = -126 if n == 0 else 127
        if n > 0:
            k = floor_log2(n, e)
            k += up and n & (n - 1) != 0
        return Float((0, 1, min(max(k, -126), 127)), F32)
    if n <= 0:
        return x
    sign, count, f = _log2(n, e)
    whole = -count if sign else count
    up_or_down = -(-whole >> max(-f, 0)) if up else whole >> max(-f, 0)
    k = up_or_down << max(f, 0)
    return Float(converted((0, 1, k), F32), F32)


def _log2(n: int, e: int) -> Number:
    """log2(n * 2**e), rounded to float32."""
    with decimal.localcontext(_DIGITS):
        exact = decimal.Decimal(n).ln() / decimal.Decimal(2).ln() + e
        count = int((exact * 2**160).to_integral_value())
    return converted((int(count < 0), abs(count), -160), F32)


def dequantize_float_scaled(
    scale_bits: int, code: int, format: str, target: str = "f32", **choices: str
) -> int:
    """Return the bits of element times scale, the exact product rounded once to nearest even.

    scale_bits: a float32 without sign, of 31 bits. code: of the format. target: f16, bf16, f32 or
    f64. choices: product_overflow, product_rounding and decoded_zero, as in `dequantize`.
    Special values: as in `dequantize`.
    Source: SPEC_NOTES N20, N21.

    >>> hex(dequantize_float_scaled(0x3C5B6DB7, 0xFE, "e4m3"))  # -6
    '0xc0c00000'
    """
    kind = look_up(FLOATS, "target", target)
    fmt = look_up(ELEMENTS, "format", format)
    chosen = settle(choices, PRODUCT_CHOICES)
    check_int("scale_bits", scale_bits, 31)
    check_int("code", code, fmt.bits)
    scale = float_reader(F32)(scale_bits)
    finite = scale[1] >= 0
    if chosen["product_rounding"] == "scale_first":
        scale = converted(scale, kind)
    element = read_code(code, fmt)
    result = write_float(product(element, scale), kind)
    return settled_product(result, kind, chosen, can_overflow=finite and element[1] >= 0)
