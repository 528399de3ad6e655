"""Choices of decoding, and of how codes are laid out; see `mxref.policy.choices`."""

from __future__ import annotations

from mxref.policy.choice import CONTRADICTS, PERMITTED, REQUIRED, SILENT, Choice

__all__ = [
    "DecodedZero",
    "FP4Packing",
    "FP6Packing",
    "ProductOverflow",
    "ProductRounding",
    "Scale00",
    "ScaleByte",
    "ScaleFF",
    "ScaleLayout",
    "ScalePlace",
    "Tail",
]


class Scale00(Choice):
    """The value of scale code 00. Source: SPEC_NOTES N22."""

    POWER = "power", REQUIRED  #: 2**-127
    ZERO = "zero", CONTRADICTS  #: 0, and so every element


class ScaleFF(Choice):
    """The value of scale code FF. Source: SPEC_NOTES N22."""

    NAN = "nan", REQUIRED  #: NaN, and so every element
    INF = "inf", CONTRADICTS  #: infinity: elements become infinities, zeros NaN
    POWER = "power", CONTRADICTS  #: 2**128


class ProductOverflow(Choice):
    """The result for scale times element beyond the output type. Source: SPEC_NOTES N20."""

    INF = "inf", PERMITTED  #: infinity with the sign of the product
    NAN = "nan", PERMITTED  #: NaN
    SATURATE = "saturate", PERMITTED  #: the largest finite number of the type


class ProductRounding(Choice):
    """The rounding of scale times element. Source: SPEC_NOTES N21."""

    ONCE = "once", SILENT  #: the exact product
    SCALE_FIRST = "scale_first", SILENT  #: the scale first, then the product


class DecodedZero(Choice):
    """Whether a decoded zero keeps its sign. Source: SPEC_NOTES N25."""

    KEPT = "kept", SILENT  #: -0 is read as -0
    DROPPED = "dropped", SILENT  #: -0 is read as +0


class Tail(Choice):
    """The end of an axis that is shorter than a block. Source: SPEC_NOTES N29."""

    ZERO_PADDED = "zero_padded", SILENT  #: filled up with +0, whose codes are stored
    SHORT = "short", SILENT  #: a shorter last block
    REFUSED = "refused", SILENT  #: a ValueError


class FP4Packing(Choice):
    """The place of 4-bit codes in bytes. Source: SPEC_NOTES N32."""

    LOW_NIBBLE_FIRST = "low_nibble_first", PERMITTED  #: code 2j low, code 2j + 1 high
    HIGH_NIBBLE_FIRST = "high_nibble_first", PERMITTED  #: code 2j high, code 2j + 1 low
    HALVES = "halves", PERMITTED  #: in each block code j low, code j + block_size / 2 high
    MIDDLE_BITS = "middle_bits", PERMITTED  #: one to a byte, in its bits 5 to 2
    BYTE_EACH = "byte_each", PERMITTED  #: one to a byte, in its low bits


class FP6Packing(Choice):
    """The place of 6-bit codes in bytes, four in three or one in one. Source: SPEC_NOTES N32.

    `hi` and `lo` are the upper and lower bits of a code; a byte is written from its top bit.
    """

    LSB_FIRST = "lsb_first", PERMITTED  #: code i in bits 6i to 6i + 5, counted from the first byte
    QUARK = "quark", PERMITTED  #: hi2 of codes 0 1 2 3; lo4 of 0 1; lo4 of 2 3
    TORCHAO_PLANAR = "torchao_planar", PERMITTED  #: in each block all hi4 of 0 1, of 2 3, all lo2
    TORCHAO_QUADS = "torchao_quads", PERMITTED  #: hi4 of 0 1; hi4 of 3 2; lo2 of 0 1 3 2
    BYTE_EACH = "byte_each", PERMITTED  #: one to a byte, in its low bits


class ScalePlace(Choice):
    """The place of the scale of a block. Source: SPEC_NOTES N32."""

    SEPARATE = "separate", PERMITTED  #: in an array of its own
    BEFORE = "before", PERMITTED  #: the byte before the elements of its block
    AFTER = "after", PERMITTED  #: the byte after them


class ScaleByte(Choice):
    """The byte of an E8M0 scale beside its elements. Source: SPEC_NOTES N32."""

    BIASED = "biased", REQUIRED  #: the E8M0 code
    SIGNED = "signed", CONTRADICTS  #: the exponent in two's complement; NaN 80


class ScaleLayout(Choice):
    """The order in which a matrix of scales is stored. Source: SPEC_NOTES N32."""

    ROW_MAJOR = "row_major", PERMITTED  #: row by row
    TILES_128X4 = "tiles_128x4", PERMITTED  #: tiles of 128 x 4 in 512 bytes, filled up with 00
    TILES_8X4 = "tiles_8x4", PERMITTED  #: tiles of 8 x 4, each row by row
    MN_MAJOR_WORDS = "mn_major_words", PERMITTED  #: four columns a word, words down 4 n rows
    TILES_GFX950 = "tiles_gfx950", PERMITTED  #: tiles of 32 x 8, rows filled up to 256
    TILES_32X8 = "tiles_32x8", PERMITTED  #: the same tiles, rows filled up to 32
    TILES_HOPPER_4 = "tiles_hopper_4", PERMITTED  #: for four warps, filled up to 128 x 2
    TILES_HOPPER_8 = "tiles_hopper_8", PERMITTED  #: for eight warps, filled up to 256 x 2
    TILES_16X16 = "tiles_16x16", PERMITTED  #: aiter's order of the bytes of weights
