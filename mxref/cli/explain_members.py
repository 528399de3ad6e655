"""``mxref explain`` with a member of a choice, a policy, or an operation."""

from __future__ import annotations

import argparse
import inspect
import re
import textwrap

from mxref.cli.screen import print_table
from mxref.policy.choice import Choice


def explain_members(options: argparse.Namespace) -> bool:
    """Explain the members of choices that a word or a policy names; False if it names none."""
    from mxref.policy.policy import Policy, spellings

    word: str = options.name
    parts = [part for part in word.split("+") if part != "ocp"]
    found = [one for part in parts for one in spellings(part)]
    if not found or not all(map(spellings, parts)):
        return False
    for one in found:
        choice, _, value = one.partition("=")
        (member,) = (member for member in Policy.members(choice) if member.value == value)
        _print_member(choice, member)
    return True


def explain_operation(options: argparse.Namespace) -> bool:
    """Explain which choices an operation reads; False if there is none of that name."""
    from mxref.policy.policy import READS, Policy

    if options.name not in READS:
        return False
    print(f"operation {options.name} reads these choices:")
    default = Policy().choices()
    rows = []
    for choice in READS[options.name]:
        about = inspect.getdoc(type(Policy.members(choice)[0])) or ""
        rows.append((choice, default[choice], about.partition("\n")[0]))
    print_table(("choice", "ocp has", "of"), rows)
    return True


def _print_member(choice: str, member: Choice) -> None:
    """Print a member: what it does, who reads its choice, and the profiles that have it."""
    from mxref.policy.policy import READS, Policy
    from mxref.profiles import PROFILES

    value = member.value
    about = _comment(member)
    print(f"{choice}={value}, {member.standing.value}{f': {about}' if about else ''}")
    _print_part("choice", inspect.getdoc(type(member)) or "")
    _print_part("read by", ", ".join(op for op in READS if choice in READS[op]))
    if Policy().choices()[choice] == value:
        _print_part("policy", "ocp has it")
        return
    _print_part("policy", f"ocp+{choice}={value}")
    profiles = [name for name, one in PROFILES.items() if one.policy.choices()[choice] == value]
    _print_part("profiles", ", ".join(profiles) or "-")


def _print_part(name: str, text: str) -> None:
    words = " ".join(text.split())
    head = f"  {name:8}  "
    print(textwrap.fill(words, 100, initial_indent=head, subsequent_indent=" " * len(head)))


def _comment(member: Choice) -> str:
    """What the comment beside a member says; empty if there is none, or no source."""
    try:
        source = inspect.getsource(type(member))
    except OSError:
        return ""
    found = re.search(rf"^ +{member.name} = .*  #: (.*)$", source, re.MULTILINE)
    return found[1] if found else ""
