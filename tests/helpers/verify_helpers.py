"""Targets, folders of vectors and `mxref verify` for tests of the comparison."""

from __future__ import annotations

import dataclasses
import functools
import json
from collections.abc import Callable, Sequence
from pathlib import Path
from typing import Any

import pytest
from helpers import ROOT, all_files, copy_vectors

from mxref import golden
from mxref.cli import main
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


@functools.cache
def read(folder: str) -> list[VectorFile]:
    return golden.read_vectors(Path(folder))
