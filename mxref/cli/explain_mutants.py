"""``mxref explain`` with the name of a mutant."""

from __future__ import annotations

import argparse
import itertools
from pathlib import Path

from mxref.cli.screen import vectors_folder


def explain_mutants(options: argparse.Namespace) -> bool:
    """Explain a mutant or a class of them; False if there is none of that name."""
    from mxref.mutants import MUTANTS

    name: str = options.name
    folder: Path = options.vectors or vectors_folder()
    # A class without what its mutants of `encode` are inside blocks, which a line of theirs says.
    found = [
        mutant
        for mutant in MUTANTS
        if name in (mutant.id, mutant.name) or (name == mutant.group and not mutant.lifted_from)
    ]
    if not found:
        return False
    from mxref import golden
    from mxref.conformance.compare.failure_text import describe
    from mxref.conformance.score import covers, first_kill
    from mxref.mutants import equivalent

    ops = {mutant.op for mutant in found}
    files = golden.read_vectors(folder, lambda stem: stem.partition("/")[0] in ops)
    for mutant in found:
        print(f"{mutant.id} {mutant.name} ({mutant.op}): {mutant.text}")
        formats = ", ".join(mutant.formats) or "-"
        print(f"  formats: {formats}; from or to {', '.join(mutant.floats)}")
        if mutant.policy != "ocp":
            print(f"  means to follow: {mutant.policy}")
        for link in mutant.links:
            print(f"  seen: {link}")
        inside = [m.id for m in MUTANTS if m.lifted_from == mutant.id]
        if inside:
            print(f"  the same inside blocks: {', '.join(inside)}")
        if mutant.waiting:
            print(f"  waiting: {mutant.waiting}")
        kills = ((file, first_kill(mutant, file)) for file in files if covers(mutant, file))
        first = next(((file, failure) for file, failure in kills if failure is not None), None)
        if first is not None:
            print(f"  caught by {describe(*first)}")
        pairs = itertools.product(mutant.formats, mutant.floats)
        proofs = [equivalent(mutant.id, format, float) for format, float in pairs]
        for entry in dict.fromkeys(entry for entry in proofs if entry is not None):
            there = ", ".join((*entry.formats, *entry.floats)) or "everywhere"
            print(f"  equivalent ({there}): {entry.proof}")
    return True
