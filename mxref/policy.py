"""Every choice that the standards leave open, by name, and the policies made of them.

A policy has one spelling everywhere: a profile's name and the choices that differ from it, as in
``ocp+rounding=toward_zero+overflow=nonsaturating``.
"""

from __future__ import annotations

import dataclasses
import enum
from collections.abc import Mapping
from dataclasses import dataclass

import numpy as np

from mxref._bits import I64
from mxref._text import unknown_name
from mxref.scale_rule import ScaleRule

__all__ = ["ElementPolicy", "Overflow", "Policy", "Rounding", "ScalePolicy", "ScaleRule"]


class Rounding(enum.Enum):
    """To which neighbour an inexact number goes. Source: SPEC_NOTES N17.

    roundTiesToEven is required (OCP MX v1.0 §5.3); every other one is permitted.
    """

    TIES_TO_EVEN = "ties_to_even"  #: nearest, a tie to the even code
    TIES_TO_AWAY = "ties_to_away"  #: nearest, a tie away from zero
    TIES_TO_ZERO = "ties_to_zero"  #: nearest, a tie toward zero
    TOWARD_ZERO = "toward_zero"  #: truncation
    TOWARD_POSITIVE = "toward_positive"
    TOWARD_NEGATIVE = "toward_negative"
    TO_ODD = "to_odd"  #: the neighbour with the odd code

    def increments(self) -> I64:
        """The 16 round-up decisions that `mxref._bits.round_to_code` looks up."""
        table = [
            self._rounds_up(
                negative=bool(i & 8), odd=bool(i & 4), half=bool(i & 2), rest=bool(i & 1)
            )
            for i in range(16)
        ]
        return np.array(table, np.int64)

    def _rounds_up(self, *, negative: bool, odd: bool, half: bool, rest: bool) -> bool:
        match self:
            case Rounding.TIES_TO_EVEN:
                return half and (rest or odd)
            case Rounding.TIES_TO_AWAY:
                return half
            case Rounding.TIES_TO_ZERO:
                return half and rest
            case Rounding.TOWARD_ZERO:
                return False
            case Rounding.TOWARD_POSITIVE:
                return (half or rest) and not negative
            case Rounding.TOWARD_NEGATIVE:
                return (half or rest) and negative
            case Rounding.TO_ODD:
                return (half or rest) and not odd


class Overflow(enum.Enum):
    """What a number that rounds past the largest one, or an infinity, becomes.

    Source: OCP MX v1.0 §5.3.1 Table 3; SPEC_NOTES N11, N39.
    """

    SATURATE = "saturate"  #: the largest number, sign kept
    NONSATURATING = "nonsaturating"  #: Inf (E5M2) or NaN (E4M3); clamped where a format has neither


@dataclass(frozen=True, slots=True)
class ElementPolicy:
    """The choices that encoding one element reads."""

    rounding: Rounding = Rounding.TIES_TO_EVEN
    overflow: Overflow = Overflow.SATURATE


@dataclass(frozen=True, slots=True)
class ScalePolicy:
    """The choices that finding and encoding a scale read."""

    scale_rule: ScaleRule = ScaleRule.FLOOR
    scale_rounding: Rounding = Rounding.TOWARD_ZERO


@dataclass(frozen=True, slots=True)
class Policy:
    """One value for every open choice: a named function instead of "some MXFP4".

    Args:
        element: choices of element encoding.
        scale: choices of the scale.

    >>> policy = Policy.parse("ocp+rounding=toward_zero")
    >>> policy.element.rounding.value, str(policy), policy == Policy()
    ('toward_zero', 'ocp+rounding=toward_zero', False)
    """

    element: ElementPolicy = ElementPolicy()
    scale: ScalePolicy = ScalePolicy()

    def __str__(self) -> str:
        """The policy's one spelling: choices that differ from `ocp`, in a fixed order."""
        default = dict(_choices(Policy()))
        changed = [f"+{n}={c.value}" for n, c in _choices(self) if c is not default[n]]
        return "ocp" + "".join(changed)

    @staticmethod
    def parse(text: str) -> Policy:
        """The policy that a string spells.

        Raises:
            ValueError: unknown profile, choice or value, or a choice given twice.
        """
        return _parse(text)[0]

    def replace(self, **choices: str) -> Policy:
        """This policy with single choices replaced, by name and string.

        >>> str(Policy().replace(overflow="nonsaturating"))
        'ocp+overflow=nonsaturating'

        Raises:
            ValueError: unknown choice or value.
        """
        groups: dict[str, dict[str, enum.Enum]] = {}
        for name, value in choices.items():
            if name not in _GROUP_OF:
                raise ValueError(unknown_name("choice", name, _GROUP_OF))
            groups.setdefault(_GROUP_OF[name], {})[name] = _member(name, value)
        # Each field's type is ensured by _member, which mypy cannot follow through **.
        parts = {
            group: dataclasses.replace(getattr(self, group), **changed)
            for group, changed in groups.items()
        }
        return dataclasses.replace(self, **parts)

    @staticmethod
    def members(choice: str) -> list[enum.Enum]:
        """Every member of a choice.

        >>> [member.value for member in Policy.members("overflow")]
        ['saturate', 'nonsaturating']

        Raises:
            ValueError: unknown choice.
        """
        if choice not in _GROUP_OF:
            raise ValueError(unknown_name("choice", choice, _GROUP_OF))
        return list(type(dict(_choices(Policy()))[choice]))

    def choices(self) -> dict[str, str]:
        """Every choice by name, as strings, in the order of the policy's spelling."""
        return {name: member.value for name, member in _choices(self)}


def _choices(policy: Policy) -> list[tuple[str, enum.Enum]]:
    return [(name, getattr(getattr(policy, group), name)) for name, group in _GROUP_OF.items()]


#: choice name -> the part of a Policy that holds it, in the order in which policies are spelled.
_GROUP_OF: Mapping[str, str] = {
    field.name: group.name
    for group in dataclasses.fields(Policy)
    for field in dataclasses.fields(getattr(Policy(), group.name))
}


def _member(name: str, value: object) -> enum.Enum:
    kind = type(dict(_choices(Policy()))[name])
    if isinstance(value, kind):
        return value
    known = {member.value: member for member in kind}
    if not isinstance(value, str) or value not in known:
        raise ValueError(unknown_name(name, value, known))
    return known[value]


def _parse(text: str) -> tuple[Policy, list[str]]:
    profile, *parts = text.split("+")
    if profile != "ocp":
        raise ValueError(unknown_name("policy", profile, {"ocp": None}))
    choices: dict[str, str] = {}
    for part in parts:
        name, equals, value = part.partition("=")
        if not equals:
            raise ValueError(f"policy {text!r} must spell a choice as name=value, got {part!r}")
        if name in choices:
            raise ValueError(f"policy {text!r} gives {name!r} twice: keep one")
        choices[name] = value
    return Policy().replace(**choices), list(choices)


def resolve(
    operation: str, reads: tuple[str, ...], policy: str | Policy, choices: Mapping[str, str]
) -> Policy:
    """The policy of one call; refuses a spelled choice that the operation does not read.

    A `Policy` object is taken whole, since it always has every choice.

    Raises:
        ValueError: unknown, unread or repeated choice.
        TypeError: policy is neither a string nor a `Policy`.
    """
    spelled: list[str] = []
    if isinstance(policy, Policy):
        base = policy
    elif isinstance(policy, str):
        base, spelled = _parse(policy)
    else:
        raise TypeError(f"policy must be a string or a Policy, got {type(policy).__name__}")
    for name in (*spelled, *choices):
        if name not in _GROUP_OF:
            raise ValueError(unknown_name("choice", name, dict.fromkeys(reads)))
        if name not in reads:
            known = ", ".join(reads) or "none"
            raise ValueError(f"{operation} does not read the choice {name!r}; it reads: {known}")
    twice = [name for name in choices if name in spelled]
    if twice:
        raise ValueError(f"choice {twice[0]!r} is given twice, in policy and by keyword: keep one")
    return base.replace(**choices)
