"""What each scale rule allows for the largest magnitude of a block."""

from __future__ import annotations

import math
from dataclasses import dataclass
from fractions import Fraction

from mxref.formats.catalog import ELEMENT_FORMATS, BlockFormat
from mxref.policy.scale_rule import ScaleLimit, ScaleRule

__all__ = ["Limit", "beside_floor", "limit_text", "limits"]

#: Difference of the exponents -> a rule's scale, compared with FLOOR's.
_TIMES = {-1: "half", 0: "the same", 1: "twice", 2: "4 times"}


@dataclass(frozen=True, slots=True)
class Limit:
    """What a scale rule allows for a largest magnitude.

    Args:
        rule: the rule's name.
        requirement: what amax / 2^k must be, such as `<= 6`; empty for a rule without a limit.
        meets: whether some amax / 2^k is the limit itself.
        standing: what the standard says of the rule.
    """

    rule: str
    requirement: str
    meets: bool
    standing: str


def limits(amax: Fraction, fmt: BlockFormat) -> list[Limit]:
    """What every scale rule says of a largest magnitude, in the order of the rules.

    >>> from mxref.formats.catalog import block_format
    >>> made = limits(Fraction(7, 4), block_format("mxfp8_e4m3"))  # 448 is 7/4 * 2^8
    >>> [(one.rule, one.requirement, one.meets) for one in made[:3]]
    [('floor', '< 512', False), ('ceil', '<= 256', False), ('rceil', '<= 448', True)]
    """
    found = []
    for rule in ScaleRule:
        if rule.is_quirk:
            found.append(Limit(rule.value, "", meets=False, standing=rule.standings))
            continue
        limit = rule.limit(fmt.element)
        ratio = amax / limit.limit
        power = ratio.numerator & (ratio.numerator - 1) == 0 and (
            ratio.denominator & (ratio.denominator - 1) == 0
        )
        # The square of a root is twice a square, which that of no amax is.
        meets = bool(amax) and power and not limit.root
        found.append(Limit(rule.value, limit_text(limit), meets, rule.standings))
    return found


def beside_floor(rule: ScaleRule) -> list[dict[str, str]]:
    """For each element format the limit of a rule, what happens at it, and FLOOR's scale beside.

    Args:
        rule: a rule that has a limit.

    >>> one = next(one for one in beside_floor(ScaleRule.RCEIL) if one["format"] == "e4m3")
    >>> one["limit"], one["at_the_limit"], one["beside_floor"]
    ('<= 448', 'k stays', 'the same for p <= 1.75, twice for p > 1.75')
    """
    found = []
    for fmt in ELEMENT_FORMATS.values():
        limit = rule.limit(fmt)
        binade = limit.threshold(1)[0]
        significand = limit.limit / Fraction(2) ** (binade * (2 if limit.root else 1))
        text = f"{float(significand):.17g}"
        text = f"sqrt({text})" if limit.root else text
        low, high = (_TIMES[fmt.emax - binade + up] for up in (0, 1))
        below, above = ("<=", ">") if limit.closed else ("<", ">=")
        beside = f"{low} for p {below} {text}, {high} for p {above} {text}"
        if significand == 1:  # no p is below 1
            beside = f"{low} for p = 1, {high} for p > 1" if limit.closed else high
        at = "k stays" if limit.closed else "k + 1"
        if limit.root and not _is_square(limit.limit):
            at = "never reached"
        found.append(
            {
                "format": fmt.name,
                "limit": limit_text(limit),
                "at_the_limit": at,
                "beside_floor": beside,
            }
        )
    return found


def _is_square(number: Fraction) -> bool:
    parts = (number.numerator, number.denominator)
    return all(math.isqrt(part) ** 2 == part for part in parts)


def limit_text(limit: ScaleLimit) -> str:
    """What amax / 2^k must be; limits are dyadic and short.

    >>> from mxref.formats.catalog import E4M3
    >>> limit_text(ScaleRule.RCEIL.limit(E4M3)), limit_text(ScaleRule.NEAREST_LOG2.limit(E4M3))
    ('<= 448', '< 448 sqrt2')
    """
    if limit.root and _is_square(half := limit.limit / 2):
        whole = Fraction(math.isqrt(half.numerator), math.isqrt(half.denominator))
        return f"{'<=' if limit.closed else '<'} {float(whole):.17g} sqrt2"
    number = f"{float(limit.limit):.17g}"
    return f"{'<=' if limit.closed else '<'} {f'sqrt({number})' if limit.root else number}"
