"""The output of ``mxref diff`` for two profiles that cast single numbers."""

from __future__ import annotations

import json
from typing import TYPE_CHECKING

from mxref.bits.floats import F32, FloatLayout
from mxref.cli.screen import print_table
from mxref.support.text import short_number

if TYPE_CHECKING:
    from mxref.conformance.differing.cast_difference import CastDifference

__all__ = ["figures_on_data", "number", "print_casts"]


def print_casts(found: CastDifference, skipped: list[dict[str, str]], *, as_json: bool) -> None:
    """Print the differences in casts, as tables or as JSON."""
    if as_json:
        print(json.dumps({**_as_json(found), "skipped": skipped}, indent=1))
        return
    a, b, layout = found.a, found.b, found.layout
    count = len(found.examples) + len(found.readings)
    kinds = f"{count} kind{'s' * (count != 1)} of difference" if count else "no difference"
    every = "all " * (found.tried == 1 << layout.width)
    tried = f" in {every}{found.tried} numbers of {layout.name}" if found.tried else ""
    print(f"{a} and {b}, casts to {found.format.name}: {kinds}{tried}")
    for note in found.notes:
        print(note)
    if found.examples:
        print()
        rows: list[tuple[str, ...]] = []
        for one in found.examples:
            sides = (
                _made(code, own, other, reader)
                for code, own, other, reader in zip(
                    one.codes, one.own, one.other, (b, a), strict=True
                )
            )
            rows.append((one.kind, number(one.word, layout), *sides, str(one.count)))
        print_table(("casting", "number", a, b, "numbers"), rows)
    if found.readings:
        print()
        rows = [
            (one.kind, f"{one.code:02x}", number(one.a, F32), number(one.b, F32), str(one.count))
            for one in found.readings
        ]
        print_table(("reading", "code", a, b, "codes"), rows)
    else:
        print("\nreading: both read every code alike")
    if found.figures:
        print()
        print_table(*figures_on_data(found))


def figures_on_data(found: CastDifference) -> tuple[tuple[str, ...], list[tuple[str, ...]]]:
    """The header and the rows of figures on data; both are empty without data."""
    shares = {
        "numbers with another code": [one.other_code for one in found.figures],
        "numbers with another value": [one.other_value for one in found.figures],
    }
    rows = [(label, *(f"{100 * one:.3g} %" for one in some)) for label, some in shares.items()]
    return ("on data", *(one.data for one in found.figures)), rows if found.figures else []


def _made(code: int | None, own: int, other: int, reader: str) -> str:
    """A code with the number that its own side reads, and that of the other side if it differs.

    >>> _made(0x7F, 0x43F00000, 0x7FC00000, "ocp")
    '7f = 480 (ocp reads nan)'
    """
    if code is None:
        return "an error"
    mine, others = number(own, F32), number(other, F32)
    return f"{code:02x} = {mine}" + f" ({reader} reads {others})" * (mine != others)


def number(word: int, layout: FloatLayout) -> str:
    """A pattern's number in decimal if it is short, else in hexadecimal; for NaN its pattern.

    >>> number(0x3F800000, F32), number(0x00400000, F32), number(0xFFC00000, F32)
    ('1', '0x1p-127', 'nan ffc00000')
    """
    from mxref.conformance.differing.sides import numbers_of_words

    (value,) = numbers_of_words((word,), layout)
    if value != value and word != layout.nan_bits:
        return f"nan {word:0{layout.width // 4}x}"
    return short_number(value)


def _as_json(found: CastDifference) -> dict[str, object]:
    digits = found.layout.width // 4
    return {
        "a": found.a,
        "b": found.b,
        "format": found.format.name,
        "float": found.layout.name,
        "numbers": found.tried,
        "notes": list(found.notes),
        "casting": [
            {
                "kind": one.kind,
                "numbers": one.count,
                "in": f"{one.word:0{digits}x}",
                "a": _side(one.codes[0], one.own[0], one.other[0]),
                "b": _side(one.codes[1], one.own[1], one.other[1]),
            }
            for one in found.examples
        ],
        "reading": [
            {
                "kind": one.kind,
                "codes": one.count,
                "code": f"{one.code:02x}",
                "a": f"{one.a:08x}",
                "b": f"{one.b:08x}",
            }
            for one in found.readings
        ],
        "data": [
            {
                "data": one.data,
                "numbers": one.numbers,
                "other_code": one.other_code,
                "other_value": one.other_value,
            }
            for one in found.figures
        ],
    }


def _side(code: int | None, own: int, other: int) -> dict[str, object]:
    if code is None:
        return {"error": True}
    return {"code": f"{code:02x}", "read": f"{own:08x}", "read_by_the_other": f"{other:08x}"}
