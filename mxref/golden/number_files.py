"""Files of numbers and of blocks: inputs, answers of the slow twin, clauses and flags."""

from __future__ import annotations

import re
from collections.abc import Iterator
from functools import cache

import numpy as np

from mxref.bits.floats import LAYOUTS, FloatLayout
from mxref.cases.answers import answerable, exact_answers, fast_answers, reads
from mxref.cases.drawn import drawn
from mxref.cases.probes import probes
from mxref.cases.records import VectorFile
from mxref.formats.catalog import (
    E8M0,
    CodeFormat,
    ElementFormat,
    Specials,
    block_format,
)
from mxref.golden import models
from mxref.golden.case_inputs import CaseInput, cases_of
from mxref.golden.designed_blocks import designed_blocks, resized
from mxref.golden.infinity_blocks import infinity_blocks
from mxref.golden.lane_blocks import lane_blocks
from mxref.golden.reasons import reason
from mxref.golden.rounding_blocks import rounding_blocks
from mxref.operations.registry import REGISTRY
from mxref.policy.policy import Policy

__all__ = [
    "decode_file",
    "decode_scale_file",
    "dequantize_file",
    "encode_file",
    "encode_scale_file",
    "other_encode_file",
    "quantize_file",
    "scaled_file",
    "shared_scale_file",
]

#: Members of choices that have no column, since they raise errors.
_NO_COLUMNS = {("nan_to_finite", "error"), ("encode_scale", "wrap")}
_ROUNDINGS = ("ocp+rounding=", "ocp+pre_rounding=")
#: Choices that change nothing in whole blocks under E8M0 scales.
_NOT_HERE = ("tail", "scale_arithmetic")
#: Scale codes of the dequantized blocks, beside FF.
_DEQUANTIZE_SCALES = (0x00, 0x01, 0x02, 0x10, 0x40, 0x7E, 0x7F, 0x80, 0xC0, 0xF0, 0xFC, 0xFD, 0xFE)
#: The same for float16, around the scales whose products are subnormal or too large.
_F16_SCALES = (0x00, 0x5E, 0x65, 0x67, 0x68, 0x6B, 0x71, 0x7F, 0x80, 0x86, 0x8A, 0x8C, 0x8E, 0xFE)
#: Blocks of each kind in a file of blocks of a user under scales that are small floats.
_FEW = 192


def encode_file(fmt: ElementFormat, layout: FloatLayout) -> VectorFile:
    """A file of `encode` of a format of MX, or of a user."""
    # MX 5.3.1 requires both overflow methods of FP8.
    plain = ("overflow=nonsaturating",) if fmt.specials is not Specials.NONE else ()
    return _scalar_file("encode", fmt.name, layout, plain, models.encode_inputs(fmt, layout))


def other_encode_file(fmt: CodeFormat, layout: FloatLayout) -> VectorFile:
    """A file of `encode` of another format, with fewer cases."""
    inputs = models.other_encode_inputs(fmt, layout)
    plain = ("overflow=nonsaturating",) if fmt.specials is not Specials.NONE else ()
    return _scalar_file("encode", fmt.name, layout, plain, inputs, roundings=False)


def decode_file(fmt: CodeFormat) -> VectorFile:
    """A file of `decode`: every code."""
    inputs = dict.fromkeys(range(fmt.code_count), "M10")
    return _scalar_file("decode", fmt.name, LAYOUTS["f32"], (), inputs)


def encode_scale_file(layout: FloatLayout) -> VectorFile:
    """A file of `encode_scale`."""
    plain = ("scale_rounding=toward_positive", "scale_rounding=ties_to_away")
    inputs = models.encode_scale_inputs(layout)
    return _scalar_file("encode_scale", E8M0.name, layout, plain, inputs)


def decode_scale_file() -> VectorFile:
    """The file of `decode_scale`: every code."""
    inputs = dict.fromkeys(range(E8M0.code_count), "M10")
    return _scalar_file("decode_scale", E8M0.name, LAYOUTS["f32"], (), inputs)


def shared_scale_file(fmt: ElementFormat, layout: FloatLayout) -> VectorFile:
    """A file of `shared_scale`."""
    inputs = models.shared_scale_inputs(layout, fmt)
    return _scalar_file("shared_scale", fmt.name, layout, (), inputs)


def quantize_file(block: str, layout: FloatLayout) -> VectorFile:
    """A file of `quantize` under scales that are powers of two."""
    return _file("quantize", block, layout, (), list(_blocks(block, layout)))


def _blocks(block: str, layout: FloatLayout) -> Iterator[CaseInput]:
    fmt, size = block_format(block).element, block_format(block).elements_per_block
    seen: set[tuple[int, ...]] = set()
    makers = [("M9", designed_blocks), ("M9", infinity_blocks), ("M16", rounding_blocks)]
    if layout.name in ("f32", "bf16"):  # of the others a family of level 2
        makers.append(("M17", lane_blocks))
    for model, blocks in makers:
        for name, inputs in blocks(fmt, layout):
            is_alone = re.fullmatch("largest_[0-9]+|lane_[0-9]+_(plus|minus)", name)
            for title, part in resized(name, inputs, size, layout):
                if size == len(inputs) or tuple(part) not in seen:
                    seen.add(tuple(part))
                    yield CaseInput(title, tuple(part), model, ("position",) if is_alone else ())


def dequantize_file(block: str, layout: FloatLayout) -> VectorFile:
    """A file of `dequantize` under scales that are powers of two."""
    fmt = block_format(block)
    count, size = fmt.element.code_count, fmt.elements_per_block
    codes = [code % count for code in range(-(-count // size) * size)]
    scales = (*(_F16_SCALES if layout.name == "f16" else _DEQUANTIZE_SCALES), 0xFF)
    if fmt.scale != E8M0:
        scales = tuple(range(fmt.scale.code_count))
    entries = [
        CaseInput(f"{scale:02x}_{start % count:02x}", (scale, *codes[start : start + size]), "M10")
        for scale in scales
        for start in range(0, len(codes), size)
    ]
    asked = {entry.inputs for entry in entries}
    turned = [
        CaseInput(f"{scale:02x}_turned", (scale, *_turned(index, count, size)), "M17")
        for index, scale in enumerate(scales)
    ]
    entries += [entry for entry in turned if entry.inputs not in asked]
    return _file("dequantize", block, layout, (), entries)


def _turned(index: int, count: int, size: int) -> list[int]:
    """Codes in an order by block: in no two lanes are the codes equal in all of 15 blocks."""
    step, half = 2 * index + 1, index + 1
    return [(step * lane + half * (lane // 16) + 5 * index) % count for lane in range(size)]


def scaled_file(op: str, block: str, layout: FloatLayout) -> VectorFile:
    """A file of blocks of a user under scales that are small floats."""
    asked = probes(op, block, layout.name)
    few = asked[:: 1 + len(asked) // _FEW].tolist()
    few += drawn(op, block, layout.name, _FEW).tolist()
    entries = [CaseInput(f"{i:04}", tuple(words), "M9") for i, words in enumerate(few)]
    return _file(op, block, layout, (), entries)


def _scalar_file(
    op: str,
    format: str,
    layout: FloatLayout,
    plain: tuple[str, ...],
    inputs: dict[int, str],
    *,
    roundings: bool = True,
) -> VectorFile:
    """A file of one word in, one word out."""
    digits, _ = REGISTRY[op].digits(format, layout.name)
    entries = [CaseInput(f"{bits:0{digits}x}", (bits,), model) for bits, model in inputs.items()]
    return _file(op, format, layout, plain, entries, roundings=roundings)


def _file(
    op: str,
    format: str,
    layout: FloatLayout,
    plain: tuple[str, ...],
    entries: list[CaseInput],
    *,
    roundings: bool = True,
) -> VectorFile:
    """A file with a column for each choice that changes an answer, `plain` ones first.

    Without `roundings` it has none of those that nearly all answers depend on.
    """
    columns = ("ocp", *(f"ocp+{choice}" for choice in plain))
    others = _columns(op, format, layout, entries)
    if not roundings:
        others = (c for c in others if not c.startswith(_ROUNDINGS))
    columns += tuple(c for c in others if c not in columns)
    policies = [Policy.parse(column) for column in columns]
    questions = [entry.inputs for entry in entries]
    answered = [exact_answers(op, format, layout.name, questions, p) for p in policies]
    why = [
        (required, rule, (*flags, *entry.flags))
        for entry, answer in zip(entries, answered[0], strict=True)
        for required, rule, flags in (reason(op, format, layout.name, entry.inputs, answer),)
    ]
    cases = cases_of(f"{op}.{format}.{layout.name}", entries, answered, why)
    digits = REGISTRY[op].digits(format, layout.name)
    return VectorFile(op, format, layout.name, columns, 1 + len(plain), *digits, cases)


def _columns(op: str, format: str, layout: FloatLayout, entries: list[CaseInput]) -> Iterator[str]:
    """Policies that differ from `ocp` in one choice and in an answer."""
    words = np.array([entry.inputs for entry in entries], np.uint64)
    ocp = fast_answers(op, format, layout.name, words, Policy())
    for policy in _single_choices(op, format):
        if not answerable(op, format, layout.name, policy):
            continue
        if (fast_answers(op, format, layout.name, words, policy) != ocp).any():
            yield str(policy)


@cache
def _single_choices(op: str, format: str) -> tuple[Policy, ...]:
    """Policies with one choice set, to each of its members."""
    return tuple(
        Policy().replace(**{name: member})
        for name in reads(op, format)
        if name not in _NOT_HERE
        for member in Policy.members(name)
        if not {(name, member.value), (op, member.value)} & _NO_COLUMNS
        and not member.value.startswith("stochastic")
    )
