"""Words of cases about integer operations: a case is one call, its parameters first.

Words are 32-bit patterns: floats, or integers in two's complement. The answer's words are codes in
two's complement of their own width, bytes, or float32 patterns.

===================  ===============================================================
operation            input words
===================  ===============================================================
`quantize_affine`    quant_min, quant_max, scale, zero point, values
`dequantize_affine`  the same with codes for values
`pack_int4`          rows, K, codes row by row
`unpack_int4`        rows, K, bytes row by row
`rescale`            input zero point, output zero point, channels C, C multipliers,
                     C shifts, values, whose last axis has C
`grid_sample`        align_corners, border, zero point, C, H, W, h, w, codes, grid
`linear_qcs8w`       M, N, K, groups, scales, codes of w, x (`mxref.cases.integer_layers`)
`linear_qcs4w`       the same with the bytes of w for its codes
===================  ===============================================================

Formats that end in `_axis` have, between quant_max and the scale: the axis, the number of scales
along it, and three sizes; then all scales, all zero points, and the values. The scale of formats
that end in `_scale64` is a float64 in two words, the high one first.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

from mxref.cases.integer_layers import layer_arguments
from mxref.cases.product_words import BOUNDS
from mxref.cases.words import WEIGHT_ONLY_OPERATIONS

__all__ = [
    "FORMATS",
    "Affine",
    "Question",
    "affine",
    "counts",
    "easy_words",
    "in_digits",
    "more_columns",
    "out_digits",
    "question",
    "scale_numbers",
    "signed",
]

#: 1.0
_ONE = 0x3F800000
_AFFINE = ("int8", "uint8", "int16", "int32", "int8_axis", "uint8_axis")
#: Operations with the formats of their files.
FORMATS: dict[str, tuple[str, ...]] = {
    "quantize_affine": (*_AFFINE, "int8_scale64"),
    "dequantize_affine": _AFFINE,
    "pack_int4": ("int4",),
    "unpack_int4": ("int4",),
    "rescale": (
        "int8-int8", "int8-uint8", "int16-int8", "int32-int8", "int32-int16", "int8-int32",
        "int32-int32", "int8-int8_m16",
    ),
    "grid_sample": ("int8", "uint8"),
    "linear_qcs8w": ("int8", "int8_groups"),
    "linear_qcs4w": ("int4", "int4_groups"),
}  # fmt: skip


@dataclass(frozen=True, slots=True)
class Question:
    """A call.

    Args:
        arguments: what the function is given.
        dtype: of the result.
        shape: of the result.
        places: how many of the first words are parameters.
    """

    arguments: tuple[Any, ...]
    dtype: np.dtype[Any]
    shape: tuple[int, ...]
    places: int


@dataclass(frozen=True, slots=True)
class Affine:
    """The words of `quantize_affine` and `dequantize_affine`: patterns as they stand there.

    Args:
        low: quant_min.
        high: quant_max.
        axis: of the scales, or None for one.
        dims: the shape of the values.
        shape: the shape of the scales.
        scales: float32 patterns, or a float64 pattern of formats that end in `_scale64`.
        zero_points: one for each scale.
        values: float32 patterns, or codes in two's complement.
        which: for each value the number of its scale.
        places: how many words stand before the values.
    """

    low: int
    high: int
    axis: int | None
    dims: tuple[int, ...]
    shape: tuple[int, ...]
    scales: tuple[int, ...]
    zero_points: tuple[int, ...]
    values: tuple[int, ...]
    which: tuple[int, ...]
    places: int


def signed(word: int, bits: int = 32) -> int:
    """The integer of a word in two's complement.

    >>> signed(0xFFFFFFFF), signed(0x7F), signed(0x80, 8)
    (-1, 127, -128)
    """
    return word - (1 << bits) if word >> bits - 1 & 1 else word


def affine(format: str, words: Sequence[int]) -> Affine:
    """The parts of a case of `quantize_affine` or `dequantize_affine`.

    Raises:
        ValueError: another number of words than the sizes say, or sizes that do not fit.
    """
    if len(words) < 5:
        raise ValueError(f"an affine case must have at least 5 words, got {len(words)}")
    low, high, rest = signed(words[0]), signed(words[1]), tuple(words[2:])
    if format.endswith("_scale64"):
        rest = (rest[0] << 32 | rest[1], *rest[2:])
    if not format.endswith("_axis"):
        one, zero, values = rest[:1], (signed(rest[1]),), rest[2:]
        which, places = (0,) * len(values), len(words) - len(values)
        return Affine(low, high, None, (len(values),), (), one, zero, values, which, places)
    axis, count, *sizes = signed(rest[0]), *rest[1:5]
    if len(sizes) != 3 or not -3 <= axis < 3 or not count or sizes[axis] % count:
        raise ValueError("axis, count and sizes must be those of a tensor with three axes")
    dims, place = tuple(sizes), axis % 3
    grouped = tuple(count if i == place else size for i, size in enumerate(dims))
    total = count if count == dims[place] else math.prod(grouped)
    if len(rest) != 5 + 2 * total + math.prod(dims):
        raise ValueError(f"sizes {dims} with {total} scales must have other words")
    beside = tuple(count if i == place else 1 for i in range(3))
    numbers = np.arange(total).reshape(beside if total == count else grouped)
    numbers = np.repeat(numbers, dims[place] // count, place)
    which = tuple(np.broadcast_to(numbers, dims).reshape(-1).tolist())
    zeros = tuple(map(signed, rest[5 + total : 5 + 2 * total]))
    shape = (count,) if count == dims[place] else grouped
    scales, values = rest[5 : 5 + total], rest[5 + 2 * total :]
    return Affine(low, high, axis, dims, shape, scales, zeros, values, which, 7 + 2 * total)


def scale_numbers(format: str, parts: Affine) -> NDArray[np.float64]:
    """The scales of a case as float64.

    >>> scale_numbers("int8", affine("int8", (0, 1, 0x3F800000, 0, 0)))
    array([1.])
    """
    if format.endswith("_scale64"):
        return np.array(parts.scales, np.uint64).view(np.float64)
    return np.array(parts.scales, np.uint32).view(np.float32).astype(np.float64)


def easy_words(op: str, format: str) -> tuple[int, ...]:
    """The words of a legal and plain case, mostly zeros.

    >>> question("pack_int4", "int4", easy_words("pack_int4", "int4")).arguments[0].tolist()
    [[0]]
    """
    match op:
        case "pack_int4":
            return 1, 1, 0
        case "unpack_int4":
            return 1, 1, 0x88
        case "rescale":
            bits = 14 if format.endswith("_m16") else 30
            return 0, 0, 1, 1 << bits, bits, 0
        case "grid_sample":
            return 0, 0, 0, 1, 1, 1, 1, 1, 0, 0, 0
        case "linear_qcs8w" | "linear_qcs4w":
            return 1, 1, 1, 1, _ONE, 0x88 if op == "linear_qcs4w" else 0, 0
    if format.endswith("_scale64"):
        return 0, 1, 0x3FF00000, 0, 0, 0
    return (0, 1, *((0, 1, 1, 1, 1) if format.endswith("_axis") else ()), _ONE, 0, 0)


def more_columns(op: str, format: str) -> tuple[str, ...]:
    """Columns of a file that are no policies: bounds of sums, or what is done instead in float32.

    >>> more_columns("rescale", "int8-int8"), more_columns("pack_int4", "int4")
    (('dequantize_quantize',), ())
    """
    if op in WEIGHT_ONLY_OPERATIONS:
        return BOUNDS
    return ("dequantize_quantize",) if (op, format) == ("rescale", "int8-int8") else ()


def in_digits(op: str) -> int:
    """Hex digits of an input word.

    >>> in_digits("unpack_int4"), in_digits("pack_int4")
    (2, 8)
    """
    return 2 if op == "unpack_int4" else 8


def out_digits(op: str, format: str) -> int:
    """Hex digits of an output word.

    >>> out_digits("quantize_affine", "int16_axis"), out_digits("pack_int4", "int4")
    (4, 2)
    """
    if op in ("dequantize_affine", *WEIGHT_ONLY_OPERATIONS):
        return 8
    return 2 if op.endswith("_int4") else _result(format).itemsize * 2


def question(op: str, format: str, words: Sequence[int]) -> Question:
    """The call of a case.

    >>> question("pack_int4", "int4", (1, 2, 0xFFFFFFF8, 7)).arguments
    (array([[-8,  7]], dtype=int8),)

    Raises:
        ValueError: words that are no case of the operation.
    """
    match op:
        case "quantize_affine" | "dequantize_affine":
            return _affine(op, format, affine(format, words))
        case "pack_int4" | "unpack_int4":
            return _int4(op, words)
        case "rescale":
            return _rescale(format, words)
        case "linear_qcs8w" | "linear_qcs4w":
            arguments = layer_arguments(op, format, words)
            places = len(words) - arguments[0].size
            return Question(arguments, np.dtype(np.float32), tuple(words[:2]), places)
        case _:
            return _grid_sample(format, words)


def counts(op: str, format: str, words: Sequence[int]) -> tuple[int, int]:
    """How many words a case has in and out, by its first words.

    >>> counts("pack_int4", "int4", (1, 3, 1, 2, 3))
    (5, 2)

    Raises:
        ValueError: words that are no case of the operation.
    """
    return len(words), math.prod(question(op, format, words).shape)


def _result(format: str) -> np.dtype[Any]:
    return np.dtype(format.split("_")[0].split("-")[-1])


def _integers(words: Sequence[int], dtype: Any) -> NDArray[Any]:
    return np.array(words, np.uint32).view(np.int32).astype(dtype)


def _affine(op: str, format: str, parts: Affine) -> Question:
    dtype = _result(format)
    scales: Any = scale_numbers(format, parts).reshape(parts.shape).astype(np.float32)
    zeros: Any = np.array(parts.zero_points, np.int32).reshape(parts.shape)
    if parts.axis is None:
        scales, zeros = float(scale_numbers(format, parts)[0]), int(zeros)
    if op == "quantize_affine":
        values: Any = np.array(parts.values, np.uint32).view(np.float32)
    else:
        values = _integers(parts.values, dtype)
    arguments = (values.reshape(parts.dims), scales, zeros, parts.low, parts.high, dtype)
    result = dtype if op == "quantize_affine" else np.dtype(np.float32)
    return Question((*arguments, parts.axis), result, parts.dims, parts.places)


def _int4(op: str, words: Sequence[int]) -> Question:
    rows, k = words[:2]
    sizes = {"pack_int4": (k, -(-k // 2)), "unpack_int4": (-(-k // 2), k)}[op]
    if len(words) != 2 + rows * sizes[0]:
        raise ValueError(f"{rows} rows of {sizes[0]} must have as many words")
    if op == "pack_int4":
        codes = _integers(words[2:], np.int8).reshape(rows, k)
        return Question((codes,), np.dtype(np.uint8), (rows, sizes[1]), 2)
    packed = np.array(words[2:], np.uint8).reshape(rows, sizes[0])
    return Question((packed, k), np.dtype(np.int8), (rows, k), 2)


def _rescale(format: str, words: Sequence[int]) -> Question:
    source, target = format.split("_")[0].split("-")
    bits = 16 if format.endswith("_m16") else 32
    count = words[2] if len(words) > 2 else 0
    first = 3 + 2 * count
    if not count or len(words) <= first or (len(words) - first) % count:
        raise ValueError("values must be a multiple of the channels")
    many = (slice(3, 3 + count), slice(3 + count, first))
    multiplier, shift = (
        _integers(words[some], kind) for some, kind in zip(many, (np.int32, np.int8), strict=True)
    )
    q = _integers(words[first:], source).reshape(-1, count)
    zeros = signed(words[0]), signed(words[1])
    arguments = (q, multiplier, shift, *zeros, np.dtype(target), bits)
    return Question(arguments, np.dtype(target), q.shape, first)


def _grid_sample(format: str, words: Sequence[int]) -> Question:
    if len(words) < 8 or max(words[:2]) > 1:
        raise ValueError("align_corners and border must be 0 or 1, before sizes")
    align, border, zero, sizes = *words[:2], signed(words[2]), words[3:8]
    count = math.prod(sizes[:3])
    if len(sizes) != 5 or len(words) != 8 + count + 2 * sizes[3] * sizes[4]:
        raise ValueError("sizes must be those of the image and the grid")
    image = _integers(words[8 : 8 + count], format).reshape(sizes[:3])
    grid = _integers(words[8 + count :], np.int16).reshape(*sizes[3:], 2)
    arguments = (image, grid, bool(align), ("zeros", "border")[border], zero)
    return Question(arguments, np.dtype(format), (sizes[0], *sizes[3:]), 8)
