"""Operands of products under any scales, and their rows as the slow twin reads them."""

from __future__ import annotations

from typing import Any

import numpy as np

import mxref
from mxref.exact.dot import Row, Tensor, row, tensor
from mxref.formats.catalog import (
    E2M1,
    E4M3,
    E5M2,
    E8M0,
    UE4M3,
    UE5M3,
    BlockFormat,
    ElementFormat,
    ScaleFormat,
    block_format,
)

#: Elements and scales of the formats that others have, and of some that nobody has.
NAMED = {
    "nvfp4": block_format("nvfp4"),
    "fp4_ue4m3": block_format("fp4_ue4m3"),
    "fp4_ue5m3": block_format("fp4_ue5m3"),
    "fp4_e8m0": block_format("fp4_e8m0"),
    "mxfp4_e2m1": block_format("mxfp4_e2m1"),
    "mxfp8_e4m3": block_format("mxfp8_e4m3"),
    "infinities": BlockFormat("infinities", E5M2, UE4M3, 16, tensor_scale=True),
    "eights": BlockFormat("eights", E4M3, UE5M3, 8, tensor_scale=True),
    "tiles": BlockFormat("tiles", E2M1, UE4M3, (16, 16), tensor_scale=True),
    "power_tiles": BlockFormat("power_tiles", E4M3, E8M0, (32, 32)),
    "small_tiles": BlockFormat("small_tiles", E2M1, E8M0, (3, 8)),
}
#: Scales of tensors: ordinary ones, powers of two, and the ends.
FINITE = (
    (0x3B124925, "factor"),
    (0x3F800000, "factor"),
    (0x30000000, "factor"),
    (0x44E1C8F3, "divisor"),
    (0x3F800000, "divisor"),
    (0x40718A12, "amax"),
    (0x45280000, "amax"),
    (0x40718A12, "amax_256"),
    (0x00000000, "factor"),
    (0x7F800000, "divisor"),
)
SPECIAL = (
    (0x7F800000, "factor"),
    (0x7FC00000, "amax"),
    (0x00000000, "divisor"),
    (0x7F800000, "amax_256"),
)
#: Factors that make sums overflow, or would before the other one comes.
LARGE = (
    ((0x76923456, "factor"), (0x3F800000, "factor")),
    ((0x76800000, "factor"), (0x21800000, "factor")),
)
EXTREME = ((0x00000001, "factor"), (0x7F7FFFFF, "factor"), (0x007FFFFF, "divisor"))


def drawn_scales(
    fmt: ScaleFormat, shape: tuple[int, ...], draws: np.random.Generator, special: bool, spread: int
) -> np.ndarray:
    """Scale codes around 1, and few zeros; if asked few of NaN, too."""
    if fmt == E8M0:
        codes = 127 + draws.integers(-16, 17, shape)
        anything = 127 + draws.integers(-spread, spread + 1, shape)
    else:
        codes = draws.integers(1, fmt.max_code + 1, shape)
        anything = draws.integers(0, 3, shape)
    codes = np.where(draws.random(shape) < 0.1, anything, codes)
    if special:
        codes = np.where(draws.random(shape) < 0.05, fmt.nan_code, codes)
    return codes.astype(np.uint8)


def drawn_codes(
    fmt: ElementFormat, shape: tuple[int, ...], draws: np.random.Generator, *, special: bool
) -> np.ndarray:
    """Codes of all numbers; some rows are mostly zeros; if asked few others, too."""
    codes = draws.integers(0, fmt.code_count, shape)
    rare = draws.random((shape[0], 1)) < 0.3
    codes = np.where(rare & (draws.random(shape) < 0.9), 0, codes)
    if fmt.specials.value != "none":
        beyond = (codes & ~fmt.sign_bit) > fmt.max_code
        kept = draws.random(shape) < 0.02 if special else np.zeros(shape, bool)
        codes = np.where(beyond & ~kept, 1, codes)
    return codes.astype(np.uint8)


def drawn_blocks(
    name: str,
    shape: tuple[int, int],
    draws: np.random.Generator,
    of_tensor: tuple[int, str] = FINITE[0],
    special: bool = False,
    spread: int = 16,
) -> mxref.Blocks:
    """A matrix whose blocks run along its columns, or are tiles."""
    fmt = NAMED[name]
    rows, width = fmt.block_shape if len(fmt.block_shape) == 2 else (1, fmt.block_shape[0])
    counts = -(-shape[0] // rows), -(-shape[1] // width)
    scales = drawn_scales(fmt.scale, counts, draws, special, spread)
    codes = drawn_codes(fmt.element, shape, draws, special=special)
    axis: Any = (0, 1) if len(fmt.block_shape) == 2 else 1
    factor = mxref.TensorScale(*of_tensor) if fmt.tensor_scale else None
    return mxref.Blocks(codes, scales, fmt, axis, shape, tensor_scale=factor)


def last_place(second: int) -> tuple[mxref.Blocks, mxref.Blocks]:
    """Rows whose sum is 2**(-6 - second), after the largest sum of a group has come and gone."""
    codes = np.zeros((2, 128), np.uint8)
    codes[:, [*range(16), *range(64, 80)]] = 7
    codes[1, 64:80] = 15
    codes[:, 80] = 2
    scales = np.full((2, 8), 0x7E, np.uint8)
    scales[:, 5] = 0x08, 0x38 - 8 * second
    a, b = (
        mxref.Blocks(codes[n : n + 1], scales[n : n + 1], "fp4_ue4m3", 1, (1, 128)) for n in (0, 1)
    )
    return a, b


def of_tensor(blocks: mxref.Blocks) -> Tensor:
    """The scale of the tensor as the slow twin reads it."""
    scale, fmt = blocks.tensor_scale, blocks.format
    if scale is None:
        return Tensor()
    return tensor(scale.bits, scale.kind.value, fmt.element.name, fmt.scale.name)


def width_of(blocks: mxref.Blocks) -> int:
    """Elements of a row that share a scale."""
    return blocks.format.block_shape[-1]


def scales_of(blocks: mxref.Blocks) -> list[list[int]]:
    """The scale codes of each row."""
    tall = blocks.format.block_shape[0] if len(blocks.format.block_shape) == 2 else 1
    return [blocks.scale_codes[n // tall].tolist() for n in range(blocks.shape[0])]


def slow_rows(blocks: mxref.Blocks) -> list[Row]:
    """The rows of a matrix that `drawn_blocks` gave."""
    fmt = blocks.format
    codes = blocks.codes[: blocks.shape[0], : blocks.shape[1]].tolist()
    return [
        row(scales, some, fmt.element.name, width_of(blocks), fmt.scale.name, of_tensor(blocks))
        for scales, some in zip(scales_of(blocks), codes, strict=True)
    ]
