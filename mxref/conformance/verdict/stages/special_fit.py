"""What becomes of blocks of zeros, with infinities and with NaN."""

from __future__ import annotations

import itertools
from collections.abc import Callable, Iterator
from dataclasses import replace

import numpy as np

from mxref.conformance.verdict.cause.evidence import Questions, Words
from mxref.conformance.verdict.cause.suspects import suspects
from mxref.conformance.verdict.stages import candidates
from mxref.conformance.verdict.stages.sides import Count, Sides
from mxref.conformance.verdict.stages.steps import BLOCKS, BlockSteps, Special
from mxref.operands.shown import show_code
from mxref.policy.policy import Policy

__all__ = ["fit_special", "missed_scales"]


def fit_special(sides: Sides, steps: BlockSteps, *, whole: bool) -> tuple[BlockSteps, Count]:
    """What becomes of special blocks where it is not what the other steps give."""
    wrong = left = total = 0
    for number, name in enumerate(BLOCKS):
        total += sum(int((s.special[number] & s.answered).sum()) for s in sides.every)
        bad = _missed(sides, steps, number, whole=whole)
        if not bad:
            continue
        wrong += bad
        best, found = bad, steps
        for one in _treatments(sides, number, name, whole=whole):
            others = (some for some in steps.special if some.block != number)
            tried = replace(steps, special=(*others, one))
            misses = _missed(sides, tried, number, whole=whole)
            if misses < best:
                best, found = misses, tried
            if not misses:
                break
        if best:
            best = bad
        else:
            steps = found
        left += best
    return steps, (wrong, left, total)


def _missed(sides: Sides, steps: BlockSteps, number: int, *, whole: bool) -> int:
    """Blocks of a class that the steps do not give, or their scales."""
    found = 0
    for side in sides.every:
        some = side.special[number] & side.answered
        if some.any():
            try:
                if whole:
                    answers = steps.answer(side.questions, sides.policy)
                    wrong = ~side.evidence.gives(answers)
                else:
                    wrong = steps.scales(side.questions, sides.policy) != side.scale
            except Exception:  # known bugs are made for some float types
                return 1 << 62
            found += int((some & wrong).sum())
    return found


def missed_scales(sides: Sides, steps: BlockSteps) -> int:
    """Blocks whose scale the steps do not give."""
    return sum(
        int((side.answered & (steps.scales(side.questions, sides.policy) != side.scale)).sum())
        for side in sides.every
    )


def _treatments(sides: Sides, number: int, name: str, *, whole: bool) -> Iterator[Special]:
    """What may become of a class of blocks."""
    scale = sides.fmt.scale
    given = np.concatenate(
        [side.scale[side.special[number] & side.answered] for side in sides.every]
    )
    what = f"a block with {name}" if number else "a block of zeros"
    yield Special(block=number, whole=whole)  # what the policy makes of it: no step is wrong
    if not whole and (given == given[0]).all():
        code = int(given[0])
        shown = show_code(code, scale) if code < scale.code_count else f"{code:02x}"
        text = f"{what} has scale {shown}"
        yield Special(f"block_{number}_{code:02x}", text, number, _constant(code))
    codes = np.concatenate(
        [side.codes[side.special[number] & side.answered] for side in sides.every]
    )
    if whole and (codes == codes[0, 0]).all() and (given == given[0]).all():
        pair = int(given[0]), int(codes[0, 0])
        scaled, element = (
            show_code(code, fmt) if code < fmt.code_count else f"{code:02x}"
            for code, fmt in zip(pair, (scale, sides.fmt.element), strict=True)
        )
        text = f"{what} has scale {scaled} and elements {element}"
        name_of = f"block_{number}_{pair[0]:02x}_{pair[1]:02x}"
        yield Special(name_of, text, number, _constant(*pair), whole)
    for choice in candidates.of_special_blocks(sides.policy):
        named = ", ".join(f"{key}={value}" for key, value in choice.items())
        text = f"{what} becomes what {named} makes of it"
        yield Special(f"block_{number}_{named}", text, number, _of_choice(choice), whole)
    where = f"in blocks {'with' if number else 'of'} {name}"
    infinities = [{"block_inf": one.value} for one in Policy.members("block_inf")]
    for choice, some in itertools.product(infinities, suspects("quantize", sides.fmt.name)):
        own = sides.policy.replace(**choice) == sides.policy
        for one in some:
            name_of = one.name if own else f"{one.name} over {choice['block_inf']}"
            over = "" if own else f"means block_inf={choice['block_inf']}, but "
            yield Special(
                name_of, f"{where}: {over}{one.text}", number, _over(one.answer, choice), whole
            )


def _over(
    answer: Callable[[Questions, Policy], Words], choice: dict[str, str]
) -> Callable[[Questions, Policy], Words]:
    return lambda questions, policy: answer(questions, policy.replace(**choice))


def _constant(*words: int) -> Callable[[Questions, Policy], Words]:
    row = np.array([words], np.uint64)
    return lambda questions, policy: np.repeat(row, len(questions.inputs), axis=0)


def _of_choice(choice: dict[str, str]) -> Callable[[Questions, Policy], Words]:
    return lambda questions, policy: questions.answers(policy.replace(**choice))
