"""The roundings, stated once as a choice between two neighbours.

Source: OCP MX v1.0 5.3 (roundTiesToEven is required, others may be supported); IEEE 754-2019 4.3;
P3109 interim report v4.0 (StochasticA, B and C).
"""

from __future__ import annotations

from mxref.exact.format_table import domain_error

# Where a magnitude lies between two neighbours: on the lower one, or in relation to their midpoint.
ON, BELOW, TIE, ABOVE = range(4)


def choose(lower: int, where: int, sign: int, rounding: str) -> int:
    """Choose the magnitude code that a magnitude rounds to: `lower`, or the next one.

    lower: code of the largest magnitude that is not above. where: ON, BELOW, TIE or ABOVE.
    sign: 1 for a negative number. rounding: a deterministic one; "to_odd" gives, if inexact, the
    neighbour whose code is odd.
    Source: IEEE 754-2019 4.3.

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


def stops_at_max(rounding: str, sign: int) -> bool:
    """Whether a rounding points to zero for a sign, so that overflow as in IEEE gives the maximum.

    Source: IEEE 754-2019 7.4.

    >>> [stops_at_max("toward_positive", sign) for sign in (0, 1)]
    [False, True]
    """
    if rounding in ("toward_zero", "to_odd"):
        return True
    return rounding == ("toward_positive" if sign else "toward_negative")


def goes_up(rest: int, gap: int, rounding: str, random_bits: int, random_width: int) -> bool:
    """Whether a magnitude at rest / gap of the way to its upper neighbour is rounded up to it.

    rest: 0 to gap - 1. rounding: a stochastic one. random_bits: 0 to 2**random_width - 1.
    Special values: rest 0, an exact number, never goes up.
    Source: P3109 interim report v4.0, StochasticA, StochasticB and StochasticC.

    >>> [goes_up(3, 8, r, 2, 2) for r in ("stochastic_a", "stochastic_b", "stochastic_c")]
    [False, True, True]
    """
    one = 1 << random_width
    if rounding == "stochastic_a":
        return rest * one // gap + random_bits >= one
    if rounding == "stochastic_b":
        return rest * 2 * one // gap + 2 * random_bits + 1 >= 2 * one
    whole, part = divmod(rest * one, gap)
    if 2 * part > gap or (2 * part == gap and whole % 2 == 1):
        whole += 1
    return whole + random_bits >= one


def check_random(random_bits: int, random_width: int) -> None:
    """Refuse a width outside 1 to 32, and random bits that do not fit it.

    >>> check_random(4, 2)
    Traceback (most recent call last):
        ...
    ValueError: random_bits must be a Python int from 0 to 0x3; got 4
    """
    if type(random_width) is not int or not 1 <= random_width <= 32:
        raise domain_error("random_width", "a Python int from 1 to 32", random_width)
    if type(random_bits) is not int or random_bits >> random_width:
        raise domain_error(
            "random_bits", f"a Python int from 0 to {2**random_width - 1:#x}", random_bits
        )
