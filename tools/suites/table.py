"""The table of suites, where their files are, and what they came to."""

from __future__ import annotations

import json
import os
import subprocess
import sys
import tarfile
import tempfile
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

HERE = Path(__file__).resolve().parent
TABLE = HERE / "suites.json"


class AbsentError(Exception):
    """Why a suite is not run."""


@dataclass(frozen=True)
class Suite:
    """A line of suites.json.

    Args:
        name: its name here; the shim is shims/NAME_shim.py.
        project: owner and name on GitHub.
        version: the release or commit whose tests are run.
        licence: the SPDX name of its licence.
        what: what its tests ask of mxref.
        policy: the policy or profile that mxref is asked for.
        compared: how the suite compares.
        arguments: of pytest; paths are below the suite's folder.
        tests: how many tests ask mxref and pass.
        notice: how many of them fail if the lowest bit of every answer is flipped.
        values: how many values mxref gives in them.
        known: the reasons of the tests that fail, by their names.
        package: the installed package that carries the tests.
        sdist: the requirement whose source distribution carries them.
        variable: the environment variable that names a checkout.
        needs: what has to be installed.
    """

    name: str
    project: str
    version: str
    licence: str
    what: str
    policy: str
    compared: str
    arguments: list[str]
    tests: int
    notice: int
    values: int
    known: dict[str, str]
    package: str = ""
    sdist: str = ""
    variable: str = ""
    needs: list[str] = field(default_factory=list)

    @property
    def got(self) -> str:
        """How its files are got."""
        if self.package:
            return f"package {self.package}=={self.version}"
        return f"sdist of {self.sdist}" if self.sdist else f"checkout in {self.variable}"

    def folder(self, sources: Path | None) -> Path:
        """Where its tests are.

        Args:
            sources: the folder for source distributions, which are downloaded into it.

        Raises:
            AbsentError: they are nowhere; the text says what to do.
        """
        if self.package:
            return Path()
        if self.sdist:
            if sources is None:
                raise AbsentError(f"--sources FOLDER gets the sdist of {self.sdist}")
            return _unpacked(self.sdist, sources)
        where = Path(os.environ.get(self.variable, ""))
        if not where.is_absolute() or not where.is_dir():
            raise AbsentError(
                f"{self.variable} must name a checkout of {self.project} at {self.version}"
            )
        return where


def _unpacked(requirement: str, sources: Path) -> Path:
    """The folder of a source distribution below `sources`, downloaded if it is not there."""
    stem = requirement.replace("==", "-").replace("-", "_", requirement.count("-"))
    where = sources.resolve() / stem
    if not where.is_dir():
        sources.mkdir(parents=True, exist_ok=True)
        with tempfile.TemporaryDirectory(dir=sources) as fresh:
            name, _, _ = requirement.partition("==")
            pip = [sys.executable, "-m", "pip", "download", "-q", "--no-deps", "-d", fresh]
            done = subprocess.run(
                [*pip, "--no-binary", name, requirement], capture_output=True, text=True
            )
            if done.returncode:
                last = done.stderr.strip().splitlines()[-1:]
                raise AbsentError(f"pip download {requirement}: {''.join(last)}")
            (archive,) = Path(fresh).glob("*.tar.gz")
            with tarfile.open(archive) as tar:
                tar.extractall(fresh, filter="data")
            (inside,) = (path for path in Path(fresh).iterdir() if path.is_dir())
            inside.rename(where)
    return where


def suites() -> dict[str, Suite]:
    """All suites by name."""
    table: dict[str, dict[str, Any]] = json.loads(TABLE.read_text("utf-8"))
    return {name: Suite(name, **line) for name, line in table.items()}


@dataclass(frozen=True)
class Outcome:
    """What a run of a suite came to; see `outcome_of`."""

    tests: int
    values: int
    failed: dict[str, str]
    skipped: int
    silent: int  #: tests that pass and ask mxref nothing

    def unexpected(self, suite: Suite) -> list[str]:
        """A sentence for everything that is not as the table says."""
        lines = [
            f"{name}: {text or 'fails'}"
            for name, text in self.failed.items()
            if name not in suite.known
        ]
        lines += [
            f"{name}: does not fail, but {TABLE.name} says why it does"
            for name in suite.known
            if name not in self.failed
        ]
        for what in ("tests", "values"):
            got, want = getattr(self, what), getattr(suite, what)
            if got != want:
                lines.append(f"{got:,} {what} instead of {want:,}")
        return lines


def outcome_of(rows: dict[str, tuple[str, int, str]]) -> Outcome:
    """What the rows of `suites.one` come to: only tests that ask mxref are counted."""
    passed = [values for outcome, values, _ in rows.values() if outcome == "passed"]
    return Outcome(
        tests=sum(values > 0 for values in passed),
        values=sum(passed),
        failed={name: text for name, (outcome, _, text) in rows.items() if outcome == "failed"},
        skipped=sum(outcome == "skipped" for outcome, _, _ in rows.values()),
        silent=passed.count(0),
    )
