"""``mxref explain`` with an amax or a block: scale, codes and errors by each scale rule."""

from __future__ import annotations

import contextlib
import io
import math
import textwrap
from collections.abc import Sequence
from fractions import Fraction
from itertools import zip_longest
from typing import TYPE_CHECKING, Any

from mxref.bits.floats import FloatLayout
from mxref.cli.explain_steps import show_steps, steps_data
from mxref.cli.explanation import (
    LINES,
    WIDTH,
    Explanation,
    few,
    print_part,
    print_rows,
    wrapped,
)
from mxref.cli.screen import print_heading
from mxref.cli.text_tables import table_lines
from mxref.formats.catalog import E8M0, BlockFormat

if TYPE_CHECKING:
    from mxref.golden.explain_block import BlockOutcome

#: Outcomes whose elements are shown side by side.
_COLUMNS = 4
#: Outcomes that only profiles give are shown in full up to this many elements.
_FEW_ELEMENTS = 16


def explain_block(asked: str, layout: FloatLayout, fmt: BlockFormat) -> Explanation:
    """Explain the outcomes of quantizing a block.

    Args:
        asked: its numbers, with spaces or commas between them; elements that are missing are zeros.
        layout: their float type.
        fmt: the block format.

    Raises:
        ValueError: a word that is no number, or too many of them.
    """
    from mxref.golden.explain_block import amax_of, outcomes, steps
    from mxref.golden.explain_number import fraction, parse_number
    from mxref.golden.scale_limits import limits
    from mxref.policy.policy import Policy

    words = [parse_number(word, layout) for word in words_of(asked)]
    if len(words) > fmt.elements_per_block:
        several = "quantize takes tensors" if fmt.tensor_scale else "give them in several calls"
        raise ValueError(
            f"a block of {fmt.name} must have at most {fmt.elements_per_block} numbers, "
            f"got {len(words)}: {several}"
        )
    numbers = [fraction(word, layout) for word in words]
    amax = amax_of(words, layout)
    made, other_floats = outcomes(words, layout, fmt, Policy())
    data: dict[str, Any] = {
        "kind": "block",
        "name": asked,
        "about": f"what becomes of a block of {fmt.name}",
        "format": fmt.name,
        "float": layout.name,
        "elements": fmt.elements_per_block,
        "in": [_input(word, number, layout) for word, number in zip(words, numbers, strict=True)],
        "amax": None if amax is None else float(amax),
        "outcomes": [_outcome(one, numbers, amax, fmt) for one in made],
        "limits": [],
        "steps": steps_data(steps(words, layout, fmt)),
        "profiles_of_other_floats": other_floats,
    }
    if fmt.scale == E8M0 and amax:
        of_rule = {name: i for i, one in enumerate(made) for name in one.choices}
        for limit in limits(amax, fmt):
            outcome = data["outcomes"][of_rule[f"scale_rule={limit.rule}"]]
            data["limits"].append(
                {
                    "rule": limit.rule,
                    "standing": limit.standing,
                    "amax_over_scale_must_be": limit.requirement,
                    "amax_over_scale": outcome["amax_over_scale"],
                    "some_power_gives_the_limit": limit.meets,
                    "scale": outcome["scale"],
                }
            )
    return Explanation(data, _show)


def words_of(asked: str) -> list[str]:
    """The words of a block's numbers as they are typed, also in the form of a Python list.

    >>> words_of("[0.3, 5,-7.1]"), words_of("0.3 5")
    (['0.3', '5', '-7.1'], ['0.3', '5'])
    """
    return asked.strip(" []()").replace(",", " ").split()


def _input(word: int, number: Fraction | None, layout: FloatLayout) -> dict[str, Any]:
    from mxref.operands.shown import show_float

    digits, *_, text = show_float(word, layout).split(" = ")
    return {"bits": digits, "value": text if number is None else _number(float(number)), "is": text}


def _outcome(
    one: BlockOutcome, numbers: Sequence[Fraction | None], amax: Fraction | None, fmt: BlockFormat
) -> dict[str, Any]:
    from mxref.operands.shown import show_code

    scale: dict[str, Any] = {"scale": None, "scale_is": "an error", "amax_over_scale": None}
    if one.scale is not None:
        value = fmt.scale.value(one.scale)
        known = fmt.scale == E8M0 and amax is not None and math.isfinite(value)
        scale = {
            "scale": f"{one.scale:02x}",
            "scale_is": show_code(one.scale, fmt.scale),
            "amax_over_scale": float(amax / Fraction(value)) if known and amax else None,
        }
    whole, kind = one.tensor_scale or (None, None)
    errors = [
        float(Fraction(value) - number) if number is not None and math.isfinite(value) else None
        for value, number in zip(one.values, numbers, strict=False)
    ]
    known_errors = [abs(error) for error in errors if error is not None]
    return {
        **scale,
        "tensor_scale": whole,
        "tensor_scale_is": kind,
        "codes": [f"{code:02x}" for code in one.codes],
        "values": [_number(value) for value in one.values],
        "errors": errors,
        "largest_error": max(known_errors) if len(known_errors) == len(errors) > 0 else None,
        "choices": one.choices,
        "profiles": one.profiles,
        "refusals": one.refusals,
    }


def _number(value: float) -> float | str:
    """A number; or its name, if JSON has no such number."""
    return value if math.isfinite(value) else str(value)


def _show(data: dict[str, Any]) -> None:
    with contextlib.redirect_stdout(io.StringIO()) as text:
        _show_outcomes(data)
    _show_outcomes(data)
    room = LINES - text.getvalue().count("\n")
    show_steps(data["steps"], 2 if len(data["in"]) <= _COLUMNS else 0, room)


def _show_outcomes(data: dict[str, Any]) -> None:
    many, rest, made = len(data["in"]), data["elements"] - len(data["in"]), data["outcomes"]
    given = ", ".join(one["is"] for one in data["in"][:6]) + ", ..." * (many > 6)
    zeros = f", and {rest} zeros" if rest else ""
    for line in wrapped(f"a block of {data['format']} from {data['float']}: {given}{zeros}"):
        print_heading(line)
    labels = [chr(ord("A") + i) if i < 26 else str(i) for i in range(len(made))]
    by_line = many <= _COLUMNS < len(made)  # then each outcome has a line with its elements
    long = many > _FEW_ELEMENTS
    shown = [i for i, one in enumerate(made[:_COLUMNS]) if one["choices"] or not long]
    lines, others = 3, []
    scaled = any(one["tensor_scale"] is not None for one in made)
    if scaled and data["amax"] is not None:
        text = f"{data['amax']:.9g}, the largest magnitude of the block, here of its whole tensor"
        print_part("amax", text)
        lines += 1
    if data["limits"] and many <= _COLUMNS:
        header = ("scale rule", "standing", "amax / scale must be", "is", "scale")
        print_rows(header, _limits(data))
        print()
        lines += 2 + len(data["limits"])
    elif data["limits"]:
        lines += _show_standings(data["limits"])
    for i, (label, one) in enumerate(zip(labels, made, strict=True)):
        if i in shown and (one["choices"] or not by_line):
            lines += _show_outcome(label, one, 2 if long else len(one["profiles"]))
        elif not by_line:
            others.append(f"{label} {one['scale_is']}: {_by(one, 3)}")
        elif one["scale"] and not data["limits"]:  # which have the scales of powers of two
            others.append(f"{label} {_scale(one)}")
    print_part("others", "; ".join(others))
    if data["profiles_of_other_floats"]:
        print_part(f"no {data['float']}", few(data["profiles_of_other_floats"], 4))
    lines += 2 * bool(others) + bool(data["profiles_of_other_floats"])
    for reason, names in (pair for one in made for pair in one["refusals"].items()):
        print_part("an error", f"{few(names, 3)}: {reason}")
        lines += 1
    print()
    if by_line:
        by_outcome = [
            (label, one["scale"] or "-", *(_element(one, i) for i in range(many)), _by(one, 2))
            for label, one in zip(labels, made, strict=True)
        ]
        print_rows(("", "scale", *(one["is"] for one in data["in"]), "by"), by_outcome)
        return
    columns = ("element", *(f"{labels[place]}: code value" for place in shown))
    rows = [
        (one["is"], *(_element(made[place], i) for place in shown))
        for i, one in enumerate(data["in"])
    ]
    if lines + len(rows) > LINES - 2:  # the second half beside the first, if a line is long enough
        half = -(-many // 2)
        nothing = ("",) * len(columns)
        beside = [
            (*one, *other)
            for one, other in zip_longest(rows[:half], rows[half:], fillvalue=nothing)
        ]
        if all(len(some) == 1 for some in table_lines((columns * 2, *beside), WIDTH)):
            columns, rows = columns * 2, beside
    while len(rows) > 1 and sum(map(len, table_lines((columns, *rows), WIDTH))) > LINES - lines - 1:
        rows.pop()
    print_rows(columns, rows)
    if many > len(rows) * len(columns) // (len(shown) + 1) or others:
        print("--json has all elements of all outcomes")


def _show_standings(limits: Sequence[dict[str, Any]]) -> int:
    """Print what the standard says of each scale rule; the number of lines."""
    by_standing: dict[str, list[str]] = {}
    for one in limits:
        by_standing.setdefault(one["standing"], []).append(one["rule"])
    text = "; ".join(f"{standing}: {', '.join(rules)}" for standing, rules in by_standing.items())
    print_part("rules", text)
    return len(textwrap.wrap(text, WIDTH - 12))


def _show_outcome(label: str, one: dict[str, Any], most: int) -> int:
    """Print an outcome: its scale, and at most `most` names that give it; the number of lines."""
    parts = [_scale(one) if one["scale"] else "an error"]
    if one["amax_over_scale"] is not None:
        parts.append(f"amax / scale {one['amax_over_scale']:.6g}")
    if one["largest_error"] is not None:
        parts.append(f"largest error {one['largest_error']:.4g}")
    print_heading(f"{label}  {', '.join(parts)}")
    names: dict[str, list[str]] = {}
    for choice in one["choices"]:
        name, _, member = choice.partition("=")
        names.setdefault(name, []).append(member)
    texts = [f"{name} {', '.join(members)}" for name, members in names.items()]
    text = "; ".join([*texts, f"profiles {few(one['profiles'] or ['none'], max(most, 1))}"])
    print_part("by", text)
    return 2 + len(text) // (WIDTH - 12)


def _scale(one: dict[str, Any]) -> str:
    """The scale of an outcome, and the number of its whole tensor with what that is."""
    whole = one["tensor_scale"]
    tensor = "" if whole is None else f", tensor scale {whole:.9g} ({one['tensor_scale_is']})"
    return f"scale {one['scale_is']}{tensor}"


def _by(one: dict[str, Any], most: int) -> str:
    """The names that give an outcome, at most `most` of them."""
    return few([*(choice.partition("=")[2] for choice in one["choices"]), *one["profiles"]], most)


def _limits(data: dict[str, Any]) -> list[tuple[str, ...]]:
    rows: list[tuple[str, ...]] = []
    for one in data["limits"]:
        is_ = "-" if one["amax_over_scale"] is None else f"{one['amax_over_scale']:.9g}"
        must = one["amax_over_scale_must_be"]
        if one["some_power_gives_the_limit"]:
            is_ += ": the limit" if must[:2] == "<=" else f"; by k - 1 it were {must[2:]}"
        shown = next(o["scale_is"] for o in data["outcomes"] if o["scale"] == one["scale"])
        must = must or "(computes in float32)"
        rows.append((one["rule"], one["standing"], must, is_, shown))
    return rows


def _element(outcome: dict[str, Any], i: int) -> str:
    if outcome["scale"] is None:
        return "-"
    value, error = outcome["values"][i], outcome["errors"][i]
    text = f"{outcome['codes'][i]} {value if isinstance(value, str) else f'{value:.5g}'}"
    return text if not error else f"{text} {error:+.2g}"
