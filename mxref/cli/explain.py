"""``mxref explain``: what a name stands for."""

from __future__ import annotations

import argparse
from collections.abc import Callable
from pathlib import Path

from mxref.cli._common import Verbs, new_parser, vectors_folder


def add_parser(verbs: Verbs) -> None:
    """Add the verb."""
    parser = new_parser(
        verbs,
        "explain",
        _run,
        "say what a mutant does wrong, where it was seen, and which case catches it",
        "mxref explain A7",
    )
    parser.add_argument(
        "name", metavar="NAME", help="a mutant, a class of mutants (A17), or the name of one"
    )
    parser.add_argument(
        "--vectors", type=Path, metavar="DIR", help="folder (default: vectors/ of the checkout)"
    )


def _run(options: argparse.Namespace) -> int:
    for explain in _KINDS:
        if explain(options.name, options.vectors or vectors_folder()):
            return 0
    raise ValueError(
        f"NAME must be a mutant or a class of mutants such as A7 or A17b, got {options.name!r}: "
        "`mxref score` lists them"
    )


def _mutants(name: str, folder: Path) -> bool:
    """Explain mutants; False if the name is none."""
    from mxref.golden.mutants import MUTANTS

    found = [mutant for mutant in MUTANTS if name in (mutant.id, mutant.name)]
    found = found or [mutant for mutant in MUTANTS if name == mutant.group]
    if not found:
        return False
    from mxref import golden
    from mxref.conformance.report import describe
    from mxref.conformance.score import covers, first_kill
    from mxref.golden.mutants import equivalent

    files = golden.read_vectors(folder)
    for mutant in found:
        print(f"{mutant.id} {mutant.name} ({mutant.op}): {mutant.text}")
        print(
            f"  formats: {', '.join(mutant.formats) or '-'}; from or to {', '.join(mutant.floats)}"
        )
        if mutant.policy != "ocp":
            print(f"  means to follow: {mutant.policy}")
        for link in mutant.links:
            print(f"  seen: {link}")
        if mutant.waiting:
            print(f"  waiting: {mutant.waiting}")
        kills = ((file, first_kill(mutant, file)) for file in files if covers(mutant, file))
        first = next(((file, failure) for file, failure in kills if failure is not None), None)
        if first is not None:
            print(f"  caught by {describe(*first)}")
        proofs = [
            equivalent(mutant.id, format, float)
            for format in mutant.formats
            for float in mutant.floats
        ]
        for entry in dict.fromkeys(entry for entry in proofs if entry is not None):
            there = ", ".join((*entry.formats, *entry.floats)) or "everywhere"
            print(f"  equivalent ({there}): {entry.proof}")
    return True


#: What a name can be, tried in turn; each explains it and returns True, or returns False.
_KINDS: tuple[Callable[[str, Path], bool], ...] = (_mutants,)
