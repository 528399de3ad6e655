"""Names of formats and float types as users type them: other libraries' names, capitals."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping

from mxref.formats.aliases import own_name
from mxref.formats.catalog import (
    BLOCK_FORMATS,
    ELEMENT_FORMATS,
    OTHER_BLOCK_FORMATS,
    OTHER_CODE_FORMATS,
    OTHER_FORMATS,
    SCALE_FORMATS,
)

__all__ = ["FLOATS", "FORMATS_OF", "format_of_file", "formats_of", "typed_float", "typed_format"]

_FLOATS = {
    **{f"float{bits}": f"f{bits}" for bits in (16, 32, 64)},
    **{f"fp{bits}": f"f{bits}" for bits in (16, 32, 64)},
    **{"half": "f16", "bfloat16": "bf16", "float": "f32", "single": "f32", "double": "f64"},
}

#: The float types; those of `mxref.bits.floats`, which imports NumPy.
FLOATS = ("f32", "f16", "bf16", "f64")
_ELEMENTS = (ELEMENT_FORMATS, OTHER_FORMATS)
_BLOCKS = (BLOCK_FORMATS, OTHER_BLOCK_FORMATS)
#: Those beside MX's under scales of at most 8 bits.
_SMALL = [name for name, one in OTHER_BLOCK_FORMATS.items() if one.scale.bits <= 8]
#: Those whose blocks are in rows.
_IN_ROWS = (BLOCK_FORMATS, [n for n, one in OTHER_BLOCK_FORMATS.items() if not one.is_tiled])
#: The scale formats that single numbers are converted to.
_SCALES = [name for name in SCALE_FORMATS if name == "e8m0" or name in OTHER_CODE_FORMATS]
_FNUZ = ("e4m3fnuz", "e5m2fnuz", "e4m3b11fnuz")
#: kind -> the names of formats that its verbs take, in lines; `vectors` are those with vectors.
FORMATS_OF: Mapping[str, tuple[Iterable[str], ...]] = {
    "all": (*_ELEMENTS, SCALE_FORMATS, FLOATS, *_BLOCKS),
    "explain": (*_ELEMENTS, _SCALES, *_BLOCKS),
    "blocks": _BLOCKS,
    "diff": (*_IN_ROWS, *_ELEMENTS, ("e8m0",)),
    "sweep": (*_ELEMENTS, _SCALES, BLOCK_FORMATS, _SMALL),
    "tables": (ELEMENT_FORMATS, OTHER_CODE_FORMATS),
    "fuzz": (*_ELEMENTS, _SCALES, *_BLOCKS),
    "identify": (*_ELEMENTS, _SCALES, *_BLOCKS),
    "vectors": (ELEMENT_FORMATS, _FNUZ, ("e8m0",), BLOCK_FORMATS, (*_SMALL, "fp8_e4m3_f32")),
}
_KNOWN = {name for formats in (*_ELEMENTS, SCALE_FORMATS, *_BLOCKS) for name in formats}


def formats_of(kind: str) -> Iterator[Iterable[str]]:
    """The names of formats that verbs of a kind take, in lines.

    >>> [" ".join(line) for line in formats_of("blocks")][1]
    'nvfp4 fp4_ue4m3 fp4_ue5m3 fp4_e8m0 nvfp4_16x16 fp8_e4m3_f32 fp8_e4m3_f32_128x128 \
fp8_e5m2_f32 fp8_e5m2_f32_128x128'
    """
    yield from FORMATS_OF[kind]
    if kind in ("fuzz", "identify", "vectors"):
        from mxref.operations.product_words import PAIRS

        yield PAIRS
    if kind in ("fuzz", "vectors"):
        from mxref.operations.registry import CALL_OPERATIONS

        yield dict.fromkeys(name for one in CALL_OPERATIONS.values() for name in one.formats)


def typed_format(parameter: str, name: str) -> str:
    """The name that mxref has for a format; an unknown name as it is.

    Raises:
        ValueError: a name of several formats, or a dtype that is none.

    >>> typed_format("--format", "torch.float8_e4m3fn"), typed_format("--format", "MXFP4")
    ('e4m3', 'mxfp4_e2m1')
    >>> typed_format("--format", "E4M3"), typed_format("--format", "e4m4")
    ('e4m3', 'e4m4')
    """
    if name in _KNOWN:
        return name
    from mxref.operations.registry import CALL_OPERATIONS

    if parameter == "--format" and any(name in one.formats for one in CALL_OPERATIONS.values()):
        return name  # of an operation on integers
    for typed in (name, name.lower()):
        own: str = own_name(parameter, typed)
        if own in _KNOWN:
            return own
    return name


def format_of_file(parameter: str, name: str) -> str:
    """`typed_format`, for options that name files: formats of integer operations are known, too.

    Raises:
        ValueError: as `typed_format`.

    >>> format_of_file("--format", "int4"), format_of_file("--format", "MXFP4")
    ('int4', 'mxfp4_e2m1')
    """
    try:
        return typed_format(parameter, name)
    except ValueError:
        from mxref.operations.registry import CALL_OPERATIONS

        if not any(name in one.formats for one in CALL_OPERATIONS.values()):
            raise
        return name


def typed_float(name: str) -> str:
    """The name that mxref has for a float type; an unknown name as it is.

    >>> typed_float("torch.bfloat16"), typed_float("FP32"), typed_float("f33")
    ('bf16', 'f32', 'f33')
    """
    bare = name.lower().rpartition(".")[2]
    return _FLOATS.get(bare, bare if bare in FLOATS else name)
