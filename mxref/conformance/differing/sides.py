"""The two sides of a comparison: profiles or policies that quantize and read blocks."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

from mxref.bits.floats import F64, LAYOUTS, FloatLayout, bits_of, compose, layout_of, split
from mxref.blocks.container import Blocks
from mxref.formats.catalog import BlockFormat
from mxref.policy.policy import Policy
from mxref.profiles import Profile, profile
from mxref.support.text import unknown_name

__all__ = ["BlockAnswers", "Side", "common_float", "exact", "rounded_to", "side_of"]

Words = NDArray[np.uint64]


@dataclass(frozen=True, slots=True)
class BlockAnswers:
    """Blocks quantized by a side, one a row.

    Args:
        scales: scale codes, (n,).
        codes: element codes, (n, k).
        failed: blocks for which it raised an error, (n,).
    """

    scales: NDArray[np.uint8]
    codes: NDArray[np.uint8]
    failed: NDArray[np.bool_]

    @property
    def words(self) -> Words:
        """Scale codes and element codes side by side, (n, k + 1)."""
        return np.concatenate([self.scales[:, np.newaxis], self.codes], axis=1).astype(np.uint64)


@dataclass(frozen=True, slots=True)
class Side:
    """A profile, and the profile that dequantizes its blocks.

    Args:
        profile: the profile.
        reader: the profile itself, or `ocp` if it has no dequantize.
    """

    profile: Profile
    reader: Profile

    def takes(self, layout: FloatLayout) -> FloatLayout | None:
        """The type in which it takes numbers of a type: the same, or float32; None if neither."""
        floats = self.profile.floats
        if floats is None or layout.name in floats:
            return layout
        return LAYOUTS["f32"] if layout.width == 16 and "f32" in floats else None

    def blocks(self, values: NDArray[Any], fmt: BlockFormat) -> Blocks:
        """A tensor quantized along its last axis."""
        layout = layout_of(values.dtype)
        own = self.takes(layout) or layout
        return self.profile.quantize(values if own is layout else rounded_to(values, own), fmt)

    def quantize(self, values: NDArray[Any], fmt: BlockFormat) -> BlockAnswers:
        """Blocks quantized, one a row; after an error in smaller parts, to find its blocks."""
        try:
            blocks = self.blocks(values, fmt)
        except ValueError:
            if len(values) > 1:
                return self._apart(values, fmt)
            nothing = np.zeros(values.shape, np.uint8)
            return BlockAnswers(nothing[:, 0], nothing, np.ones(len(values), bool))
        return BlockAnswers(blocks.scale_codes[:, 0], blocks.codes, np.zeros(len(values), bool))

    def _apart(self, values: NDArray[Any], fmt: BlockFormat) -> BlockAnswers:
        """`quantize` in two parts: finite blocks and others, which cause most errors."""
        with np.errstate(all="ignore"):
            first = np.isfinite(values).all(axis=1)
        if first.all() or not first.any():
            first = np.arange(len(values)) < len(values) // 2
        parts = [self.quantize(values[some], fmt) for some in (first, ~first)]
        order = np.argsort(~first, kind="stable").argsort()
        fields = ((one.scales, one.codes, one.failed) for one in parts)
        return BlockAnswers(*(np.concatenate(pair)[order] for pair in zip(*fields, strict=True)))

    def read(self, answers: BlockAnswers, fmt: BlockFormat, layout: FloatLayout) -> Words:
        """Patterns of the dequantized numbers, one block a row."""
        blocks = Blocks(answers.codes, answers.scales[:, np.newaxis], fmt, 1, answers.codes.shape)
        numbers = self.reader.dequantize(blocks, layout.dtype)
        return numbers.view(layout.uint).astype(np.uint64)


def side_of(name: str, fmt: BlockFormat) -> Side:
    """The side of a profile's name or a policy's spelling (``ocp+...``).

    Raises:
        ValueError: an unknown name, with the nearest one; a policy that needs random bits.
    """
    if name.startswith("ocp+"):
        policy = Policy.parse(name)
        one = Profile(str(policy), policy, "a policy", "")
    else:
        one = profile(name)
    if one.policy.element.rounding.stochastic:
        rounding = one.policy.element.rounding.value
        raise ValueError(f"rounding must be one without random bits, got {rounding}")
    reads = one.speaks_of("dequantize", fmt.name)
    return Side(one, one if reads else profile("ocp"))


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
    patterns, own = bits_of(values)
    bits = compose(split(patterns, own), F64)
    return np.ascontiguousarray(bits).view(np.float64)


def numbers_of_words(words: Sequence[int], layout: FloatLayout) -> list[float]:
    """The numbers of patterns."""
    bits = np.array(words, np.uint64).astype(layout.uint)
    numbers: list[float] = exact(bits.view(layout.dtype)).tolist()
    return numbers
