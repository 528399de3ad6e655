"""Differences between two profiles in a block format, each kind with its simplest block."""

from __future__ import annotations

import functools
from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

from mxref.bits.floats import F64, FloatLayout, layout_of
from mxref.blocks.two_level import TensorScale
from mxref.cases.read import vectors_folder
from mxref.conformance.differing import inputs
from mxref.conformance.differing.block_readings import (
    Reading,
    read_kinds,
    readings,
    stored_kinds,
    unread,
)
from mxref.conformance.differing.difference_kinds import KINDS, kinds
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
from mxref.formats.catalog import (
    BLOCK_FORMATS,
    OTHER_BLOCK_FORMATS,
    BlockFormat,
    block_format,
)
from mxref.formats.scale_kinds import in_rows
from mxref.support.text import unknown_name
from mxref.targets.calls import without_cases

__all__ = ["BlockBytes", "Difference", "Example", "Reading", "difference"]

#: Tensors that are asked at once for a simpler one.
_AT_ONCE = 8


@dataclass(frozen=True, slots=True)
class BlockBytes:
    """The bytes that a side quantizes a block to; no scale where it raises an error.

    Args:
        scale: the scale code.
        codes: the element codes.
        own: patterns of the numbers that the side itself reads.
        other: patterns of the numbers that the other side reads; none if it reads no tensor scale
            of that kind.
        tensor: the scale of the tensor, where there is one.
    """

    scale: int | None
    codes: tuple[int, ...]
    own: tuple[int, ...]
    other: tuple[int, ...]
    tensor: TensorScale | None = None


@dataclass(frozen=True, slots=True)
class Example:
    """The simplest block with a kind of difference, and the number of blocks that had it.

    In formats with a tensor scale `elsewhere` is another number of the block's tensor; the rest of
    it are zeros.
    """

    kind: str
    count: int
    words: tuple[int, ...]
    a: BlockBytes
    b: BlockBytes
    elsewhere: int | None = None


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
        read: whether there are bytes that both read.
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
    read: bool = True

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
    known = {**BLOCK_FORMATS, **OTHER_BLOCK_FORMATS}
    if fmt.name not in known:
        raise ValueError(unknown_name("format", fmt.name, known))
    if fmt.is_tiled:
        rows = in_rows(fmt, tensor_scale=fmt.tensor_scale)
        use = f": use {rows.name!r}" if rows else ""
        raise ValueError(f"format must have blocks in rows, got {fmt.name}{use}")
    sides = side_of(a, fmt), side_of(b, fmt)
    notes = _notes(*sides, fmt)
    layout = common_float(*sides, float)
    if fmt.tensor_scale and layout is F64:
        raise ValueError(f"float must be f32, f16 or bf16 for {fmt.name} in diff, got f64")
    quantize = all(one.profile.speaks_of("quantize", fmt.name) for one in sides)
    stored = stored_kinds(*sides, fmt, layout)
    both = read_kinds(*sides, fmt, stored)
    notes += unread(*sides, fmt, stored, read=bool(both))
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
        tuple(readings(*sides, fmt, layout, both)),
        tuple(weighed),
        total.figures("total") if quantize and len(data or {}) > 1 else None,
        tuple(notes),
        bool(both),
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

    seen: dict[bytes, NDArray[np.bool_]] = {}

    def shows(rows: Words, number: int) -> NDArray[np.bool_]:
        """Which rows show a kind, as far as to the first of them: each tensor is a call."""
        shown = np.zeros(len(rows), bool)
        step = _AT_ONCE if fmt.tensor_scale else max(len(rows), 1)
        for start in range(0, len(rows), step):
            keys = [row.tobytes() for row in rows[start : start + step]]
            new = [start + i for i, key in enumerate(keys) if key not in seen]
            if new:
                some = kinds(rows[new], *asked(rows[new]), fmt, layout)
                seen.update(zip((rows[i].tobytes() for i in new), some, strict=True))
            shown[start : start + step] = [seen[key][number] for key in keys]
            if shown.any():
                break
        return shown

    # Numbers alone: where there is a tensor scale, the first one is of the tensor.
    flat = in_rows(fmt, tensor_scale=False) or fmt
    file = without_cases("quantize", flat.name, layout.name)
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
        elsewhere, block = (int(row[0]), row[1:]) if fmt.tensor_scale else (None, row)
        shown = tuple(block.tolist()), bytes_a, bytes_b, elsewhere
        result.append(Example(kind, len(rows), *shown))
    return result


def _bytes(
    answers: BlockAnswers, own: Side, other: Side, fmt: BlockFormat, layout: FloatLayout
) -> BlockBytes:
    if answers.failed[0]:
        return BlockBytes(None, (), (), ())
    tensor = None if answers.tensors is None else answers.tensors[0]
    known = tensor is None or other.reads(tensor.kind, fmt)
    mine = tuple(own.read(answers, fmt, layout)[0].tolist())
    theirs = tuple(other.read(answers, fmt, layout)[0].tolist()) if known else ()
    codes = tuple(answers.codes[0].tolist())
    return BlockBytes(int(answers.scales[0]), codes, mine, theirs, tensor)
