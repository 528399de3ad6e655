"""``mxref sweep``: ask an implementation for the answers to every input."""

from __future__ import annotations

import argparse
import contextlib
import functools
import json
import shlex
import sys
from collections.abc import Iterator
from dataclasses import replace
from pathlib import Path
from typing import TYPE_CHECKING

from mxref.cli.screen import Verbs, add_json_argument, new_parser, print_text, progress
from mxref.cli.target_arguments import (
    add_target_arguments,
    chosen_target,
    ending_of,
)
from mxref.support.interruption import end_text, exit_status
from mxref.support.workers import cores

if TYPE_CHECKING:
    from concurrent.futures import Executor

    from mxref.conformance.sweeping.plan import Source
    from mxref.conformance.sweeping.sweep import Swept
    from mxref.policy.policy import Policy


def add_parser(verbs: Verbs) -> None:
    """Add the verb."""
    about = "put every input to an implementation: all 2**32 float32 patterns, or all blocks"
    example = "mxref sweep my_kernel.py --format e4m3 --state e4m3.json"
    parser = new_parser(
        verbs,
        "sweep",
        _run,
        about,
        example,
        formats="sweep",
        exits=(
            "every answer is right",
            "an answer is wrong, a program ended badly, or mxref's digest is not on record",
        ),
    )
    add_target_arguments(parser, own=True)
    add = parser.add_argument
    add("--op", default="encode", metavar="OP", help="operation (default: encode)")
    about = "format, of quantize and dequantize a block format (default: all of TARGET or mxref)"
    add("--format", metavar="FORMAT", help=about)
    add("--float", default="f32", metavar="FLOAT", help="f32, f16 or bf16 (default: f32)")
    about = "compare with these choices (default: the claimed ones, else ocp)"
    add("--policy", metavar="POLICY", help=about)
    about = "keep the progress in FILE; a sweep that finds one goes on from it"
    add("--state", type=Path, metavar="FILE", help=about)
    who = parser.add_mutually_exclusive_group()
    about = "number of processes (default: 1, for mxref itself one per processor)"
    who.add_argument("--jobs", type=int, metavar="N", help=about)
    about = "share the work between workers of this Dask scheduler, which load TARGET by its path"
    who.add_argument("--dask", metavar="ADDRESS", help=about)
    about = "also print the SHA-256 of all codes, and whether it is the one on record"
    add("--digest", action="store_true", help=about)
    add_json_argument(parser)


def _run(options: argparse.Namespace) -> int:
    from mxref.conformance.sweeping.digests import recorded_digest
    from mxref.conformance.sweeping.sweep_text import sweeps_json, sweeps_lines

    try:
        swept = _swept(options)
    except KeyboardInterrupt as interrupted:
        how = "nothing is kept: use --state FILE"
        if options.state is not None:
            how = f"the same command goes on from {options.state}"
        print(f"mxref: {end_text(interrupted)}: {how}", file=sys.stderr)
        return exit_status(interrupted)
    if options.json:
        print(json.dumps(sweeps_json(swept), indent=1))
    else:
        print_text(*sweeps_lines(swept))
    passed = all(one.passed for one in swept)
    if options.digest and _is_own(options):  # implementations may choose other NaN codes
        passed &= all(recorded_digest(one) in ("", one.digest) for one in swept)
    return 0 if passed else 1


def _is_own(options: argparse.Namespace) -> bool:
    """Whether mxref itself is the target."""
    return options.target is None and options.cmd is None


def _swept(options: argparse.Namespace) -> tuple[Swept, ...]:
    from mxref.conformance.sweeping.state import fingerprint
    from mxref.conformance.sweeping.sweep import sweeps
    from mxref.policy.policy import Policy

    policy = None if options.policy is None else Policy.parse(options.policy)
    names = shlex.split(options.cmd) if options.cmd else [options.target or ""]
    with contextlib.ExitStack() as until_done:
        source = until_done.enter_context(_source(options, policy or Policy()))
        # The report owns stdout: text that the target prints goes to stderr.
        until_done.enter_context(contextlib.redirect_stdout(sys.stderr))
        executor, jobs = until_done.enter_context(_who_works(options))
        swept = sweeps(
            source,
            options.op,
            () if options.format is None else (options.format,),
            options.float,
            policy,
            jobs=jobs,
            executor=executor,
            state=options.state,
            fingerprint=fingerprint(names) if any(names) else "",
            progress=until_done.enter_context(progress("sweep")),
            digest=options.digest,
        )
        ending = "" if callable(source) else ending_of(source)
        return tuple(replace(one, ending=ending) for one in swept)


@contextlib.contextmanager
def _source(options: argparse.Namespace, policy: Policy) -> Iterator[Source]:
    """The target that the options name, or a function that loads it in each process."""
    from mxref import conformance
    from mxref.conformance.sweeping.plan import OwnTarget
    from mxref.targets.loading import split_spec

    if options.cmd is not None:
        if options.dask is not None or options.jobs not in (None, 1):
            raise ValueError("--jobs must be 1 with --cmd, and --dask absent: there is one program")
        with chosen_target(options) as program:
            yield program
        return
    if options.timeout is not None:
        raise ValueError("--timeout must be given with --cmd: it is the time for its answers")
    if options.target is None:
        yield OwnTarget(policy)
        return
    source, mode = split_spec(options.target)
    if options.dask is not None and Path(source).is_file():
        source = str(Path(source).resolve())  # workers may run in another folder
    name = f"{source}:{mode}" if mode else source
    yield functools.partial(conformance.load_target, name)


@contextlib.contextmanager
def _who_works(options: argparse.Namespace) -> Iterator[tuple[Executor | None, int]]:
    """An executor and the number of parts it runs at once; or None and the number of processes."""
    if options.dask is not None:
        from mxref.conformance.sweeping.cluster import dask_cluster  # imports asyncio

        with dask_cluster(options.dask) as cluster:
            yield cluster
        return
    default = cores() if _is_own(options) else 1
    yield None, default if options.jobs is None else options.jobs
