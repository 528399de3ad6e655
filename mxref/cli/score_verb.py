"""``mxref score``: how many wrong implementations the golden vectors catch."""

from __future__ import annotations

import argparse
import json
from collections import Counter
from pathlib import Path
from typing import TYPE_CHECKING, Any

from mxref.cli.screen import (
    Verbs,
    add_json_argument,
    add_vectors_argument,
    new_parser,
    print_table,
    print_text,
    vectors_folder,
)
from mxref.support.text import refuse_unknown, unknown_name

if TYPE_CHECKING:
    from collections.abc import Iterable, Sequence

    from mxref.conformance.score import Cell
    from mxref.golden import VectorFile
    from mxref.mutants import Mutant


_NOTES = """\
columns:
  mutants     number of them
  killed      of all pairs of a mutant and a vector file, those in which a case catches it
  equivalent  pairs in which no input can, with a proof
  waiting     mutants that no file can catch yet
with --models:
  cases       of the coverage model
  kills       pairs in which they catch the mutant
  alone       pairs in which no others do"""


def add_parser(verbs: Verbs) -> None:
    """Add the verb."""
    about = "run every mutant, a known wrong implementation, against the golden vectors"
    parser = new_parser(
        verbs,
        "score",
        _run,
        about,
        "mxref score --class A --without M7",
        formats="vectors",
        exits=("every mutant is killed or proved equivalent", "a mutant survives"),
        notes=_NOTES,
    )
    parser.add_argument(
        "--set",
        default="level1",
        metavar="NAME",
        help="an operation, or a file such as encode/e4m3.f32 (default: level1, all vectors)",
    )
    about = "only these mutants: A, a class such as A17, or one such as A17a (default: all)"
    parser.add_argument("--class", dest="group", metavar="CLASS", help=about)
    parser.add_argument(
        "--without",
        action="append",
        metavar="MODEL",
        help="leave out the cases of a model such as M7",
    )
    parser.add_argument(
        "--models",
        action="store_true",
        help="instead: for each coverage model the mutants that only its cases catch",
    )
    about = "also draw the pairs by class: a .svg or .png file (needs mxref[report])"
    parser.add_argument("--picture", type=Path, metavar="FILE", help=about)
    add_json_argument(parser)
    add_vectors_argument(parser)


def _run(options: argparse.Namespace) -> int:
    from mxref import golden
    from mxref.cases.words import models
    from mxref.conformance.score import score

    if options.picture is not None:
        from mxref.reports.extra import refuse_missing

        if options.picture.suffix not in (".svg", ".png"):
            raise ValueError(f"--picture must end in .svg or .png, got {options.picture}")
        refuse_missing("matplotlib")
    mutants = chosen_mutants(options.group)
    files = chosen_files(golden.read_vectors(options.vectors or vectors_folder()), options.set)
    without = options.without or []
    refuse_unknown("--without", without, models())
    cells = list(score(files, mutants, without))
    if not cells and not any(mutant.waiting for mutant in mutants):
        raise ValueError(f"no mutant of --class {options.group} has a file in --set {options.set}")
    if options.picture is not None:
        from mxref.reports.summary_pictures import write_kills_picture

        write_kills_picture(options.picture, cells)
    if options.models:
        _print_models(files, cells, as_json=options.json)
    elif options.json:
        print(json.dumps(_as_json(cells, mutants), indent=1))
    else:
        _print(cells, mutants)
    return 1 if not cells or any(cell.fails for cell in cells) else 0


def chosen_mutants(name: str | None) -> list[Mutant]:
    """The mutants of a class such as A or A17, or one mutant; all of them for None."""
    from mxref.mutants import MUTANTS

    found = [m for m in MUTANTS if name in (None, m.group[0], m.group, m.id)]
    if not found:
        groups = dict.fromkeys(mutant.group for mutant in MUTANTS)
        raise ValueError(unknown_name("--class", name, {"A": 0, **groups}))
    return found


def chosen_files(files: list[VectorFile], name: str) -> list[VectorFile]:
    """The files of an operation, one file, or all of them for `level1`."""
    chosen = [file for file in files if name in ("level1", file.op, file.stem)]
    if not chosen:
        known = dict.fromkeys(["level1", *(file.op for file in files)])
        raise ValueError(unknown_name("--set", name, {**known, "encode/e4m3.f32": None}))
    return chosen


def _killed(cells: Iterable[Cell]) -> tuple[int, int]:
    """The numbers of killed cells and of applicable ones."""
    verdicts = [cell.verdict for cell in cells if cell.applicable]
    return verdicts.count("killed"), len(verdicts)


def _print(cells: Sequence[Cell], mutants: Sequence[Mutant]) -> None:
    from mxref.mutants import origins

    groups: dict[str, list[Cell]] = {}
    for cell in cells:
        groups.setdefault(cell.mutant.group, []).append(cell)
    names: dict[str, str] = {}
    for mutant in mutants:
        if mutant.waiting or mutant.group in groups:
            names.setdefault(mutant.group, mutant.name)
    waiting = [mutant for mutant in mutants if mutant.waiting]
    still = Counter(mutant.group for mutant in waiting)
    rows = []
    for group in names:
        own = groups.get(group, [])
        killed, applicable = _killed(own)
        mark = "FAIL" if any(cell.fails for cell in own) else "ok" if own else "waiting"
        count = str(len({cell.mutant.id for cell in own}))
        rest = (str(len(own) - applicable or "-"), str(still[group] or "-"))
        rows.append((mark, group, names[group], count, f"{killed}/{applicable}", *rest))
    header = ("", "class", "first mutant", "mutants", "killed", "equivalent", "waiting")
    print_table(header, rows)
    print()
    ops = dict.fromkeys(cell.mutant.op for cell in cells)
    table = []
    for op in ops:
        own = [cell for cell in cells if cell.mutant.op == op]
        killed, applicable = _killed(own)
        count = str(len({cell.mutant.id for cell in own}))
        table.append((op, count, f"{killed}/{applicable}", str(len(own) - applicable)))
    print_table(("set", "mutants", "killed", "equivalent"), table)
    for cell in cells:
        if cell.fails:
            print(f"{cell.verdict}: {cell.mutant.id} {cell.mutant.name}, {cell.file}")
    tried = origins({cell.mutant.id: cell.mutant for cell in cells}.values())
    print_text(
        f"{tried.own} bugs, {tried.seen} of which say where they were seen, and {tried.lifted} "
        "wrong encoders again inside blocks, tensors and NVFP4"
    )
    killed, applicable = _killed(cells)
    word = "FAIL" if not cells or any(cell.fails for cell in cells) else "PASS"
    known = len({cell.mutant.id for cell in cells})
    print_text(
        f"{word} {known} mutants, {killed} of {applicable} killed (one for each format and float "
        f"type), {len(cells) - applicable} equivalent; {len(waiting)} mutants waiting"
    )


def _print_models(files: Sequence[VectorFile], cells: Sequence[Cell], *, as_json: bool) -> None:
    from mxref.conformance.score import sole_killers

    sole = sole_killers(cells)
    counts = Counter(case.model for file in files for case in file.cases)
    rows = []
    for model in sorted(counts, key=lambda model: int(model[1:])):
        only = sole.get(model, [])
        kills = sum(model in cell.killers for cell in cells)
        examples = list(dict.fromkeys(cell.mutant.id for cell in only))
        rows.append((model, counts[model], kills, len(only), examples))
    if as_json:
        keys = ("model", "cases", "kills", "alone", "mutants")
        print(json.dumps([dict(zip(keys, row, strict=True)) for row in rows], indent=1))
        return
    table = [(*map(str, row[:4]), " ".join(row[4][:8]) or "none") for row in rows]
    print_table(("model", "cases", "kills", "alone", "mutants that survive without it"), table)


def _as_json(cells: Sequence[Cell], mutants: Sequence[Mutant]) -> dict[str, Any]:
    killed, applicable = _killed(cells)
    table = [
        {
            "mutant": cell.mutant.id,
            "name": cell.mutant.name,
            "class": cell.mutant.group,
            "file": cell.file,
            "verdict": cell.verdict,
            "killers": dict(cell.killers),
        }
        for cell in cells
    ]
    waiting = {mutant.id: mutant.waiting for mutant in mutants if mutant.waiting}
    return {"killed": killed, "applicable": applicable, "cells": table, "waiting": waiting}
