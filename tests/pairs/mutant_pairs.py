"""Kernels with two or three faults: mutants of different stages of a block, drawn with a seed.

The scale is one mutant's, elements under that scale are another's, and the third is what becomes of
blocks with NaN, with infinities or of zeros.
"""

from __future__ import annotations

import random
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Any

import ml_dtypes
import numpy as np
from numpy.typing import NDArray

import mxref
from mxref.bits.floats import LAYOUTS
from mxref.mutants import Mutant, mutants_of

SEED = 20261128
BLOCKS = ("mxfp8_e5m2", "mxfp8_e4m3", "mxfp6_e3m2", "mxfp6_e2m3", "mxfp4_e2m1", "mxint8")
Values = NDArray[Any]


@dataclass(frozen=True)
class Fault:
    """A fault of one stage: its name, what is wrong in words, and what it does.

    `floats` are the float types that it is made for. `of_scales` gives scale codes of blocks;
    `of_elements` codes of quotients; `of_blocks` changes the scale codes of special blocks.
    """

    name: str
    text: str
    floats: frozenset[str] = frozenset(LAYOUTS)
    of_scales: Callable[[Values, str], Values] | None = None
    of_elements: Callable[[Values, str], Values] | None = None
    of_blocks: Callable[[Values, Values], Values] | None = None


def _of_scale(mutant: Mutant) -> Fault:
    run = mutant.run
    assert run is not None
    if mutant.op == "quantize":
        floats = frozenset(mutant.floats)
        return Fault(mutant.id, mutant.text, floats, of_scales=lambda v, f: run(v.copy(), f)[0])

    def scales(values: Values, format: str) -> Values:
        """Of finite blocks the mutant's; the right ones of others."""
        wide = values.astype(np.float64)
        finite = np.isfinite(wide).all(axis=1)
        amax = np.where(finite, np.abs(wide).max(axis=1), 1)
        dtype = np.float64 if values.dtype == np.float64 else np.float32
        found = run(amax.astype(dtype), mxref.formats.block_format(format).element.name)
        return np.where(finite, found, mxref.quantize(values, format).scale_codes[:, 0])

    # Of narrower floats it is given the largest magnitudes in float32.
    floats = frozenset(LAYOUTS) - ({"f64"} - {*mutant.floats})
    return Fault(mutant.id, mutant.text, floats, of_scales=scales)


def _of_element(mutant: Mutant) -> Fault:
    run = mutant.run
    assert run is not None
    floats = frozenset(mutant.floats) | ({"f16"} if "f32" in mutant.floats else set())
    return Fault(mutant.id, mutant.text, floats, of_elements=lambda v, element: run(v, element))


def _special(name: str, text: str, where: Callable[[Values], Values], code: int) -> Fault:
    def blocks(values: Values, scales: Values) -> Values:
        return np.where(where(values.astype(np.float64)), code, scales)

    return Fault(name, text, of_blocks=blocks)


def _has_nan(values: Values) -> Values:
    return np.isnan(values).any(axis=1)


def _has_infinity(values: Values) -> Values:
    return np.isinf(values).any(axis=1) & ~_has_nan(values)


def _is_zero(values: Values) -> Values:
    return (values == 0).all(axis=1)


SPECIALS = (
    _special("nan_00", "a block with a NaN has scale 00", _has_nan, 0x00),
    _special("nan_fe", "a block with a NaN has scale fe", _has_nan, 0xFE),
    _special("infinity_00", "a block with an infinity and no NaN has scale 00", _has_infinity, 0),
    _special("zeros_7f", "a block of zeros has scale 7f", _is_zero, 0x7F),
)


def scale_faults(format: str) -> list[Fault]:
    """Mutants of scales of a format, the lanes that amax misses among them."""
    element = mxref.formats.block_format(format).element.name
    every = [
        m
        for m in (*mutants_of("quantize"), *mutants_of("shared_scale"))
        if m.run is not None and not m.lifted_from and {format, element} & {*m.formats}
    ]
    return [_of_scale(m) for m in every if m.group[0] in "CD" or m.group in ("L1", "L2", "L3")]


def element_faults(format: str) -> list[Fault]:
    """Mutants of `encode` of a format."""
    element = mxref.formats.block_format(format).element.name
    every = (m for m in mutants_of("encode") if m.run is not None and element in m.formats)
    return [_of_element(m) for m in every]


def _quotients(values: Values, scales: Values) -> Values:
    """Elements divided by their scales in the type of the values; none becomes 0 by that.

    float32 of float16, whose range is too small.
    """
    exponents = 127 - scales.astype(np.int32)[:, np.newaxis]
    if values.dtype == np.float64:
        exact = np.ldexp(values, exponents)
        tiny = np.float64(5e-324)
    else:
        kept = np.dtype(ml_dtypes.bfloat16) if values.dtype == ml_dtypes.bfloat16 else np.float32
        with np.errstate(all="ignore"):
            exact = np.ldexp(values.astype(np.float64), exponents).astype(kept)
        tiny = np.array(1, np.uint16).view(kept) if exact.itemsize == 2 else np.float32(1e-45)
    lost = (exact == 0) & (values != 0)
    wide = np.where(lost, np.copysign(np.float64(tiny), values.astype(np.float64)), exact)
    return wide.astype(exact.dtype)


def kernel(faults: Sequence[Fault]) -> Callable[[Values, str], tuple[Values, Values]]:
    """A `quantize` that is right but for its faults."""

    def quantize(values: Values, format: str) -> tuple[Values, Values]:
        right = mxref.quantize(values, format).scale_codes[:, 0]
        scales: Values = right
        for one in faults:
            if one.of_scales is not None:
                scales = np.asarray(one.of_scales(values, format)).reshape(-1)
        for one in faults:
            if one.of_blocks is not None:
                scales = one.of_blocks(values, scales)
        scales = scales.astype(np.uint8)
        quotients = _quotients(values, np.where(scales == 255, 127, scales))
        element = mxref.formats.block_format(format).element.name
        of_elements = next((one.of_elements for one in faults if one.of_elements), mxref.encode)
        codes = np.asarray(of_elements(quotients.reshape(-1), element)).reshape(values.shape)
        return scales, codes

    return quantize


def drawn(pairs: int, triples: int) -> list[tuple[str, tuple[Fault, ...]]]:
    """Formats and faults of different stages, pairs first."""
    draw, found = random.Random(SEED), []
    for number in range(pairs + triples):
        format = draw.choice(BLOCKS)
        faults = [draw.choice(scale_faults(format)), draw.choice(element_faults(format))]
        if number >= pairs:
            faults.append(draw.choice(SPECIALS))
        found.append((format, tuple(faults)))
    return found
