"""Makers of the vector files that are stored; `made_files.py` has the others."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from functools import partial

from mxref.bits.floats import LAYOUTS
from mxref.cases.records import VectorFile
from mxref.formats.catalog import BLOCK_FORMATS, ELEMENT_FORMATS
from mxref.golden.float_scaled_cases import float_scaled_tasks
from mxref.golden.integer_cases import call_tasks
from mxref.golden.layout_cases import layout_tasks
from mxref.golden.linear_cases import linear_tasks
from mxref.golden.made_files import FNUZ
from mxref.golden.number_files import (
    decode_file,
    decode_scale_file,
    dequantize_file,
    encode_file,
    encode_scale_file,
    other_encode_file,
    quantize_file,
    shared_scale_file,
)
from mxref.golden.product_cases import product_tasks
from mxref.golden.scaled_cases import scaled_tasks
from mxref.golden.stochastic_cases import stochastic_tasks

__all__ = ["file_tasks", "vector_files"]

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
    for other in FNUZ:
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
