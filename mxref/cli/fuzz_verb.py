"""``mxref fuzz``: search an implementation for wrong answers, and print the simplest as code."""

from __future__ import annotations

import argparse
import json
from typing import TYPE_CHECKING, Any

from mxref.cases.names import refuse_unknown_names
from mxref.cli.screen import Verbs, add_json_argument, new_parser, print_table, print_text
from mxref.cli.target_arguments import (
    add_comparison_options,
    add_name_options,
    add_target_arguments,
    chosen_target,
    ending_of,
)

if TYPE_CHECKING:
    from mxref.conformance import Target
    from mxref.conformance.fuzzing.fuzz import FuzzRow
    from mxref.policy.policy import Policy


def add_parser(verbs: Verbs) -> None:
    """Add the verb."""
    about = "search an implementation for wrong answers, and show the simplest ones as code"
    example = "mxref fuzz my_kernel.py --op quantize --format mxfp4_e2m1 --examples 2000"
    parser = new_parser(
        verbs,
        "fuzz",
        _run,
        about,
        example,
        formats="fuzz",
        exits=(
            "no wrong answer was found",
            "a wrong answer was found, nothing is covered, or a program ended badly",
        ),
        notes="columns:\n  examples  questions asked, each of one or several numbers or blocks",
    )
    add_target_arguments(parser)
    add_comparison_options(parser)
    add_name_options(parser)
    about = "questions per operation, format and float type, besides batches (default 200)"
    parser.add_argument("--examples", type=int, default=200, metavar="N", help=about)
    about = "seed of the questions (default 0)"
    parser.add_argument("--seed", type=int, default=0, metavar="S", help=about)
    add_json_argument(parser)


def _under(row: FuzzRow) -> str:
    return f"under {row.policy}" if row.profile is None else f"of profile {row.profile}"


def _by(row: FuzzRow, policy: Policy) -> str:
    """The policy that a row was compared with; integer operations have policies of their own."""
    if row.profile:
        return f"profile {row.profile}"
    from mxref.operations.registry import REGISTRY

    return row.policy if REGISTRY[row.op].own_choices else str(policy)


def _run(options: argparse.Namespace) -> int:
    try:
        import mxref.strategies  # noqa: F401 - its ImportError says what to install
    except ImportError as error:
        raise ValueError(str(error)) from None
    with chosen_target(options) as target:
        return _search(options, target)


def _search(options: argparse.Namespace, target: Target) -> int:
    from mxref.cases.own_formats import notes_on_references
    from mxref.conformance.fuzzing.fuzz import fuzz
    from mxref.conformance.fuzzing.input_words import subjects
    from mxref.policy.policy import Policy
    from mxref.profiles import profile

    named = None if options.profile is None else profile(options.profile)
    given = None if options.policy is None else Policy.parse(options.policy)
    policy = (named or target).policy if given is None else given
    refuse_unknown_names(vars(options), subjects(policy))
    chosen = {"ops": options.op, "formats": options.format, "floats": options.float}
    rows = []
    how = {"profile": named, "examples": options.examples, "seed": options.seed}
    for row in fuzz(target, given, **chosen, **how):
        rows.append(row)
        if row.found is not None and not options.json:
            place = f"{row.op} {row.format} {row.float} {_under(row)}"
            print(f"{place}: {row.found.text}\n{row.found.code}\n", flush=True)
    wrong = sum(row.found is not None for row in rows)
    ending = ending_of(target)
    passed = bool(rows) and not wrong and not ending
    if options.json:
        print(
            json.dumps(_as_json(rows, target.name, policy, passed=passed, ending=ending), indent=1)
        )
        return 0 if passed else 1
    header = ("op", "format", "float", "examples", "result")
    results = ["ok" if row.found is None else "WRONG" for row in rows]
    table = zip(rows, results, strict=True)
    print_table(header, [(r.op, r.format, r.float, str(r.examples), said) for r, said in table])
    for note in notes_on_references(row.format for row in rows):
        print(f"note: {note}")
    word, told = "PASS" if passed else "FAIL", f"; {ending}" if ending else ""
    searched = f"{len(rows)} searched, {wrong} with a wrong answer" if rows else "nothing covered"
    by = [_by(row, policy) for row in rows] or [str(policy)]
    print_text(
        f"{word} {target.name}: {searched}, compared with {', '.join(dict.fromkeys(by))}{told}"
    )
    return 0 if passed else 1


def _as_json(
    rows: list[FuzzRow], target: str, policy: Policy, *, passed: bool, ending: str
) -> dict[str, Any]:
    from mxref.cases.own_formats import notes_on_references
    from mxref.cases.records import words
    from mxref.operands.word_rows import stripped

    def found(row: FuzzRow) -> dict[str, Any] | None:
        if row.found is None:
            return None
        file, failure = row.found.file, row.found.failure
        return {
            "text": row.found.text,
            "in": [words(stripped(one), file.in_digits) for one in row.found.inputs],
            "cases": row.found.size or len(row.found.inputs),
            "case": failure.index,
            "want": words(failure.want, file.out_digits),
            "got": None if failure.got is None else words(failure.got, file.out_digits),
            "error": failure.error,
            "steady": row.found.steady,
            "code": row.found.code,
        }

    notes = [*notes_on_references(row.format for row in rows)]
    return {
        "target": target,
        "policy": str(policy),
        "passed": passed,
        "ending": ending,
        **({"notes": notes} if notes else {}),
        "rows": [
            {
                "op": row.op,
                "format": row.format,
                "float": row.float,
                "policy": row.policy,
                "profile": row.profile,
                "examples": row.examples,
                "counterexample": found(row),
            }
            for row in rows
        ],
    }
