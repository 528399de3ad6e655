"""Which formats of a user the slow twin knows: the answers to others are the fast path's alone."""

from __future__ import annotations

from collections.abc import Iterable, Iterator

from mxref.formats.catalog import OWN_FORMATS, BlockFormat

__all__ = ["notes_on_references", "one_reference"]


def one_reference(format: str) -> bool:
    """Whether the twin has no table of a format, or of the parts of a block format.

    >>> from mxref import exact, formats
    >>> fmt = formats.ElementFormat("an_e3m1", 3, 1, 3)
    >>> with formats.registered(fmt):
    ...     one_reference("an_e3m1"), one_reference("e4m3")
    (True, False)
    """
    fmt = OWN_FORMATS.get(format)
    if fmt is None:
        return False
    from mxref import exact  # of which most questions need nothing

    parts = (fmt.element, fmt.scale) if isinstance(fmt, BlockFormat) else (fmt,)
    return not all(exact.knows(part.name) for part in parts)


def notes_on_references(formats: Iterable[str]) -> Iterator[str]:
    """What a report says of those formats that have one reference; nothing where all have two."""
    some = sorted(filter(one_reference, set(formats)))
    if some:
        yield (
            f"one reference: what is right in {', '.join(some)} says the fast path alone, since "
            "the slow twin has no table of it (FORMAT_VALUES)"
        )
