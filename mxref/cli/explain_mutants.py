"""``mxref explain`` with the name of a mutant."""

from __future__ import annotations

import argparse
import itertools
from collections.abc import Iterator
from pathlib import Path
from typing import TYPE_CHECKING, Any

from mxref.cli.explanation import LINES, Explanation, few, print_wrapped, wrapped
from mxref.cli.screen import print_text, vectors_folder

if TYPE_CHECKING:
    from mxref.mutants import Mutant

#: The names of mutants that are also those of members of choices; no other name is something else.
OF_MEMBERS = (
    *("ceil", "reciprocal", "reciprocal_flushed", "ties_to_zero"),
    *("to_odd", "toward_negative", "toward_positive"),
)


def explain_mutants(options: argparse.Namespace) -> list[Explanation]:
    """The mutant with a name, or the mutants of a class."""
    from mxref.mutants import MUTANTS

    name: str = options.name
    # A class without the mutants of `encode` inside blocks: a line about each names those.
    found = [
        mutant
        for mutant in MUTANTS
        if name in (mutant.id, mutant.name) or (name == mutant.group and not mutant.lifted_from)
    ]
    if not found:
        return []
    first = found[0]
    about = first.text if len(found) == 1 else f"{len(found)} wrong implementations ({first.op})"
    data = {"kind": "mutant", "name": first.id if len(found) == 1 else name, "about": about}
    folder: Path = options.vectors or vectors_folder()
    return [Explanation(data, _show, lambda: {"mutants": _all(found, folder)})]


def _all(found: list[Mutant], folder: Path) -> list[dict[str, Any]]:
    """The facts about mutants, each with the first case that catches it, as JSON values."""
    from mxref import golden
    from mxref.conformance.compare.failure_text import describe
    from mxref.conformance.score import covers, first_kill
    from mxref.mutants import MUTANTS, equivalent

    ops = {mutant.op for mutant in found}
    files = golden.read_vectors(folder, lambda stem: stem.partition("/")[0] in ops)
    result = []
    for mutant in found:
        kills = ((file, first_kill(mutant, file)) for file in files if covers(mutant, file))
        first = next(((file, failure) for file, failure in kills if failure is not None), None)
        pairs = itertools.product(mutant.formats, mutant.floats)
        proofs = [equivalent(mutant.id, format, float) for format, float in pairs]
        result.append(
            {
                "id": mutant.id,
                "name": mutant.name,
                "op": mutant.op,
                "about": mutant.text,
                "formats": list(mutant.formats),
                "floats": list(mutant.floats),
                "policy": mutant.policy,
                "seen": list(mutant.links),
                "inside_blocks": [m.id for m in MUTANTS if m.lifted_from == mutant.id],
                "waiting": mutant.waiting,
                "caught_by": None if first is None else describe(*first),
                "equivalent": [
                    {"where": [*entry.formats, *entry.floats], "proof": entry.proof}
                    for entry in dict.fromkeys(entry for entry in proofs if entry is not None)
                ],
            }
        )
    return result


def _show(data: dict[str, Any]) -> None:
    left = LINES
    for number, one in enumerate(data["mutants"]):
        lines = list(_lines_about(one))
        left -= len(lines)
        if left < 2 and number:
            rest = [each["id"] for each in data["mutants"][number:]]
            print_wrapped(f"and {few(rest, 20)}: `mxref explain {rest[0]}`")
            return
        print_text(*lines)


def _lines_about(one: dict[str, Any]) -> Iterator[str]:
    """The lines about a mutant, wrapped to the width of the text."""
    formats, floats = (", ".join(one[key]) for key in ("formats", "floats"))
    more = len(one["seen"]) - 4
    texts = [
        f"{one['id']} {one['name']} ({one['op']}): {one['about']}",
        f"  formats: {formats or '-'}; from or to {floats}",
        *([] if one["policy"] == "ocp" else [f"  means to follow: {one['policy']}"]),
        *(f"  seen: {link}" for link in one["seen"][:4]),
        *([f"  seen in {more} more: `mxref explain {one['id']} --json`"] * (more > 0)),
        *(
            [f"  the same inside blocks: {', '.join(one['inside_blocks'])}"]
            * bool(one["inside_blocks"])
        ),
        *([f"  waiting: {one['waiting']}"] * bool(one["waiting"])),
        *([f"  caught by {one['caught_by']}"] * (one["caught_by"] is not None)),
        *(
            f"  equivalent ({', '.join(entry['where']) or 'everywhere'}): {entry['proof']}"
            for entry in one["equivalent"]
        ),
    ]
    for text in texts:
        yield from wrapped(text)
