"""What a sweep over blocks asks under one scale, and the keys by which it tells elements apart."""

from __future__ import annotations

from abc import ABC, abstractmethod
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from mxref.bits.floats import F64, LAYOUTS, Parts, compose, to_odd
from mxref.cases.product import key_layout
from mxref.conformance.sweeping.plan import Plan
from mxref.formats.catalog import ElementFormat

__all__ = ["BlockKind", "BlockQuestions", "Words", "key_float", "keys_of"]

Words = NDArray[np.uint64]


@dataclass(frozen=True, slots=True)
class BlockQuestions:
    """Blocks, one a row, and the right answers.

    Args:
        scales: the number of each block's scale (see `ScaleFound.code`).
        inputs: the words of the blocks.
        keys: for each element what it is told apart by: a code, or a key of its quotient.
        want: the words of the right answers.
    """

    scales: Words
    inputs: Words
    keys: Words
    want: Words


class BlockKind(ABC):
    """How blocks under one kind of scales are swept."""

    @abstractmethod
    def count(self, plan: Plan) -> int:
        """The number of parts."""

    @abstractmethod
    def questions(self, plan: Plan, index: int) -> BlockQuestions | None:
        """The blocks of a part; None if there are none.

        Raises:
            DisagreementError: the two references differ.
        """

    def coverage(self, plan: Plan) -> str:
        """What all parts ask, in words, where the plan alone does not say it."""
        return ""


def key_float(key: int, fmt: ElementFormat, float: str) -> int:
    """The float64 pattern of the quotient of a key of `quantize`."""
    return key << _dropped_bits(fmt, float)


def keys_of(quotients: Parts, fmt: ElementFormat, float: str) -> Words:
    """The odd-rounded keys of quotients that float64 holds, or that are rounded to odd."""
    return to_odd(compose(quotients, F64), _dropped_bits(fmt, float))


def _dropped_bits(fmt: ElementFormat, float: str) -> int:
    """The fraction bits of float64 that a key lacks; keys of 16-bit floats are exact."""
    layout = LAYOUTS[float]
    own = layout.mantissa_bits if layout.width == 16 else 0
    return F64.mantissa_bits - max(key_layout(fmt).mantissa_bits, own)
