"""Mutation testing of mxref: plant one fault, run the tests of its room, list what survives.

    python tools/mutate.py RESULTS [--count 400] [--seed 1] [--again]

A mutant is one changed comparison, operator, number, condition, returned value or statement; those
of annotations, decorators and the texts of errors are left out. Each is planted in a copy of the
tree and put to the tests and doctests of its own room until one fails: first the tests that execute
its line (the package `coverage` must be installed for that), the fastest first, then all others.

RESULTS gets a line of JSON for each mutant. A second run goes on where the first one was stopped;
with --again it tries those that survived once more, named as they are by file, line and column.

This module is also the pytest plugin that records which test executes a line and sorts the tests.
"""

from __future__ import annotations

import argparse
import ast
import importlib
import json
import os
import random
import shutil
import subprocess
import sys
import tempfile
from collections import defaultdict
from collections.abc import Iterator
from pathlib import Path
from typing import Any

ROOT = Path(__file__).resolve().parents[1]
ROOMS = ("bits", "exact", "formats", "policy", "numbers", "blocks", "packing", "cases")
GOLDEN = ("store", "stream", "entries", "schema", "regen")
PARTS = [f"mxref/{room}/*.py" for room in ROOMS] + [f"mxref/golden/{name}.py" for name in GOLDEN]
#: Seconds that a mutant has beside twice what the tests of its room take.
LIMIT = 60

#: What each operator becomes, by the names of the module `ast`.
TURNED = """
Lt:LtE Lt:GtE LtE:Lt LtE:Gt Gt:GtE Gt:LtE GtE:Gt GtE:Lt Eq:NotEq NotEq:Eq Is:IsNot IsNot:Is
In:NotIn NotIn:In And:Or Or:And Add:Sub Sub:Add Mult:Add Div:Mult FloorDiv:Mult Mod:FloorDiv
Pow:Mult MatMult:Add LShift:RShift RShift:LShift BitAnd:BitOr BitOr:BitAnd BitXor:BitOr
"""
#: Parts of the syntax tree that keep what they say; the argument `strict` of `zip` does, too.
KEPT = ("annotation", "returns", "decorator_list", "bases", "exc")


def turned(operator: ast.AST) -> Iterator[Any]:
    """What may stand instead of an operator."""
    pairs = (pair.split(":") for pair in TURNED.split())
    yield from (getattr(ast, new)() for old, new in pairs if old == type(operator).__name__)


def replaced(node: ast.AST) -> Iterator[ast.AST]:
    """What may stand instead of a node."""
    match node:
        case ast.Compare(left, [op], right):
            yield from (ast.Compare(left, [other], right) for other in turned(op))
        case ast.BinOp(left, op, operand):
            yield from (ast.BinOp(left, other, operand) for other in turned(op))
        case ast.AugAssign(target, op, value):
            yield from (ast.AugAssign(target, other, value) for other in turned(op))
            yield ast.Pass()
        case ast.BoolOp(op, values):
            yield from (ast.BoolOp(other, values) for other in turned(op))
            yield from values
        case ast.UnaryOp(_, operand):
            yield operand
        case ast.Constant(bool(value)):
            yield ast.Constant(not value)
        case ast.Constant(int(value) | float(value)):
            yield from (ast.Constant(value + 1), ast.Constant(value - 1))
        case ast.Return(value) if value is not None and ast.unparse(value) != "None":
            yield ast.Return(ast.Constant(None))
        case ast.Raise() | ast.Expr(ast.Call()) | ast.Continue() | ast.Break():
            yield ast.Pass()
        case ast.Assign([ast.Attribute() | ast.Subscript()]):
            yield ast.Pass()


def faults(node: ast.AST) -> Iterator[tuple[ast.AST, ast.AST]]:
    """Nodes below a node, each with what is to stand instead of it."""
    for name, field in ast.iter_fields(node):
        if name in KEPT or (isinstance(node, ast.keyword) and node.arg == "strict"):
            continue
        for child in field if isinstance(field, list) else [field]:
            if not hasattr(child, "_fields") or isinstance(child, ast.JoinedStr):
                continue
            yield from ((child, other) for other in replaced(child))
            if name in ("test", "ifs"):
                if not isinstance(child, (ast.Compare, ast.UnaryOp)):
                    yield child, ast.UnaryOp(ast.Not(), child)
                yield from ((child, ast.Constant(value)) for value in (True, False))
            yield from faults(child)


def mutants(path: str) -> Iterator[tuple[str, str]]:
    """Every mutant of a file, as its name and the file's text with the fault."""
    text = (ROOT / path).read_bytes()
    lines = text.splitlines(keepends=True)
    for node, other in faults(ast.parse(text)):
        at: Any = node
        start = sum(map(len, lines[: at.lineno - 1])) + at.col_offset
        end = sum(map(len, lines[: at.end_lineno - 1])) + at.end_col_offset
        new = ast.unparse(ast.fix_missing_locations(other))
        new = f"({new})" if isinstance(other, ast.expr) else new
        name = f"{path}:{at.lineno}:{at.col_offset}: {text[start:end].decode()} => {new}"
        yield name, (text[:start] + new.encode() + text[end:]).decode()


def tested(tree: Path, room: str, limit: float, **env: str) -> str:
    """How the tests of a room end in a tree: "survived", "timeout" or the first that fails."""
    paths = f"{tree}{os.pathsep}{tree / 'tools'}"
    options = ["-q", "-x", "--tb=no", "-p", "no:cacheprovider", "-p", "mutate"]
    try:
        done = subprocess.run(
            [sys.executable, "-m", "pytest", *options, f"tests/{room}", f"mxref/{room}"],
            cwd=tree,
            env=os.environ | {"PYTHONPATH": paths} | env,
            capture_output=True,
            text=True,
            timeout=limit,
        )
    except subprocess.TimeoutExpired:
        return "timeout"
    failed = [line for line in done.stdout.splitlines() if line.startswith(("FAILED", "ERROR"))]
    return next(iter(failed), f"exit {done.returncode}") if done.returncode else "survived"


def main() -> None:
    """Make the sample, test each mutant of it, print the score."""
    parser = argparse.ArgumentParser(description=__doc__.partition("\n")[0])
    parser.add_argument("results", type=Path)
    parser.add_argument("--count", type=int, default=400)
    parser.add_argument("--seed", type=int, default=1)
    parser.add_argument("--again", action="store_true")
    given = parser.parse_args()
    files = sorted(str(path.relative_to(ROOT)) for part in PARTS for path in ROOT.glob(part))
    every = [one for file in files for one in mutants(file)]
    sample = random.Random(given.seed).sample(every, given.count)
    given.results.touch()
    done = dict(map(json.loads, given.results.read_text().splitlines()))
    if given.again:
        sample = [(name, text) for name, text in every if done.get(name) == "survived"]
    maps = given.results.with_suffix(".map")
    rooms = json.loads(maps.read_text()) if maps.exists() else {}
    with tempfile.TemporaryDirectory() as folder, given.results.open("a") as file:
        tree, first, found = Path(folder) / "tree", Path(folder) / "first", Path(folder) / "map"
        shutil.copytree(ROOT, tree, ignore=shutil.ignore_patterns(".git", ".venv", "__pycache__"))
        for name, text in sample:
            if name in done and not given.again:
                continue
            path, line, _ = name.split(":", 2)
            room = path.split("/")[1]
            if room not in rooms:
                if (end := tested(tree, room, 20 * LIMIT, MUTATE_MAP=str(found))) != "survived":
                    raise SystemExit(f"the tests of {room} must pass, got {end}")
                rooms[room] = json.loads(found.read_text())
                maps.write_text(json.dumps(rooms))
            first.write_text("\n".join(rooms[room].get(f"{path}:{line}", [])))
            (tree / path).write_text(text)
            limit = LIMIT + 2 * float(rooms[room]["seconds"][0])
            done[name] = tested(tree, room, limit, MUTATE_FIRST=str(first))
            shutil.copyfile(ROOT / path, tree / path)
            print(json.dumps([name, done[name]]), file=file, flush=True)
    ends = [done[name] for name, _ in sample]
    survived, late = ends.count("survived"), ends.count("timeout")
    print(f"{len(every)} mutants, {len(ends)} tested: {survived} survived, {late} ran out of time")


class Recorder:
    """The plugin that writes by file and line which tests execute it.

    The fastest come first, but those of a module stay together: they share its fixtures.
    """

    def __init__(self) -> None:
        module = importlib.import_module("coverage")
        self.coverage = module.Coverage(data_file=None, include=[f"{Path.cwd()}/mxref/*"])
        self.coverage.start()
        self.seconds: dict[str, float] = defaultdict(float)

    def pytest_runtest_logstart(self, nodeid: str) -> None:
        """From here on this test executes the lines."""
        self.coverage.switch_context(nodeid)

    def pytest_runtest_logreport(self, report: Any) -> None:
        """Add the seconds of a part of a test, to its module, too."""
        for name in (report.nodeid, report.nodeid.partition("::")[0]):
            self.seconds[name] += report.duration

    def pytest_sessionfinish(self) -> None:
        """Write the map."""
        self.coverage.stop()
        data, found = self.coverage.get_data(), {"seconds": [str(sum(self.seconds.values()) / 2)]}
        for file in data.measured_files():
            for line, names in data.contexts_by_lineno(file).items():
                found[f"{Path(file).relative_to(Path.cwd())}:{line}"] = sorted(
                    filter(None, names),
                    key=lambda name: (self.seconds[name.partition("::")[0]], self.seconds[name]),
                )
        Path(os.environ["MUTATE_MAP"]).write_text(json.dumps(found))


def pytest_configure(config: Any) -> None:
    """Record, if that is asked for."""
    if "MUTATE_MAP" in os.environ:
        config.pluginmanager.register(Recorder())


def pytest_collection_modifyitems(items: list[Any]) -> None:
    """Put the tests first that are named, in this order."""
    if "MUTATE_FIRST" in os.environ:
        names = Path(os.environ["MUTATE_FIRST"]).read_text().splitlines()
        place = {name: index for index, name in enumerate(names)}
        items.sort(key=lambda item: place.get(item.nodeid, len(place)))


if __name__ == "__main__":
    main()
