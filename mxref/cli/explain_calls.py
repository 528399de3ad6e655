"""The steps of a call on integers as ``mxref explain`` shows them with a case."""

from __future__ import annotations

import contextlib
import io
from collections.abc import Sequence
from typing import TYPE_CHECKING, Any

from mxref.bits.floats import LAYOUTS
from mxref.cli.explanation import print_rows
from mxref.cli.screen import print_heading
from mxref.operands.shown import show_float

if TYPE_CHECKING:
    from mxref.cases.records import Case, VectorFile
    from mxref.exact.integer_steps import Step

__all__ = ["call_steps", "show_call_steps"]

#: Of a long sum so many steps are shown at its beginning and at its end.
_FIRST, _LAST = 5, 4


def call_steps(file: VectorFile, case: Case) -> list[dict[str, Any]]:
    """The steps to one word of each answer of a case, as JSON values; none where none are known.

    The word is the first one on which the answers differ, else the first one.

    >>> from mxref.cases.records import Case, VectorFile
    >>> case = Case("pack_int4.int4.bytes.x", (1, 2, 1, 2), ((0x9A,),), (), False, "Q9", "M19")
    >>> file = VectorFile("pack_int4", "int4", "bytes", ("default",), 1, 8, 2, (case,))
    >>> [(one["under"], one["word"], len(one["steps"])) for one in call_steps(file, case)]
    [('default', 0, 3)]
    """
    from mxref.operations.registry import CALL_OPERATIONS
    from mxref.operations.stepped import STEPPED, steps_of

    if file.op not in STEPPED:
        return []
    sides = [answer for answer in case.answers if answer]
    differing = (i for i, some in enumerate(zip(*sides, strict=False)) if len(set(some)) > 1)
    index = next(differing, 0)
    found, bounds = [], CALL_OPERATIONS[file.op].bounds(file.format)
    for number, answer in enumerate(case.answers):
        columns = [c for i, c in enumerate(file.columns) if not case.by or case.by[i] == number]
        policies = [column for column in columns if column not in bounds]
        if answer and policies:
            steps = steps_of(file.op, file.format, case.inputs, index, policies[0])
            shown = [_step(one, file.out_digits) for one in steps]
            found.append({"under": policies[0], "word": index, "steps": shown})
    return found


def _step(step: Step, digits: int) -> dict[str, str]:
    """A step; the last one's integer has the digits of an answer."""
    if step.kind in LAYOUTS:
        result = show_float(step.word, LAYOUTS[step.kind])
    elif step.kind == "code":
        result = f"{step.word & (1 << 4 * digits) - 1:0{digits}x} = {step.word}"
    else:
        result = str(step.word) if step.kind == "integer" else ""
    data = {"name": step.name, "text": step.text, "exact": step.exact, "rounding": step.rounding}
    return data | {"result": result}


def show_call_steps(answers: Sequence[dict[str, Any]], room: int) -> None:
    """Print the steps of each answer, in so many lines of the screen; `--json` has those of all."""
    for number, one in enumerate(answers):
        with contextlib.redirect_stdout(io.StringIO()) as text:
            _show(one)
        lines = text.getvalue().count("\n")
        if lines > room - (number + 1 < len(answers)):
            print(f"--json has the steps of {'the other answers' if number else 'the answers'}")
            return
        room -= lines
        _show(one)


def _show(answer: dict[str, Any]) -> None:
    print()
    print_heading(f"steps to word {answer['word']} under {answer['under']}")
    rows = [tuple(one.values()) for one in answer["steps"]]
    if len(rows) > _FIRST + _LAST + 1:
        left_out = len(rows) - _FIRST - _LAST
        rows[_FIRST:-_LAST] = [("...", f"{left_out} more, in --json", "", "", "")]
    print_rows(("is", "computed", "exactly", "rounded to", "gives"), rows)
