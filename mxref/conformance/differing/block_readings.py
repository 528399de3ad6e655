"""The bytes that both sides of a comparison read, and those that they read differently."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from mxref.bits.floats import FloatLayout
from mxref.blocks.two_level import TensorScale, TensorScaleKind
from mxref.conformance.compare.compare import same_answers
from mxref.conformance.differing import inputs
from mxref.conformance.differing.difference_kinds import reading_kinds, reading_numbers
from mxref.conformance.differing.sides import BlockAnswers, Side
from mxref.formats.catalog import BlockFormat
from mxref.support.distinct import distinct_rows
from mxref.targets.calls import without_cases

__all__ = ["Reading", "read_kinds", "readings", "stored_kinds", "unread"]

#: float32 patterns of the tensor scales under which codes are read: 1, 3, 1/3, a large and a small
#: one, 0, infinity and NaN.
_TENSORS = (
    *(0x3F800000, 0x40400000, 0x3EAAAAAB, 0x7C123457, 0x02123457),
    *(0, 0x7F800000, 0x7FC00000),
)


@dataclass(frozen=True, slots=True)
class Reading:
    """A scale and a code that the sides read as different numbers, one of `count` pairs.

    In formats with a tensor scale it is that of `tensor`.
    """

    kind: str
    count: int
    scale: int
    code: int
    a: int
    b: int
    tensor: TensorScale | None = None


def stored_kinds(
    a: Side, b: Side, fmt: BlockFormat, layout: FloatLayout
) -> list[TensorScaleKind | None]:
    """The kind of the tensor scale that each side stores; None of what stores none.

    Raises:
        ValueError: a choice that the format does not read.
    """
    one = np.ones((1, fmt.elements_per_block), layout.dtype)
    found: list[TensorScaleKind | None] = []
    for side in (a, b):
        quantizes = side.profile.speaks_of("quantize", fmt.name)
        tensor = side.blocks(one, fmt).tensor_scale if quantizes else None
        found.append(None if tensor is None else tensor.kind)
    return found


def read_kinds(
    a: Side, b: Side, fmt: BlockFormat, stored: list[TensorScaleKind | None]
) -> list[TensorScaleKind | None]:
    """The kinds of tensor scales that both sides read, stored ones first."""
    if not fmt.tensor_scale:
        return [None]
    kinds = dict.fromkeys([*(one for one in stored if one is not None), *TensorScaleKind])
    return [one for one in kinds if a.reads(one, fmt) and b.reads(one, fmt)]


def unread(
    a: Side, b: Side, fmt: BlockFormat, stored: list[TensorScaleKind | None], *, read: bool
) -> list[str]:
    """A sentence for each side whose bytes the other does not read."""
    notes = [
        f"{two.profile.name} does not read the bytes of {one.profile.name}, whose tensor "
        f"scale is of kind {kind.value}"
        for one, two, kind in ((a, b, stored[0]), (b, a, stored[1]))
        if kind is not None and not two.reads(kind, fmt)
    ]
    if not read:
        notes.append("there is no kind of tensor scale that both read: reading is not compared")
    return notes


def readings(
    a: Side, b: Side, fmt: BlockFormat, layout: FloatLayout, read: list[TensorScaleKind | None]
) -> list[Reading]:
    """The codes under scales that the sides read as different numbers, by kind.

    Tensor scales are of the kinds `read`.
    """
    words = inputs.codes(fmt)
    stored_as = np.uint32 if fmt.scale.is_float32 else np.uint8
    scales, codes = words[:, 0].astype(stored_as), words[:, 1:].astype(np.uint8)
    file = without_cases("dequantize", fmt.name, layout.name)
    tensors: list[TensorScale | None] = [
        None if kind is None else TensorScale(bits, kind)
        for kind in read
        for bits in (_TENSORS if kind is not None else _TENSORS[:1])
    ]
    found = []
    for place, tensor in enumerate(tensors):
        stored = np.full(len(words), tensor) if fmt.tensor_scale else None
        every = BlockAnswers(scales, codes, np.zeros(len(words), bool), stored)
        numbers = [one.read(every, fmt, layout) for one in (a, b)]
        at = np.nonzero(~same_answers(file, *numbers))
        which = reading_numbers(every, fmt)[at]
        both = (one[at] for one in numbers)
        columns = [which, np.full(len(which), place), scales[at[0]], codes[at], *both]
        found.append(np.stack(columns, axis=1).astype(np.uint64))
    differ = np.concatenate(found) if found else np.zeros((0, 6), np.uint64)
    result = []
    for number, name in enumerate(reading_kinds(fmt)):
        some = differ[differ[:, 0] == number]
        if not len(some):
            continue
        usual = fmt.scale.bias << fmt.scale.mantissa_bits  # 1
        _, place, scale, code, *_ = some.T.astype(np.int64)
        first = np.lexsort((code, np.abs(scale - usual), place))[0]
        pairs = len(distinct_rows(some[:, 2:4]))
        _, index, *byte, one, other = some[first].tolist()
        result.append(Reading(name, pairs, byte[0], byte[1], one, other, tensors[index]))
    return result
