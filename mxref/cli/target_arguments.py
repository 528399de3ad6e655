"""What verbs that check an implementation share: naming it, and choosing the vector files."""

from __future__ import annotations

import argparse
import contextlib
import sys
from collections.abc import Iterator, Sequence
from pathlib import Path
from typing import TYPE_CHECKING

from mxref.cases.records import NAMES, names_of
from mxref.cli.screen import vectors_default, vectors_folder
from mxref.support.text import refuse_unknown

if TYPE_CHECKING:
    from mxref.conformance import Target
    from mxref.golden import VectorFile

#: Restarts of a program that is asked again and again: a shrinking counterexample may be a crash.
_LIVE_RESTARTS = 100


def add_target_arguments(
    parser: argparse.ArgumentParser, *, results: bool = False, own: bool = False
) -> None:
    """Arguments that name the implementation.

    Args:
        parser: the verb's parser.
        results: for verbs that ask vector files: answers from a folder as well.
        own: for verbs that take mxref itself where none is named.
    """
    one = parser.add_mutually_exclusive_group(required=not own)
    itself = " (default: mxref itself)" if own else ""
    one.add_argument(
        *("target",),
        nargs="?",
        metavar="TARGET",
        help=f"a Python file or a dotted module name, or FILE.py:NAME in it{itself}",
    )
    one.add_argument(
        "--cmd", metavar="COMMAND", help="a program that reads prompts and writes answers"
    )
    if results:
        one.add_argument(
            "--results", type=Path, metavar="DIR", help="answers to what `mxref prompts` wrote"
        )
    parser.add_argument(
        "--timeout",
        type=float,
        metavar="SECONDS",
        help="how long --cmd may take for an answer (default 10)",
    )


def add_name_options(parser: argparse.ArgumentParser, names: Sequence[str] = NAMES) -> None:
    """Options that choose operations, formats and float types: lists, empty where not given."""
    for name in names:
        parser.add_argument(
            f"--{name}",
            action="append",
            default=[],
            metavar=name.upper(),
            help=f"only this {'operation' if name == 'op' else name}; may be given again",
        )


def add_comparison_options(parser: argparse.ArgumentParser) -> None:
    """Options on what answers are compared with."""
    by = parser.add_mutually_exclusive_group()
    by.add_argument(
        "--policy", metavar="POLICY", help="compare with this policy instead of what is claimed"
    )
    by.add_argument(
        "--profile",
        metavar="NAME",
        help="compare with what this profile answers, where it speaks of it (`mxref explain NAME`)",
    )


def add_file_arguments(parser: argparse.ArgumentParser) -> None:
    """Options that choose vector files."""
    add_name_options(parser)
    add_vectors_argument(parser)


def add_vectors_argument(parser: argparse.ArgumentParser) -> None:
    """The option that names the folder of vectors."""
    parser.add_argument(
        "--vectors", type=Path, metavar="DIR", help=f"folder (default: {vectors_default()})"
    )


def chosen_files(options: argparse.Namespace) -> list[VectorFile]:
    """The vector files that the options choose; no other one is read.

    Raises:
        ValueError: a name that no file has, or names that no file has together.
    """
    from mxref.cases.read import read_vectors

    wanted = {name: getattr(options, name) for name in NAMES}
    known = [names_of(stem) for stem in _stems(options)]
    for i, (name, chosen) in enumerate(wanted.items()):
        refuse_unknown(f"--{name}", chosen, sorted({names[i] for names in known}))
    files = read_vectors(
        options.vectors or vectors_folder(), lambda stem: is_chosen(options, *names_of(stem))
    )
    if not files:
        asked = " ".join(one for chosen in wanted.values() for one in chosen)
        raise ValueError(f"there are no vectors of {asked}: see the folders in vectors/")
    return files


def is_chosen(options: argparse.Namespace, *names: str) -> bool:
    """Whether the options leave in an operation, format and float type."""
    pairs = zip(NAMES, names, strict=True)
    return all(one in (getattr(options, name) or [one]) for name, one in pairs)


@contextlib.contextmanager
def chosen_target(
    options: argparse.Namespace, files: Sequence[VectorFile] = ()
) -> Iterator[Target]:
    """The implementation that the options name, until the end of a `with`.

    Args:
        options: what `add_target_arguments` has added.
        files: what a folder has answers to, and a program is asked at once, so that it may answer
            at the end of its input; it can be asked nothing else then.

    Raises:
        ValueError: a target that cannot be used.
    """
    from mxref.conformance import load_target

    if options.timeout is not None and options.cmd is None:
        raise ValueError("--timeout must be given with --cmd: it is the time for its answers")
    if options.target is not None:
        with contextlib.redirect_stdout(sys.stderr):  # what it prints is no part of a report
            target = load_target(options.target)
        yield target
    elif options.cmd is None:
        from mxref.targets.results import read_results

        yield read_results(options.results, files, _stems(options))
    else:
        with _command(options, files) as program:
            yield program


@contextlib.contextmanager
def _command(options: argparse.Namespace, files: Sequence[VectorFile]) -> Iterator[Target]:
    from mxref.targets.command import CommandTarget, command_results
    from mxref.targets.process import unwinding_signals

    timeout = 10.0 if options.timeout is None else options.timeout
    with unwinding_signals():
        if files:
            yield command_results(options.cmd, files, timeout=timeout)
            return
        with CommandTarget(options.cmd, timeout=timeout, restarts=_LIVE_RESTARTS) as target:
            yield target


def _stems(options: argparse.Namespace) -> list[str]:
    """The stems of all vector files."""
    from mxref.cases.read import by_stem, read_manifest

    return list(by_stem(read_manifest(options.vectors or vectors_folder())))
