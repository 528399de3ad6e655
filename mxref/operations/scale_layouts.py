"""Operations on the layout of scale codes in bytes.

Words of a case: `pack_scales` rows, columns and codes to bytes, `unpack_scales` rows, columns and
bytes to codes.
"""

from __future__ import annotations

from collections.abc import Iterable
from typing import Any

import numpy as np
from numpy.typing import NDArray

from mxref import exact
from mxref.bits.floats import U8
from mxref.formats.catalog import E8M0
from mxref.operands.kinds import Bytes, Codes
from mxref.operands.returned import code_words
from mxref.operations.layouts import BYTE, LayoutOperation, bytes_of, flat_words
from mxref.operations.operation import Kinds, Words
from mxref.packing.scale_orders import SCALE_ORDERS
from mxref.packing.scales import pack_scales, unpack_scales
from mxref.policy.policy import Policy

__all__ = ["PackScales", "UnpackScales"]


class _Scales(LayoutOperation):
    """A matrix of scale codes, whose words have room for a code and for numbers of rows."""

    multiples = "r", "c"
    works_on = "scales"
    formats = (E8M0.name,)
    sizes = 2

    def further(self, format: str, shape: tuple[int, int], axis: int) -> tuple[Any, ...]:
        """The shape, where bytes do not tell it."""
        return (shape,) if self.unpacks else ()

    def digits(self, format: str, slot: str) -> tuple[int, int]:
        """Three digits in."""
        return 3, 2

    def back(self, words: Words, answer: Words) -> tuple[int, ...]:
        """The sizes, and the answer."""
        return *words[:2], *answer

    def _both(self, words: Words, policy: Policy) -> tuple[int, int]:
        """The numbers of bytes and of codes."""
        return SCALE_ORDERS[policy.layout.scale_layout].size(*words[:2]), words[0] * words[1]


class PackScales(_Scales):
    """Scale codes to the bytes that a GEMM reads."""

    name = "pack_scales"
    parameters = "scale_codes"

    def _counts(self, format: str, words: Words, policy: Policy) -> tuple[int, int]:
        size, count = self._both(words, policy)
        return 2 + count, size

    def given(self, format: str, slot: str, words: Words) -> dict[str, Any]:
        """The matrix of scale codes."""
        return {"scale_codes": bytes_of(words[2:]).reshape(words[:2])}

    def result_words(
        self, format: str, shape: tuple[int, ...], result: object
    ) -> NDArray[np.uint64]:
        """Any number of bytes."""
        return flat_words(BYTE, result)

    def kinds_in(self, format: str, slot: str, words: Words) -> Kinds:
        """The sizes, and scale codes."""
        return [None, None, *[Codes(E8M0)] * (len(words) - 2)]

    def kinds_out(self, format: str, slot: str, words: Words, count: int) -> Kinds:
        """Bytes."""
        return [Bytes()] * count

    def inverse(self) -> UnpackScales:
        """Back to a matrix."""
        return UnpackScales()

    def twin(self, format: str, slot: str, words: Words, policy: Policy) -> Iterable[int]:
        """The bytes, by the slow twin."""
        _, columns, *codes = words
        matrix = [codes[start : start + columns] for start in range(0, len(codes), columns)]
        return exact.pack_scales(matrix, policy.layout.scale_layout.value)

    def call(self, format: str, slot: str, words: Words, policy: Policy) -> U8:
        """The bytes, by the fast path."""
        return pack_scales(np.array(words[2:], np.uint8).reshape(words[:2]), policy)


class UnpackScales(_Scales):
    """Those bytes back to scale codes."""

    name = "unpack_scales"
    unpacks = True
    parameters = "bytes, shape"

    def answerable(self, format: str, slot: str, policy: Policy) -> bool:
        """Whether the bytes are of the policy's layout."""
        return slot in self.slots_under(format, policy)

    def slots_under(self, format: str, policy: Policy) -> tuple[str, ...]:
        """The policy's layout."""
        return (policy.layout.scale_layout.value,)

    def easy(self, format: str, slot: str) -> tuple[int, ...]:
        """One scale, with what fills its layout."""
        policy = Policy() if slot == "bytes" else Policy().replace(scale_layout=slot)
        return (1, 1, *(0,) * (self.counts(format, (1, 1), policy)[0] - 2))

    def _counts(self, format: str, words: Words, policy: Policy) -> tuple[int, int]:
        size, count = self._both(words, policy)
        return 2 + size, count

    def given(self, format: str, slot: str, words: Words) -> dict[str, Any]:
        """The bytes, and the shape of the matrix that they hold."""
        return {"packed": bytes_of(words[2:]), "shape": (words[0], words[1])}

    def result_words(
        self, format: str, shape: tuple[int, ...], result: object
    ) -> NDArray[np.uint64]:
        """The matrix."""
        return code_words(result, shape, E8M0).reshape(-1)

    def kinds_in(self, format: str, slot: str, words: Words) -> Kinds:
        """The sizes, and bytes."""
        return [None, None, *[Bytes()] * (len(words) - 2)]

    def kinds_out(self, format: str, slot: str, words: Words, count: int) -> Kinds:
        """Scale codes."""
        return [Codes(E8M0)] * count

    def inverse(self) -> PackScales:
        """To bytes again."""
        return PackScales()

    def named(self, words: Words, index: int) -> str:
        """A scale, by row and column."""
        row, column = divmod(index, words[1])
        return f"scale of row {row}, column {column}"

    def twin(self, format: str, slot: str, words: Words, policy: Policy) -> Iterable[int]:
        """The codes, by the slow twin."""
        layout = policy.layout.scale_layout.value
        return (
            c for row in exact.unpack_scales(words[2:], (words[0], words[1]), layout) for c in row
        )

    def call(self, format: str, slot: str, words: Words, policy: Policy) -> U8:
        """The codes, by the fast path."""
        return unpack_scales(words[2:], words[:2], policy).reshape(-1)
