"""``mxref gen`` and ``mxref check``: questions into a pipe, answers out of it."""

from __future__ import annotations

import argparse
import sys

from mxref.cli.own_names import add_formats_argument
from mxref.cli.screen import Verbs, add_vectors_argument, new_parser
from mxref.cli.target_arguments import JUDGED, add_name_options, chosen_files
from mxref.cli.verify_verb import add_report_arguments, judge


def add_parser(verbs: Verbs) -> None:
    """Add both verbs."""
    about = "print the questions of the vectors, for a program that answers in a pipe"
    example = "mxref gen encode e4m3 | ./my_kernel | mxref check encode e4m3"
    gen = new_parser(
        verbs,
        "gen",
        _gen,
        about,
        example,
        formats="vectors",
        exits=("the questions were printed",),
    )
    about = "check the answers to the questions of `mxref gen`"
    example = "mxref check encode e4m3 < answers.txt"
    check = new_parser(verbs, "check", _check, about, example, **JUDGED)
    for parser in (gen, check):
        parser.add_argument("op", nargs=1, metavar="OP", help="operation, such as encode")
        parser.add_argument("format", nargs=1, metavar="FORMAT", help="format, such as e4m3")
        add_name_options(parser, ["float"])
        add_formats_argument(parser)
        add_vectors_argument(parser)
    add_report_arguments(check)


def _gen(options: argparse.Namespace) -> int:
    from mxref.targets.line_protocol import prompt_lines, questions_of

    questions = (question for file in chosen_files(options) for question in questions_of(file))
    for line in prompt_lines(questions):
        sys.stdout.write(line.decode("ascii"))
    return 0


def _check(options: argparse.Namespace) -> int:
    from mxref.targets.results import piped_results

    if sys.stdin is None:  # closed by the caller
        raise ValueError("standard input must be open: the answers come from there")
    files = chosen_files(options)
    return judge(options, piped_results(sys.stdin.buffer, files, "standard input"), files)
