"""``mxref score`` and ``mxref explain`` of mutants: what they print, and their exit statuses."""

from __future__ import annotations

import functools
import re
import sys
from pathlib import Path

import pytest
from commands import Call, Example, examples
from helpers import VECTORS, run

from mxref import golden
from mxref.mutants import MUTANTS

FILE = Path(__file__).resolve().parent / "data" / "score.txt"
read_once = functools.cache(golden.read_vectors)


@pytest.fixture(autouse=True)
def _read_once(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(golden, "read_vectors", read_once)


@pytest.mark.sampled(6)
@pytest.mark.parametrize("example", examples(FILE))
def test_in_words(example: Example, call: Call) -> None:
    example.check(call)


def test_a_survivor(call: Call) -> None:
    arguments = ("score", "--set", "encode", "--class", "A17", "--without", "M14")
    run = call(*arguments)
    assert run.status == 1
    assert re.search(r"^FAIL +A17 ", run.out, re.M)
    survivors = re.findall(r"^survived: (\w+) \w+, (\S+)$", run.out, re.M)
    assert {id for id, _ in survivors} == {"A17a", "A17b", "A17d"}
    origin, last = run.out.splitlines()[-2:]
    assert last.startswith("FAIL 4 mutants, ")
    seen = sum(bool(m.seen) for m in MUTANTS if (m.group, m.op) == ("A17", "encode"))
    assert origin.startswith(f"4 bugs, {seen} of which say where they were seen, and 0 wrong enco")
    run = call(*arguments, "--json")
    assert run.status == 1
    found = run.json
    assert found["applicable"] - found["killed"] == len(survivors)
    left = [(c["mutant"], c["file"]) for c in found["cells"] if c["verdict"] == "survived"]
    assert left == survivors
    assert all("M14" not in cell["killers"] for cell in found["cells"])


@pytest.mark.sampled(6)
def test_the_models(call: Call) -> None:
    arguments = ("score", "--set", "encode", "--class", "A", "--models")
    rows = {line.split()[0]: line.split()[1:] for line in call(*arguments).out.splitlines()[1:]}
    assert list(rows) == ["M1", "M4", "M5", "M6", "M7", "M14", "M23"]
    assert rows["M14"][3:] == ["A17d", "A17a", "A17b"]
    assert rows["M6"][3:] == ["A10c"]
    found = {row["model"]: row for row in call(*arguments, "--json").json}  # type: ignore[attr-defined]
    cases = sum(len(file.cases) for file in read_once(VECTORS) if file.op == "encode")
    assert sum(row["cases"] for row in found.values()) == cases
    assert found["M14"]["mutants"] == ["A17d", "A17a", "A17b"]
    assert 0 < found["M14"]["alone"] < found["M14"]["kills"]


@pytest.mark.sampled(6)
def test_all_addresses_are_in_json(call: Call) -> None:
    seen = call("explain", "A1", "--json").json["answers"][0]["mutants"][0]["seen"]
    assert len(seen) == 4 + 4  # as many as are shown and said to be left out


@pytest.mark.sampled(0)
def test_from_outside() -> None:
    done = run(sys.executable, "-W", "error", "-m", "mxref", "score", "--class", "F5")
    assert (done.returncode, done.stderr) == (0, "")
    assert done.stdout.splitlines()[-1].startswith("PASS 3 mutants, 10 of 10 killed")
