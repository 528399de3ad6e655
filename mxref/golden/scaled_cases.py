"""Cases of blocks whose scale is a small float: NVFP4 with and without the scale of its tensor."""

from __future__ import annotations

import re
from collections.abc import Callable, Iterable, Iterator, Sequence
from functools import partial

from mxref.bits.floats import BF16, F16, F32, F64, LAYOUTS, FloatLayout
from mxref.cases.grid import pattern
from mxref.cases.records import VectorFile
from mxref.formats.catalog import E2M1, UE4M3, UE5M3, ScaleFormat
from mxref.golden.case_inputs import CaseInput
from mxref.golden.four_over_six_blocks import four_over_six_blocks
from mxref.golden.layout_cases import file_of
from mxref.golden.scaled_blocks import Block, Under, blocks, scale_ties, ties_under, under_tensor
from mxref.golden.tensor_scales import between_numbers, rounded_twice
from mxref.golden.tile_blocks import code_tiles, tiles
from mxref.operations.registry import REGISTRY

__all__ = ["scaled_tasks"]

#: Arithmetics that differ from `exact` without a tensor scale, and those that are asked with one.
_FOUR_OVER_SIX = ("transformer_engine_4over6", "transformer_engine_4over6_mse")
_ARITHMETICS = ("torchao", "transformer_engine", "cublas", "compressed_tensors", *_FOUR_OVER_SIX)
_COLUMNS = ("ocp", *(f"ocp+scale_arithmetic={name}" for name in _ARITHMETICS))
_WITH_TENSOR = (*_COLUMNS[:2], *_COLUMNS[-2:])
#: Tensor scales: 1, 3, 1/3, 1/448, and one near each end of float32.
_TENSOR_SCALES = (0x3F800000, 0x40400000, 0x3EAAAAAB, 0x3B124925, 0x0D800001, 0x6F7FFFFF)
#: The two of these under which midpoints of block scales are exact: they have few bits.
_FEW_BITS = _TENSOR_SCALES[:2]
#: Tensor scales at the ends of float32, the first of them subnormal, and the neighbour of 3, with
#: block scales under which midpoints of elements are asked, and codes behind which those of scales.
_FURTHER = {
    0x00000003: ((0x60, 0x67), (0x50, 0x57, 0x7D)),
    0x00800000: ((0x03, 0x3F), (0x00, 0x07, 0x38)),
    0x7F7FFFFF: ((0x10, 0x1F), (0x00, 0x07, 0x10)),
    0x40400001: ((0x38, 0x3D), (0x07, 0x38, 0x7D)),
}
#: Codes behind which midpoints of scales are asked under the other tensor scales.
_SCALE_TIES = (0x01, 0x07, 0x38, 0x7D)
#: Of other float types fewer tensor scales. Three times the neighbour of 1/3 is a little below 1:
#: some 16-bit floats are a little above midpoints. Float16 has subnormal numbers under 2**-12;
#: under the last one of float64 numbers are beyond float32.
_OTHER_TYPES = {
    BF16: (*_FEW_BITS, 0x3EAAAAAA, *_TENSOR_SCALES[4:]),
    F16: (*_FEW_BITS, 0x3EAAAAAA, 0x39800000),
    F64: (*_TENSOR_SCALES[:3], 0x00000003, 0x7F7FFFFF),
}
#: Of a matrix with a tensor scale for each row, these and the scales of its blocks.
_ROW_TENSORS, _ROW_SCALES = _TENSOR_SCALES[:4], (0x40, 0x42)
#: Tensor scales of tiles, by the float types of their files.
_TILE_TENSORS = {F32: (0x40400000, 0x3EAAAAAB), BF16: (0x40400000, 0x3EAAAAAA)}
#: Largest magnitudes of tensors for 4 over 6: 6 * 256 * n * 2**e, with n and e.
_AMAXES = {0x44C00000: (1, 0), 0x40900000: (3, -10)}
#: Scales that codes are read under, behind a scale of the tensor.
_READ_UNDER = (0x00, 0x01, 0x07, 0x08, 0x38, 0x3B, 0x45, 0x7E, 0x7F)

Entries = list[CaseInput]


def scaled_tasks() -> Iterator[Callable[[], VectorFile]]:
    """Makers of the files of NVFP4 blocks and their like, to be quantized and dequantized."""
    yield from (partial(_quantize, name, UE4M3) for name in ("f32", "bf16"))
    yield partial(_dequantize, "f32", UE4M3)
    yield partial(_quantize_under, F32)
    yield partial(_dequantize_under, F32)
    for name in ("bf16", "f16", "f64"):
        if name != "bf16":
            yield partial(_quantize, name, UE4M3)
        yield partial(_dequantize, name, UE4M3)
        yield partial(_quantize_under, LAYOUTS[name])
        yield partial(_dequantize_under, LAYOUTS[name])
    for name in LAYOUTS:
        yield partial(_quantize, name, UE5M3)
        yield partial(_dequantize, name, UE5M3)
    for layout in _TILE_TENSORS:
        yield partial(_quantize_tiles, layout)
        yield partial(_dequantize_tiles, layout)


def _quantize(name: str, scale: ScaleFormat) -> VectorFile:
    layout = LAYOUTS[name]
    entries = _entries(blocks(Under(layout, None, scale)))
    return _file("quantize", f"fp4_{scale.name}", name, _COLUMNS, entries)


def _dequantize(name: str, scale: ScaleFormat) -> VectorFile:
    codes = tuple(range(E2M1.code_count))
    entries = [
        CaseInput(f"{one:02x}", (one, *codes), "M10", _scale_flags(one, scale))
        for one in range(scale.code_count)
    ]
    return _file("dequantize", f"fp4_{scale.name}", name, ("ocp",), entries)


def _quantize_under(layout: FloatLayout) -> VectorFile:
    entries: Entries = []
    if layout == F32:
        for tensor in _TENSOR_SCALES:
            entries += _entries(under_tensor(Under(F32, tensor)), tensor)
        for tensor, (scales, _) in _FURTHER.items():
            # A zero is no number in torchao's arithmetic if 1 / T is infinite.
            entries += _entries(ties_under(Under(F32, tensor), scales, zero=False), tensor)
        for tensor in (*_TENSOR_SCALES, *_FURTHER):
            some: Sequence[int] = _SCALE_TIES
            under = Under(F32, tensor)
            if tensor in _FEW_BITS:
                some = under.some_codes
            elif tensor in _FURTHER:
                some = _FURTHER[tensor][1]
            entries += _entries(scale_ties(under, some), tensor)
        entries += _choices()
    else:
        for tensor in _OTHER_TYPES[layout]:
            under = Under(layout, tensor)
            entries += _entries(under_tensor(under), tensor)
            entries += _entries(scale_ties(under, _SCALE_TIES), tensor)
    entries += _rows(layout)
    return _file("quantize", "nvfp4", layout.name, _WITH_TENSOR, entries)


def _rows(layout: FloatLayout) -> Entries:
    """Blocks of which each is under another tensor scale than the one before it."""
    found: Entries = []
    for code in _ROW_SCALES:
        for tensor in _ROW_TENSORS:
            _, block, flags = next(ties_under(Under(layout, tensor), (code,)))
            found += _entries([(f"row_{code:02x}", block, flags)], tensor)
    return found


def _choices() -> Entries:
    """Blocks for 4 over 6 in units of n * 2**exponent."""
    return [
        CaseInput(f"{tensor:08x}_{name}", (tensor, *words), "M9", ("near_tie",), "N45")
        for tensor, (n, exponent) in _AMAXES.items()
        for name, words in four_over_six_blocks(
            partial(_eighths, n=n, exponent=exponent), F32.sign_bit
        )
    ]


def _eighths(eighths: int, n: int, exponent: int) -> int:
    return pattern(eighths * n, exponent - 3, F32)


def _dequantize_under(layout: FloatLayout) -> VectorFile:
    codes = tuple(range(E2M1.code_count))
    pairs = [(tensor, scale) for tensor in (*_TENSOR_SCALES, *_FURTHER) for scale in _READ_UNDER]
    if layout.mantissa_bits < F32.mantissa_bits:
        pairs += between_numbers(layout)
    pairs += [(tensor, code) for code in _ROW_SCALES for tensor in _ROW_TENSORS]
    entries = [
        CaseInput(f"{tensor:08x}_{scale:02x}", (tensor, scale, *codes), "M10", _scale_flags(scale))
        for tensor, scale in pairs
    ]
    return _file("dequantize", "nvfp4", layout.name, _WITH_TENSOR, entries)


def _quantize_tiles(layout: FloatLayout) -> VectorFile:
    entries: Entries = []
    for tensor in _TILE_TENSORS[layout]:
        entries += _entries(tiles(Under(layout, tensor)), tensor)
    return _file("quantize", "nvfp4_16x16", layout.name, _WITH_TENSOR, entries)


def _dequantize_tiles(layout: FloatLayout) -> VectorFile:
    pairs = [(tensor, scale) for tensor in _TILE_TENSORS[layout] for scale in _READ_UNDER]
    if layout.mantissa_bits < F32.mantissa_bits:
        pairs += rounded_twice(layout)
    entries = [
        CaseInput(f"{tensor:08x}_{scale:02x}", (tensor, scale, *codes), "M10", _scale_flags(scale))
        for (tensor, scale), codes in zip(pairs, code_tiles(len(pairs)), strict=True)
    ]
    return _file("dequantize", "nvfp4_16x16", layout.name, _WITH_TENSOR, entries)


def _file(op: str, format: str, float: str, columns: Sequence[str], entries: Entries) -> VectorFile:
    digits = REGISTRY[op].digits(format, float)
    return file_of(op, format, float, columns, digits, entries, "N41")


def _entries(some: Iterable[Block], tensor: int | None = None) -> Entries:
    """Cases of blocks, behind the scale of a tensor if there is one."""
    first, name = ((), "") if tensor is None else ((tensor,), f"{tensor:08x}_")
    return [CaseInput(f"{name}{n}", (*first, *words), _model(n), flags) for n, words, flags in some]


def _model(name: str) -> str:
    if name.startswith("lane_"):
        return "M17"
    return "M16" if re.match("(.*_)?ties_under|sticky|far_[0-9]", name) else "M9"


def _scale_flags(scale: int, fmt: ScaleFormat = UE4M3) -> tuple[str, ...]:
    if fmt.is_nan(scale):
        return ("nan",)
    return ("scale_subnormal",) if scale < 1 << fmt.mantissa_bits else ()
