"""A dot product times alpha, plus beta times C, plus a bias: exact, or in steps of float types.

Source: SPEC_NOTES N52.
"""

from __future__ import annotations

from fractions import Fraction

from mxref.exact.arithmetic import F32, product, quotient
from mxref.exact.format_table import FLOATS, FloatType, domain_error, look_up
from mxref.exact.integers import INF, NAN, Number
from mxref.exact.patterns import converted, float_reader, write_float
from mxref.exact.sums import dyadic, fraction, total_of


def exact_epilogue(
    total: Fraction | Number,
    alpha: Fraction,
    beta: Fraction = Fraction(0),
    c: Number = (0, 0, 0),
    bias: Number = (0, 0, 0),
    target: str = "f32",
) -> int:
    """Return the bits of alpha times the total plus beta times c plus bias, rounded once.

    total: a fraction, or NaN or an infinity. alpha, beta: numbers over a power of two; under a beta
    of 0 c is not read. target: f16, bf16, f32 or f64.
    Special values: an infinity times an alpha of 0 is NaN, and so are infinities of both signs; a
    zero is +0.
    Source: SPEC_NOTES N52.

    >>> hex(exact_epilogue(Fraction(3, 8), Fraction(2), Fraction(-1), (0, 1, 0)))
    '0xbe800000'
    """
    kind = look_up(FLOATS, "target", target)
    terms = [product(dyadic(beta), c) if beta else (0, 0, 0), bias]
    if isinstance(total, Fraction):
        finite = alpha * total
    else:
        finite = Fraction(0)
        terms.append(product(dyadic(alpha), total))
    specials = {(n, sign if n == INF else 0) for sign, n, _ in terms if n < 0}
    if specials:
        nan = len(specials) > 1 or (NAN, 0) in specials
        return kind.quiet_nan if nan else write_float((specials.pop()[1], INF, 0), kind)
    for term in terms:
        finite += fraction(term)
    over = (int(finite < 0), abs(finite.numerator), 0)
    return write_float(quotient(over, (0, finite.denominator, 0), kind), kind)


def stepped_epilogue(
    total: int,
    alpha: Fraction,
    beta: Fraction,
    c: Number,
    bias: Number,
    how: str,
    target: str = "f32",
) -> int:
    """Return the bits of what float arithmetic makes of a float32 sum.

    total: bits of a float32. alpha, beta, c, bias, target: as in `exact_epilogue`; each is rounded
    to float32 first. how: source_first (beta times c, then an FMA of alpha times the total, then
    the bias), sum_first (an FMA of alpha times the total and the bias, then one of beta times c),
    separate (each operation rounded), rounded (the same, all of it in the target).
    Special values: as in `exact_epilogue`, of each step.
    Source: SPEC_NOTES N52.

    >>> three = (0, 3, 0), (0, 1, -30), (0, 0, 0)
    >>> hex(stepped_epilogue(0x3F800000, Fraction(1), Fraction(1), *three[1:], "separate"))
    '0x3f800000'
    """
    kind = look_up(FLOATS, "target", target)
    given = float_reader(F32)(total), dyadic(alpha), dyadic(beta), c if beta else (0, 0, 0), bias
    s, k, m, x, b = (converted(one, F32) for one in given)
    if how == "source_first":
        found = _fma(k, s, _times(m, x, F32), F32)
        found = _plus(found, b, F32)
    elif how == "sum_first":
        found = _fma(m, x, _fma(k, s, b, F32), F32)
    elif how == "separate":
        found = _plus(_plus(_times(k, s, F32), _times(m, x, F32), F32), b, F32)
    elif how == "rounded":
        step = F32 if target == "f64" else kind
        s, k, m, x, b = (converted(one, step) for one in (s, k, m, x, b))
        found = _plus(_plus(_times(k, s, step), _times(m, x, step), step), b, step)
    else:
        raise domain_error("how", "one of source_first, sum_first, separate, rounded", how)
    return write_float((0, 0, 0) if found[1] == 0 else found, kind)


def _times(x: Number, y: Number, kind: FloatType) -> Number:
    return converted(product(x, y), kind)


def _plus(x: Number, y: Number, kind: FloatType) -> Number:
    return converted(total_of(x, y), kind)


def _fma(x: Number, y: Number, z: Number, kind: FloatType) -> Number:
    return converted(total_of(product(x, y), z), kind)
