"""What the slow twin knows of blocks, by what their scales are: the choices, and its functions.

A row of `TWINS` is all that `quantize` and `dequantize` ask of a kind of scales.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Iterable, Mapping, Sequence
from typing import Any, NamedTuple, TypeAlias

from mxref import exact
from mxref.formats.catalog import BlockFormat, ScaleKind
from mxref.policy.policy import READS

__all__ = ["SCALED_ELEMENT_CHOICES", "TWINS", "Twin", "twin_of"]

Words: TypeAlias = Sequence[int]
Choices: TypeAlias = Mapping[str, Any]

#: Choices of elements that the slow twin reads under scales that are small floats.
SCALED_ELEMENT_CHOICES = (
    "rounding",
    "overflow",
    "clamp",
    "nan",
    "nan_to_finite",
    "zero_sign",
    "underflow_sign",
    "int8_range",
)
_SMALL = ("scale_arithmetic", "tail", *SCALED_ELEMENT_CHOICES)
#: Choices that the slow twin does not read: its cases are whole blocks, whose scales are powers.
_OF_TENSORS = ("tail", "scale_arithmetic")


class Twin(NamedTuple):
    """Blocks under scales of one kind.

    Args:
        reads: for each operation the choices that it reads.
        known: those of them that both references read.
        quantize: the words of a block, from a format, a float type, its words, all choices of a
            policy, and those that differ from `ocp`.
        dequantize: the number of an element, from a format, a float type, the words before the
            elements, the element's code, and the choices as before.
    """

    reads: Mapping[str, tuple[str, ...]]
    known: Mapping[str, tuple[str, ...]]
    quantize: Callable[[BlockFormat, str, Words, Choices, Choices], tuple[int, ...]]
    dequantize: Callable[[BlockFormat, str, Words, int, Choices, Choices], int]


def twin_of(fmt: BlockFormat) -> Twin:
    """The row of a block format.

    >>> from mxref.formats.catalog import block_format
    >>> twin_of(block_format("fp8_e4m3_f32")).reads["dequantize"]
    ('product_overflow', 'product_rounding', 'decoded_zero')
    """
    kind = fmt.scale.kind
    if kind is None:
        raise ValueError(f"scale of {fmt.name} must be one that blocks can have, got {fmt.scale}")
    return TWINS[kind]


def _power(
    fmt: BlockFormat, slot: str, words: Words, every: Choices, changed: Choices
) -> tuple[int, ...]:
    scale, codes = exact.quantize(words, slot, fmt.element.name, **_read(fmt, changed))
    return (scale, *codes)


def _power_number(
    fmt: BlockFormat, slot: str, before: Words, code: int, every: Choices, changed: Choices
) -> int:
    return exact.dequantize(before[0], code, fmt.element.name, slot, **_read(fmt, changed))


def _read(fmt: BlockFormat, changed: Choices) -> dict[str, Any]:
    names = {"scale_rule": "rule"}
    read = {names.get(n, n): value for n, value in changed.items() if n not in _OF_TENSORS}
    return {**read, "scale_format": fmt.scale.name}


def _small(
    fmt: BlockFormat, slot: str, words: Words, every: Choices, changed: Choices
) -> tuple[int, ...]:
    tensor, rest = (words[0], words[1:]) if fmt.tensor_scale else (None, words)
    names, arithmetic = (fmt.element.name, fmt.scale.name), every["scale_arithmetic"]
    of_elements = {name: every[name] for name in SCALED_ELEMENT_CHOICES}
    rows = math.prod(fmt.block_shape[:-1])
    _, ((scale, codes),) = exact.quantize_scaled(
        [rest], slot, *names, arithmetic, tensor, rows, **of_elements
    )
    return (scale, *_compared(codes, is_nan=fmt.scale.is_nan(scale)))


def _small_number(
    fmt: BlockFormat, slot: str, before: Words, code: int, every: Choices, changed: Choices
) -> int:
    tensor, scale = before if fmt.tensor_scale else (None, before[0])
    names, arithmetic = (fmt.element.name, fmt.scale.name), every["scale_arithmetic"]
    return exact.dequantize_scaled(tensor, scale, code, *names, arithmetic, slot)


def _float32(
    fmt: BlockFormat, slot: str, words: Words, every: Choices, changed: Choices
) -> tuple[int, ...]:
    read = {name: value for name, value in changed.items() if name not in _OF_TENSORS}
    scale, codes = exact.quantize_float_scaled(words, slot, fmt.element.name, **read)
    return (scale, *_compared(codes, is_nan=fmt.scale.is_nan(scale)))


def _float32_number(
    fmt: BlockFormat, slot: str, before: Words, code: int, every: Choices, changed: Choices
) -> int:
    return exact.dequantize_float_scaled(before[0], code, fmt.element.name, slot, **changed)


def _compared(codes: list[int], *, is_nan: bool) -> Iterable[int]:
    """Codes; under a NaN scale, where implementations leave different ones, zeros."""
    return [0] * len(codes) if is_nan else codes


_USUAL = {op: READS[op] for op in ("quantize", "dequantize")}
_OF_FLOAT32 = {
    "quantize": READS["quantize of float32 scales"],
    "dequantize": tuple(
        n for n in READS["dequantize"] if n not in ("scale_00", "scale_ff", *_SMALL)
    ),
}
#: What the slow twin knows, by what the codes of the scales are.
TWINS: Mapping[ScaleKind, Twin] = {
    ScaleKind.POWER: Twin(_USUAL, _USUAL, _power, _power_number),
    ScaleKind.SMALL_FLOAT: Twin(_USUAL, dict.fromkeys(_USUAL, _SMALL), _small, _small_number),
    ScaleKind.FLOAT32: Twin(_OF_FLOAT32, _OF_FLOAT32, _float32, _float32_number),
}
