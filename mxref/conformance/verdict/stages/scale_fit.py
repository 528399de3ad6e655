"""What amax sees, and how it becomes a scale."""

from __future__ import annotations

import functools
import itertools
from collections.abc import Iterable, Iterator

import numpy as np

from mxref.bits.floats import I64, Bool, split
from mxref.conformance.verdict.cause.evidence import Questions, nearest
from mxref.conformance.verdict.cause.parts import is_special, nan_scale
from mxref.conformance.verdict.cause.shifts import unclamped
from mxref.conformance.verdict.cause.suspects import unless_it_fails
from mxref.conformance.verdict.stages import candidates
from mxref.conformance.verdict.stages.block_scales import BlockScale, block_scales, right_scale
from mxref.conformance.verdict.stages.sides import FEW, FEWER, Side, Sides
from mxref.conformance.verdict.stages.steps import RIGHT, BlockSteps, Scale, View
from mxref.conformance.verdict.stages.views import VIEWS, without_lanes
from mxref.policy.policy import Policy


def bad_scales(sides: Sides, view: View, scale: Scale, most: int | None = None) -> int:
    """Ordinary blocks that have another scale than steps give; `most` of them are too many.

    Of blocks that are mixed, those beside an infinity or NaN say nothing of numbers.
    """

    def wrong(side: Side) -> Bool:
        seen, plain = view.of(side.questions), side.ordinary
        if view.mixes:
            plain = plain & ~np.any(is_special(seen)[1:], axis=0)
        if scale.order is not None:
            plain = plain & side.ordinary[scale.order(len(plain))]
        bad: Bool = plain & (scale.of(seen, sides.policy) != side.scale)
        return bad

    return unless_it_fails(lambda: sides.count(wrong, most), 1 << 40)


def fit_scales(sides: Sides, like: BlockSteps = RIGHT) -> tuple[View, Scale]:
    """What amax sees, and how it becomes a scale.

    Args:
        sides: the answers.
        like: steps that give all answers in another format, which are tried first.
    """
    everything, right = View(), right_scale(sides.policy, sides.fmt)
    least = bad_scales(sides, everything, right)
    if not least:
        return everything, right
    rules: list[Scale] = []
    views: dict[str, View] = {}
    pairs = itertools.chain([(like.view, like.scale)], _simple(sides, rules, views))
    enough = least // FEWER
    found = _best(sides, pairs, enough)
    if found[0]:
        known = _nearest(sides, candidates.known_scales(sides.fmt.name))
        found = min([found, *known[:1]], key=_wrong)
    if found[0]:
        some = sorted(views.values(), key=lambda view: bad_scales(sides, view, right))[:FEW]
        some += [view for name, view in views.items() if name.startswith("unseen")]
        if not sides.fmt.scale.is_power:  # arithmetics of which many have another tensor scale
            rules = [one for one in rules if isinstance(one, BlockScale)]
        rules += [one for _, (_, one) in known]
        found = min(found, _best(sides, itertools.product(some, rules), enough), key=_wrong)
    if found[0] <= enough:
        return found[1]
    # Where blocks are mixed, that is said before numbers that are wrong as well.
    mixing = _best(sides, ((view, right) for view in views.values() if view.mixes), least // 2)
    return mixing[1] if mixing[0] <= least // 2 else (everything, right)


#: How many scales a pair leaves wrong, and the pair.
_Found = tuple[int, tuple[View, Scale]]


def _wrong(found: _Found) -> int:
    return found[0]


def _simple(
    sides: Sides, rules: list[Scale], views: dict[str, View]
) -> Iterator[tuple[View, Scale]]:
    """Pairs of which one is right; what was tried is put into `rules` and `views`."""
    everything, right = View(), right_scale(sides.policy, sides.fmt)
    of_choices = [*block_scales(sides.policy, sides.fmt), *candidates.scales(sides.policy)]
    for rule in of_choices:
        rules.append(rule)
        yield everything, rule
    for base in (right, *of_choices[:10]) if sides.fmt.scale.is_power else ():
        if (offset := _common_offset(sides, base)) is not None:
            rules.append(offset)
            yield everything, offset
    unseen = (view for rule in (right, *rules) for view in _unseen(sides, rule))
    for view in itertools.chain(VIEWS, unseen):
        if view.name not in views:
            views[view.name] = view
            yield view, right


def _best(sides: Sides, pairs: Iterable[tuple[View, Scale]], most: int) -> _Found:
    """The first pair that gives all scales, or else that which gives most.

    A pair that leaves more than `most` wrong is none.
    """
    left, best = nearest(
        pairs, lambda pair, most: bad_scales(sides, pair[0], pair[1], most), most + 1
    )
    return left, best or (View(), Scale())


def _nearest(sides: Sides, scales: Iterable[Scale]) -> list[_Found]:
    """The few scales that leave fewest wrong, where amax sees all elements."""
    found: list[_Found] = []
    for one in scales:
        most = found[-1][0] if len(found) == FEW else None
        pair = bad_scales(sides, View(), one, most), (View(), one)
        found = sorted([*found, pair], key=_wrong)[:FEW]
    return found


def _common_offset(sides: Sides, rule: Scale) -> Scale | None:
    """Scales at the most frequent distance from those of a rule that is not 0, if there is one."""
    nan = nan_scale(sides.fmt)
    away: list[I64] = []
    for side in sides.every:
        found = rule.of(side.questions, sides.policy)
        inside = side.ordinary & (found > 0) & (found < nan - 1)
        away.append((side.scale - found)[inside])
    steps, counts = np.unique(np.concatenate(away), return_counts=True)
    counts[steps == 0] = 0
    if not counts.any():
        return None
    k = int(steps[counts.argmax()])
    pair = [candidates.offset(k, rule, wraps=wraps) for wraps in (False, True)]
    return min(pair, key=lambda one: bad_scales(sides, View(), one))


def _unseen(sides: Sides, rule: Scale) -> Iterator[View]:
    """The view without the lanes that would each have given a larger scale."""
    nan = nan_scale(sides.fmt)
    policy = sides.policy.replace(**rule.choice)
    unseen = np.zeros(sides.lanes, bool)
    if isinstance(rule, BlockScale) and rule.bounded:
        return
    of_blocks = isinstance(rule, BlockScale)
    key = f"lanes alone {rule.name}" if of_blocks else "lanes alone"
    for side in sides.every:
        make = functools.partial(_alone, side.questions, policy, rule if of_blocks else Scale())
        alone = side.questions.once(key, policy, make)
        stored = side.scale if rule.order is None else side.scale[rule.order(len(side.scale))]
        larger = np.clip(alone + rule.k, 0, nan - 1) > stored[:, np.newaxis]
        unseen |= larger[side.ordinary].any(axis=0)
    if unseen.any() and not unseen.all():
        yield without_lanes(unseen)


def _alone(questions: Questions, policy: Policy, rule: Scale) -> I64:
    """The scale codes that each element has alone; powers of two are right, before clamping."""
    fmt, file, first = questions.fmt, questions.file, questions.first
    if fmt.scale.is_power:
        numbers = split(questions.inputs.reshape(-1, 1), questions.layout)
        return unclamped(file, numbers, policy).reshape(questions.inputs.shape)
    rows, lanes = len(questions.inputs), questions.inputs.shape[1] - first
    words = np.zeros((lanes, rows, lanes + first), np.uint64)
    words[:, :, :first] = questions.inputs[:, :first]
    words[range(lanes), :, range(first, first + lanes)] = questions.inputs[:, first:].T
    inner = Questions(file, words.reshape(lanes * rows, -1))
    return rule.of(inner, policy).reshape(lanes, rows).T
