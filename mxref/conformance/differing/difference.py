"""Differences between two profiles in a block format, each kind with its simplest block."""

from __future__ import annotations

import functools
from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

from mxref.bits.floats import FloatLayout, layout_of
from mxref.cases.probes import probes
from mxref.cases.read import vectors_folder
from mxref.conformance.compare.compare import same_answers
from mxref.conformance.differing import inputs
from mxref.conformance.differing.difference_kinds import KINDS, READINGS, kinds, readings
from mxref.conformance.differing.figures import DataFigures, FigureTally, figures, tally
from mxref.conformance.differing.sides import (
    BlockAnswers,
    Side,
    Words,
    common_float,
    lacking,
    rounded_to,
    side_of,
)
from mxref.conformance.fuzzing.simplify import simplest
from mxref.formats.catalog import BLOCK_FORMATS, BlockFormat, block_format
from mxref.support.distinct import distinct_rows
from mxref.support.text import unknown_name
from mxref.targets.calls import without_cases

__all__ = ["BlockBytes", "Difference", "Example", "Reading", "difference"]


@dataclass(frozen=True, slots=True)
class BlockBytes:
    """The bytes that a side quantizes a block to; no scale where it raises an error.

    Args:
        scale: the scale code.
        codes: the element codes.
        own: patterns of the numbers that the side itself reads.
        other: patterns of the numbers that the other side reads.
    """

    scale: int | None
    codes: tuple[int, ...]
    own: tuple[int, ...]
    other: tuple[int, ...]


@dataclass(frozen=True, slots=True)
class Example:
    """The simplest block with a kind of difference, and the number of blocks that had it."""

    kind: str
    count: int
    words: tuple[int, ...]
    a: BlockBytes
    b: BlockBytes


@dataclass(frozen=True, slots=True)
class Reading:
    """A scale and a code that the sides read as different numbers, one of `count` pairs."""

    kind: str
    count: int
    scale: int
    code: int
    a: int
    b: int


@dataclass(frozen=True, slots=True)
class Difference:
    """The differences between two profiles in a block format.

    Args:
        a: name of the first profile.
        b: name of the second profile.
        format: the block format.
        layout: the float type of the inputs.
        tried: number of blocks tried, 0 if one of the two does not quantize.
        examples: the kinds of difference in quantizing.
        readings: the kinds of difference in reading the same bytes.
        figures: how often they differ on data.
        total: the same on all tensors that were given, if they are several.
        notes: sentences on what could not be compared.
    """

    a: str
    b: str
    format: BlockFormat
    layout: FloatLayout
    tried: int
    examples: tuple[Example, ...]
    readings: tuple[Reading, ...]
    figures: tuple[DataFigures, ...]
    total: DataFigures | None
    notes: tuple[str, ...]

    @property
    def found(self) -> bool:
        """Whether there is any difference."""
        return bool(self.examples or self.readings or any(one.differ for one in self.figures))


def difference(
    a: str,
    b: str,
    format: str,
    *,
    float: str | None = None,
    data: Mapping[str, NDArray[Any]] | None = None,
    vectors: Path | None = None,
) -> Difference:
    """Compare two profiles in a block format.

    Args:
        a: a profile's name, or a policy's spelling.
        b: the other profile or policy.
        format: the block format's name.
        float: the float type of the blocks; the first that both take if None.
        data: further tensors of floats by name, with blocks along the last axis; rounded to a type
            that both take if necessary.
        vectors: folder of the vectors, whose blocks are tried, too.

    Raises:
        ValueError: an unknown name; no common operation on the format; no common float type;
            values that a side refuses.
        TypeError: data of another type.

    >>> found = difference("torchao_0_18_floor", "ocp", "mxfp4_e2m1")
    >>> [one.kind for one in found.examples]
    ['tiny block', 'Inf block']
    """
    fmt = block_format(format)
    if fmt.name not in BLOCK_FORMATS:
        raise ValueError(unknown_name("format", fmt.name, BLOCK_FORMATS))
    sides = side_of(a, fmt), side_of(b, fmt)
    notes = _notes(*sides, fmt)
    layout = common_float(*sides, float)
    quantize = all(one.profile.speaks_of("quantize", fmt.name) for one in sides)
    examples: list[Example] = []
    weighed: list[DataFigures] = []
    total = FigureTally(*sides, fmt)
    tried = 0
    if quantize:
        words = inputs.blocks(fmt, layout, vectors or vectors_folder())
        tried = len(words)
        examples = _examples(words, *sides, fmt, layout)
        drawn = inputs.data(layout, fmt.elements_per_block)
        for name, values in drawn.items():
            weighed.append(figures(name, values, *sides, fmt))
        for name, values in (data or {}).items():
            taken = _taken(name, values, *sides, layout)
            if taken.dtype != values.dtype:
                notes.append(f"{name} was rounded from {values.dtype} to {taken.dtype}")
            one = tally(taken, *sides, fmt)
            total += one
            weighed.append(one.figures(name))
    return Difference(
        sides[0].profile.name,
        sides[1].profile.name,
        fmt,
        layout,
        tried,
        tuple(examples),
        tuple(_readings(*sides, fmt, layout)),
        tuple(weighed),
        total.figures("total") if quantize and len(data or {}) > 1 else None,
        tuple(notes),
    )


def _notes(a: Side, b: Side, fmt: BlockFormat) -> list[str]:
    """A sentence for each operation that one of them lacks.

    Raises:
        ValueError: they have no common operation.
    """
    no_quantize, no_dequantize = lacking(a, b, fmt)
    only = "reading alone is compared, on no data"
    notes = [f"{name} does not quantize {fmt.name}: {only}" for name in no_quantize]
    if not notes:
        own = "its bytes are read as ocp reads them"
        notes = [f"{name} does not dequantize {fmt.name}: {own}" for name in no_dequantize]
    return notes


def _taken(name: str, values: NDArray[Any], a: Side, b: Side, layout: FloatLayout) -> NDArray[Any]:
    """A tensor in a type that both sides take."""
    own = layout_of(values.dtype, name)
    if not values.size:
        raise ValueError(f"{name} must hold numbers, got the shape {values.shape}")
    if a.takes(own) is not None and b.takes(own) is not None:
        return values
    return rounded_to(values, layout)


def _examples(
    words: Words, a: Side, b: Side, fmt: BlockFormat, layout: FloatLayout
) -> list[Example]:
    def asked(rows: Words) -> tuple[BlockAnswers, BlockAnswers]:
        values = rows.astype(layout.uint).view(layout.dtype)
        return a.quantize(values, fmt), b.quantize(values, fmt)

    def shows(rows: Words, number: int) -> NDArray[np.bool_]:
        return kinds(rows, *asked(rows), fmt, layout)[:, number]

    file = without_cases("quantize", fmt.name, layout.name)
    which = kinds(words, *asked(words), fmt, layout)
    result = []
    for number, kind in enumerate(KINDS):
        rows = words[which[:, number]]
        if not len(rows):
            continue
        start = rows[np.count_nonzero(rows, axis=1).argmin()]
        row = simplest(functools.partial(shows, number=number), file, start)
        of_a, of_b = asked(row[np.newaxis])
        bytes_a = _bytes(of_a, a, b, fmt, layout)
        bytes_b = _bytes(of_b, b, a, fmt, layout)
        result.append(Example(kind, len(rows), tuple(row.tolist()), bytes_a, bytes_b))
    return result


def _bytes(
    answers: BlockAnswers, own: Side, other: Side, fmt: BlockFormat, layout: FloatLayout
) -> BlockBytes:
    if answers.failed[0]:
        return BlockBytes(None, (), (), ())
    read = [tuple(one.read(answers, fmt, layout)[0].tolist()) for one in (own, other)]
    return BlockBytes(int(answers.scales[0]), tuple(answers.codes[0].tolist()), *read)


def _readings(a: Side, b: Side, fmt: BlockFormat, layout: FloatLayout) -> list[Reading]:
    """The codes under scales that the sides read as different numbers, by kind."""
    words = probes("dequantize", fmt.name, layout.name)
    every = BlockAnswers(
        words[:, 0].astype(np.uint8), words[:, 1:].astype(np.uint8), np.zeros(len(words), bool)
    )
    read = a.read(every, fmt, layout), b.read(every, fmt, layout)
    file = without_cases("dequantize", fmt.name, layout.name)
    differs = ~same_answers(file, *read)
    kind = readings(every, fmt)
    result = []
    for number, name in enumerate(READINGS):
        rows, columns = np.nonzero(differs & (kind == number))
        if not len(rows):
            continue
        scales, codes = every.scales[rows].astype(int), every.codes[rows, columns].astype(int)
        pairs = distinct_rows(np.stack([scales, codes], axis=1))
        first = np.lexsort((codes, np.abs(scales - fmt.scale.bias)))[0]
        place = rows[first], columns[first]
        numbers = (int(one[place]) for one in read)
        result.append(Reading(name, len(pairs), int(scales[first]), int(codes[first]), *numbers))
    return result
