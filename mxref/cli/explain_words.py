"""``mxref explain`` with a coverage model, a flag, a standing, or the id of a case."""

from __future__ import annotations

import argparse
import contextlib
import io
import re
from functools import partial
from typing import Any

from mxref.bits.floats import F32
from mxref.cli.explain_calls import call_steps, show_call_steps
from mxref.cli.explain_numbers import lines_of
from mxref.cli.explanation import LINES, WIDTH, Explanation, few, print_rows, print_wrapped
from mxref.cli.screen import vectors_folder

#: standing -> what it says of a member of a choice.
STANDINGS = {
    "required": "the standard says `must`, or it follows from a `must`; every other answer fails",
    "recommended": "the standard says `should`",
    "permitted": "the standard says `may`, or `implementation-defined`",
    "silent": "the standard does not decide it, or it is out of its scope",
    "contradicts": "the text of the standard defines something else",
}
#: Profiles that are shown beside a member.
_FEW = 3
__all__ = ["explain_case", "explain_words"]


def explain_words(options: argparse.Namespace) -> list[Explanation]:
    """The explanations of a model, a flag or a standing with a name."""
    from mxref.cases.words import FLAGS, models

    # A model may be that of one operation, so that all must be imported.
    known = models() if re.fullmatch(r"M\d+", options.name) else {}
    return [
        Explanation(
            {"kind": kind, "name": options.name, "about": texts[options.name]},
            _show_word,
            partial(_choices_of, options.name) if kind == "flag" else None,
        )
        for kind, texts in (("model", known), ("flag", FLAGS), ("standing", STANDINGS))
        if options.name in texts
    ]


def _choices_of(flag: str) -> dict[str, Any]:
    """The choices that have the name of a flag in theirs, and who does what."""
    from mxref.policy.policy import Policy
    from mxref.profiles.choosing import who_does

    names = [name for name in Policy().choices() if flag in (name, *name.split("_"))]
    return {"choices": [{"choice": name, "profiles": who_does(name)} for name in names]}


def _show_word(data: dict[str, Any]) -> None:
    print_wrapped(f"{data['kind']} {data['name']}: {data['about']}")
    members = [
        (f"{one['choice']}={member}", few(profiles, _FEW) or "none")
        for one in data.get("choices", ())
        for member, profiles in one["profiles"].items()
    ]
    if members:
        print_rows(("what is chosen", "profiles"), members)
        print_wrapped(f"more of one: mxref explain choice {data['choices'][0]['choice']}")


def explain_case(options: argparse.Namespace) -> Explanation | None:
    """A case of the vectors; None if the name is not the id of a case."""
    op, *rest = options.name.split(".")
    if len(rest) != 3:
        return None
    from mxref.operations.registry import OPERATIONS

    if op not in OPERATIONS:
        return None
    if options.format is not None or options.float is not None:
        raise ValueError("--format and --float must be absent where NAME is the id of a case")
    from mxref.cases.read import read_vectors
    from mxref.cases.records import words
    from mxref.cases.shown import show_input, show_output
    from mxref.cases.words import known_models, known_rules
    from mxref.formats.catalog import block_format
    from mxref.golden.contract import holds
    from mxref.golden.made_files import made_files
    from mxref.operands.shown import show_float

    folder = options.vectors or vectors_folder()
    wanted = f"{op}/{rest[0]}.{rest[1]}"
    made = made_files().get(wanted)
    files = [made()] if made else read_vectors(folder, lambda stem: stem == wanted)
    found = ((file, case) for file in files for case in file.cases if case.id == options.name)
    file, case = next(found, (None, None))
    if file is None or case is None:
        raise ValueError(f"there is no case {options.name!r} in {folder}")
    required = "required of everyone" if case.required else "the standard leaves the answer open"
    row = file.row
    if row.own_choices:
        required = "no standard says what is right"
    if row.blocks == "numbers" and case.rule == "MX-6.3":
        required = "the standard leaves the scale open, not the elements under it"
    coded = not row.own_choices  # words of calls are no codes of a format
    one = len(case.inputs) == 1 and coded
    held = {
        name: "" if one or not coded else holds(op, file.format, name) for name in ("in", "out")
    }
    if row.blocks and block_format(file.format).tensor_scale:
        tensor = show_float(case.inputs[0], F32)
        held["in"] = held["in"].replace("of the tensor", f"of the tensor ({tensor})")
    outs = []
    for index, answer in enumerate(case.answers):
        columns = [c for i, c in enumerate(file.columns) if not case.by or case.by[i] == index]
        text = show_output(file, answer[0]) if len(answer) == 1 and coded else ""
        names = [column.removeprefix("ocp+") for column in columns]
        outs.append({"words": words(answer, file.out_digits), "is": text, "under": names})
    data = {
        "kind": "case",
        "name": case.id,
        "about": "a case of the vectors",
        "in": words(case.inputs, file.in_digits),
        "in_is": show_input(file, case.inputs[0]) if one else "",
        "in_holds": held["in"],
        "out_holds": held["out"],
        "rule": {"clause": case.rule, "about": known_rules(op)[case.rule], "standing": required},
        "model": {"name": case.model, "about": known_models(op)[case.model]},
        "out": outs,
    }
    data |= {"flags": list(case.flags), "steps": call_steps(file, case)}
    return Explanation(data, _show_case)


def _show_case(data: dict[str, Any]) -> None:
    with contextlib.redirect_stdout(io.StringIO()) as text:
        _show_words(data)
    print(text.getvalue(), end="")
    show_call_steps(data["steps"], LINES - text.getvalue().count("\n"))


def _show_words(data: dict[str, Any]) -> None:
    from mxref.cases.words import FLAGS

    rule, model = data["rule"], data["model"]
    print(data["name"])
    print(f"in    {data['in_is'] or _wrapped(data['in'])}")
    if data["in_holds"]:
        print_wrapped(f"words {data['in_holds']} -> {data['out_holds']}", " " * 6)
    print_wrapped(f"rule  {rule['clause']}, {rule['about']}: {rule['standing']}", " " * 6)
    print_wrapped(f"model {model['name']}, {model['about']}", " " * 6)
    for flag in data["flags"]:
        print_wrapped(f"flag  {flag}: {FLAGS[flag]}", " " * 6)
    most = max((LINES - 14) // len(data["out"]) - 2, 1)
    most = min(most, 2) if data["steps"] else most
    between = "\n" if most > 1 else ""
    print(end="" if between else "\n")
    for one in data["out"]:
        print(f"{between}out   {one['is'] or _wrapped(one['words'], most)}")
        for line in lines_of(one["under"]):
            print(f"      {line}")


def _wrapped(text: str, most: int = 6) -> str:
    """Words in at most `most` lines, then dots: `--json` has all."""
    lines = list(lines_of(text.split(" "), WIDTH - 24 if most > 1 else WIDTH - 10))
    if len(lines) > most:
        lines = [*lines[: most - 1], f"{lines[most - 1]} ..."]
    return "\n      ".join(lines)
