"""The element codes of the numbers of one sign, choice by choice.

Every choice about elements except the rounding is a small table in one function here.

Source: OCP MX v1.0 5.3; OFP8 Rev 1.0 5.2.1; the choices are N10 to N15, N25, N37 and N39.
"""

from __future__ import annotations

from collections.abc import Mapping
from itertools import pairwise
from typing import NamedTuple

from mxref.exact.choice_table import STOCHASTIC
from mxref.exact.format_table import MINUS_ZERO_IS_NAN, TWOS_COMPLEMENT, ElementType, join_sign
from mxref.exact.rounding import ABOVE, BELOW, TIE, choose, stops_at_max


class SignCodes(NamedTuple):
    """The element codes for the numbers of one sign.

    zero, infinite, nan: the codes of those numbers (nan: None when NaN is an error). exact: for
    each magnitude code the code of its number. between: for each magnitude code the codes of the
    numbers just above it, rounded down and up. answers: the codes under one deterministic rounding;
    index 2*i - 1 is for a number on the i-th point (from 1), index 2*i for those between it and the
    next.
    """

    zero: int
    infinite: int
    nan: int | None
    exact: tuple[int, ...]
    between: tuple[tuple[int, int], ...]
    answers: tuple[int, ...]


def largest_code(sign: int, fmt: ElementType, chosen: Mapping[str, str]) -> int:
    """Magnitude code of the largest finite number of a sign; two's complement may have one more.

    >>> from mxref.exact.format_table import ELEMENTS
    >>> [largest_code(s, ELEMENTS["int8"], {"int8_range": "full"}) for s in (0, 1)]
    [127, 128]
    """
    full = fmt.sign == TWOS_COMPLEMENT and chosen["int8_range"] == "full"
    return fmt.max_code + (full and sign == 1)


def nan_code(sign: int, fmt: ElementType, chosen: Mapping[str, str]) -> int:
    """Element code of a NaN with that sign, in a format that has NaN.

    Special values: a format whose one NaN is the code of -0 gives that.
    Source: OFP8 Rev 1.0 5.2.1 (implementation-defined).

    >>> from mxref.exact.format_table import ELEMENTS
    >>> hex(nan_code(1, ELEMENTS["e5m2"], {"nan": "signed_quiet"}))
    '0xfe'
    """
    if fmt.sign == MINUS_ZERO_IS_NAN:
        return fmt.sign_weight
    top = fmt.sign_weight - 1
    quiet = top
    if fmt.infinity is not None and fmt.nan != top:  # more than one NaN
        quiet = fmt.infinity + (1 << (fmt.mantissa_bits - 1))
    codes = {
        "positive": (0, top),
        "signed": (sign, top),
        "negative": (1, top),
        "signed_quiet": (sign, quiet),
    }
    return join_sign(*codes[chosen["nan"]], fmt)


def nan_number(sign: int, fmt: ElementType, chosen: Mapping[str, str]) -> int | None:
    """Element code of the number that stands for a NaN with that sign; None if it is an error.

    Source: OCP MX v1.0 5.3.2 to 5.3.4 (implementation-defined).

    >>> from mxref.exact.format_table import ELEMENTS
    >>> nan_number(0, ELEMENTS["e2m1"], {"nan_to_finite": "opposite_zero", "int8_range": "full"})
    8
    """
    numbers = {
        "max": (0, fmt.max_code),
        "signed_max": (sign, largest_code(sign, fmt, chosen)),
        "zero": (0, 0),
        "signed_zero": (sign, 0),
        "opposite_zero": (1 - sign, 0),
        "error": None,
    }
    number = numbers[chosen["nan_to_finite"]]
    return None if number is None else join_sign(*number, fmt)


def overflow_code(sign: int, fmt: ElementType, chosen: Mapping[str, str], *, finite: bool) -> int:
    """Element code of a finite number that overflows, or of Inf.

    Source: OCP MX v1.0 5.3.1 Table 3; OFP8 Rev 1.0 5.2.1; IEEE 754-2019 7.4 (ieee); P3109
    interim report v4.0 4.7.5 (propagate).

    >>> from mxref.exact.format_table import ELEMENTS
    >>> overflow_code(0, ELEMENTS["e5m2"], {"overflow": "propagate"}, finite=False) == 0x7C
    True
    """
    to_largest = {
        "saturate": True,
        "nonsaturating": False,
        "nonsaturating_ieee": finite and stops_at_max(chosen["rounding"], sign),
        "propagate": finite,
    }
    if not to_largest[chosen["overflow"]]:
        if fmt.infinity is not None:
            return join_sign(sign, fmt.infinity, fmt)
        if fmt.has_nan:
            return nan_code(sign, fmt, chosen)
    return join_sign(sign, largest_code(sign, fmt, chosen), fmt)


def make_sign_codes(sign: int, top: int, fmt: ElementType, chosen: Mapping[str, str]) -> SignCodes:
    """Make the codes of one sign for the magnitude codes 0 to top, one above the largest.

    chosen: a member of every choice in ELEMENT_CHOICES.
    Special values: see `SignCodes`; codes above the largest overflow.
    Source: OCP MX v1.0 5.3.

    >>> from mxref.exact.choice_table import ELEMENT_CHOICES, settle
    >>> from mxref.exact.format_table import ELEMENTS
    >>> make_sign_codes(1, 8, ELEMENTS["e2m1"], settle({}, ELEMENT_CHOICES)).exact
    (8, 9, 10, 11, 12, 13, 14, 15, 15)
    """
    largest = largest_code(sign, fmt, chosen)
    over = overflow_code(sign, fmt, chosen, finite=True)
    zero = join_sign(sign if chosen["zero_sign"] == "kept" else 0, 0, fmt)
    underflow = join_sign(sign if chosen["underflow_sign"] == "kept" else 0, 0, fmt)
    numbers = [join_sign(sign, code, fmt) for code in range(1, largest + 1)]
    overflows = [over] * (top - largest)
    exact = [zero, *numbers, *overflows]
    between = list(pairwise([underflow, *numbers, *overflows]))
    if chosen["clamp"] == "before_rounding":
        between[largest] = (over, over)
    answers = []
    if chosen["rounding"] not in STOCHASTIC:
        answers.append(zero)  # index 0, never read: no magnitude is below zero
        for code, pair in enumerate(between):
            rounded = [
                choose(code, where, sign, chosen["rounding"]) for where in (BELOW, TIE, ABOVE)
            ]
            answers += [exact[code], *(pair[choice - code] for choice in rounded)]
        answers += [over, over]
    infinite = overflow_code(sign, fmt, chosen, finite=False)
    nan = nan_code(sign, fmt, chosen) if fmt.has_nan else nan_number(sign, fmt, chosen)
    return SignCodes(zero, infinite, nan, tuple(exact), tuple(between), tuple(answers))
