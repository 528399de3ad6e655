"""Operations on layouts, and those on the layout of codes in bytes.

Words of a case: `pack` codes to bytes, `unpack` the count and bytes to codes.
"""

from __future__ import annotations

from abc import abstractmethod
from collections.abc import Iterable, Iterator
from functools import partial
from typing import Any, ClassVar

import numpy as np
from numpy.typing import NDArray

from mxref import exact
from mxref.bits.floats import U8
from mxref.formats.catalog import CodeFormat, element_format
from mxref.operands.kinds import Bytes, Codes
from mxref.operands.returned import AnswerError, array_of, code_words
from mxref.operands.word_rows import padded, stripped
from mxref.operations.asked import Asked, one_row
from mxref.operations.operation import AnyPolicy, Kinds, Operation, Words, policy_of
from mxref.packing.elements import pack, packed_size, unpack
from mxref.policy.choices import FP4Packing, FP6Packing, ScaleLayout
from mxref.policy.policy import Policy

__all__ = [
    "BYTE",
    "SLOTS",
    "LayoutOperation",
    "Pack",
    "Unpack",
    "bytes_of",
    "flat_words",
    "packing_of",
]

#: In a file's name in place of a float type: `bytes` where its columns are layouts, or the one
#: layout of its inputs.
SLOTS = (
    "bytes",
    *dict.fromkeys(m.value for choice in (FP4Packing, FP6Packing, ScaleLayout) for m in choice),
)


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


def packing_of(bits: int, policy: Policy) -> str:
    """The name of a policy's packing of elements of `bits` bits.

    >>> packing_of(6, Policy()), packing_of(8, Policy())
    ('lsb_first', 'byte_each')
    """
    return policy.choices().get(f"fp{bits}_packing", "byte_each")


class LayoutOperation(Operation):
    """An operation on layouts: its cases have any number of words and are compared one by one."""

    varied = single = True
    #: How many words before the others are sizes.
    sizes: ClassVar[int] = 1

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


class Pack(LayoutOperation):
    """Codes to bytes."""

    name = "pack"
    parameters = "codes, format"

    def easy(self, format: str, slot: str) -> tuple[int, ...]:
        """Two codes."""
        return 0, 0

    def _counts(self, format: str, words: Words, policy: Policy) -> tuple[int, int]:
        return len(words), packed_size(len(words), format, policy)

    def given(self, format: str, slot: str, words: Words) -> dict[str, Any]:
        """The codes."""
        return {"codes": bytes_of(words), "format": format}

    def result_words(
        self, format: str, shape: tuple[int, ...], result: object
    ) -> NDArray[np.uint64]:
        """Any number of bytes."""
        return flat_words(BYTE, result)

    def kinds_in(self, format: str, slot: str, words: Words) -> Kinds:
        """Codes."""
        return [Codes(element_format(format))] * len(words)

    def kinds_out(self, format: str, slot: str, count: int) -> Kinds:
        """Bytes."""
        return [Bytes()] * count

    def twin(self, format: str, slot: str, words: Words, policy: Policy) -> Iterable[int]:
        """The bytes, by the slow twin."""
        bits = element_format(format).bits
        return exact.pack(words, bits, packing_of(bits, policy))

    def call(self, format: str, slot: str, words: Words, policy: Policy) -> U8:
        """The bytes, by the fast path."""
        return pack(words, format, policy)


class Unpack(LayoutOperation):
    """Bytes back to codes."""

    name = "unpack"
    parameters = "bytes, format, count"

    def answerable(self, format: str, slot: str, policy: Policy) -> bool:
        """Whether the bytes are of the policy's packing."""
        return slot == packing_of(element_format(format).bits, policy)

    def easy(self, format: str, slot: str) -> tuple[int, ...]:
        """The bytes of two codes."""
        choice = f"fp{element_format(format).bits}_packing"
        known = choice in Policy().choices() and slot != "bytes"
        policy = Policy().replace(**{choice: slot}) if known else Policy()
        return (2, *(0,) * (self.counts(format, (2,), policy)[0] - 1))

    def _counts(self, format: str, words: Words, policy: Policy) -> tuple[int, int]:
        return 1 + packed_size(words[0], format, policy), words[0]

    def given(self, format: str, slot: str, words: Words) -> dict[str, Any]:
        """The bytes, and how many codes they hold."""
        return {"packed": bytes_of(words[1:]), "format": format, "count": words[0]}

    def result_words(
        self, format: str, shape: tuple[int, ...], result: object
    ) -> NDArray[np.uint64]:
        """Any number of codes."""
        return flat_words(element_format(format), result)

    def kinds_in(self, format: str, slot: str, words: Words) -> Kinds:
        """The count, and bytes."""
        return [None, *[Bytes()] * (len(words) - 1)]

    def kinds_out(self, format: str, slot: str, count: int) -> Kinds:
        """Codes."""
        return [Codes(element_format(format))] * count

    def twin(self, format: str, slot: str, words: Words, policy: Policy) -> Iterable[int]:
        """The codes, by the slow twin."""
        bits = element_format(format).bits
        return exact.unpack(words[1:], bits, packing_of(bits, policy), words[0])

    def call(self, format: str, slot: str, words: Words, policy: Policy) -> U8:
        """The codes, by the fast path."""
        return unpack(words[1:], format, words[0], policy)
