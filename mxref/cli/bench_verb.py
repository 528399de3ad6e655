"""``mxref bench``: measure mxref's operations beside other libraries."""

from __future__ import annotations

import argparse
import json
import sys
from pathlib import Path
from typing import TYPE_CHECKING

from mxref.cli.screen import Verbs, new_parser, print_table
from mxref.support.text import refuse_unknown

if TYPE_CHECKING:
    from collections.abc import Iterator

    from mxref.bench.peers import Peer
    from mxref.bench.rows import Row

#: Elements, and seconds a row, as such and with --quick.
_USUAL, _QUICK = (1 << 20, 0.2), (1 << 16, 0.05)
#: Operations that are measured if none is named.
_OPS = ("encode", "decode", "quantize", "dequantize")


def add_parser(verbs: Verbs) -> None:
    """Add the verb."""
    parser = new_parser(
        verbs,
        "bench",
        _run,
        "measure the operations beside other libraries that are installed, in turns",
        "mxref bench --op quantize --format mxfp4_e2m1 --peer torchao",
    )
    add = parser.add_argument
    add(
        "--op",
        action="append",
        metavar="OP",
        help=f"operation (default: {', '.join(_OPS)}; else pack, unpack)",
    )
    add("--format", metavar="FORMAT", help="element or block format (default: each)")
    add("--float", default="f32", metavar="FLOAT", help="type of the values: f32 or bf16")
    add("--data", default="normal", metavar="DATA", help="normal or log_uniform")
    add("--elements", type=int, metavar="N", help="a multiple of 1024 (default: 2**20)")
    add("--threads", type=int, default=1, metavar="N", help="of both sides (default: 1)")
    add(
        "--peer",
        action="append",
        metavar="NAME",
        help="library (default: each that is installed and starts quickly)",
    )
    add("--policies", action="store_true", help="instead: each choice beside the default")
    add(
        "--quick",
        action="store_true",
        help="fewer elements, less time: what a call costs weighs more",
    )
    add("--json", metavar="FILE", help="write the figures as JSON; - prints them, and no table")


def _run(options: argparse.Namespace) -> int:
    from mxref.bench.rows import HEADER, cells, report
    from mxref.support.whole_file import write_file

    rows: list[Row] = []
    try:
        for row in _rows(options):
            rows.append(row)
            if sys.stderr is not None and sys.stderr.isatty():
                print(f"\r{len(rows)} rows", end="\r", file=sys.stderr, flush=True)
    except KeyboardInterrupt:
        if rows and options.json != "-":
            print_table(HEADER, [cells(row) for row in rows])
        print("mxref: interrupted: no JSON is written, and rows are missing", file=sys.stderr)
        return 128 + 2  # as if by SIGINT
    text = json.dumps(report(rows), indent=1) + "\n"
    if options.json == "-":
        print(text, end="")
        return 0
    if options.json is not None:
        write_file(Path(options.json), text.encode("ascii"))
    print_table(HEADER, [cells(row) for row in rows])
    _explain(options, rows)
    return 0


def _rows(options: argparse.Namespace) -> Iterator[Row]:
    from mxref.bench.jobs import OPS
    from mxref.bench.rows import beside, jobs_of, other_choices, versus

    refuse_unknown("--op", options.op or [], OPS)
    elements, seconds = _QUICK if options.quick else _USUAL
    elements = elements if options.elements is None else options.elements
    if elements < 1024 or elements % 1024:
        raise ValueError(f"--elements must be a multiple of 1024, got {elements}")
    if options.threads < 1:
        raise ValueError(f"--threads must be at least 1, got {options.threads}")
    jobs = jobs_of(
        options.op or _OPS,
        options.format or ("e4m3" if options.policies else None),
        (elements // 1024, 1024),
        float=options.float,
        data=options.data,
        threads=options.threads,
    )
    if options.policies:
        if options.peer:
            raise ValueError("--peer must not be given with --policies: mxref is measured alone")
        for job in jobs:
            for other in other_choices(job):
                yield versus(other, job, "ocp", seconds)
        return
    peers = _peers(options.peer)
    if options.peer and not any(peer.measures(job) for peer in peers for job in jobs):
        names = ", ".join(options.peer)
        raise ValueError(f"none of {names} does what is to be measured: choose another --peer")
    for job in jobs:
        able = [peer for peer in peers if peer.measures(job)]
        for peer in able:
            yield beside(job, peer, seconds)
        if not able and not options.peer:
            yield versus(job, job, "itself", seconds)


def _peers(names: list[str] | None) -> list[Peer]:
    """The peers that are named, or all that are here and start quickly."""
    from mxref.bench.peers import PEERS

    refuse_unknown("--peer", names or [], PEERS)
    for name in names or []:
        if PEERS[name].absent:
            raise ValueError(f"{name} is not installed: {PEERS[name].absent}")
    if names:
        return [PEERS[name] for name in names]
    return [peer for peer in PEERS.values() if not peer.absent and not peer.slow]


def _explain(options: argparse.Namespace, rows: list[Row]) -> None:
    """What the columns are, and which libraries are not here."""
    from mxref.bench.peers import PEERS

    clock = "processor time of all threads" if options.threads == 1 else "time on the wall"
    print(
        f"\nns: nanoseconds an element, the quickest call, {clock}; x: how many times as fast as "
        "the other mxref is,\nthe median of all rounds, and the worst one (not a "
        "quotient of the ns, which are the quickest);\n"
        "MiB: memory at the peak beyond input and output"
    )
    if any(row.other == "itself" for row in rows):
        print("beside itself: no library here does this, and x shows how much the clock strays")
    if options.policies or options.peer:
        return
    for peer in PEERS.values():
        if peer.absent:
            print(f"not measured: {peer.name} ({peer.absent})")
        elif peer.slow:
            print(f"not measured: {peer.name}, which starts slowly (--peer {peer.name})")
