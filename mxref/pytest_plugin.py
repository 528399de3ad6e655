"""The pytest plugin: each operation, format and float type of a target as a test of its own.

A test that takes `mxref_case` runs once for each vector file that the target covers::

    def test_mx(mxref_case):
        mxref_case.check()

``--mxref-target my_kernel.py`` or the ini option ``mxref_target`` names the target. If no test
takes `mxref_case`, nothing else of mxref is imported and nothing is printed.
"""

from __future__ import annotations

import contextlib
import io
from collections.abc import Collection, Iterable, Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Any, NoReturn

import pytest

if TYPE_CHECKING:
    from mxref.conformance import Target
    from mxref.golden import VectorFile

__all__ = ["TargetCase"]

_CHOICES = ("op", "format", "float")
#: Key under which a worker of pytest-xdist sends the list of what is not covered.
_OUTPUT = "mxref_not_covered"


@dataclass(frozen=True, slots=True)
class TargetCase:
    """One vector file for a target: the value of the fixture `mxref_case`.

    Args:
        target: the target.
        file: operation, format and float type of the file, without its cases.
        folder: folder of the vectors.
        entry: the file's entry in the manifest.
        known: reasons of known divergences, by case id.
    """

    target: Target
    file: VectorFile
    folder: Path
    entry: dict[str, Any]
    known: Mapping[str, str]

    def __str__(self) -> str:
        return self.file.stem.replace("/", "-").replace(".", "-")

    def check(self) -> None:
        """Compare the target's answers bit by bit.

        A failure says what differs, as ``mxref verify`` does, without a traceback. If all wrong
        answers are known divergences, the test is an expected failure; a known divergence that
        passes is a failure.
        """
        from mxref.cases.read import VectorError, read_listed
        from mxref.cli.verify_verb import print_report
        from mxref.conformance import verify

        try:
            file = read_listed(self.folder, self.entry)
        except VectorError as error:
            _fail(str(error))
        assert file is not None  # only files without vectors give None
        _refuse_unknown(self.known, {case.id for case in file.cases})
        report = verify(self.target, [file], known=self.known)
        if not report.passed:
            with contextlib.redirect_stdout(io.StringIO()) as text:
                print_report(report, show=5)
            counts = f"{len(report.unexplained)} of {report.compared} cases failed"
            # pytest's summary shows only the first line.
            why = next((str(one) for one in report.findings), report.verdict)
            _fail(f"{counts}: {why}\n{text.getvalue().rstrip()}")
        if report.known:
            reasons = "; ".join(dict.fromkeys(report.known.values()))
            pytest.xfail(f"{len(report.known)} of {report.compared} cases: {reasons}")


@dataclass(frozen=True, slots=True)
class _Suite:
    cases: tuple[TargetCase, ...]
    not_covered: tuple[str, ...]


_SUITE = pytest.StashKey[_Suite]()


def pytest_addoption(parser: pytest.Parser) -> None:
    """Add the options."""
    group = parser.getgroup("mxref", "checking an implementation of the MX formats")
    about = "the Python file or the module that tests with `mxref_case` check"
    group.addoption("--mxref-target", metavar="TARGET", help=about)
    for name in _CHOICES:
        group.addoption(
            f"--mxref-{name}",
            action="append",
            default=[],
            metavar=name.upper(),
            help=f"only this {'operation' if name == 'op' else name}; may be given again",
        )
    about = "known divergences, as `mxref verify --xfail`; one that passes is an error"
    group.addoption("--mxref-xfail", metavar="FILE", help=about)
    parser.addini("mxref_target", "the same as --mxref-target", default="")


@pytest.fixture
def mxref_case(request: pytest.FixtureRequest) -> TargetCase:
    """An operation, format and float type of the target; `check()` compares it bit by bit."""
    case: TargetCase = request.param
    return case


def pytest_generate_tests(metafunc: pytest.Metafunc) -> None:
    """Run a test that takes `mxref_case` once for each file that the target covers."""
    if "mxref_case" in metafunc.fixturenames:
        if _SUITE not in metafunc.config.stash:
            metafunc.config.stash[_SUITE] = _suite(metafunc.config)
        cases = metafunc.config.stash[_SUITE].cases
        metafunc.parametrize("mxref_case", cases, ids=str, indirect=True)


def _suite(config: pytest.Config) -> _Suite:
    """The files that the target covers; a test failure in one sentence if there are none."""
    from mxref.cases.read import by_stem, read_manifest, vectors_folder
    from mxref.cases.records import names_of, stem_of
    from mxref.conformance import load_target, read_xfail
    from mxref.conformance.verdict.verify import covered_files
    from mxref.support.text import refuse_unknown
    from mxref.targets.calls import without_cases

    xfail = config.getoption("--mxref-xfail")
    try:
        target, folder = load_target(_target(config)), vectors_folder()
        known = read_xfail(Path(_beside(xfail, config.rootpath))) if xfail else {}
        entries = by_stem(read_manifest(folder))
    except ValueError as error:
        _fail(str(error))
    _refuse_unknown(known, [id for id in known if stem_of(id) in entries])
    files = [without_cases(*names_of(stem)) for stem in entries]
    for name in _CHOICES:
        wanted = config.getoption(f"--mxref-{name}")
        present = dict.fromkeys(getattr(file, name) for file in files)
        try:
            refuse_unknown(f"--mxref-{name}", wanted, present)
        except ValueError as error:
            _fail(str(error))
        files = [file for file in files if not wanted or getattr(file, name) in wanted]
    asked = {file.stem for file in files}
    covered, not_covered = covered_files(target, files, target.policy)
    if not covered:
        _fail(f"target {target.name} covers nothing: not covered: {'; '.join(not_covered)}")
    cases = []
    for file in covered:
        reasons = {id: reason for id, reason in known.items() if stem_of(id) == file.stem}
        cases.append(TargetCase(target, file, folder, entries[file.stem], reasons))
        asked.remove(file.stem)
    stale = [id for id in known if stem_of(id) in asked]
    if stale:
        _fail(f"--mxref-xfail lists {min(stale)!r}, which target {target.name} does not cover")
    return _Suite(tuple(cases), not_covered)


def _target(config: pytest.Config) -> str:
    """The target that the command line or the ini file names."""
    given: str | None = config.getoption("--mxref-target")
    if given:
        return _beside(given, config.rootpath)
    given = config.getini("mxref_target")
    if not given:
        _fail(
            "mxref_case needs a target: name a Python file or a module by --mxref-target, or as "
            "mxref_target in pytest's configuration file"
        )
    return _beside(given, config.rootpath if config.inipath is None else config.inipath.parent)


def _beside(path: str, folder: Path) -> str:
    """A path as it is if there is something; else below a folder, if there it is."""
    from mxref.targets.target import split_spec

    file = split_spec(path)[0]  # of a target, without its attribute
    return path if Path(file).exists() or not (folder / file).exists() else str(folder / path)


def _refuse_unknown(known: Iterable[str], present: Collection[str]) -> None:
    unknown = set(known).difference(present)
    if unknown:
        _fail(f"--mxref-xfail: there is no case {min(unknown)!r}")


def _fail(text: str) -> NoReturn:
    raise pytest.fail.Exception(text, pytrace=False) from None


def pytest_sessionfinish(session: pytest.Session) -> None:
    """Send the list of what is not covered from a worker of pytest-xdist."""
    output = getattr(session.config, "workeroutput", None)
    suite = session.config.stash.get(_SUITE, None)
    if output is not None and suite is not None:
        output[_OUTPUT] = list(suite.not_covered)


@pytest.hookimpl(optionalhook=True)
def pytest_testnodedown(node: Any) -> None:
    """Receive the list of what is not covered."""
    found = getattr(node, "workeroutput", {}).get(_OUTPUT)
    if found is not None:
        node.config.stash[_SUITE] = _Suite((), tuple(found))


def pytest_terminal_summary(
    terminalreporter: pytest.TerminalReporter, config: pytest.Config
) -> None:
    """Print what is not covered, so that nobody takes it for passed."""
    suite = config.stash.get(_SUITE, None)
    if suite is not None and suite.not_covered:
        terminalreporter.write_line(f"mxref: not covered: {'; '.join(suite.not_covered)}")
