"""``mxref regen``: make the golden vectors, or check that they are what this version makes."""

from __future__ import annotations

import argparse
from pathlib import Path

from mxref.cli._common import Verbs, new_parser, vectors_folder
from mxref.golden.workers import cores


def add_parser(verbs: Verbs) -> None:
    """Add the verb."""
    parser = new_parser(
        verbs,
        "regen",
        _run,
        "regenerate the golden vectors, byte for byte the same everywhere",
        "mxref regen --check",
    )
    parser.add_argument(
        "--check", action="store_true", help="write nothing; exit 1 if a file differs"
    )
    parser.add_argument(
        "--jobs", type=int, default=cores(), metavar="N", help="processes (default: %(default)s)"
    )
    parser.add_argument(
        "--out", type=Path, metavar="DIR", help="folder (default: vectors/ of the checkout)"
    )


def _run(options: argparse.Namespace) -> int:
    from mxref import golden

    folder = options.out or vectors_folder()
    if folder.exists() and not folder.is_dir():
        raise ValueError(f"--out must be a folder, {folder} is a file")
    texts = golden.build(options.jobs)
    size = sum(map(len, texts.values())) / 1e6
    if options.check:
        problems = golden.check(folder, texts)
        for problem in problems:
            print(problem)
        same = "differ" if problems else "are what this version generates"
        print(f"{len(texts)} files, {size:.1f} MB in {folder} {same}")
        return 1 if problems else 0
    changed = golden.write(folder, texts)
    print(f"{len(texts)} files, {size:.1f} MB in {folder}, {changed} changed")
    return 0
