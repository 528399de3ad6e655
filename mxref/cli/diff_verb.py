"""``mxref diff``: the differences between two profiles in a block format."""

from __future__ import annotations

import argparse
import json
import math
from pathlib import Path
from typing import TYPE_CHECKING, Any

from mxref.cli.screen import (
    Verbs,
    add_json_argument,
    add_vectors_argument,
    new_parser,
    print_table,
)
from mxref.support.text import hex_float

if TYPE_CHECKING:
    from mxref.conformance.differing.difference import Bytes, Difference
    from mxref.conformance.differing.figures import DataFigures

#: Number of elements of a block that are shown.
_SHOWN = 4


_NOTES = """\
For each kind of difference the simplest block that shows it: scale byte, element codes, the numbers
that the same profile reads in them, and those that the other reads if they differ. tiny block:
floor(log2 amax) - emax is below -126; huge block: amax is in the top binade of the float type.
All codes of NaN, and all codes under a NaN scale, count as equal. SPEC_NOTES.md has what the
standard says: scale N1 and N2, NaN block N4, Inf block N5, zero block N6, tiny block N7, huge block
N8, tie and element N17, zero sign N25, reading N20 to N22. `mxref explain PROFILE` lists the
choices of a profile and which of them contradict the standard.
On data: SQNR in dB of each profile, and of the second beside the first; shares of blocks and
elements in %. blocks, pairs: how many of those tried show the difference.
not finite: finite numbers that are read as infinity or NaN."""


def add_parser(verbs: Verbs) -> None:
    """Add the verb."""
    about = "show the differences between two profiles in a block format, and how often they matter"
    example = "mxref diff torchao_0_18_floor ocp --format mxfp4_e2m1 --data weights.npy"
    exits = ("there is no difference", "there is one")
    parser = new_parser(
        verbs, "diff", _run, about, example, formats="blocks", exits=exits, notes=_NOTES
    )
    add = parser.add_argument
    for name in ("a", "b"):
        about = "a profile, or a policy: ocp+choice=value"
        add(name, metavar=f"PROFILE_{name.upper()}", help=about)
    add("--format", required=True, metavar="FORMAT", help="block format")
    about = "float type of the blocks (default: the first that both take)"
    add("--float", metavar="FLOAT", help=about)
    about = "a .npy file of floats, blocks along its last axis"
    add("--data", type=Path, metavar="FILE", help=about)
    about = "the file's two-byte items are bfloat16 (.npy has no name for them)"
    add("--bfloat16", action="store_true", help=about)
    add_vectors_argument(parser)
    add_json_argument(parser)
    add("--html", type=Path, metavar="FILE", help="write a page, too (extra report)")


def _run(options: argparse.Namespace) -> int:
    from mxref import files
    from mxref.conformance.differing.difference import difference

    data: dict[str, Any] = {}
    if options.data is not None:
        if options.data.suffix != ".npy":
            got = f"got {options.data}: write it with numpy.save"
            raise ValueError(f"--data must be a .npy file, {got}")
        for entry in files.entries(options.data, bfloat16=options.bfloat16):
            data[options.data.name] = entry.load()
    elif options.bfloat16:
        raise ValueError("--bfloat16 must be given with --data: it says what the file holds")
    how = {"float": options.float, "data": data, "vectors": options.vectors}
    try:
        found = difference(options.a, options.b, options.format, **how)
    except TypeError as error:  # the file holds no floats
        raise ValueError(str(error)) from None
    if options.html is not None:
        from mxref.reports.diff_page import write_diff_page

        write_diff_page(options.html, found, found.figures, *_figures(found))
    if options.json:
        print(json.dumps(_as_json(found), indent=1))
    else:
        _print(found)
    return int(found.found)


def _print(found: Difference) -> None:
    a, b = found.a, found.b
    count = len(found.examples) + len(found.readings)
    kinds = f"{count} kind{'s' * (count != 1)} of difference" if count else "no difference"
    tried = f" in {found.tried} blocks from {found.layout.name}" if found.tried else ""
    print(f"{a} and {b}, {found.format.name}: {kinds}{tried}")
    for note in found.notes:
        print(note)
    if found.examples:
        print()
        rows: list[tuple[str, ...]] = []
        for one in found.examples:
            block = _numbers(found, one.words, len(_shown(one.words)))
            sides = (_bytes(found, one.a, b, one.words), _bytes(found, one.b, a, one.words))
            rows.append((one.kind, block, *sides, str(one.count)))
        print_table(("quantizing", "block", a, b, "blocks"), rows)
    if found.readings:
        print()
        rows = []
        for pair in found.readings:
            read = (_numbers(found, (bits,), 1) for bits in (pair.a, pair.b))
            rows.append((pair.kind, f"{pair.scale:02x} {pair.code:02x}", *read, str(pair.count)))
        print_table(("reading", "scale, code", a, b, "pairs"), rows)
    else:
        print("\nreading: both read every code under every scale alike")
    if found.figures:
        print()
        print_table(*_figures(found))


def _figures(found: Difference) -> tuple[tuple[str, ...], list[tuple[str, ...]]]:
    """The header and the rows of the figures on data."""
    a, b = found.a, found.b
    labels = {"a": f"SQNR of {a}", "b": f"SQNR of {b}", "a_b": f"SQNR of {b} beside {a}"}
    if found.readings:
        labels["b_reads_a"] = f"SQNR of what {b} reads in {a}'s bytes"
        labels["a_reads_b"] = f"SQNR of what {a} reads in {b}'s bytes"
    rows = [
        (label, *(_ratio(one, name) for one in found.figures)) for name, label in labels.items()
    ]
    shares = {
        "blocks with another scale": [one.other_scale for one in found.figures],
        "elements with another code": [one.other_code for one in found.figures],
        "elements with another value": [one.other_value for one in found.figures],
        "elements with a zero of the other sign": [one.other_sign for one in found.figures],
    }
    if found.readings:
        for i, (one, two) in enumerate(((a, b), (b, a))):
            label = f"elements of {one}'s bytes that {two} reads otherwise"
            shares[label] = [one.other_reading[i] for one in found.figures]
    for label, values in shares.items():
        rows.append((label, *(f"{100 * share:.3g} %" for share in values)))
    return ("on data", *(one.data for one in found.figures)), rows


def _ratio(figures: DataFigures, name: str) -> str:
    if name == "a_b" and not figures.other_value:
        return "the same"
    ratio, lost = figures.sqnr_db[name], figures.lost[name]
    text = "-" if ratio is None else f"{ratio:.2f} dB"
    return f"{text}, {lost} not finite" if lost else text


def _bytes(found: Difference, made: Bytes, other: str, words: tuple[int, ...]) -> str:
    """The scale byte, the codes, and the numbers that are read in them."""
    if made.scale is None:
        return "an error"
    count = len(_shown(words))
    codes = " ".join(f"{code:02x}" for code in made.codes[:count])
    own = _numbers(found, made.own, count)
    read = _numbers(found, made.other, count)
    elsewhere = "" if read == own else f" ({other} reads {read})"
    return f"{made.scale:02x} {codes} = {own}{elsewhere}"


def _shown(words: tuple[int, ...]) -> tuple[int, ...]:
    """The first words, up to the last non-zero one."""
    last = max((place for place, word in enumerate(words) if word), default=0)
    return words[: min(last + 1, _SHOWN)]


def _numbers(found: Difference, words: tuple[int, ...], count: int) -> str:
    """Numbers in decimal if they are short, else in hexadecimal."""
    from mxref.conformance.differing.sides import numbers_of_words

    values = numbers_of_words(words[:count], found.layout)
    return " ".join(map(_number, values))


def _number(value: float) -> str:
    text = f"{value:.6g}"
    usual = value == 0 or not math.isfinite(value) or 1e-3 <= abs(value) < 1e6
    return text if usual and (float(text) == value or value != value) else hex_float(value)


def _as_json(found: Difference) -> dict[str, Any]:
    digits = found.layout.width // 4

    def bits(words: tuple[int, ...]) -> str:
        return " ".join(f"{word:0{digits}x}" for word in words)

    def made(one: Bytes) -> dict[str, Any]:
        if one.scale is None:
            return {"error": True}
        return {
            "scale": f"{one.scale:02x}",
            "codes": " ".join(f"{code:02x}" for code in one.codes),
            "read": bits(one.own),
            "read_by_the_other": bits(one.other),
        }

    return {
        "a": found.a,
        "b": found.b,
        "format": found.format.name,
        "float": found.layout.name,
        "blocks": found.tried,
        "notes": list(found.notes),
        "quantizing": [
            {
                "kind": one.kind,
                "blocks": one.count,
                "in": bits(one.words),
                "a": made(one.a),
                "b": made(one.b),
            }
            for one in found.examples
        ],
        "reading": [
            {
                "kind": one.kind,
                "pairs": one.count,
                "scale": f"{one.scale:02x}",
                "code": f"{one.code:02x}",
                "a": bits((one.a,)),
                "b": bits((one.b,)),
            }
            for one in found.readings
        ],
        "data": [
            {
                "data": one.data,
                "elements": one.elements,
                "blocks": one.blocks,
                "sqnr_db": one.sqnr_db,
                "not_finite": one.lost,
                "other_scale": one.other_scale,
                "other_code": one.other_code,
                "other_value": one.other_value,
                "other_sign": one.other_sign,
                "b_reads_a_otherwise": one.other_reading[0],
                "a_reads_b_otherwise": one.other_reading[1],
            }
            for one in found.figures
        ],
    }
