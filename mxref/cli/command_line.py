"""The parser of the command line; exit statuses, closed output, errors and signals."""

from __future__ import annotations

import argparse
import contextlib
import errno
import gc
import importlib
import io
import os
import shlex
import sys
from collections.abc import Sequence
from functools import partial

from mxref.cli.completion import SHELLS, PrintCompletion
from mxref.cli.own_names import own_names
from mxref.cli.parsing import Parser, refuse_arguments, refuse_verb
from mxref.cli.versions import PrintVersions
from mxref.support.collector import import_first
from mxref.support.interruption import end_text, exit_status, held_signals, unwinding_signals
from mxref.support.library_threads import limit_libraries
from mxref.support.own_process import in_own_process

__all__ = ["VERBS", "main"]

#: verb -> the module of this package that has it.
VERBS = {
    "verify": "verify_verb",
    "identify": "identify_verb",
    "fuzz": "fuzz_verb",
    "sweep": "sweep_verb",
    "explain": "explain_verb",
    "formats": "formats_verb",
    "quantize": "quantize_verb",
    "diff": "diff_verb",
    "plot": "plot_verb",
    "prompts": "prompts_verb",
    "gen": "pipe_verb",
    "check": "pipe_verb",
    "export": "export_verb",
    "score": "score_verb",
    "regen": "regen_verb",
}
#: The text that `mxref` alone prints.
_GUIDE = """\
mxref: the bit-exact reference of the OCP Microscaling (MX) formats
  mxref verify my_kernel.py        check a kernel, bit by bit, and name its bug
  mxref identify my_kernel.py      find out which open choices it makes
  mxref explain 0.3 --format e2m1  explain a number, a block, a rule, a profile
  mxref quantize x.npy --format mxfp4_e2m1   quantize a file, print the error
  mxref --help, mxref VERB --help  all verbs; options and an example of one"""
#: The verbs that load somebody's code, which may end the process.
_LOADING = ("verify", "identify", "fuzz", "sweep")
#: Those of them whose calls are small, so that a library needs few threads.
_OF_SMALL_CALLS = ("verify", "identify", "fuzz")


def main(arguments: Sequence[str] | None = None) -> int:
    """Run the command line.

    Args:
        arguments: its words. None stands for those of this process: verbs that load somebody's code
            then run it in a copy of this process, unless a word is ``--in-process``.

    Returns 0 for a pass; 1 for a mismatch, or if that code ended the copy; 2 for misuse; 128 plus
    the number of a signal that ended the command (130: Ctrl-C, 143: SIGTERM).
    """
    if arguments is not None:
        return _unwound(arguments)
    words = sys.argv[1:]
    try:
        if words and words[0] in _LOADING and "--in-process" not in words:
            return in_own_process(partial(_alone, words))
        return _alone(words)
    finally:
        gc.freeze()  # else Python searches all objects for cycles at its end: 30 ms


def _alone(words: Sequence[str]) -> int:
    """Run a command that is all that its process does; its exit status."""
    if words and words[0] in _OF_SMALL_CALLS:
        limit_libraries()  # before the first library is imported
        import_first()
    try:
        return _unwound(words, last=True)
    except BaseException as error:
        # If no foreign code can have changed Python or NumPy, the error is a bug of mxref.
        loads = words[:1] and words[0] in _LOADING and "--in-process" not in words
        if isinstance(error, Exception) and not loads:
            raise
        what = type(error).__name__
        with contextlib.suppress(Exception):  # modules may be gone, too
            what = importlib.import_module("mxref.targets.calls").error_text(error)
        hint = "; --in-process shows where" if isinstance(error, Exception) else ""
        print(f"mxref: error: the check was ended by {what}{hint}", file=sys.stderr)
        return 1


def _unwound(words: Sequence[str], *, last: bool = False) -> int:
    """Run a command; its exit status, also if a signal ends it.

    Args:
        words: the words of the command.
        last: whether the process ends after the command.
    """
    try:
        with unwinding_signals(last=last):
            return _run(words)
    except KeyboardInterrupt as interrupted:
        print(f"mxref: {end_text(interrupted)}", file=sys.stderr)
        return exit_status(interrupted)


def _run(words: Sequence[str]) -> int:
    """Parse the words, run their verb, and print errors as a sentence; the exit status."""
    if words[:1] == ["help"]:
        words = [*words[1:], "--help"]
    parser = Parser(
        prog="mxref", description="Bit-exact reference of the OCP Microscaling (MX) formats."
    )
    about = "print the versions of mxref, the vectors, and packages that are found"
    parser.add_argument("--version", action=PrintVersions, nargs=0, help=about)
    about = f"print the completion script of a shell: {', '.join(SHELLS)}"
    parser.add_argument(
        "--print-completion", action=PrintCompletion, choices=SHELLS, metavar="SHELL", help=about
    )
    verbs = parser.add_subparsers(title="verbs", required=True, metavar="VERB")
    # Importing all verbs takes time.
    asked = [*VERBS.values()] * (words[:1] not in ([], ["--version"]))
    if words and words[0] in VERBS:
        asked = [VERBS[words[0]]]
    for module in dict.fromkeys(asked):
        with held_signals():
            verb = importlib.import_module(f"mxref.cli.{module}")
        verb.add_parser(verbs)
    if sys.stdout is None:  # closed by the caller
        sys.stdout = io.StringIO()
    try:
        if words[:1] == ["bench"]:  # a removed verb; this sentence will go in version 0.2
            raise ValueError("the benchmark is `python tools/bench.py` of a checkout")
        if not words:
            print(_GUIDE)
            sys.stdout.flush()
            return 2  # status 2, since nothing was checked
        if not words[0].startswith("-") and words[0] not in VERBS:
            refuse_verb(words[0], VERBS)
        if words[0] == "explain":  # its options may follow a NAME behind --
            words = [word for word in words if word != "--"]
        try:
            options, left = parser.parse_known_args(words)
            if left:
                refuse_arguments(verbs.choices.get(words[0], parser), left)
        except SystemExit as done:  # argparse has printed help or an error
            status = int(done.code or 0)
        else:
            _name_formats(options)
            options.typed = shlex.join(["mxref", *words])
            with own_names(options):
                status = options.run(options)
        sys.stdout.flush()
    except (ValueError, OSError, MemoryError) as error:
        if isinstance(error, BrokenPipeError):  # the reader, such as `head`, has closed it
            _discard_output()
            return 128 + 13  # the exit status that SIGPIPE gives: the verdict was not read
        text = str(error) or "not enough memory"
        if isinstance(error, OSError) and error.strerror is not None:
            text = f"{error.filename or 'standard output'}: {error.strerror}"
            if error.filename is None:
                _discard_output()
            if error.errno in (errno.EMFILE, errno.ENFILE):
                text = (
                    "no file can be opened any more, so that there is no verdict: the target "
                    "must close the files that it opens"
                )
        print(f"mxref: error: {text}", file=sys.stderr)
        return 2
    return status


def _name_formats(options: argparse.Namespace) -> None:
    """Replace names in --format and --float by those that mxref has for them."""
    for option in ("format", "float"):
        given = getattr(options, option, None)
        if not given:
            continue
        from mxref.cli.format_names import format_of_file, typed_float

        own = partial(format_of_file, "--format") if option == "format" else typed_float
        setattr(options, option, own(given) if isinstance(given, str) else [*map(own, given)])


def _discard_output() -> None:
    """Discard buffered output, so that closing stdout cannot fail again."""
    with contextlib.suppress(OSError):  # stdout need not be a file
        os.dup2(os.open(os.devnull, os.O_WRONLY), sys.stdout.fileno())
