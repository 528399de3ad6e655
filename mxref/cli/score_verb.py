"""``mxref score``: how many wrong implementations the golden vectors catch."""

from __future__ import annotations

import argparse
import json
from collections import Counter
from pathlib import Path
from typing import TYPE_CHECKING, Any

from mxref.cli.screen import Verbs, new_parser, print_table, vectors_default, vectors_folder
from mxref.support.text import unknown_name

if TYPE_CHECKING:
    from collections.abc import Iterable, Sequence

    from mxref.conformance.score import Cell
    from mxref.golden import VectorFile
    from mxref.mutants import Mutant


def add_parser(verbs: Verbs) -> None:
    """Add the verb."""
    parser = new_parser(
        verbs,
        "score",
        _run,
        "run every mutant, a known wrong implementation, against the golden vectors",
        "mxref score --class A --without M7",
    )
    parser.add_argument(
        "--set",
        default="level1",
        metavar="NAME",
        help="only these vectors: an operation or a file such as encode/e4m3.f32 (default: level1, "
        "all of them)",
    )
    parser.add_argument(
        "--class", dest="group", metavar="CLASS", help="only this class: A, or A17, or one mutant"
    )
    parser.add_argument(
        "--without", action="append", metavar="MODEL", help="leave out a coverage model's cases"
    )
    report = parser.add_mutually_exclusive_group()
    report.add_argument(
        "--models", action="store_true", help="what only the cases of one coverage model catch"
    )
    report.add_argument(
        "--compare", action="store_true", help="what ordinary test data and comparisons catch"
    )
    parser.add_argument("--json", action="store_true", help="print the report as JSON")
    parser.add_argument(
        "--vectors", type=Path, metavar="DIR", help=f"folder (default: {vectors_default()})"
    )


def _run(options: argparse.Namespace) -> int:
    from mxref import golden
    from mxref.cases.words import MODELS
    from mxref.conformance.score import score

    mutants = _chosen_mutants(options.group)
    files = _chosen_files(golden.read_vectors(options.vectors or vectors_folder()), options.set)
    without = options.without or []
    for model in without:
        if model not in MODELS:
            raise ValueError(unknown_name("--without", model, MODELS))
    if options.compare:
        return _compare(files, mutants, as_json=options.json)
    cells = list(score(files, mutants, without))
    if not cells and not any(mutant.waiting for mutant in mutants):
        raise ValueError(f"no mutant of --class {options.group} has a file in --set {options.set}")
    if options.models:
        _print_models(files, cells, as_json=options.json)
    elif options.json:
        print(json.dumps(_as_json(cells, mutants), indent=1))
    else:
        _print(cells, mutants)
    return 1 if not cells or any(cell.fails for cell in cells) else 0


def _chosen_mutants(name: str | None) -> list[Mutant]:
    from mxref.mutants import MUTANTS

    found = [m for m in MUTANTS if name in (None, m.group[0], m.group, m.id)]
    if not found:
        groups = dict.fromkeys(mutant.group for mutant in MUTANTS)
        raise ValueError(unknown_name("--class", name, {"A": 0, **groups}))
    return found


def _chosen_files(files: list[VectorFile], name: str) -> list[VectorFile]:
    chosen = [file for file in files if name in ("level1", file.op, file.stem)]
    if not chosen:
        known = dict.fromkeys(["level1", *(file.op for file in files)])
        raise ValueError(unknown_name("--set", name, {**known, "encode/e4m3.f32": None}))
    return chosen


def _killed(cells: Iterable[Cell]) -> tuple[int, int]:
    """How many are killed, of how many that can be."""
    verdicts = [cell.verdict for cell in cells if cell.applicable]
    return verdicts.count("killed"), len(verdicts)


def _print(cells: Sequence[Cell], mutants: Sequence[Mutant]) -> None:
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
    killed, applicable = _killed(cells)
    word = "FAIL" if not cells or any(cell.fails for cell in cells) else "PASS"
    known = len({cell.mutant.id for cell in cells})
    print(
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
    table = [
        (
            model,
            str(cases),
            str(kills),
            str(alone),
            " ".join(examples[:8]) or "none",
        )
        for model, cases, kills, alone, examples in rows
    ]
    print_table(("model", "cases", "kills", "alone", "mutants that survive without it"), table)


def _compare(files: Sequence[VectorFile], mutants: Sequence[Mutant], *, as_json: bool) -> int:
    from mxref.conformance.ordinary import compare

    rows = compare(files, mutants)
    if as_json:
        print(json.dumps([row.as_json() for row in rows], indent=1))
        return 0
    table = [
        (row.data, row.comparison, str(row.inputs), f"{row.killed}/{row.total}", f"{row.share:.0%}")
        for row in rows
    ]
    print_table(("inputs", "compared by", "per format", "killed", ""), table)
    return 0


def _as_json(cells: Sequence[Cell], mutants: Sequence[Mutant]) -> dict[str, Any]:
    killed, applicable = _killed(cells)
    return {
        "killed": killed,
        "applicable": applicable,
        "cells": [
            {
                "mutant": cell.mutant.id,
                "name": cell.mutant.name,
                "class": cell.mutant.group,
                "file": cell.file,
                "verdict": cell.verdict,
                "killers": dict(cell.killers),
            }
            for cell in cells
        ],
        "waiting": {mutant.id: mutant.waiting for mutant in mutants if mutant.waiting},
    }
