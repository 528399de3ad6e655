"""The property that all wrong calls share and fewest right ones have, as words."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from itertools import pairwise

import numpy as np
from numpy.typing import NDArray

__all__ = ["STEPS", "Features", "Rule", "alike", "residues_text", "rule_of"]

#: What is known of a call: a count by its unit in the plural, or a property in words by any name.
Features = Mapping[str, int | str]

#: Steps of sizes: pairs, vectors, warps, blocks of threads.
STEPS = (2, 4, 8, 16, 32, 64, 128, 256)
#: Other steps: sizes of images, of odd vectors, and what nobody has tested.
_ODD_STEPS = (3, 5, 6, 7, 9, 10, 11, 12, 13, 15)
#: Steps of which wrong calls have few remainders, if it is remainders that decide.
_SMALL_STEPS = (4, 8, 16)
#: The largest share of right calls among those that a rule covers, with one property and with two.
_RIGHT = (0.5, 0.34)


@dataclass(frozen=True, slots=True)
class Rule:
    """Some calls, told from the others by one or two properties.

    Args:
        text: the properties, to be read after "calls with".
        inside: for each call whether it has them.
        least: the unit of a rule that is "N rows and more" alone, the largest count that it does
            not hold of, and the least that it does.
    """

    text: str
    inside: NDArray[np.bool_]
    least: tuple[str, int, int] | None = None


def rule_of(features: Sequence[Features], wrong: Sequence[bool]) -> Rule | None:
    """The rule that covers all wrong calls and fewest right ones; None if that says too little.

    A second property must exclude more than half of the right calls that the first one covers.

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
    if 2 * fewest < covered[alone, alone] and fewest <= _RIGHT[1] * (fewest + bad.sum()):
        return Rule(_joined(one.text, other.text), one.inside & other.inside)
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
    return f"{one}{',' * (' and ' in one)} and {other}"


def _from(below: int, least: int, name: str) -> str:
    """From a count on, if the next smaller one was asked; else beyond the last that was."""
    return f"{least:,} {name} and more" if least == below + 1 else f"more than {below:,} {name}"


def _up_to(most: int, above: int, name: str) -> str:
    if above == most + 1 > 2:
        return f"{most:,} {name} and fewer"
    return f"fewer than {above:,} {name}"


def _between(below: int, above: int, name: str) -> str:
    return f"more than {below:,} and fewer than {above:,} {name}"


def _rules(features: Sequence[Features], bad: NDArray[np.bool_]) -> Iterator[Rule]:
    """Every rule of one property, the plainer ones first."""
    counts = [name for name, value in features[0].items() if isinstance(value, int)]
    for name in counts:
        column = np.array([one[name] for one in features], np.int64)
        sizes = np.unique(column).tolist()
        for below, size in zip(sizes[-2::-1], sizes[:0:-1], strict=True):
            yield Rule(_from(below, size, name), column >= size, (name, below, size))
        for size, above in pairwise(sizes):
            yield Rule(_up_to(size, above, name), column <= size)
        for below, size, above in zip(
            [0, *sizes], sizes, [*sizes[1:], sizes[-1] + 1], strict=False
        ):
            alone = below + 1 == size == above - 1
            text = f"{size:,} {name}" if alone else _between(below, above, name)
            yield Rule(text, column == size)
    for name in (name for name in features[0] if name not in counts):
        words = np.array([one[name] for one in features])
        for word in dict.fromkeys(words.tolist()):
            yield Rule(word, words == word)
    for name in counts:
        column = np.array([one[name] for one in features], np.int64)
        for step in (*STEPS, *_ODD_STEPS):
            yield Rule(f"a number of {name} that is no multiple of {step}", column % step != 0)
            yield Rule(f"a number of {name} that is a multiple of {step}", column % step == 0)
        powers = column & column - 1 == 0
        yield Rule(f"a number of {name} that is no power of two", ~powers)
        for step in _SMALL_STEPS:
            wrong = np.unique(column[bad])
            rests = set((wrong % step).tolist())
            if wrong.size >= 2 * len(rests) and (text := residues_text(rests, step)):
                inside = np.isin(column % step, list(rests))
                yield Rule(f"a number of {name} that is {text}", inside)


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
