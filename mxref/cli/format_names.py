"""Names of formats as users type them: of other libraries, and in capital letters."""

from __future__ import annotations

from mxref.formats.aliases import own_name
from mxref.formats.catalog import (
    BLOCK_FORMATS,
    ELEMENT_FORMATS,
    OTHER_BLOCK_FORMATS,
    OTHER_FORMATS,
    SCALE_FORMATS,
)

__all__ = ["typed_format"]

_KNOWN = {
    name
    for formats in (
        *(ELEMENT_FORMATS, SCALE_FORMATS, OTHER_FORMATS),
        *(BLOCK_FORMATS, OTHER_BLOCK_FORMATS),
    )
    for name in formats
}


def typed_format(parameter: str, name: str) -> str:
    """The name that a format has here; an unknown one as it is.

    Raises:
        ValueError: a name of several formats, or a dtype that is none.

    >>> typed_format("--format", "torch.float8_e4m3fn"), typed_format("--format", "MXFP4")
    ('e4m3', 'mxfp4_e2m1')
    >>> typed_format("--format", "E4M3"), typed_format("--format", "e4m4")
    ('e4m3', 'e4m4')
    """
    for typed in (name, name.lower()):
        own: str = own_name(parameter, typed)
        if own in _KNOWN:
            return own
    return name
