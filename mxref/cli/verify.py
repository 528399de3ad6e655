"""``mxref verify``: check an implementation against the golden vectors."""

from __future__ import annotations

import argparse
import json
from collections import Counter
from pathlib import Path
from typing import TYPE_CHECKING

from mxref.cli._common import Verbs, new_parser, print_table, vectors_folder

if TYPE_CHECKING:
    from mxref.conformance import Report


def add_parser(verbs: Verbs) -> None:
    """Add the verb."""
    parser = new_parser(
        verbs,
        "verify",
        _run,
        "check an implementation, bit by bit, against the golden vectors",
        "mxref verify tools/adapters/ml_dtypes_adapter.py "
        "--xfail tools/adapters/ml_dtypes.xfail.json",
    )
    parser.add_argument("target", metavar="TARGET", help="a Python file or a dotted module name")
    parser.add_argument(
        "--policy", metavar="POLICY", help="compare with this policy instead of the claimed one"
    )
    parser.add_argument("--op", action="append", metavar="OP", help="only this operation")
    parser.add_argument("--format", action="append", metavar="FORMAT", help="only this format")
    parser.add_argument(
        "--vectors", type=Path, metavar="DIR", help="folder (default: vectors/ of the checkout)"
    )
    parser.add_argument(
        "--xfail", type=Path, metavar="FILE", help="known divergences; one that passes is an error"
    )
    parser.add_argument(
        "--write-xfail", type=Path, metavar="FILE", help="list today's failures for --xfail"
    )
    parser.add_argument(
        "--show", type=int, default=10, metavar="N", help="kinds of failure to print (default 10)"
    )
    parser.add_argument("--json", action="store_true", help="print the report as JSON")


def _run(options: argparse.Namespace) -> int:
    from mxref import conformance, golden
    from mxref.conformance.verify import report_json
    from mxref.policy import Policy

    files = golden.read_vectors(options.vectors or vectors_folder())
    for name, chosen in (("op", options.op), ("format", options.format)):
        present = {getattr(file, name) for file in files}
        unknown = set(chosen or ()) - present
        if unknown:
            raise ValueError(f"--{name} must be one of {', '.join(sorted(present))}, got {unknown}")
        files = [file for file in files if not chosen or getattr(file, name) in chosen]
    policy = None if options.policy is None else Policy.parse(options.policy)
    known = {} if options.xfail is None else conformance.read_xfail(options.xfail)
    ids = {case.id for file in files for case in file.cases}
    target = conformance.load_target(options.target)
    report = conformance.verify(
        target, files, policy, {id: why for id, why in known.items() if id in ids or not options.op}
    )
    if options.write_xfail is not None:
        failed = [failure.case.id for _, failure in report.failures]
        left = conformance.write_xfail(options.write_xfail, target.name, failed)
        print(f"{options.write_xfail}: {len(failed)} cases, {left} without a reason yet")
        return 0
    if options.json:
        print(json.dumps(report_json(report), indent=1))
    else:
        _print(report, options.show)
    return 0 if report.passed else 1


def _print(report: Report, show: int) -> None:
    from mxref.conformance.report import describe

    table = []
    for row in report.rows:
        known = sum(failure.case.id in report.known for _, failure in row.failures)
        unknown = len(row.failures) - known
        mark = "FAIL" if unknown else "known" if known else "ok"
        numbers = (str(row.compared), str(unknown), str(known))
        table.append((mark, row.op, row.format, row.policy, *numbers))
    print_table(("", "op", "format", "policy", "cases", "failed", "known"), table)
    if report.not_covered:
        print(f"not covered: {'; '.join(report.not_covered)}")
    for reason, count in Counter(report.known.values()).items():
        print(f"known: {count} x {reason}")
    groups = report.groups
    for (op, format, rule, flags), failures in list(groups.items())[:show]:
        file, first = failures[0]
        print(f"{op} {format}: {len(failures)} x {rule} [{flags}], the first:")
        print(f"  {describe(file, first)}")
    if len(groups) > show:
        print(f"... and {len(groups) - show} more kinds of failure (--show N, --json)")
    for row in report.rows:
        if row.equals:
            share = f"{row.compared} of {row.compared} cases"
            print(f"{row.op} {row.format}: your output equals {row.equals[0]} on {share}")
    for id in report.stale[:show]:
        print(f"{id}: is listed as a known divergence but passes, or was not compared")
    word = "PASS" if report.passed else "FAIL"
    summary = f"{report.compared} cases, {len(report.failures)} failed"
    print(f"{word} {report.target.name}: {summary}: {report.verdict}")
