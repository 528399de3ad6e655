"""The property that all wrong calls share and fewest right ones have, as words."""

from __future__ import annotations

import itertools
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

__all__ = ["Features", "Rule", "rule_of"]

#: What is known of a call: a count by its unit in the plural, or a property in words by any name.
Features = Mapping[str, int | str]

#: Steps of sizes: tiles, vectors, warps and blocks of threads, the largest first.
_MULTIPLES = (128, 64, 32, 16, 8, 4, 2)
#: The largest share of right calls among those that a rule covers, by its number of properties.
_RIGHT = {1: 0.5, 2: 0.34}


@dataclass(frozen=True, slots=True)
class Rule:
    """Some calls, told from the others by one or two properties.

    Args:
        text: the properties, to be read after "calls with".
        inside: for each call whether it has them.
        least: the unit and the count of a rule that is "N rows and more" alone.
    """

    text: str
    inside: NDArray[np.bool_]
    least: tuple[str, int] | None = None


def rule_of(features: Sequence[Features], wrong: Sequence[bool]) -> Rule | None:
    """The rule that covers all wrong calls and fewest right ones; None if that says too little.

    Args:
        features: of each call, with the same keys in all.
        wrong: for each call whether its answer is wrong.

    >>> axes = ("axis 0", "axis 1")
    >>> calls = [{"rows": n, "axis": axis} for n in (1, 31, 33, 64) for axis in axes]
    >>> wrong = [call["rows"] > 32 and call["axis"] == "axis 0" for call in calls]
    >>> rule_of(calls, wrong).text
    '33 rows and more, and axis 0'
    """
    bad = np.array(wrong, bool)
    if not bad.any():
        return None
    single = [rule for rule in _rules(features) if rule.inside[bad].all() and not rule.inside.all()]
    pairs = (
        Rule(_joined(one.text, other.text), one.inside & other.inside)
        for one, other in itertools.combinations(single, 2)
    )
    best: tuple[int, Rule] | None = None
    for count, rules in ((1, iter(single)), (2, pairs)):
        for rule in rules:
            covered = int(rule.inside.sum())
            right = covered - int(bad.sum())
            if right <= _RIGHT[count] * covered and (best is None or right < best[0]):
                best = right, rule
    return None if best is None else best[1]


def _joined(one: str, other: str) -> str:
    return f"{one}{',' * (' and ' in one)} and {other}"


def _rules(features: Sequence[Features]) -> Iterator[Rule]:
    """Every rule of one property, the plainer ones first."""
    counts = [name for name, value in features[0].items() if isinstance(value, int)]
    for name in counts:
        column = np.array([one[name] for one in features], np.int64)
        sizes = np.unique(column).tolist()
        for size in sizes[:0:-1]:
            yield Rule(f"{size:,} {name} and more", column >= size, (name, size))
        for size in sizes[:-1]:
            text = f"{size:,} {name} and fewer" if size > 1 else f"fewer than 2 {name}"
            yield Rule(text, column <= size)
    for name in (name for name in features[0] if name not in counts):
        words = np.array([one[name] for one in features])
        for word in dict.fromkeys(words.tolist()):
            yield Rule(word, words == word)
    for name in counts:
        column = np.array([one[name] for one in features], np.int64)
        for m in _MULTIPLES:
            yield Rule(f"a number of {name} that is no multiple of {m}", column % m != 0)
            yield Rule(f"a number of {name} that is a multiple of {m}", column % m == 0)
        for size in np.unique(column).tolist():
            yield Rule(f"{size:,} {name}", column == size)
