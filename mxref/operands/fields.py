"""Fields of a case: named words, or arrays of words whose shapes are named sizes.

What a case holds is told once, as fields. How a case is read and checked, the easiest case, random
cases and smaller cases follow from them.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import Any, TypeAlias

import numpy as np
from numpy.typing import NDArray

from mxref.operands.draws import Draws
from mxref.operands.kinds import Kind, Size

__all__ = ["Field", "Shape", "drawn", "easy", "joined", "parts_of", "smaller", "values_of"]

#: Lengths of axes: numbers, names of sizes, "NAME/2" for two items a byte, and "*" for the rest;
#: or what gives them from the words of the fields before.
Shape: TypeAlias = "tuple[int | str, ...] | Callable[[Mapping[str, int]], tuple[int, ...]]"
Parts = dict[str, NDArray[np.uint64]]
Words = tuple[int, ...]

#: How many items are tried alone, and how many places of an array are made simpler.
_MOST = 128
#: The words of a random case, about.
_DRAWN = 400


@dataclass(frozen=True, slots=True)
class Field:
    """A word of a case, or an array of them.

    Args:
        name: of the parameter, or of the size.
        kind: what its words are.
        shape: the lengths of its axes, in C order; one word if empty. One field alone may have "*".
        given: whether it is an argument of the function, where `kind` is no `Size`.
    """

    name: str
    kind: Kind
    shape: Shape = ()
    given: bool = True

    def lengths(self, sizes: Mapping[str, int]) -> tuple[int, ...]:
        """The lengths of its axes, "*" by its name.

        >>> from mxref.operands.kinds import Integers
        >>> Field("codes", Integers("int8"), ("*", "k/2")).lengths({"*": 2, "k": 5})
        (2, 3)
        """
        if not self.shape:
            return ()
        if callable(self.shape):
            return self.shape(sizes)
        return tuple(_length(one, sizes) for one in self.shape)

    @property
    def is_argument(self) -> bool:
        """Whether the function is given it."""
        return self.given and not isinstance(self.kind, Size)


def parts_of(fields: Sequence[Field], words: Sequence[int] | NDArray[Any]) -> Parts:
    """The words of each field, in its shape.

    >>> from mxref.operands.kinds import Integers
    >>> fields = (Field("k", Size()), Field("codes", Integers("int8"), ("k",)))
    >>> {name: part.tolist() for name, part in parts_of(fields, (2, 5, 6)).items()}
    {'k': 2, 'codes': [5, 6]}

    Raises:
        ValueError: another number of words than the sizes say, or a word that is none of its kind.
    """
    array = np.asarray(words, np.uint64)
    parts: Parts = {}
    sizes: dict[str, int] = {}
    place, behind = 0, sum(not one.shape for one in fields)
    for field in fields:
        behind -= not field.shape
        shape = _shape(field, sizes, len(array) - place - behind)
        count = math.prod(shape)
        some = array[place : place + count]
        if some.size != count:
            raise ValueError(f"a case must have words for {field.name}, it ends before them")
        for word in _extremes(some):
            if not field.kind.is_legal(word):
                raise ValueError(f"{field.name} must be words of its kind, got {word:x}")
        parts[field.name] = some.reshape(shape)
        if not shape:
            sizes[field.name] = int(some[0])
        place += count
    if place != len(array):
        raise ValueError(f"the sizes of a case must fit {len(array)} words, they say {place}")
    return parts


def _extremes(words: NDArray[np.uint64]) -> list[int]:
    """The words between which all others lie, unsigned and as integers of 32 bits."""
    if words.size < 2:
        return words.tolist()  # type: ignore[no-any-return]
    low = words.astype(np.uint32).view(np.int32)
    places = {int(one) for one in (words.argmin(), words.argmax(), low.argmin(), low.argmax())}
    return [int(words[i]) for i in places]


def _shape(field: Field, sizes: Mapping[str, int], left: int) -> tuple[int, ...]:
    """The lengths of the axes of a field, "*" so that it has so many words, at least."""
    if callable(field.shape) or "*" not in field.shape:
        return field.lengths(sizes)
    known = [_length(one, sizes) for one in field.shape if one != "*"]
    return field.lengths({**sizes, "*": max(left, 0) // max(math.prod(known), 1)})


def _length(one: int | str, sizes: Mapping[str, int]) -> int:
    if isinstance(one, int):
        return one
    name, _, half = one.partition("/")
    return -(-sizes[name] // 2) if half else sizes[name]


def joined(fields: Sequence[Field], parts: Mapping[str, Any]) -> Words:
    """The words of a case of these parts; sizes follow from the arrays if they are left out.

    >>> from mxref.operands.kinds import Integers
    >>> fields = (Field("k", Size()), Field("codes", Integers("int8"), ("k",)))
    >>> joined(fields, {"codes": np.array([5, 6])})
    (2, 5, 6)
    """
    sizes: dict[str, int] = {}
    for field in fields:
        if not callable(field.shape) and field.name in parts:
            lengths = zip(field.shape, np.shape(parts[field.name]), strict=True)
            for name, length in lengths:
                if isinstance(name, str):
                    sizes.setdefault(name, length)
    found: list[int] = []
    for field in fields:
        value = parts.get(field.name, sizes.get(field.name))
        found += np.asarray(value).astype(np.uint64).reshape(-1).tolist()
    return tuple(found)


def values_of(fields: Sequence[Field], parts: Parts) -> dict[str, Any]:
    """The values of the fields by their names: arrays, and one word as a number or a value."""
    found: dict[str, Any] = {}
    for field in fields:
        part = parts[field.name]
        values = getattr(field.kind, "values", None)
        if part.shape:
            found[field.name] = field.kind.array(part.reshape(-1)).reshape(part.shape)
        elif values is not None:
            found[field.name] = values[int(part)]
        else:
            found[field.name] = field.kind.value(int(part))
    return found


def easy(fields: Sequence[Field]) -> Words:
    """The words of the smallest case, of the simplest values.

    >>> from mxref.operands.kinds import Integers
    >>> easy((Field("k", Size()), Field("bytes", Integers("uint8"), ("k/2",))))
    (1, 0)
    """
    sizes: dict[str, int] = {}
    found: list[int] = []
    for field in fields:
        shape = field.lengths({**sizes, "*": 1})
        found += [field.kind.easy] * math.prod(shape)
        if not shape:
            sizes[field.name] = field.kind.easy
    return tuple(found)


def drawn(fields: Sequence[Field], draws: Draws, sizes: Mapping[str, int] | None = None) -> Words:
    """The words of a random case.

    Args:
        fields: of the case.
        draws: random numbers.
        sizes: the sizes; random ones where they are not named, "*" is the last axis of the rest.
    """
    given = dict(sizes or {})
    found: dict[str, int] = {}
    words: list[int] = []
    for field in fields:
        rest = given.get("*", int(draws.between(1, 40)))
        shape = field.lengths({**found, "*": rest})
        if field.name in given:
            values = np.array([given[field.name]])
        else:
            values = field.kind.drawn(draws, shape)
            if isinstance(field.kind, Size) and math.prod(found.values()) > _DRAWN:
                values = np.array([1])
        if not shape:
            found[field.name] = int(values.reshape(-1)[0])
        words += np.asarray(values).reshape(-1).tolist()
    return tuple(words)


def fewer(count: int) -> Iterator[slice]:
    """Parts of a list: each item alone, halves, all but the last.

    >>> [(one.start, one.stop) for one in fewer(3)]
    [(0, 1), (1, 2), (2, 3), (0, 1), (1, 3), (0, 2)]
    """
    if count > 1:
        yield from (slice(i, i + 1) for i in range(min(count, _MOST)))
        yield from (slice(0, count // 2), slice(count // 2, count), slice(0, count - 1))


def smaller(fields: Sequence[Field], words: Words) -> Iterator[Words]:
    """Cases to try instead of one: shorter axes, simpler words; some may have no answer.

    Two items of a byte stay together, whichever is the first.

    >>> from mxref.operands.kinds import Integers
    >>> fields = (Field("k", Size()), Field("codes", Integers("int8"), ("k",)))
    >>> list(smaller(fields, (2, 5, 0)))[:3]
    [(1, 5), (1, 0), (1, 5)]
    """
    parts = parts_of(fields, words)
    yield from _shorter(fields, parts)
    arrays = [field for field in fields if np.ndim(parts[field.name])]
    few = all(parts[field.name].size <= 1 for field in arrays)
    place = 0
    for field in fields:
        size = parts[field.name].size
        if not isinstance(field.kind, Size):
            tried = min(size, _MOST)
            for at in range(place, place + tried):
                if few or not parts[field.name].shape:
                    simple: Iterator[int] = field.kind.simpler(words[at])
                else:
                    simple = field.kind.simplest(words[at])
                yield from ((*words[:at], one, *words[at + 1 :]) for one in simple)
        place += size


def _shorter(fields: Sequence[Field], parts: Parts) -> Iterator[Words]:
    """Cases with fewer items along each axis that has a name."""
    shapes = {field.name: field.shape for field in fields if not callable(field.shape)}
    axes = dict.fromkeys(
        one.partition("/")[0] for shape in shapes.values() for one in shape if isinstance(one, str)
    )
    paired = {
        one.partition("/")[0]
        for shape in shapes.values()
        for one in shape
        if isinstance(one, str) and "/" in one
    }
    for axis in axes:
        lengths = (
            length
            for name, shape in shapes.items()
            for one, length in zip(shape, parts[name].shape, strict=True)
            if one == axis
        )
        count = next(lengths, int(parts[axis]) if axis in parts else 0)
        for some in fewer(count):
            if axis in paired and some.start % 2:
                continue
            yield joined(fields, _cut(shapes, parts, axis, some))


def _cut(shapes: Mapping[str, Any], parts: Parts, axis: str, some: slice) -> dict[str, Any]:
    found: dict[str, Any] = dict(parts)
    for name, shape in shapes.items():
        for i, one in enumerate(shape):
            part = some
            if one == f"{axis}/2":
                part = slice(some.start // 2, -(-some.stop // 2))
            elif one != axis:
                continue
            found[name] = np.take(found[name], range(part.start, part.stop), axis=i)
    if axis in parts:
        found[axis] = np.uint64(some.stop - some.start)
    return found
