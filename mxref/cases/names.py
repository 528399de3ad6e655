"""Names of vector files: operation, format and float type, as verbs read them without NumPy."""

from __future__ import annotations

from collections.abc import Collection, Iterable, Mapping

from mxref.support.text import refuse_unknown

__all__ = ["NAMES", "names_of", "refuse_unknown_names", "stem_of"]

#: The parts of a vector file's name, as attributes and as options.
NAMES = ("op", "format", "float")


def names_of(stem: str) -> tuple[str, str, str]:
    """Operation, format and float type of a vector file, by its stem.

    >>> names_of("encode/e4m3.f32")
    ('encode', 'e4m3', 'f32')
    """
    op, _, rest = stem.partition("/")
    format, _, float = rest.partition(".")
    return op, format, float


def stem_of(id: str) -> str:
    """The stem of the vector file of a case, by its id.

    >>> stem_of("encode.e4m3.f32.3f800000")
    'encode/e4m3.f32'
    """
    op, _, rest = id.partition(".")
    return f"{op}/{rest.rpartition('.')[0]}"


def refuse_unknown_names(
    chosen: Mapping[str, Collection[str]],
    known: Iterable[tuple[str, str, str]],
    error: type[ValueError] = ValueError,
) -> None:
    """Refuse a chosen operation, format or float type that does not exist.

    Args:
        chosen: the chosen ones by `op`, `format` and `float`; an empty list stands for all.
        known: operations with their formats and float types. A sentence about a format names those
            of the chosen operations, one about a float type those of these formats.
        error: what to raise.

    Raises:
        ValueError: a name is not known.

    >>> known = [("encode", "e2m1", "f32"), ("pack", "e2m1", "bytes")]
    >>> refuse_unknown_names({"op": ["encode"], "format": [], "float": ["f33"]}, known)
    Traceback (most recent call last):
    ValueError: --float must be one of f32, got 'f33' (did you mean 'f32'?)
    """
    if not any(chosen[name] for name in NAMES):
        return  # to list the known ones takes time
    left = list(known)
    for i, name in enumerate(NAMES):
        refuse_unknown(f"--{name}", chosen[name], dict.fromkeys(one[i] for one in left), error)
        left = [one for one in left if not chosen[name] or one[i] in chosen[name]]
