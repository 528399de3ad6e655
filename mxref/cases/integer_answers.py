"""Answers about integer operations, by the slow twin and by the fast path, under every policy.

A policy here has the choices of `mxref.integer`, spelled ``scaling=divide+nan=zero``; `default` is
the one without a choice.
"""

from __future__ import annotations

import enum
import math
from collections.abc import Iterator, Mapping, Sequence
from typing import Any

import numpy as np
from numpy.typing import NDArray

from mxref.bits.float32 import fl
from mxref.cases.integer_layers import (
    exact_ends,
    exact_sums_of,
    exact_unpacked,
    layer_ends,
)
from mxref.cases.integer_words import (
    Question,
    affine,
    more_columns,
    question,
    scale_numbers,
    signed,
)
from mxref.cases.records import padded, stripped
from mxref.cases.words import WEIGHT_ONLY_OPERATIONS
from mxref.exact import integer as slow
from mxref.integer import affine as affine_quantization
from mxref.integer import integer_choices as c
from mxref.integer.rescale import rescale
from mxref.integer.sampler import grid_sample
from mxref.integer.weight_only import linear_qcs4w, linear_qcs8w, pack_int4, unpack_int4

__all__ = [
    "DEFAULT",
    "choices_of",
    "exact_integer",
    "fast_integer",
    "fast_integers",
    "fast_result",
    "first_policy",
    "neighbours_of",
    "parsed_choices",
    "spelled_choices",
    "words_of",
]

DEFAULT = "default"
_AFFINE: dict[str, type[enum.Enum]] = {
    "scaling": c.Scaling,
    "zero_point": c.ZeroPoint,
    "nan": c.NaN,
    "infinite": c.Infinite,
}


def choices_of(op: str, format: str) -> dict[str, tuple[str, ...]]:
    """The choices that implementations of an operation make, the default of each first.

    >>> choices_of("pack_int4", "int4"), choices_of("grid_sample", "int8")
    ({'nibbles': ('high_first', 'low_first')}, {})
    """
    kinds: dict[str, type[enum.Enum]] = {}
    if op == "quantize_affine":
        kinds = _AFFINE | ({"int32": c.Int32} if format == "int32" else {})
        kinds = kinds | ({"scale_type": c.ScaleType} if format.endswith("_scale64") else {})
    elif op.endswith("_int4"):
        kinds = {"nibbles": c.Nibbles}
    elif op in WEIGHT_ONLY_OPERATIONS:
        kinds = {"order": c.Order} | ({"nibbles": c.Nibbles} if op == "linear_qcs4w" else {})
    elif op == "rescale" and not format.endswith("_m16"):
        kinds = {"rounding": c.Rounding}
    found = {name: tuple(member.value for member in kind) for name, kind in kinds.items()}
    if format == "int32" and op == "quantize_affine":
        without = {"nan": "int32_min", "infinite": "int32_min"}
        found |= {name: tuple(m for m in found[name] if m != no) for name, no in without.items()}
    return found


def first_policy(op: str, format: str) -> str:
    """The first column of a file: the default, where it has an answer to every case.

    >>> first_policy("quantize_affine", "int8"), first_policy("quantize_affine", "int8_axis")
    ('nan=zero', 'default')
    """
    return "nan=zero" if op == "quantize_affine" and "_" not in format else DEFAULT


def spelled_choices(op: str, format: str, chosen: Mapping[str, str]) -> str:
    """The spelling of a policy: the choices that are not the default, in a fixed order.

    >>> spelled_choices("quantize_affine", "int8", {"nan": "zero", "scaling": "divide"})
    'scaling=divide+nan=zero'
    """
    known = choices_of(op, format)
    changed = [f"{n}={chosen[n]}" for n in known if chosen.get(n, known[n][0]) != known[n][0]]
    return "+".join(changed) or DEFAULT


def parsed_choices(op: str, format: str, policy: str) -> dict[str, str]:
    """The choices that a policy spells.

    Raises:
        ValueError: no such choice or member, or a combination that has no meaning.
    """
    known, found = choices_of(op, format), {}
    for part in policy.split("+") if policy != DEFAULT else ():
        name, _, value = part.partition("=")
        if value not in known.get(name, ()):
            raise ValueError(f"{part!r} is no choice of {op} {format}")
        found[name] = value
    beyond = "int32_min" in (found.get("nan"), found.get("infinite"))
    if beyond and found.get("zero_point") == "before":
        raise ValueError("int32_min must be chosen with zero_point=after")
    if {"scaling", "scale_type"} <= {*found}:
        raise ValueError("scale_type=float64 must be chosen with scaling=reciprocal")
    if spelled_choices(op, format, found) != policy:
        raise ValueError(f"must be spelled {spelled_choices(op, format, found)!r}")
    return found


def neighbours_of(op: str, format: str, policy: str) -> Iterator[str]:
    """The policies that differ from one in one choice.

    >>> list(neighbours_of("rescale", "int8-int8", "default"))
    ['rounding=double']
    """
    chosen = parsed_choices(op, format, policy)
    for name, members in choices_of(op, format).items():
        for member in members:
            if chosen.get(name, members[0]) != member:
                other = spelled_choices(op, format, {**chosen, name: member})
                try:
                    parsed_choices(op, format, other)
                except ValueError:
                    continue
                yield other


def fast_integers(op: str, format: str, words: NDArray[Any], policy: str) -> NDArray[np.uint64]:
    """The answers of a policy to cases, one a row, by the fast path.

    Raises:
        ValueError: a case without an answer under the policy.
    """
    rows = (stripped(row) for row in words.astype(np.uint64))
    return padded([fast_integer(op, format, row, policy) for row in rows])


def fast_integer(op: str, format: str, words: Sequence[int], policy: str) -> tuple[int, ...]:
    """The answer of a policy, or of one of `more_columns`, to one case, by the fast path.

    Raises:
        ValueError: it has none.
    """
    if policy in more_columns(op, format):
        if op in WEIGHT_ONLY_OPERATIONS:
            return layer_ends(op, format, words, policy)
        return words_of(_in_float32(question(op, format, words)))
    asked, choices = question(op, format, words), parsed_choices(op, format, policy)
    return words_of(np.asarray(fast_result(op, asked, choices)))


def words_of(result: NDArray[Any]) -> tuple[int, ...]:
    """The words of an array: patterns of its own width.

    >>> words_of(np.int8([-1, 2])), words_of(np.float32([1]))
    ((255, 2), (1065353216,))
    """
    return tuple(result.reshape(-1).view(f"u{result.dtype.itemsize}").tolist())


def _in_float32(asked: Question) -> NDArray[Any]:
    """Dequantized with the ratio as the scale and quantized with the scale 1, for a RESCALE."""
    q, multiplier, shift, zero, out, dtype, _ = asked.arguments
    ratio = fl(np.ldexp(multiplier.astype(np.float64), -shift.astype(np.int64)))
    values = fl((q.astype(np.int64) - zero) * ratio).astype(np.float32)
    info = np.iinfo(dtype)
    qparams = affine_quantization.QParams(1.0, out, int(info.min), int(info.max), dtype)
    return affine_quantization.quantize_affine(values, qparams)


def fast_result(op: str, asked: Question, choices: Mapping[str, Any]) -> NDArray[Any]:
    """The result of a call under some choices, by the fast path.

    Raises:
        ValueError: it has none.
    """
    a = asked.arguments
    match op:
        case "quantize_affine" | "dequantize_affine":
            values, scale, zero, low, high, dtype, axis = a
            qparams = affine_quantization.QParams(scale, zero, low, high, dtype, axis)
            if op == "quantize_affine":
                return affine_quantization.quantize_affine(values, qparams, **choices)
            return affine_quantization.dequantize_affine(values, qparams)
        case "pack_int4":
            return pack_int4(*a, **choices)
        case "unpack_int4":
            return unpack_int4(*a, **choices)
        case "rescale":
            *rest, dtype, bits = a
            return rescale(*rest, dtype=dtype, bits=bits, **choices)
        case "linear_qcs8w":
            return linear_qcs8w(*a, **choices)
        case "linear_qcs4w":
            return linear_qcs4w(*a, **choices)
        case _:
            image, grid, align, padding, zero = a
            return grid_sample(image, grid, align_corners=align, padding=padding, zero_point=zero)


def exact_integer(op: str, format: str, words: Sequence[int], policy: str) -> tuple[int, ...]:
    """The answer of a policy, or of one of `more_columns`, to one case, by the slow twin.

    >>> exact_integer("pack_int4", "int4", (1, 3, 1, 2, 3), "default")
    (154, 184)

    Raises:
        ValueError: it has none.
    """
    asked = question(op, format, words)
    mask = (1 << 8 * asked.dtype.itemsize) - 1
    if policy in more_columns(op, format):
        if op in WEIGHT_ONLY_OPERATIONS:
            return exact_ends(op, format, words, policy)
        return tuple(code & mask for code in _exact_in_float32(words, asked))
    known = choices_of(op, format)
    chosen = {name: members[0] for name, members in known.items()}
    chosen |= parsed_choices(op, format, policy)
    match op:
        case "quantize_affine" | "dequantize_affine":
            found = _exact_affine(op, format, words, chosen)
        case "pack_int4":
            rows, k = words[:2]
            codes = [signed(word) for word in words[2:]]
            parts = [codes[i * k : i * k + k] for i in range(rows)]
            found = [byte for part in parts for byte in slow.pack_int4(part, **chosen)]
        case "unpack_int4":
            rows, k = words[:2]
            size = -(-k // 2)
            lines = [words[2 + row * size :][:size] for row in range(rows)]
            found = [code for line in lines for code in exact_unpacked(line, k, **chosen)]
        case "rescale":
            found = _exact_rescale(format, words, asked, chosen.get("rounding", "single"))
        case "linear_qcs8w" | "linear_qcs4w":
            nibbles = chosen.get("nibbles", "")
            found = list(exact_sums_of(op, format, words, chosen["order"], nibbles))
        case _:
            found = _exact_samples(format, words, asked)
    return tuple(word & mask for word in found)


def _exact_affine(
    op: str, format: str, words: Sequence[int], chosen: Mapping[str, str]
) -> list[int]:
    case = affine(format, words)
    bits = int(format.removeprefix("u").removeprefix("int").split("_")[0])
    scales = scale_numbers(format, case).view(np.uint64).tolist()
    pairs = [
        (value, scales[i], case.zero_points[i])
        for value, i in zip(case.values, case.which, strict=True)
    ]
    if op == "dequantize_affine":
        return [slow.dequantize_affine(signed(code), s, z) for code, s, z in pairs]
    order = ("scaling", "zero_point", "nan", "infinite")
    choices = [*(chosen[name] for name in order), chosen.get("int32", "saturate")]
    choices.append(chosen.get("scale_type", "float32"))
    ends = case.low, case.high
    return [slow.quantize_affine(x, s, z, *ends, bits, choices) for x, s, z in pairs]


def _exact_rescale(format: str, words: Sequence[int], asked: Question, rounding: str) -> list[int]:
    count, first = words[2], asked.places
    info = np.iinfo(asked.dtype)
    zeros = signed(words[0]), signed(words[1])
    found = []
    for i, word in enumerate(words[first:]):
        m, s = words[3 + i % count], words[3 + count + i % count]
        value = slow.rescale(signed(word) - zeros[0], m, s, rounding) + zeros[1]
        found.append(min(max(value, int(info.min)), int(info.max)))
    return found


def _exact_in_float32(words: Sequence[int], asked: Question) -> list[int]:
    """What `_in_float32` gives; all ratios are float64 numbers."""
    count, info, found = words[2], np.iinfo(asked.dtype), []
    for i, word in enumerate(words[asked.places :]):
        m, s = words[3 + i % count], words[3 + count + i % count]
        ratio, one = (np.float64(n).view(np.uint64).item() for n in (math.ldexp(m, -s), 1))
        number = slow.dequantize_affine(signed(word), ratio, signed(words[0]))
        ends = int(info.min), int(info.max)
        found.append(slow.quantize_affine(number, one, signed(words[1]), *ends, 8))
    return found


def _exact_samples(format: str, words: Sequence[int], asked: Question) -> list[int]:
    channels, height, width, *_ = words[3:8]
    size = channels * height * width
    pixels = [signed(word) for word in words[8 : 8 + size]]
    grid = [signed(word) for word in words[8 + size :]]
    found = []
    for channel in range(channels):
        start = channel * height * width
        image = [pixels[start + i * width :][:width] for i in range(height)]
        for x, y in zip(grid[::2], grid[1::2], strict=True):
            padding = ("zeros", "border")[words[1]]
            found.append(
                slow.grid_sample(
                    image,
                    x,
                    y,
                    align_corners=bool(words[0]),
                    padding=padding,
                    zero_point=signed(words[2]),
                )
            )
    return found
