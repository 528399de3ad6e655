"""The steps of two-level scaling as ``mxref explain`` shows them, each with its bits."""

from __future__ import annotations

import contextlib
import io
import re
from collections.abc import Mapping, Sequence
from typing import TYPE_CHECKING, Any

from mxref.cli.explanation import print_wrapped
from mxref.cli.screen import print_heading

if TYPE_CHECKING:
    from mxref.exact.traced import Step

#: Hexadecimal digits of a float type; codes have two.
_DIGITS = {"f16": 4, "bf16": 4, "f32": 8, "f64": 16}


def steps_data(steps: Mapping[str, Sequence[Step]]) -> dict[str, list[dict[str, str]]]:
    """The steps of each arithmetic as JSON values, with bits in hexadecimal.

    >>> from mxref.exact.traced import Step
    >>> steps_data({"cublas": [Step("s", "r3", 126, "ue4m3")]})
    {'cublas': [{'name': 's', 'text': 'r3', 'bits': '7e', 'kind': 'ue4m3'}]}
    """
    return {
        name: [
            {**one._asdict(), "bits": f"{one.bits:0{_DIGITS.get(one.kind, 2)}x}"} for one in some
        ]
        for name, some in steps.items()
    }


def show_steps(data: Mapping[str, Sequence[Mapping[str, Any]]], elements: int, room: int) -> None:
    """Print the steps of each arithmetic: those of the scales, and of some first elements.

    Args:
        data: the steps.
        elements: of how many elements.
        room: lines of the screen that are left; where the steps are longer, those of elements are
            left out, and then all.
    """
    if not data:
        return
    for count in dict.fromkeys((elements, 0)):
        with contextlib.redirect_stdout(io.StringIO()) as text:
            _show(data, count)
        if text.getvalue().count("\n") <= room:
            _show(data, count)
            return
    print("--json has the steps of every arithmetic")


def _show(data: Mapping[str, Sequence[Mapping[str, Any]]], elements: int) -> None:
    print()
    print_heading("steps, with the bits of each result")
    print_wrapped(
        "  A and a are the largest magnitudes of the tensor (here this block) and of the block, M "
        "and C those of the element and scale formats, x0 is the first element, T the tensor "
        "scale, s the block scale; --json has the steps of all elements",
        "  ",
    )
    for name, steps in data.items():
        print_wrapped(f"  {name}: {'; '.join(_first(steps, elements))}")


def _first(steps: Sequence[Mapping[str, str]], elements: int) -> list[str]:
    """The steps on which no later element depends."""
    left_out: set[str] = set()
    found = []
    for one in steps:
        words = set(re.findall(r"\w+", one["text"]))
        numbers = {int(word[1:]) for word in words if re.fullmatch(r"x\d+", word)}
        if any(number >= elements for number in numbers) or words & left_out:
            left_out.add(one["name"])
        else:
            found.append(_text(one))
    return found


def _text(step: Mapping[str, str]) -> str:
    name, text, bits = step["name"], step["text"], step["bits"]
    if step["kind"] not in _DIGITS:
        return f"{f'{name} = ' if name else ''}{step['kind']}({text}) = {bits}"
    return " = ".join(part for part in (name, text, bits) if part)
