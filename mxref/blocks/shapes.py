"""Shapes and dtypes of what `quantize` and `dequantize` return, without any data."""

from __future__ import annotations

import dataclasses
import functools
from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from typing import Any, NamedTuple, Unpack

import numpy as np
from numpy.typing import DTypeLike

from mxref import formats
from mxref.bits.floats import layout_of
from mxref.blocks.tiles import Axis, Tiling, axis_index
from mxref.formats.catalog import BlockFormat
from mxref.policy.choices import ScaleArithmetic, Tail
from mxref.policy.keywords import AnyQuantizeChoices
from mxref.policy.policy import Policy, resolve, spelled
from mxref.support.integers import shape_of

#: Choices that only scales of powers of two read, and those that only exact arithmetic reads.
POWER_ONLY: tuple[str, ...] = (
    "scale_rule",
    "zero_block",
    "scale_overflow",
    "scale_underflow",
    "amax_type",
    "int8_emax",
    "scaling",
)
EXACT_ONLY = ("block_nan", "block_inf", "nan_block_codes")


@dataclass(frozen=True, slots=True)
class ResultShapes:
    """Shapes of a quantized tensor, and shape and dtype of its dequantized values.

    Args:
        codes: shape of `Blocks.codes`; the dtype is always uint8.
        scale_codes: shape of `Blocks.scale_codes`; the dtype is uint8, or uint32 of float32 scales.
        values: shape of what `dequantize` returns.
        dtype: its dtype.
    """

    codes: tuple[int, ...]
    scale_codes: tuple[int, ...]
    values: tuple[int, ...]
    dtype: np.dtype[Any]


def result_shapes(
    shape: Iterable[int],
    block_format: str | BlockFormat,
    policy: str | Policy = "ocp",
    *,
    axis: Axis = -1,
    block_size: int | tuple[int, ...] | None = None,
    dtype: DTypeLike = np.float32,
    **choices: Unpack[AnyQuantizeChoices],
) -> ResultShapes:
    """Shapes that `quantize` gives for a tensor of a shape: what to allocate for its `out`.

    Args:
        shape: shape of the tensor; () for a scalar.
        block_format: block format or its name.
        policy: a `Policy` or its spelling.
        axis: as in `quantize`.
        block_size: as in `quantize`.
        dtype: what `dequantize` will be asked for: float64, float32, float16 or bfloat16.
        choices: single choices of the policy; `tail` is the one that matters here.

    Raises:
        TypeError: shape or axis of another type, or an unsupported dtype.
        ValueError: a negative length, and what `quantize` refuses except values.

    Source: SPEC_NOTES N29.

    >>> shapes = result_shapes((4, 40), "mxfp8_e4m3")
    >>> shapes.codes, shapes.scale_codes, shapes.values, shapes.dtype
    ((4, 64), (4, 2), (4, 40), dtype('float32'))
    >>> result_shapes((4, 40), "mxfp8_e4m3", axis=0, tail="short").codes
    (4, 40)
    """
    fmt, chosen = format_and_policy(block_format, block_size, policy, choices)
    whole = shape_of(shape)
    place = laid_out(whole, axis, fmt, chosen)
    return ResultShapes(place.codes, place.tiling.counts, whole, layout_of(dtype).dtype)


def format_and_policy(
    block_format: str | BlockFormat,
    block_size: int | tuple[int, ...] | None,
    policy: str | Policy,
    choices: Mapping[str, Any],
) -> tuple[BlockFormat, Policy]:
    """The format and the policy of one call of `quantize`."""
    if block_size is not None or choices or not isinstance(policy, str | Policy):
        return _checked(block_format, block_size, policy, choices)
    if isinstance(block_format, str):
        return _usual(block_format, policy)
    fmt = formats.block_format(block_format)
    return fmt, _usual(fmt, policy)[1]


@functools.lru_cache(maxsize=256)
def _usual(block_format: str | BlockFormat, policy: str | Policy) -> tuple[BlockFormat, Policy]:
    """Kept by names, too, which are hashed more quickly than what they name."""
    return _checked(block_format, None, policy, {})


def _checked(
    block_format: str | BlockFormat,
    block_size: int | tuple[int, ...] | None,
    policy: str | Policy,
    choices: Mapping[str, Any],
) -> tuple[BlockFormat, Policy]:
    fmt = formats.block_format(block_format)
    if block_size is not None:
        fmt = dataclasses.replace(fmt, block_size=block_size)
    formats.code_format(fmt.element)  # refuses more than 8 bits
    if fmt.scale.is_float32:
        return fmt, resolve("quantize of float32 scales", policy, choices)
    chosen = resolve("quantize", policy, choices)
    _refuse_unread(fmt, chosen, spelled(policy, choices))
    if fmt.scale.is_power and chosen.scale.scale_arithmetic is not ScaleArithmetic.EXACT:
        chosen = chosen.replace(scale_arithmetic=ScaleArithmetic.EXACT)
    return fmt, chosen


class Place(NamedTuple):
    """How blocks lie in a tensor: the axis, not negative, the tiling, and the shape of codes."""

    axis: int | tuple[int, ...]
    tiling: Tiling
    codes: tuple[int, ...]


def laid_out(shape: tuple[int, ...], axis: Axis, fmt: BlockFormat, policy: Policy) -> Place:
    """How the blocks of a tensor of this shape lie."""
    place = axis_index(axis, len(shape), len(fmt.block_shape))
    return _placed(shape, place, fmt.block_size, policy.layout.tail)


@functools.lru_cache(maxsize=256)
def _placed(
    shape: tuple[int, ...],
    found: int | tuple[int, ...],
    block_size: int | tuple[int, ...],
    tail: Tail,
) -> Place:
    block_shape = block_size if isinstance(block_size, tuple) else (block_size,)
    tiling = Tiling.of(shape, found, block_shape)
    for where, (length, unit) in enumerate(zip(tiling.shape, tiling.unit, strict=True)):
        if tail is Tail.REFUSED and length % unit:
            raise ValueError(
                f"values must fill whole blocks of {block_size} under tail=refused, "
                f"got {length} on axis {where}"
            )
    short = tail is Tail.SHORT
    return Place(found, tiling, tiling.shape if short else tiling.padded)


def _refuse_unread(fmt: BlockFormat, chosen: Policy, names: list[str]) -> None:
    """Refuse choices that were spelled and that scales of this kind do not read."""
    arithmetic = chosen.scale.scale_arithmetic
    unread, reason = POWER_ONLY, f"its scale is {fmt.scale.name}"
    if fmt.scale.is_power:
        unread = ("scale_arithmetic",)
    elif arithmetic is not ScaleArithmetic.EXACT:
        unread += EXACT_ONLY
        reason += f" under scale_arithmetic={arithmetic.value}"
    for name in names:
        if name in unread:
            raise ValueError(f"quantize to {fmt.name} does not read {name}, since {reason}")
