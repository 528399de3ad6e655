"""Mutation testing of mxref: plant one fault, run the tests of its room, list what survives.

    python tools/mutate.py RESULTS [--count 600] [--seed 31] [--rooms ROOM ...] [--again]
    python tools/mutate.py RESULTS --recorded FILE

A mutant is one changed comparison, operator, number, condition, returned value or statement; those
of annotations, decorators and the texts of errors are left out. Every module of mxref belongs to a
room: its folder, "pytest_plugin", or "package" for the others beside it. The sample is stratified:
each room has the part of --count that it has of all mutants, rounded and at least 4, drawn from the
seed and its name.

The tests of a mutant are those of its room, tests/ROOM and the doctests of mxref/ROOM, in their
default selection: first those that execute its statement (the package `coverage` says which), the
fastest first; then the others of their files, those that start processes and those that use what
one of the first has left in a cache, all of which may depend on it as well. If the statement runs
while modules are imported, all tests of the room count. They run until one fails; those that would
exceed --budget seconds of CPU, as recorded, stay out. Outcomes: "killed"; "timeout", if a test took
far more CPU or waited far longer than without the fault; "survived"; "unfinished", if it survived
those within the budget and others are left.

Mutants are planted in a copy of the tree, and in the functions of a process that has collected the
tests of the room, which is forked for each. What changes while modules are imported gets a new
process. RESULTS has a line of JSON for each mutant, and beside it lie table.md, survivors.md and
what tests execute (MAP-ROOM.json; remove it when tests have changed). A second run goes on where
the first one stopped; --again tries those once more that were not killed, --recorded those that
another RESULTS names, wherever their functions are now.
"""

from __future__ import annotations

import argparse
import json
import os
import random
import shutil
import subprocess
import sys
import tempfile
from collections import Counter, defaultdict
from collections.abc import Iterable
from itertools import accumulate, chain
from pathlib import Path
from typing import Any

ROOT = Path(__file__).resolve().parents[1]
sys.path[:0] = [str(ROOT / "tools")]

from mutation.faults import Mutant, mutants  # noqa: E402
from mutation.planting import plan  # noqa: E402

#: The tests of modules without a folder, and of a room that others test.
ALONE = {
    "operands": [
        "tests/cases",
        "tests/operations",
        "tests/whole/test_own_operation.py",
        "mxref/operands",
    ],
    "pytest_plugin": ["tests/whole/test_pytest_plugin.py", "mxref/pytest_plugin.py"],
    "package": ["tests/whole/test_package.py", "tests/cli/test_commands.py"],
}
FAILED = ("survived", "unfinished")  # outcomes that need a test


def room(file: str) -> str:
    """The room of a file."""
    parts = Path(file).parts[1:]
    return parts[0] if len(parts) > 1 else "pytest_plugin" if "plugin" in file else "package"


def drawn(every: dict[str, list[Mutant]], count: int, seed: int) -> dict[str, list[Mutant]]:
    """The sample of each room, in proportion to its mutants, but four at least."""
    total = sum(map(len, every.values()))
    shares = {name: max(4, round(count * len(ones) / total)) for name, ones in every.items()}
    return {
        name: random.Random(f"{seed} {name}").sample(ones, min(shares[name], len(ones)))
        for name, ones in every.items()
    }


def found_again(every: Iterable[Mutant], recorded: Iterable[dict[str, Any]]) -> list[Mutant]:
    """The mutants that a recorded list names, each where its function is now."""
    places: dict[tuple[Any, ...], list[Mutant]] = defaultdict(list)
    for one in every:
        places[one.name[1:]].append(one)
    found = []
    for row in recorded:
        name = tuple(row[key] for key in Mutant._fields[:5])
        there = places.get(name[1:], [])
        same = [one for one in there if one.file == name[0]] or there
        if len(same) == 1:
            found += same
        else:
            print(f"{len(same)} places have {name}", file=sys.stderr)
    return found


class Map:
    """What the tests of a room execute and take."""

    def __init__(self, path: Path) -> None:
        found = json.loads(path.read_text())
        self.names = list(found["tests"])
        self.own = {name: sum(used) for name, used in found["tests"].items()}
        self.parents = [name for name, used in found["tests"].items() if used[1] > 0]
        self.failed = set(found["failed"])
        self.lines: dict[str, dict[str, list[int]]] = found["lines"]
        self.caches = [(set(filled), used) for filled, used in found["caches"]]

    def places(self, mutant: Mutant) -> set[int]:
        """Which tests execute the statement, -1 for import and collection."""
        lines = self.lines.get(mutant.file, {})
        return set(chain.from_iterable(lines.get(str(line), []) for line in mutant.lines))

    def imported(self, mutant: Mutant) -> bool:
        """Whether the statement runs while modules are imported and tests collected."""
        return -1 in self.places(mutant)

    def tests(self, mutant: Mutant, *, everything: bool) -> list[str]:
        """The tests that count, in the order in which they are to run."""
        of_file = set(chain.from_iterable(self.lines.get(mutant.file, {}).values()))
        of_line = self.places(mutant)
        parts: list[Iterable[str]]
        first, second = ({self.names[place] for place in of - {-1}} for of in (of_line, of_file))
        files = {name.partition("::")[0] for name in first}  # they may share fixtures
        beside = [name for name in self.names if name.partition("::")[0] in files]
        cached = chain.from_iterable(used for filled, used in self.caches if filled & first)
        parts = [first, beside, self.parents, list(cached)]
        parts += [second, self.names] if everything else []
        ordered = chain.from_iterable(sorted(part, key=self.own.__getitem__) for part in parts)
        return [name for name in dict.fromkeys(ordered) if name not in self.failed]


class Session:
    """A pytest process that has collected the tests of a room and tries mutants in forks."""

    def __init__(self, tree: Path, name: str) -> None:
        (inner, jobs), (answers, outer) = os.pipe(), os.pipe()
        pipes = inner, outer
        self.process = subprocess.Popen(
            command(name), **kept_apart(tree, MUTATE_PIPES=f"{inner},{outer}"), pass_fds=pipes
        )
        for pipe in pipes:
            os.close(pipe)
        self.jobs, self.answers = os.fdopen(jobs, "w"), os.fdopen(answers)
        self.ready = self.answers.readline() == "ready\n"

    def answer(self, job: dict[str, Any]) -> Any:
        """The answer to a job."""
        print(json.dumps(job), file=self.jobs, flush=True)
        return json.loads(self.answers.readline())

    def close(self) -> None:
        """End the process."""
        self.jobs.close()
        self.answers.close()
        self.process.wait()


def command(name: str) -> list[str]:
    """What runs the tests of a room."""
    options = ["-q", "--tb=no", "-p", "no:cacheprovider", "-p", "mutation.server"]
    tests = ALONE.get(name, [f"tests/{name}", f"mxref/{name}"])
    return [sys.executable, "-m", "pytest", *options, *tests]


def kept_apart(tree: Path, **env: str) -> dict[str, Any]:
    """How a process runs in the tree: it imports from there, what it prints goes nowhere."""
    env = os.environ | env | {"PYTHONPATH": f"{tree}{os.pathsep}{tree / 'tools'}"}
    nowhere = subprocess.DEVNULL
    return {"cwd": tree, "env": env, "stdin": nowhere, "stdout": nowhere, "stderr": nowhere}


class Room:
    """Tries the mutants of a room."""

    def __init__(self, tree: Path, name: str, path: Path, budget: float) -> None:
        self.tree, self.name, self.budget = tree, name, budget
        if not path.exists():
            subprocess.run(command(name), **kept_apart(tree, MUTATE_MAP=str(path)))
        self.map = Map(path)
        self.session = Session(tree, name)

    def ask(self, session: Session, mutant: Mutant, *, everything: bool) -> dict[str, Any]:
        """Put a mutant to the tests within the budget."""
        names = self.map.tests(mutant, everything=everything)
        limits = [self.map.own[name] for name in names]
        ends = zip(names, limits, accumulate(limits), strict=True)
        tests = [(name, limit) for name, limit, end in ends if end - limit < self.budget]
        job = {"file": mutant.file, "tests": tests, "longest": max(limits, default=0.0)}
        if not everything:
            job |= {"old": (ROOT / mutant.file).read_text(), "new": mutant.text(ROOT)}
        answer: dict[str, Any] = session.answer(job)
        if answer["outcome"] == "survived" and len(tests) < len(names):
            answer["outcome"] = "unfinished"
        executing = len(self.map.places(mutant) - {-1})
        shown = [name for name, _ in tests[:3]]
        return answer | {"of": len(names), "executing": executing, "tests": shown}

    def tried(self, mutant: Mutant, serial: int) -> dict[str, Any]:
        """What becomes of a mutant."""
        path, answer = self.tree / mutant.file, {}
        path.write_text(mutant.text(ROOT))
        os.utime(path, (serial, serial))  # bytecode of another mutant is not of this file
        try:
            if plan((ROOT / mutant.file).read_text(), mutant.text(ROOT)) is not None:
                answer = self.ask(self.session, mutant, everything=False)
                if answer["outcome"] not in FAILED or not self.map.imported(mutant):
                    return answer
            session = Session(self.tree, self.name)
            try:
                if not session.ready:
                    return {"outcome": "killed", "test": "(collection)", "ran": 0, "cpu": 0.0}
                return self.ask(session, mutant, everything=True)
            finally:
                session.close()
        finally:
            shutil.copy2(ROOT / mutant.file, path)


def pages(results: Path) -> None:
    """Write table.md and survivors.md beside the results."""
    rows = {tuple(row[key] for key in Mutant._fields[:5]): row for row in read(results)}
    counts: dict[str, Counter[str]] = defaultdict(Counter)
    for row in rows.values():
        for name in (row["room"], "all"):
            counts[name].update([row["outcome"], "mutants"])
    columns = ("mutants", "killed", "timeout", "survived", "unfinished")
    lines = [f"| room | {' | '.join(columns)} |", "|---" * 6 + "|"]
    for name, count in sorted(counts.items(), key=lambda pair: (pair[0] == "all", pair[0])):
        lines.append(f"| {name} | {' | '.join(str(count[column]) for column in columns)} |")
    results.with_name("table.md").write_text("\n".join(lines) + "\n")
    lines = []
    for row in sorted(rows.values(), key=lambda row: (row["room"], row["file"], row["line"])):
        if row["outcome"] in FAILED:
            fault = f"`{row['old']}` => `{row['new']}` (place {row['nth']} of these there)"
            ran = f"{row['ran']} of {row['of']} tests ran, {row['executing']} execute the statement"
            ran += f"; first {', '.join(row['tests']) or '-'}"
            where = f"{row['file']}:{row['line']} {row['function'] or '(module)'}"
            lines.append(f"- {row['room']} | {row['outcome']} | {where} | {fault} | {ran}")
    results.with_name("survivors.md").write_text("\n".join(lines) + "\n")


def read(results: Path) -> list[dict[str, Any]]:
    """The rows of a file of results."""
    return [json.loads(line) for line in results.read_text().splitlines()]


def main() -> None:
    """Make the sample, try each mutant of it, write the pages."""
    parser = argparse.ArgumentParser(description=__doc__.partition("\n")[0])
    parser.add_argument("results", type=Path)
    parser.add_argument("--count", type=int, default=600)
    parser.add_argument("--seed", type=int, default=31)
    parser.add_argument(
        "--budget", type=float, default=60, help="seconds of CPU of a mutant's tests"
    )
    parser.add_argument("--rooms", nargs="+", help="only these, in this order")
    parser.add_argument("--again", action="store_true", help="those that survived")
    parser.add_argument("--recorded", type=Path, help="those that this file of results names")
    given = parser.parse_args()
    every: dict[str, list[Mutant]] = defaultdict(list)
    for path in sorted((ROOT / "mxref").rglob("*.py")):
        file = str(path.relative_to(ROOT))
        every[room(file)] += mutants(ROOT, file)
    given.results.touch()
    rows = {tuple(row[key] for key in Mutant._fields[:5]): row for row in read(given.results)}
    sample = drawn(every, given.count, given.seed)
    if given.again or given.recorded:
        asked = rows.values() if given.again else read(given.recorded)
        asked = [row for row in asked if row["outcome"] in FAILED or not given.again]
        sample = defaultdict(list)
        for mutant in found_again(chain.from_iterable(every.values()), asked):
            sample[room(mutant.file)].append(mutant)
    with tempfile.TemporaryDirectory() as folder, given.results.open("a") as out:
        tree = Path(folder) / "tree"
        out_of = shutil.ignore_patterns(".git", ".venv*", "__pycache__", ".*_cache")
        shutil.copytree(ROOT, tree, ignore=out_of)
        serial = 1
        for name in given.rooms or sorted(sample, key=lambda name: len(every[name])):
            ones = [one for one in sample[name] if given.again or one.name not in rows]
            if not ones:
                continue
            place = Room(tree, name, given.results.with_name(f"MAP-{name}.json"), given.budget)
            for one in ones:
                serial += 1
                row = {"room": name, **dict(zip(Mutant._fields[:6], one[:6], strict=True))}
                print(json.dumps(row | place.tried(one, serial)), file=out, flush=True)
                pages(given.results)
            place.session.close()
    print(given.results.with_name("table.md").read_text())


if __name__ == "__main__":
    main()
