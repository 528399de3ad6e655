"""``mxref explain NUMBER --format FORMAT --profiles``: each profile's code of a number."""

from __future__ import annotations

import numpy as np

from mxref.bits.floats import FloatLayout
from mxref.cli.screen import print_heading, print_text
from mxref.cli.text_tables import table_lines
from mxref.formats.catalog import E8M0, CodeFormat, ElementFormat

#: Width of the text in columns.
_WIDTH = 100


def print_profiles(
    found: dict[int | None, list[str]],
    other_floats: list[str],
    layout: FloatLayout,
    fmt: CodeFormat,
) -> None:
    """Print what `codes_of_profiles` found."""
    from mxref.operands.shown import show_code

    rows = [
        ("an error" if code is None else show_code(code, fmt), ", ".join(names))
        for code, names in found.items()
    ]
    head, *body = table_lines([(fmt.name, "profiles"), *rows], _WIDTH)
    print_heading(head[0])
    for lines in body:
        print_text(*lines)
    if other_floats:
        rest = table_lines([(f"no {layout.name}:", ", ".join(other_floats))], _WIDTH)
        print_text(*rest[0])


def codes_of_profiles(
    bits: int, layout: FloatLayout, fmt: CodeFormat
) -> tuple[dict[int | None, list[str]], list[str]]:
    """The codes that profiles give a number, each with their names, most profiles first.

    None stands for an error. The second result names the profiles that do not take the float type.

    >>> from mxref.bits.floats import F32
    >>> from mxref.formats.catalog import E5M2
    >>> sorted(codes_of_profiles(0x47700000, F32, E5M2)[0])  # 61440 is midway to 65536
    [123, 124]

    Raises:
        ValueError: no profile casts single numbers to the format.
    """
    from mxref.profiles import PROFILES

    found: dict[int | None, list[str]] = {}
    other_floats = []
    value = np.array([bits], layout.uint).view(layout.dtype)
    op = "encode_scale" if fmt is E8M0 else "encode"
    casts = isinstance(fmt, ElementFormat) or fmt is E8M0
    for name, one in PROFILES.items():
        if not casts or not one.speaks_of(op, fmt.name):
            continue
        if one.floats is not None and layout.name not in one.floats:
            other_floats.append(name)
            continue
        try:
            code = one.encode_scale(value) if fmt is E8M0 else one.encode(value, fmt.name)
            found.setdefault(int(code[0]), []).append(name)
        except ValueError:  # of a NaN that the format does not have
            found.setdefault(None, []).append(name)
    if not found:
        raise ValueError(
            "--profiles must be given with a format that profiles cast numbers to (such as e4m3, "
            f"e2m1 or e8m0), got {fmt.name}"
        )
    return dict(sorted(found.items(), key=lambda pair: -len(pair[1]))), other_floats
