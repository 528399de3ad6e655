"""``mxref diff``: the differences between two profiles in a block format or in a cast."""

from __future__ import annotations

import argparse
import json
import math
from collections.abc import Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Any

from mxref.cli.own_names import add_formats_argument
from mxref.cli.screen import (
    Verbs,
    add_json_argument,
    add_vectors_argument,
    new_parser,
    print_table,
)
from mxref.cli.tensor_arguments import (
    add_tensor_arguments,
    entries_of,
    holds_several,
    print_skipped,
    why_no_floats,
    why_none,
)
from mxref.support.text import printable, short_number

if TYPE_CHECKING:
    from mxref.blocks.two_level import TensorScale
    from mxref.conformance.differing.difference import BlockBytes, Difference, Example
    from mxref.conformance.differing.figures import DataFigures

#: Number of elements of a block that are shown.
_SHOWN = 4


_NOTES = """\
For each kind of difference the simplest block that shows it: scale code, element codes, the numbers
that the same profile reads in them, and those that the other reads if they differ. tiny block:
floor(log2 amax) - emax is below -126; huge block: amax is in the top binade of the float type.
Under scales that are floats: the exact scale is subnormal, or beyond the largest one. In
nvfp4 the scale of the tensor comes first, with its kind (N42), and + says which other number the
tensor has; a tie is one under the exact scale of the tensor. Only exact reads every kind.
All codes of NaN, and all codes under a NaN scale, count as equal. SPEC_NOTES.md has what the
standard says: scale N1 and N2, NaN block N4, Inf block N5, zero block N6, tiny block N7, huge block
N8, tie and element N17, zero sign N25, reading N20 to N22. `mxref explain PROFILE` lists the
choices of a profile and which of them contradict the standard.
On data: SQNR in dB of each profile, and of the second beside the first; shares of blocks and
elements in %. Of a file of several tensors: of all of them, and below that a row for each, with
the shares of blocks with another scale, of elements with another code, and with another value.
blocks, pairs: how many of those tried show the difference.
not finite: finite numbers that are read as infinity or NaN.
Of casts the simplest number of each kind, and the code and value that each side gives. Of a 16-bit
float type all patterns are tried; of a wider one thresholds of the format and of every binade with
their neighbours, and random numbers. beyond: finite and above the format's largest number (N11);
tiny: below its smallest; NaN N13 and N14, infinity N12; zero, negative and all of e8m0 N23."""


def add_parser(verbs: Verbs) -> None:
    """Add the verb."""
    about = (
        "show the differences between two profiles in a block format or in casts of single "
        "numbers, and how often they matter"
    )
    example = (
        "mxref diff torchao_0_18_floor ocp --format mxfp4_e2m1 --data weights.npy\n"
        "  mxref diff torch cuda --format e8m0 --html page.html"
    )
    exits = ("there is no difference", "there is one")
    parser = new_parser(
        verbs, "diff", _run, about, example, formats="diff", exits=exits, notes=_NOTES
    )
    add = parser.add_argument
    for name in ("a", "b"):
        about = "a profile such as jax, or a policy such as ocp+scale_rule=rceil"
        add(name, metavar=f"PROFILE_{name.upper()}", help=about)
    add("--format", required=True, metavar="FORMAT", help="block format, element format or e8m0")
    add_formats_argument(parser)
    about = "float type of the numbers (default: the first that both take)"
    add("--float", metavar="FLOAT", help=about)
    about = "a .npy, .npz, .safetensors or .gguf file of floats, blocks along the last axes"
    add("--data", type=Path, metavar="FILE", help=about)
    add_tensor_arguments(parser)
    add_vectors_argument(parser)
    add_json_argument(parser)
    about = "also write a page (needs mxref[report])"
    add("--html", type=Path, metavar="FILE", help=about)


def _run(options: argparse.Namespace) -> int:
    from mxref.cli.diff_casts import figures_on_data, print_casts
    from mxref.conformance.differing.cast_difference import FORMATS, cast_difference

    if options.html is not None:
        from mxref.reports.extra import refuse_missing

        refuse_missing(of=options.data)
    data, skipped = _data(options)
    how = {"float": options.float, "data": data}
    try:
        if options.format in FORMATS:
            cast = cast_difference(options.a, options.b, options.format, **how)
            if options.html is not None:
                from mxref.reports.cast_page import write_cast_page

                write_cast_page(options.html, cast, *figures_on_data(cast), options.typed)
            print_casts(cast, skipped, as_json=options.json)
            if not options.json:
                print_skipped(skipped)
            return int(cast.found)
        from mxref.conformance.differing.difference import difference

        found = difference(options.a, options.b, options.format, vectors=options.vectors, **how)
    except TypeError as error:  # the file holds no floats
        raise ValueError(str(error)) from None
    if options.html is not None:
        from mxref.reports.diff_page import write_diff_page

        shown = _summed(found, len(data))
        write_diff_page(options.html, found, shown, *_figures(found, shown), options.typed)
    if options.json:
        from mxref.cli.diff_json import as_json

        print(json.dumps({**as_json(found), "skipped": skipped}, indent=1))
    else:
        _print(found, len(data))
        print_skipped(skipped)
    return int(found.found)


def _data(options: argparse.Namespace) -> tuple[dict[str, Any], list[dict[str, str]]]:
    """The tensors of the file by name, and those that are skipped, with the reason."""
    if options.data is None:
        names = ("bfloat16", "small_floats", "tensor")
        for name in (one for one in names if getattr(options, one)):
            given = f"--{name.replace('_', '-')}"
            raise ValueError(f"{given} must be given with --data: it says what the file holds")
        return {}, []
    data: dict[str, Any] = {}
    skipped: list[dict[str, str]] = []
    several = holds_several(options.data)
    for entry in entries_of(options.data, options):
        reason = why_no_floats(entry, options) if several else None
        if several and not reason and not math.prod(entry.shape):
            reason = "it holds no numbers"
        if reason:
            skipped.append({"name": entry.name, "reason": reason})
            continue
        values: Any = entry.load()
        name = entry.name if several else options.data.name
        data[name] = values.astype("float32") if entry.small else values
    if not data:
        raise ValueError(f"{options.data} must have a tensor of floats, {why_none(skipped)}")
    return data, skipped


def _print(found: Difference, given: int) -> None:
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
            count = _lanes(one)
            block = _numbers(found, one.words, count)
            if one.elsewhere:
                block += f" + {_numbers(found, (one.elsewhere,), 1)}"
            sides = (_bytes(found, one.a, b, count), _bytes(found, one.b, a, count))
            rows.append((one.kind, block, *sides, str(one.count)))
        print_table(("quantizing", "block", a, b, "blocks"), rows)
    if found.readings:
        print()
        rows = []
        for pair in found.readings:
            read = (_numbers(found, (bits,), 1) for bits in (pair.a, pair.b))
            stored = f"{_tensor(pair.tensor)}{_code(found, pair.scale)} {pair.code:02x}"
            rows.append((pair.kind, stored, *read, str(pair.count)))
        print_table(("reading", "scale, code", a, b, "pairs"), rows)
    elif found.read:
        print("\nreading: both read every code under every scale alike")
    if found.total is not None:
        print()
        print_table(*_figures(found, _summed(found, given)))
        print()
        _print_tensors(found, found.figures[-given:])
    elif found.figures:
        print()
        print_table(*_figures(found, _summed(found, given)))


def _print_tensors(found: Difference, tensors: Sequence[DataFigures]) -> None:
    """Print a row for each tensor of a file."""
    header = ("tensor", found.a, found.b, "beside", "scales", "codes", "values")
    rows = [
        (
            printable(one.data),
            *(_ratio(one, name) for name in ("a", "b", "a_b")),
            *(
                f"{100 * share:.3g} %"
                for share in (one.other_scale, one.other_code, one.other_value)
            ),
        )
        for one in tensors
    ]
    print_table(header, rows)


def _summed(found: Difference, given: int) -> Sequence[DataFigures]:
    """The figures on data; several tensors that were given are summed."""
    if given > 1 and found.total is not None:
        return [*found.figures[:-given], found.total]
    return found.figures


def _figures(
    found: Difference, figures: Sequence[DataFigures]
) -> tuple[tuple[str, ...], list[tuple[str, ...]]]:
    """The header and the rows of figures on data."""
    a, b = found.a, found.b
    labels = {"a": f"SQNR of {a}", "b": f"SQNR of {b}", "a_b": f"SQNR of {b} beside {a}"}
    if found.readings:
        labels["b_reads_a"] = f"SQNR of what {b} reads in {a}'s bytes"
        labels["a_reads_b"] = f"SQNR of what {a} reads in {b}'s bytes"
    rows = [
        (label, *(_ratio(one, name) for one in figures))
        for name, label in labels.items()
        if all(name in one.sqnr_db for one in figures)
    ]
    shares = {
        "blocks with another scale": [one.other_scale for one in figures],
        "elements with another code": [one.other_code for one in figures],
        "elements with another value": [one.other_value for one in figures],
        "elements with a zero of the other sign": [one.other_sign for one in figures],
    }
    if found.readings:
        for i, (one, two) in enumerate(((a, b), (b, a))):
            label = f"elements of {one}'s bytes that {two} reads otherwise"
            read = [one.other_reading[i] for one in figures]
            if None not in read:
                shares[label] = [share or 0.0 for share in read]
    for label, values in shares.items():
        rows.append((label, *(f"{100 * share:.3g} %" for share in values)))
    return ("on data", *(one.data for one in figures)), rows


def _ratio(figures: DataFigures, name: str) -> str:
    if name == "a_b" and not figures.other_value:
        return "the same"
    ratio, lost = figures.sqnr_db[name], figures.lost[name]
    text = "-" if ratio is None else f"{ratio:.2f} dB"
    return f"{text}, {lost} not finite" if lost else text


def _bytes(found: Difference, made: BlockBytes, other: str, count: int) -> str:
    """The scale code, the codes, and the numbers that are read in them."""
    if made.scale is None:
        return "an error"
    codes = " ".join(f"{code:02x}" for code in made.codes[:count])
    own = _numbers(found, made.own, count)
    read = _numbers(found, made.other, count)
    otherwise = "" if read in ("", own) else f" ({other} reads {read})"
    return f"{_tensor(made.tensor)}{_code(found, made.scale)} {codes} = {own}{otherwise}"


def _code(found: Difference, scale: int) -> str:
    """The code of a scale in hex."""
    return f"{scale:0{-(-found.format.scale.bits // 4)}x}"


def _tensor(scale: TensorScale | None) -> str:
    """The scale of a tensor with its kind, in front of what follows."""
    return "" if scale is None else f"{scale.kind.value} {short_number(scale.value)}, "


def _lanes(one: Example) -> int:
    """How many elements are shown: none of the zeros at the end, unless only these differ."""
    count = max((place + 1 for place, word in enumerate(one.words) if word), default=1)
    codes = zip(one.a.codes, one.b.codes, strict=False)
    differ = [place for place, pair in enumerate(codes) if len({*pair}) > 1]
    if one.a.scale == one.b.scale and differ and differ[0] >= count:
        count = differ[0] + 1
    return min(count, _SHOWN)


def _numbers(found: Difference, words: tuple[int, ...], count: int) -> str:
    """Numbers in decimal if they are short, else in hexadecimal."""
    from mxref.conformance.differing.sides import numbers_of_words

    values = numbers_of_words(words[:count], found.layout)
    return " ".join(map(short_number, values))
