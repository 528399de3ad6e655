"""``mxref sweep``: put every input to an implementation."""

from __future__ import annotations

import argparse
import contextlib
import functools
import json
import shlex
import sys
import time
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import TYPE_CHECKING

from mxref.cli._common import Verbs, new_parser
from mxref.cli._targets import add_target_arguments, chosen_target

if TYPE_CHECKING:
    from mxref.conformance import Target
    from mxref.conformance.sweep import Progress

#: Seconds between two lines of progress.
_TELL = 5.0


def add_parser(verbs: Verbs) -> None:
    """Add the verb."""
    parser = new_parser(
        verbs,
        "sweep",
        _run,
        "put every input to an implementation: all 2**32 float32 patterns, or all blocks",
        "mxref sweep my_kernel.py --format e4m3 --state e4m3.json",
    )
    add_target_arguments(parser, own=True)
    add = parser.add_argument
    add("--op", default="encode", metavar="OP", help="operation (default: encode)")
    add("--format", metavar="FORMAT", help="of quantize and dequantize a block format")
    add("--float", default="f32", metavar="FLOAT", help="f32, f16 or bf16 (default: f32)")
    add("--policy", help="compare with this policy instead of the claimed one")
    add("--state", type=Path, metavar="FILE", help="where to note how far it is, and to go on from")
    add("--jobs", type=int, default=1, metavar="N", help="processes (default: 1)")
    add("--digest", action="store_true", help="print the SHA-256 of all codes, too")
    add("--json", action="store_true", help="print the report as JSON")


def _run(options: argparse.Namespace) -> int:
    from mxref import conformance
    from mxref.conformance.sweep import sweep
    from mxref.conformance.sweep_plan import OwnTarget
    from mxref.conformance.sweep_report import finding_lines, summary, swept_json
    from mxref.conformance.sweep_state import fingerprint
    from mxref.formats import E8M0
    from mxref.policy import Policy

    policy = None if options.policy is None else Policy.parse(options.policy)
    own = OwnTarget(policy or Policy())
    target: Target | Callable[[], Target] = own
    with contextlib.ExitStack() as until_done:
        if options.target is not None:  # each process loads it
            target = functools.partial(conformance.load_target, options.target)
        elif options.cmd is not None:
            if options.jobs != 1:
                raise ValueError("--jobs must be 1 with --cmd: there is one program")
            target = until_done.enter_context(chosen_target(options))
        elif options.timeout is not None:
            raise ValueError("--timeout must be given with --cmd: it is the time for its answers")
        # What the target prints is no part of the report.
        until_done.enter_context(contextlib.redirect_stdout(sys.stderr))
        progress = until_done.enter_context(_progress())
        names = shlex.split(options.cmd) if options.cmd else [options.target or ""]
        try:
            swept = sweep(
                target,
                options.op,
                options.format or E8M0.name,
                options.float,
                policy,
                jobs=options.jobs,
                state=options.state,
                fingerprint="" if target is own else fingerprint(names),
                progress=progress,
                digest=options.digest,
            )
        except KeyboardInterrupt:
            how = "nothing is kept: use --state FILE"
            if options.state is not None:
                how = f"the same command goes on from {options.state}"
            print(f"mxref: interrupted: {how}", file=sys.stderr)
            return 128 + 2  # as if by SIGINT
    if options.json:
        print(json.dumps(swept_json(swept), indent=1))
    else:
        lines = finding_lines(swept)
        for line in lines:
            print(line)
        if swept.tally.left:
            print(f"... and {swept.tally.left} more intervals, which are not kept")
        if swept.digest:
            print(f"digest {swept.digest}")
        print(summary(swept))
    return 0 if swept.passed else 1


@contextlib.contextmanager
def _progress() -> Iterator[Progress]:
    """A bar of rich on a terminal, if it is installed; else a line every few seconds."""
    if sys.stderr is not None and sys.stderr.isatty():
        try:
            from rich.console import Console
            from rich.progress import Progress as Bar
        except ImportError:
            pass
        else:
            with Bar(console=Console(stderr=True), transient=True) as bar:
                task = bar.add_task("sweep", total=None)

                def draw(done: int, total: int, wrong: int) -> None:
                    text = f"{wrong} wrong" if wrong else "sweep"
                    bar.update(task, completed=done, total=total, description=text)

                yield draw
            return
    began = told = time.monotonic()
    start: int | None = None  # what was done before, by an interrupted run

    def tell(done: int, total: int, wrong: int) -> None:
        nonlocal told, start
        now = time.monotonic()
        start = done - 1 if start is None else start
        if now - told >= _TELL and done < total:
            told = now
            left = (now - began) / (done - start) * (total - done)
            print(
                f"{done / total:.1%}, {wrong} wrong, about {_duration(left)} to go",
                file=sys.stderr,
                flush=True,
            )

    yield tell


def _duration(seconds: float) -> str:
    """A time to wait, in the unit that a person would use.

    >>> _duration(95), _duration(700), _duration(66357)
    ('95 s', '12 min', '18 h')
    """
    if seconds < 120:
        return f"{seconds:.0f} s"
    return f"{seconds / 60:.0f} min" if seconds < 7200 else f"{seconds / 3600:.0f} h"
