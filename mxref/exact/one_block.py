"""One block of numbers to a scale code and element codes, and one element back.

Source: OCP MX v1.0 5.1 (value of an element), 6.3 (conversion). The choices are N4, N5, N20, N21
and those of elements and scales.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from functools import cache, lru_cache
from typing import NamedTuple

from mxref.exact.arithmetic import product
from mxref.exact.breakpoints import breakpoints, code_finder
from mxref.exact.choice_table import (
    BLOCK_CHOICES,
    DEQUANTIZE_CHOICES,
    ELEMENT_CHOICES,
    INPUT_CHOICES,
    SHARED_SCALE_CHOICES,
    check_member,
    settle,
)
from mxref.exact.e8m0_scale import (
    NAN_CODES,
    SCALED,
    ZEROS,
    BlockScale,
    block_scaler,
    scale_number,
)
from mxref.exact.format_table import (
    ELEMENTS,
    FLOATS,
    POWERS,
    FloatType,
    PowerFormat,
    check_int,
    domain_error,
    look_up,
    read_code,
)
from mxref.exact.integers import INF, NAN, Number, largest
from mxref.exact.patterns import converted, write_float
from mxref.exact.rounding import check_random
from mxref.exact.rules import RULES
from mxref.exact.sources import InputType, prepared, read_checked


class _QuantizePlan(NamedTuple):
    """The functions that `quantize` needs for one set of names.

    scale_of: from a finite amax. place: from a number to its code. stochastic: whether it takes
    random bits. nan_code: the element code in a NaN block.
    """

    source: InputType
    scale_of: Callable[[Number], BlockScale]
    place: Callable[[Number, int, int], int]
    stochastic: bool
    nan_code: int
    chosen: Mapping[str, str]
    scale: PowerFormat


@cache
def _quantize_plan(
    source: str, format: str, rule: str, scale_format: str, **choices: str
) -> _QuantizePlan:
    scale = look_up(POWERS, "scale_format", scale_format)
    fmt = look_up(ELEMENTS, "format", format)
    check_member("rule", rule, RULES)
    chosen = settle(choices, ELEMENT_CHOICES, INPUT_CHOICES, SHARED_SCALE_CHOICES, BLOCK_CHOICES)
    kind = prepared(source, chosen["pre_rounding"], chosen["subnormal_inputs"])
    breaks = breakpoints(format, **{name: chosen[name] for name in ELEMENT_CHOICES})
    scale_of = block_scaler(kind, fmt, rule, chosen, scale)
    nan_code = (1 << fmt.bits) - 1 if chosen["nan_block_codes"] == "ones" else 0
    stochastic = breaks.stochastic is not None
    return _QuantizePlan(kind, scale_of, code_finder(breaks), stochastic, nan_code, chosen, scale)


def quantize(
    x_bits: Sequence[int],
    source: str,
    format: str,
    rounding: str = "ties_to_even",
    overflow: str = "saturate",
    rule: str = "floor",
    *,
    random_bits: Sequence[int] | None = None,
    random_width: int = 0,
    scale_format: str = "e8m0",
    **choices: str,
) -> tuple[int, list[int]]:
    """Return the scale code and the element codes of one block.

    x_bits: bits of the numbers, one or more. format: an element format. Each element is
    x / 2**(scale - 127), rounded once. rounding, overflow and the choices of elements: as in
    `encode`. rule and the choices of scales: as in `shared_scale`, amax being the largest magnitude
    of the numbers after `pre_rounding` and `subnormal_inputs`.
    random_bits: as many as numbers, each of random_width bits, for a stochastic rounding.
    scale_format: a name of POWERS; below are the codes of e8m0, and 127 is its bias.
    further choices, the first of each being the default:
      block_nan: nan_block, ignore (NaN does not count for amax, its code follows `nan` or
        `nan_to_finite`).
      block_inf: nan_block, largest_scale (scale FE), ignore (Inf does not count for amax). In the
        last two the code of an Inf follows `overflow`.
      nan_block_codes, of the elements of a NaN block: zeros, ones (every bit set).
      scaling: divide, reciprocal_flushed (under scales FE and FF every number becomes a zero and
        Inf a NaN, as if multiplied by a flushed reciprocal).
    Special values: a NaN block has scale FF and element codes 00. A block of zeros, or one in which
    no number counts, has amax 0; its zeros keep their signs. scale_underflow=flush makes every
    element a zero, with its sign. A scale that wraps to FF is 2**128, and no NaN.
    Source: OCP MX v1.0 6.3.

    >>> quantize([0x3F800000, 0xC0400000, 0x3E800000], "f32", "e2m1")  # 1, -3, 0.25
    (126, [4, 15, 1])
    >>> quantize([0x3F800000, 0x7F800000], "f32", "e4m3", block_inf="ignore")
    (119, [120, 126])
    """
    both = {"rounding": rounding, "overflow": overflow}
    plan = _quantize_plan(source, format, rule, scale_format, **both, **choices)
    if len(x_bits) == 0:
        raise domain_error("x_bits", "a block of one number or more", x_bits)
    if set(map(type, x_bits)) != {int}:  # `_read`'s cache takes True for 1
        for bits in x_bits:
            check_int("x_bits", bits, plan.source.bits)
    block = _read(tuple(x_bits), plan.source)
    numbers: Sequence[Number] = block.numbers
    drawn = None
    if plan.stochastic:
        drawn = checked_draws(random_bits, random_width, len(numbers))
    scale = _scale_of(block, plan)
    if scale.elements == NAN_CODES:
        return scale.code, [plan.nan_code] * len(numbers)
    exponent = scale.code - plan.scale.bias
    if plan.chosen["scaling"] == "reciprocal_flushed" and exponent >= 127:
        # 1 / 2**127 is subnormal; flushed to 0 it turns numbers into zeros and Inf into NaN.
        numbers = [(s, NAN if n in (INF, NAN) else 0, 0) for s, n, _ in numbers]
    if scale.elements == ZEROS:
        numbers = [(sign, 0, 0) for sign, _, _ in numbers]
    if drawn is None:
        return scale.code, list(_codes(tuple(numbers), exponent, plan.place))
    return scale.code, [
        plan.place((sign, n, e - exponent), r, random_width)
        for (sign, n, e), r in zip(numbers, drawn, strict=True)
    ]


@lru_cache(maxsize=1024)
def _codes(
    numbers: tuple[Number, ...], exponent: int, place: Callable[[Number, int, int], int]
) -> tuple[int, ...]:
    """Place every number / 2**exponent; cached, for policies that differ in the scale alone."""
    return tuple(place((sign, n, e - exponent), 0, 0) for sign, n, e in numbers)


class _Block(NamedTuple):
    """A block of numbers, the largest finite magnitude, and whether there are Inf and NaN."""

    numbers: tuple[Number, ...]
    amax: Number
    has_inf: bool
    has_nan: bool


@lru_cache(maxsize=1024)
def _read(x_bits: tuple[int, ...], source: InputType) -> _Block:
    """Read a block; cached, since vectors ask for it under one policy after another."""
    numbers = tuple(read_checked("x_bits", bits, source) for bits in x_bits)
    kinds = {n for _, n, _ in numbers}
    amax = largest(number for number in numbers if number[1] >= 0)
    return _Block(numbers, amax, INF in kinds, NAN in kinds)


def checked_draws(draws: Sequence[int] | None, random_width: int, count: int) -> list[int]:
    """Return random bits, one for each number; ValueError for others."""
    if draws is None or len(draws) != count:
        raise domain_error("random_bits", "as many Python ints as there are numbers", draws)
    for draw in draws:
        check_random(draw, random_width)
    return list(draws)


def _scale_of(block: _Block, plan: _QuantizePlan) -> BlockScale:
    """Return the scale of a block, its NaN and Inf included."""
    if block.has_nan and plan.chosen["block_nan"] == "nan_block":
        return BlockScale(plan.scale.nan, NAN_CODES)
    if block.has_inf and plan.chosen["block_inf"] == "nan_block":
        return BlockScale(plan.scale.nan, NAN_CODES)
    if block.has_inf and plan.chosen["block_inf"] == "largest_scale":
        return BlockScale(plan.scale.max_code, SCALED)
    return plan.scale_of(block.amax)


class _Reading(NamedTuple):
    """The tables that `dequantize` needs for one set of names.

    elements: the numbers of all element codes of `bits` bits. scales: for each scale code whether
    it is finite, and its number, rounded to the target under product_rounding=scale_first.
    """

    bits: int
    elements: tuple[Number, ...]
    scales: tuple[tuple[bool, Number], ...]
    target: FloatType
    chosen: Mapping[str, str]
    scale_bits: int


@cache
def _reading(format: str, target: str, scale_format: str, **choices: str) -> _Reading:
    powers = look_up(POWERS, "scale_format", scale_format)
    fmt = look_up(ELEMENTS, "format", format)
    kind = look_up(FLOATS, "target", target)
    chosen = settle(choices, DEQUANTIZE_CHOICES)
    elements = tuple(read_code(code, fmt) for code in range(1 << fmt.bits))
    scales = []
    for code in range(1 << powers.bits):
        scale = scale_number(code, chosen, powers)
        first = chosen["product_rounding"] == "scale_first"
        scales.append((scale[1] >= 0, converted(scale, kind) if first else scale))
    return _Reading(fmt.bits, elements, tuple(scales), kind, chosen, powers.bits)


def dequantize(
    scale_code: int,
    code: int,
    format: str,
    target: str = "f32",
    scale_format: str = "e8m0",
    **choices: str,
) -> int:
    """Return the bits of element times scale, the exact product rounded once to nearest even.

    scale_code: 0 to 255. code: 0 to 2**bits - 1 of the format. format: an element format.
    target: f16, bf16, f32 or f64. scale_format: a name of POWERS, whose last code scale_ff is of.
    choices, the first of each being the default:
      scale_00: power, zero. scale_ff: nan, inf, power. See `decode_scale`.
      product_overflow, where the product of finite numbers exceeds the target: inf, nan, saturate.
      product_rounding: once, scale_first (the scale is rounded to the target before the product; if
        it becomes Inf, its product with a nonzero finite element overflows).
      decoded_zero, of zeros in the result: kept, dropped.
    Special values: NaN times anything and Inf times zero are the positive quiet NaN; Inf times
    anything else is Inf, with the element's sign; -0 and a negative product that rounds to zero
    give -0.
    Source: OCP MX v1.0 5.1.

    >>> hex(dequantize(126, 0xF, "e2m1")), hex(dequantize(0xFE, 0x7F, "int8"))  # -3, 127 * 2**121
    ('0xc0400000', '0x7f7e0000')
    >>> hex(dequantize(0xFE, 0x7, "e2m1", product_overflow="saturate"))
    '0x7f7fffff'
    """
    plan = _reading(format, target, scale_format, **choices)
    bits, elements, scales, kind, chosen, scale_bits = plan
    check_int("scale_code", scale_code, scale_bits)
    check_int("code", code, bits)
    element, (finite, scale) = elements[code], scales[scale_code]
    result = write_float(product(element, scale), kind)
    return settled_product(result, kind, chosen, can_overflow=finite and element[1] >= 0)


def settled_product(
    result: int, kind: FloatType, chosen: Mapping[str, str], *, can_overflow: bool
) -> int:
    """Return a rounded product after product_overflow and decoded_zero.

    can_overflow: whether its factors were finite, so that Inf is an overflow.

    >>> how = {"product_overflow": "saturate", "decoded_zero": "dropped"}
    >>> [settled_product(n, FLOATS["f16"], how, can_overflow=True) for n in (31744, 32768)]
    [31743, 0]
    """
    sign_weight = 1 << (kind.bits - 1)
    if can_overflow and result % sign_weight == kind.infinity:
        overflows = {
            "inf": result,
            "nan": kind.quiet_nan,
            "saturate": result - 1,  # the pattern before that of Inf
        }
        return overflows[chosen["product_overflow"]]
    if result == sign_weight and chosen["decoded_zero"] == "dropped":
        return 0
    return result
