"""A number's neighbours in a format, and the codes that single choices give it."""

from __future__ import annotations

import functools
import re
from decimal import Decimal, InvalidOperation
from fractions import Fraction

from mxref.bits.floats import FloatLayout
from mxref.cases.answers import exact_answer
from mxref.exact.format_table import FLOATS
from mxref.exact.integers import INF, NAN
from mxref.exact.patterns import write_float
from mxref.exact.sources import prepared, read_checked
from mxref.formats.catalog import E8M0, CodeFormat
from mxref.policy.policy import READS, Policy

__all__ = ["answers", "finite_numbers", "fraction", "nearest_codes", "neighbours", "parse_number"]

_HEX_FLOAT = re.compile(r"0x([0-9a-f]*)(?:\.([0-9a-f]*))?(?:p([+-]?\d+))?", re.ASCII)


def parse_number(text: str, layout: FloatLayout) -> int:
    """The pattern of a number given as text, rounded once to a float type, to nearest even.

    Args:
        text: a decimal (``-1.5e-3``), a hex float (``0x1.8p-3``), a fraction (``1/3``), a power of
            two (``2^-126`` or ``2**-126``), also with a factor (``1.75*2^8``), ``inf``, ``nan``,
            each with or without sign, or ``0x`` and the hex digits of a pattern.
        layout: the float type.

    >>> from mxref.bits.floats import F32
    >>> [hex(parse_number(text, F32)) for text in ("0.1", "-0", "0x1p-149", "0x3f800000")]
    ['0x3dcccccd', '0x80000000', '0x1', '0x3f800000']

    Raises:
        ValueError: the text is no number, or a pattern with a wrong number of digits.
    """
    match = re.fullmatch(r"([+-]?)([0-9a-z.][0-9a-z.+/^*-]*)", text.strip().lower(), re.ASCII)
    sign, word = (match[1], match[2]) if match else ("", "")
    kind = FLOATS[layout.name]
    special = {"inf": INF, "infinity": INF, "nan": NAN}.get(word)
    if special is not None:
        return write_float((0, special, 0), kind) | layout.sign_bit * (sign == "-")
    match = _HEX_FLOAT.fullmatch(word)
    if match is not None and match[2] is match[3] is None:
        if sign or len(match[1]) != layout.width // 4:
            raise ValueError(
                f"a pattern of {layout.name} must be 0x and {layout.width // 4} hex digits, "
                f"got {text!r}: what a code stands for is in `mxref formats FORMAT`"
            )
        return int(match[1], 16)
    number = _hex_number(match) if match is not None else _decimal_number(word)
    number = _ratio(word) if number is None else number
    if number is None:
        raise ValueError(
            "a number must be a decimal, a hex float such as 0x1.8p-3, a fraction such as 1/3, a "
            "power such as 2^-126 or 1.75*2^8, inf, nan, or 0x and the hex digits of a pattern, "
            f"got {text!r}{_nearest(text, layout)}"
        )
    # 1200 bits below the point hold every float type's subnormals and a sticky bit.
    scaled = number * 2**1200
    n = scaled.numerator // scaled.denominator << 1 | (scaled.denominator != 1)
    return write_float((int(sign == "-"), n, -1201), kind)


def fraction(bits: int, layout: FloatLayout) -> Fraction | None:
    """The number that a pattern stands for, exactly; None for an infinity or a NaN.

    >>> from mxref.bits.floats import F32
    >>> fraction(0xBF400000, F32)
    Fraction(-3, 4)
    """
    sign, n, e = read_checked("bits", bits, prepared(layout.name, "none"))
    return None if n < 0 else (-1) ** sign * n * Fraction(2) ** e


def neighbours(
    number: Fraction, fmt: CodeFormat
) -> tuple[tuple[int, Fraction] | None, tuple[int, Fraction] | None]:
    """The nearest codes at or below and at or above a number, each with its distance.

    None stands for a neighbour beyond the largest or smallest number.

    >>> from mxref.formats.catalog import E2M1
    >>> neighbours(Fraction(9, 4), E2M1)
    ((4, Fraction(1, 4)), (5, Fraction(3, 4)))
    >>> neighbours(Fraction(-7), E2M1)
    (None, (15, Fraction(1, 1)))
    """
    finite = finite_numbers(fmt)
    below = max((pair for pair in finite if pair[0] <= number), default=None)
    above = min((pair for pair in finite if pair[0] >= number), default=None)
    return (
        None if below is None else (below[1], number - below[0]),
        None if above is None else (above[1], above[0] - number),
    )


def nearest_codes(number: Fraction, fmt: CodeFormat) -> list[tuple[int, Fraction]]:
    """The codes nearest to a number, at most two at or below it and two above, with their values.

    >>> from mxref.formats.catalog import E2M1
    >>> [(code, float(value)) for code, value in nearest_codes(Fraction(9, 4), E2M1)]
    [(3, 1.5), (4, 2.0), (5, 3.0), (6, 4.0)]
    """
    finite = finite_numbers(fmt)
    count = sum(value <= number for value, _ in finite)
    return [(code, value) for value, code in finite[max(count - 2, 0) : count + 2]]


@functools.cache
def finite_numbers(fmt: CodeFormat) -> list[tuple[Fraction, int]]:
    """The numbers of a format in order, each once with its code: of the two zeros +0."""
    codes: dict[Fraction, int] = {}
    for code in range(fmt.code_count):
        if not fmt.is_nan(code) and fmt.sign_and_magnitude(code)[1] != fmt.inf_code:
            codes.setdefault(Fraction(fmt.value(code)), code)
    return sorted(codes.items())


def answers(bits: int, float: str, fmt: CodeFormat) -> dict[int | None, list[str]]:
    """The codes that single choices give, each with the choices, `ocp` first.

    All roundings are named, and the members of other choices that change the code; None stands for
    an error.

    >>> from mxref.formats.catalog import E2M1
    >>> answers(0x40200000, "f32", E2M1)[5]  # 2.5 is midway between 2 and 3
    ['rounding=ties_to_away', 'rounding=toward_positive', 'rounding=to_odd']
    """
    op = "encode_scale" if fmt is E8M0 else "encode"

    def answer(policy: Policy) -> int | None:
        try:
            return exact_answer(op, fmt.name, float, (bits,), policy)[0]
        except ValueError:  # of `nan_to_finite=error`
            return None

    default = Policy().choices()
    ocp = answer(Policy())
    found: dict[int | None, list[str]] = {ocp: ["ocp"]}
    for name in READS[op]:
        for member in Policy.members(name):
            absent = (op, member.value) == ("encode_scale", "wrap")
            if member.value == default[name] or "stochastic" in member.value or absent:
                continue
            code = answer(Policy().replace(**{name: member}))
            if code != ocp or name in ("rounding", "scale_rounding"):
                found.setdefault(code, []).append(f"{name}={member.value}")
    return found


def _hex_number(match: re.Match[str]) -> Fraction | None:
    whole, part, power = match[1], match[2] or "", int(match[3] or 0)
    if not whole + part or abs(power) > 100_000:
        return None
    return int(whole + part, 16) * Fraction(2) ** (power - 4 * len(part))


def _ratio(text: str) -> Fraction | None:
    """A fraction, a power of two, or a decimal times one."""
    factor = r"(?:(\d{1,400}(?:\.\d{0,400})?)\*)?"
    power = re.fullmatch(rf"{factor}2(?:\^|\*\*)([+-]?\d{{1,5}})", text, re.ASCII)
    if power is not None:
        return Fraction(power[1] or 1) * Fraction(2) ** int(power[2])
    ratio = re.fullmatch(r"(\d{1,400})/(\d{1,400})", text, re.ASCII)
    if ratio is None or not int(ratio[2]):
        return None
    return Fraction(int(ratio[1]), int(ratio[2]))


def _nearest(text: str, layout: FloatLayout) -> str:
    """A hint for an error message: a comma for a point, or a pattern without 0x."""
    near = ""
    if re.fullmatch(r"[+-]?\d*,\d+", text, re.ASCII):
        near = text.replace(",", ".")
    elif re.fullmatch(rf"[0-9a-fA-F]{{{layout.width // 4}}}", text):
        near = f"0x{text}"
    return f" (did you mean {near!r}?)" if near else ""


def _decimal_number(text: str) -> Fraction | None:
    try:
        number = Decimal(text)
    except InvalidOperation:
        return None
    if not number.is_finite():
        return None
    # Far outside every float type only whether it is huge or tiny matters.
    if number and abs(number.adjusted()) > 1000:
        return Fraction(10) ** (1000 if number.adjusted() > 0 else -1000)
    return Fraction(number)
