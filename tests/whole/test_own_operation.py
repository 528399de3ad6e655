"""An operation that is defined outside of mxref, in one file, goes through every verb."""

from __future__ import annotations

import runpy
import subprocess
import sys
from collections.abc import Callable, Iterator
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import pytest

from mxref import golden
from mxref.conformance import check, target_of
from mxref.conformance.fuzzing.fuzz import fuzz
from mxref.conformance.identification.integer_identification import identify_integers
from mxref.conformance.score import score
from mxref.conformance.verdict.report_text import report_lines
from mxref.operations.registry import CALL_OPERATIONS, REGISTRY, defined
from mxref.targets.target import PythonTarget

FILE = Path(__file__).parents[2] / "tools" / "examples" / "gray.py"
GRAY = runpy.run_path(str(FILE))
CODES = [0, 1, 3, 2, 6, 7, 5, 4]  # of 0 to 7, from the definition of the reflected Gray code


@pytest.fixture(autouse=True)
def operation() -> Iterator[None]:
    with defined(GRAY["GrayEncode"]()):
        yield


@pytest.fixture(scope="module")
def files(tmp_path_factory: pytest.TempPathFactory) -> list[golden.VectorFile]:
    """The vectors of the operation, written and read."""
    folder = tmp_path_factory.mktemp("vectors")
    with defined(GRAY["GrayEncode"]()):
        golden.write(folder, golden.build(operations=["gray_encode"]))
        assert golden.check(folder, golden.build(operations=["gray_encode"])) == []
        return golden.read_vectors(folder)


def target(run: Callable[..., Any]) -> PythonTarget:
    return target_of(SimpleNamespace(gray_encode=run), "kernel")


def text(run: Callable[..., Any], files: list[golden.VectorFile]) -> str:
    return "\n".join(report_lines(check(target(run), files), 1))


def slow_on_rows(values: Any, offset: int) -> Any:
    """Wrong in rows of 33 and more."""
    found = GRAY["gray"](values, offset)
    found[:, 32:] ^= 1
    return found


def test_its_vectors_hold_the_answers_of_both_references(files: list[golden.VectorFile]) -> None:
    """The codes by hand; `build` raises where the references differ."""
    assert [file.stem for file in files] == ["gray_encode/uint8.bytes", "gray_encode/uint16.bytes"]
    first = files[0].cases[0]
    assert files[0].columns == ("default", "neighbour=lower")
    assert list(first.output(0)[:8]) == CODES
    assert list(first.output(1)[:4]) == [0, 3, 6, 5]


def test_references_that_differ_are_refused(monkeypatch: pytest.MonkeyPatch) -> None:
    wrong = GRAY["without_offset"]
    monkeypatch.setattr(
        type(REGISTRY["gray_encode"]), "run", lambda self, call, choices: wrong(*call.arguments)
    )
    with pytest.raises(RuntimeError, match=r"the two references disagree on gray_encode\.uint8"):
        golden.build(operations=["gray_encode"])


def test_a_right_target_passes_and_a_choice_is_named(files: list[golden.VectorFile]) -> None:
    assert "PASS kernel: 16 cases, 0 failed: conforms" in text(GRAY["gray"], files)
    assert "conforms; gray_encode (uint8, uint16) under neighbour=lower" in text(
        GRAY["of_lower"], files
    )


def test_known_bugs_are_named(files: list[golden.VectorFile]) -> None:
    for mutant in CALL_OPERATIONS["gray_encode"].mutants:
        assert f"has bug {mutant.id}: {mutant.text}" in text(mutant.run, files)


@pytest.mark.parametrize(
    ("bug", "told"),
    [
        (lambda v, o: GRAY["gray"](v, o) & ~v.dtype.type(1), "the wanted code is odd"),
        (lambda v, o: GRAY["gray"](v, o * (o < 3)), "`offset` is 3"),
        (slow_on_rows, "33 columns and more"),
    ],
)
def test_unknown_bugs_are_described(
    bug: Callable[..., Any], told: str, files: list[golden.VectorFile]
) -> None:
    assert told in text(bug, files)


def test_its_choice_is_identified() -> None:
    for run, member in ((GRAY["gray"], "higher"), (GRAY["of_lower"], "lower")):
        for found in identify_integers(target(run)):
            assert [(one.name, one.values) for one in found.choices] == [("neighbour", (member,))]


def test_a_counterexample_is_small_and_its_code_runs(tmp_path: Path) -> None:
    source = tmp_path / "kernel.py"
    source.write_text(
        "import numpy as np\n"
        "def gray_encode(values, offset):\n"
        "    moved = values + values.dtype.type(offset)\n"
        "    return np.where(values == 200, 0, moved ^ moved >> 1).astype(values.dtype)\n"
    )
    wrong = target_of(SimpleNamespace(**runpy.run_path(str(source))), str(source))
    row = next(row for row in fuzz(wrong) if row.found)
    assert row.found is not None
    assert row.found.text == "element 0: in offset 0, values 200, want ac = 172, got 00 = 0"
    done = subprocess.run([sys.executable, "-c", row.found.code], capture_output=True, text=True)
    assert done.stdout == "want ac\ngot  00\n"


def test_its_mutants_are_scored(files: list[golden.VectorFile]) -> None:
    cells = list(score(files))
    assert [(cell.mutant.id, cell.verdict) for cell in cells] == [
        (id, "killed") for _ in files for id in ("G901", "G902", "G903")
    ]


def test_names_that_are_taken_are_refused() -> None:
    taken = defined(GRAY["GrayEncode"]())
    with (
        pytest.raises(ValueError, match=r"^name must be new, got that of \['gray_encode'\]$"),
        taken,
    ):
        pass
