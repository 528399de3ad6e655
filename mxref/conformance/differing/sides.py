"""The two sides of a comparison: profiles or policies that quantize and read blocks."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

from mxref.bits.floats import LAYOUTS, FloatLayout, bits_of, compose, layout_of, split
from mxref.blocks.container import Blocks
from mxref.blocks.shapes import format_and_policy
from mxref.blocks.two_level import RowScales, TensorScale, TensorScaleKind
from mxref.conformance.differing.tensor_rows import alike, extremes, with_tensors
from mxref.formats.catalog import BlockFormat, ElementFormat, ScaleFormat
from mxref.policy.policy import READS, Policy, spelled
from mxref.profiles import Profile, profile
from mxref.profiles.stages import exactly
from mxref.support.text import unknown_name

__all__ = [
    "BlockAnswers",
    "CastAnswers",
    "Side",
    "common_float",
    "exact",
    "exact_words",
    "lacking",
    "operations",
    "rounded_to",
    "side_of",
]

Words = NDArray[np.uint64]

#: The float32 of 1.
_ONE = 0x3F800000


@dataclass(frozen=True, slots=True)
class BlockAnswers:
    """Blocks quantized by a side, one a row.

    Args:
        scales: scale codes, (n,); uint32 where scales are float32.
        codes: element codes, (n, k).
        failed: blocks for which it raised an error, (n,).
        tensors: the scale of each block's tensor, (n,); None in formats without one, and a None
            where there is none.
    """

    scales: NDArray[Any]
    codes: NDArray[np.uint8]
    failed: NDArray[np.bool_]
    tensors: NDArray[np.object_] | None = None

    @property
    def words(self) -> Words:
        """Scale codes and element codes side by side, (n, k + 1)."""
        return np.concatenate([self.scales[:, np.newaxis], self.codes], axis=1).astype(np.uint64)


@dataclass(frozen=True, slots=True)
class CastAnswers:
    """Numbers cast by a side.

    Args:
        codes: the codes, (n,).
        failed: numbers for which it raised an error, (n,).
    """

    codes: NDArray[np.uint8]
    failed: NDArray[np.bool_]


@dataclass(frozen=True, slots=True)
class Side:
    """A profile, and the profile that reads its blocks or codes.

    Args:
        profile: the profile.
        reader: the profile itself, or `ocp` if it does not read the format.
    """

    profile: Profile
    reader: Profile

    def takes(self, layout: FloatLayout) -> FloatLayout | None:
        """The type in which it takes numbers of a type: the same, or float32; None if neither."""
        floats = self.profile.floats
        if floats is None or layout.name in floats:
            return layout
        return LAYOUTS["f32"] if layout.width == 16 and "f32" in floats else None

    def blocks(
        self, values: NDArray[Any], fmt: BlockFormat, elsewhere: NDArray[Any] | None = None
    ) -> Blocks:
        """A tensor quantized along its last axis.

        With `elsewhere` rows (n, m) are a part of a tensor that has these numbers, too.
        """
        layout = layout_of(values.dtype)
        own = self.takes(layout) or layout
        count = 0 if elsewhere is None else len(elsewhere)
        if count:
            more = np.zeros((count, values.shape[1]), values.dtype)
            more[:, 0] = elsewhere
            values = np.concatenate([values, more])
        blocks = self.profile.quantize(values if own is layout else rounded_to(values, own), fmt)
        return blocks[:-count] if count else blocks

    def quantize(self, values: NDArray[Any], fmt: BlockFormat) -> BlockAnswers:
        """Blocks quantized, one a row; after an error in smaller parts, to find its blocks.

        In formats with a tensor scale a row is a tensor: a block, after one number more.
        """
        if not fmt.tensor_scale:
            return self._rows(values, fmt)
        plain = not self.profile.replaced and fmt.block_size == values.shape[1] - 1
        if plain and (found := self._at_once(values, fmt)):
            return found
        groups = list(alike(values))
        order = np.concatenate(groups).argsort()
        parts = [self._rows(values[some, 1:], fmt, extremes(values[some])) for some in groups]
        return _joined(parts, order)

    def _rows(
        self, values: NDArray[Any], fmt: BlockFormat, elsewhere: NDArray[Any] | None = None
    ) -> BlockAnswers:
        """`quantize` of blocks whose tensors have the same extremes."""
        tensors = np.full(len(values), None) if fmt.tensor_scale else None
        try:
            blocks = self.blocks(values, fmt, elsewhere)
        except ValueError:
            if len(values) > 1:
                return self._apart(values, fmt, elsewhere)
            nothing = np.zeros(values.shape, np.uint8)
            return BlockAnswers(nothing[:, 0], nothing, np.ones(len(values), bool), tensors)
        if tensors is not None:
            tensors[:] = blocks.tensor_scale
        failed = np.zeros(len(values), bool)
        return BlockAnswers(blocks.scale_codes[:, 0], blocks.codes, failed, tensors)

    def _at_once(self, values: NDArray[Any], fmt: BlockFormat) -> BlockAnswers | None:
        """`quantize` of tensors as rows of one, each with a scale of its own; None if it raises."""
        layout = layout_of(values.dtype)
        own, tensors = self.takes(layout) or layout, with_tensors(values)
        taken = tensors if own is layout else rounded_to(tensors, own)
        try:
            blocks = self.profile.quantize(taken, fmt, tensor_scale="row")
        except ValueError:
            return None
        scales, own_scales = np.full(len(values), None), blocks.tensor_scale
        if isinstance(own_scales, RowScales):
            bits = own_scales.bits.reshape(-1).tolist()
            scales[:] = [TensorScale(one, own_scales.kind) for one in bits]
        else:  # of a single tensor
            scales[:] = own_scales
        failed, codes = np.zeros(len(values), bool), blocks.codes[:, : values.shape[1] - 1]
        return BlockAnswers(blocks.scale_codes[:, 0], codes, failed, scales)

    def _apart(
        self, values: NDArray[Any], fmt: BlockFormat, elsewhere: NDArray[Any] | None
    ) -> BlockAnswers:
        """`_rows` in two parts: finite blocks and others, which cause most errors."""
        with np.errstate(all="ignore"):
            first = np.isfinite(values).all(axis=1)
        if first.all() or not first.any():
            first = np.arange(len(values)) < len(values) // 2
        parts = [self._rows(values[some], fmt, elsewhere) for some in (first, ~first)]
        return _joined(parts, np.argsort(~first, kind="stable").argsort())

    def cast(self, values: NDArray[Any], fmt: ElementFormat | ScaleFormat) -> CastAnswers:
        """Numbers cast to a format; after an error in smaller parts, to find its numbers."""
        layout = layout_of(values.dtype)
        own = self.takes(layout) or layout
        taken = values if own is layout else rounded_to(values, own)
        try:
            if isinstance(fmt, ScaleFormat):
                codes = self.profile.encode_scale(taken)
            else:
                codes = self.profile.encode(taken, fmt)
        except ValueError:
            if len(values) == 1:
                return CastAnswers(np.zeros(1, np.uint8), np.ones(1, bool))
            first = np.isfinite(exact(values))
            if first.all() or not first.any():
                first = np.arange(len(values)) < len(values) // 2
            codes, failed = np.zeros(len(values), np.uint8), np.zeros(len(values), bool)
            for some in (first, ~first):
                part = self.cast(values[some], fmt)
                codes[some], failed[some] = part.codes, part.failed
            return CastAnswers(codes, failed)
        return CastAnswers(codes, np.zeros(len(values), bool))

    def values(self, fmt: ElementFormat | ScaleFormat) -> Words:
        """float32 patterns of the numbers that it reads in every code of a format, (n,)."""
        codes = np.arange(fmt.code_count, dtype=np.uint8)
        if isinstance(fmt, ScaleFormat):
            numbers = self.reader.decode_scale(codes)
        else:
            numbers = self.reader.decode(codes, fmt)
        return numbers.view(np.uint32).astype(np.uint64)

    def read(self, answers: BlockAnswers, fmt: BlockFormat, layout: FloatLayout) -> Words:
        """Patterns of the dequantized numbers, one block a row, all of one tensor."""
        codes, scales = answers.codes, answers.scales[:, np.newaxis]
        tensor = None if answers.tensors is None else answers.tensors[0]
        blocks = Blocks(codes, scales, fmt, 1, codes.shape, tensor_scale=tensor)
        numbers = self.reader.dequantize(blocks, layout.dtype)
        return numbers.view(layout.uint).astype(np.uint64)

    def reads(self, kind: TensorScaleKind | None, fmt: BlockFormat) -> bool:
        """Whether it reads blocks whose tensor scale is of a kind."""
        if kind is None:
            return True
        code = np.zeros((1, 1), np.uint8)
        blocks = Blocks(code, code, fmt, 1, (1, 1), tensor_scale=TensorScale(_ONE, kind))
        try:
            self.reader.dequantize(blocks)
        except ValueError:
            return False
        return True


def exact_words(words: Words, layout: FloatLayout) -> NDArray[np.float64]:
    """`exact` of patterns of a float type."""
    return exact(words.astype(layout.uint).view(layout.dtype))


def _joined(parts: Sequence[BlockAnswers], order: NDArray[np.intp]) -> BlockAnswers:
    """The rows of all parts in another order."""

    def column(name: str) -> NDArray[Any]:
        rows: NDArray[Any] = np.concatenate([getattr(one, name) for one in parts])[order]
        return rows

    tensors = None if parts[0].tensors is None else column("tensors")
    return BlockAnswers(column("scales"), column("codes"), column("failed"), tensors)


def side_of(name: str, fmt: BlockFormat | ElementFormat | ScaleFormat) -> Side:
    """The side of a profile's name or a policy's spelling (``ocp+...``).

    Raises:
        ValueError: an unknown name, with the nearest one; a policy that needs random bits, or with
            choices that a block format's scale does not read.
    """
    if name.startswith("ocp+"):
        policy = Policy.parse(name)
        if isinstance(fmt, BlockFormat):  # which refuses what its scale does not read
            chosen = policy.choices()
            read = (one for one in spelled(name, {}) if one in READS["quantize"])
            format_and_policy(fmt, None, "ocp", {one: chosen[one] for one in read})
        one = Profile(str(policy), policy, "a policy", "")
    else:
        one = profile(name)
    if one.policy.element.rounding.stochastic:
        rounding = one.policy.element.rounding.value
        raise ValueError(f"rounding must be one without random bits, got {rounding}")
    reads = one.speaks_of(operations(fmt)[1], fmt.name)
    return Side(one, one if reads else profile("ocp"))


def operations(fmt: BlockFormat | ElementFormat | ScaleFormat) -> tuple[str, str]:
    """The operations that write and read a format.

    >>> from mxref.formats.catalog import E2M1, E8M0
    >>> operations(E2M1), operations(E8M0)
    (('encode', 'decode'), ('encode_scale', 'decode_scale'))
    """
    if isinstance(fmt, BlockFormat):
        return "quantize", "dequantize"
    end = "_scale" * isinstance(fmt, ScaleFormat)
    return f"encode{end}", f"decode{end}"


def lacking(a: Side, b: Side, fmt: BlockFormat | ElementFormat | ScaleFormat) -> list[list[str]]:
    """The names of those that do not write a format, and of those that do not read it.

    Raises:
        ValueError: they have no common operation.
    """
    lacks = {
        op: [one.profile.name for one in (a, b) if not one.profile.speaks_of(op, fmt.name)]
        for op in operations(fmt)
    }
    if all(lacks.values()):
        said = "; ".join(f"{' and '.join(names)} no {op}" for op, names in lacks.items())
        raise ValueError(f"format must be one of which both have something, got {fmt.name}: {said}")
    return list(lacks.values())


def common_float(a: Side, b: Side, wanted: str | None = None) -> FloatLayout:
    """The wanted float type, or else the first, that both sides take.

    Raises:
        ValueError: an unknown type, or one that a side does not take; no type that both take.
    """
    if wanted is not None and wanted not in LAYOUTS:
        raise ValueError(unknown_name("float", wanted, LAYOUTS))
    for layout in LAYOUTS.values():
        if wanted in (None, layout.name) and a.takes(layout) and b.takes(layout):
            return layout
    takes = (
        f"{one.profile.name} takes {', '.join(one.profile.floats or LAYOUTS)}" for one in (a, b)
    )
    got = "there is none" if wanted is None else f"got {wanted}"
    raise ValueError(f"float must be a type that both take, {got}: {'; '.join(takes)}")


def rounded_to(values: NDArray[Any], layout: FloatLayout) -> NDArray[Any]:
    """Floats rounded to a type, to nearest even, by integer arithmetic; NaN becomes quiet."""
    patterns, own = bits_of(values)
    bits = compose(split(patterns, own), layout)
    return np.ascontiguousarray(bits.astype(layout.uint)).view(layout.dtype)


def exact(values: NDArray[Any]) -> NDArray[np.float64]:
    """Floats as float64 numbers, whatever the processor's flushing mode."""
    return np.ascontiguousarray(exactly(*bits_of(values)))


def numbers_of_words(words: Sequence[int], layout: FloatLayout) -> list[float]:
    """The numbers of patterns."""
    bits = np.array(words, np.uint64).astype(layout.uint)
    numbers: list[float] = exact(bits.view(layout.dtype)).tolist()
    return numbers
