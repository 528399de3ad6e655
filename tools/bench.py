"""Measure mxref beside other libraries: in one run, on the same data, in turns.

Without --check and --only: a table of operations, with one row for each format and library. Every
row says first whether the bits are the same. Libraries that are not installed are named at the end.

    python tools/bench.py --op quantize --format mxfp4_e2m1 --peer torchao --threads 2
    python tools/bench.py --data log_uniform --json bench.json
    python tools/bench.py --policies --op encode      # each choice beside the default

With --check or --only: sections of measurements, most with a limit. Each figure is the median of
the ratios of all rounds, on one core unless its section says otherwise. All sections take ten to
thirty minutes. All libraries are in the environment `current` of tools/environments.py, or in the
checkout that MXREF_MICROXCALING names.

    python tools/bench.py --check                     # exit status 1 if a limit is missed
    python tools/bench.py --only quantize rules       # two sections
"""

from __future__ import annotations

import argparse
import json
import sys
from collections.abc import Iterator, Mapping, Sequence
from pathlib import Path
from typing import Any

ROOT = Path(__file__).resolve().parents[1]
sys.path[:0] = [str(ROOT), str(ROOT / "tools")]  # environments of peers need not have mxref

from benchmark import peers, rows  # noqa: E402
from benchmark.jobs import OPS  # noqa: E402
from benchmark.rows import BenchRow  # noqa: E402
from benchmark.sections import SECTIONS, Options, Wanted  # noqa: E402

from mxref.cli.screen import print_table  # noqa: E402
from mxref.support.text import refuse_unknown  # noqa: E402
from mxref.support.whole_file import write_file  # noqa: E402

#: Operations of the table if --op names none.
_OPS = ("encode", "decode", "quantize", "dequantize")
#: Options of the table; sections fix these themselves.
_OF_TABLES = ("op", "format", "float", "data", "peer", "policies", "quick")


def main(arguments: Sequence[str] | None = None) -> int:
    """Run the command line; 1 for a limit that is missed with --check, 2 for misuse."""
    given = _parser().parse_args(arguments)
    try:
        refuse_unknown("--op", given.op or [], OPS)
        refuse_unknown("--only", given.only or [], SECTIONS)
        if given.elements is not None and (given.elements < 1024 or given.elements % 1024):
            raise ValueError(f"--elements must be a multiple of 1024, got {given.elements}")
        if given.threads < 1:
            raise ValueError(f"--threads must be at least 1, got {given.threads}")
        return _sections(given) if given.check or given.only else _table(given)
    except (ValueError, OSError) as error:
        print(f"bench.py: error: {error}", file=sys.stderr)
        return 2


def _parser() -> argparse.ArgumentParser:
    parser = argparse.ArgumentParser(
        prog="bench.py", description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    add = parser.add_argument
    add(
        "--elements",
        type=int,
        metavar="N",
        help="a multiple of 1024 (default: 2**20, sections 2**24)",
    )
    add("--seconds", type=float, metavar="S", help="time of a row (default: 0.2, sections 1)")
    add(
        "--threads",
        type=int,
        default=1,
        metavar="N",
        help="threads of both sides, of sections only in qdq (default: 1)",
    )
    add(
        "--json",
        metavar="FILE",
        help="write the figures as JSON; - prints the JSON and nothing else",
    )
    add = parser.add_argument_group("table").add_argument
    add(
        "--op",
        action="append",
        metavar="OP",
        help=f"operation (default: {', '.join(_OPS)}; else pack, unpack)",
    )
    add("--format", metavar="FORMAT", help="element or block format (default: all)")
    add("--float", metavar="FLOAT", help="type of the values: f32 or bf16 (default: f32)")
    add("--data", metavar="DATA", help="normal or log_uniform (default: normal)")
    add(
        "--peer",
        action="append",
        metavar="NAME",
        help="library (default: all that are installed and start quickly)",
    )
    add(
        "--policies",
        action="store_true",
        help="measure each choice of the policy beside the default",
    )
    add(
        "--quick",
        action="store_true",
        help="2**16 elements, 0.05 s a row: the overhead of a call weighs more",
    )
    add = parser.add_argument_group("sections").add_argument
    add("--check", action="store_true", help="exit with 1 if a limit is missed or was not measured")
    add("--only", nargs="+", metavar="SECTION", help=f"of {', '.join(SECTIONS)} (default: all)")
    return parser


def _write(found: Mapping[str, Any], path: str | None) -> None:
    """Write figures as JSON to a file, or print them for "-"."""
    text = json.dumps(found, indent=1) + "\n"
    if path == "-":
        print(text, end="")
    elif path is not None:
        write_file(Path(path), text.encode("ascii"))


# --- the table ------------------------------------------------------------------------------------


def _table(given: argparse.Namespace) -> int:
    found: list[BenchRow] = []
    try:
        for row in _rows(given):
            found.append(row)
            if sys.stderr is not None and sys.stderr.isatty():
                print(f"\r{len(found)} rows", end="\r", file=sys.stderr, flush=True)
    except KeyboardInterrupt:
        if found and given.json != "-":
            print_table(rows.HEADER, [rows.cells(row) for row in found])
        print("bench.py: interrupted: no JSON is written, and rows are missing", file=sys.stderr)
        return 128 + 2  # the exit status of a process that SIGINT ended
    _write(rows.report(found), given.json)
    if given.json != "-":
        print_table(rows.HEADER, [rows.cells(row) for row in found])
        _explain(given, found)
    return 0


def _rows(given: argparse.Namespace) -> Iterator[BenchRow]:
    elements, seconds = (1 << 16, 0.05) if given.quick else (1 << 20, 0.2)
    elements = elements if given.elements is None else given.elements
    seconds = seconds if given.seconds is None else given.seconds
    jobs = rows.jobs_of(
        given.op or _OPS,
        given.format or ("e4m3" if given.policies else None),
        (elements // 1024, 1024),
        float=given.float or "f32",
        data=given.data or "normal",
        threads=given.threads,
    )
    if given.policies:
        if given.peer:
            raise ValueError("--peer must not be given with --policies: mxref is measured alone")
        for job in jobs:
            for other in rows.other_choices(job):
                yield rows.versus(other, job, "ocp", seconds)
        return
    libraries = _peers(given.peer)
    if given.peer and not any(peer.measures(job) for peer in libraries for job in jobs):
        names = ", ".join(given.peer)
        raise ValueError(f"none of {names} does what is to be measured: choose another --peer")
    for job in jobs:
        able = [peer for peer in libraries if peer.measures(job)]
        for peer in able:
            yield rows.beside(job, peer, seconds)
        if not able and not given.peer:
            yield rows.versus(job, job, "itself", seconds)


def _peers(names: list[str] | None) -> list[peers.Peer]:
    """The libraries that --peer names, or all that are installed and start quickly."""
    refuse_unknown("--peer", names or [], peers.PEERS)
    for name in names or []:
        if peers.PEERS[name].absent:
            raise ValueError(f"{name} is not installed: {peers.PEERS[name].absent}")
    if names:
        return [peers.PEERS[name] for name in names]
    return [peer for peer in peers.PEERS.values() if not peer.absent and not peer.slow]


def _explain(given: argparse.Namespace, found: list[BenchRow]) -> None:
    """Print what the columns mean, and which libraries are not installed."""
    clock = "processor time of all threads" if given.threads == 1 else "elapsed time"
    print(
        f"\nns: nanoseconds per element of the quickest call, {clock};\n"
        "x: how many times as fast as the other mxref is, the median of all rounds; worst x: the\n"
        "slowest round; MiB: peak memory beyond input and output"
    )
    if any(row.other == "itself" for row in found):
        print("beside itself: no library here does this, and x shows how much the clock strays")
    if given.policies or given.peer:
        return
    for peer in peers.PEERS.values():
        if peer.absent:
            print(f"not measured: {peer.name} ({peer.absent})")
        elif peer.slow:
            print(f"not measured: {peer.name}, which starts slowly (--peer {peer.name})")


# --- the sections ---------------------------------------------------------------------------------


def _sections(given: argparse.Namespace) -> int:
    for name in _OF_TABLES:
        if getattr(given, name):
            raise ValueError(f"--{name} must not be given with --check or --only")
    seconds = 1.0 if given.seconds is None else given.seconds
    options = Options(given.elements or 1 << 24, seconds, given.threads)
    lines = [
        _line(section, wanted, quiet=given.json == "-")
        for section in given.only or SECTIONS
        for wanted in SECTIONS[section](options)
    ]
    missed = sum(line["met"] is False for line in lines)
    if given.json != "-":
        print(f"{missed} of {len(lines)} missed or not measured" if missed else "nothing missed")
    found = rows.report(line["row"] for line in lines if line["row"] is not None)
    measured = iter(found.pop("rows"))
    found["lines"] = [{**line, "row": line["row"] and next(measured)} for line in lines]
    _write(found, given.json)
    return int(given.check and missed > 0)


def _line(section: str, wanted: Wanted, *, quiet: bool) -> dict[str, Any]:
    """Make a measurement, print it and return its figures."""
    found = wanted.measure()
    row = found if isinstance(found, BenchRow) else None
    figure, text, what = None, str(found), wanted.what
    if isinstance(found, float):
        figure, text = found, ""
    if row is not None:
        figure = None if row.timing is None else row.timing.ratio
        name, mine, theirs, _, worst, *memory, bits = rows.cells(row)[4:]
        what = f"{row.job}: {name}"
        text = f"{mine} and {theirs} ns, worst {worst} x, {' and '.join(memory)} MiB, {bits}"
    met = wanted.met(figure)
    word = {None: "", True: "met", False: "MISSED"}[met]
    if figure is None and met is False:
        word = "NOT MEASURED"
    number = "-" if figure is None else f"{figure:.3g} {wanted.unit}"
    if not quiet:
        print(
            f"{section:10} {what:75} {wanted.limits:18} {number:>10} {word:12} {text}", flush=True
        )
    line = {"section": section, "what": what, "wanted": wanted.limits, "figure": figure}
    return {**line, "unit": wanted.unit, "met": met, "row": row}


if __name__ == "__main__":
    sys.exit(main())
