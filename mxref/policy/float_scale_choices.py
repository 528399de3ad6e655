"""Choices of scales that are float32 numbers; see `mxref.policy.choices`.

M is the largest element, a the largest magnitude of a block, s its scale; each operation is
rounded to float32. Source: SPEC_NOTES N48 to N51.
"""

from __future__ import annotations

from mxref.policy.choice import SILENT, Choice

__all__ = ["AmaxFloor", "ElementFrom", "ScaleFrom", "ScalePower"]


class AmaxFloor(Choice):
    """The least number that stands for a block's largest magnitude. Source: SPEC_NOTES N48."""

    NONE = "none", SILENT  #: none: a block of zeros has a scale of 0, or infinity divides by it
    TRILLIONTH = "1e-12", SILENT  #: 10**-12
    TEN_BILLIONTH = "1e-10", SILENT  #: 10**-10
    TEN_THOUSANDTH = "1e-4", SILENT  #: 10**-4
    SCALE = "scale", SILENT  #: none; the scale is at least 1 / (512 * M)


class ScaleFrom(Choice):
    """How the largest magnitude a gives the scale. Source: SPEC_NOTES N49."""

    QUOTIENT = "quotient", SILENT  #: a / M
    SOURCE_QUOTIENT = "source_quotient", SILENT  #: a / M, rounded to the type of the values
    RECIPROCAL = "reciprocal", SILENT  #: a * (1 / M)
    MULTIPLIER = "multiplier", SILENT  #: 1 / (M / a)
    MULTIPLIER_OR_ONE = "multiplier_or_one", SILENT  #: 1 / (M / a), or 1 where a is 0, Inf or NaN


class ScalePower(Choice):
    """The power of two that a scale is rounded to, upward. Source: SPEC_NOTES N50.

    Where the scale is 1 / (M / a), it is M / a that is rounded, downward.
    """

    ANY = "any", SILENT  #: none: the scale may be any number
    BIT_CEILING = "bit_ceiling", SILENT  #: by the bits, the power at or above, a normal one
    EXP2_CEIL_LOG2 = "exp2_ceil_log2", SILENT  #: by the logarithm, rounded to float32


class ElementFrom(Choice):
    """The quotient of an element x and its scale s. Source: SPEC_NOTES N51."""

    EXACT = "exact", SILENT  #: x / s, not rounded before it is encoded
    QUOTIENT = "quotient", SILENT  #: x / s
    RECIPROCAL = "reciprocal", SILENT  #: x * (1 / s)
    MULTIPLIER = "multiplier", SILENT  #: x * (M / a), or x * (1 / s) for powers of two
