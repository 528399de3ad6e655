"""Operations on whole blocks in bytes, the scale beside the elements.

Words of a case: `pack_blocks` a scale code and codes to bytes, `unpack_blocks` back.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from typing import Any, ClassVar

import numpy as np
from numpy.typing import NDArray

from mxref import exact
from mxref.bits.floats import U8
from mxref.formats.catalog import E8M0, block_format
from mxref.operands.kinds import Bytes, Codes
from mxref.operands.returned import AnswerError, array_of, code_words, pair_of
from mxref.operations.layouts import (
    BYTE,
    LayoutOperation,
    bytes_of,
    flat_words,
    packing_of,
)
from mxref.operations.operation import Kinds, Words
from mxref.packing.elements import pack_blocks, packed_size, unpack_blocks
from mxref.policy.choices import ScalePlace
from mxref.policy.policy import Policy

__all__ = ["PackBlocks", "UnpackBlocks"]


class _Blocks(LayoutOperation):
    """Whole blocks with the scale beside the elements."""

    works_on = unit = "blocks"
    refused: ClassVar[Mapping[str, tuple[str, ...]]] = {"scale_place": ("separate",)}

    def answerable(self, format: str, slot: str, policy: Policy) -> bool:
        """Whether the scale has a place in the block."""
        return policy.layout.scale_place is not ScalePlace.SEPARATE

    def easy(self, format: str, slot: str) -> tuple[int, ...]:
        """A block of zeros."""
        policy = Policy().replace(scale_place="before")
        return (0,) * self.counts(format, (0,), policy)[0]

    def _size(self, format: str, policy: Policy) -> int:
        """The number of bytes of a block."""
        return 1 + packed_size(32, block_format(format).element, policy)

    def _how(self, format: str, policy: Policy) -> tuple[int, str, str, str]:
        """The layout, as the slow twin names it."""
        bits, layout = block_format(format).element.bits, policy.layout
        return bits, packing_of(bits, policy), layout.scale_place.value, layout.scale_byte.value


class PackBlocks(_Blocks):
    """A scale code and element codes to the bytes of a block."""

    name = "pack_blocks"
    parameters = "scale_codes, codes, format"

    def _counts(self, format: str, words: Words, policy: Policy) -> tuple[int, int]:
        return 33, self._size(format, policy)

    def given(self, format: str, slot: str, words: Words) -> dict[str, Any]:
        """One scale code and one row of codes."""
        scales, codes = bytes_of(words[:1]), bytes_of(words[1:])[np.newaxis]
        return {"scale_codes": scales, "codes": codes, "format": format}

    def result_words(
        self, format: str, shape: tuple[int, ...], result: object
    ) -> NDArray[np.uint64]:
        """A row of bytes for each block."""
        array = array_of(result)
        if array.ndim != 2 or len(array) != shape[1]:
            raise AnswerError(f"the result must have shape ({shape[1]}, bytes), got {array.shape}")
        return flat_words(BYTE, array.reshape(-1))

    def kinds_in(self, format: str, slot: str, words: Words) -> Kinds:
        """A scale code, and element codes."""
        return _codes_of_block(format, len(words))

    def kinds_out(self, format: str, slot: str, words: Words, count: int) -> Kinds:
        """Bytes."""
        return [Bytes()] * count

    def inverse(self) -> UnpackBlocks:
        """Back to codes."""
        return UnpackBlocks()

    def twin(self, format: str, slot: str, words: Words, policy: Policy) -> Iterable[int]:
        """The bytes, by the slow twin."""
        return exact.pack_block(words[0], words[1:], *self._how(format, policy))

    def call(self, format: str, slot: str, words: Words, policy: Policy) -> U8:
        """The bytes, by the fast path."""
        return pack_blocks(words[:1], words[1:], format, policy).reshape(-1)


class UnpackBlocks(_Blocks):
    """The bytes of a block back to a scale code and element codes."""

    name = "unpack_blocks"
    unpacks = True
    parameters = "bytes, format"
    arrays = 2

    def _counts(self, format: str, words: Words, policy: Policy) -> tuple[int, int]:
        return self._size(format, policy), 33

    def given(self, format: str, slot: str, words: Words) -> dict[str, Any]:
        """One row of bytes."""
        return {"packed": bytes_of(words)[np.newaxis], "format": format}

    def result_words(
        self, format: str, shape: tuple[int, ...], result: object
    ) -> NDArray[np.uint64]:
        """The scale codes of all blocks, and then their element codes."""
        scales, codes = pair_of(self.name, result)
        elements = code_words(codes, (shape[1], 32), block_format(format).element)
        return np.concatenate([code_words(scales, shape[1:], E8M0), elements.reshape(-1)])

    def kinds_in(self, format: str, slot: str, words: Words) -> Kinds:
        """Bytes."""
        return [Bytes()] * len(words)

    def kinds_out(self, format: str, slot: str, words: Words, count: int) -> Kinds:
        """A scale code, and element codes."""
        return _codes_of_block(format, count)

    def inverse(self) -> PackBlocks:
        """To bytes again."""
        return PackBlocks()

    def named(self, words: Words, index: int) -> str:
        """The scale, or an element."""
        return f"element {index - 1}" if index else "scale"

    def twin(self, format: str, slot: str, words: Words, policy: Policy) -> Iterable[int]:
        """The codes, by the slow twin."""
        scale, unpacked = exact.unpack_block(words, 32, *self._how(format, policy))
        return (scale, *unpacked)

    def call(self, format: str, slot: str, words: Words, policy: Policy) -> U8:
        """The codes, by the fast path."""
        return np.concatenate(unpack_blocks([words], format, policy))


def _codes_of_block(format: str, count: int) -> Kinds:
    element = Codes(block_format(format).element)
    return [Codes(E8M0, E8M0.bias), *[element] * (count - 1)]
