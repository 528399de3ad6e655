"""``mxref explain`` with an operation, its call, formats and choices; or with an adder."""

from __future__ import annotations

import argparse
import inspect
from typing import Any

from mxref.cli.explanation import Explanation, print_part, print_rows
from mxref.cli.screen import print_heading

__all__ = ["called_as", "explain_adder", "explain_operation", "operation_data"]


def explain_operation(options: argparse.Namespace) -> list[Explanation]:
    """What an operation is: one of MX, or of calls with choices of its own."""
    from mxref.operations.registry import CALL_OPERATIONS, REGISTRY

    name = options.name
    if name in CALL_OPERATIONS:
        return [Explanation(operation_data(name), _show_calls)]
    return [Explanation(_of_mx(name), _show_mx)] if name in REGISTRY else []


def explain_adder(options: argparse.Namespace) -> list[Explanation]:
    """How an adder of a matrix unit adds."""
    from mxref.products.adders import ADDERS

    if options.name not in ADDERS:
        return []
    from mxref.conformance.adders.sentence import adder_text

    adder = ADDERS[options.name]
    scales = "" if adder.scaling is None else ", scales=(scales_a, scales_b)"
    called = f'mxref.mma(a, b, adder="{options.name}"{scales})'
    if adder.blocks:
        called = f'mxref.matmul(a, b, accumulation="aligned_{adder.fraction_bits}")'
    data = {
        "kind": "adder",
        "name": options.name,
        "about": adder_text(adder),
        "scales": "" if adder.scaling is None else adder.scaling.value,
        "blocks": list(adder.blocks),
        "formats": list(adder.formats),
        "called": called,
        "clause": "N47",
    }
    return [Explanation(data, _show_adder)]


def _of_mx(name: str) -> dict[str, Any]:
    from mxref.operations.registry import REGISTRY
    from mxref.policy.policy import Policy

    rows = []
    for choice in REGISTRY[name].reads():
        of = (inspect.getdoc(type(Policy.members(choice)[0])) or "").partition("\n")[0]
        rows.append({"choice": choice, "ocp": Policy().choices()[choice], "of": of})
    about = f"reads {len(rows)} choices"
    called = called_as(name)
    return {"kind": "operation", "name": name, "about": about, "called": called, "choices": rows}


def called_as(name: str) -> str:
    """How a target's function of an operation is called.

    >>> called_as("encode_stochastic")
    'encode_stochastic(values, random_bits, random_width, format)'
    """
    from mxref.operations.registry import CALL_OPERATIONS, DOT_OPERATIONS, REGISTRY

    if name in CALL_OPERATIONS:
        return CALL_OPERATIONS[name].called_as(CALL_OPERATIONS[name].formats[0])
    return REGISTRY[name].called_as("-".join(["mxfp8_e4m3"] * (1 + (name in DOT_OPERATIONS))))


def operation_data(name: str) -> dict[str, Any]:
    """The facts about an operation of calls; its definition is that of the public function."""
    import mxref
    from mxref import integer
    from mxref.operations.registry import CALL_OPERATIONS

    operation = CALL_OPERATIONS[name]
    function = getattr(integer, name, None) or getattr(mxref, name, operation)
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
        "called": called_as(name),
        "python": f"mxref.integer.{name}" if hasattr(integer, name) else "",
        "page": operation.page,
        "formats": list(operation.formats),
        "choices": rows,
    }


def _show_adder(data: dict[str, Any]) -> None:
    print_heading(f"adder {data['name']}")
    print_part("adds", data["about"])
    print_part("scales", data["scales"] and f"of parts of K: {data['scales']}")
    print_part("blocks of", " or ".join(map(str, data["blocks"])))
    print_part("elements", ", ".join(data["formats"]))
    print_part("called", data["called"])
    print_part("clause", data["clause"])


def _show_mx(data: dict[str, Any]) -> None:
    print_heading(f"operation {data['name']} reads these choices:")
    print_part("a target", f"has {data['called']}")
    rows = [tuple(one.values()) for one in data["choices"]]
    print_rows(("choice", "ocp has", "of"), rows)


def _show_calls(data: dict[str, Any]) -> None:
    print_heading(f"operation {data['name']}")
    print_part("is", data["about"])
    print_part("a target", f"has {data['called']}, as {data['page']} says")
    print_part("Python", data["python"])
    print_part("formats", ", ".join(data["formats"]))
    rows = [(one["choice"], ", ".join(one["members"]), one["of"]) for one in data["choices"]]
    if rows:
        print_rows(("choice", "members, the default first", "of"), rows)
        print(f"more of one: mxref explain {rows[0][0]}")
