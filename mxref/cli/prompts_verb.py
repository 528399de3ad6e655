"""``mxref prompts``: the golden vectors as text files of questions."""

from __future__ import annotations

import argparse
from pathlib import Path

from mxref.cli.own_names import add_formats_argument
from mxref.cli.screen import Verbs, new_parser
from mxref.cli.target_arguments import add_file_arguments, chosen_files


def add_parser(verbs: Verbs) -> None:
    """Add the verb."""
    about = (
        "write questions of the vectors as text files; `mxref verify --results` reads the answers"
    )
    example = "mxref prompts questions --op encode --format e4m3"
    exits = ("the questions were written",)
    parser = new_parser(verbs, "prompts", _run, about, example, formats="vectors", exits=exits)
    parser.add_argument("folder", type=Path, metavar="DIR", help="folder to write")
    add_formats_argument(parser)
    add_file_arguments(parser)
    about = "the cases of the vectors alone, without the questions that `verify` asks beside them"
    parser.add_argument("--quick", action="store_true", help=about)


def _run(options: argparse.Namespace) -> int:
    from mxref.cases.beside import beside
    from mxref.formats.catalog import OTHER_CODE_FORMATS
    from mxref.targets.results import write_prompts

    # A program is asked about formats beside MX's only if they are named.
    left_out = () if options.format else OTHER_CODE_FORMATS
    files = [file for file in chosen_files(options) if file.format not in left_out]
    size = write_prompts(options.folder, files, {} if options.quick else beside(files))
    print(f"{len(files)} file{'s' * (len(files) != 1)}, {size / 1e6:.1f} MB in {options.folder}")
    return 0
