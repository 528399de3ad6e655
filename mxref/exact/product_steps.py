"""One answer of a layer, a product or a sum of codes, step by step.

The last step of each function is what the function of that name gives in `mxref.exact.integer`.
Source: SPEC_NOTES Q10, Q14, Q16.
"""

from __future__ import annotations

from collections.abc import Sequence
from fractions import Fraction

from mxref.exact.arithmetic import F32, product
from mxref.exact.integer import ONE, fixed_point
from mxref.exact.integer_steps import Log
from mxref.exact.integers import INF, Number
from mxref.exact.patterns import float_reader
from mxref.exact.sums import dyadic, fraction, integer32, total_of


def linear(
    x_bits: Sequence[int], w: Sequence[int], scale_bits: Sequence[int], order: str = "exact"
) -> Log:
    """Return the steps of one output of a weight-only layer; arguments as those of the twin.

    >>> for step in linear([0x40490FDB], [3], [0x3DCCCCCD], "dequantize"):
    ...     print(step.name, step.text, hex(step.word))
    v0 w0 * s0 0x3e99999a
    tp0 x0 * v0 0x3f71463b
    t0 0 + tp0 0x3f71463b
    """
    read = float_reader(F32)
    log = Log()
    xs, scales = [read(bits) for bits in x_bits], [read(bits) for bits in scale_bits]
    size = max(len(w) // len(scales), 1)
    codes = [integer32(code) for code in w]
    if order == "exact":
        total: Number = (0, 0, 0)
        for i, (x, v) in enumerate(zip(xs, codes, strict=True)):
            total = total_of(total, product(product(x, v), scales[i // size]))
        count = len(w)
        text = "x0 * w0 * s0" if count == 1 else f"the sum of x * w * s, {count} products"
        log.fl("y", text, total)
        return log
    if order == "dequantize":
        values = [
            log.fl(f"v{i}", f"w{i} * s{i // size}", product(v, scales[i // size]))
            for i, v in enumerate(codes)
        ]
        _chain(
            log,
            "t",
            [(f"x{i} * v{i}", x, v) for i, (x, v) in enumerate(zip(xs, values, strict=True))],
        )
        return log
    parts = []
    for g, scale in enumerate(scales):
        own = range(g * size, min(g * size + size, len(w)))
        letter = "t" if len(scales) == 1 else f"g{g}t"
        if order == "offset":
            some = [(f"x{i} * u{i}", xs[i], integer32(w[i] + 8)) for i in own]
            total, name = _chain(log, letter, some)
            ones, last = _chain(log, letter.replace("t", "e"), [(f"x{i}", xs[i], ONE) for i in own])
            eights = log.fl(f"m{g}", f"{last} * -8", product(ones, integer32(-8)))
            total = log.fl(f"d{g}", f"{name} + m{g}, u = w + 8", total_of(total, eights))
            name = f"d{g}"
        else:
            total, name = _chain(log, letter, [(f"x{i} * w{i}", xs[i], codes[i]) for i in own])
        parts.append(log.fl(f"y{g}", f"{name} * s{g}", product(total, scale)))
    if len(parts) > 1:
        acc, name = parts[0], "y0"
        acc = total_of((0, 0, 0), acc)
        for g, part in enumerate(parts[1:], 1):
            acc = log.fl(f"a{g}", f"{name} + y{g}", total_of(acc, part))
            name = f"a{g}"
    return log


def _chain(
    log: Log, letter: str, pairs: Sequence[tuple[str, Number, Number]]
) -> tuple[Number, str]:
    """Products, each rounded, that are added in turn from +0; the sum and its name."""
    total: Number = (0, 0, 0)
    name = "0"
    for i, (text, x, y) in enumerate(pairs):
        term = x
        if y != ONE:
            text, term = f"{letter}p{i}", log.fl(f"{letter}p{i}", text, product(x, y))
        total = log.fl(f"{letter}{i}", f"{name} + {text}", total_of(total, term))
        name = f"{letter}{i}"
    if not pairs:
        log.fl("y", "an empty sum", total)
    return total, name


def qlinear(
    pairs: Sequence[tuple[int, int]],
    scale_bits: Sequence[int],
    zero_points: Sequence[int],
    low: int,
    high: int,
) -> Log:
    """Return the steps of one code of a product of matrices; arguments as those of the twin.

    >>> ends = [0x3F000000, 0x3F800000, 0x3F800000], [0, 0, 7], -128, 127
    >>> [step.name for step in qlinear([(1, 3), (2, -4)], *ends)]
    ['g', 'f', 'n', 'y', 'r', 'q']
    """
    log = Log()
    a_zero, b_zero, y_zero = zero_points
    factor = _factor(log, scale_bits)
    total = sum((a - a_zero) * (b - b_zero) for a, b in pairs)
    text = f"the sum of (a - {a_zero}) * (b - {b_zero}), {len(pairs)} products"
    n = log.fl("n", text, dyadic(Fraction(total)))
    r = log.near("r", "y", log.fl("y", "n * f", product(n, factor)))
    code = r if r[1] == INF else int(fraction(r)) + y_zero
    log.limited(f"r + {y_zero}", code, low, high)
    return log


def _factor(log: Log, scale_bits: Sequence[int]) -> Number:
    """The product of the scales of a and b over that of the result."""
    a_scale, b_scale, y_scale = (float_reader(F32)(bits) for bits in scale_bits)
    both = log.fl("g", "a_scale * b_scale", product(a_scale, b_scale))
    return log.over("f", "g / y_scale", both, y_scale)


def qlinear_add(
    a: int,
    b: int,
    scale_bits: Sequence[int],
    zero_points: Sequence[int],
    low: int,
    high: int,
    sum: str = "fused",
    one: str = "",
) -> Log:
    """Return the steps of the code of a sum; arguments as those of the twin.

    >>> ends = [0x3F000000, 0x3F800000, 0x3E800000], [0, 1, 5], 0, 255
    >>> [step.name for step in qlinear_add(20, 3, *ends)]
    ['f', 'h', 'p', 'm', 't', 'u', 'v', 'r', 'q']
    """
    log = Log()
    scales = [float_reader(F32)(bits) for bits in scale_bits]
    a_zero, b_zero, y_zero = zero_points
    exact = [(a - a_zero) * fraction(scales[0]), (b - b_zero) * fraction(scales[1])]
    texts = f"({a} - {a_zero}) * a_scale", f"({b} - {b_zero}) * b_scale"
    if sum == "exact":
        total = (exact[0] + exact[1]) / fraction(scales[2]) + y_zero
        r = log.whole("r", f"({texts[0]} + {texts[1]}) / y_scale + {y_zero}", total)
        log.limited("r", r, low, high)
        return log
    f = log.over("f", "a_scale / y_scale", scales[0], scales[2])
    h = log.over("h", "b_scale / y_scale", scales[1], scales[2])
    fixed = fixed_point(fraction(f), fraction(h)) if sum == "fixed_point" else None
    if fixed:
        m, n, shift = fixed
        log.whole("m", f"f * 2^{shift}", fraction(f) * 2**shift)
        log.whole("n", f"h * 2^{shift}", fraction(h) * 2**shift)
        t = log.whole(
            "t", f"({a} - {a_zero}) * m + ({b} - {b_zero}) * n", (a - a_zero) * m + (b - b_zero) * n
        )
        r = log.whole(
            "r", f"t * 2^-{shift}", Fraction(t, 2**shift), "an integer, ties away from zero"
        )
        log.limited(f"r + {y_zero}", r + y_zero, low, high)
        return log
    if sum in ("fixed_point", "quotient"):
        del log[:]
        parts = [
            log.fl(name, text, dyadic(x)) for name, text, x in zip("de", texts, exact, strict=True)
        ]
        total32 = log.fl("t", "d + e", total_of(*parts))
        y = fraction(log.over("y", "t / y_scale", total32, scales[2]))
        ends = low - y_zero, high - y_zero
        y = min(max(y, Fraction(ends[0])), Fraction(ends[1]))
        u = log.fl("u", f"y, from {ends[0]} to {ends[1]}, + {y_zero}", dyadic(y + y_zero))
        log.limited("r", log.whole("r", "u", fraction(u)), low, high)
        return log
    terms = [(a, f, a_zero, "f"), (b, h, b_zero, "h")]
    first, second = reversed(terms) if one == "a" else terms
    fused = sum == "fused"
    order = [second, first] if one or fused else [first, second]

    def times(
        name: str, code: int, ratio: Number, letter: str, *, rounded: bool
    ) -> tuple[str, Number]:
        number = product(integer32(code), ratio)
        if rounded:
            return name, log.fl(name, f"{letter} * {code}", number)
        return f"{letter} * {code}", number

    text, moved = times("o", first[2], first[1], first[3], rounded=not fused)
    other, beside = times("p", second[2], second[1], second[3], rounded=True)
    moved = log.fl("m", f"{text} + {other}", total_of(moved, beside))
    total32 = log.fl("t", f"{y_zero} - m", total_of(integer32(y_zero), (1 - moved[0], *moved[1:])))
    last = "t"
    for name, part, (code, quotient32, _, letter) in zip("uv", "cd", order, strict=True):
        text, term = times(part, code, quotient32, letter, rounded=not fused)
        total32 = log.fl(name, f"{text} + {last}", total_of(term, total32))
        last = name
    log.limited("r", log.whole("r", last, fraction(total32)), low, high)
    return log


def qlinear_mul(
    a: int,
    b: int,
    scale_bits: Sequence[int],
    zero_points: Sequence[int],
    low: int,
    high: int,
    zero_added: str = "before",
) -> Log:
    """Return the steps of the code of a product; arguments as those of the twin.

    >>> ends = [0x3F800000, 0x3F800000, 0x40000000], [0, 0, 7], -128, 127
    >>> [step.exact for step in qlinear_mul(5, 1, *ends)][2:]
    ['5', '2.5', '9.5', '9.5', '10']
    """
    log = Log()
    a_zero, b_zero, y_zero = zero_points
    factor = _factor(log, scale_bits)
    n = log.whole("n", f"({a} - {a_zero}) * ({b} - {b_zero})", (a - a_zero) * (b - b_zero))
    y = log.fl("y", "n * f", product(integer32(n), factor))
    if zero_added == "before":
        y = log.fl("t", f"y + {y_zero}", total_of(y, integer32(y_zero)))
    r = log.near("r", log[-1].name, y)
    after = zero_added == "after"
    code = r if r[1] == INF else int(fraction(r)) + (y_zero if after else 0)
    log.limited(f"r + {y_zero}" if after else "r", code, low, high)
    return log
