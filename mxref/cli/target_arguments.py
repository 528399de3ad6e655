"""Arguments that name an implementation and choose vector files, for the verbs that check one."""

from __future__ import annotations

import argparse
import contextlib
from collections.abc import Iterator, Sequence
from functools import partial
from pathlib import Path
from typing import TYPE_CHECKING, Any

from mxref.cases.names import NAMES, names_of, refuse_unknown_names
from mxref.cli.own_names import add_formats_argument
from mxref.cli.screen import add_vectors_argument, asking, vectors_folder
from mxref.support.bounded_output import bounded_output
from mxref.support.collector import collect_from_now_on
from mxref.support.time_limit import limited, set_limit

if TYPE_CHECKING:
    from mxref.conformance import Target
    from mxref.golden import VectorFile

#: option -> what its names are, for the options that choose questions.
_NAMED = {
    "op": "operation, such as encode",
    "format": "format, such as e4m3",
    "float": "float type: f32, f16, bf16 or f64",
}
#: Restarts of a program under fuzz and identify: a counterexample that crashes it is shrunk.
_LIVE_RESTARTS = 100
#: Parts of the help of a verb that compares with the vectors.
JUDGED: dict[str, Any] = {
    "formats": "vectors",
    "exits": (
        "every answer is right, or listed in --xfail",
        "an answer is wrong, a listed one is right, or nothing was compared",
    ),
    "notes": """\
columns:
  cases   numbers, blocks or arrays of the vectors that were compared
  failed  of them wrong, and not listed in --xfail
  known   of them wrong, and listed""",
}
#: The longest line that lists what is not covered; a longer list needs --verbose.
_LISTED = 80


def add_target_arguments(
    parser: argparse.ArgumentParser, *, results: bool = False, own: bool = False
) -> None:
    """Add the arguments that name the implementation.

    Args:
        parser: the parser of the verb.
        results: whether answers may come from a folder.
        own: whether mxref itself is checked if no implementation is named.
    """
    one = parser.add_mutually_exclusive_group(required=not own)
    about = "the implementation: a Python file or a dotted module name with functions such as "
    about += "encode or quantize; FILE.py:NAME is an object of the file that has them"
    about += " (default: mxref itself)" if own else ""
    one.add_argument("target", nargs="?", metavar="TARGET", help=about)
    about = "a program instead: it reads questions (`mxref gen` prints such) and writes answers"
    one.add_argument("--cmd", metavar="COMMAND", help=about)
    if results:
        about = "a folder of answers instead, to the questions that `mxref prompts` wrote"
        one.add_argument("--results", type=Path, metavar="DIR", help=about)
    about = "time for an answer of --cmd (default 10), or a call of TARGET (default 300, or 100 "
    about += "times the longest one before)"
    parser.add_argument("--timeout", type=float, metavar="SECONDS", help=about)
    add_formats_argument(parser)
    about = "load TARGET into this process, for debuggers and coverage (default: into a copy of it)"
    parser.add_argument("--in-process", action="store_true", help=about)


def add_name_options(parser: argparse.ArgumentParser, names: Sequence[str] = NAMES) -> None:
    """Add options that choose operations, formats and float types; empty lists if not given."""
    for name in names:
        about = f"only this {_NAMED[name]}; may be given again"
        parser.add_argument(
            f"--{name}", action="append", default=[], metavar=name.upper(), help=about
        )


def add_comparison_options(parser: argparse.ArgumentParser) -> None:
    """Add the options that choose the policy with which answers are compared."""
    by = parser.add_mutually_exclusive_group()
    about = "compare with these choices, such as ocp+scale_rule=rceil (default: the claimed ones, "
    about += "else ocp); `mxref explain scale_rule` explains one"
    by.add_argument("--policy", metavar="POLICY", help=about)
    about = "compare with this profile of a library, such as torchao_0_18_rceil, in the operations "
    about += "that it covers (`mxref explain NAME`)"
    by.add_argument("--profile", metavar="NAME", help=about)


def add_file_arguments(parser: argparse.ArgumentParser) -> None:
    """Add the options that choose vector files."""
    add_name_options(parser)
    add_vectors_argument(parser)


def _alone(options: argparse.Namespace) -> bool:
    """Whether nothing beside the vectors is asked of a program."""
    return is_quick(options) or getattr(options, "no_search", True)


def is_quick(options: argparse.Namespace) -> bool:
    """Whether only the vectors are asked."""
    return bool(getattr(options, "quick", False))


def chosen_files(options: argparse.Namespace) -> list[VectorFile]:
    """The vector files that the options choose; no other file is read.

    Made files, those of formats beside MX's, are chosen by --format, or by a folder of results that
    has answers to them.

    Raises:
        ValueError: a name that no file has, or no file for the chosen names together.
    """
    from mxref.cases.read import read_vectors

    refuse_unknown_names(vars(options), sorted(map(names_of, _stems(options))))
    files = read_vectors(
        options.vectors or vectors_folder(), lambda stem: is_chosen(options, *names_of(stem))
    )
    return [*files, *_made(options)]


def _made(options: argparse.Namespace) -> Iterator[VectorFile]:
    """The made files that the options choose."""
    from mxref.golden.made_files import made_files
    from mxref.targets.results import prompts_name

    folder: Path | None = getattr(options, "results", None)
    for stem, make in made_files().items():
        named = names_of(stem)[1] in options.format
        answered = folder is not None and (folder / prompts_name(stem)).exists()
        if (named or answered) and is_chosen(options, *names_of(stem)):
            yield make()


def is_chosen(options: argparse.Namespace, *names: str) -> bool:
    """Whether the options choose an operation, format and float type."""
    pairs = zip(NAMES, names, strict=True)
    return all(one in (getattr(options, name) or [one]) for name, one in pairs)


def not_covered_line(not_covered: Sequence[str], *, verbose: bool) -> str:
    """A line about what is not covered: a short list, or its length.

    >>> not_covered_line(["decode", "encode e2m1 (f64)"], verbose=False)
    'not covered: decode; encode e2m1 (f64)'
    >>> not_covered_line(["pack", "unpack", *["encode e2m1 (f64)"] * 4], verbose=False)
    'not covered: 2 operations, and formats or float types of 4 others (--verbose lists them)'
    """
    line = f"not covered: {'; '.join(not_covered)}"
    if verbose or len(line) <= _LISTED:
        return line
    whole = sum(" " not in one for one in not_covered)
    counts = [f"{whole} operation{'s' * (whole != 1)}"] if whole else []
    left = len(not_covered) - whole
    if left:
        others = f"{left} other{'s' * (left != 1)}" if whole else f"{left} operations"
        counts.append(f"formats or float types of {others}")
    return f"not covered: {', and '.join(counts)} (--verbose lists them)"


@contextlib.contextmanager
def chosen_target(
    options: argparse.Namespace, files: Sequence[VectorFile] = ()
) -> Iterator[Target]:
    """The implementation that the options name, as a context manager.

    Args:
        options: parsed options with the arguments of `add_target_arguments`.
        files: vector files that a folder has answers to. A program is asked all of them at once,
            since it may answer only at the end of its input; afterwards it can be asked nothing.

    Raises:
        ValueError: the target cannot be used.
    """
    from mxref.conformance import load_target

    if options.target is not None:
        set_limit(options.timeout)
        with bounded_output(), limited("the import of the target"):  # the report owns stdout
            target = load_target(options.target)
        collect_from_now_on()
        with target.own.known():
            yield target
        return
    collect_from_now_on()
    if options.cmd is None:
        if options.timeout is not None:
            raise ValueError("--timeout must be absent with --results, which take no time")
        from mxref.cases.beside import beside
        from mxref.targets.results import read_results

        drawn = {} if _alone(options) else beside(files)
        yield read_results(options.results, files, _stems(options), drawn)
    else:
        with _command(options, files) as program:
            yield program


def ending_of(target: Target) -> str:
    """What is wrong with a program's end after its last answer; empty for other targets.

    The verbs that ask again and again call this after their last question.
    """
    end = getattr(target, "end", None)
    return "" if end is None else str(end())


@contextlib.contextmanager
def _command(options: argparse.Namespace, files: Sequence[VectorFile]) -> Iterator[Target]:
    from mxref.targets.command import CommandTarget, command_results

    timeout = 10.0 if options.timeout is None else options.timeout
    if files:
        from mxref.cases.beside import beside

        drawn = {} if _alone(options) else beside(files, options.seed)
        with asking() as tell:
            answers = command_results(
                options.cmd,
                files,
                drawn=drawn,
                timeout=timeout,
                twice=not is_quick(options),
                tell=partial(tell, "the program"),
            )
        yield answers
        return
    with CommandTarget(options.cmd, timeout=timeout, restarts=_LIVE_RESTARTS) as target:
        yield target


def _stems(options: argparse.Namespace) -> list[str]:
    """The stems of all vector files, made ones included."""
    from mxref.cases.read import by_stem, read_manifest
    from mxref.golden.made_files import made_files

    return [*by_stem(read_manifest(options.vectors or vectors_folder())), *made_files()]
