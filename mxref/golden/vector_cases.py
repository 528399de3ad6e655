"""Makers of every vector file: stored ones, and those that are made when they are asked for."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Mapping
from functools import cache, partial

from mxref.bits.floats import LAYOUTS, FloatLayout
from mxref.cases.grid import has_grid
from mxref.cases.own_formats import one_reference
from mxref.cases.records import VectorFile
from mxref.formats.catalog import (
    BLOCK_FORMATS,
    E4M3B11FNUZ,
    E4M3FNUZ,
    E5M2FNUZ,
    ELEMENT_FORMATS,
    OTHER_CODE_FORMATS,
    OWN_FORMATS,
    BlockFormat,
    ElementFormat,
)
from mxref.formats.own_formats import OwnFormat
from mxref.golden.agreement import compare_codes, compare_references
from mxref.golden.float_scaled_cases import float_scaled_files, float_scaled_tasks
from mxref.golden.integer_cases import call_file, call_tasks
from mxref.golden.layout_cases import layout_tasks
from mxref.golden.linear_cases import linear_tasks
from mxref.golden.number_files import (
    decode_file,
    decode_scale_file,
    dequantize_file,
    encode_file,
    encode_scale_file,
    other_encode_file,
    quantize_file,
    scaled_file,
    shared_scale_file,
)
from mxref.golden.product_cases import product_tasks
from mxref.golden.scaled_cases import scaled_tasks
from mxref.golden.stochastic_cases import stochastic_tasks
from mxref.operations.call_operation import CallOperation
from mxref.operations.registry import CALL_OPERATIONS

__all__ = ["file_tasks", "made_files", "own_files", "vector_files"]

#: Formats beside those of MX that have stored files: of `encode` and `decode`, float32 alone.
_FNUZ = (E4M3FNUZ, E5M2FNUZ, E4M3B11FNUZ)
#: The format in blocks of 16 under E8M0.
_SIXTEEN = "fp4_e8m0"
#: Float types of the stored files of `dequantize`.
_DEQUANTIZED = ("f32", "bf16", "f16")


def vector_files() -> Iterator[VectorFile]:
    """Every file of level 1, in the order of the manifest."""
    return (task() for task in file_tasks())


def file_tasks() -> Iterator[Callable[[], VectorFile]]:
    """Makers of the files, in the order of the manifest; can be pickled."""
    for fmt in ELEMENT_FORMATS.values():
        for layout in LAYOUTS.values():
            yield partial(encode_file, fmt, layout)
    for fmt in ELEMENT_FORMATS.values():
        yield partial(decode_file, fmt)
    for layout in LAYOUTS.values():
        yield partial(encode_scale_file, layout)
    yield decode_scale_file
    for fmt in ELEMENT_FORMATS.values():
        for name in LAYOUTS:
            yield partial(shared_scale_file, fmt, LAYOUTS[name])
    for block in BLOCK_FORMATS:
        for name in LAYOUTS:
            yield partial(quantize_file, block, LAYOUTS[name])
    for block in BLOCK_FORMATS:
        for name in _DEQUANTIZED:
            yield partial(dequantize_file, block, LAYOUTS[name])
    for other in _FNUZ:
        yield partial(other_encode_file, other, LAYOUTS["f32"])
        yield partial(decode_file, other)
    yield from stochastic_tasks()
    yield from layout_tasks()
    yield from scaled_tasks()
    for name in LAYOUTS:
        yield partial(quantize_file, _SIXTEEN, LAYOUTS[name])
    for name in _DEQUANTIZED:
        yield partial(dequantize_file, _SIXTEEN, LAYOUTS[name])
    yield from float_scaled_tasks()
    yield from product_tasks()
    yield from linear_tasks()
    yield from call_tasks()


def made_files() -> Mapping[str, Callable[[], VectorFile]]:
    """Makers, by stem, of the files that are not stored: those of formats beside those of MX.

    They are made in a tenth of a second, tiles of 128 x 128 in a few, when a target or an option
    names the format.
    """
    return {**_other_files(), **float_scaled_files(), **own_files()}


@cache
def _other_files() -> Mapping[str, Callable[[], VectorFile]]:
    found: dict[str, Callable[[], VectorFile]] = {}
    for fmt in (fmt for name, fmt in OTHER_CODE_FORMATS.items() if name not in OWN_FORMATS):
        for layout in LAYOUTS.values():
            found[f"encode/{fmt.name}.{layout.name}"] = cache(
                partial(other_encode_file, fmt, layout)
            )
        found[f"decode/{fmt.name}.f32"] = cache(partial(decode_file, fmt))
    stored = [f"{op}/{fmt.name}.f32" for op in ("encode", "decode") for fmt in _FNUZ]
    return {stem: make for stem, make in found.items() if stem not in stored}


def own_files() -> Mapping[str, Callable[[], VectorFile]]:
    """Makers, by stem, of the files of the formats and operations of a user that are known.

    A file of a format needs a float type that holds the numbers of the elements and the midpoints
    between them.
    """
    operations = {
        f"{op}/{format}.{row.slot_of(format)}": partial(_own_call, row, format)
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
    made = call_file(row.name, format)
    try:
        compare_references(made)
    except RuntimeError as error:
        raise ValueError(f"{error}: {row.name} must have one that is right") from None
    return made


def _own_layouts(op: str, fmt: OwnFormat) -> list[FloatLayout]:
    """The float types that there are files of, of an operation on a format of a user."""
    names: Iterable[str] = ("f32",) if op == "decode" else LAYOUTS
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
        made = scaled_file(op, name, layout)
    elif isinstance(fmt, BlockFormat):
        made = (quantize_file if op == "quantize" else dequantize_file)(name, layout)
    elif op == "decode":
        made = decode_file(fmt)
    elif isinstance(fmt, ElementFormat):
        made = (encode_file if op == "encode" else shared_scale_file)(fmt, layout)
    else:
        made = other_encode_file(fmt, layout)
    if references > 1:
        compare_references(made)
    return made
