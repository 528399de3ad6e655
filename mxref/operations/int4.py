"""Integers of four bits in bytes: `pack_int4` and `unpack_int4`.

Words of a case: rows, K, and row by row the codes of `pack_int4` or the bytes of `unpack_int4`.
"""

from __future__ import annotations

import enum
from collections.abc import Iterable, Mapping
from typing import Any

import numpy as np
from numpy.typing import NDArray

from mxref.exact import integer as slow
from mxref.integer.integer_choices import Nibbles
from mxref.integer.weight_only import pack_int4, unpack_int4
from mxref.operations.integer_operation import IntegerCall, IntegerOperation, integers_of, signed
from mxref.operations.operation import Words
from mxref.operations.weight_only import exact_unpacked

__all__ = ["PackInt4", "UnpackInt4"]


class _Int4(IntegerOperation):
    """One of both directions."""

    formats = ("int4",)

    def kinds(self, format: str) -> dict[str, type[enum.Enum]]:
        """Which of two codes has the high bits."""
        return {"nibbles": Nibbles}


def _rows(words: Words, size: int) -> None:
    if len(words) != 2 + words[0] * size:
        raise ValueError(f"{words[0]} rows of {size} must have as many words")


class PackInt4(_Int4):
    """Codes to bytes."""

    name = "pack_int4"
    parameters = "codes"

    def digits(self, format: str, slot: str) -> tuple[int, int]:
        """Bytes out."""
        return 8, 2

    def easy(self, format: str, slot: str) -> tuple[int, ...]:
        """One zero."""
        return 1, 1, 0

    def call(self, format: str, words: Words) -> IntegerCall:
        """The call of a case."""
        rows, k = words[:2]
        _rows(words, k)
        codes = integers_of(words[2:], np.int8).reshape(rows, k)
        return IntegerCall((codes,), np.dtype(np.uint8), (rows, -(-k // 2)), 2)

    def run(self, call: IntegerCall, choices: Mapping[str, Any]) -> NDArray[Any]:
        """The bytes, by the fast path."""
        return pack_int4(*call.arguments, **choices)

    def twin(self, format: str, words: Words, chosen: Mapping[str, str]) -> Iterable[int]:
        """The bytes, by the slow twin."""
        rows, k = words[:2]
        codes = [signed(word) for word in words[2:]]
        lines = [codes[i * k : i * k + k] for i in range(rows)]
        return [byte for line in lines for byte in slow.pack_int4(line, **chosen)]


class UnpackInt4(_Int4):
    """Bytes back to codes."""

    name = "unpack_int4"
    parameters = "bytes, k"

    def digits(self, format: str, slot: str) -> tuple[int, int]:
        """Bytes in, and bytes out."""
        return 2, 2

    def easy(self, format: str, slot: str) -> tuple[int, ...]:
        """One zero."""
        return 1, 1, 0x88

    def call(self, format: str, words: Words) -> IntegerCall:
        """The call of a case."""
        rows, k = words[:2]
        size = -(-k // 2)
        _rows(words, size)
        packed = np.array(words[2:], np.uint8).reshape(rows, size)
        return IntegerCall((packed, k), np.dtype(np.int8), (rows, k), 2)

    def run(self, call: IntegerCall, choices: Mapping[str, Any]) -> NDArray[Any]:
        """The codes, by the fast path."""
        return unpack_int4(*call.arguments, **choices)

    def twin(self, format: str, words: Words, chosen: Mapping[str, str]) -> Iterable[int]:
        """The codes, by the slow twin."""
        rows, k = words[:2]
        size = -(-k // 2)
        lines = [words[2 + row * size :][:size] for row in range(rows)]
        return [code for line in lines for code in exact_unpacked(line, k, **chosen)]
