"""The pytest plugin: each operation, format and float type of a target as a test of its own.

A test that takes `mxref_case` runs once for each vector file that the target covers, and for each
operation and format once for calls of other sizes and once for a search::

    def test_mx(mxref_case):
        mxref_case.check()

``--mxref-target my_kernel.py`` or the ini option ``mxref_target`` names the target.
"""

from __future__ import annotations

import contextlib
import io
from collections.abc import Collection, Iterable, Mapping
from dataclasses import dataclass, replace
from pathlib import Path
from typing import TYPE_CHECKING, Any, NoReturn

import pytest

if TYPE_CHECKING:
    from mxref.conformance import Extent, Report, Target
    from mxref.golden import VectorFile

__all__ = ["TargetCase"]

_CHOICES = ("op", "format", "float")
#: The key of the list of what is not covered, in the output of a worker of pytest-xdist.
_OUTPUT = "mxref_not_covered"


@dataclass(frozen=True, slots=True)
class TargetCase:
    """A part of the check of a target: the value of the fixture `mxref_case`.

    Args:
        target: the target.
        part: `vectors` (of one file), `calls` or `search` (of one operation and format).
        files: operation, format and float type of the files, without their cases.
        folder: folder of the vectors.
        entries: the files' entries in the manifest; files that have none are made.
        known: known divergences, by case id, kind or way of calling: their reasons.
        extent: how much is asked beside the vectors.
        all_floats: whether no float type was left out.
    """

    target: Target
    part: str
    files: tuple[VectorFile, ...]
    folder: Path
    entries: tuple[dict[str, Any], ...]
    known: Mapping[str, str]
    extent: Extent
    all_floats: bool

    def __str__(self) -> str:
        file = self.files[0]
        return "-".join((file.op, file.format, file.float if self.part == "vectors" else self.part))

    def check(self) -> None:
        """Compare the target's answers bit by bit.

        A failure says what differs, as ``mxref verify`` does, without a traceback. If all wrong
        answers are known divergences, the test is an expected failure. A known divergence that
        passes is a failure. A search is skipped if no policy explains the vectors, or if calls
        change answers.
        """
        from mxref.conformance import check
        from mxref.conformance.checking.check_parts import part_result
        from mxref.conformance.verdict.call_dependence import DEPENDENCES
        from mxref.targets.exit_guards import exits_raised

        if self.part == "search" and any(
            key.rpartition(" ")[2] in DEPENDENCES for key in self.known
        ):
            pytest.skip("not searched: a way of calling is known to change answers")
        files = self._read()
        ids = {id: why for id, why in self.known.items() if " " not in id}
        _refuse_unknown(ids, {case.id for file in files for case in file.cases})
        report = exits_raised()(check)(self.target, files, known=self.known, extent=self.extent)
        report = replace(report, all_floats=self.all_floats)
        result = part_result(self.part, report)
        match result.word:
            case "failed":
                _fail_with(report, result.text) if result.with_report else _fail(result.text)
            case "skipped":
                pytest.skip(result.text)
            case "known":
                pytest.xfail(result.text)

    def _read(self) -> list[VectorFile]:
        from mxref.cases.read import VectorError, read_listed
        from mxref.golden.made_files import made_files

        listed = {entry["file"].removesuffix(".jsonl") for entry in self.entries}
        made = [made_files()[file.stem]() for file in self.files if file.stem not in listed]
        try:  # only files without vectors are None
            read = [file for entry in self.entries if (file := read_listed(self.folder, entry))]
        except VectorError as error:
            _fail(str(error))
        return [*read, *made]


def _fail_with(report: Report, first: str) -> NoReturn:
    """Fail with a line and the report."""
    from mxref.cli.verify_verb import print_report

    with contextlib.redirect_stdout(io.StringIO()) as text:
        print_report(report, show=5)
    _fail(f"{first}\n{text.getvalue().rstrip()}")


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
    about = "elements of the largest call, as `mxref verify --sizes`; 0: no tests of calls"
    group.addoption("--mxref-sizes", type=int, metavar="N", help=about)
    about = "seed of the search, as `mxref verify --seed` (default 0)"
    group.addoption("--mxref-seed", type=int, default=0, metavar="N", help=about)
    about = "leave out the tests of a search"
    group.addoption("--mxref-no-search", action="store_true", help=about)
    parser.addini("mxref_target", "the same as --mxref-target", default="")


@pytest.hookimpl(tryfirst=True)
def pytest_load_initial_conftests(early_config: pytest.Config) -> None:
    """Guard against a target that ends this process as if all tests passed, before its import."""
    if early_config.known_args_namespace.mxref_target or early_config.getini("mxref_target"):
        from mxref.targets.exit_guards import exits_guarded

        exits_guarded()


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
    """The tests of the files that the target covers; fails in one sentence if there are none."""
    from mxref.cases.names import names_of
    from mxref.cases.read import by_stem, read_manifest, vectors_folder
    from mxref.conformance import load_target, read_xfail
    from mxref.conformance.checking.check_parts import parts
    from mxref.conformance.verdict.verify import covered_files
    from mxref.golden.made_files import made_files
    from mxref.support.text import refuse_unknown
    from mxref.targets.calls import without_cases
    from mxref.targets.exit_guards import exits_raised

    xfail = config.getoption("--mxref-xfail")
    try:
        target, folder = exits_raised()(load_target)(_target(config)), vectors_folder()
        known = read_xfail(Path(_beside(xfail, config.rootpath))) if xfail else {}
        entries = by_stem(read_manifest(folder))
    except ValueError as error:
        _fail(str(error))
    # Made files are for targets that name their formats, and for formats that are named here.
    named = config.getoption("--mxref-format")
    made = [
        stem
        for stem in made_files()
        if names_of(stem)[1] in named or target.covers(*names_of(stem))
    ]
    every = [*entries, *(stem for stem in made if stem not in entries)]
    pairs = {names_of(stem)[:2] for stem in every}
    _refuse_unknown(known, [key for key in known if _stem(key) in every or _pair(key) in pairs])
    files = [without_cases(*names_of(stem)) for stem in every]
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
    has = {(file.op, file.format) for file in covered}
    lacks = {(file.op, file.format) for file in files} - has
    asked -= {file.stem for file in covered}
    stale = [key for key in known if _stem(key) in asked or _pair(key) in lacks]
    if stale:
        _fail(f"--mxref-xfail lists {min(stale)!r}, which target {target.name} does not cover")
    all_floats = not config.getoption("--mxref-float")
    sizes: int | None = config.getoption("--mxref-sizes")
    if sizes is not None and sizes < 0:
        _fail(f"--mxref-sizes must be 0 or more, got {sizes}")
    seed, search = config.getoption("--mxref-seed"), not config.getoption("--mxref-no-search")
    cases = []
    for part, some, extent in parts(covered, sizes, seed, search=search):
        stems = {file.stem for file in some}
        listed = [key for key in known if _stem(key) in stems]
        if part != "vectors":
            listed += [key for key in known if _pair(key) == (some[0].op, some[0].format)]
        reasons = {key: known[key] for key in listed}
        of = tuple(entries[file.stem] for file in some if file.stem in entries)
        cases.append(TargetCase(target, part, some, folder, of, reasons, extent, all_floats))
    return _Suite(tuple(cases), not_covered)


def _stem(key: str) -> str | None:
    """The stem of a case's file; None for a kind or a way of calling."""
    from mxref.cases.names import stem_of

    return None if " " in key else stem_of(key)


def _pair(key: str) -> tuple[str, str] | None:
    """Operation and format of a kind or a way of calling; None for a case."""
    op, _, rest = key.partition(" ")
    return (op, rest.partition(" ")[0]) if rest else None


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
    from mxref.targets.loading import split_spec

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
    if suite is not None and output is None:
        from mxref.targets.exit_guards import keep_status

        keep_status(lambda: int(session.exitstatus))
    elif suite is not None and output is not None:
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
    """Print what is not covered, so that it is not taken for passed."""
    suite = config.stash.get(_SUITE, None)
    if suite is not None and suite.not_covered:
        from mxref.cli.target_arguments import not_covered_line

        line = not_covered_line(suite.not_covered, verbose=config.get_verbosity() > 0)
        terminalreporter.write_line(f"mxref: {line}")
