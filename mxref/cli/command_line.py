"""The parser of the command line, and what ends it: exit status, closed output, errors, signals."""

from __future__ import annotations

import argparse
import contextlib
import importlib
import io
import os
import sys
from collections.abc import Sequence
from functools import partial

from mxref._version import __version__
from mxref.support.interruption import exit_status, held_signals, told, unwinding_signals
from mxref.support.own_process import in_own_process

__all__ = ["main"]

#: The verbs; each is a module of this package.
_VERBS = (
    "formats",
    "explain",
    "quantize",
    "diff",
    "regen",
    "export",
    "score",
    "verify",
    "identify",
    "fuzz",
    "sweep",
    "prompts",
    "pipe",
)
#: Those that load somebody's code, which may end the process.
_LOADING = ("verify", "identify", "fuzz", "sweep")


def main(arguments: Sequence[str] | None = None) -> int:
    """Run the command line.

    Args:
        arguments: its words. None stands for those of this process: verbs that load somebody's code
            then run in a copy of it, unless one of them is ``--in-process``.

    Returns 0 for a pass, 1 for a mismatch or if that code has ended the copy, 2 for misuse, and 128
    and the number of a signal (130: Ctrl-C, 143: SIGTERM) if that has ended it.
    """
    if arguments is not None:
        return _unwound(arguments)
    words = sys.argv[1:]
    if words and words[0] in _LOADING and "--in-process" not in words:
        return in_own_process(partial(_alone, words))
    return _alone(words)


def _alone(words: Sequence[str]) -> int:
    """The exit status of a command that nothing but its process waits for."""
    try:
        return _unwound(words, last=True)
    except BaseException as error:
        # Where nobody else's code can have changed Python or NumPy, it is a bug of mxref.
        loads = words[:1] and words[0] in _LOADING and "--in-process" not in words
        if isinstance(error, Exception) and not loads:
            raise
        from mxref.targets.calls import error_text

        hint = "; --in-process shows where" if isinstance(error, Exception) else ""
        print(f"mxref: error: the check was ended by {error_text(error)}{hint}", file=sys.stderr)
        return 1


def _unwound(words: Sequence[str], *, last: bool = False) -> int:
    """The exit status, also of a command that a signal ends, which may be all that a process does.

    Args:
        words: its words.
        last: whether the process ends after it.
    """
    try:
        with unwinding_signals(last=last):
            return _run(words)
    except KeyboardInterrupt as interrupted:
        print(f"mxref: {told(interrupted)}", file=sys.stderr)
        return exit_status(interrupted)


def _run(words: Sequence[str]) -> int:
    """Parse the words, run their verb, and tell errors in a sentence."""
    parser = argparse.ArgumentParser(
        prog="mxref", description="Bit-exact reference of the OCP Microscaling (MX) formats."
    )
    parser.add_argument("--version", action="version", version=f"mxref {__version__}")
    verbs = parser.add_subparsers(title="verbs", required=True, metavar="VERB")
    asked = words[:1] if words and words[0] in _VERBS else _VERBS  # importing all takes time
    for name in asked:
        with held_signals():
            verb = importlib.import_module(f"mxref.cli.{name}_verb")
        verb.add_parser(verbs)
    if sys.stdout is None:  # closed by the caller
        sys.stdout = io.StringIO()
    try:
        if words[:1] == ["bench"]:  # this verb was removed: the sentence goes with version 0.2
            raise ValueError("the benchmark is `python tools/bench.py` of a checkout")
        try:
            options = parser.parse_args(words)
        except SystemExit as done:  # argparse has printed help or an error
            status = int(done.code or 0)
        else:
            _name_formats(options)
            status = options.run(options)
        sys.stdout.flush()
    except (ValueError, OSError, MemoryError) as error:
        if isinstance(error, BrokenPipeError):  # the reader, such as `head`, has seen enough
            _discard_output()
            return 128 + 13  # the exit status that SIGPIPE gives: the verdict was not read
        text = str(error) or "not enough memory"
        if isinstance(error, OSError) and error.strerror is not None:
            text = f"{error.filename or 'standard output'}: {error.strerror}"
            if error.filename is None:
                _discard_output()
        print(f"mxref: error: {text}", file=sys.stderr)
        return 2
    return status


def _name_formats(options: argparse.Namespace) -> None:
    """Replace aliases of formats in --format by the names that formats have here."""
    given = getattr(options, "format", None)
    if not given:
        return
    from mxref.formats.aliases import own_name

    if isinstance(given, str):
        options.format = own_name("--format", given)
    else:
        options.format = [own_name("--format", name) for name in given]


def _discard_output() -> None:
    """Discard buffered output, so that closing stdout cannot fail again."""
    with contextlib.suppress(OSError):  # stdout need not be a file
        os.dup2(os.open(os.devnull, os.O_WRONLY), sys.stdout.fileno())
