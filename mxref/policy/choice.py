"""Base of the choices: enums whose members have a spelling and a standing."""

from __future__ import annotations

import enum

from mxref.formats.catalog import (
    OTHER_BLOCK_FORMATS,
    OTHER_CODE_FORMATS,
    OWN_FORMATS,
)


class Standing(enum.Enum):
    """What the standards say of a member; it judges conformance, not quality."""

    REQUIRED = "required"
    RECOMMENDED = "recommended"
    PERMITTED = "permitted"
    SILENT = "silent"
    CONTRADICTS = "contradicts"


REQUIRED, RECOMMENDED, PERMITTED, SILENT, CONTRADICTS = Standing


#: What OFP8 defines; MX takes its rules over for these formats alone.
_FP8 = ("e5m2", "e4m3", "mxfp8_e5m2", "mxfp8_e4m3")
#: Formats of which no standard has choices.
_OTHERS = OTHER_CODE_FORMATS, OTHER_BLOCK_FORMATS, OWN_FORMATS


class Choice(enum.Enum):
    """Base of the choices: members with a spelling and a standing.

    A member may have another standing in FP6 and FP4 than in FP8, where OFP8 says more.

    >>> class Colour(Choice):
    ...     RED = "red", PERMITTED
    ...     BLUE = "blue", REQUIRED, SILENT
    >>> Colour("red").standing.value, Colour("red").standings
    ('permitted', 'permitted')
    >>> Colour("blue").standing_in("e2m1").value, Colour("blue").standings
    ('silent', 'required for FP8, silent for FP6 and FP4')
    """

    standing: Standing
    elsewhere: Standing
    __hash__ = object.__hash__  # Enum's own is slow, and policies are keys of tables

    def __new__(cls, value: str, standing: Standing, elsewhere: Standing | None = None) -> Choice:
        """A member whose value is its spelling."""
        member = object.__new__(cls)
        member._value_ = value
        member.standing = standing
        member.elsewhere = standing if elsewhere is None else elsewhere
        return member

    def standing_in(self, format: str) -> Standing:
        """The standing in an element or block format; of those that MX has not no standard speaks.

        >>> from mxref.policy.choices import Overflow
        >>> [Overflow.SATURATE.standing_in(one).value for one in ("e4m3", "e4m3fnuz")]
        ['required', 'silent']
        """
        if any(format in table for table in _OTHERS):
            return Standing.SILENT
        return self.standing if format in _FP8 else self.elsewhere

    @property
    def standings(self) -> str:
        """The standing in words, by family of formats if it is not the same in all."""
        if self.elsewhere is self.standing:
            return self.standing.value
        return f"{self.standing.value} for FP8, {self.elsewhere.value} for FP6 and FP4"
