"""``mxref explain`` with a number: its place in a format, and the codes that choices give it."""

from __future__ import annotations

import argparse
import itertools
from collections.abc import Iterator, Sequence
from fractions import Fraction
from typing import Any

from mxref.bits.floats import LAYOUTS, FloatLayout
from mxref.cli.explain_casts import codes_of_profiles, print_profiles
from mxref.cli.explanation import WIDTH, Explanation, print_wrapped
from mxref.cli.screen import print_heading, print_table
from mxref.formats.catalog import (
    BLOCK_FORMATS,
    E8M0,
    ELEMENT_FORMATS,
    OTHER_BLOCK_FORMATS,
    OTHER_FORMATS,
    SCALE_FORMATS,
    BlockFormat,
    CodeFormat,
)
from mxref.support.text import unknown_name

#: Columns of the number line.
_LINE = 80
#: What the standard says of numbers in E8M0.
_SILENT = "silent: MX defines e8m0's codes, powers of two and NaN, and no conversion to them (N23)"


def check_format(name: str) -> tuple[dict[str, CodeFormat], dict[str, BlockFormat]]:
    """The formats in which numbers and blocks are explained, by name.

    Raises:
        ValueError: there is no format of that name among them.
    """
    formats: dict[str, CodeFormat] = {**ELEMENT_FORMATS, **OTHER_FORMATS}
    formats |= {one: fmt for one, fmt in SCALE_FORMATS.items() if fmt.subnormals or fmt is E8M0}
    blocks = {**BLOCK_FORMATS, **OTHER_BLOCK_FORMATS}
    if name not in {**formats, **blocks}:
        raise ValueError(unknown_name("--format", name, {**formats, **blocks}))
    return formats, blocks


def explain_numbers(options: argparse.Namespace) -> Explanation | None:
    """Explain a number, or the numbers of a block; None without --format."""
    if options.format is None:
        return None
    formats, blocks = check_format(options.format)
    float = options.float or "f32"
    if float not in LAYOUTS:
        raise ValueError(unknown_name("--float", float, LAYOUTS))
    from mxref.cli.explain_blocks import explain_block

    if options.format in blocks:
        if options.profiles:
            raise ValueError("--profiles must be absent with a block, whose answer names them all")
        return explain_block(options.name, LAYOUTS[float], blocks[options.format])
    one = options.name.strip(" []()")
    return _number(one, LAYOUTS[float], formats[options.format], profiles_alone=options.profiles)


def _number(
    text: str, layout: FloatLayout, fmt: CodeFormat, *, profiles_alone: bool
) -> Explanation:
    from mxref.golden.explain_number import answers, fraction, neighbours, parse_number
    from mxref.operands.shown import show_code, show_float

    bits = parse_number(text, layout)
    try:
        by_profile, other_floats = codes_of_profiles(bits, layout, fmt)
    except ValueError:  # no profile casts numbers to the format
        if profiles_alone:
            raise
        by_profile, other_floats = {}, []
    number = fraction(bits, layout)
    data: dict[str, Any] = {
        "kind": "number",
        "name": text,
        "about": f"what a number becomes in {fmt.name}",
        "format": fmt.name,
        "float": layout.name,
        "bits": f"{bits:0{layout.width // 4}x}",
        "is": show_float(bits, layout),
        "neighbours": [],
        "line": [],
        "of": "x",
        "standard": _SILENT if fmt == E8M0 else "",
    }
    if number is not None:
        if number < 0 and not fmt.signed:
            number, data["of"] = -number, "|x|"
        near = neighbours(number, fmt)
        data["neighbours"] = [_neighbour(one, near, fmt) for one in near]
        data["midway"] = _midway(number, near, fmt)
        data["past_the_largest"] = _past_the_largest(near, fmt)
        data["line"] = list(_line(number, fmt, data["of"]))
    by_choice = answers(bits, layout.name, fmt)
    data["codes"] = [
        {
            "code": None if code is None else f"{code:02x}",
            "is": "an error" if code is None else show_code(code, fmt),
            "choices": by_choice.get(code, []),
            "profiles": by_profile.get(code, []),
        }
        for code in dict.fromkeys((*by_choice, *by_profile))
    ]
    data["profiles_of_other_floats"] = other_floats

    def show(data: dict[str, Any]) -> None:
        _show_place(data)
        if profiles_alone:
            print_profiles(by_profile, other_floats, layout, fmt)
        else:
            _show_codes(data)

    return Explanation(data, show)


Neighbour = tuple[int, Fraction] | None


def _neighbour(
    one: Neighbour, near: tuple[Neighbour, Neighbour], fmt: CodeFormat
) -> dict[str, Any] | None:
    from mxref.operands.shown import show_code

    if one is None:
        return None
    other = [each[1] for each in near if each is not None and each is not one]
    word = "exactly" if one[1] == 0 else _away(one[1])
    if other and other[0] >= one[1] > 0:
        word += ", midway" if other[0] == one[1] else ", nearer"
    return {"code": f"{one[0]:02x}", "is": show_code(one[0], fmt), "distance": word}


def _midway(
    number: Fraction, near: tuple[Neighbour, Neighbour], fmt: CodeFormat
) -> dict[str, Any] | None:
    """The midpoint between the neighbours, and the neighbour that a tie goes to."""
    below, above = near
    if below is None or above is None or below[0] == above[0]:
        return None
    low, high = number - below[1], number + above[1]
    even, odd = (below, above) if below[0] % 2 == 0 else (above, below)
    away = above if abs(high) > abs(low) else below
    return {
        "number": float((low + high) / 2),
        "ties_to_even": f"{even[0]:02x}",
        "to_odd": f"{odd[0]:02x}",
        "ties_to_away": f"{away[0]:02x}",
    }


def _past_the_largest(near: tuple[Neighbour, Neighbour], fmt: CodeFormat) -> dict[str, Any] | None:
    """The threshold above which numbers round past the largest one, and where the tie goes."""
    if None not in near or fmt == E8M0 or getattr(fmt, "twos_complement", False):
        return None
    largest, before = (Fraction(fmt.value(code)) for code in (fmt.max_code, fmt.max_code - 1))
    return {
        "number": float(largest + (largest - before) / 2),
        "tie": "stays" if fmt.max_code % 2 == 0 else "is past it",
    }


def _show_place(data: dict[str, Any]) -> None:
    first = data["codes"][0]
    print_heading(f"{data['name']} as {data['float']}: {data['is']}")
    print(f"ocp: {first['is']}")
    if data["standard"]:
        print_wrapped(f"standard: {data['standard']}")
    of = ""
    if data["of"] != "x":
        print(f"{data['format']} has no negative numbers; the neighbours are those of |x|")
        of = f"{data['of']} "
    for side, one in zip(("at or below", "at or above"), data["neighbours"], strict=False):
        text = f"nothing in {data['format']}" if one is None else f"{one['is']}, {one['distance']}"
        print(f"{of}{side}: {text}")
    midway = data.get("midway")
    if midway:
        even, away = midway["ties_to_even"], midway["ties_to_away"]
        ties = f"a tie goes to {even} by ties_to_even, to {away} by ties_to_away"
        print(f"midway: {midway['number']:.9g}, {ties}")
    past = data.get("past_the_largest")
    if past:
        tie = f"the tie {past['number']:.9g} {past['tie']} by ties_to_even"
        print(f"overflow: what rounds past the largest number, from {past['number']:.9g} on; {tie}")
    if data["line"]:
        print("", *data["line"], sep="\n")
    print()


def _show_codes(data: dict[str, Any]) -> None:
    rows = []
    for one in data["codes"]:
        lines = list(lines_of(one["choices"])) if one["choices"] else []
        if one["profiles"]:
            names = [f"{name}," for name in one["profiles"]]
            lines += lines_of(["profiles:", *names[:-1], one["profiles"][-1]])
        rows += [(one["is"] if i == 0 else "", line) for i, line in enumerate(lines)]
    print_table((data["format"], "under"), rows)
    if data["profiles_of_other_floats"]:
        print_wrapped(f"no {data['float']}: {', '.join(data['profiles_of_other_floats'])}")
    print("every other choice as ocp")


def _line(number: Fraction, fmt: CodeFormat, name: str) -> Iterator[str]:
    """The number line around a number: codes above it, midpoints and the number below it."""
    from mxref.golden.explain_number import nearest_codes
    from mxref.operands.shown import show_code

    near = nearest_codes(number, fmt)
    low, high = near[0][1], near[-1][1]
    if not low <= number <= high or low == high:
        return  # beyond the format, as the neighbours show
    at = [_place(value, low, high) for _, value in near]
    middles = [(a[1] + b[1]) / 2 for a, b in itertools.pairwise(near)]
    ticks = list("-" * _LINE)
    for place in at:
        ticks[place] = "|"
    for middle in middles:
        ticks[_place(middle, low, high)] = "+"
    ticks[_place(number, low, high)] = "x"
    yield _labels([(p, show_code(code, fmt)) for p, (code, _) in zip(at, near, strict=True)])
    yield "".join(ticks)
    yield _labels([(_place(m, low, high), f"{float(m):.6g}") for m in middles])
    yield _labels([(_place(number, low, high), f"{name} = {float(number):.9g}")])


def _place(value: Fraction, low: Fraction, high: Fraction) -> int:
    """The column of a number."""
    return round((value - low) / (high - low) * (_LINE - 1))


def _labels(marks: Sequence[tuple[int, str]]) -> str:
    """Labels centred at their columns, moved right where they would overlap.

    >>> _labels([(0, "one"), (2, "two"), (10, "six")])
    'one two  six'
    """
    line = ""
    for column, text in marks:
        start = max(min(column - len(text) // 2, WIDTH - len(text)), len(line) + bool(line))
        line = f"{line:{start}}{text}" if line or start > 0 else text
    return line


def _away(distance: Fraction) -> str:
    """A positive dyadic distance in decimal; if that is rounded also exactly, where it is short.

    >>> _away(Fraction(3, 8)), _away(Fraction(2**20 + 1, 2**20)), _away(Fraction(2**60 + 1))
    ('0.375 away', 'about 1 (1048577 * 2^-20) away', 'about 1.15e+18 away')
    """
    about = f"{float(distance):.3g}"
    if Fraction(about) == distance:
        return f"{about} away"
    n, power = distance.numerator, 1 - distance.denominator.bit_length()
    zeros = (n & -n).bit_length() - 1
    n, power = n >> zeros, power + zeros
    return f"about {about} ({n} * 2^{power}) away" if n < 10**8 else f"about {about} away"


def lines_of(words: Sequence[str], width: int = WIDTH - 24) -> Iterator[str]:
    """Words joined to lines that fit a width; the default leaves room for a label."""
    line = ""
    for word in words:
        if line and len(line) + len(word) + 1 > width:
            yield line
            line = ""
        line = f"{line} {word}" if line else word
    yield line
