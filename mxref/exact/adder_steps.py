"""One output of a matrix unit in fractions: the slow twin of adders on plain numbers.

Source: SPEC_NOTES N47; MMA-Sim, arXiv 2511.10909.
"""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from fractions import Fraction
from typing import Final, NamedTuple

from mxref.exact.format_table import ELEMENTS, FLOATS, look_up, read_code
from mxref.exact.integers import INF, NAN, Number, floor_log2
from mxref.exact.patterns import converted, float_reader, write_float
from mxref.exact.sums import dyadic, fraction


class Unit(NamedTuple):
    """How a matrix unit adds; see the clause."""

    kind: str  # aligned, later, halves, exact, tree
    step: int
    bits: int = 0  # below the largest exponent
    zero: int = 0  # the exponent of a zero
    kept: int | None = 23  # fraction bits of the sum of a step; None: rounded to nearest even
    output: str = "f32"  # f16 is rounded to nearest even
    promotion: int = 0  # products before the sum is added up in float32
    later: int = 31  # below the largest exponent in AMD's second alignment, less one
    flushes: bool = True  # of a tree: subnormal numbers are zeros
    scaled: str = ""  # how a promoted sum gets scales: product_fma, in_turn_fma or in_turn


UNITS: Final[Mapping[str, Unit]] = {
    "volta_f16": Unit("aligned", 4, 23, -131),
    "turing_f16": Unit("aligned", 8, 24, -132),
    "ampere_f16": Unit("aligned", 8, 24, -132),
    "ampere_tf32": Unit("aligned", 4, 24, -132),
    "ada_fp8": Unit("aligned", 16, 13, -132, 13),
    "hopper_f16": Unit("aligned", 16, 25, -133),
    "hopper_tf32": Unit("aligned", 8, 25, -133),
    "hopper_fp8": Unit("aligned", 32, 13, -133, 13),
    "blackwell_f8f6f4": Unit("aligned", 32, 25, -133),
    "volta_f16_in_f16": Unit("aligned", 4, 23, -19, output="f16"),
    "turing_f16_in_f16": Unit("aligned", 8, 24, -20, output="f16"),
    "ada_fp8_in_f16": Unit("aligned", 16, 13, -20, output="f16"),
    "hopper_f16_in_f16": Unit("aligned", 16, 25, -21, output="f16"),
    "hopper_fp8_in_f16": Unit("aligned", 32, 13, -21, output="f16"),
    "blackwell_f8f6f4_in_f16": Unit("aligned", 32, 25, -21, output="f16"),
    "cdna1_f16": Unit("exact", 4),
    "cdna1_bf16": Unit("exact", 2),
    "cdna2_f16": Unit("tree", 4),
    "cdna2_bf16": Unit("tree", 2),
    "cdna3_f16": Unit("later", 8, 24),
    "cdna3_xf32": Unit("later", 4, 24),
    "cdna3_fp8": Unit("halves", 16, 24),
    "fma_f32": Unit("exact", 1),
    "deepgemm_fp8": Unit("aligned", 32, 13, -133, 13, promotion=128, scaled="product_fma"),
    "deepseek_v3_fp8": Unit("aligned", 32, 13, -133, 13, promotion=128, scaled="in_turn_fma"),
}
_ZERO: Final = (0, 0, 0)


class Term(NamedTuple):
    """A finite number, and the exponent that an adder reads."""

    number: Fraction
    exponent: int


def multiplied(
    a: Sequence[int],
    b: Sequence[int],
    c: int,
    format_a: str,
    format_b: str,
    unit: str | Unit,
    scales: tuple[Sequence[int], Sequence[int]] = ((), ()),
) -> int:
    """Return the bits of c + a · b as a matrix unit gives them.

    a, b: K patterns of a format: an element's, f16, bf16, f32, or tf32, which are float32 patterns
    whose last 13 bits are not read. c: a pattern of the output. unit: a name of `UNITS`, or one.
    scales: float32 patterns of a and of b for each promotion, under `scaled`.
    Special values: NaN is the positive quiet NaN. Inf behaves as in IEEE 754; a product of CDNA3
    from 2**128 on is Inf. A zero is +0; that of AMD is -0 if it is a negative sum, rounded.
    Source: SPEC_NOTES N47.

    >>> rows = [0x38, *[0] * 31, 0x01], [0x38, *[0] * 31, 0x08], 0, "e4m3", "e4m3"
    >>> hex(multiplied(*rows, "hopper_fp8")), hex(multiplied(*rows, "blackwell_f8f6f4"))
    ('0x3f800000', '0x3f800100')
    """
    how = look_up(UNITS, "unit", unit) if isinstance(unit, str) else unit
    flushes = how.kind == "tree" and how.flushes
    pairs = [
        (read_factor(x, format_a, flushes=flushes), read_factor(y, format_b, flushes=flushes))
        for x, y in zip(a, b, strict=True)
    ]
    zero = (_ZERO, 0), (_ZERO, 0)
    pairs += [zero] * (-len(pairs) % how.step)
    steps = [pairs[first : first + how.step] for first in range(0, len(pairs), how.step)]
    kind = FLOATS[how.output]
    total = outer = float_reader(kind)(c)
    if how.promotion:
        total = _ZERO
    for number, step in enumerate(steps, 1):
        total = _step(step, total, how)
        if how.promotion and (number * how.step % how.promotion == 0 or number == len(steps)):
            if how.scaled:
                part = (number * how.step - 1) // how.promotion
                outer = _with_scales(outer, total, scales[0][part], scales[1][part], how.scaled)
            else:
                outer = _added(outer, total)
            total = _ZERO
    found = outer if how.promotion else total
    has_sign = found[1] or how.scaled or not (how.promotion or how.kind == "aligned")
    return write_float(found if has_sign else _ZERO, kind)


def _with_scales(outer: Number, own: Number, a_bits: int, b_bits: int, how: str) -> Number:
    """The sum outside after one more, times both scales, each operation rounded to float32."""
    kind = FLOATS["f32"]
    sa, sb = (float_reader(kind)(bits) for bits in (a_bits, b_bits))
    if how == "product_fma":
        x, y = converted(_product(sa, sb), kind), own
    else:
        x, y = converted(_product(own, sa), kind), sb
    if how == "in_turn":
        x, y = converted(_product(x, y), kind), (0, 1, 0)
    return _step([((x, 0), (y, 0))], outer, Unit("exact", 1))


def read_factor(bits: int, name: str, *, flushes: bool = False) -> tuple[Number, int]:
    """Read a number, and its exponent, that of a subnormal being the least one.

    bits, name: a pattern and its format, as in `multiplied`. flushes: subnormals of a float type
    are zeros.

    >>> read_factor(0x01, "e4m3"), read_factor(0x0001, "f16")
    (((0, 1, -9), -6), ((0, 1, -24), -14))
    """
    if name in ELEMENTS:
        fmt = ELEMENTS[name]
        number = read_code(bits, fmt)
        return number, number[2] + fmt.mantissa_bits
    kind = FLOATS["f32" if name == "tf32" else name]
    number = float_reader(kind)(bits >> 13 << 13 if name == "tf32" else bits)
    least = 1 - kind.bias
    if number[1] <= 0:
        return number, least
    exponent = max(floor_log2(*number[1:]), least)
    if flushes and floor_log2(*number[1:]) < least:
        return _ZERO, least
    return number, exponent


def _step(
    pairs: Sequence[tuple[tuple[Number, int], tuple[Number, int]]], total: Number, how: Unit
) -> Number:
    """The sum so far after one step."""
    if how.kind == "tree":
        terms = [_product(x, y) for (x, _), (y, _) in pairs]
        terms = [_flushed(converted(term, FLOATS["f32"]), how) for term in terms]
        while len(terms) > 1:
            terms = [_flushed(_added(*terms[i : i + 2]), how) for i in range(0, len(terms), 2)]
        before = _flushed(total, how)
        return _flushed(_added(before if before[1] else _ZERO, terms[0]), how)
    products = [_product(x, y) for (x, _), (y, _) in pairs]
    if how.kind in ("later", "halves"):
        beyond = [n > 0 and floor_log2(n, e) >= 128 for _, n, e in products]
        products = [(p[0], INF, 0) if b else p for p, b in zip(products, beyond, strict=True)]
    special = _special([*products, total])
    if special:
        return special
    exponents = [i + j for (_, i), (_, j) in pairs]
    aligned = [Term(fraction(p), e) for p, e in zip(products, exponents, strict=True)]
    if how.kind == "exact" and how.step == 1 and products[0][:2] == total[:2] == (1, 0):
        return total  # -0 and -0, fused
    if how.kind == "exact":
        exact = fraction(total) + sum(term.number for term in aligned)
        return converted(dyadic(exact), FLOATS[how.output])
    if how.kind == "aligned":
        return _aligned(aligned, total, how)
    return _later(aligned, total, how)


def _product(x: Number, y: Number) -> Number:
    """Exactly; NaN of NaN, and of Inf times zero."""
    sign = x[0] ^ y[0]
    if NAN in (x[1], y[1]) or (INF in (x[1], y[1]) and 0 in (x[1], y[1])):
        return (0, NAN, 0)
    return (sign, INF, 0) if INF in (x[1], y[1]) else (sign, x[1] * y[1], x[2] + y[2])


def _special(numbers: Sequence[Number]) -> Number | None:
    """NaN or Inf, if a sum of the numbers is one whatever the finite ones are."""
    signs = {sign for sign, n, _ in numbers if n == INF}
    if len(signs) > 1 or any(n == NAN for _, n, _ in numbers):
        return (0, NAN, 0)
    return (signs.pop(), INF, 0) if signs else None


def _added(x: Number, y: Number) -> Number:
    """In float32, to nearest even."""
    special = _special([x, y])
    return special or converted(dyadic(fraction(x) + fraction(y)), FLOATS["f32"])


def _flushed(x: Number, how: Unit) -> Number:
    small = how.flushes and x[1] > 0 and floor_log2(*x[1:]) < -126
    return (x[0], 0, 0) if small else x


def _exponent(x: Fraction, least: int) -> int:
    """Of the leading bit, but of a number below 2**least, `least`."""
    _, n, e = dyadic(x)
    return max(floor_log2(n, e), least) if n else least


def _aligned(terms: Sequence[Term], total: Number, how: Unit) -> Number:
    """All terms cut toward zero below the largest exponent, their sum rounded to the output."""
    kind = FLOATS[how.output]
    least = 1 - kind.bias
    every = [*terms, Term(fraction(total), _exponent(fraction(total), least))]
    unit = Fraction(2) ** (max(t.exponent if t.number else how.zero for t in every) - how.bits)
    exact = sum(math.trunc(term.number / unit) for term in every) * unit
    if how.output == "f16" or how.kept is None:
        return converted(dyadic(exact), kind)
    last = Fraction(2) ** (_exponent(exact, least) - how.kept)
    sign, n, e = dyadic(math.trunc(exact / last) * last)
    return (sign, INF, 0) if n and floor_log2(n, e) >= 128 else (sign, n, e)


def _later(terms: Sequence[Term], total: Number, how: Unit) -> Number:
    """Products cut toward zero; then their sum and the sum so far, cut toward minus infinity."""
    lanes = 2 if how.kind == "halves" else 1
    parts = [terms[lane::lanes] for lane in range(lanes)]
    sums, largest = [], []
    for part in parts:
        exponents = [term.exponent for term in part if term.number]
        unit = Fraction(2) ** (max(exponents, default=0) - how.bits)
        sums.append(sum(math.trunc(term.number / unit) for term in part) * unit)
        largest += exponents
    before = fraction(total)
    own = _exponent(before, -126)
    dot = Fraction(0)
    if largest:
        dot = sum((_floor(one, max(largest) - how.bits) for one in sums), dot)
    top = max([own, *largest])
    if lanes == 2 and own < top - how.bits - 1:
        before = Fraction(0)
    found = _floor(dot, top - how.later - 1) + _floor(before, top - how.bits)
    found = _floor(found, _exponent(found, -126) - how.later)
    return converted(dyadic(found), FLOATS["f32"])


def _floor(x: Fraction, exponent: int) -> Fraction:
    """Toward minus infinity to a multiple of 2**exponent."""
    unit = Fraction(2) ** exponent
    return math.floor(x / unit) * unit
