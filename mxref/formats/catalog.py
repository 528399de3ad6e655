"""The OCP element, scale and block formats, from their defining constants.

Only what a standard defines is stored; every other property is derived from it. Values are Python
floats (binary64), in which every value of every format here is exact.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import TypeVar

from mxref.formats.aliases import own_name
from mxref.formats.base import CodeFormat, ElementFormat, Specials
from mxref.formats.block import BlockFormat, ScaleFormat, ScaleKind
from mxref.support.text import unknown_name

__all__ = [
    "BINARY8P1UF",
    "BINARY8P3",
    "BINARY8P3UE",
    "BINARY8P4",
    "BINARY8P4UE",
    "BLOCK_FORMATS",
    "CODE_FORMATS",
    "E1M2",
    "E2M1",
    "E2M3",
    "E3M2",
    "E3M4",
    "E4M3",
    "E4M3B11FNUZ",
    "E4M3FNUZ",
    "E4M3_IEEE",
    "E5M0",
    "E5M2",
    "E5M2FNUZ",
    "E8M0",
    "ELEMENT_FORMATS",
    "F32",
    "FLOAT_SCALED_FORMATS",
    "INT8",
    "MX_BLOCKS",
    "MX_ELEMENTS",
    "OTHER_BLOCKS",
    "OTHER_BLOCK_FORMATS",
    "OTHER_CODE_FORMATS",
    "OTHER_FORMATS",
    "OWN_FORMATS",
    "SCALE_FORMATS",
    "UE4M3",
    "UE5M3",
    "BlockFormat",
    "CodeFormat",
    "ElementFormat",
    "ScaleFormat",
    "ScaleKind",
    "Specials",
    "block_format",
    "code_format",
    "element_format",
    "scale_format",
]


_F = TypeVar("_F")

E5M2 = ElementFormat("e5m2", 5, 2, 15, Specials.IEEE, dtype_name="float8_e5m2")
E4M3 = ElementFormat("e4m3", 4, 3, 7, Specials.TOP_CODE_NAN, dtype_name="float8_e4m3fn")
E3M2 = ElementFormat("e3m2", 3, 2, 3, dtype_name="float6_e3m2fn")
E2M3 = ElementFormat("e2m3", 2, 3, 1, dtype_name="float6_e2m3fn")
E2M1 = ElementFormat("e2m1", 2, 1, 1, dtype_name="float4_e2m1fn")
INT8 = ElementFormat("int8", 1, 6, 1, twos_complement=True, dtype_name="int8")
E8M0 = ScaleFormat(
    "e8m0", 8, 0, 127, Specials.TOP_CODE_NAN, subnormals=False, dtype_name="float8_e8m0fnu"
)

E4M3FNUZ = ElementFormat("e4m3fnuz", 4, 3, 8, Specials.FNUZ, dtype_name="float8_e4m3fnuz")
E5M2FNUZ = ElementFormat("e5m2fnuz", 5, 2, 16, Specials.FNUZ, dtype_name="float8_e5m2fnuz")
E4M3B11FNUZ = ElementFormat("e4m3b11fnuz", 4, 3, 11, Specials.FNUZ, dtype_name="float8_e4m3b11fnuz")
E3M4 = ElementFormat("e3m4", 3, 4, 3, Specials.IEEE, dtype_name="float8_e3m4")
E4M3_IEEE = ElementFormat("e4m3_ieee", 4, 3, 7, Specials.IEEE, dtype_name="float8_e4m3")
E1M2 = ElementFormat("e1m2", 1, 2, 1)
BINARY8P3 = ElementFormat("binary8p3", 5, 2, 16, Specials.P3109)
BINARY8P4 = ElementFormat("binary8p4", 4, 3, 8, Specials.P3109)
E5M0 = ScaleFormat("e5m0", 5, 0, 15, Specials.TOP_CODE_NAN, subnormals=False)
UE4M3 = ScaleFormat("ue4m3", 4, 3, 7, Specials.TOP_CODE_NAN)
UE5M3 = ScaleFormat("ue5m3", 5, 3, 15, Specials.TOP_CODE_NAN)
F32 = ScaleFormat("f32", 8, 23, 127, Specials.IEEE, dtype_name="float32")
BINARY8P1UF = ScaleFormat("binary8p1uf", 8, 0, 128, Specials.TOP_CODE_NAN)
BINARY8P3UE = ScaleFormat("binary8p3ue", 6, 2, 32, Specials.INF_BELOW_NAN)
BINARY8P4UE = ScaleFormat("binary8p4ue", 5, 3, 16, Specials.INF_BELOW_NAN)

#: The element formats of the standard by name, in its order.
ELEMENT_FORMATS: Mapping[str, ElementFormat] = {
    f.name: f for f in (E5M2, E4M3, E3M2, E2M3, E2M1, INT8)
}
#: Element formats of other standards and vendors. Source: SPEC_NOTES, Formats.
OTHER_FORMATS: Mapping[str, ElementFormat] = {
    f.name: f
    for f in (E4M3FNUZ, E5M2FNUZ, E4M3B11FNUZ, E3M4, E4M3_IEEE, E1M2, BINARY8P3, BINARY8P4)
}
#: Scale formats by name. Source: OCP MX v1.0 Table 7; of the others SPEC_NOTES, Formats.
SCALE_FORMATS: Mapping[str, ScaleFormat] = {
    f.name: f for f in (E8M0, E5M0, UE4M3, UE5M3, BINARY8P1UF, BINARY8P3UE, BINARY8P4UE)
}
#: Formats beside those of the standard that `encode` and `decode` take. A target is asked them
#: only where it names them.
OTHER_CODE_FORMATS: Mapping[str, CodeFormat] = {
    **OTHER_FORMATS,
    **{name: fmt for name, fmt in SCALE_FORMATS.items() if fmt.subnormals},
}
#: All formats that `encode` and `decode` take.
CODE_FORMATS: Mapping[str, CodeFormat] = {**ELEMENT_FORMATS, **OTHER_CODE_FORMATS}
#: The six concrete MX formats by name. Source: OCP MX v1.0 Table 1.
BLOCK_FORMATS: Mapping[str, BlockFormat] = {
    name: BlockFormat(name, element, E8M0, 32)
    for name, element in (
        ("mxfp8_e5m2", E5M2),
        ("mxfp8_e4m3", E4M3),
        ("mxfp6_e3m2", E3M2),
        ("mxfp6_e2m3", E2M3),
        ("mxfp4_e2m1", E2M1),
        ("mxint8", INT8),
    )
}
#: FP8 under float32 scales, by name: every 128 elements along an axis, or a tile of 128 x 128.
#: Source: SPEC_NOTES, Formats.
FLOAT_SCALED_FORMATS: Mapping[str, BlockFormat] = {
    f.name: f
    for element in (E4M3, E5M2)
    for f in (
        BlockFormat(f"fp8_{element.name}_f32", element, F32, 128),
        BlockFormat(f"fp8_{element.name}_f32_128x128", element, F32, (128, 128)),
    )
}
#: Block formats of others by name: with a scale of four or five exponent bits and a fraction, every
#: 16 elements; `nvfp4` has a float32 scale of the whole tensor, too; `fp4_e8m0` is `mxfp4_e2m1` in
#: blocks of 16, `nvfp4_16x16` is `nvfp4` in tiles; and those of float32 scales. Source: SPEC_NOTES,
#: Formats.
OTHER_BLOCK_FORMATS: Mapping[str, BlockFormat] = {
    f.name: f
    for f in (
        BlockFormat("nvfp4", E2M1, UE4M3, 16, tensor_scale=True),
        BlockFormat("fp4_ue4m3", E2M1, UE4M3, 16),
        BlockFormat("fp4_ue5m3", E2M1, UE5M3, 16),
        BlockFormat("fp4_e8m0", E2M1, E8M0, 16),
        BlockFormat("nvfp4_16x16", E2M1, UE4M3, (16, 16), tensor_scale=True),
        *FLOAT_SCALED_FORMATS.values(),
    )
}
#: The names of the formats of the standard, whatever is registered beside them.
MX_ELEMENTS, MX_BLOCKS = tuple(ELEMENT_FORMATS), tuple(BLOCK_FORMATS)
#: The names of the other block formats of mxref, likewise.
OTHER_BLOCKS = tuple(OTHER_BLOCK_FORMATS)
#: Formats of a user, while `registered` lasts; they are in the tables above as well.
OWN_FORMATS: Mapping[str, ElementFormat | ScaleFormat | BlockFormat] = {}


def element_format(name: str | ElementFormat) -> ElementFormat:
    """The element format of that name; an `ElementFormat` is returned as it is.

    >>> element_format("e2m1").max_normal
    6.0

    Raises:
        ValueError: the name is unknown; the sentence suggests the nearest one.
        TypeError: neither a string nor an `ElementFormat`.
    """
    if isinstance(name, ElementFormat):
        return name
    name = own_name("format", name)
    if isinstance(name, str) and name in {**BLOCK_FORMATS, **OTHER_BLOCK_FORMATS}:
        wanted = block_format(name).element.name
        raise ValueError(
            f"format must be an element format, got the block format {name!r}: use {wanted!r}"
        )
    if isinstance(name, str) and name in SCALE_FORMATS:
        raise ValueError(f"format must be an element format, got the scale format {name!r}")
    return _look_up("format", name, {**ELEMENT_FORMATS, **OTHER_FORMATS}, "an element format")


def code_format(name: str | CodeFormat) -> CodeFormat:
    """The element or unsigned float format of that name: what `encode` and `decode` take.

    >>> code_format("ue4m3").max_normal, code_format("e4m3fnuz").nan_codes
    (448.0, (128,))

    Raises:
        ValueError: the name is unknown, or the format has no zero (E8M0 and its like).
        TypeError: neither a string nor a format.
    """
    fmt: CodeFormat
    if isinstance(name, CodeFormat):
        fmt = name
    else:
        known = own_name("format", name)
        is_scale = isinstance(known, str) and known in SCALE_FORMATS
        fmt = scale_format(known) if is_scale else element_format(known)
    if fmt.bits > 8:
        raise ValueError(f"format must have at most 8 bits, got {fmt.name} with {fmt.bits}")
    if not fmt.subnormals:
        its = "encode_scale and decode_scale" if fmt == E8M0 else "it as the scale of a BlockFormat"
        raise ValueError(f"format must have a zero, got {fmt.name}: use {its}")
    return fmt


def scale_format(name: str | ScaleFormat) -> ScaleFormat:
    """The scale format of that name; a `ScaleFormat` is returned as it is.

    >>> scale_format("e8m0").bias
    127

    Raises:
        ValueError: the name is unknown.
        TypeError: neither a string nor a `ScaleFormat`.
    """
    if isinstance(name, ScaleFormat):
        return name
    name = own_name("format", name)
    if isinstance(name, str) and name in {**ELEMENT_FORMATS, **OTHER_FORMATS}:
        raise ValueError(f"format must be a scale format, got the element format {name!r}")
    return _look_up("format", name, {**SCALE_FORMATS, F32.name: F32}, "a scale format")


def block_format(name: str | BlockFormat) -> BlockFormat:
    """The block format of that name; a `BlockFormat` is returned as it is.

    >>> block_format("mxint8").element.name
    'int8'

    Raises:
        ValueError: the name is unknown; for an element format the sentence names its block format.
        TypeError: neither a string nor a `BlockFormat`.
    """
    if isinstance(name, BlockFormat):
        return name
    name = own_name("block_format", name)
    known = {**BLOCK_FORMATS, **OTHER_BLOCK_FORMATS}
    if isinstance(name, str) and name in ELEMENT_FORMATS:
        blocks = [block.name for block in known.values() if block.element.name == name]
        use = f": use {blocks[0]!r}" if blocks else ""
        raise ValueError(
            f"block_format must be a block format, got the element format {name!r}{use}"
        )
    return _look_up("block_format", name, known, "a block format")


def _look_up(parameter: str, name: object, known: Mapping[str, _F], kind: str) -> _F:
    if not isinstance(name, str):
        raise TypeError(f"{parameter} must be {kind} or its name, got {type(name).__name__}")
    if name not in known:
        raise ValueError(unknown_name(parameter, name, known))
    return known[name]
