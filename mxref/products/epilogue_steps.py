"""The ways in which the sums of a product meet alpha, beta, C and a bias."""

from __future__ import annotations

import enum

__all__ = ["EpilogueSteps"]


class EpilogueSteps(enum.Enum):
    """How sums meet alpha, beta, C and a bias. Source: SPEC_NOTES N52."""

    EXACT = "exact"  #: exactly, rounded once
    SOURCE_FIRST = "source_first"  #: fl(fma(alpha, sum, fl(beta C)) + bias): CUTLASS 2
    SUM_FIRST = "sum_first"  #: fma(beta, C, fma(alpha, sum, bias)): CUTLASS 3
    SEPARATE = "separate"  #: each product and each sum rounded to float32
    ROUNDED = "rounded"  #: the sum, all others and each step rounded to the type of the output
