"""The site has every page, and its page of the API every public name; .ci/run builds it."""

from __future__ import annotations

import re

from helpers import ROOT

import mxref
from mxref import exact, profiles

CONFIGURATION = (ROOT / "mkdocs.yml").read_text("utf-8")


def test_every_page_is_in_the_navigation() -> None:
    listed = re.findall(r"^ +- .+: (\S+\.md)$", CONFIGURATION, re.MULTILINE)
    pages = {path.name for path in (ROOT / "docs").glob("*.md")}
    assert {name for name in listed if "/" not in name} == pages | {"SPEC_NOTES.md"}
    assert len(listed) == len({*listed})


def test_the_api_has_every_public_name() -> None:
    page = (ROOT / "docs" / "api.md").read_text("utf-8")
    named = re.findall(r"^::: (mxref[\w.]+)$", page, re.MULTILINE)
    constants = {"ADDERS", "VECTORS_VERSION", "__version__"}
    of_rooms = {  # what makes a user's own names known, by the room that has it
        "mxref.exact.own_formats.described": exact.described,
        "mxref.profiles.lookup.registered": profiles.registered,
    }
    for name, public in of_rooms.items():
        assert f"{public.__module__}.{public.__name__}" == name
        named.remove(name)
    functions = [name for name in named if name.count(".") > 1]
    assert sorted(name.rpartition(".")[2] for name in functions) == sorted(
        {*mxref.__all__} - constants - {"formats"}
    )
    for name in functions:  # each where it is, so that a moved one is noticed here
        module, _, last = name.rpartition(".")
        assert getattr(mxref, last).__module__ == module
    assert {name for name in named if name.count(".") == 1} == {
        "mxref.formats",
        "mxref.integer",
        "mxref.files",
        "mxref.strategies",
    }


def test_ci_builds_it() -> None:
    assert "mkdocs build --strict" in (ROOT / ".ci" / "run").read_text("ascii")
