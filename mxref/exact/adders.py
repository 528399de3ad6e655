"""One dot product as an adder gives it: float32 additions in an order, or a tensor core.

Source: SPEC_NOTES N43; OCP MX v1.0 6.1, 6.2; IEEE 754-2019 5.4.1; MMA-Sim, arXiv 2511.10909.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from fractions import Fraction
from functools import reduce
from typing import Final, NamedTuple

from mxref.exact.arithmetic import F32, product, quotient
from mxref.exact.dot import read_scale
from mxref.exact.format_table import ELEMENTS, UNSIGNED_SCALES, domain_error, look_up, read_code
from mxref.exact.integers import INF, NAN, Number, floor_log2
from mxref.exact.patterns import converted, write_float

_ZERO: Final = (0, 0, 0)


class TensorCore(NamedTuple):
    """How a tensor core adds the products of one step and the sum so far."""

    fraction_bits: int  # terms become multiples of 2**(e - this), e the largest exponent
    step: int  # products in one addition
    group: int  # products that are summed exactly into one term
    zero_exponent: int  # of a term that is zero
    output_bits: int  # fraction bits of a step's result


TENSOR_CORES: Final[Mapping[str, TensorCore]] = {
    "aligned_25": TensorCore(25, 32, 1, -133, 23),
    "aligned_35": TensorCore(35, 64, 16, -139, 23),
    "aligned_13": TensorCore(13, 32, 1, -133, 13),
}


class Pair(NamedTuple):
    """The product of two elements, without and with scales, theirs, and the sums of exponents."""

    number: Number
    scaled: Number
    factor: Number
    elements: int
    scales: int


def accumulation(
    a: Sequence[int],
    b: Sequence[int],
    scales_a: Sequence[int],
    scales_b: Sequence[int],
    format_a: str,
    format_b: str,
    how: str,
    block_size: int = 32,
    scale_formats: tuple[str, str] = ("e8m0", "e8m0"),
    alpha: Fraction = Fraction(1),
) -> int:
    """Return the float32 bits of the dot product of two rows, as an adder gives them.

    a, b: K element codes. scales_a, scales_b: a code for each block. how: sequential, pairwise,
    by_block, scales_last; aligned_25, aligned_35 or aligned_13, in blocks of 32, or aligned_35 in
    blocks of 16. scale_formats: e8m0, or an unsigned float. alpha: by what the sum is multiplied,
    itself rounded to float32.
    Special values: a code or a scale that is not finite raises ValueError. A sum may overflow to
    Inf, and sums that did to NaN. A zero is +0.
    Source: SPEC_NOTES N42, N43.

    >>> rows = [0x74, 0x0C], [0x01, 0x08], [127], [127], "e5m2", "e2m3"
    >>> hex(accumulation(*rows, "sequential")), hex(accumulation(*rows, "aligned_25"))
    ('0x45000001', '0x45000000')
    """
    scales = [(scales_a[k // block_size], scales_b[k // block_size]) for k in range(len(a))]
    numbers = zip(zip(a, b, strict=True), scales, strict=True)
    pairs = [_pair(*each, (format_a, format_b), scale_formats) for each in numbers]
    blocks = [pairs[first : first + block_size] for first in range(0, len(a), block_size)]
    if how in ("sequential", "pairwise"):
        totals = _float32(pair.scaled for pair in pairs)
        while how == "pairwise" and len(totals) > 1:
            totals = [reduce(add, totals[i : i + 2]) for i in range(0, len(totals), 2)]
    elif how == "by_block":
        totals = [reduce(add, _float32(pair.scaled for pair in block)) for block in blocks]
    elif how == "scales_last":
        sums = [reduce(add, _float32(pair.number for pair in block)) for block in blocks]
        powers = _float32(block[0].factor for block in blocks)
        totals = _float32(map(product, sums, powers))
    elif how == "aligned_13":
        codes = [[Pair(x, x, (0, 1, 0), e, 0) for x, _, _, e, _ in block] for block in blocks]
        sums = [_step(block, _ZERO, TENSOR_CORES[how]) for block in codes]
        totals = _float32(
            product(x, block[0].factor) for x, block in zip(sums, blocks, strict=True)
        )
    else:
        core = look_up(TENSOR_CORES, "how", how)
        steps = [pairs[first : first + core.step] for first in range(0, len(a), core.step)]
        totals = [reduce(lambda total, step: _step(step, total, core), steps, _ZERO)]
    total = reduce(add, totals, _ZERO)
    if alpha != 1:
        factor = quotient((0, alpha.numerator, 0), (0, alpha.denominator, 0), F32)
        total = converted(product(total, factor), F32)
    return write_float(total if total[1] else _ZERO, F32)


def _float32(numbers: Iterable[Number]) -> list[Number]:
    return [converted(number, F32) for number in numbers]


def _pair(
    codes: tuple[int, int],
    scales: tuple[int, int],
    formats: tuple[str, str],
    scale_formats: tuple[str, str],
) -> Pair:
    numbers = [read_code(code, ELEMENTS[name]) for code, name in zip(codes, formats, strict=True)]
    factors = [read_scale(code, name) for code, name in zip(scales, scale_formats, strict=True)]
    if min(n for _, n, _ in [*numbers, *factors]) < 0:
        raise domain_error("codes and scales", "finite", (*map(hex, codes), *map(hex, scales)))
    number, factor = product(*numbers), product(*factors)
    # The exponent of a normal number's leading bit, and of that place in a subnormal.
    elements = number[2] + sum(ELEMENTS[name].mantissa_bits for name in formats)
    fields = factor[2] + sum(
        UNSIGNED_SCALES[name].mantissa_bits for name in scale_formats if name in UNSIGNED_SCALES
    )
    return Pair(number, product(number, factor), factor, elements, fields)


def add(x: Number, y: Number) -> Number:
    """Add two float32 numbers as IEEE 754 does, ties to even.

    Special values: Inf of both signs is NaN. The sign of a zero is not that of IEEE 754.

    >>> add((0, 1, 24), (0, 1, 0)), add((1, 3, 0), (0, 3, 0))[:2]
    ((0, 8388608, 1), (0, 0))
    """
    if x[1] < 0 or y[1] < 0:
        signs = {number[0] for number in (x, y) if number[1] == INF}
        return (0, NAN, 0) if NAN in (x[1], y[1]) or len(signs) > 1 else (signs.pop(), INF, 0)
    return converted(_exact_sum([x, y]), F32)


def _step(pairs: Sequence[Pair], total: Number, core: TensorCore) -> Number:
    """Add products to the sum so far: align, cut toward zero, add exactly, cut toward zero."""
    terms = [(total, max(floor_log2(*total[1:]), -126) if total[1] else core.zero_exponent)]
    for first in range(0, core.step, core.group):
        group = [pair for pair in pairs[first : first + core.group] if pair.scaled[1]]
        own = group[0].elements if group and core.group == 1 else 0
        exponent = own + group[0].scales if group else core.zero_exponent
        terms.append((_exact_sum([pair.scaled for pair in group]), exponent))
    if total[1] == INF:
        return total
    unit = max(exponent for _, exponent in terms) - core.fraction_bits
    sign, n, e = _exact_sum([_cut(number, unit) for number, _ in terms])
    if n and floor_log2(n, e) >= 128:
        return sign, INF, 0
    sign, n, e = _cut((sign, n, e), max(floor_log2(n, e), -126) - core.output_bits)
    return sign, n, e


def _cut(number: Number, unit: int) -> Number:
    """Toward zero to a multiple of 2**unit."""
    sign, n, e = number
    return (sign, n << (e - unit), unit) if e >= unit else (sign, n >> (unit - e), unit)


def _exact_sum(numbers: Sequence[Number]) -> Number:
    e = min((e for _, _, e in numbers), default=0)
    total = sum((-n if sign else n) << (exponent - e) for sign, n, exponent in numbers)
    return int(total < 0), abs(total), e
