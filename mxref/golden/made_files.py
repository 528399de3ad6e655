"""Makers of the vector files that are not stored, and made when they are asked for.

Their names are known without the modules that make files, which take time to import.
"""

from __future__ import annotations

import importlib
from collections.abc import Callable, Mapping
from functools import cache, partial
from typing import TYPE_CHECKING

from mxref.bits.floats import LAYOUTS, FloatLayout
from mxref.cases.grid import has_grid
from mxref.cases.own_formats import one_reference
from mxref.cases.records import VectorFile
from mxref.formats.catalog import (
    E4M3B11FNUZ,
    E4M3FNUZ,
    E5M2FNUZ,
    OTHER_CODE_FORMATS,
    OWN_FORMATS,
    BlockFormat,
    ElementFormat,
)
from mxref.formats.own_formats import OwnFormat
from mxref.golden.float_scaled_cases import float_scaled_files
from mxref.operations.registry import REGISTRY, own_operations

if TYPE_CHECKING:
    from mxref.operations.call_operation import CallOperation

__all__ = ["FNUZ", "made_files", "own_files"]

#: Formats beside those of MX that have stored files: of `encode` and `decode`, float32 alone.
FNUZ = (E4M3FNUZ, E5M2FNUZ, E4M3B11FNUZ)


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
                partial(_number_file, "other_encode_file", fmt, layout)
            )
        found[f"decode/{fmt.name}.f32"] = cache(partial(_number_file, "decode_file", fmt))
    stored = [f"{op}/{fmt.name}.f32" for op in ("encode", "decode") for fmt in FNUZ]
    return {stem: make for stem, make in found.items() if stem not in stored}


def own_files() -> Mapping[str, Callable[[], VectorFile]]:
    """Makers, by stem, of the files of the formats and operations of a user that are known.

    A file of a format needs a float type that holds the numbers of the elements and the midpoints
    between them.
    """
    operations = {
        f"{op}/{format}.{row.slot_of(format)}": partial(_own_call, row, format)
        for op, row in own_operations().items()
        for format in row.formats
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
    from mxref.golden.agreement import compare_references
    from mxref.golden.integer_cases import call_file

    made = call_file(row.name, format)
    try:
        compare_references(made)
    except RuntimeError as error:
        raise ValueError(f"{error}: {row.name} must have one that is right") from None
    return made


def _own_layouts(op: str, fmt: OwnFormat) -> list[FloatLayout]:
    """The float types that there are files of, of an operation on a format of a user."""
    code = fmt.element if isinstance(fmt, BlockFormat) else fmt
    return [LAYOUTS[name] for name in REGISTRY[op].slots(fmt.name) if has_grid(code, LAYOUTS[name])]


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
    from mxref.golden.agreement import compare_codes, compare_references

    fmt = OWN_FORMATS[name]
    if references > 1:
        for part in (fmt.element, fmt.scale) if isinstance(fmt, BlockFormat) else (fmt,):
            compare_codes(part)
    if isinstance(fmt, BlockFormat) and not fmt.scale.is_power:
        made = _number_file("scaled_file", op, name, layout)
    elif isinstance(fmt, BlockFormat):
        made = _number_file(f"{op}_file", name, layout)
    elif REGISTRY[op].from_codes:
        made = _number_file("decode_file", fmt)
    elif isinstance(fmt, ElementFormat):
        made = _number_file(f"{op}_file", fmt, layout)
    else:
        made = _number_file("other_encode_file", fmt, layout)
    if references > 1:
        compare_references(made)
    return made


def _number_file(maker: str, *arguments: object) -> VectorFile:
    """A file by a maker of files of numbers and blocks."""
    made: VectorFile = getattr(importlib.import_module("mxref.golden.number_files"), maker)(
        *arguments
    )
    return made
