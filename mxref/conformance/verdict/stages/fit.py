"""The steps of blocks that give a target's answers, found stage by stage."""

from __future__ import annotations

import itertools
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, replace
from functools import partial
from typing import Generic, TypeVar

import numpy as np

from mxref.bits.floats import Bool
from mxref.conformance.verdict.cause.evidence import Evidence, misses_by, others_by
from mxref.conformance.verdict.cause.parts import Answer
from mxref.conformance.verdict.cause.suspects import over, suspects, unless_it_fails
from mxref.conformance.verdict.stages import candidates
from mxref.conformance.verdict.stages.element_fit import bad_codes, fit_codes, fit_places
from mxref.conformance.verdict.stages.mixtures import Way
from mxref.conformance.verdict.stages.scale_fit import bad_scales
from mxref.conformance.verdict.stages.sides import Count, Side, Sides
from mxref.conformance.verdict.stages.steps import BLOCKS, RIGHT, BlockSteps, Special
from mxref.conformance.verdict.stages.tensor_scales import (
    fit_elements_of_tensor,
    fit_scales_of_tensor,
    tensor_of,
)
from mxref.conformance.verdict.stages.tensor_steps import TensorSteps
from mxref.conformance.verdict.stages.views import variants
from mxref.operands.shown import show_code
from mxref.policy.policy import Policy

Steps = TypeVar("Steps", BlockSteps, TensorSteps)


@dataclass(frozen=True, slots=True)
class Fitted(Generic[Steps]):
    """Steps, and how many units of each stage are wrong, and are left wrong.

    Args:
        steps: what the stages do.
        misses: answers that the steps do not give.
        counts: for each stage that deviates, by name: how many units are wrong by the policy, how
            many are left wrong by the steps, and how many there are.
        blocks: of tensors the stages of their blocks, where these deviate.
    """

    steps: Steps
    misses: int
    counts: dict[str, Count]
    blocks: Fitted[BlockSteps] | None = None


def fit(
    whole: Sequence[Evidence], policy: Policy, like: BlockSteps = RIGHT
) -> Fitted[BlockSteps] | None:
    """The steps nearest to a target's answers; None if none is wrong, or answers are no blocks.

    Args:
        whole: its answers to `quantize` in one format, by float type.
        policy: what is right.
        like: steps that give all answers in another format.

    Raises:
        ValueError: a policy that has no answer to some question.
    """
    size = whole[0].questions.fmt.elements_per_block
    if any(one.answers.shape[1] != 1 + size for one in whole):
        return None
    sides = Sides.of(whole, policy)
    factor, view, scale = fit_scales_of_tensor(sides, like)
    before, after = bad_scales(sides, RIGHT.view, RIGHT.scale), bad_scales(sides, view, scale)
    tensor = tensor_of(factor, factor)

    def missed(one: BlockSteps) -> int:
        return sides.count(lambda side: side.answered & _other_scale(side, one, policy))

    every = [BlockSteps(tensor, one, scale) for one in variants(view)]
    steps = min(every, key=missed) if len(every) > 1 else every[0]
    if view.mixes:  # blocks beside an infinity or NaN, too
        after = sides.count(lambda side: side.ordinary & _other_scale(side, steps, sides.policy))
    counts = {"tensor scale": (0, 0, 0)}
    counts["scale"] = before, after, sides.count(lambda side: side.ordinary)
    for side in sides.every:
        side.see(steps)
    steps, counts["special blocks"] = _fit_special(sides, steps, whole=False)
    steps, counts["places"] = fit_places(sides, steps)
    tensor, way = fit_elements_of_tensor(sides, factor, view, scale)
    steps = replace(steps, tensor=tensor, divisor=way.divisor, elements=way.elements)
    before, after = (bad_codes(sides, one) for one in (Way(RIGHT.divisor, RIGHT.elements), way))
    counts["elements"] = before, after, sides.count(lambda side: side.finite)
    steps, counts["special elements"] = fit_codes(sides, steps)
    steps, rows = _fit_special(sides, steps, whole=True)
    counts["special blocks"] = max(counts["special blocks"], rows)
    steps, misses = _pared(sides, steps)
    counts["tensor scale"] = _without_tensor(sides, steps)
    named = {step.stage for step in steps.wrong}
    told = {
        name: count
        for name, count in counts.items()
        if name in named or (misses and count[0] and count[1])
    }
    return Fitted(steps, misses, told) if steps.wrong or len(told) > 1 else None


def _without_tensor(sides: Sides, steps: BlockSteps) -> Count:
    """How many blocks would be others if nothing became of the scale of the tensor."""
    if steps.tensor.name == RIGHT.tensor.name:
        return 0, 0, 0

    whole, plain = [side.evidence for side in sides.every], replace(steps, tensor=RIGHT.tensor)
    count = others_by(whole, steps, plain, sides.policy)
    return count, 0, sides.count(lambda side: side.answered)


def _pared(sides: Sides, steps: BlockSteps) -> tuple[BlockSteps, int]:
    """Steps without those that explain nothing, and how many answers they do not give."""
    whole = [side.evidence for side in sides.every]
    least = misses_by(whole, steps, sides.policy)
    for step in (*steps.codes, *steps.special):
        fewer = replace(
            steps,
            codes=tuple(one for one in steps.codes if one is not step),
            special=tuple(one for one in steps.special if one is not step),
        )
        if (left := misses_by(whole, fewer, sides.policy)) <= least:
            steps, least = fewer, left
    return steps, least


def _fit_special(sides: Sides, steps: BlockSteps, *, whole: bool) -> tuple[BlockSteps, Count]:
    """What becomes of special blocks where it is not what the other steps give."""
    wrong = left = total = 0
    for number, name in enumerate(BLOCKS):
        total += sum(int((s.special[number] & s.answered).sum()) for s in sides.every)
        bad = _missed(sides, steps, number, whole=whole)
        if not bad:
            continue
        wrong += bad
        for one in _treatments(sides, number, name, whole=whole):
            if _gives(sides, one, steps, alone=True) and _gives(sides, one, steps):
                others = (some for some in steps.special if some.block != number)
                steps = replace(steps, special=(*others, one))
                break
        else:
            left += bad
    return steps, (wrong, left, total)


def _missed(sides: Sides, steps: BlockSteps, number: int, *, whole: bool) -> int:
    """Blocks of a class that the steps do not give, or their scales."""

    def wrong(side: Side) -> Bool:
        some = side.special[number] & side.answered
        if whole and some.any():
            return some & ~side.evidence.gives(steps.answer(side.evidence.questions, sides.policy))
        return some & _other_scale(side, steps, sides.policy) if some.any() else some

    return unless_it_fails(lambda: sides.count(wrong), 1 << 62)


def _gives(sides: Sides, one: Special, steps: BlockSteps, *, alone: bool = False) -> bool:
    """Whether a step gives all scales of its class of blocks, and their codes if it is whole.

    Special blocks `alone` are few, and rule nearly every step out.
    """
    if alone and one.of_call:
        return True
    sources = [0, *(1 + lane for lane in steps.places.sources or range(sides.lanes))]
    for side in sides.every:
        some = side.special[one.block] & side.answered
        if not some.any():
            continue
        asked = side.evidence.questions
        few = side.alone if alone else asked
        rows = unless_it_fails(partial(one.of, few, sides.policy), None)
        if rows is None:
            return False
        found = rows[some[side.specials] if alone else some]
        given = side.evidence.answers[some]
        if (found[:, 0] != given[:, 0]).any():
            return False
        if one.whole:
            words = np.broadcast_to(found[:, 1:], (len(found), sides.lanes))
            whole = np.concatenate([found[:, :1], words], axis=1)[:, sources]
            if not asked.part(some).same(whole, given).all():
                return False
    return True


def _other_scale(side: Side, steps: BlockSteps, policy: Policy) -> Bool:
    return np.asarray(steps.scales(side.evidence.questions, policy) != side.scale)


def _treatments(sides: Sides, number: int, name: str, *, whole: bool) -> Iterator[Special]:
    """What may become of a class of blocks."""
    some = [side.special[number] & side.answered for side in sides.every]
    given = np.concatenate([one.scale[of] for one, of in zip(sides.every, some, strict=True)])
    codes = np.concatenate([one.codes[of] for one, of in zip(sides.every, some, strict=True)])
    what = f"a block with {name}" if number else "a block of zeros"
    yield Special(block=number, whole=whole)  # what the policy makes of it: no step is wrong
    if (given == given[0]).all() and (not whole or (codes == codes[0, 0]).all()):
        words = (int(given[0]), int(codes[0, 0]))[: 1 + whole]
        text = f"{what} has scale {show_code(words[0], sides.fmt.scale)}"
        for element in words[1:]:
            text += f" and elements {show_code(element, sides.fmt.element)}"
        name_of = "_".join(f"{word:02x}" for word in words)
        yield Special(f"block_{number}_{name_of}", text, number, _constant(*words), whole)
    for choice in candidates.of_special_blocks(sides.policy):
        name_of = candidates.named(choice)
        text = f"{what} becomes what {name_of} makes of it"
        yield Special(f"block_{number}_{name_of}", text, number, over(choice), whole)
    where = f"in blocks {'with' if number else 'of'} {name}"
    infinities = [{"block_inf": one.value} for one in Policy.members("block_inf")]
    for choice, some in itertools.product(infinities, suspects("quantize", sides.fmt.name)):
        own = sides.policy.replace(**choice) == sides.policy
        for one in some:
            name_of = one.name if own else f"{one.name} over {choice['block_inf']}"
            meant = "" if own else f"means block_inf={choice['block_inf']}, but "
            text = f"{where}: {meant}{one.text}"
            answer = over(choice, one.answer)
            yield Special(name_of, text, number, answer, whole, one.of_call)


def _constant(*words: int) -> Answer:
    row = np.array([words], np.uint64)
    return lambda questions, policy: np.repeat(row, len(questions.inputs), axis=0)
