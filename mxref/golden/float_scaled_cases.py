"""Cases of blocks under float32 scales: FP8 in rows of 128, and in tiles."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping
from functools import cache, partial

import numpy as np

from mxref.bits.floats import BF16, F32, LAYOUTS, FloatLayout
from mxref.cases.float_scaled import FLOAT_SCALES, largest_magnitudes, under_largest
from mxref.cases.records import VectorFile
from mxref.formats.catalog import FLOAT_SCALED_FORMATS, BlockFormat
from mxref.golden.case_inputs import CaseInput
from mxref.operations.registry import REGISTRY

__all__ = ["float_scaled_files", "float_scaled_tasks"]

#: Members of the choices that float32 scales alone have, and of NaN, that have columns.
_COLUMNS = (
    "ocp",
    *(f"ocp+amax_floor={name}" for name in ("1e-12", "1e-10", "1e-4", "scale")),
    *(f"ocp+scale_from={n}" for n in ("source_quotient", "reciprocal", "multiplier")),
    "ocp+scale_from=multiplier_or_one",
    *(f"ocp+scale_power={name}" for name in ("bit_ceiling", "exp2_ceil_log2")),
    *(f"ocp+element_from={name}" for name in ("quotient", "reciprocal", "multiplier")),
    "ocp+block_nan=ignore",
)
_SOURCE_QUOTIENT = "ocp+scale_from=source_quotient"
#: Stored files: those of E4M3 in rows, with float32 and bfloat16. The others are made when a target
#: or an option names their format.
_STORED = "fp8_e4m3_f32"
_FLOATS = (F32, BF16)
#: Scales of the stored files: both ends, subnormal ones, 1, others, infinity and NaN.
_SCALES = (
    *(0x00000000, 0x00000003, 0x007FFFFF, 0x0D800001, 0x3B124925, 0x3E4CCCCD, 0x3F800000),
    *(0x40490FDB, 0x477FE000, 0x7E800000, 0x7F7FFFFF, 0x7F800000, 0x7FC00000),
)
#: Lanes from the largest element of a block to that of the next.
_LANE = 37
#: Of the largest magnitudes of a tile, whose cases are long, these.
_OF_TILES = ("plain_03", "floor_1e_4_below", "m_above")


def float_scaled_tasks() -> Iterator[Callable[[], VectorFile]]:
    """Makers of the stored files."""
    fmt = FLOAT_SCALED_FORMATS[_STORED]
    for layout in _FLOATS:
        yield partial(_quantize, fmt, layout)
    for layout in _FLOATS:
        yield partial(_dequantize, fmt, layout)


def float_scaled_files() -> Mapping[str, Callable[[], VectorFile]]:
    """Makers, by stem, of the files that are not stored."""
    return {
        f"{op}/{fmt.name}.{layout.name}": cache(partial(make, fmt, layout))
        for op, make in (("quantize", _quantize), ("dequantize", _dequantize))
        for fmt in FLOAT_SCALED_FORMATS.values()
        for layout in LAYOUTS.values()
        if fmt.name != _STORED or layout not in _FLOATS
    }


def _quantize(fmt: BlockFormat, layout: FloatLayout) -> VectorFile:
    named = [*largest_magnitudes(fmt, layout)]
    if fmt.is_tiled:
        named = [one for one in named if one[0] in _OF_TILES]
    names, largest = zip(*named, strict=True)
    size = fmt.elements_per_block
    lanes = [i * _LANE % size for i in range(len(named))]
    words = under_largest(fmt, layout, largest, lanes, range(len(named)))
    entries = [
        CaseInput(name, tuple(row), "M9", *_why(name, bits, layout))
        for name, bits, row in zip(names, largest, words.tolist(), strict=True)
    ]
    entries += _specials(fmt, layout)
    # A quotient that is rounded to the source's type is the same as one rounded to float32.
    columns = [c for c in _COLUMNS if layout.width < 32 or c != _SOURCE_QUOTIENT]
    return _file("quantize", fmt, layout, tuple(columns), entries)


def _why(name: str, bits: int, layout: FloatLayout) -> tuple[tuple[str, ...], str]:
    """Flags and clause of a block by its largest magnitude."""
    if not bits:
        return ("zero",), "N48"
    flags = ("source_subnormal",) * (bits < 1 << layout.mantissa_bits)
    if name.startswith("floor"):
        return ("near_tie", *flags), "N48"
    return ("near_tie", *flags), "N50" if name.startswith("m_") else "N49"


def _specials(fmt: BlockFormat, layout: FloatLayout) -> Iterator[CaseInput]:
    """NaN and infinity in several lanes beside numbers, and alone."""
    size, last = fmt.elements_per_block, fmt.elements_per_block - 1
    nan, inf, sign = layout.nan_bits, layout.inf_bits, layout.sign_bit
    cases: dict[str, dict[int, int]] = {
        "nan_first": {0: nan},
        "negative_nan_last": {last: nan | sign},
        "inf_first": {0: inf},
        "negative_inf_last": {last: inf | sign},
        "nan_and_inf": {3: nan, size // 2: inf | sign},
        "nan_alone": dict.fromkeys(range(size), nan),
    }
    one = layout.bias << layout.mantissa_bits
    for turn, (name, lanes) in enumerate(cases.items() if not fmt.is_tiled else ()):
        (row,) = under_largest(fmt, layout, [one], [size // 3], [turn]).tolist()
        block = [lanes.get(lane, bits) for lane, bits in enumerate(row)]
        flags = tuple(flag for flag in ("nan", "inf") if flag in name)
        yield CaseInput(name, tuple(block), "M9", flags, "N4" if "nan" in name else "N5")


def _dequantize(fmt: BlockFormat, layout: FloatLayout) -> VectorFile:
    size, count = fmt.elements_per_block, fmt.element.code_count
    scales = FLOAT_SCALES[:: 8 if fmt.is_tiled else 1] if fmt.name != _STORED else _SCALES
    entries = []
    for index, scale in enumerate(scales):
        # Odd steps go through every code; in no two lanes are the codes alike under all scales.
        codes = (np.arange(max(size, count)) * (2 * index + 1) + 5 * index) % count
        for start in range(0, len(codes), size):
            flags: tuple[str, ...] = ("nan",) * fmt.scale.is_nan(scale)
            flags += ("scale_subnormal",) * (scale < 1 << F32.mantissa_bits)
            words = (scale, *codes[start : start + size].tolist())
            entries.append(CaseInput(f"{scale:08x}_{start:x}", words, "M10", flags))
    columns = ("ocp", "ocp+product_overflow=saturate", "ocp+product_rounding=scale_first")
    return _file("dequantize", fmt, layout, columns if layout.width < 32 else columns[:2], entries)


def _file(
    op: str,
    fmt: BlockFormat,
    layout: FloatLayout,
    columns: tuple[str, ...],
    entries: list[CaseInput],
) -> VectorFile:
    """A file with these columns; of one that is not stored with the first alone, for speed."""
    from mxref.golden.layout_cases import file_of

    if fmt.name != _STORED or layout not in _FLOATS:
        columns = columns[:1]
    digits = REGISTRY[op].digits(fmt.name, layout.name)
    return file_of(op, fmt.name, layout.name, columns, digits, entries, "N41")
