"""What a process imports: a verb does not pay for what another one uses."""

from __future__ import annotations

import argparse
import importlib.metadata
import subprocess
import sys
from pathlib import Path

import numpy as np
import pytest
from helpers import ROOT, table
from tables import rows

from mxref.cli.command_line import VERBS
from mxref.cli.explain_answers import KINDS, LATE, Kind
from mxref.cli.explain_mutants import explain_mutants
from mxref.cli.explain_operations import explain_adder
from mxref.cli.explain_topics import explain_recipe
from mxref.cli.versions import versions
from mxref.mutants import MUTANTS
from mxref.products.adders import ADDERS
from mxref.profiles.recipes import RECIPES

#: Prints the modules that a command of words leaves imported.
CODE = table("kernels")["imports_code"]
KERNEL = str(ROOT / "tools" / "examples" / "my_kernel.py")
#: To read its words a verb needs no more of mxref than these, and some verbs these, too.
READS = {"_version", "cli", "support", "cases.folder", "cases.names"}
ALSO = {"formats": {"formats"}, "gen": {"cli.verify_verb"}, "check": {"cli.verify_verb"}}
PACKAGES = {"hypothesis", "jinja2", "matplotlib", "rich", "safetensors", "gguf", "torch"}
PACKAGES |= {"numpy.ma", "html.entities"}  # modules of packages that take time
#: The words of a command, and what it must not import of mxref, beside PACKAGES.
WITHOUT = rows("whole", "without")


def imported(*words: str, cwd: Path | None = None) -> set[str]:
    done = subprocess.run(
        [sys.executable, "-c", CODE, *words], capture_output=True, text=True, check=True, cwd=cwd
    )
    return set(done.stdout.split())


def some_of(modules: set[str], names: set[str]) -> set[str]:
    """The modules that are one of `names`, or are inside of one."""
    return {one for one in modules if any(f"{one}.".startswith(f"{name}.") for name in names)}


@pytest.mark.parametrize("verb", VERBS)
def test_the_words_of_a_verb_are_read_without_numpy_and_other_verbs(verb: str) -> None:
    found = imported(verb, "--help")
    assert found & {"numpy", "ml_dtypes"} == set()
    rooms = {f"mxref.{one}" for one in READS | ALSO.get(verb, set())}
    inside = {one for one in found if one.startswith("mxref.")}
    assert inside - some_of(inside, rooms) - {"mxref.cases"} == set()
    verbs = {one for one in found if one.startswith("mxref.cli.") and one.endswith("_verb")}
    assert verbs - rooms == {f"mxref.cli.{VERBS[verb]}"}


def test_the_list_of_verbs_is_printed_without_numpy() -> None:
    found = imported("--help")
    assert {f"mxref.cli.{module}" for module in VERBS.values()} <= found
    assert found & {"numpy", "ml_dtypes", "mxref.cases.records"} == set()


def test_versions_need_no_verb() -> None:
    found = imported("--version")
    assert found & {"numpy", "ml_dtypes", "mxref.cli.screen", "importlib.metadata"} == set()


def test_versions_are_those_of_the_metadata(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    found = versions()
    assert {"numpy", "ml_dtypes", "hypothesis"} <= found.keys()
    for name in found.keys() - {"mxref", "vectors"}:
        assert found[name].split(" ")[0] == importlib.metadata.version(name)
    first = tmp_path / "numpy-9.8.egg-info"  # of an older installer, first on the path
    first.mkdir()
    (first / "PKG-INFO").write_text("Name: numpy\nVersion: 9.8\n\nVersion: 7\n")
    monkeypatch.syspath_prepend(tmp_path)
    assert versions()["numpy"] == importlib.metadata.version("numpy") == "9.8"


@pytest.mark.parametrize(("words", "without"), WITHOUT, ids=[words for words, _ in WITHOUT])
def test_a_verb_imports_what_it_uses(words: str, without: str, tmp_path: Path) -> None:
    np.save(tmp_path / "x.npy", np.ones(32, np.float32))
    found = imported(*words.replace("KERNEL", KERNEL).split(), cwd=tmp_path)
    assert f"mxref.cli.{VERBS[words.split()[0]]}" in found
    assert some_of(found, PACKAGES | {f"mxref.{one}" for one in without.split()}) == set()


@pytest.mark.parametrize("late", LATE, ids=[one.__name__ for one in LATE])
def test_names_of_kinds_that_are_asked_last_are_those_of_nothing_else_but_some(late: Kind) -> None:
    names = {explain_adder: {*ADDERS}, explain_recipe: {*RECIPES}}
    names[explain_mutants] = {word for one in MUTANTS for word in (one.id, one.name, one.group)}
    others = [kind for kind in KINDS if kind is not late]

    def asked(kind: Kind, word: str) -> bool:
        options = argparse.Namespace(name=word, kind="", format=None, vectors=None)
        return bool(kind(options))

    assert all(asked(late, word) for word in names[late])
    shared = [word for word in names[late] if any(asked(kind, word) for kind in others)]
    assert sorted(shared) == sorted(LATE[late])
