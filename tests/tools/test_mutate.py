"""tools/mutate.py: which faults there are, how they are planted, and what becomes of them."""

from __future__ import annotations

import gc
import importlib.util
import json
import shutil
from pathlib import Path
from types import ModuleType

import mutate
import pytest
from helpers import ROOT
from mutation.faults import Mutant, mutants
from mutation.planting import Living, plan

DATA = ROOT / "tests" / "tools" / "data"
#: The text of a module that has a place for every kind of fault.
MODULE = (DATA / "mutated.txt").read_text("ascii")


@pytest.fixture
def root(tmp_path: Path) -> Path:
    (tmp_path / "mxref" / "room").mkdir(parents=True)
    (tmp_path / "mxref" / "__init__.py").write_text("")
    (tmp_path / "mxref" / "room" / "a.py").write_text(MODULE)
    return tmp_path


def of(root: Path, function: str, old: str, new: str, nth: int = 0) -> Mutant:
    name = ("mxref/room/a.py", function, old, new, nth)
    (found,) = (one for one in mutants(root, name[0]) if one.name == name)
    return found


def test_names_tell_every_mutant_from_the_others(root: Path) -> None:
    found = list(mutants(root, "mxref/room/a.py"))
    assert len({one.name for one in found}) == len(found)
    assert of(root, "outer.inner", "y + x", "y - x").line == 13
    assert of(root, "", "4", "5").line == 8
    assert of(root, "Box.fits", "a < b", "a >= b").line == 22


def test_what_no_test_can_see_stays(root: Path) -> None:
    lines = {one.line for one in mutants(root, "mxref/room/a.py")}
    assert not lines & {5, 6, 7}
    names = {one.name[1:4] for one in mutants(root, "mxref/room/a.py")}
    assert not {(where, "True", "True") for where in ("", "Box.fits")} & names
    assert not {("Box.fits", "a + b", "a - b"), ("Box.fits", "b", "b")} & names


def test_lines_keep_their_numbers_and_only_the_fault_differs(root: Path) -> None:
    lines = MODULE.splitlines()
    for one in mutants(root, "mxref/room/a.py"):
        changed = one.text(root).splitlines()
        assert len(changed) == len(lines)
        differing = {
            i for i, pair in enumerate(zip(lines, changed, strict=True), 1) if len({*pair}) > 1
        }
        assert differing <= set(one.lines)
        compile(changed and one.text(root), "", "exec")


@pytest.mark.parametrize(
    ("function", "old", "new", "lives"),
    [
        ("outer.inner", "y + x", "y - x", True),
        ("outer", "x < SIZE", "x <= SIZE", True),
        ("outer", "7", "8", False),
        ("", "4", "3", False),
    ],
)
def test_what_runs_at_import_cannot_be_planted(
    root: Path, function: str, old: str, new: str, *, lives: bool
) -> None:
    text = of(root, function, old, new).text(root)
    assert (plan(MODULE, text) is not None) == lives


@pytest.fixture
def module(root: Path) -> ModuleType:
    spec = importlib.util.spec_from_file_location("planted_in", root / "mxref" / "room" / "a.py")
    assert spec is not None
    assert spec.loader is not None
    found = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(found)
    return found


def test_planting_reaches_names_that_others_hold(root: Path, module: ModuleType) -> None:
    outer, fits, twice = module.outer, module.Box().fits, module.twice
    assert (outer(2), list(fits([2], [1])) if 0 else outer(3), twice(4)) == (3, 4, 8)
    gc.freeze()  # so are functions in a process that has collected tests
    living = Living(root)
    path = root / "mxref" / "room" / "a.py"
    living.plant(path, MODULE, of(root, "outer.inner", "y + x", "y - x").text(root))
    assert (outer(2), outer(3), twice(4)) == (-1, -2, 8)
    living.plant(path, MODULE, of(root, "twice", "x * 2", "x + 2").text(root))
    assert twice(4) == 6


def test_rooms_have_their_part_of_the_sample(root: Path) -> None:
    ones = list(mutants(root, "mxref/room/a.py"))
    every = {"big": ones * 20, "small": ones[:4], "tiny": ones[:2]}
    sizes = {name: len(part) for name, part in mutate.drawn(every, 50, 1).items()}
    assert sizes == {
        "big": round(50 * 20 * len(ones) / (20 * len(ones) + 6)),
        "small": 4,
        "tiny": 2,
    }
    assert mutate.drawn(every, 50, 1) == mutate.drawn(every, 50, 1)
    assert mutate.drawn(every, 50, 1) != mutate.drawn(every, 50, 2)


def test_a_recorded_mutant_is_found_where_its_function_is_now(
    root: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    recorded = [
        dict(zip(Mutant._fields, of(root, function, old, new, nth), strict=True))
        for function, old, new, nth in (("Box.fits", "a < b", "a >= b", 0), ("twice", "2", "3", 0))
    ]
    (root / "mxref" / "room" / "a.py").rename(root / "mxref" / "b.py")
    (root / "mxref" / "b.py").write_text("\n\n" + MODULE.replace("twice", "thrice"))
    found = mutate.found_again(mutants(root, "mxref/b.py"), recorded)
    assert [one.name for one in found] == [("mxref/b.py", "Box.fits", "a < b", "a >= b", 0)]
    assert "0 places have ('mxref/room/a.py', 'twice', '2', '3', 0)" in capsys.readouterr().err


def test_the_order_of_tests(root: Path) -> None:
    """Those of the line, of their file, with processes, with what is cached; at import all."""
    used = {"a::line": [3, 0], "a::beside": [2, 0], "b::process": [1, 1], "b::cached": [4, 0]}
    used |= {"b::file": [5, 0], "b::other": [1, 0], "a::quick": [1, 0], "a::failing": [1, 0]}
    lines = {"mxref/room/a.py": {"13": [0, 6], "30": [4], "14": [-1]}}
    caches = [[["a::line"], ["b::cached"]], [["b::file"], ["b::other"]]]
    found = {"tests": used, "failed": ["a::failing"], "lines": lines, "caches": caches}
    (root / "map.json").write_text(json.dumps(found))
    of_room = mutate.Map(root / "map.json")
    mutant = of(root, "outer.inner", "y + x", "y - x")
    order = ["a::quick", "a::line", "a::beside", "b::process", "b::cached"]
    assert of_room.tests(mutant, everything=False) == order
    assert of_room.tests(mutant, everything=True) == [*order, "b::file", "b::other"]
    assert not of_room.imported(mutant)
    assert of_room.imported(of(root, "outer", "x < SIZE", "x <= SIZE"))


def test_outcomes(root: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """The tests of a small tree, with what they execute written by hand."""
    (root / "tests" / "room").mkdir(parents=True)
    (root / "pytest.ini").write_text("[pytest]")
    (root / "tests" / "room" / "test_a.py").write_text(
        (DATA / "mutated_tests.txt").read_text("ascii")
    )
    shutil.copytree(ROOT / "tools" / "mutation", root / "tools" / "mutation")
    monkeypatch.setattr(mutate, "ROOT", root)
    monkeypatch.setenv("PYTEST_DISABLE_PLUGIN_AUTOLOAD", "1")
    name = "tests/room/test_a.py::test_{}".format
    tests = {name("outer"): [0.1, 0], name("size"): [0.2, 0], name("elsewhere"): [0.1, 0.1]}
    lines = {"mxref/room/a.py": {"8": [-1], "9": [-1], "11": [-1], "13": [0], "14": [0]}}
    path = root / "map.json"
    path.write_text(json.dumps({"tests": tests, "failed": [], "lines": lines, "caches": []}))
    tree = root.with_name("tree")
    shutil.copytree(root, tree)
    room = mutate.Room(tree, "room", path, 60)
    for serial, (function, old, new, outcome, test) in enumerate(
        [
            ("outer.inner", "y + x", "y - x", "killed", name("outer")),
            ("outer", "x < SIZE", "x <= SIZE", "survived", ""),
            ("", "4", "5", "killed", name("size")),
            ("twice", "2", "1", "killed", name("elsewhere")),
            ("outer", "7", "8", "survived", ""),
            ("", "3", "4", "killed", "(collection)"),
        ]
    ):
        answer = room.tried(of(root, function, old, new), serial + 1)
        assert (answer["outcome"], answer["test"]) == (outcome, test), new
    room.session.close()
    assert (tree / "mxref" / "room" / "a.py").read_text() == MODULE
