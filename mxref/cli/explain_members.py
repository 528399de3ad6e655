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
    from mxref.policy.policy import READS, Policy, spellings

    word: str = options.name
    parts = [part for part in word.split("+") if part != "ocp"]
    found = [one for part in parts for one in spellings(part)]
    if not found or not all(map(spellings, parts)):
        return False
    for one in found:
        choice, _, value = one.partition("=")
        print_member(choice, value)
        had = Policy().choices()[choice] == value
        print_part("policy", "ocp has it" if had else f"ocp+{one}")
        print_part("choice", inspect.getdoc(type(Policy.members(choice)[0])) or "")
        print_part("read by", ", ".join(op for op in READS if choice in READS[op]))
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


def print_member(choice: str, value: str) -> None:
    """Print a member: its standing, what it does, and the profiles that have it."""
    from mxref.policy.policy import Policy
    from mxref.profiles.choosing import who_does

    (member,) = (one for one in Policy.members(choice) if one.value == value)
    about = _comment(member)
    standing = f"{choice}={value}, {member.standings}"
    _print_wrapped(f"{standing}{f': {about}' if about else ''}", "    ")
    print_part("profiles", ", ".join(who_does(choice)[value]) or "none")


def print_part(name: str, text: str) -> None:
    """Print a part of an explanation beside its name; nothing if it is empty."""
    if text:
        _print_wrapped(f"  {name:9} {' '.join(text.split())}", " " * 12)


def _print_wrapped(text: str, indent: str) -> None:
    """Print a text; words with hyphens and names are kept whole."""
    for line in textwrap.wrap(text, 100, subsequent_indent=indent, break_on_hyphens=False):
        print(line)


def _comment(member: Choice) -> str:
    """What the comment beside a member says; empty if there is none, or no source."""
    try:
        source = inspect.getsource(type(member))
    except OSError:
        return ""
    found = re.search(rf"^ +{member.name} = .*  #: (.*)$", source, re.MULTILINE)
    return found[1] if found else ""
