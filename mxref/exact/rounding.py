"""The seven roundings, stated once as a choice between two neighbours.

Source: OCP MX v1.0 §5.3 (roundTiesToEven is required, others may be supported); IEEE 754-2019 §4.3.
"""

from __future__ import annotations

from typing import Final

from mxref.exact.formats import bad

ROUNDINGS: Final = (
    "ties_to_even",
    "ties_to_away",
    "ties_to_zero",
    "toward_zero",
    "toward_positive",
    "toward_negative",
    "to_odd",
)

# Where a magnitude lies between two neighbours: on the lower one, or in relation to their midpoint.
ON, BELOW, TIE, ABOVE = range(4)


def check_rounding(rounding: str) -> None:
    """Refuse a name that is not one of the seven roundings.

    >>> check_rounding("up")
    Traceback (most recent call last):
        ...
    ValueError: rounding must be one of ties_to_even, ties_to_away, ties_to_zero, toward_zero, \
toward_positive, toward_negative, to_odd; got 'up'
    """
    if rounding not in ROUNDINGS:
        raise bad("rounding", "one of " + ", ".join(ROUNDINGS), rounding)


def choose(lower: int, where: int, sign: int, rounding: str) -> int:
    """Choose the magnitude code that a magnitude rounds to: `lower`, or the next one.

    lower: code of the largest magnitude that is not above. where: ON, BELOW, TIE or ABOVE.
    sign: 1 for a negative number. rounding: one of ROUNDINGS; "to_odd" gives, if inexact, the
    neighbour whose code is odd.
    Source: IEEE 754-2019 §4.3.

    >>> choose(6, TIE, 0, "ties_to_even"), choose(7, TIE, 0, "ties_to_even")
    (6, 8)
    >>> choose(6, BELOW, 1, "toward_positive"), choose(6, BELOW, 1, "toward_negative")
    (6, 7)
    """
    upper = lower + 1
    if where == ON or rounding == "toward_zero":
        return lower
    if rounding == "toward_positive":
        return lower if sign else upper
    if rounding == "toward_negative":
        return upper if sign else lower
    if rounding == "to_odd":
        return lower if lower % 2 == 1 else upper
    if where == BELOW:
        return lower
    if where == ABOVE:
        return upper
    if rounding == "ties_to_away":
        return upper
    if rounding == "ties_to_zero":
        return lower
    return lower if lower % 2 == 0 else upper
