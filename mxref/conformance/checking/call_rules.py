"""What wrong calls have in common that right ones have not, in words."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from itertools import pairwise

import numpy as np
from numpy.typing import NDArray

from mxref.support.distinct import distinct
from mxref.support.text import guess

__all__ = [
    "SHORTER",
    "TOLERATED",
    "Features",
    "Rule",
    "Sized",
    "alike",
    "least_wrong",
    "residues_text",
    "rule_of",
    "size_rule",
]

#: What is known of a call: a count by its unit in the plural, or a property in words by any name.
Features = Mapping[str, int | str]

#: Features in words that sizes decide; the others are options of a call.
_SHAPES = frozenset({"axes", "longer", "sides"})
#: The unit of the smaller one of two sizes, of which both have at least as many.
SHORTER = "lines on the shorter side"
#: Steps of sizes: pairs, vectors, warps, blocks of threads, tiles and chunks.
_STEPS = tuple(1 << power for power in range(1, 13))
#: Other steps: sizes of images, of odd vectors, and what nobody has tested.
_ODD_STEPS = (3, 5, 6, 7, 9, 10, 11, 12, 13, 15)
#: The largest share of right calls among those that a rule covers, with one property and with two.
_RIGHT = (0.5, 0.34)
#: So many right calls, as a share of the wrong ones, may be right by chance.
_CHANCE = 0.02

#: The share of right calls that a rule may hold of: those without a case that shows the fault.
TOLERATED = 0.2

Span = tuple[int, int, int, int]


@dataclass(frozen=True, slots=True)
class Rule:
    """Some calls, told from the others by one or two properties.

    Args:
        text: the properties, to be read after "calls with".
        inside: for each call whether it has them.
        unit: what a rule about one count counts; else empty.
        span: of a range of counts the next one below it, the first and the last in it, and the next
            one above, all of those that were asked; 0 for an open end.
        sized: whether it speaks of the size of a call, not of its options alone.
    """

    text: str
    inside: NDArray[np.bool_]
    unit: str = ""
    span: Span | None = None
    sized: bool = True

    @property
    def least(self) -> tuple[str, int, int] | None:
        """Of "N rows and more" the unit, the next smaller count that was asked, and N."""
        if self.span is None:
            return None
        below, first, _, above = self.span
        return (self.unit, below, first) if below and not above else None

    def counts(self, wrong: Sequence[bool]) -> str:
        """How many of the calls with the properties are wrong, and whether that is a guess.

        Args:
            wrong: for each call whether its answer is wrong; every wrong one has the properties.
        """
        inside, bad = int(self.inside.sum()), sum(wrong)
        text = f"{bad} of {inside} such calls, right in the other {len(wrong) - inside}"
        return text + guess(bad, "wrong call")


def rule_of(features: Sequence[Features], wrong: Sequence[bool]) -> Rule | None:
    """The rule that covers all wrong calls and fewest right ones; None if that says too little.

    A second property must exclude more than half of the right calls that the first one covers, and
    these must be so many that they are no chance.

    Args:
        features: of each call, with the same keys in all.
        wrong: for each call whether its answer is wrong.

    >>> axes = ("axis 0", "axis 1")
    >>> calls = [{"rows": n, "axis": axis} for n in (1, 32, 33, 64) for axis in axes]
    >>> wrong = [call["rows"] > 32 and call["axis"] == "axis 0" for call in calls]
    >>> rule_of(calls, wrong).text
    '33 rows and more, and axis 0'
    """
    bad = np.array(wrong, bool)
    rules = [rule for rule in _rules(features, bad) if rule.inside[bad].all()]
    rules = [rule for rule in rules if not rule.inside.all()]
    if not rules or not bad.any():
        return None
    right = np.array([rule.inside[~bad] for rule in rules], np.int64)
    covered = right @ right.T  # right calls that two rules cover, or on the diagonal one
    first, second = divmod(int(np.argmin(covered)), len(rules))
    one, other = rules[first], rules[second]
    alone = int(np.argmin(np.diag(covered)))
    fewest = int(covered[first, second])
    is_chance = covered[alone, alone] <= _CHANCE * bad.sum()
    if (
        not is_chance
        and 2 * fewest < covered[alone, alone]
        and fewest <= _RIGHT[1] * (fewest + bad.sum())
    ):
        texts = _text_within(one, other, features), _text_within(other, one, features)
        inside, sized = one.inside & other.inside, one.sized or other.sized
        return Rule(_joined(*texts), inside, sized=sized)
    fewest = int(covered[alone, alone])
    return rules[alone] if fewest <= _RIGHT[0] * (fewest + bad.sum()) else None


def alike(features: Features, one: str, other: str) -> str:
    """Whether two counts are equal, in words.

    >>> alike({"rows": 3, "columns": 3}, "rows", "columns")
    'as many rows as columns'
    """
    same = features[one] == features[other]
    return f"as many {one} as {other}" if same else f"another number of {one} than of {other}"


def _joined(one: str, other: str) -> str:
    if ", N from " in one:  # a second limit has a letter of its own
        other = other.replace(" N ", " M ")
    return f"{one}{',' * (' and ' in one or ', ' in one)} and {other}"


def _text_within(rule: Rule, other: Rule, features: Sequence[Features]) -> str:
    """The text of a rule in the calls that another one covers: it says nothing of others.

    So a range of counts ends before the next one that is right in such a call.
    """
    if rule.span is None:
        return rule.text
    below, first, last, above = rule.span
    column = np.array([one[rule.unit] for one in features], np.int64)
    asked = set(column[other.inside].tolist())
    # Where the other rule is about this count, those that it excludes leave no gap.
    excluded = set(column.tolist()) - asked if rule.unit == other.unit else set()
    if below:
        below = max((size for size in asked if size < first), default=0)
        while below + 1 in excluded:
            below += 1
    if above:
        above = min((size for size in asked if size > last), default=0)
        while above - 1 in excluded:
            above -= 1
    return _span_text(rule.unit, below, first, last, above)


def _span_text(name: str, below: int, first: int, last: int, above: int) -> str:
    """A range of counts; where the ones next to it were not asked, where its limit lies."""
    if not below:
        if first == last > 1 and above:  # one size is no evidence for a range
            return f"{first:,} {name}, where {above:,} is right and no fewer were asked"
        if above > last + 1:
            return f"fewer than N {name}, N from {last + 1:,} to {above:,}"
        return f"{last:,} {name} and fewer" if last > 1 else f"fewer than 2 {name}"
    if not above:
        if first == last:
            return f"{first:,} {name}, where {below:,} is right and no more were asked"
        if below < first - 1:
            return f"more than N {name}, N from {below:,} to {first - 1:,}"
        return f"{first:,} {name} and more"
    if below + 1 == first == last == above - 1:
        return f"{first:,} {name}"
    if first == last:
        return f"{first:,} {name}, where {below:,} and {above:,} are right"
    return f"more than {below:,} and fewer than {above:,} {name}"


def _rules(features: Sequence[Features], bad: NDArray[np.bool_]) -> Iterator[Rule]:
    """Every rule of one property, the plainer ones first."""
    counts = [name for name, value in features[0].items() if isinstance(value, int)]
    for name in counts:
        column = np.array([one[name] for one in features], np.int64)
        sizes = distinct(column).tolist()
        lower = [(below, size, sizes[-1], 0) for below, size in pairwise(sizes)]
        upper = [(0, sizes[0], size, above) for size, above in pairwise(sizes)]
        ends = zip([0, *sizes], sizes, [*sizes[1:], 0], strict=False)
        alone = [(below, size, size, above) for below, size, above in ends]
        for span in (*lower[::-1], *upper, *alone):
            inside = (span[1] <= column) & (column <= span[2])
            yield Rule(_span_text(name, *span), inside, name, span)
    for name in (name for name in features[0] if name not in counts):
        words = np.array([one[name] for one in features])
        for word in dict.fromkeys(words.tolist()):
            yield Rule(word, words == word, sized=name in _SHAPES)
    for name in counts:
        column = np.array([one[name] for one in features], np.int64)
        for step in (*_STEPS, *_ODD_STEPS):
            text, rest = f"a number of {name} that is", column % step
            yield Rule(f"{text} no multiple of {step}", rest != 0, name)
            yield Rule(f"{text} a multiple of {step}", rest == 0, name)
        powers = column & column - 1 == 0
        yield Rule(f"{text} no power of two", ~powers, name)
        for step in _STEPS[1:]:
            wrong = distinct(column[bad])
            rests = set((wrong % step).tolist())
            if wrong.size >= 2 * len(rests) and (text := residues_text(rests, step)):
                inside = np.isin(column % step, list(rests))
                yield Rule(f"a number of {name} that is {text}", inside, name)


def residues_text(wrong: set[int], step: int) -> str:
    """Remainders of wrong sizes in words; empty if they are not worth saying.

    >>> residues_text({1, 2, 3}, 4), residues_text({0}, 4), residues_text({1, 3}, 4)
    ('no multiple of 4', 'a multiple of 4', '1 or 3 above a multiple of 4')
    """
    if wrong == set(range(1, step)):
        return f"no multiple of {step}"
    if wrong == {0}:
        return f"a multiple of {step}"
    if len(wrong) > 3:
        return ""
    return f"{' or '.join(map(str, sorted(wrong)))} above a multiple of {step}"


@dataclass(frozen=True, slots=True)
class Sized:
    """A call: its size, and whether an answer in it is wrong."""

    size: int
    bad: bool


def size_rule(calls: Sequence[Sized], unit: str) -> tuple[Rule, str] | None:
    """The property of its size that makes a call wrong, with counts; None if there is none.

    It holds of every size with a wrong call, and of few sizes without.

    >>> calls = [Sized(n, n >= 9 and n % 4 != 0) for n in range(1, 40)]
    >>> rule, counts = size_rule(calls, "rows")
    >>> print(rule.text)
    9 rows and more, and a number of rows that is no multiple of 4
    >>> counts
    '24 of 24 such sizes; 15 others are right'
    >>> size_rule([Sized(n, n in (2, 3, 5, 8, 13, 21, 34)) for n in range(1, 40)], "rows") is None
    True
    """
    sizes = sorted({call.size for call in calls})
    bad = {call.size for call in calls if call.bad}
    rule = rule_of([{unit: size} for size in sizes], [size in bad for size in sizes])
    if rule is None:
        return None
    inside = int(rule.inside.sum())
    if len(bad) < (1 - TOLERATED) * inside:
        return None
    counts = f"{len(bad)} of {inside} such sizes; {len(sizes) - inside} others are right"
    return rule, counts + guess(len(bad - {1}) or 2, "wrong size")  # nothing is smaller than 1


def least_wrong(right: int, wrong: int, is_wrong: Callable[[int], bool]) -> int:
    """The least wrong number above a right one, by bisection.

    >>> least_wrong(257, 65573, lambda size: size > 65535)
    65536
    """
    while wrong - right > 1:
        middle = (wrong + right) // 2
        right, wrong = (right, middle) if is_wrong(middle) else (middle, wrong)
    return wrong
