"""Mutation testing of mxref: plant one fault, run the tests of its room, list what survives.

    python tools/mutate.py RESULTS [--count 400] [--seed 1] [--again]

A mutant is one changed comparison, operator, number, condition, returned value or statement; those
of annotations, decorators and the texts of errors are left out. Each is planted in a copy of the
tree and put to the tests and doctests of its own room until one fails: first the tests that execute
its line (for which the package `coverage` must be installed), the fastest first, then all others.
RESULTS gets a line of JSON for each mutant. A second run goes on where the first one was stopped,
and with --again tries those that survived once more. This module is also the pytest plugin for it.
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
LIMIT = 60  # seconds that a mutant has beside twice what the tests of its room take
#: What each operator becomes, by the names of the module `ast`.
TURNED = """
Lt:LtE Lt:GtE LtE:Lt LtE:Gt Gt:GtE Gt:LtE GtE:Gt GtE:Lt Eq:NotEq NotEq:Eq Is:IsNot IsNot:Is
In:NotIn NotIn:In And:Or Or:And Add:Sub Sub:Add Mult:Add Div:Mult FloorDiv:Mult Mod:FloorDiv
Pow:Mult MatMult:Add LShift:RShift RShift:LShift BitAnd:BitOr BitOr:BitAnd BitXor:BitOr
"""
#: Parts of the syntax tree that stay as they are; so does the argument `strict` of `zip`.
KEPT = ("annotation", "returns", "decorator_list", "bases", "exc")


def turned(operator: ast.AST) -> list[Any]:
    """What may stand instead of an operator."""
    pairs = (pair.split(":") for pair in TURNED.split())
    return [getattr(ast, new)() for old, new in pairs if old == type(operator).__name__]


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
    options = ["-m", "pytest", "-q", "-x", "--tb=no", "-p", "no:cacheprovider", "-p", "mutate"]
    command = [sys.executable, *options, f"tests/{room}", f"mxref/{room}"]
    env = os.environ | env | {"PYTHONPATH": f"{tree}{os.pathsep}{tree / 'tools'}"}
    pipes: Any = {"cwd": tree, "env": env, "capture_output": True, "text": True}
    try:
        done = subprocess.run(command, timeout=limit, **pipes)
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
    rooms: dict[str, Any] = {}
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
            first.write_text("\n".join(rooms[room].get(f"{path}:{line}", [])))
            (tree / path).write_text(text)
            limit = LIMIT + 2 * float(rooms[room]["seconds"])
            done[name] = tested(tree, room, limit, MUTATE_FIRST=str(first))
            shutil.copyfile(ROOT / path, tree / path)
            print(json.dumps([name, done[name]]), file=file, flush=True)
    survived, late = ([done[name] for name, _ in sample].count(e) for e in ("survived", "timeout"))
    print(f"{len(sample)} of {len(every)} mutants: {survived} survived, {late} ran out of time")


class Recorder:
    """The plugin that writes which tests execute a line, by file and line, the fastest first."""

    def __init__(self) -> None:
        module = importlib.import_module("coverage")
        self.coverage = module.Coverage(data_file=None, include=[f"{Path.cwd()}/mxref/*"])
        self.coverage.start()
        self.seconds: dict[str, float] = defaultdict(float)

    def pytest_runtest_logstart(self, nodeid: str) -> None:
        """From here on this test executes the lines."""
        self.coverage.switch_context(nodeid)

    def pytest_runtest_logreport(self, report: Any) -> None:
        """Add the seconds of a part of a test."""
        self.seconds[report.nodeid] += report.duration

    def pytest_sessionfinish(self) -> None:
        """Write the map."""
        self.coverage.stop()
        data = self.coverage.get_data()
        found: dict[str, Any] = {"seconds": sum(self.seconds.values())}
        for file in data.measured_files():
            for line, names in data.contexts_by_lineno(file).items():
                tests = sorted(filter(None, names), key=self.seconds.__getitem__)
                found[f"{Path(file).relative_to(Path.cwd())}:{line}"] = tests
        Path(os.environ["MUTATE_MAP"]).write_text(json.dumps(found))


def pytest_collection_modifyitems(config: Any, items: list[Any]) -> None:
    """Record, or put the tests first that are named, as it is asked for."""
    if "MUTATE_MAP" in os.environ:
        config.pluginmanager.register(Recorder())
    if "MUTATE_FIRST" in os.environ:
        names = Path(os.environ["MUTATE_FIRST"]).read_text().splitlines()
        place = {name: index for index, name in enumerate(names)}
        items.sort(key=lambda item: place.get(item.nodeid, len(place)))


if __name__ == "__main__":
    main()
