"""Cases of every vector file: inputs of the models, answers of the slow twin, clauses and flags."""

from __future__ import annotations

import re
from collections.abc import Callable, Iterable, Iterator, Mapping
from dataclasses import replace
from functools import cache, partial

import numpy as np

from mxref.bits.floats import LAYOUTS, FloatLayout
from mxref.cases.answers import answerable, exact_answers, fast_answers, reads
from mxref.cases.drawn import drawn
from mxref.cases.grid import has_grid
from mxref.cases.own_formats import one_reference
from mxref.cases.probes import probes
from mxref.cases.records import VectorFile
from mxref.formats.catalog import (
    BLOCK_FORMATS,
    E4M3B11FNUZ,
    E4M3FNUZ,
    E5M2FNUZ,
    E8M0,
    ELEMENT_FORMATS,
    OTHER_CODE_FORMATS,
    OWN_FORMATS,
    BlockFormat,
    CodeFormat,
    ElementFormat,
    Specials,
    block_format,
)
from mxref.formats.own_formats import OwnFormat
from mxref.golden import models
from mxref.golden.agreement import compare_codes, compare_references
from mxref.golden.case_inputs import CaseInput, cases_of
from mxref.golden.designed_blocks import designed_blocks, resized
from mxref.golden.infinity_blocks import infinity_blocks
from mxref.golden.integer_cases import call_file, call_tasks
from mxref.golden.lane_blocks import lane_blocks
from mxref.golden.layout_cases import layout_tasks
from mxref.golden.linear_cases import linear_tasks
from mxref.golden.product_cases import product_tasks
from mxref.golden.reasons import reason
from mxref.golden.rounding_blocks import rounding_blocks
from mxref.golden.scaled_cases import scaled_tasks
from mxref.golden.stochastic_cases import stochastic_tasks
from mxref.operations.call_operation import CallOperation
from mxref.operations.registry import CALL_OPERATIONS
from mxref.policy.policy import Policy

__all__ = ["file_tasks", "made_files", "own_files", "vector_files"]

#: Formats beside those of MX that have stored files: of `encode` and `decode`, float32 alone.
_FNUZ = (E4M3FNUZ, E5M2FNUZ, E4M3B11FNUZ)
#: Operations whose answers are codes; those of the others are floats.
TO_CODE = ("encode", "encode_scale", "shared_scale", "quantize")
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


def vector_files() -> Iterator[VectorFile]:
    """Every file of level 1, in the order of the manifest."""
    return (task() for task in file_tasks())


def file_tasks() -> Iterator[Callable[[], VectorFile]]:
    """Makers of the files, in the order of the manifest; can be pickled."""
    for fmt in ELEMENT_FORMATS.values():
        for layout in LAYOUTS.values():
            yield partial(_encode, fmt, layout)
    for fmt in ELEMENT_FORMATS.values():
        yield partial(_decode, fmt)
    for layout in LAYOUTS.values():
        yield partial(_encode_scale, layout)
    yield _decode_scale
    for fmt in ELEMENT_FORMATS.values():
        for name in LAYOUTS:
            yield partial(_shared_scale, fmt, LAYOUTS[name])
    for block in BLOCK_FORMATS:
        for name in LAYOUTS:
            yield partial(_quantize, block, LAYOUTS[name])
    for block in BLOCK_FORMATS:
        for name in ("f32", "bf16", "f16"):
            yield partial(_dequantize, block, LAYOUTS[name])
    for other in _FNUZ:
        yield partial(_other_encode, other, LAYOUTS["f32"])
        yield partial(_decode, other)
    yield from stochastic_tasks()
    yield from layout_tasks()
    yield from scaled_tasks()
    yield from product_tasks()
    yield from linear_tasks()
    yield from call_tasks()


def made_files() -> Mapping[str, Callable[[], VectorFile]]:
    """Makers, by stem, of the files that are not stored: those of formats beside those of MX.

    They are made in a tenth of a second, when a target or an option names the format.
    """
    return {**_other_files(), **own_files()}


@cache
def _other_files() -> Mapping[str, Callable[[], VectorFile]]:
    found: dict[str, Callable[[], VectorFile]] = {}
    for fmt in (fmt for name, fmt in OTHER_CODE_FORMATS.items() if name not in OWN_FORMATS):
        for layout in LAYOUTS.values():
            found[f"encode/{fmt.name}.{layout.name}"] = cache(partial(_other_encode, fmt, layout))
        found[f"decode/{fmt.name}.f32"] = cache(partial(_decode, fmt))
    stored = [f"{op}/{fmt.name}.f32" for op in ("encode", "decode") for fmt in _FNUZ]
    return {stem: make for stem, make in found.items() if stem not in stored}


def own_files() -> Mapping[str, Callable[[], VectorFile]]:
    """Makers, by stem, of the files of the formats and operations of a user that are known.

    A file of a format needs a float type that holds the numbers of the elements and the midpoints
    between them.
    """
    operations = {
        f"{op}/{format}.{row.slot}": partial(_own_call, row, format)
        for op, row in CALL_OPERATIONS.items()
        for format in row.formats * row.is_own
    }
    return operations | {
        f"{op}/{name}.{layout.name}": partial(_own_file, op, name, layout, 2 - one_reference(name))
        for name, fmt in OWN_FORMATS.items()
        for op in _own_operations(fmt)
        for layout in _own_layouts(op, fmt)
    }


@cache
def _own_call(row: CallOperation, format: str) -> VectorFile:
    """A file of an operation of a user, to which both references have the same answers.

    Raises:
        ValueError: they differ, so that one of them is wrong.
    """
    return _agreed(call_file(row.name, format), f"one reference of {row.name} is wrong")


def _agreed(made: VectorFile, otherwise: str) -> VectorFile:
    """A file, after its answers were compared with those of the fast path."""
    try:
        compare_references(made)
    except RuntimeError as error:
        raise ValueError(f"{error}: {otherwise}") from None
    return made


def _own_layouts(op: str, fmt: OwnFormat) -> list[FloatLayout]:
    """The float types that there are files of, of an operation on a format of a user."""
    names: Iterable[str] = ("f32",) if op == "decode" else LAYOUTS
    if isinstance(fmt, BlockFormat) and not fmt.scale.is_power:
        names = ("f32",) if fmt.tensor_scale else ("f32", "bf16")
    code = fmt.element if isinstance(fmt, BlockFormat) else fmt
    return [LAYOUTS[name] for name in names if has_grid(code, LAYOUTS[name])]


def _own_operations(fmt: OwnFormat) -> tuple[str, ...]:
    """The operations that there are files of, of a format of a user."""
    if isinstance(fmt, BlockFormat):
        return "quantize", "dequantize"
    if isinstance(fmt, ElementFormat):
        return "encode", "decode", "shared_scale"
    return ("encode", "decode") * fmt.subnormals  # single numbers become powers of E8M0 alone


@cache
def _own_file(op: str, name: str, layout: FloatLayout, references: int) -> VectorFile:
    """A file of a format of a user, to which both references have the same answers.

    Raises:
        ValueError: codes stand for other numbers in the twin's table of the format.
    """
    fmt = OWN_FORMATS[name]
    if references > 1:
        for part in (fmt.element, fmt.scale) if isinstance(fmt, BlockFormat) else (fmt,):
            compare_codes(part)
    if isinstance(fmt, BlockFormat) and not fmt.scale.is_power:
        made = _scaled(op, name, layout)
    elif isinstance(fmt, BlockFormat):
        made = (_quantize if op == "quantize" else _dequantize)(name, layout)
    elif op == "decode":
        made = _decode(fmt)
    elif isinstance(fmt, ElementFormat):
        made = (_encode if op == "encode" else _shared_scale)(fmt, layout)
    else:
        made = _other_encode(fmt, layout)
    return _agreed(made, f"{name} or its FORMAT_VALUES are wrong") if references > 1 else made


def _encode(fmt: ElementFormat, layout: FloatLayout) -> VectorFile:
    # MX 5.3.1 requires both overflow methods of FP8.
    plain = ("overflow=nonsaturating",) if fmt.specials is not Specials.NONE else ()
    return _scalar_file("encode", fmt.name, layout, plain, models.encode_inputs(fmt, layout))


def _other_encode(fmt: CodeFormat, layout: FloatLayout) -> VectorFile:
    inputs = models.other_encode_inputs(fmt, layout)
    plain = ("overflow=nonsaturating",) if fmt.specials is not Specials.NONE else ()
    return _scalar_file("encode", fmt.name, layout, plain, inputs, roundings=False)


def _decode(fmt: CodeFormat) -> VectorFile:
    inputs = dict.fromkeys(range(fmt.code_count), "M10")
    return _scalar_file("decode", fmt.name, LAYOUTS["f32"], (), inputs)


def _encode_scale(layout: FloatLayout) -> VectorFile:
    plain = ("scale_rounding=toward_positive", "scale_rounding=ties_to_away")
    inputs = models.encode_scale_inputs(layout)
    return _scalar_file("encode_scale", E8M0.name, layout, plain, inputs)


def _decode_scale() -> VectorFile:
    inputs = dict.fromkeys(range(E8M0.code_count), "M10")
    return _scalar_file("decode_scale", E8M0.name, LAYOUTS["f32"], (), inputs)


def _shared_scale(fmt: ElementFormat, layout: FloatLayout) -> VectorFile:
    inputs = models.shared_scale_inputs(layout, fmt)
    return _scalar_file("shared_scale", fmt.name, layout, (), inputs)


def _quantize(block: str, layout: FloatLayout) -> VectorFile:
    return _file("quantize", block, layout, (), list(_blocks(block, layout)))


def _blocks(block: str, layout: FloatLayout) -> Iterator[CaseInput]:
    fmt, size = BLOCK_FORMATS[block].element, BLOCK_FORMATS[block].elements_per_block
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


def _dequantize(block: str, layout: FloatLayout) -> VectorFile:
    fmt = BLOCK_FORMATS[block]
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
    entries += [
        CaseInput(f"{scale:02x}_turned", (scale, *_turned(index, count, size)), "M17")
        for index, scale in enumerate(scales)
    ]
    return _file("dequantize", block, layout, (), entries)


def _turned(index: int, count: int, size: int) -> list[int]:
    """Codes in an order by block: in no two lanes are the codes equal in all of 15 blocks."""
    step, half = 2 * index + 1, index + 1
    return [(step * lane + half * (lane // 16) + 5 * index) % count for lane in range(size)]


def _scaled(op: str, block: str, layout: FloatLayout) -> VectorFile:
    """A file of blocks of a user under scales that are small floats."""
    asked = probes(op, block, layout.name)
    few = asked[:: 1 + len(asked) // _FEW].tolist()
    few += drawn(op, block, layout.name, _FEW).tolist()
    entries = [CaseInput(f"{i:04}", tuple(words), "M9") for i, words in enumerate(few)]
    made = _file(op, block, layout, (), entries)
    is_wide = block_format(block).tensor_scale  # whose float32 scale is the first word
    return replace(made, in_digits=8) if is_wide else made


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
    digits = layout.width // 4 if op in TO_CODE else 2
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
    code, float = 2, layout.width // 4
    digits = (float, code) if op in TO_CODE else (code, float)
    return VectorFile(op, format, layout.name, columns, 1 + len(plain), *digits, cases)


def _columns(op: str, format: str, layout: FloatLayout, entries: list[CaseInput]) -> Iterator[str]:
    """Policies that differ from `ocp` in one choice and in an answer."""
    words = np.array([entry.inputs for entry in entries], np.uint64)
    ocp = fast_answers(op, format, layout.name, words, Policy())
    for policy in _single_choices(op):
        if not answerable(op, format, layout.name, policy):
            continue
        if (fast_answers(op, format, layout.name, words, policy) != ocp).any():
            yield str(policy)


@cache
def _single_choices(op: str) -> tuple[Policy, ...]:
    """Policies with one choice set, to each of its members."""
    return tuple(
        Policy().replace(**{name: member})
        for name in reads(op)
        if name not in _NOT_HERE
        for member in Policy.members(name)
        if not {(name, member.value), (op, member.value)} & _NO_COLUMNS
        and not member.value.startswith("stochastic")
    )
