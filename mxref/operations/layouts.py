"""Operations on the layout of codes, scales and blocks in bytes, and on tensors with tails.

Words of a case: `pack` codes to bytes, `unpack` the count and bytes to codes; `pack_scales` rows,
columns and codes to bytes, `unpack_scales` rows, columns and bytes to codes; `pack_blocks` a scale
code and codes to bytes, `unpack_blocks` back; `quantize_tensor` rows, columns, axis and values to
the scale codes and then the codes of the tensor, both in C order.
"""

from __future__ import annotations

from abc import abstractmethod
from collections.abc import Iterable
from typing import Any, ClassVar

import numpy as np
from numpy.typing import NDArray

from mxref import exact
from mxref.bits.floats import U8
from mxref.blocks.quantization import quantize
from mxref.blocks.shapes import result_shapes
from mxref.formats.catalog import block_format, element_format
from mxref.operands.word_rows import padded, stripped
from mxref.operations.operation import AnyPolicy, Operation, Words, floats_of, policy_of
from mxref.packing.elements import pack, pack_blocks, packed_size, unpack, unpack_blocks
from mxref.packing.scale_orders import SCALE_ORDERS
from mxref.packing.scales import pack_scales, unpack_scales
from mxref.policy.choices import FP4Packing, FP6Packing, ScaleLayout, ScalePlace, Tail
from mxref.policy.policy import READS, Policy

__all__ = [
    "SLOTS",
    "LayoutOperation",
    "Pack",
    "PackBlocks",
    "PackScales",
    "QuantizeTensor",
    "Unpack",
    "UnpackBlocks",
    "UnpackScales",
    "packing_of",
]

#: In a file's name in place of a float type: `bytes` where its columns are layouts, or the one
#: layout of its inputs.
SLOTS = (
    "bytes",
    *dict.fromkeys(m.value for choice in (FP4Packing, FP6Packing, ScaleLayout) for m in choice),
)


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

    def twin(self, format: str, slot: str, words: Words, policy: Policy) -> Iterable[int]:
        """The codes, by the slow twin."""
        bits = element_format(format).bits
        return exact.unpack(words[1:], bits, packing_of(bits, policy), words[0])

    def call(self, format: str, slot: str, words: Words, policy: Policy) -> U8:
        """The codes, by the fast path."""
        return unpack(words[1:], format, words[0], policy)


class _Scales(LayoutOperation):
    """A matrix of scale codes, whose words have room for a code and for numbers of rows."""

    sizes = 2

    def digits(self, format: str, slot: str) -> tuple[int, int]:
        """Three digits in."""
        return 3, 2

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
    parameters = "bytes, shape"

    def answerable(self, format: str, slot: str, policy: Policy) -> bool:
        """Whether the bytes are of the policy's layout."""
        return slot == str(policy.layout.scale_layout.value)

    def easy(self, format: str, slot: str) -> tuple[int, ...]:
        """One scale, with what fills its layout."""
        policy = Policy() if slot == "bytes" else Policy().replace(scale_layout=slot)
        return (1, 1, *(0,) * (self.counts(format, (1, 1), policy)[0] - 2))

    def _counts(self, format: str, words: Words, policy: Policy) -> tuple[int, int]:
        size, count = self._both(words, policy)
        return 2 + size, count

    def twin(self, format: str, slot: str, words: Words, policy: Policy) -> Iterable[int]:
        """The codes, by the slow twin."""
        layout = policy.layout.scale_layout.value
        return (
            c for row in exact.unpack_scales(words[2:], (words[0], words[1]), layout) for c in row
        )

    def call(self, format: str, slot: str, words: Words, policy: Policy) -> U8:
        """The codes, by the fast path."""
        return unpack_scales(words[2:], words[:2], policy).reshape(-1)


class _Blocks(LayoutOperation):
    """Whole blocks with the scale beside the elements."""

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

    def twin(self, format: str, slot: str, words: Words, policy: Policy) -> Iterable[int]:
        """The bytes, by the slow twin."""
        return exact.pack_block(words[0], words[1:], *self._how(format, policy))

    def call(self, format: str, slot: str, words: Words, policy: Policy) -> U8:
        """The bytes, by the fast path."""
        return pack_blocks(words[:1], words[1:], format, policy).reshape(-1)


class UnpackBlocks(_Blocks):
    """The bytes of a block back to a scale code and element codes."""

    name = "unpack_blocks"
    parameters = "bytes, format"

    def _counts(self, format: str, words: Words, policy: Policy) -> tuple[int, int]:
        return self._size(format, policy), 33

    def twin(self, format: str, slot: str, words: Words, policy: Policy) -> Iterable[int]:
        """The codes, by the slow twin."""
        scale, unpacked = exact.unpack_block(words, 32, *self._how(format, policy))
        return (scale, *unpacked)

    def call(self, format: str, slot: str, words: Words, policy: Policy) -> U8:
        """The codes, by the fast path."""
        return np.concatenate(unpack_blocks([words], format, policy))


class QuantizeTensor(LayoutOperation):
    """A matrix to blocks along one of its axes, with tails."""

    name = "quantize_tensor"
    parameters = "values, format, axis"
    sizes = 3

    def reads(self) -> tuple[str, ...]:
        """Those of `quantize`, first the one that whole blocks do not show."""
        return tuple(sorted(READS["quantize"], key=lambda name: name != "tail"))

    def answerable(self, format: str, slot: str, policy: Policy) -> bool:
        """Whether tails are not refused and no random bits are needed."""
        return policy.layout.tail is not Tail.REFUSED and not policy.element.rounding.stochastic

    def _counts(self, format: str, words: Words, policy: Policy) -> tuple[int, int]:
        shapes = result_shapes(words[:2], format, policy, axis=words[2])
        codes, scales = (np.prod(shape, dtype=int) for shape in (shapes.codes, shapes.scale_codes))
        return 3 + words[0] * words[1], int(codes + scales)

    def twin(self, format: str, slot: str, words: Words, policy: Policy) -> Iterable[int]:
        """Every line along the axis in blocks of 32 padded with +0, by the slow twin."""
        _, columns, axis, *values = words
        element, read = block_format(format).element.name, self.twin_choices(policy)
        short = policy.layout.tail is Tail.SHORT
        matrix = [values[start : start + columns] for start in range(0, len(values), columns)]
        lines = matrix if axis == 1 else [list(line) for line in zip(*matrix, strict=True)]
        scales: list[list[int]] = []
        codes: list[list[int]] = []
        for line in lines:
            blocks = [
                exact.quantize(
                    [*line[start : start + 32], *[0] * (start + 32 - len(line))],
                    slot,
                    element,
                    **read,
                )
                for start in range(0, len(line), 32)
            ]
            scales.append([scale for scale, _ in blocks])
            whole = [code for _, block in blocks for code in block]
            codes.append(whole[: len(line)] if short else whole)
        if axis == 0:
            scales, codes = (
                [list(row) for row in zip(*side, strict=True)] for side in (scales, codes)
            )
        return (word for side in (scales, codes) for row in side for word in row)

    def call(self, format: str, slot: str, words: Words, policy: Policy) -> U8:
        """The codes, by the fast path."""
        values = floats_of(np.array(words[3:]), slot).reshape(words[:2])
        blocks = quantize(values, format, policy, axis=words[2])
        return np.concatenate([blocks.scale_codes.reshape(-1), blocks.codes.reshape(-1)])
