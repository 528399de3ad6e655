"""Operations on layouts: codes to bytes, and back."""

from __future__ import annotations

from abc import abstractmethod
from collections.abc import Collection, Iterable, Iterator
from functools import partial
from typing import Any, ClassVar

import numpy as np
from numpy.typing import NDArray

from mxref.bits.floats import U8
from mxref.formats.catalog import MX_BLOCKS, CodeFormat
from mxref.operands.kinds import Bytes, Codes, Kind
from mxref.operands.returned import AnswerError, array_of, code_words
from mxref.operands.word_rows import padded, stripped
from mxref.operations.asked import Asked, one_row
from mxref.operations.operation import AnyPolicy, Operation, Words, policy_of
from mxref.operations.wrong_answer import WrongAnswer
from mxref.policy.choices import FP4Packing, FP6Packing, ScaleLayout
from mxref.policy.policy import Policy

__all__ = [
    "BYTE",
    "SLOTS",
    "LayoutOperation",
    "bytes_of",
    "flat_words",
    "packing_of",
    "words_shown",
]

#: In a file's name in place of a float type: `bytes` where its columns are layouts, or the one
#: layout of its inputs.
SLOTS = (
    "bytes",
    *dict.fromkeys(m.value for choice in (FP4Packing, FP6Packing, ScaleLayout) for m in choice),
)


#: What stands for a word past the last one.
_END = "the end"
#: What bytes of any format are checked as.
BYTE = CodeFormat("bytes", 8, 0, 0, signed=False)


def flat_words(fmt: CodeFormat, result: object) -> NDArray[np.uint64]:
    """The words of codes or bytes, any number of them along one axis.

    Raises:
        AnswerError: more axes, or no codes.
    """
    array = array_of(result)
    if array.ndim != 1:
        raise AnswerError(f"the result must have one axis, got shape {array.shape}")
    return code_words(array, array.shape, fmt)


def bytes_of(words: Words | NDArray[Any]) -> NDArray[np.uint8]:
    """Words as codes or bytes."""
    return np.array(words, np.uint8)


def words_shown(wrong: WrongAnswer, kind: Kind) -> str:
    """The first wrong word of both answers, which may be shorter."""
    index = wrong.first
    sides = [kind.shown(s[index]) if index < len(s) else _END for s in (wrong.want, wrong.got)]
    return f"want {sides[0]}, got {sides[1]}"


def packing_of(bits: int, policy: Policy) -> str:
    """The name of a policy's packing of elements of `bits` bits.

    >>> packing_of(6, Policy()), packing_of(8, Policy())
    ('lsb_first', 'byte_each')
    """
    return policy.choices().get(f"fp{bits}_packing", "byte_each")


class LayoutOperation(Operation):
    """An operation on layouts: its cases have any number of words and are compared one by one."""

    varied = single = True
    decided_by = "N32"
    formats: ClassVar[Collection[str]] = MX_BLOCKS
    #: How many words before the others are sizes.
    sizes: ClassVar[int] = 1
    #: What it works on: codes, scales, blocks or a tensor.
    works_on: ClassVar[str] = "tensor"

    def slots(self, format: str) -> Collection[str]:
        """Bytes."""
        return ("bytes",)

    @abstractmethod
    def _counts(self, format: str, words: Words, policy: Policy) -> tuple[int, int]:
        """The numbers of words in and out, by the sizes."""

    @abstractmethod
    def twin(self, format: str, slot: str, words: Words, policy: Policy) -> Iterable[int]:
        """The answer to one case, by the slow twin."""

    @abstractmethod
    def call(self, format: str, slot: str, words: Words, policy: Policy) -> U8:
        """The answer to one case, by the fast path.

        Raises:
            ValueError: bytes of another layout, or ``scale_place=separate``.
        """

    @abstractmethod
    def given(self, format: str, slot: str, words: Words) -> dict[str, Any]:
        """The arguments of the call of one case."""

    @abstractmethod
    def result_words(
        self, format: str, shape: tuple[int, ...], result: object
    ) -> NDArray[np.uint64]:
        """The words of what a function has returned, checked as far as its shape is known.

        Args:
            format: the format.
            shape: rows and columns; of codes and of blocks one row.
            result: what was returned.

        Raises:
            AnswerError: a result of another shape or type.
        """

    def further(self, format: str, shape: tuple[int, int], axis: int) -> tuple[Any, ...]:
        """The arguments of a function behind its arrays, of rows and columns."""
        return (format,)

    def first_words(self, shape: tuple[int, int], axis: int) -> tuple[int, ...]:
        """The words of a case before those of its arrays, of rows and columns."""
        return (*shape, axis)[: self.sizes] if self.sizes > 1 else ()

    def calls(self, format: str, slot: str, words: NDArray[Any]) -> Iterator[Asked]:
        """One call a case."""
        for i, row in enumerate(words):
            case = stripped(row)
            shape = case[: self.sizes] if self.sizes > 1 else (1, 1)
            read = partial(one_row, partial(self.result_words, format, shape))
            yield Asked(slice(i, i + 1), self.given(format, slot, case), read)

    def place(self, index: int) -> str:
        """The number of the word."""
        return f" in word {index}"

    def asked(self, format: str, slot: str, words: Words, answer: Words, index: int) -> str:
        """The first words, and how many there are."""
        return f"{len(words)} words {' '.join(f'{one:02x}' for one in words[:6])} ..."

    def answered(self, format: str, slot: str, words: Words, answer: Words, index: int) -> str:
        """The word, its number and how many there are."""
        return f"word {index} is {answer[index]:02x}, of {len(answer)}"

    @abstractmethod
    def inverse(self) -> LayoutOperation:
        """The operation that leads back."""

    def back(self, words: Words, answer: Words) -> tuple[int, ...]:
        """The case of the inverse whose words are an answer."""
        return tuple(answer)

    def named(self, words: Words, index: int) -> str:
        """What a word of an answer is, with its place."""
        return f"byte {index}"

    def difference(self, wrong: WrongAnswer) -> str:
        """The first wrong word, with the words of the case that it holds or comes from."""
        index, want, words = wrong.first, wrong.want, wrong.words
        text = words_shown(wrong, Bytes())
        if index >= len(want):
            return f"word {index}, {text}"
        policy = policy_of(wrong.policy or wrong.default)
        sources = self._sources(wrong, policy)
        if not sources:
            return f"byte {index}, which fills up, {text}"
        kinds = self.kinds_in(wrong.format, wrong.slot, words)
        first, back = sum(kind is None for kind in kinds), self.inverse()
        # A whole code in a byte of its own is the word that is wanted, which is said at the end.
        said = [words[i + first] for i in sources] == [want[index]]
        held = " and ".join(
            back.named(words, i) + ("" if said else f" = {words[i + first]:02x}") for i in sources
        )
        packs = isinstance(self.kinds_out(wrong.format, wrong.slot, words, 1)[0], Bytes)
        found = f"{self.named(words, index)} {'holding' if packs else 'from'} {held}, {text}"
        if packs and len(wrong.got) == len(want):
            (read,) = back.fast(
                wrong.format, wrong.slot, padded([self.back(words, wrong.got)]), policy
            )
            given = [int(read[i]) for i in sources]
            if given != [wrong.got[index]]:
                found += f" (holding {' and '.join(f'{one:02x}' for one in given)})"
        return found

    def _sources(self, wrong: WrongAnswer, policy: Policy) -> list[int]:
        """The words of the case that the first wrong word is made of, by the inverse of it."""
        index, count = wrong.first, len(wrong.want)
        kind = self.kinds_out(wrong.format, wrong.slot, wrong.words, count)[index]
        ones = kind.fmt.code_count - 1 if isinstance(kind, Codes) else 0xFF
        rest = [0] * count
        answers = rest, [*rest[:index], ones, *rest[index + 1 :]]
        words = padded([self.back(wrong.words, answer) for answer in answers])
        nothing, found = self.inverse().fast(wrong.format, wrong.slot, words, policy)
        sources: list[int] = np.flatnonzero(nothing != found).tolist()
        return sources

    def counts(self, format: str, words: Words, policy: Policy) -> tuple[int, int]:
        """The numbers of words in and out of a case, by its first words and a policy."""
        if len(words) < self.sizes:
            raise ValueError(f"{self.name} must have more words in than {len(words)}")
        return self._counts(format, words, policy)

    def easy(self, format: str, slot: str) -> tuple[int, ...]:
        """The smallest case, of zeros, in the default layout where the slot names none."""
        first = (1,) * self.sizes
        return (*first, *(0,) * (self.counts(format, first, Policy())[0] - len(first)))

    def exact(
        self, format: str, slot: str, questions: Iterable[Words], policy: AnyPolicy
    ) -> list[tuple[int, ...]]:
        """The answers, by the slow twin."""
        one = policy_of(policy)
        return [tuple(self.twin(format, slot, w, one)) for w in questions]

    def fast(
        self, format: str, slot: str, words: NDArray[Any], policy: AnyPolicy
    ) -> NDArray[np.uint64]:
        """The answers, by the fast path; no words where a policy has no answer."""
        rows, one = [], policy_of(policy)
        for row in words:
            try:
                rows.append(self.call(format, slot, stripped(row), one))
            except ValueError:
                rows.append(np.zeros(0, np.uint8))
        return padded(rows)
