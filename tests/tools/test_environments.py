"""The environments of other implementations, and what becomes of tests without what they need."""

from __future__ import annotations

import re
import subprocess
import sys
import zipfile
from pathlib import Path
from typing import Any

import environments
import peer_adapters as peers
import pytest
from commands import fits
from environments import ENVIRONMENTS, make, pins
from helpers import ROOT, run, tool
from needs import checkout, line_of_not_run, needs
from report_pages import PAGES, home, pinned

ADAPTERS = {
    "current": [*peers.CURRENT, *peers.CURRENT_PRODUCTS],
    "older": [*peers.OLDER, *peers.OLDER_PRODUCTS, *peers.OLDER_INTEGERS],
}
PIN = re.compile(r"([\w-]+)==([\d.]+\d)")


@pytest.mark.parametrize("environment", ENVIRONMENTS)
def test_an_environment_has_what_its_adapters_name(environment: str) -> None:
    there = pins(environment).items() | set(PIN.findall(ENVIRONMENTS[environment].wheel))
    every = peers.every()
    for name in ADAPTERS[environment]:
        assert there >= set(PIN.findall(every[name].path.read_text("utf-8"))), name


@pytest.mark.parametrize("page", PAGES, ids=lambda page: page.stem)
def test_every_command_of_a_report_has_an_environment(page: Path) -> None:
    assert None not in [home(versions) for _, versions in pinned(page)]


def test_an_environment_is_made_once(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    done: list[str] = []

    def pretend(command: list[Any], *, check: bool) -> None:
        words = [str(word) for word in command]
        done.append(" ".join(words[2:]).replace(str(tmp_path), ""))
        if "venv" in words:
            (Path(words[-1]) / "lib" / "python3" / "site-packages").mkdir(parents=True)
        if "download" in words:
            with zipfile.ZipFile(Path(words[-2], "w.whl"), "w") as wheel:
                for name in ("vllm/a.py", "vllm/third_party/triton_kernels/b/c.py"):
                    wheel.writestr(name, name)

    monkeypatch.setattr(subprocess, "run", pretend)
    make(tmp_path, "current")
    wanted = (
        "venv --clear /current",
        "pip install -q torch==2.13.0",
        f"... -e {ROOT}[test,peers]",
        "pip install -q --no-deps fbgemm-gpu-cpu==1.8.0 ...",
        "... vllm==0.33.0",
    )
    assert fits("\n".join(wanted), "\n".join([*done, ""]))
    site = tmp_path / "current" / "lib" / "python3" / "site-packages"
    found = [path.relative_to(site).as_posix() for path in site.rglob("*") if path.is_file()]
    assert found == ["triton_kernels/b/c.py"]
    make(tmp_path, "current")
    assert len(done) == 5
    wheel = ENVIRONMENTS["current"]._replace(wheel="vllm==0.34.0")
    monkeypatch.setitem(environments.ENVIRONMENTS, "current", wheel)
    (tmp_path / "current" / "lib").rename(tmp_path / "old")  # which --clear removes
    make(tmp_path, "current")
    assert len(done) == 10


def test_what_is_absent_fails_where_tools_are_required(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("MXREF_REQUIRE_TOOLS", "1")
    said = "no_such_peer must be installed .*: pip install peer==1"
    with pytest.raises(pytest.fail.Exception, match=said):
        needs("no_such_peer", "peer==1")
    with pytest.raises(pytest.fail.Exception, match="no-such-tool must be installed"):
        tool("no-such-tool")
    monkeypatch.delenv("MXREF_REQUIRE_TOOLS")
    with pytest.raises(pytest.skip.Exception, match=said):
        needs("no_such_peer", "peer==1")


def test_what_no_package_brings_is_named(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("MXREF_REQUIRE_TOOLS", "1")
    monkeypatch.delenv("MXREF_TORCHAO_MAIN", raising=False)
    with pytest.raises(pytest.skip.Exception) as caught:
        checkout("MXREF_TORCHAO_MAIN")
    reason = f"Skipped: {caught.value}"
    assert line_of_not_run([reason, "Skipped: needs POSIX", "Skipped: not run: a GPU", reason]) == (
        "not run: a GPU: 1 test, torchao main (MXREF_TORCHAO_MAIN): 2 tests"
    )
    assert line_of_not_run(["Skipped: needs POSIX"]) == ""


@pytest.mark.parametrize(("until", "begins"), [("0", False), ("32503680000", True)])
def test_what_has_no_time_is_named_as_not_run(
    until: str, begins: bool, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("MXREF_UNTIL", until)
    name = "tests/tools/test_environments.py::test_what_no_package_brings_is_named"
    said = run(sys.executable, "-m", "pytest", "-p", "no:cacheprovider", name, cwd=ROOT)
    assert said.returncode == 0
    assert ("not run: for want of time: " in said.stdout) != begins


def test_no_test_of_peers_is_skipped_by_itself() -> None:
    """What it needs is asked of `needs`, which names it."""
    skips = re.compile(r"importorskip|skipif|pytest\.skip|mark\.skip|xfail|unittest")
    files = [*(ROOT / "tests" / "peers").rglob("*.py")]
    assert len(files) > 12
    assert [path.name for path in files if skips.search(path.read_text("utf-8"))] == []


@pytest.mark.parametrize(
    ("words", "said"),
    [
        (["tests/peers"], "tests/peers must be run with --peers and its environment"),
        (["--peers", "current", "tests/peers/older"], "tests/peers/older must be run with"),
        (["--peers", "older", "tests/peers/test_reports.py"], "test_reports.py must be run with"),
        (["--peers", "older"], "makes of older: it lacks torch==2.13.0, "),
    ],
)
def test_tests_of_peers_run_in_their_environment_alone(
    words: list[str], said: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    """This one, which has no torch, is none of them."""
    monkeypatch.setenv("MXREF_REQUIRE_TOOLS", "1")
    done = run(sys.executable, "-m", "pytest", "--collect-only", "-q", *words, cwd=ROOT)
    assert done.returncode == pytest.ExitCode.USAGE_ERROR
    assert said in done.stderr
