"""Formats of a user, known by their names to every look-up while a scope lasts."""

from __future__ import annotations

import contextlib
import re
from collections.abc import Iterator
from typing import Any, Final, TypeAlias, cast

from mxref.formats.aliases import own_name
from mxref.formats.catalog import (
    BLOCK_FORMATS,
    CODE_FORMATS,
    ELEMENT_FORMATS,
    OTHER_BLOCK_FORMATS,
    OTHER_CODE_FORMATS,
    OWN_FORMATS,
    SCALE_FORMATS,
    BlockFormat,
    ElementFormat,
    ScaleFormat,
    code_format,
)

__all__ = ["KINDS", "OwnFormat", "registered"]

OwnFormat: TypeAlias = ElementFormat | ScaleFormat | BlockFormat
#: The classes of formats that a user may define.
KINDS = ElementFormat, ScaleFormat, BlockFormat

#: Names that vectors, files and reports can have.
_NAME = re.compile("[a-z][a-z0-9_]*")
#: Elements of a block at most: a case of the vectors has as many words.
_LARGEST = 1024
#: Exponents of the smallest and the largest number.
_FLOAT32 = -80, 80
#: Formats that were registered, by name: tables are kept by name as long as the process runs.
_REGISTERED: Final[dict[str, OwnFormat]] = {}


@contextlib.contextmanager
def registered(*formats: OwnFormat) -> Iterator[None]:
    """Let everything know formats of a user by their names while the context lasts.

    The formats of a block's elements and scales are registered with it.

    Raises:
        ValueError: a name that stands for another format, or cannot be one of a vector file; a
            format with more than 8 bits, without a zero or with numbers beyond float32; blocks of
            several axes, or of an odd number of elements.
        TypeError: no format.

    >>> from mxref import formats
    >>> e3m1 = formats.ElementFormat("e3m1", 3, 1, 3)
    >>> with formats.registered(formats.BlockFormat("mxe3m1", e3m1, formats.E8M0, 16)):
    ...     formats.block_format("mxe3m1").bits_per_block, formats.element_format("e3m1").max_normal
    (88, 24.0)
    >>> with formats.registered(formats.ElementFormat("e2m1", 2, 1, 2)):
    ...     pass
    Traceback (most recent call last):
    ValueError: a format must have a name of its own, got 'e2m1', which stands for another one
    """
    every = [part for fmt in formats for part in _parts(fmt)]
    known: dict[str, object] = {**CODE_FORMATS, **SCALE_FORMATS, **_REGISTERED}
    known |= {**BLOCK_FORMATS, **OTHER_BLOCK_FORMATS}
    for fmt in every:
        if known.setdefault(fmt.name, fmt) != fmt or _means_more(fmt.name):
            raise ValueError(
                f"a format must have a name of its own, got {fmt.name!r}, which stands for another "
                "one"
            )
    with contextlib.ExitStack() as scope:
        for fmt in every:
            tables = _tables(fmt)
            if fmt.name in tables[0]:  # of the catalogue, or registered around this scope
                continue
            _refuse(fmt)
            _REGISTERED[fmt.name] = fmt
            for table in (*tables, cast("dict[str, OwnFormat]", OWN_FORMATS)):
                table[fmt.name] = fmt
                scope.callback(table.pop, fmt.name)
        yield


def _parts(fmt: OwnFormat) -> tuple[OwnFormat, ...]:
    """A format, after those of a block's elements and scales."""
    if isinstance(fmt, BlockFormat):
        return fmt.element, fmt.scale, fmt
    if isinstance(fmt, ElementFormat | ScaleFormat):
        return (fmt,)
    raise TypeError(
        "a format must be an ElementFormat, a ScaleFormat or a BlockFormat, got "
        f"{type(fmt).__name__}"
    )


def _means_more(name: str) -> bool:
    """Whether a name is that of a dtype, or of several formats."""
    try:
        return bool(own_name("format", name) != name)
    except ValueError:
        return True


def _tables(fmt: OwnFormat) -> tuple[Any, ...]:
    """The tables in which its name is looked up; the first has every format of its kind."""
    if isinstance(fmt, BlockFormat):
        return (BLOCK_FORMATS if fmt.scale.is_power else OTHER_BLOCK_FORMATS,)
    if isinstance(fmt, ElementFormat):
        return CODE_FORMATS, ELEMENT_FORMATS, OTHER_CODE_FORMATS
    return SCALE_FORMATS, *(OTHER_CODE_FORMATS, CODE_FORMATS) * fmt.subnormals


def _refuse(fmt: OwnFormat) -> None:
    """Refuse a format that nothing can be asked about.

    Raises:
        ValueError: see `registered`.
    """
    if not _NAME.fullmatch(fmt.name):
        raise ValueError(
            "a format must have a name of lower-case letters, digits and _, a letter first, got "
            f"{fmt.name!r}"
        )
    if isinstance(fmt, BlockFormat):
        size = fmt.block_size
        if not isinstance(size, int) or size > _LARGEST or size % 2:
            raise ValueError(
                f"{fmt.name} must have blocks of 2, 4, 6 ... or {_LARGEST} elements along one "
                f"axis, got {size}"
            )
    elif not (isinstance(fmt, ScaleFormat) and fmt.is_power):
        code_format(fmt)
        if fmt.max_code < max((2 << fmt.mantissa_bits) - 1, 3):
            raise ValueError(
                f"{fmt.name} must have three numbers above zero and a whole binade of normal ones: "
                "give it more exponent bits"
            )
        if fmt.emin - fmt.mantissa_bits < _FLOAT32[0] or fmt.emax > _FLOAT32[1]:
            raise ValueError(
                f"{fmt.name} must have numbers from 2**{_FLOAT32[0]} to 2**{_FLOAT32[1]}, so that "
                f"float32 holds them and what is between them, got a bias of {fmt.bias}"
            )
