"""``mxref explain`` with an operation: how it is called, its formats and the choices it reads."""

from __future__ import annotations

import argparse
import inspect
from typing import Any

from mxref.cli.explanation import Explanation, print_part, print_rows
from mxref.cli.screen import print_heading

__all__ = ["explain_operation"]


def explain_operation(options: argparse.Namespace) -> list[Explanation]:
    """What an operation is: one of MX, or of calls with choices of its own."""
    from mxref.operations.registry import CALL_OPERATIONS, REGISTRY

    name = options.name
    if name in CALL_OPERATIONS:
        return [Explanation(_of_calls(name), _show_calls)]
    return [Explanation(_of_mx(name), _show_mx)] if name in REGISTRY else []


def _of_mx(name: str) -> dict[str, Any]:
    from mxref.operations.registry import REGISTRY
    from mxref.policy.policy import Policy

    rows = []
    for choice in REGISTRY[name].reads():
        of = (inspect.getdoc(type(Policy.members(choice)[0])) or "").partition("\n")[0]
        rows.append({"choice": choice, "ocp": Policy().choices()[choice], "of": of})
    about = f"reads {len(rows)} choices"
    return {"kind": "operation", "name": name, "about": about, "choices": rows}


def _of_calls(name: str) -> dict[str, Any]:
    """The facts about an operation of calls; its definition is that of the public function."""
    import mxref
    from mxref import integer
    from mxref.operations.registry import CALL_OPERATIONS

    operation = CALL_OPERATIONS[name]
    function = getattr(integer, name, None) or getattr(mxref, name)
    kinds = {n: kind for one in operation.formats for n, kind in operation.kinds(one).items()}
    rows = [
        {
            "choice": choice,
            "members": [member.value for member in kind],
            "of": (inspect.getdoc(kind) or "").partition("\n")[0],
        }
        for choice, kind in kinds.items()
    ]
    return {
        "kind": "operation",
        "name": name,
        "about": (inspect.getdoc(function) or "").partition("\n")[0],
        "called": operation.called_as(operation.formats[0]),
        "page": operation.page,
        "formats": list(operation.formats),
        "choices": rows,
    }


def _show_mx(data: dict[str, Any]) -> None:
    print_heading(f"operation {data['name']} reads these choices:")
    rows = [tuple(one.values()) for one in data["choices"]]
    print_rows(("choice", "ocp has", "of"), rows)


def _show_calls(data: dict[str, Any]) -> None:
    print_heading(f"operation {data['name']}")
    print_part("is", data["about"])
    print_part("a target", f"has {data['called']}, as {data['page']} says")
    print_part("formats", ", ".join(data["formats"]))
    rows = [(one["choice"], ", ".join(one["members"]), one["of"]) for one in data["choices"]]
    if rows:
        print_rows(("choice", "members, the default first", "of"), rows)
        print(f"more of one: mxref explain {rows[0][0]}")
