"""``mxref verify``: check an implementation against the golden vectors."""

from __future__ import annotations

import argparse
import json
import sys
from collections.abc import Sequence
from dataclasses import replace
from functools import partial
from pathlib import Path
from typing import TYPE_CHECKING

from mxref.cases.folder import vectors_folder
from mxref.cases.names import NAMES
from mxref.cli.screen import (
    Verbs,
    add_json_argument,
    asking,
    new_parser,
    print_table,
    print_text,
)
from mxref.cli.target_arguments import (
    JUDGED,
    add_comparison_options,
    add_file_arguments,
    add_target_arguments,
    chosen_files,
    chosen_target,
    is_chosen,
    is_quick,
    not_covered_line,
)
from mxref.support.text import refuse_unknown

if TYPE_CHECKING:
    from mxref.conformance import Extent, Report, Target
    from mxref.golden import VectorFile


def add_parser(verbs: Verbs) -> None:
    """Add the verb."""
    about = "check an implementation, bit by bit, against the golden vectors"
    example = (
        "mxref verify my_kernel.py\n"
        "  mxref verify my_kernel.py --profile torchao_0_18_rceil\n"
        "  mxref verify --cmd ./my_kernel --op encode"
    )
    parser = new_parser(verbs, "verify", _run, about, example, **JUDGED)
    add_target_arguments(parser, results=True)
    add_file_arguments(parser)
    add_report_arguments(parser)
    add_extent_arguments(parser)


def add_extent_arguments(parser: argparse.ArgumentParser) -> None:
    """Add the options that set how much is asked beside the vectors."""
    add = parser.add_argument
    about = "elements of the largest of the calls that ask the cases again in other sizes and "
    about += "orders (default: by the speed of the target); 0: no such calls"
    add("--sizes", type=int, metavar="N", help=about)
    about = "the vectors alone, each once: no other calls, no search (seconds)"
    add("--quick", action="store_true", help=about)
    about = "do not search for wrong answers on inputs that the vectors do not have"
    add("--no-search", action="store_true", help=about)
    add("--seed", type=int, default=0, metavar="N", help="seed of that search (default 0)")
    about = "2: also ask families of all inputs, such as every bfloat16 (minutes); default 1"
    add("--level", type=int, default=1, choices=(1, 2), help=about)


def add_report_arguments(parser: argparse.ArgumentParser) -> None:
    """Add options on the comparison and the report."""
    add_comparison_options(parser)
    add = parser.add_argument
    about = "file of known wrong answers, which do not fail; one that is right after all does"
    add("--xfail", type=Path, metavar="FILE", help=about)
    about = "write the wrong answers of this run to a file for --xfail"
    add("--write-xfail", type=Path, metavar="FILE", help=about)
    about = "how many kinds of failure to print (default 10)"
    add("--show", type=int, default=10, metavar="N", help=about)
    add("--verbose", action="store_true", help="list everything that is not covered")
    add_json_argument(parser)
    add("--html", type=Path, metavar="FILE", help="also write a page (needs mxref[report])")
    add("--junit", type=Path, metavar="FILE", help="also write JUnit's XML")
    about = "also write the verdict as JSON for a badge of shields.io"
    add("--badge", type=Path, metavar="FILE", help=about)
    about = "in GitHub Actions: print annotations, and write the step's summary"
    add("--github", action="store_true", help=about)


def _run(options: argparse.Namespace) -> int:
    # For a Python target only files that it covers are read, after it is loaded.
    files = [] if options.target is not None else chosen_files(options)
    with chosen_target(options, files) as target:
        return judge(options, target, files)


def judge(options: argparse.Namespace, target: Target, read: Sequence[VectorFile] = ()) -> int:
    """Compare a target with the chosen vector files and print the report; the exit status.

    Args:
        options: with the arguments of `add_file_arguments` and `add_report_arguments`.
        target: the implementation.
        read: vector files that were already read.
    """
    from mxref import conformance
    from mxref.conformance.verdict.xfail import refuse_missing_folder
    from mxref.policy.policy import Policy
    from mxref.reports.extra import refuse_missing
    from mxref.targets.asked_files import read_for
    from mxref.targets.recipe_functions import refuse_layers

    if options.github and options.json:
        raise ValueError("--github must be given without --json: both are printed")
    if options.show < 0:
        raise ValueError(f"--show must be 0 or more, got {options.show}")
    if options.write_xfail is not None:
        refuse_missing_folder(options.write_xfail)
    refuse_layers(options.op, getattr(target, "operations", ()))
    if options.html is not None:  # checked before the target is asked, which may take minutes
        refuse_missing()
    named = None
    if options.profile is not None:
        from mxref.profiles import profile

        named = profile(options.profile)
    given = None if options.policy is None else Policy.parse(options.policy)
    policy = (named or target).policy if given is None else given
    known = {} if options.xfail is None else conformance.read_xfail(options.xfail)
    filters = {name: getattr(options, name) for name in NAMES}
    folder = options.vectors or vectors_folder()
    ids, kinds = ([key for key in known if (" " in key) == blank] for blank in (False, True))
    only = partial(is_chosen, options)
    files = read_for(folder, target, policy, ids, only, read, options.format)
    unknown = set(ids) - {case.id for file in files for case in file.cases}
    if unknown:
        raise ValueError(f"{options.xfail}: there is no case {min(unknown)!r}")
    pairs = {f"{file.op} {file.format}" for file in files}
    unknown = {kind for kind in kinds if " ".join(kind.split(" ")[:2]) not in pairs}
    if unknown:
        raise ValueError(f"{options.xfail}: there are no vectors of {min(unknown)!r}")
    for name, chosen in filters.items():
        names = {getattr(file, name) for file in files}
        if wrong := [one for one in chosen if one not in names]:
            # The message lists formats and float types of the operations that the target has.
            has = [file for file in files if name != "op" and _covers(target, file)] or files
            refuse_unknown(f"--{name}", wrong, sorted({getattr(file, name) for file in has}))
        files = [file for file in files if not chosen or getattr(file, name) in chosen]
    if any(filters.values()):  # cases that are not asked cannot fail as expected
        asked = {case.id for file in files for case in file.cases}
        asked |= {
            kind
            for kind in kinds
            if any(kind.startswith(f"{file.op} {file.format} ") for file in files)
        }
        known = {key: reason for key, reason in known.items() if key in asked}
    checked = partial(conformance.check, target, files, given, known, named)
    with asking() as tell:
        report = checked(_extent(options), tell)
    report = replace(report, all_floats=not options.float)
    if named is not None and report.profile is None and report.compared:
        got = f"got {named.name}, which speaks of {named.has}"
        raise ValueError(f"--profile must be one that speaks of what {target.name} has, {got}")
    if options.write_xfail is not None and report.compared:
        # Of known failures the search compares with what was asked for, not with their cause.
        extent = replace(_extent(options), listing=True)
        _write_xfail(options, report if report.passed else checked(extent))
    _write_reports(options, report)
    if options.json:
        from mxref.conformance.verdict.report_json import report_json

        print(json.dumps(report_json(report), indent=1))
    else:
        left_out = [f"--{name}" for name in NAMES if filters[name]]
        print_report(report, options.show, verbose=options.verbose, left_out=left_out)
    return 0 if report.passed else 1


def _write_xfail(options: argparse.Namespace, report: Report) -> None:
    """Write the wrong answers of a report to a file for --xfail, and say how many there are."""
    from mxref import conformance

    base = options.xfail or options.write_xfail
    groups, alone, left = conformance.write_xfail(options.write_xfail, base, report)
    cases = sum(bool(failure.case.model) for _, failure in report.failures)
    listed = f"{_many(groups, 'group')} of {_many(cases, 'case')}"
    listed += f" and {_many(alone, 'kind')} of other questions" * (alone > 0)
    missing = f"{_many(left, 'group')} still without a reason and a link"
    print(f"{options.write_xfail}: {listed}, {missing}", file=sys.stderr)


def _many(count: int, what: str) -> str:
    return f"{count} {what}{'s' * (count != 1)}"


def _write_reports(options: argparse.Namespace, report: Report) -> None:
    """Write the report in each requested form."""
    if options.html is not None:
        from mxref.reports.verify_page import write_verify_page

        write_verify_page(options.html, report, options.show, options.typed)
    if options.junit is not None or options.badge is not None or options.github:
        from mxref.reports import ci_reports
        from mxref.support.whole_file import write_file

        if options.junit is not None:
            write_file(options.junit, ci_reports.junit(report))
        if options.badge is not None:
            write_file(options.badge, ci_reports.badge(report))
        if options.github:
            ci_reports.write_step_summary(report, options.show)
            for line in ci_reports.workflow_commands(report, options.show):
                print(line)


def _covers(target: Target, file: VectorFile) -> bool:
    return target.covers(file.op, file.format, file.float)


def _extent(options: argparse.Namespace) -> Extent:
    """How much is asked beside the vectors; nothing for verbs without these options."""
    from mxref.conformance import Extent

    if is_quick(options):
        return Extent(elements=0, search=False)
    sizes: int | None = getattr(options, "sizes", 0)
    if sizes is not None and sizes < 0:
        raise ValueError(f"--sizes must be 0 or more, got {sizes}")
    return Extent(
        elements=sizes,
        search=not getattr(options, "no_search", True),
        seed=getattr(options, "seed", 0),
        level=getattr(options, "level", 1),
        unfiled=not (options.format or options.float),
    )


def print_report(
    report: Report, show: int, *, verbose: bool = True, left_out: Sequence[str] = ()
) -> None:
    """Print a report in words.

    Args:
        report: the report.
        show: number of kinds of failure to print.
        verbose: whether a long list of what is not covered is printed, or only how long it is.
        left_out: the options that leave out operations, formats and float types.
    """
    from mxref.conformance.verdict.one_sentence import one_sentence
    from mxref.conformance.verdict.report_text import report_lines

    sentence, left = one_sentence(report)
    table = []
    for row in left.rows:
        mark, unknown, known = report.marked(row)
        numbers = (str(row.compared), str(unknown), str(known))
        by = row.policy if row.profile is None else f"profile {row.profile}"
        table.append((mark, row.op, row.format, by, *numbers))
    if table or not sentence:
        print_table(("", "op", "format", "policy", "cases", "failed", "known"), table)
    if report.not_covered and (table or not sentence):
        print(not_covered_line(report.not_covered, verbose=verbose))
    if report.compared == 0:
        print(_why_nothing(report, left_out))
    elif report.judged == 0:
        print("every call raised, in cases that are refused by what it is compared with as well")
    print_text(*report_lines(report, show))


def _why_nothing(report: Report, left_out: Sequence[str]) -> str:
    """Why no case was compared, and what to do."""
    if report.unanswerable:
        has = "; ".join(report.unanswerable)
        return (
            f"mxref has no answers under {report.policy} to what the target has ({has}): name "
            "another policy, with --policy or in POLICY"
        )
    if left_out:
        return (
            "the target has none of the operations that were asked for, in these formats and float "
            f"types: leave out {' and '.join(left_out)} to ask what it has"
        )
    return (
        "the target has none of mxref's operations in the formats and float types that it claims: "
        "FORMATS and FLOATS beside its functions say which these are"
    )
