"""Known ways to be wrong, as functions from questions to answers, to compare a target's with.

A mutant of the museum is right, under some policy of its own, but for one bug. What it answers
otherwise than that policy does is its bug; put over the answers of another policy, it is the same
bug of an implementation that follows that one.

Bugs of an operation are those of the museum, those of the operations that it is made of, and codes
in another order.
"""

from __future__ import annotations

import dataclasses
import functools
import re
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import Any, TypeVar

import numpy as np

from mxref.bits.floats import Bool
from mxref.cases.answers import choices_read
from mxref.conformance.verdict.cause import parts
from mxref.conformance.verdict.cause.cause import Cause
from mxref.conformance.verdict.cause.evidence import Evidence, Questions, Words
from mxref.conformance.verdict.cause.orders import ORDERS, REORDERED, CodeOrder, reordered
from mxref.conformance.verdict.cause.parts import Answer
from mxref.formats.catalog import (
    BLOCK_FORMATS,
    ELEMENT_FORMATS,
    OTHER_BLOCK_FORMATS,
    OWN_FORMATS,
    block_format,
)
from mxref.formats.scale_kinds import has_power_scales
from mxref.mutants import Mutant, mutants_of
from mxref.mutants.infinity_mutants import spoiled
from mxref.mutants.mutant import BLOCKS, FP, blocks_of
from mxref.operands.word_rows import same_width
from mxref.operations.registry import LAYOUT_OPERATIONS
from mxref.policy.policy import Policy
from mxref.targets.calls import call_operation

#: The classes of bugs by which an answer may depend on other blocks of its call.
_OF_CALLS = re.compile(r"C9|C24|[GP]\d")
#: The classes of codes and products in another order, which are suspects of their own.
_ORDERS = ("L10", "L11")
#: The parts of operations on blocks, and the answers of the whole from those of each part.
_PARTS: dict[str, dict[str, Callable[[Answer], Answer]]] = {
    "quantize": {"encode": parts.of_elements, "shared_scale": parts.of_scales},
    "pack_blocks": {"pack": parts.of_packed},
    "unpack_blocks": {"unpack": parts.of_unpacked},
}
Made = TypeVar("Made")
#: The right answers.
right: Answer = Questions.answers


def over(choice: Mapping[str, str], answer: Answer = right) -> Answer:
    """Answers where a policy has some other choices."""
    some = tuple(choice.items())
    return lambda questions, policy: answer(questions, _replaced(policy, some))


@functools.lru_cache(4096)
def _replaced(policy: Policy, choice: tuple[tuple[str, str], ...]) -> Policy:
    return policy.replace(**dict(choice))


@dataclass(frozen=True, slots=True)
class Suspect:
    """A known way to be wrong.

    Args:
        kind: `mutant` of the museum, or `order` of codes.
        name: the mutant's id, or the order's name.
        title: the mutant's name; empty for an order.
        text: what is wrong.
        part: the operation that it goes wrong in.
        seen: where it was seen.
        answer: what it makes of questions, where all else follows a policy.
        meant: the policy that the mutant means to follow.
        of_call: whether an answer may depend on other blocks of its call.
    """

    kind: str
    name: str
    title: str
    text: str
    part: str
    seen: tuple[str, ...]
    answer: Answer
    meant: str = "ocp"
    of_call: bool = False

    def answers(self, evidence: Evidence, policy: Policy) -> Words | None:
        """Its answers to the questions of some evidence; None where it fails."""
        return unless_it_fails(lambda: self.answer(evidence.questions, policy), None)

    def gives(self, evidence: Evidence, policy: Policy) -> bool:
        """Whether it gives all of some answers."""
        return bool(self.given(evidence, policy).all())

    def given(self, evidence: Evidence, policy: Policy) -> Bool:
        """Which of some answers it gives; none where it fails."""

        def made() -> Bool:
            answers = self.answers(evidence, policy)
            if answers is None:
                return np.zeros(len(evidence.answers), bool)
            return evidence.gives(answers) & evidence.answered

        return evidence.once(self, policy, made)

    def cause(self, op: str, policy: Policy, whole: Sequence[Evidence], misses: int = 0) -> Cause:
        """It as the cause of all answers but some, where all else follows a policy."""
        about = self.kind, self.name, self.title, self.text, self.part, self.seen
        format = whole[0].questions.file.format if whole else ""
        read = str(Policy().replace(**choices_read(op, policy, format)))
        total = sum(len(one.answers) for one in whole)
        return Cause(*about, read, (), total - misses, total, answer=self.answer)


def unless_it_fails(make: Callable[[], Made], otherwise: Made) -> Made:
    """What known bugs make of questions, or else: they are made for some float types.

    >>> unless_it_fails(lambda: 1 // 0, -1)
    -1
    """
    try:
        return make()
    except Exception:  # of any kind, as bugs fail on what they are not made for
        return otherwise


def of_stage(op: str, name: str, text: str, answer: Answer) -> Suspect:
    """What a stage does, or several, as a suspect."""
    return Suspect("stages", name, "", text, op, (), answer)


def cause_of_steps(
    op: str, steps: Any, policy: Policy, whole: Sequence[Evidence], misses: int
) -> Cause:
    """What steps do together, as the cause of all answers but some.

    Args:
        op: the operation.
        steps: what its stages do; the `wrong` ones of them have names and texts.
        policy: what all else follows.
        whole: all of a target's answers.
        misses: how many of them the steps do not give.
    """
    name = "+".join(one.name for one in steps.wrong)
    text = "; and ".join(one.text for one in steps.wrong)
    cause = of_stage(op, name, text, steps.answer).cause(op, policy, whole, misses)
    return dataclasses.replace(cause, steps=steps)


@functools.cache
def suspects(op: str, format: str) -> tuple[tuple[Suspect, ...], ...]:
    """The suspects of an operation, the nearest first."""
    return tuple(_suspects(op, format))


def _suspects(op: str, format: str) -> Iterator[tuple[Suspect, ...]]:
    yield _mutants(op, format)
    fmt = block_format(format) if format in (*BLOCK_FORMATS, *OTHER_BLOCK_FORMATS) else None
    if fmt is not None and not (fmt.tensor_scale or fmt.scale.is_float32):
        for part, whole in _PARTS.get(op, {}).items():
            if part != "shared_scale" or has_power_scales(format):
                yield _inside(whole, _mutants(part, fmt.element.name))
        for some in suspects("quantize", format) if op == "quantize_tensor" else ():
            yield _inside(parts.of_blocks, some)
    if op in REORDERED:
        yield tuple(of_order(op, order) for order in ORDERS)


def of_order(op: str, order: CodeOrder) -> Suspect:
    """The codes of an operation in another order."""
    return Suspect("order", order.name, "", order.text, op, (), reordered(order))


def layouts_of_mutants(op: str) -> tuple[str, ...]:
    """The policies that the mutants of an operation on layouts mean to follow.

    A wrong layout is far from every right one, so the one that is meant is not the nearest.

    >>> layouts_of_mutants("unpack_int4")
    ()
    """
    ours = (m.policy for m in mutants_of(op) if op in LAYOUT_OPERATIONS)
    return tuple(dict.fromkeys(ours))


def _inside(whole: Callable[[Answer], Answer], some: tuple[Suspect, ...]) -> tuple[Suspect, ...]:
    """Bugs in a part of a larger operation."""
    return tuple(dataclasses.replace(one, answer=whole(one.answer)) for one in some)


@functools.cache
def _mutants(op: str, format: str) -> tuple[Suspect, ...]:
    """Those of the museum that are not put together here: of elements inside blocks, of orders."""
    fmt = OTHER_BLOCK_FORMATS.get(format)
    whole = fmt is not None and fmt.tensor_scale
    like = {format}
    if format in OWN_FORMATS and format in {**ELEMENT_FORMATS, **BLOCK_FORMATS}:
        # What goes wrong in every float format of MX may do so in it.
        like = set(blocks_of(FP, BLOCKS) if format in BLOCK_FORMATS else FP)
    return tuple(
        Suspect(
            *("mutant", m.id, m.name, m.text, op, m.seen, _answer(m), m.policy),
            of_call=_OF_CALLS.match(m.id) is not None,
        )
        for m in mutants_of(op)
        if like <= {*m.formats} and m.run is not None
        if (whole or not m.lifted_from) and m.group not in _ORDERS
    )


def _answer(mutant: Mutant) -> Answer:
    if mutant.run is None:
        raise ValueError(f"mutant {mutant.id} cannot be run: {mutant.waiting}")
    if mutant.spoil is not None and mutant.op == "quantize":
        return _spoiled(mutant.spoil, Policy.parse(mutant.policy))
    return _put_over(mutant.run, mutant.policy)


def _spoiled(change: Callable[[Any], None], own: Policy) -> Answer:
    """A bug that is a change of right blocks, over those of policies that treat Inf as its own."""

    def answer(questions: Questions, policy: Policy) -> Words:
        layout = questions.layout
        right = questions.answers(policy)
        if policy.scale.block_inf is not own.scale.block_inf:
            return right
        values = questions.inputs[:, questions.first :].astype(layout.uint).view(layout.dtype)
        pair = right[:, :1].astype(np.uint8), right[:, 1:].astype(np.uint8)
        unseen = questions.answers(policy.replace(block_inf="ignore"))

        def blind(rows: Any) -> tuple[Any, Any]:
            return unseen[:, 0].astype(np.uint8), unseen[:, 1:].astype(np.uint8)

        scales, codes = spoiled(change, values, pair, questions.file.format, blind)
        return np.concatenate([scales, codes], axis=1).astype(np.uint64)

    return answer


def _put_over(run: Callable[..., Any], own: str) -> Answer:
    """The bug of a mutant, otherwise right under its own policy, moved to another policy."""
    meant_by = Policy.parse(own)

    def made(questions: Questions) -> Words:
        with np.errstate(all="ignore"):
            return call_operation(run, questions.file, questions.inputs)

    def answer(questions: Questions, policy: Policy) -> Words:
        wrong = questions.once(f"answers of {id(run)}", meant_by, lambda: made(questions))
        meant, right = questions.answers(meant_by), questions.answers(policy)
        if wrong.shape == meant.shape == right.shape:
            return np.where(wrong == meant, right, wrong)
        wrong, meant = same_width(wrong, meant)
        same = (wrong == meant).all(axis=1, keepdims=True)
        wrong, right = same_width(wrong, right)
        return np.where(same, right, wrong)

    return answer
