"""Integers of four bits in bytes: `pack_int4` and `unpack_int4`.

Words of a case: rows, K, and row by row the codes of `pack_int4` or the bytes of `unpack_int4`.
"""

from __future__ import annotations

import enum
import math
from collections.abc import Iterable, Mapping, Sequence
from typing import Any

import numpy as np
from numpy.typing import NDArray

from mxref.exact import integer as slow
from mxref.integer.integer_choices import Nibbles, Stored
from mxref.integer.layers import pack_int4, unpack_int4
from mxref.operands.case_input import CaseInput
from mxref.operands.draws import Draws
from mxref.operands.fields import Field
from mxref.operands.kinds import Integers, PairsOfNibbles, Size, signed
from mxref.operations.asked_call import AskedCall
from mxref.operations.call_operation import CallOperation
from mxref.operations.call_sizes import CallSizes, Sizes
from mxref.operations.filled_axes import FilledAxes
from mxref.operations.operation import Words

__all__ = ["PackInt4", "UnpackInt4", "exact_unpacked"]

_ROWS, _K = Field("rows", Size(4)), Field("k", Size(40))
_SIZES = CallSizes(
    (
        (1, 1023), (1, 1025), (1025, 1), (257, 33), (129, 65), (3, 4097), (2049, 5), (4097, 2),
        (513, 512), (65_573, 1), (1, 65_573), (64, 96), (128, 128), (256, 384), (1024, 1024),
        (1024, 1056),
    ),
    empty=(0, 3), telling=(1,),
)  # fmt: skip


class _Int4(CallOperation):
    """One of both directions."""

    formats = ("int4",)
    multiples = "n", "k"

    def kinds(self, format: str) -> dict[str, type[enum.Enum]]:
        """Which of two codes has the high bits, and what is stored of each."""
        return {"nibbles": Nibbles, "stored": Stored}

    def asked_sizes(self, format: str) -> CallSizes:
        """Those of both."""
        return _SIZES

    def size_features(self, format: str, sizes: Sizes, call: AskedCall) -> dict[str, int | str]:
        """The number of codes."""
        return {"codes": math.prod(sizes)}

    def units(self, format: str) -> dict[str, str]:
        """Rows and their lengths."""
        return {"rows": "rows", "k": "codes in a row"}

    def designed(self, format: str) -> Iterable[CaseInput]:
        """Every byte, and rows of few codes."""
        from mxref.operations.rescaling_cases import int4_cases

        return int4_cases(packs=self.name == "pack_int4")


class PackInt4(_Int4):
    """Codes to bytes."""

    name = "pack_int4"
    axes_filled = FilledAxes(("nk",), ("nK",))
    parameters = "codes"

    def fields(self, format: str) -> tuple[Field, ...]:
        """Codes from -8 to 7."""
        return _ROWS, _K, Field("codes", Integers("int8", -8, 7), ("rows", "k"))

    def result(self, format: str, values: Mapping[str, Any]) -> tuple[Any, tuple[int, ...]]:
        """A byte for two codes."""
        return np.uint8, (values["rows"], -(-values["k"] // 2))

    def digits(self, format: str, slot: str) -> tuple[int, int]:
        """Bytes out."""
        return 8, 2

    def answer_shown(self, format: str, word: int) -> str:
        """A byte, unsigned."""
        return f"{word:02x} = {word}"

    def clause(self, format: str, words: Words, answer: Words) -> tuple[bool, str, tuple[str, ...]]:
        """One clause of SPEC_NOTES."""
        return False, "Q9", ()

    def run(self, call: AskedCall, choices: Mapping[str, Any]) -> NDArray[Any]:
        """The bytes, by the fast path."""
        return pack_int4(*call.arguments, **choices)

    def sized(self, format: str, sizes: Any, draws: Draws) -> AskedCall:
        """Any codes."""
        rows, k = sizes
        codes = draws.between(-8, 7, (rows, k)).astype(np.int8)
        return AskedCall((codes,), np.dtype(np.uint8), (rows, -(-k // 2)))

    def twin(self, format: str, words: Words, chosen: Mapping[str, str]) -> Iterable[int]:
        """The bytes, by the slow twin."""
        rows, k = words[:2]
        codes = [signed(word) for word in words[2:]]
        lines = [codes[i * k : i * k + k] for i in range(rows)]
        return [byte for line in lines for byte in slow.pack_int4(line, **chosen)]


class UnpackInt4(_Int4):
    """Bytes back to codes."""

    name = "unpack_int4"
    axes_filled = FilledAxes(("nK", "#k"), ("nk",))
    parameters = "bytes, k"

    def fields(self, format: str) -> tuple[Field, ...]:
        """Bytes of two codes."""
        return _ROWS, _K, Field("packed", PairsOfNibbles(), ("rows", "k/2"))

    def result(self, format: str, values: Mapping[str, Any]) -> tuple[Any, tuple[int, ...]]:
        """The codes."""
        return np.int8, (values["rows"], values["k"])

    def argument_names(self, format: str) -> tuple[str, ...]:
        """The bytes, and the length of a row."""
        return "packed", "k"

    def digits(self, format: str, slot: str) -> tuple[int, int]:
        """Bytes in, and bytes out."""
        return 2, 2

    def clause(self, format: str, words: Words, answer: Words) -> tuple[bool, str, tuple[str, ...]]:
        """One clause of SPEC_NOTES."""
        return False, "Q9", ()

    def run(self, call: AskedCall, choices: Mapping[str, Any]) -> NDArray[Any]:
        """The codes, by the fast path."""
        return unpack_int4(*call.arguments, **choices)

    def sized(self, format: str, sizes: Any, draws: Draws) -> AskedCall:
        """Any bytes."""
        rows, k = sizes
        packed = draws.between(0, 255, (rows, -(-k // 2))).astype(np.uint8)
        return AskedCall((packed, k), np.dtype(np.int8), (rows, k))

    def twin(self, format: str, words: Words, chosen: Mapping[str, str]) -> Iterable[int]:
        """The codes, by the slow twin."""
        rows, k = words[:2]
        size = -(-k // 2)
        lines = [words[2 + row * size :][:size] for row in range(rows)]
        return [code for line in lines for code in exact_unpacked(line, k, **chosen)]


def exact_unpacked(
    packed: Sequence[int], k: int, nibbles: str, stored: str = "offset"
) -> list[int]:
    """The codes of one row by search: those whose bytes the slow twin packs to the given ones.

    >>> exact_unpacked((0x9A, 0xB8), 3, "high_first")
    [1, 2, 3]
    """
    pairs = {
        slow.pack_int4((a, b), nibbles, stored)[0]: (a, b)
        for a in range(-8, 8)
        for b in range(-8, 8)
    }
    return [code for byte in packed for code in pairs[byte]][:k]
