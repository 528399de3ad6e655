"""Classes C, D and G on whole blocks: `quantize` gone wrong."""

from __future__ import annotations

import dataclasses
from collections.abc import Callable
from functools import partial
from typing import Any

import numpy as np
from numpy.typing import NDArray

from mxref.bits.floats import I64, U8, Parts, bits_of, floats_from, floor_log2, split
from mxref.blocks.quantization import quantize
from mxref.formats.catalog import block_format
from mxref.mutants.mutant import (
    BLOCKS,
    POWER_BLOCKS,
    QUANTIZED,
    Function,
    Mutants,
    blocks_of,
    moved_heading,
    wrong,
)
from mxref.mutants.shared_scale_mutants import SCALES, scaler
from mxref.numbers.element import encode_parts
from mxref.policy.policy import Policy

__all__ = ["QUANTIZERS", "STORED", "counted", "quantizer", "shifted", "signed_largest"]

_NAN = 0xFF
_SCALE = scaler()
Pair = tuple[U8, U8]


def largest(magnitudes: NDArray[Any], parts: Parts) -> NDArray[Any]:
    """Amax of each block as a bit pattern; NaN is above infinity, and that above all numbers."""
    top: NDArray[Any] = magnitudes.max(axis=1)
    return top


def divided(parts: Parts, codes: I64) -> Parts:
    """The elements divided by their scales."""
    exponent = parts.exponent - (codes - 127)[:, np.newaxis]
    return dataclasses.replace(parts, exponent=exponent)


def quantizer(
    *,
    amax: Callable[[NDArray[Any], Parts], NDArray[Any]] = largest,
    scale: Function = _SCALE,
    divide: Callable[[Parts, I64], Parts] = divided,
    stored: Callable[[I64], I64] = lambda codes: codes,
    policy: str = "ocp",
) -> Function:
    """A `quantize` made of these stages; the defaults are right.

    >>> scales, codes = quantizer()(np.full((1, 32), 5.0, np.float32), "mxfp4_e2m1")
    >>> scales, codes[0, :4]
    (array([127], dtype=uint8), array([6, 6, 6, 6], dtype=uint8))
    """
    element = Policy.parse(policy).element

    def quantize(values: NDArray[Any], format: str) -> Pair:
        fmt = block_format(format).element
        bits, layout = bits_of(values)
        parts = split(bits, layout)
        top = amax(bits & layout.uint.type(layout.sign_bit - 1), parts)
        scales = scale(floats_from(top, layout), fmt.name).astype(np.int64)
        codes = encode_parts(divide(parts, scales), fmt, element)
        codes[scales == _NAN] = 0
        return np.where(scales == _NAN, _NAN, stored(scales)).astype(np.uint8), codes

    return quantize


def _by_policy(**choices: Any) -> Function:
    def run(values: NDArray[Any], format: str) -> Pair:
        blocks = quantize(values, format, **choices)
        return blocks.scale_codes[:, 0], blocks.codes

    return run


def shifted(k: int) -> Callable[[I64], I64]:
    """Scale codes shifted by k, clamped to the codes of numbers."""
    return lambda codes: np.clip(codes + k, 0, 254)


def counted(k: int) -> str:
    """A shift of scale codes in words.

    >>> counted(-2), counted(1)
    ('2 codes too small', '1 code too large')
    """
    return f"{abs(k)} code{'s' if abs(k) > 1 else ''} too {'small' if k < 0 else 'large'}"


def signed_largest(magnitudes: NDArray[Any], parts: Parts) -> Any:
    """The magnitude of the largest signed number."""
    wide = magnitudes.astype(np.int64)
    return np.abs(np.where(parts.negative, -wide, wide).max(axis=1)).astype(magnitudes.dtype)


def _by_zero(parts: Parts, codes: I64, zero: I64 | NDArray[np.bool_]) -> Parts:
    """Division where some scales have become 0: x / 0 is infinite, 0 / 0 is NaN."""
    flushed = np.broadcast_to(np.asarray(zero)[:, np.newaxis], parts.significand.shape)
    nothing = (parts.significand == 0) & ~parts.is_inf
    return dataclasses.replace(
        divided(parts, codes),
        is_inf=parts.is_inf | (flushed & ~nothing),
        is_nan=parts.is_nan | (flushed & nothing),
    )


def _in_float16(parts: Parts, codes: I64) -> Parts:
    """The scale as a float16: infinite above 2**15, zero below 2**-24."""
    scaled = _by_zero(parts, codes, codes < 127 - 24)
    vanishes = (codes > 127 + 15)[:, np.newaxis]
    return dataclasses.replace(scaled, significand=np.where(vanishes, 0, scaled.significand))


def _multiplied(parts: Parts, codes: I64) -> Parts:
    return dataclasses.replace(parts, exponent=parts.exponent + (codes - 127)[:, np.newaxis])


def _flushed_result(parts: Parts, codes: I64) -> Parts:
    """Quotients below 2**-126 flushed to zero."""
    scaled = divided(parts, codes)
    tiny = floor_log2(scaled.significand) + scaled.exponent < -126
    return dataclasses.replace(scaled, significand=np.where(tiny, 0, scaled.significand))


def _two_halves(values: NDArray[Any], format: str) -> Pair:
    """Each half of a block quantized under its own scale; that of the second half is not stored."""
    run = quantizer()
    scales, first = run(values[:, :16], format)
    _, second = run(values[:, 16:], format)
    return scales, np.concatenate([first, second], axis=1)


def _columns(values: NDArray[Any], format: str) -> Pair:
    """Blocks along the columns of 32 x 32 tiles, the last tile padded with zeros."""
    rows = -(-len(values) // 32) * 32
    padded = np.zeros((rows, 32), values.dtype)
    padded[: len(values)] = values
    tiles = np.ascontiguousarray(padded.reshape(-1, 32, 32).transpose(0, 2, 1))
    scales, codes = quantizer()(tiles.reshape(-1, 32), format)
    back = codes.reshape(-1, 32, 32).transpose(0, 2, 1).reshape(-1, 32)
    return scales[: len(values)], np.ascontiguousarray(back[: len(values)])


def _neighbour(step: int) -> Function:
    """A `quantize` that stores the scale of the next or previous block, cyclically."""

    def run(values: NDArray[Any], format: str) -> Pair:
        scales, codes = quantizer()(values, format)
        return np.roll(scales, step), codes

    return run


#: Shifts of stored scales by the ids of their mutants.
STORED = {"C6q": -1, "C6r": -2, "C6s": 1}
#: Facts about mutants that only significands of amax from the whole binade catch.
_SIGNIFICANDS: dict[str, Any] = {"floats": ("f32", "bf16"), "model": "M17"}
_quantizes = partial(wrong, op="quantize", formats=POWER_BLOCKS, floats=QUANTIZED, model="M9")

QUANTIZERS: Mutants = {
    **{
        moved_heading(heading): _quantizes(
            quantizer(scale=mutant.run),
            formats=blocks_of(mutant.formats),
            **_SIGNIFICANDS if heading.startswith("C21") else {},
        )
        for heading, mutant in SCALES.items()
        if mutant.run is not None and mutant.policy == "ocp"
    },
    **{
        f"{id} stored_bias_{127 + k}: stores the scale with a bias of {127 + k}: every scale is "
        f"{counted(k)}, but not the elements": _quantizes(quantizer(stored=shifted(k)))
        for id, k in STORED.items()
    },
    "C8 signed_largest: takes the largest number, not the largest magnitude": _quantizes(
        quantizer(amax=signed_largest)
    ),
    "C9a last_element_ignored: does not see the last element": _quantizes(
        quantizer(amax=lambda magnitudes, parts: magnitudes[:, :-1].max(axis=1))
    ),
    "C9b first_element_ignored: does not see the first element": _quantizes(
        quantizer(amax=lambda magnitudes, parts: magnitudes[:, 1:].max(axis=1))
    ),
    "C9c half_block_seen: sees the first sixteen elements only": _quantizes(
        quantizer(amax=lambda magnitudes, parts: magnitudes[:, :16].max(axis=1)), formats=BLOCKS
    ),
    "C10 nan_ignored: does not see NaN, as fmax": _quantizes(_by_policy(block_nan="ignore")),
    "C11a infinity_ignored: does not see infinities": _quantizes(_by_policy(block_inf="ignore")),
    "C11b infinity_clamped: gives a block with an infinity the scale FE": _quantizes(
        _by_policy(block_inf="largest_scale")
    ),
    "D1 reciprocal_flushed: multiplies by a reciprocal, which is flushed for 2**127": _quantizes(
        _by_policy(scaling="reciprocal_flushed")
    ),
    "D2 smallest_scale_flushed: divides by 0 where the scale is 2**-127": _quantizes(
        quantizer(divide=lambda parts, codes: _by_zero(parts, codes, codes == 0)),
    ),
    "D4 subnormal_elements_flushed: reads subnormal numbers as zero": _quantizes(
        _by_policy(subnormal_inputs="flushed")
    ),
    "D4b quotients_flushed: flushes quotients below 2**-126 to zero": _quantizes(
        quantizer(divide=_flushed_result)
    ),
    "D4c quotients_in_float32: rounds a float64 to float32 before it divides": _quantizes(
        _by_policy(pre_rounding="float32"), floats=("f64",)
    ),
    "D5q scale_in_float16: holds the scale in float16": _quantizes(quantizer(divide=_in_float16)),
    "D7q multiplied_by_scale: multiplies by the scale instead of dividing": _quantizes(
        quantizer(divide=_multiplied)
    ),
    "G4 wrong_axis: runs blocks along the other axis": _quantizes(_columns, formats=BLOCKS),
    "G7 blocks_of_16: scales each half of a block by itself": _quantizes(
        _two_halves, formats=BLOCKS
    ),
    "G8 scale_of_next_block: stores the scale of the next block": _quantizes(_neighbour(-1)),
    "G8h scale_of_block_above: stores the scale of the block before in a call": _quantizes(
        _neighbour(1)
    ),
}
