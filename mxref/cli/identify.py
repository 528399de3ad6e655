"""``mxref identify``: which choices an implementation makes."""

from __future__ import annotations

import argparse
import json
from collections.abc import Sequence
from typing import TYPE_CHECKING

from mxref._text import unknown_name
from mxref.cli._common import Verbs, new_parser, print_table
from mxref.cli._targets import add_target_arguments, chosen_target

if TYPE_CHECKING:
    from mxref.conformance import Identified


def add_parser(verbs: Verbs) -> None:
    """Add the verb."""
    parser = new_parser(
        verbs,
        "identify",
        _run,
        "find out by at most 64 probes per operation, format and float type which choices an "
        "implementation makes",
        "mxref identify tools/adapters/ml_dtypes_adapter.py --op encode --format e4m3",
    )
    add_target_arguments(parser)
    for name in ("op", "format", "float"):
        parser.add_argument(
            f"--{name}",
            action="append",
            metavar=name.upper(),
            help=f"only this {'operation' if name == 'op' else name}; may be given again",
        )
    parser.add_argument("--json", action="store_true", help="print what was found as JSON")


def _run(options: argparse.Namespace) -> int:
    from mxref import conformance
    from mxref.conformance.identify import settings
    from mxref.conformance.identify_report import identified_json
    from mxref.golden.words import OPERATIONS

    for name in ("op", "format", "float"):
        present = dict.fromkeys(getattr(setting, name) for setting in settings())
        for one in getattr(options, name) or []:
            if one not in present:
                raise ValueError(unknown_name(f"--{name}", one, present))
    with chosen_target(options) as target:
        name = target.name
        found = conformance.identify(
            target, options.op or OPERATIONS, options.format, options.float
        )
    if options.json:
        print(json.dumps(identified_json(found), indent=1))
    else:
        _print(name, found)
    return 0 if found and all(one.consistent for one in found) else 1


def _print(name: str, results: Sequence[Identified]) -> None:
    from mxref.conformance.identify_report import common_policy, disagreements, lines, merged

    for group in merged(results):
        title, rows, rest = lines(group)
        print(title)
        if rows:
            print_table(("choice", "is", "shown by"), rows)
        for line in rest:
            print(line)
        print()
    consistent = [one for one in results if one.consistent]
    for line in disagreements(consistent):
        print(line)
    wrong = len(results) - len(consistent)
    policy = common_policy(consistent) if consistent else None
    word = "nothing asked: it covers nothing of this" if not results else f"equals {policy}"
    if results and policy is None:
        word = "no one policy gives all answers"
    if wrong:
        word = f"{wrong} of {len(results)} inconsistent; else {word}"
    print(f"{name}: {word}")
