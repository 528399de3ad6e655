"""The named accumulations that answers to products show."""

from __future__ import annotations

from collections.abc import Iterator, Sequence

import numpy as np
from numpy.typing import NDArray

from mxref.bits.floats import LAYOUTS
from mxref.conformance.compare.compare import Outcome, same_answers
from mxref.operations.products import accumulations
from mxref.policy.policy import Policy

__all__ = ["named_accumulations", "same_product"]


def named_accumulations(outcomes: Sequence[Outcome]) -> Iterator[str]:
    """The accumulations whose bits all answers are; the sign of zeros is left aside."""
    for name in accumulations(outcomes[0].file.format):
        policy = Policy().replace(accumulation=name)
        if all(same_product(one, one.wanted(policy)) for one in outcomes):
            yield name


def same_product(outcome: Outcome, wanted: NDArray[np.uint64]) -> bool:
    """Whether all answers are these; the sign of zeros is left aside."""
    got, zeros = outcome.answers, (0, LAYOUTS[outcome.file.float].sign_bit)
    same = same_answers(outcome.file, wanted, got)
    if got.shape == wanted.shape:
        same |= np.isin(wanted, zeros) & np.isin(got, zeros)
    return bool(same.all())
