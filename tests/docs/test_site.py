"""The site has every page, and its page of the API every public name; .ci/run builds it."""

from __future__ import annotations

import re
import runpy
from pathlib import Path

import readable
from helpers import ROOT, tool

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


def test_search_works_from_a_folder_and_nothing_comes_from_elsewhere() -> None:
    """Without a shim of its own the plugin would name one on another server."""
    assert "  - offline" in CONFIGURATION
    (shim,) = re.findall(r"polyfills: \[(\S*iframe-worker\S*)\]", CONFIGURATION)
    assert "//" not in shim
    assert "window.Worker = class" in (ROOT / "docs" / shim).read_text("utf-8")


def test_names_in_tables_are_not_broken() -> None:
    (style,) = re.findall(r"extra_css: \[(\S+)\]", CONFIGURATION)
    css = (ROOT / "docs" / style).read_text("utf-8")
    (rule,) = re.findall(r"table:not\(\[class\]\) code \{(.*?)\}", css)
    assert "word-break: normal" in rule
    assert "overflow-wrap: normal" in rule


def test_lists_are_those_that_github_shows() -> None:
    """A list may follow a paragraph at once, and its parts are indented by two spaces."""
    hook = runpy.run_path(str(ROOT / "tools" / "site" / "lists.py"))["on_page_markdown"]
    page = ["A.", "- one", "  on", "  - in", "", "  more", "- two", "", "```", "a", "- b", "```"]
    want = ["A.", "", "- one", "    on", "    - in", "", "    more", "", *page[6:]]
    assert hook("\n".join(page), page=None) == "\n".join(want)


def test_what_cannot_be_read_of_a_page_is_found(tmp_path: Path) -> None:
    """Planted: a name that a cell breaks, a table that is too wide, text that is cut and faint."""
    tool("chromium-headless-shell")
    cells = "".join(f"<td>{'wide' * 9}{n}" for n in range(9))
    page = f"""<!doctype html><meta charset=utf-8><style>
    td {{overflow-wrap: anywhere}} .broken {{width: 4em}} .broken td {{max-width: 4em}}
    .wide {{display: inline-block; max-width: 100%; overflow: auto}}
    .wide td {{overflow-wrap: normal}}
    </style><body><article class=md-content__inner>
    <table class=broken><tr><td>encode_scale</table> <table class=wide><tr>{cells}</table>
    <p style="width: 3em; overflow: hidden; white-space: nowrap">text that is cut</p>
    <p style="color: #ccc">faint</p></article>"""
    (tmp_path / "page.html").write_text(page)
    found = readable.site_problems(tmp_path)
    assert {one.split(": ", 1)[1].split(":")[0].split(",")[0] for one in found} == {
        "broken",
        "wide table",
        "hidden",
        "contrast 1.6",
    }
    assert "page.html, 390 px: broken: encode_scale" in found
