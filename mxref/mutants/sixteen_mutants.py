"""Classes C, E and G in blocks of 16 under powers of two: taken for those of MX, or of NVFP4."""

from __future__ import annotations

from functools import partial
from typing import Any

import numpy as np
from numpy.typing import NDArray

from mxref.bits.floats import U8, Floats
from mxref.formats.catalog import UE4M3
from mxref.mutants import nvfp4_mutants
from mxref.mutants.block_mutants import quantizer
from mxref.mutants.decoder import dequantizer
from mxref.mutants.mutant import DEQUANTIZED, QUANTIZED, Mutants, wrong

__all__ = ["SIXTEENS"]

Values = NDArray[Any]
Pair = tuple[U8, U8]


def _pairs(values: Values, format: str) -> Pair:
    """Each two blocks as one of 32 elements, whose scale is stored for both."""
    filled = np.concatenate([values, np.zeros_like(values[: len(values) % 2])])
    scales, codes = quantizer()(filled.reshape(-1, 2 * values.shape[1]), format)
    return np.repeat(scales, 2)[: len(values)], codes.reshape(filled.shape)[: len(values)]


def _pairs_read(scale_codes: U8, *rest: Any) -> Floats:
    """Each two blocks under the scale of the first."""
    found: Floats = dequantizer()(scale_codes[np.arange(len(scale_codes)) & ~1], *rest)
    return found


def _of_small_floats(values: Values, format: str) -> Pair:
    scales, codes = nvfp4_mutants.quantizer()(values, "fp4_ue4m3")
    return scales, codes


def _as_small_floats(scale_codes: U8, codes: U8, format: str, dtype: Any) -> Floats:
    """The seven low bits of a scale as UE4M3."""
    low = scale_codes & np.uint8(UE4M3.code_count - 1)
    found: Floats = nvfp4_mutants.dequantizer()(low, codes, "fp4_ue4m3", dtype)
    return found


_quantizes = partial(wrong, op="quantize", formats=("fp4_e8m0",), floats=QUANTIZED, model="M9")
_reads = partial(wrong, op="dequantize", formats=("fp4_e8m0",), floats=DEQUANTIZED, model="M10")

SIXTEENS: Mutants = {
    "C20f scale_is_ue4m3: stores amax / 6 as UE4M3, the other scale of FP4 in blocks of 16": (
        _quantizes(_of_small_floats)
    ),
    "E10e scale_read_as_ue4m3: reads the scale as UE4M3, the other one of FP4 in blocks of 16": (
        _reads(_as_small_floats)
    ),
    "G7d blocks_of_32: takes two blocks of 16 elements as one of 32": _quantizes(_pairs),
    "G7e blocks_of_32_read: reads two blocks, 32 elements, under the scale of the first": _reads(
        _pairs_read
    ),
}
