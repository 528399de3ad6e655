"""A target's answers to questions about blocks, taken apart into stages."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from mxref.bits.floats import I64, Bool
from mxref.conformance.verdict.cause.evidence import Evidence, total
from mxref.conformance.verdict.cause.parts import is_special, nan_scale
from mxref.conformance.verdict.stages.mixtures import classes_of
from mxref.conformance.verdict.stages.steps import RIGHT, BlockSteps, element_classes
from mxref.formats.catalog import BlockFormat
from mxref.policy.policy import Policy

#: Steps of one stage that are tried together with those of another.
FEW = 8
#: A step that is not right everywhere is kept if it leaves so many times fewer wrong.
FEWER = 4
#: Of a stage: how many units are wrong by the policy, how many are left wrong, and how many are.
Count = tuple[int, int, int]


class Side:
    """Answers of one float type, taken apart."""

    def __init__(self, one: Evidence) -> None:
        self.evidence, self.questions, self.answered = one, one.questions, one.answered
        self.divided = one.questions  #: with the scale of the tensor that elements see
        self.scale, self.codes = one.answers[:, 0].astype(np.int64), one.answers[:, 1:]
        self.ordinary = self.answered & ~np.any(is_special(one.questions), axis=0)
        self.classes = element_classes(one.questions)
        self.classed: I64 | None = None
        self.see(RIGHT)

    def see(self, steps: BlockSteps) -> None:
        """Tell blocks and elements apart by what amax sees."""
        self.special = steps.special_blocks(self.questions)
        self.specials = self.answered & np.any(self.special, axis=0)
        self.alone = self.evidence.questions.part(self.specials)  #: special blocks by themselves
        nan = nan_scale(self.questions.fmt)
        self.whole = self.answered & (self.scale != nan)  #: blocks whose codes are compared
        if steps.scale.order is not None:  # the scale of a NaN block is stored elsewhere
            self.whole &= ~np.any(self.special[1:], axis=0)
        plain = self.whole & ~np.any(self.special[1:], axis=0)
        self.finite = plain[:, np.newaxis] & ~np.any(self.classes, axis=0)

    def move(self, sources: NDArray[np.intp]) -> None:
        """Put the codes into the lanes from which they come."""
        codes = np.empty_like(self.codes)
        codes[:, sources] = self.codes
        self.codes = codes

    def cells(self, policy: Policy) -> I64:
        """The class of RESULTS that each element is of under the stored scale."""
        if self.classed is None:
            self.classed = classes_of(self.divided, self.scale, policy)
        return self.classed


@dataclass(frozen=True, slots=True)
class Sides:
    """Answers of all float types.

    Args:
        every: those of each.
        policy: what is right.
        fmt: the format.
    """

    every: Sequence[Side]
    policy: Policy
    fmt: BlockFormat

    @classmethod
    def of(cls, whole: Sequence[Evidence], policy: Policy) -> Sides:
        """The answers, taken apart."""
        fmt = whole[0].questions.fmt
        return cls([Side(one) for one in whole], policy, fmt)

    def count(self, some: Callable[[Side], Bool], most: int | None = None) -> int:
        """How many units are some, or so many of them that they are at least `most`."""
        return total((int(some(side).sum()) for side in self.every), most)

    @property
    def lanes(self) -> int:
        """The number of lanes of a block."""
        return int(self.every[0].codes.shape[1])
