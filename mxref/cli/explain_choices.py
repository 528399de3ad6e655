"""``mxref explain`` with a choice, a member of one, or a policy."""

from __future__ import annotations

import argparse
import enum
import functools
import inspect
import re
import sys
from collections.abc import Mapping
from typing import Any

from mxref.cli.explain_limits import (
    limits_of_all,
    limits_of_member,
    show_limits_of_all,
    show_limits_of_member,
)
from mxref.cli.explain_worked import show_worked, worked_case
from mxref.cli.explanation import Explanation, few, print_part, print_rows
from mxref.cli.screen import print_heading, vectors_folder
from mxref.cli.spec_notes import clause_of_member, source_of_member
from mxref.policy.choice import Choice

__all__ = [
    "choice_about",
    "explain_choices",
    "explain_members",
    "explain_policy",
    "integer_choices",
    "integer_member",
    "member_data",
    "show_member",
]

#: Profiles that are shown beside a member in a table, at most.
_FEW = 3


def explain_choices(options: argparse.Namespace) -> list[Explanation]:
    """The choices with a name: that of policies, and that of integer operations."""
    from mxref.policy.policy import READS, Policy

    name, found = options.name, []
    if name in Policy().choices():
        members = Policy.members(name)
        data = _choice_data("choice", name, type(members[0]))
        data["read_by"] = [op for op in READS if name in READS[op]]
        data["members"] = [member_data(name, one) for one in members]
        data["by_stages"] = _by_stages(name)
        if name == "scale_rule":
            data["limits"] = limits_of_all(options.format)
        found.append(Explanation(data, _show_choice))
    if name in integer_choices():
        kind = integer_choices()[name]
        data = _choice_data("integer choice", name, kind)
        data["read_by"] = []
        data["members"] = [integer_member(name, one) for one in kind]
        found.append(Explanation(data, _show_choice))
    return found


def explain_members(options: argparse.Namespace) -> list[Explanation]:
    """The members that a word names, with or without its choice."""
    from mxref.policy.policy import Policy, spellings

    found = []
    for spelled in spellings(options.name):
        choice, _, value = spelled.partition("=")
        (member,) = (one for one in Policy.members(choice) if one.value == value)
        data = _full(member_data(choice, member), member, options)
        data["see_also"] = _with_part(options.name.lower())
        found.append(_member(data, options))
    word = options.name.lower()
    for choice, kind in integer_choices().items():
        for one in kind:
            if word in (one.value, f"{choice}={one.value}"):
                data = integer_member(choice, one) | {"of": choice_about(kind)}
                found.append(_member(data, options))
    return found


def explain_policy(options: argparse.Namespace) -> list[Explanation]:
    """The members that a policy spells; none if it spells none or an unknown one."""
    from mxref.policy.policy import Policy

    if not options.name.lower().startswith("ocp+"):
        return []
    try:
        policy = Policy.parse(options.name.lower())
    except ValueError:
        return []
    default, own = Policy().choices(), policy.choices()
    members = [
        member_data(name, next(one for one in Policy.members(name) if one.value == own[name]))
        for name in own
        if own[name] != default[name]
    ]
    data = {"kind": "policy", "name": str(policy), "about": "ocp, but for these choices"}
    return [Explanation(data | {"members": members}, _show_policy)]


def member_data(choice: str, member: Choice) -> dict[str, Any]:
    """The facts about a member that need no vectors, as JSON values."""
    from mxref.policy.policy import READS, Policy
    from mxref.profiles.choosing import who_does

    value = member.value
    return {
        "kind": "member",
        "name": f"{choice}={value}",
        "about": _comment(member),
        "choice": choice,
        "standing": member.standings,
        "standing_in": {"FP8": member.standing.value, "FP6, FP4": member.elsewhere.value},
        "clause": clause_of_member()[choice, value],
        "source": source_of_member()[choice, value],
        "default": Policy().member(choice) is member,
        "read_by": [op for op in READS if choice in READS[op]],
        "profiles": who_does(choice)[value],
    }


def show_member(data: dict[str, Any]) -> None:
    """Print a member in brief: its standing, what it does, and the profiles that do it."""
    standing = f", {data['standing']}" if "standing" in data else ""
    about = f": {data['about']}" if data["about"] else ""
    print_heading(f"{data['name']}{standing}{about}")
    if "source" in data:
        print_part("done by", data["source"])
        print_part("profiles", ", ".join(data["profiles"]) or "none")


def integer_choices() -> Mapping[str, type[enum.Enum]]:
    """The choices of operations of calls by the names of their parameters.

    >>> [name for name in integer_choices() if name.startswith("s")]
    ['scale_type', 'scaling', 'stored', 'sum']
    """
    from mxref.integer import integer_choices as kinds
    from mxref.products.epilogue_steps import EpilogueSteps

    names = {one: re.sub(r"(?<=[a-z])(?=[A-Z][a-z])", "_", one).lower() for one in kinds.__all__}
    return {name: getattr(kinds, one) for one, name in names.items()} | {"epilogue": EpilogueSteps}


def _choice_data(kind: str, name: str, members: type[enum.Enum]) -> dict[str, Any]:
    return {"kind": kind, "name": name, "about": choice_about(members)}


def choice_about(kind: type[enum.Enum]) -> str:
    """The definition of a choice: its docstring in one line."""
    return " ".join((inspect.getdoc(kind) or "").split())


def integer_member(choice: str, member: enum.Enum) -> dict[str, Any]:
    """The facts about a member of a choice of integer operations, as JSON values."""
    default = member is next(iter(type(member)))
    return {
        "kind": "integer member",
        "name": f"{choice}={member.value}",
        "about": _comment(member),
        "choice": choice,
        "default": default,
    }


def _by_stages(choice: str) -> tuple[str, ...]:
    from mxref.profiles.choosing import OWN_STAGE, who_does

    return who_does(choice)[OWN_STAGE]


def _full(data: dict[str, Any], member: Choice, options: argparse.Namespace) -> dict[str, Any]:
    """The data of a member with its choice and, for a scale rule, its limits."""
    data["of"] = choice_about(type(member))
    limits = limits_of_member(member, options.format)
    if limits is not None:
        data["limits"] = limits
    return data


def _with_part(word: str) -> list[str]:
    """The members whose spelling has a word as one of its parts.

    >>> _with_part("even")
    ['rounding=ties_to_even', 'scale_rounding=ties_to_even']
    """
    from mxref.policy.policy import Policy

    return [
        f"{choice}={one.value}"
        for choice in Policy().choices()
        for one in Policy.members(choice)
        if word in one.value.split("_")[1:]
    ]


def _member(data: dict[str, Any], options: argparse.Namespace) -> Explanation:
    """The answer about a member; the case that shows it takes time to find."""
    folder = options.vectors or vectors_folder()

    def more() -> dict[str, Any]:
        choice, _, value = data["name"].partition("=")
        integer = data["kind"] == "integer member"
        none = data["default"]  # the default has no such case: it is what others differ from
        found = (
            None if none else worked_case(folder, choice, value, options.format, integer=integer)
        )
        return {"example": found}

    return Explanation(data, _show_full, more)


def _show_full(data: dict[str, Any]) -> None:
    show_member(data)
    print_part("choice", f"{data['choice']}: {data['of']}")
    if "read_by" in data:
        spelled = "ocp has it" if data["default"] else f"ocp+{data['name']}"
        print_part("policy", f"{spelled}; read by {', '.join(data['read_by'])}")
        print_part("by stages", few(_by_stages(data["choice"]), 6))
        print_part("see also", ", ".join(data["see_also"]))
    if "limits" in data:
        show_limits_of_member(data["limits"])
    if data["choice"] == "scale_layout":
        from mxref.cli.scale_layout_facts import print_addresses

        print_addresses(data["name"].partition("=")[2])
    example = data.get("example")
    if example:
        print()
        show_worked(example)


def _show_choice(data: dict[str, Any]) -> None:
    print_heading(f"{data['kind']} {data['name']}")
    print_part("is", data["about"])
    if data["read_by"]:
        print_part("read by", f"{', '.join(data['read_by'])}; the first is ocp's")
    rows: list[tuple[str, ...]] = []
    for one in data["members"]:
        row: tuple[str, ...] = (one["name"].partition("=")[2], one["about"])
        if "standing" in one:
            row = (row[0], one["standing"], row[1], few(one["profiles"], _FEW) or "-")
        rows.append(row)
    names = ("member", "standing", "what it does", "profiles")
    print_rows(names if len(rows[0]) == len(names) else ("member", "what it does"), rows)
    print_part("by stages", few(data.get("by_stages", ()), 6))
    if "limits" in data:
        show_limits_of_all(data["limits"])
    first = data["members"][-1]["name"]
    print(f"more of one: mxref explain {first}")


def _show_policy(data: dict[str, Any]) -> None:
    print_heading(f"policy {data['name']}: {data['about']}")
    for one in data["members"]:
        show_member(one)
        print_part("policy", f"ocp+{one['name']}")


def _comment(member: enum.Enum) -> str:
    """The comment above or beside a member in the source; empty if there is none."""
    line = rf"((?:^ +#: .*\n)*)^ +{member.name} = .*?(?:  #: (.*))?$"
    found = re.search(line, _source(type(member)), re.MULTILINE)
    if found is None:
        return ""
    above = [text.strip().removeprefix("#: ") for text in found[1].splitlines()]
    return " ".join([*above, *filter(None, [found[2]])])


@functools.cache
def _source(kind: type[enum.Enum]) -> str:
    """The text of a class: `inspect.getsource` would parse its whole module."""
    try:
        text = inspect.getsource(sys.modules[kind.__module__])
    except OSError:
        return ""
    found = re.search(rf"^class {kind.__name__}\b.*\n(?:(?: .*)?\n)*", text, re.MULTILINE)
    return "" if found is None else found[0]
