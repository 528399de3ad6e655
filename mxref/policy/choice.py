"""Base of the choices: enums whose members have a spelling and a standing."""

from __future__ import annotations

import enum


class Standing(enum.Enum):
    """What the standards say of a member; it judges conformance, not quality."""

    REQUIRED = "required"
    RECOMMENDED = "recommended"
    PERMITTED = "permitted"
    SILENT = "silent"
    CONTRADICTS = "contradicts"


REQUIRED, RECOMMENDED, PERMITTED, SILENT, CONTRADICTS = Standing


class Choice(enum.Enum):
    """Base of the choices: members with a spelling and a standing.

    >>> class Colour(Choice):
    ...     RED = "red", PERMITTED
    >>> Colour("red").standing.value
    'permitted'
    """

    standing: Standing

    def __new__(cls, value: str, standing: Standing) -> Choice:
        """A member whose value is its spelling."""
        member = object.__new__(cls)
        member._value_ = value
        member.standing = standing
        return member
