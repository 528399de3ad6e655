"""Number to E8M0 scale code and back, and the scale of a block, also in narrower power formats.

Source: OCP MX v1.0 5.4.1 (E8M0), 6.3 (conversion). The choices are N3, N6 to N8, N22 and N23.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from functools import cache
from typing import NamedTuple

from mxref.exact.choice_table import (
    DECODE_SCALE_CHOICES,
    ENCODE_SCALE_CHOICES,
    SHARED_SCALE_CHOICES,
    check_member,
    settle,
)
from mxref.exact.format_table import (
    E8M0,
    ELEMENTS,
    FLOATS,
    TWOS_COMPLEMENT,
    ElementType,
    PowerFormat,
    check_int,
    look_up,
)
from mxref.exact.integers import INF, NAN, Number, floor_log2
from mxref.exact.patterns import converted, write_float
from mxref.exact.rounding import ABOVE, BELOW, ON, TIE, choose
from mxref.exact.rules import RULES
from mxref.exact.sources import InputType, narrower, prepared, read_checked


@cache
def _encode_scale_plan(source: str, **choices: str) -> tuple[InputType, Mapping[str, str]]:
    chosen = settle(choices, ENCODE_SCALE_CHOICES)
    if chosen["scale_overflow"] == "wrap":
        raise ValueError("encode_scale does not wrap")
    return prepared(source, chosen["pre_rounding"]), chosen


def encode_scale(x_bits: int, source: str, rounding: str = "toward_zero", **choices: str) -> int:
    """Return the E8M0 code of |x|.

    x_bits, source: as in `encode`. rounding: a deterministic one, applied to |x| between adjacent
    powers of two; nearest is by distance of values, so 1.5 * 2**k is a tie, and even and odd are
    meant of the code.
    choices, the first of each being the default:
      scale_overflow, where |x| rounds past 2**127: clamp (FE), nan.
      scale_of_zero: code_00, nan. scale_of_inf: nan, largest (FE).
      scale_of_negative: magnitude, nan (of nonzero numbers and -Inf), code_00 (of all with
        the sign, -0 and -NaN included), code_00_if_finite (of -0 and numbers; FF of -Inf).
      tiny_scale, below 2**-126: exact; as_if_zero (ties_* take 00 for the number 0: 00 up to
        2**-127, 01 above); always_up (as_if_zero, and toward_positive gives 01 for 2**-127, too).
      pre_rounding: as in `encode`.
    Special values: numbers below 2**-127 give 00; NaN gives FF.
    Source: OCP MX v1.0 5.4.1.

    >>> [encode_scale(0x3FC00000, "f32", r) for r in ("toward_zero", "ties_to_even", "to_odd")]
    [127, 128, 127]
    >>> encode_scale(0x80000000, "f32", scale_of_zero="nan")
    255
    """
    kind, chosen = _encode_scale_plan(source, rounding=rounding, **choices)
    sign, n, e = read_checked("x_bits", x_bits, kind)
    if sign == 1 and chosen["scale_of_negative"] == "code_00":
        return 0
    if sign == 1 and chosen["scale_of_negative"] == "code_00_if_finite":
        return E8M0.nan if n in (INF, NAN) else 0
    if n == NAN or (sign == 1 and n != 0 and chosen["scale_of_negative"] == "nan"):
        return E8M0.nan
    if n == INF:
        return {"nan": E8M0.nan, "largest": E8M0.max_code}[chosen["scale_of_inf"]]
    if n == 0:
        return {"code_00": 0, "nan": E8M0.nan}[chosen["scale_of_zero"]]
    code = _rounded_code(n, e, rounding, chosen["tiny_scale"])
    if code > E8M0.max_code:
        return {"clamp": E8M0.max_code, "nan": E8M0.nan}[chosen["scale_overflow"]]
    return code


def _rounded_code(n: int, e: int, rounding: str, tiny_scale: str) -> int:
    """Return the code of n * 2**e, n >= 1, as if codes went on above FE."""
    lower = floor_log2(n, e) + E8M0.bias
    power = 1 << (n.bit_length() - 1)
    if lower <= 0:
        if tiny_scale == "always_up" and rounding == "toward_positive":
            return 1
        if tiny_scale != "exact" and rounding.startswith("ties_"):
            return 1 if lower == 0 and n > power else 0
        if lower < 0:
            return 0
    if n == power:
        where = ON
    elif 2 * n == 3 * power:
        where = TIE
    else:
        where = BELOW if 2 * n < 3 * power else ABOVE
    return choose(lower, where, 0, rounding)


def scale_number(code: int, chosen: Mapping[str, str], scale: PowerFormat = E8M0) -> Number:
    """Read a scale code as a number, under `scale_00` and `scale_ff`, the last code.

    Source: OCP MX v1.0 5.4.1.

    >>> scale_number(0xFF, {"scale_00": "power", "scale_ff": "power"})
    (0, 1, 128)
    """
    power = (0, 1, code - scale.bias)
    if code == 0:
        return {"power": power, "zero": (0, 0, 0)}[chosen["scale_00"]]
    if code == scale.nan:
        return {"nan": (0, NAN, 0), "inf": (0, INF, 0), "power": power}[chosen["scale_ff"]]
    return power


def decode_scale(code: int, target: str = "f32", **choices: str) -> int:
    """Return the bits of 2**(code - 127), rounded once to nearest even.

    code: 0 to 255. target: f16, bf16, f32 or f64.
    choices: scale_00: power (2**-127), zero. scale_ff: nan, inf, power (2**128).
    Special values: NaN is the positive quiet NaN. 2**-127 is subnormal in f32 and bf16. In f16
    codes up to 102 round to 0 and codes from 143 to Inf; 2**128 is Inf in all but f64.
    Source: OCP MX v1.0 5.4.1.

    >>> hex(decode_scale(0)), hex(decode_scale(127)), hex(decode_scale(0, "f16"))
    ('0x400000', '0x3f800000', '0x0')
    """
    kind = look_up(FLOATS, "target", target)
    chosen = settle(choices, DECODE_SCALE_CHOICES)
    check_int("code", code, 8)
    return write_float(scale_number(code, chosen), kind)


# The elements of a block: divided by the scale, all codes 00, or zeros with their signs.
SCALED, NAN_CODES, ZEROS = range(3)


class BlockScale(NamedTuple):
    """The scale code of a block, and SCALED, NAN_CODES or ZEROS for its elements."""

    code: int
    elements: int


def block_scaler(
    source: InputType,
    fmt: ElementType,
    rule: str,
    chosen: Mapping[str, str],
    scale: PowerFormat = E8M0,
) -> Callable[[Number], BlockScale]:
    """Make the function from a finite amax to the scale of its block.

    rule: a name of RULES. chosen: the members of SHARED_SCALE_CHOICES.
    Special values: an amax that `amax_type` turns into Inf counts as having exponent 128. Where
    `zero_block` names a power beyond the scale format, the nearest that it has is taken.
    Source: OCP MX v1.0 6.3 step 1.

    >>> from mxref.exact.choice_table import SHARED_SCALE_CHOICES, settle
    >>> from mxref.exact.sources import SOURCES
    >>> wrap = settle({"scale_underflow": "wrap"}, SHARED_SCALE_CHOICES)
    >>> block_scaler(SOURCES["f32"], ELEMENTS["e2m1"], "floor", wrap)((0, 1, -126)).code
    255
    """
    if fmt.sign == TWOS_COMPLEMENT and chosen["int8_emax"] == "one":
        fmt = fmt._replace(emax=1)
    kind = narrower(source, chosen["amax_type"])
    exponent = RULES[rule]
    nan_block = BlockScale(scale.nan, NAN_CODES)

    def nearest(k: int) -> int:
        return min(range(scale.nan), key=lambda code: abs(code - scale.bias - k))

    zero_block = {
        "code_00": BlockScale(0, SCALED),
        "code_01": BlockScale(1, SCALED),
        "one": BlockScale(nearest(0), SCALED),
        "minus_emax": BlockScale(nearest(-fmt.emax), SCALED),
        "nan": nan_block,
    }[chosen["zero_block"]]

    def scale_of(amax: Number) -> BlockScale:
        _, n, e = amax if kind is None else converted(amax, kind)
        if n == 0:
            return zero_block
        code = scale.bias + (128 if n == INF else exponent(n, e, fmt))
        subnormal = n != INF and floor_log2(n, e) < -126  # as a float32
        if subnormal and chosen["scale_underflow"] == "flush_subnormal":
            return BlockScale(max(code, 0), ZEROS)
        if 0 <= code <= scale.max_code:
            return BlockScale(code, SCALED)
        beyond = {"nan": nan_block, "wrap": BlockScale(code % 2**scale.bits, SCALED)}
        if code > scale.max_code:
            beyond["clamp"] = BlockScale(scale.max_code, SCALED)
            return beyond[chosen["scale_overflow"]]
        beyond["clamp"] = BlockScale(0, SCALED)
        beyond["flush_subnormal"] = beyond["clamp"]
        beyond["flush"] = BlockScale(0, ZEROS)
        return beyond[chosen["scale_underflow"]]

    return scale_of


@cache
def _shared_scale_plan(
    source: str, format: str, rule: str, **choices: str
) -> tuple[InputType, Callable[[Number], BlockScale]]:
    """Look up what `shared_scale` needs for one set of names."""
    kind = prepared(source, "none")
    fmt = look_up(ELEMENTS, "format", format)
    check_member("rule", rule, RULES)
    return kind, block_scaler(kind, fmt, rule, settle(choices, SHARED_SCALE_CHOICES))


def shared_scale(
    amax_bits: int, source: str, format: str, rule: str = "floor", **choices: str
) -> int:
    """Return the scale code of a block whose largest magnitude is |amax|.

    amax_bits: bits of a number, its sign ignored. source: as in `encode`. format: an element
    format. rule: one of eight, see `mxref.exact.rules`; "floor" is floor(log2(amax)) - emax.
    choices, the first of each being the default:
      zero_block, for amax 0: code_00, code_01, one (7F), minus_emax (127 - emax), nan.
      int8_emax, the emax that INT8 counts as having: zero, one.
      scale_overflow, for exponents above 127: clamp (FE), nan, wrap (mod 256).
      scale_underflow, for exponents below -127: clamp (00), nan, wrap (mod 256), flush (00),
        flush_subnormal (00).
      amax_type: source, float32, bfloat16, float16, to nearest even, if the source is wider. An
        amax that becomes Inf counts as having exponent 128.
    Special values: Inf and NaN give FF.
    Source: OCP MX v1.0 6.3 step 1.

    >>> shared_scale(0x43E00000, "f32", "e4m3"), shared_scale(0x3F800000, "f32", "e2m1")
    (127, 125)
    """
    kind, scale_of = _shared_scale_plan(source, format, rule, **choices)
    amax = read_checked("amax_bits", amax_bits, kind)
    if amax[1] < 0:
        return E8M0.nan
    return scale_of(amax).code
