"""``mxref verify``: check an implementation against the golden vectors."""

from __future__ import annotations

import argparse
import json
from collections import Counter
from collections.abc import Sequence
from dataclasses import replace
from functools import partial
from pathlib import Path
from typing import TYPE_CHECKING, Any

from mxref.cases.folder import vectors_folder
from mxref.cases.records import NAMES, words
from mxref.cli.screen import Verbs, add_json_argument, new_parser, print_table, print_text
from mxref.cli.target_arguments import (
    JUDGED,
    add_comparison_options,
    add_file_arguments,
    add_target_arguments,
    chosen_files,
    chosen_target,
    is_chosen,
    not_covered_line,
)
from mxref.support.text import refuse_unknown

if TYPE_CHECKING:
    from mxref.conformance import Extent, Report, Target
    from mxref.golden import VectorFile


def add_parser(verbs: Verbs) -> None:
    """Add the verb."""
    about = "check an implementation, bit by bit, against the golden vectors"
    example = "mxref verify my_kernel.py\n  mxref verify my_kernel.py --profile torchao_0_18_rceil"
    parser = new_parser(verbs, "verify", _run, about, example, **JUDGED)
    add_target_arguments(parser, results=True)
    add_file_arguments(parser)
    add_report_arguments(parser)
    add_extent_arguments(parser)


def add_extent_arguments(parser: argparse.ArgumentParser) -> None:
    """Add the options that say how much is asked beside the vectors."""
    add = parser.add_argument
    about = "elements of the largest call (default: by the speed of the target); 0: no other calls"
    add("--sizes", type=int, metavar="N", help=about)
    add("--seed", type=int, default=0, metavar="N", help="seed of the search (default 0)")
    about = "leave out the search for wrong answers beside the vectors"
    add("--no-search", action="store_true", help=about)
    about = "2: ask every exhaustive family, too (minutes)"
    add("--level", type=int, default=1, choices=(1, 2), help=about)


def add_report_arguments(parser: argparse.ArgumentParser) -> None:
    """Add options on the comparison and the report."""
    add_comparison_options(parser)
    add = parser.add_argument
    about = "known divergences; one that passes is an error"
    add("--xfail", type=Path, metavar="FILE", help=about)
    about = "write the failures of this run to a file for --xfail"
    add("--write-xfail", type=Path, metavar="FILE", help=about)
    about = "kinds of failure to print (default 10)"
    add("--show", type=int, default=10, metavar="N", help=about)
    add("--verbose", action="store_true", help="list all that is not covered")
    add_json_argument(parser)


def _run(options: argparse.Namespace) -> int:
    # Only files that a Python target covers are read, after it was loaded.
    files = [] if options.target is not None else chosen_files(options)
    with chosen_target(options, files) as target:
        return judge(options, target, files)


def judge(options: argparse.Namespace, target: Target, read: Sequence[VectorFile] = ()) -> int:
    """Compare a target with the chosen vector files, print the report, return the exit status.

    Args:
        options: with the arguments of `add_file_arguments` and `add_report_arguments`.
        target: the implementation.
        read: vector files that were read before.
    """
    from mxref import conformance
    from mxref.conformance.verdict.xfail import refuse_missing_folder
    from mxref.policy.policy import Policy
    from mxref.profiles import profile
    from mxref.targets.asked import read_for

    if options.show < 0:
        raise ValueError(f"--show must be 0 or more, got {options.show}")
    if options.write_xfail is not None:
        refuse_missing_folder(options.write_xfail)
    named = None if options.profile is None else profile(options.profile)
    given = None if options.policy is None else Policy.parse(options.policy)
    policy = (named or target).policy if given is None else given
    known = {} if options.xfail is None else conformance.read_xfail(options.xfail)
    filters = {name: getattr(options, name) for name in NAMES}
    folder = options.vectors or vectors_folder()
    ids, kinds = ([key for key in known if (" " in key) == blank] for blank in (False, True))
    files = read_for(folder, target, policy, ids, partial(is_chosen, options), read)
    unknown = set(ids) - {case.id for file in files for case in file.cases}
    if unknown:
        raise ValueError(f"{options.xfail}: there is no case {min(unknown)!r}")
    pairs = {f"{file.op} {file.format}" for file in files}
    unknown = {kind for kind in kinds if " ".join(kind.split(" ")[:2]) not in pairs}
    if unknown:
        raise ValueError(f"{options.xfail}: there are no vectors of {min(unknown)!r}")
    for name, chosen in filters.items():
        refuse_unknown(f"--{name}", chosen, sorted({getattr(file, name) for file in files}))
        files = [file for file in files if not chosen or getattr(file, name) in chosen]
    if any(filters.values()):  # cases that are not asked cannot fail
        asked = {case.id for file in files for case in file.cases}
        asked |= {
            kind
            for kind in kinds
            if any(kind.startswith(f"{file.op} {file.format} ") for file in files)
        }
        known = {key: reason for key, reason in known.items() if key in asked}
    report = conformance.check(target, files, given, known, named, _extent(options))
    report = replace(report, all_floats=not options.float)
    if named is not None and report.profile is None and report.compared:
        got = f"got {named.name}, which speaks of {named.has}"
        raise ValueError(f"--profile must be one that speaks of what {target.name} has, {got}")
    if options.write_xfail is not None and report.compared:
        base = options.xfail or options.write_xfail
        kinds_alone, left = conformance.write_xfail(options.write_xfail, base, report)
        cases = sum(bool(failure.case.model) for _, failure in report.failures)
        listed = f"{cases} cases" + f" and {kinds_alone} kinds of others" * (kinds_alone > 0)
        print(f"{options.write_xfail}: {listed}, {left} still without a reason and a link")
        return 0
    if options.json:
        print(json.dumps(report_json(report), indent=1))
    else:
        print_report(report, options.show, verbose=options.verbose)
    return 0 if report.passed else 1


def _extent(options: argparse.Namespace) -> Extent:
    """How much is asked beside the vectors; nothing for verbs without these options."""
    from mxref.conformance import Extent

    sizes: int | None = getattr(options, "sizes", 0)
    if sizes is not None and sizes < 0:
        raise ValueError(f"--sizes must be 0 or more, got {sizes}")
    return Extent(
        elements=sizes,
        search=not getattr(options, "no_search", True),
        seed=getattr(options, "seed", 0),
        level=getattr(options, "level", 1),
        listing=options.write_xfail is not None,
    )


def print_report(report: Report, show: int, *, verbose: bool = True) -> None:
    """Print a report in words.

    Args:
        report: the report.
        show: number of kinds of failure to print.
        verbose: whether a long list of what is not covered is printed, or only how long it is.
    """
    from mxref.conformance.verdict.row import listed_as

    table = []
    for row in report.rows:
        known = sum(listed_as(*pair, report.known) is not None for pair in row.failures)
        unknown = len(row.failures) - known
        mark = "FAIL" if unknown else "known" if known else "ok"
        numbers = (str(row.compared), str(unknown), str(known))
        by = row.policy if row.profile is None else f"profile {row.profile}"
        table.append((mark, row.op, row.format, by, *numbers))
    print_table(("", "op", "format", "policy", "cases", "failed", "known"), table)
    if report.not_covered:
        print(not_covered_line(report.not_covered, verbose=verbose))
    if report.profile is not None and report.outside:
        silent = f"profile {report.profile.name} says nothing of {'; '.join(report.outside)}"
        print(f"{silent}: compared with {report.policy}")
    for reason, count in Counter(report.reasons).items():
        print(f"known: {count} x {reason}")
    for use in report.uses:
        mark = "known: " * (use.key in report.known)
        print(f"{mark}{use}")
    _print_groups(report, show)
    for finding in report.findings:
        print_text(str(finding))
    for row in report.rows:
        if row.description is not None:
            print(f"{row.op} {row.format}: {row.description.text}")
    asked = report.asked
    for id in report.stale[:show]:
        what = "passes" if id in asked else "was not compared"
        what = "nothing fails under it" if " " in id else what
        print(f"{id}: is listed as a known divergence but {what}")
    if report.scope.text:
        print(f"asked: {report.scope.text}")
    for note in report.scope.notes:
        print(f"note: {note}")
    summary = [f"{report.compared} cases", f"{len(report.unexplained)} failed"]
    if report.known:
        summary.append(f"{len(report.failures) - len(report.unexplained)} known to fail")
    if report.stale:
        summary.append(f"{len(report.stale)} wrongly listed as known")
    if report.profile is not None and report.verdict.startswith("conforms"):
        _print_limit(report.profile.name)
    standard = _standard(report)
    if standard is not None:
        print(f"against the standard: {_verdict(standard)}")
    word = "PASS" if report.passed else "FAIL"
    print_text(f"{word} {report.target.name}: {', '.join(summary)}: {_verdict(report)}")


def _print_limit(name: str) -> None:
    """Say that the vectors miss steps of a profile whose arithmetic is not the standard's."""
    from mxref.profiles import PROFILES

    if {"amax", "scale", "divide", "element"} & {*PROFILES[name].replaced}:
        print(
            f"the vectors stand at the standard's steps, and {name} has others as well: "
            f"`mxref fuzz --profile {name}` looks for those"
        )


def _verdict(report: Report) -> str:
    """The verdict, with the profile, the cause and the choices that must be offered as well."""
    verdict = report.verdict
    if report.profile is not None:
        name = f"profile {report.profile.name}"
        verdict = verdict.replace(name, f"{name} (mxref's model of {report.profile.about})", 1)
    bugs = [one for one in report.findings if one.cause.complete and one.cause.kind != "policy"]
    if verdict == "legal but unnamed":  # no clause forbids it, but it may still be a known bug
        verdict += ": no clause forbids it, but "
        if bugs:
            verdict += f"it is {bugs[0].cause.kind} {bugs[0].cause.name}"
        else:
            verdict += "no known policy gives it"
    if report.besides:
        verdict += f"; {', '.join(report.besides)} must be offered as well"
    return verdict


def _standard(report: Report) -> Report | None:
    """The report against the standard, if the target conforms to a profile that differs from it."""
    from mxref.conformance.verdict.verify import against_standard

    if report.profile is None or not report.verdict.startswith("conforms"):
        return None
    standard = against_standard(report)
    return None if standard.verdict == "conforms" else standard


def report_json(report: Report) -> dict[str, Any]:
    """The report as JSON has it."""
    from mxref.conformance.compare.failure_text import describe
    from mxref.conformance.verdict.row import listed_as

    standard = _standard(report)
    return {
        "target": report.target.name,
        "policy": str(report.policy),
        "profile": None if report.profile is None else report.profile.name,
        "outside_profile": list(report.outside),
        "verdict": report.verdict,
        "against_standard": None if standard is None else standard.verdict,
        "must_offer_besides": list(report.besides),
        "passed": report.passed,
        "compared": report.compared,
        "rows": [
            {
                "op": row.op,
                "format": row.format,
                "policy": row.policy,
                "profile": row.profile,
                "compared": row.compared,
                "failed": len(row.failures),
                "known": sum(listed_as(*f, report.known) is not None for f in row.failures),
                "flags": {
                    flag: {"failed": failed, "cases": cases}
                    for flag, (failed, cases) in row.by_flag().items()
                },
                "causes": [cause.as_json() for cause in row.causes],
                "description": None if row.description is None else row.description.as_json(),
            }
            for row in report.rows
        ],
        "findings": [finding.as_json() for finding in report.findings],
        "failures": [
            {
                "id": failure.case.id,
                "text": describe(file, failure),
                "in": words(failure.case.inputs, file.in_digits),
                "want": words(failure.want, file.out_digits),
                "got": None if failure.got is None else words(failure.got, file.out_digits),
                "error": failure.error,
                "rule": failure.case.rule,
                "flags": failure.case.flags,
                "known": report.known.get(listed_as(file, failure, report.known) or ""),
            }
            for file, failure in report.failures
        ],
        "uses": [
            {
                "op": use.op,
                "format": use.format,
                "kind": use.kind,
                "text": use.text,
                "known": report.known.get(use.key),
            }
            for use in report.uses
        ],
        "asked": report.scope.as_json(),
        "stale": report.stale,
        "not_covered": list(report.not_covered),
    }


def _print_groups(report: Report, show: int) -> None:
    """Print the kinds of failure, at first at most two of each operation and format."""
    from mxref.cases.words import RULES
    from mxref.conformance.compare.failure_text import describe

    groups = list(report.groups.items())
    rank: Counter[tuple[str, ...]] = Counter()
    order = []
    for key, failures in groups:
        rank[key[:2]] += 1
        order.append((rank[key[:2]] > 2, key, failures))
    order.sort(key=lambda item: item[0])
    rows = (row for row in report.rows[::-1] if row.failures)  # of two rows the profile's is first
    flags_of = {(row.op, row.format): row.by_flag(report.known) for row in rows}
    for _, (op, format, *why), failures in order[:show]:
        file, first = failures[0]
        by_flag = flags_of.pop((op, format), None)
        if by_flag:
            counts = (f"{flag} {failed} of {cases}" for flag, (failed, cases) in by_flag.items())
            print(f"{op} {format}, wrong by flag: {', '.join(counts)}")
        what = why[0]
        if first.got is not None:
            flags = f" [{why[1]}]" if why[1] else ""
            what = f"{why[0]}, {RULES[why[0]]}{flags}"
        print(f"{op} {format}: {len(failures)} x {what}; the first:")
        print(f"  {describe(file, first)}")
    if len(order) > show:
        print(f"... and {len(order) - show} more kinds of failure (--show N, --json)")
