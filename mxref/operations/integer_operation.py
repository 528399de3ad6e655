"""Operations of `mxref.integer`: a case is one call, its parameters first.

Words are 32-bit patterns: floats, or integers in two's complement. The answer's words are codes in
two's complement of their own width, bytes, or float32 patterns.

A policy has the choices of `mxref.integer`, spelled ``scaling=divide+nan=zero``; `default` is the
one without a choice.
"""

from __future__ import annotations

import enum
import math
from abc import abstractmethod
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import Any, ClassVar

import numpy as np
from numpy.typing import NDArray

from mxref.operations.operation import AnyPolicy, Operation, Words
from mxref.operations.word_rows import padded, stripped
from mxref.policy.policy import Policy

__all__ = [
    "DEFAULT",
    "IntegerCall",
    "IntegerOperation",
    "integers_of",
    "result_type",
    "signed",
    "words_of",
]

DEFAULT = "default"


@dataclass(frozen=True, slots=True)
class IntegerCall:
    """A call.

    Args:
        arguments: what the function is given.
        dtype: of the result.
        shape: of the result.
        places: how many of the first words are parameters.
    """

    arguments: tuple[Any, ...]
    dtype: np.dtype[Any]
    shape: tuple[int, ...]
    places: int


class IntegerOperation(Operation):
    """An operation of `mxref.integer`, which has choices of its own."""

    varied = single = True
    #: The formats of its files.
    formats: ClassVar[tuple[str, ...]]
    #: What its files have in place of a float type.
    slot: ClassVar[str] = "bytes"

    @abstractmethod
    def call(self, format: str, words: Words) -> IntegerCall:
        """The call of a case.

        Raises:
            ValueError: words that are no case of the operation.
        """

    @abstractmethod
    def run(self, call: IntegerCall, choices: Mapping[str, Any]) -> NDArray[Any]:
        """The result of a call under some choices, by the fast path.

        Raises:
            ValueError: it has none.
        """

    @abstractmethod
    def twin(self, format: str, words: Words, chosen: Mapping[str, str]) -> Iterable[int]:
        """The integers or patterns of the answer under all choices, by the slow twin.

        Raises:
            ValueError: there is none.
        """

    def run_column(self, format: str, words: Words, column: str) -> tuple[int, ...]:
        """The words of one of `bounds`, by the fast path."""
        raise ValueError(f"{self.name} must be asked for a policy, got {column!r}")

    def twin_column(self, format: str, words: Words, column: str) -> Iterable[int]:
        """The words of one of `bounds`, by the slow twin."""
        raise ValueError(f"{self.name} must be asked for a policy, got {column!r}")

    def kinds(self, format: str) -> dict[str, type[enum.Enum]]:
        """The choices, each as its enumeration."""
        return {}

    def refuse(self, found: Mapping[str, str]) -> None:
        """Raise ValueError for choices that have no meaning together."""

    def reads(self) -> tuple[str, ...]:
        """No choice of `Policy`."""
        return ()

    def changed(self, policy: AnyPolicy) -> dict[str, str]:
        """No choice of `Policy`."""
        return {}

    def choices(self, format: str) -> dict[str, tuple[str, ...]]:
        """The choices that implementations make, the default of each first.

        >>> from mxref.operations.registry import INTEGERS
        >>> INTEGERS["pack_int4"].choices("int4"), INTEGERS["grid_sample"].choices("int8")
        ({'nibbles': ('high_first', 'low_first')}, {})
        """
        return {
            name: tuple(member.value for member in kind)
            for name, kind in self.kinds(format).items()
        }

    def first_policy(self, format: str) -> str:
        """The first column of a file: the default, where it has an answer to every case.

        >>> from mxref.operations.registry import INTEGERS
        >>> [INTEGERS["quantize_affine"].first_policy(name) for name in ("int8", "int8_axis")]
        ['nan=zero', 'default']
        """
        return DEFAULT

    def spell(self, format: str, chosen: Mapping[str, str]) -> str:
        """The spelling of a policy: the choices that are not the default, in a fixed order.

        >>> from mxref.operations.registry import INTEGERS
        >>> INTEGERS["quantize_affine"].spell("int8", {"nan": "zero", "scaling": "divide"})
        'scaling=divide+nan=zero'
        """
        known = self.choices(format)
        changed = [f"{n}={chosen[n]}" for n in known if chosen.get(n, known[n][0]) != known[n][0]]
        return "+".join(changed) or DEFAULT

    def parse(self, format: str, policy: str) -> dict[str, str]:
        """The choices that a policy spells.

        Raises:
            ValueError: no such choice or member, or a combination that has no meaning.
        """
        known, found = self.choices(format), {}
        for part in policy.split("+") if policy != DEFAULT else ():
            name, _, value = part.partition("=")
            if value not in known.get(name, ()):
                raise ValueError(f"{part!r} is no choice of {self.name} {format}")
            found[name] = value
        self.refuse(found)
        if self.spell(format, found) != policy:
            raise ValueError(f"must be spelled {self.spell(format, found)!r}")
        return found

    def neighbours(self, format: str, policy: str) -> Iterator[str]:
        """The policies that differ from one in one choice.

        >>> from mxref.operations.registry import INTEGERS
        >>> list(INTEGERS["rescale"].neighbours("int8-int8", "default"))
        ['rounding=double']
        """
        chosen = self.parse(format, policy)
        for name, members in self.choices(format).items():
            for member in members:
                if chosen.get(name, members[0]) != member:
                    other = self.spell(format, {**chosen, name: member})
                    try:
                        self.parse(format, other)
                    except ValueError:
                        continue
                    yield other

    def digits(self, format: str, slot: str) -> tuple[int, int]:
        """Words in of 32 bits, words out of the format's."""
        return 8, result_type(format).itemsize * 2

    def counts(self, format: str, words: Words, policy: Policy) -> tuple[int, int]:
        """All words in, and as many out as the result has numbers."""
        return len(words), math.prod(self.call(format, words).shape)

    def answer(self, format: str, words: Words, policy: str) -> tuple[int, ...]:
        """The answer of a policy, or of one of `bounds`, to one case, by the fast path.

        Raises:
            ValueError: it has none.
        """
        if policy in self.bounds(format):
            return self.run_column(format, words, policy)
        call, choices = self.call(format, words), self.parse(format, policy)
        return words_of(np.asarray(self.run(call, choices)))

    def exact_answer(self, format: str, words: Words, policy: str) -> tuple[int, ...]:
        """The answer of a policy, or of one of `bounds`, to one case, by the slow twin.

        Raises:
            ValueError: it has none.

        >>> from mxref.operations.registry import INTEGERS
        >>> INTEGERS["pack_int4"].exact_answer("int4", (1, 3, 1, 2, 3), "default")
        (154, 184)
        """
        call = self.call(format, words)
        if policy in self.bounds(format):
            found = self.twin_column(format, words, policy)
        else:
            chosen = {name: members[0] for name, members in self.choices(format).items()}
            found = self.twin(format, words, chosen | self.parse(format, policy))
        mask = (1 << 8 * call.dtype.itemsize) - 1
        return tuple(word & mask for word in found)

    def exact(
        self, format: str, slot: str, questions: Iterable[Words], policy: AnyPolicy
    ) -> list[tuple[int, ...]]:
        """The answers, by the slow twin; those of the first policy for a policy of MX."""
        name = policy if isinstance(policy, str) else self.first_policy(format)
        return [self.exact_answer(format, w, name) for w in questions]

    def fast(
        self, format: str, slot: str, words: NDArray[Any], policy: AnyPolicy
    ) -> NDArray[np.uint64]:
        """The answers, by the fast path; those of the first policy for a policy of MX."""
        name = policy if isinstance(policy, str) else self.first_policy(format)
        rows = (stripped(row) for row in words.astype(np.uint64))
        return padded([self.answer(format, row, name) for row in rows])


def signed(word: int, bits: int = 32) -> int:
    """The integer of a word in two's complement.

    >>> signed(0xFFFFFFFF), signed(0x7F), signed(0x80, 8)
    (-1, 127, -128)
    """
    return word - (1 << bits) if word >> bits - 1 & 1 else word


def words_of(result: NDArray[Any]) -> tuple[int, ...]:
    """The words of an array: patterns of its own width.

    >>> words_of(np.int8([-1, 2])), words_of(np.float32([1]))
    ((255, 2), (1065353216,))
    """
    return tuple(result.reshape(-1).view(f"u{result.dtype.itemsize}").tolist())


def integers_of(words: Sequence[int], dtype: Any) -> NDArray[Any]:
    """Words in two's complement as an array.

    >>> integers_of((0xFFFFFFFF, 1), np.int8)
    array([-1,  1], dtype=int8)
    """
    return np.array(words, np.uint32).view(np.int32).astype(dtype)


def result_type(format: str) -> np.dtype[Any]:
    """The type of the integers out, by the format.

    >>> result_type("int16_axis"), result_type("int32-int8")
    (dtype('int16'), dtype('int8'))
    """
    return np.dtype(format.split("_")[0].split("-")[-1])
