"""``mxref explain`` with the name of a profile."""

from __future__ import annotations

import argparse
import inspect
from typing import TYPE_CHECKING, Any

from mxref.cli.explain_bugs import bugs_of, print_bugs
from mxref.cli.explain_packages import of_package
from mxref.cli.explanation import few, print_rows, print_wrapped
from mxref.support.text import short_number

if TYPE_CHECKING:
    from mxref.profiles import Profile


def explain_profile(options: argparse.Namespace) -> bool:
    """Explain a profile; False if there is none of that name."""
    from mxref.profiles import PROFILES

    found = PROFILES.get(options.name)
    if found is None:
        return False
    if options.format is not None or options.float is not None:
        raise ValueError("--format and --float must be absent where NAME is a profile")
    for what, text in (
        ("profile", found.name),
        ("source", found.source),
        ("version", found.version),
        ("checked", found.checked),
        ("has", found.has),
        ("policy", str(found.policy)),
    ):
        if text:
            print_wrapped(f"{what:8} {text}", " " * 9)
    beside = [name for name in of_package(found.name) if name != found.name]
    if beside:
        print_wrapped(f"beside   {few(beside, 3)}: mxref explain profiles {found.name}", " " * 9)
    _history(found)
    _choices(found)
    _stages(found)
    bugs = bugs_of(found.name)
    if bugs:
        print()
        print_bugs(bugs)
    return True


def _history(profile: Profile) -> None:
    """Print the changes before and after a profile's version, each with an input that shows it."""
    from mxref.operations.registry import REGISTRY
    from mxref.profiles import PROFILES
    from mxref.profiles.history import changes_of

    changes = changes_of(profile.name)
    for head in dict.fromkeys((one.before, one.after) for one in changes):
        versions = (f"{PROFILES[name].version.partition(',')[0]} ({name})" for name in head)
        print(f"\nhistory  from {' to '.join(versions)}:")
        some = [one for one in changes if (one.before, one.after) == head]
        for one in some:
            source = one.source or "seen by running both"
            print_wrapped(f"         {one.what} ({source}):", " " * 9)
            given = (
                f"code {int(one.given):02x}"
                if REGISTRY[one.op].from_codes
                else short_number(one.given)
            )
            codes = f"{one.codes[1]}, was {one.codes[0]}"
            print_wrapped(f"         {one.op} {one.format}: {given} -> {codes}", " " * 9)
        print(f"         all of it: mxref diff {head[0]} {head[1]} --format {some[0].format}")


def _choices(profile: Profile) -> None:
    """Print the choices of a profile that differ from `ocp`."""
    from mxref.policy.policy import Policy

    default, rows = Policy().choices(), []
    for name, value in profile.policy.choices().items():
        if value != default[name]:
            (member,) = (one for one in Policy.members(name) if one.value == value)
            about = (type(member).__doc__ or "").partition("\n")[0]
            rows.append((name, value, member.standings, about))
    if rows:
        print()
        print_rows(("choice", "is", "standing", "of"), rows)


def _stages(profile: Profile) -> None:
    """Print the stages in which a profile differs from its policy."""
    rows = []
    for stage in profile.replaced:
        function = getattr(profile.stages, stage)
        name = f"{function.__module__.rpartition('.')[2]}.{function.__name__}"
        rows.append((stage, name, (inspect.getdoc(function) or "").partition("\n")[0]))
    print()
    if not rows:
        print("no stage is replaced: it is its policy")
        return
    print_rows(("stage", "function", "what it does in place of what the policy says"), rows)
    print('formulas: SPEC_NOTES.md, "Stages that profiles replace"')


def profile_data(profile: Profile) -> dict[str, Any]:
    """The facts that `explain_profile` prints, as JSON values."""
    from mxref.policy.policy import Policy

    default, own = Policy().choices(), profile.policy.choices()
    return {
        "kind": "profile",
        "name": profile.name,
        "about": profile.about,
        "source": profile.source,
        "version": profile.version,
        "checked": profile.checked,
        "has": profile.has,
        "policy": str(profile.policy),
        "choices": {name: value for name, value in own.items() if value != default[name]},
        "stages": {
            stage: (inspect.getdoc(getattr(profile.stages, stage)) or "").partition("\n")[0]
            for stage in profile.replaced
        },
        "bugs": [bug._asdict() for bug in bugs_of(profile.name)],
    }
