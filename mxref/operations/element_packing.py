"""Operations on the layout of element codes in bytes.

Words of a case: `pack` codes to bytes, `unpack` the count and bytes to codes.
"""

from __future__ import annotations

from collections.abc import Iterable
from typing import Any

import numpy as np
from numpy.typing import NDArray

from mxref import exact
from mxref.bits.floats import U8
from mxref.formats.catalog import ELEMENT_FORMATS, MX_ELEMENTS, element_format
from mxref.operands.kinds import Bytes, Codes
from mxref.operations.layouts import BYTE, LayoutOperation, bytes_of, flat_words, packing_of
from mxref.operations.operation import Kinds, Words
from mxref.packing.elements import pack, packed_size, unpack
from mxref.policy.policy import Policy

__all__ = ["Pack", "Unpack"]


class _Codes(LayoutOperation):
    """Element codes, any number of them."""

    works_on = unit = "codes"
    formats = tuple(name for name in MX_ELEMENTS if ELEMENT_FORMATS[name].bits < 8)


class Pack(_Codes):
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

    def kinds_out(self, format: str, slot: str, words: Words, count: int) -> Kinds:
        """Bytes."""
        return [Bytes()] * count

    def inverse(self) -> Unpack:
        """Back to codes."""
        return Unpack()

    def back(self, words: Words, answer: Words) -> tuple[int, ...]:
        """The count, and the bytes."""
        return len(words), *answer

    def twin(self, format: str, slot: str, words: Words, policy: Policy) -> Iterable[int]:
        """The bytes, by the slow twin."""
        bits = element_format(format).bits
        return exact.pack(words, bits, packing_of(bits, policy))

    def call(self, format: str, slot: str, words: Words, policy: Policy) -> U8:
        """The bytes, by the fast path."""
        return pack(words, format, policy)


class Unpack(_Codes):
    """Bytes back to codes."""

    name = "unpack"
    unpacks = True
    parameters = "bytes, format, count"

    def answerable(self, format: str, slot: str, policy: Policy) -> bool:
        """Whether the bytes are of the policy's packing."""
        return slot in self.slots_under(format, policy)

    def slots_under(self, format: str, policy: Policy) -> tuple[str, ...]:
        """The policy's packing."""
        return (packing_of(element_format(format).bits, policy),)

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

    def kinds_out(self, format: str, slot: str, words: Words, count: int) -> Kinds:
        """Codes."""
        return [Codes(element_format(format))] * count

    def inverse(self) -> Pack:
        """To bytes again."""
        return Pack()

    def further(self, format: str, shape: tuple[int, int], axis: int) -> tuple[Any, ...]:
        """The count, too."""
        return format, shape[1]

    def first_words(self, shape: tuple[int, int], axis: int) -> tuple[int, ...]:
        """The count."""
        return shape[1:]

    def named(self, words: Words, index: int) -> str:
        """An element."""
        return f"element {index}"

    def twin(self, format: str, slot: str, words: Words, policy: Policy) -> Iterable[int]:
        """The codes, by the slow twin."""
        bits = element_format(format).bits
        return exact.unpack(words[1:], bits, packing_of(bits, policy), words[0])

    def call(self, format: str, slot: str, words: Words, policy: Policy) -> U8:
        """The codes, by the fast path."""
        return unpack(words[1:], format, words[0], policy)
