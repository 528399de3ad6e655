"""Rows of codes for dot products, drawn and designed, and what each adder takes."""

from __future__ import annotations

import numpy as np

import mxref
from mxref.formats.catalog import ELEMENT_FORMATS
from mxref.policy.choices import Accumulation
from mxref.products.operand import Operand

ADDERS = [how for how in Accumulation if how is not Accumulation.EXACT]
FP8 = ("e5m2", "e4m3")
FORMATS = {
    **dict.fromkeys(ADDERS, tuple(ELEMENT_FORMATS)),
    Accumulation.ALIGNED_25: (*FP8, "e3m2", "e2m3", "e2m1"),
    Accumulation.ALIGNED_35: ("e2m1",),
    Accumulation.ALIGNED_13: FP8,
}
LENGTHS = (1, 2, 5, 31, 32, 33, 64, 71, 96, 130)
#: Scales of a and b: ordinary ones, the ends, sums around the exponent that a zero counts with, and
#: sums where float32 overflows.
SCALES = [
    (0x7F, 0x7F),
    (0x00, 0xFE),
    (0xFE, 0xFE),
    (0x00, 0x00),
    (0x3A, 0x3F),
    (0x01, 0x78),
    (0xFE, 0x83),
    (0xB0, 0xC4),
]

#: The last place that counts: the adder, a power, how far apart 2**power and what is subtracted
#: are, the least power that counts, and the bits with it and with half of it subtracted.
LAST_PLACES = [
    (Accumulation.ALIGNED_25, 0, 1, -25, 0x3F7FFFFF, 0x3F800000),
    (Accumulation.ALIGNED_25, 0, 32, -25, 0x3F7FFFFF, 0x3F800000),
    (Accumulation.ALIGNED_25, -149, 1, -133 - 25, 0, 1),  # zeros have the largest exponent
    (Accumulation.ALIGNED_25, -149, 32, -126 - 25, 0, 1),  # and here the subnormal sum so far
    (Accumulation.ALIGNED_35, 0, 32, -35, 0x3F7FFFFF, 0x3F800000),
    (Accumulation.ALIGNED_35, 0, 64, -35, 0x3F7FFFFF, 0x3F800000),
    (Accumulation.ALIGNED_35, -149, 32, -139 - 35, 0, 1),
    (Accumulation.ALIGNED_35, -149, 64, -126 - 35, 0, 1),
    (Accumulation.ALIGNED_13, 0, 1, -13, 0x3F7FF800, 0x3F800000),
]


def side(format: str, codes: np.ndarray, scales: np.ndarray, run: int = 32) -> Operand:
    """Rows of codes, filled with code 00 to whole runs."""
    rows, length = codes.shape
    filled = np.zeros((rows, -(-length // run) * run), np.uint8)
    filled[:, :length] = codes
    return Operand(ELEMENT_FORMATS[format], filled, scales, run, length)


def finite(format: str) -> np.ndarray:
    codes = np.arange(ELEMENT_FORMATS[format].code_count, dtype=np.uint8)
    return codes[np.isfinite(mxref.decode(codes, format))]


def ends(format: str) -> np.ndarray:
    """Both zeros, ends of the subnormals and of the normals, and 1, with both signs."""
    fmt = ELEMENT_FORMATS[format]
    one = fmt.bias << fmt.mantissa_bits
    normal = 1 << fmt.mantissa_bits
    magnitudes = np.array([0, 1, normal - 1, normal, one, fmt.max_code, fmt.max_code], np.uint8)
    return np.concatenate([magnitudes, magnitudes | fmt.sign_bit]) & np.uint8(fmt.code_count - 1)


def drawn(
    formats: tuple[str, str], length: int, rows: int, state: np.random.Generator, run: int = 32
) -> tuple[Operand, Operand]:
    """Rows of random codes, of codes at the ends, and few among zeros; the scales of SCALES."""
    sides: list[list[np.ndarray]] = [[], []]
    runs = -(-length // run)
    pairs = np.array(SCALES)[state.integers(len(SCALES), size=(2 * rows, runs))]
    pairs[:rows] = np.array(SCALES)[state.integers(len(SCALES), size=(rows, 1))]
    pairs += state.integers(-9, 10, pairs.shape) * (state.random(pairs.shape) < 0.5)
    anything = state.integers(255, size=pairs.shape)
    scales = np.where(state.random((2 * rows, 1, 1)) < 0.2, anything, np.clip(pairs, 0, 254))
    for codes, format in zip(sides, formats, strict=True):
        for pool in (finite(format), ends(format)):
            some = state.choice(pool, (rows, length))
            codes.append(np.where(state.random((rows, 1)) < 0.8, some, 0).astype(np.uint8))
        few = state.random((rows, length)) < 4 / length
        codes[1] = np.where(few | (state.random((rows, 1)) < 0.5), codes[1], 0).astype(np.uint8)
    a, b = (
        side(format, np.concatenate(codes), scales[..., place].astype(np.uint8), run)
        for place, (format, codes) in enumerate(zip(formats, sides, strict=True))
    )
    return a, b


def difference_of_powers(
    how: Accumulation, first: int, apart: int, second: int
) -> tuple[Operand, Operand]:
    """A row and a column whose product is 2**first - 2**second, with zeros between and after them.

    Within a block the codes have the difference, between blocks the scales.
    """
    codes = np.zeros((2, apart // 64 * 64 + 64), np.uint8)
    format = "e2m1" if how is Accumulation.ALIGNED_35 else "e5m2"
    one = mxref.encode([1.0], format)[0].view(np.uint8)
    codes[:, 0] = codes[:, apart] = one
    if apart < 32:
        half = (second - first) // 2
        codes[:, apart] = mxref.encode(2.0 ** np.array([half, second - first - half]), format)
    codes[1, apart] |= ELEMENT_FORMATS[format].sign_bit
    powers = [first, *[first if apart < 32 else second] * (codes.shape[1] // 32 - 1)]
    scales = np.array(
        [[power // 2 + 127 for power in powers], [-(-power // 2) + 127 for power in powers]]
    )
    a, b = (side(format, codes[i : i + 1], scales[i : i + 1].astype(np.uint8)) for i in (0, 1))
    return a, b
