"""Targets, folders of vectors and `mxref verify` for tests of the comparison."""

from __future__ import annotations

import dataclasses
import functools
import json
import re
from collections import Counter
from collections.abc import Callable, Sequence
from pathlib import Path
from typing import Any

import pytest
from helpers import ROOT, all_files, copy_vectors

from mxref import golden
from mxref.cli import main
from mxref.conformance.compare.compare import Failure
from mxref.golden import VectorFile

ADAPTERS = ROOT / "tools" / "adapters"
OPERATIONS = (
    *("encode", "decode", "encode_scale", "decode_scale", "shared_scale"),
    *("quantize", "dequantize"),
)

#: A target that does everything right.
RIGHT = (Path(__file__).parent / "data" / "right_target.txt").read_text("utf-8")
#: One operation that is right, for targets of little.
ENCODE = "import mxref\n\ndef encode(values, format):\n    return mxref.encode(values, format)\n"

#: Options for tests of reports: no question beside the vectors.
VECTORS_ALONE = ("--sizes", "0", "--no-search")

Vectors = Callable[..., str]

UNEXPLAINED = (
    "unexplained: the standard leaves these bits open, and no policy or profile known to mxref "
    "gives them: a rule of its own, or a bug"
)


def looking_up(answers: Path) -> str:
    """A program for `--cmd` whose answers are the lines of a file."""
    return f"""\
import sys
found = dict(line.split(maxsplit=1) for line in open({str(answers)!r}))
for line in sys.stdin:
    if not line.startswith("#"):
        id = line.split()[0]
        print(id, found[id].strip(), flush=True)
"""


def target_file(folder: Path, text: str, name: str = "target.py") -> str:
    path = folder / name
    path.write_text(text, "utf-8")
    return str(path)


@pytest.fixture(scope="session")
def vectors(tmp_path_factory: pytest.TempPathFactory) -> Vectors:
    """Makes folders of copies of a few vector files, for questions that need no more."""
    made: dict[tuple[str, ...], str] = {}

    def make(*stems: str) -> str:
        if stems not in made:
            folder = tmp_path_factory.mktemp("vectors")
            copy_vectors(folder, *(f"{stem}.jsonl" for stem in stems))
            made[stems] = str(folder)
        return made[stems]

    return make


@pytest.fixture(scope="session")
def everything() -> list[VectorFile]:
    return all_files()


@dataclasses.dataclass(frozen=True)
class Run:
    """What a command line printed, and its exit status."""

    status: int
    out: str
    err: str

    @property
    def json(self) -> dict[str, Any]:
        record: dict[str, Any] = json.loads(self.out, parse_constant=_no_constant)
        return record

    @property
    def last_line(self) -> str:
        return self.out.splitlines()[-1]


def _no_constant(name: str) -> None:
    raise AssertionError(f"{name} is not JSON")


Verify = Callable[..., Run]


@pytest.fixture
def run_verify(capsys: pytest.CaptureFixture[str]) -> Verify:
    def run(*arguments: object, extent: Sequence[str] = VECTORS_ALONE) -> Run:
        status = main(["verify", *map(str, arguments), *extent])
        out, err = capsys.readouterr()
        return Run(status, out, err)

    return run


@dataclasses.dataclass(frozen=True)
class Kit:
    """`mxref verify`, folders of vectors, and targets that are written from their text."""

    folder: Path
    run: Verify
    vectors: Vectors

    def target(self, text: str) -> str:
        return target_file(self.folder, text)


@pytest.fixture
def kit(tmp_path: Path, run_verify: Verify, vectors: Vectors) -> Kit:
    return Kit(tmp_path, run_verify, vectors)


def assert_sentence(text: str) -> None:
    assert "\n" not in text
    assert "Traceback" not in text
    assert 10 < len(text) < 1200  # some name every choice or profile


_LINE = re.compile(r" +(?P<id>[a-z]\S+): (?P<what>.*); (?P<rule>\S+)(?: \[(?P<flags>.*)\])?")


@functools.cache
def read(folder: str) -> list[VectorFile]:
    return golden.read_vectors(Path(folder))


def rule_titles(folder: str, stem: str) -> dict[str, str]:
    with (Path(folder) / f"{stem}.jsonl").open() as file:
        titles: dict[str, str] = json.loads(file.readline())["rules"]
    return titles


def kind_of(failure: Failure, titles: dict[str, str], *, by_flag: bool) -> str:
    """What is printed of all failures of a kind."""
    if failure.got is None:
        return failure.error
    rule, flags = failure.case.rule, failure.case.flags if by_flag else ()
    return f"{rule}, {titles[rule]}" + (f" [{' '.join(flags)}]" if flags else "")


def assert_described(run: Run, failures: dict[str, Failure], titles: dict[str, str]) -> None:
    """Every kind of failure is printed once, largest first, by its first case.

    Under a cause kinds are clauses; without one, clauses with flags.
    """
    assert run.status == 1
    if re.search("^NEAREST: ", run.out, re.MULTILINE):  # what is left beside it
        assert ", beside it: " in run.out
        return
    by_flag = re.search("^(BUG|POLICY|PROFILE): ", run.out, re.MULTILINE) is None
    kinds = Counter(kind_of(failure, titles, by_flag=by_flag) for failure in failures.values())
    first = {kind_of(f, titles, by_flag=by_flag): id for id, f in reversed(failures.items())}
    kind = r"^(?:\w+ \w+:| ) (\d+) x (.*); the first:\n(.*)$"
    printed = re.findall(kind, run.out, re.MULTILINE)
    assert {why: int(count) for count, why, _ in printed} == kinds
    assert len(printed) == len(kinds)
    counts = [int(count) for count, _, _ in printed]
    assert counts == sorted(counts, reverse=True)
    for _, why, text in printed:
        line = _LINE.fullmatch(text)
        assert line is not None
        assert line["id"] == first[why]
        failure = failures[line["id"]]
        assert line["rule"] == failure.case.rule
        assert (line["flags"] or "").split() == list(failure.case.flags)
        if failure.got is None:
            assert line["what"] == failure.error
            continue
        pairs = zip(failure.want, failure.got, strict=True)
        differing = next(pair for pair in pairs if pair[0] != pair[1])
        words = re.search(r"want ([0-9a-f]+) = \S.*, got ([0-9a-f]+) = \S", line["what"])
        assert words is not None
        assert (int(words[1], 16), int(words[2], 16)) == differing
        assert ", 0 codes away" not in line["what"]
