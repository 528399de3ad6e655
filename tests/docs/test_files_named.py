"""Every file that the documents name exists, and every link between them leads somewhere."""

from __future__ import annotations

import re
from pathlib import Path

import pytest
from helpers import ROOT
from tables import rows

FOLDERS = (".ci", ".github", "docs", "mxref", "tests", "tools", "vectors")
DOCUMENTS = (
    "README.md",
    "CONTRIBUTING.md",
    "SPEC_NOTES.md",
    *sorted(str(path.relative_to(ROOT)) for path in (ROOT / "docs").glob("*.md")),
    "docs/reports/README.md",
    "vectors/README.md",
)
#: Names of other projects' files, of what a reader makes, and of what is still to be written.
OTHERS = {document: {*names.split()} for document, names in rows("docs", "other_files")}
_SUFFIXES = "c|cpp|cu|cuh|h|hex|json|md|npy|npz|py|sh|toml|txt|v|yml"
_FILE = re.compile(rf"(?<![\w/.*-])((?:\.?[\w-]+/)*\.?[\w-]+\.(?:{_SUFFIXES}))(?![\w/*])")
_FOLDER = re.compile(rf"`((?:{'|'.join(map(re.escape, FOLDERS))})/[\w/.-]*)`")


def ends_of_paths() -> set[str]:
    """Every file of the checkout: its path, and each end of that which begins at a folder."""
    files = [path.name for path in ROOT.iterdir() if path.is_file()]
    for folder in FOLDERS:
        paths = (ROOT / folder).rglob("*.*")
        files += [str(path.relative_to(ROOT)) for path in paths if path.suffix != ".pyc"]
    parts = [file.split("/") for file in files]
    return {"/".join(some[start:]) for some in parts for start in range(len(some))}


@pytest.fixture(scope="module")
def known() -> set[str]:
    return ends_of_paths()


@pytest.mark.parametrize("name", DOCUMENTS)
def test_the_files_that_a_document_names_exist(name: str, known: set[str]) -> None:
    text = (ROOT / name).read_text("utf-8")
    links = re.findall(r"\]\(([^)#\s]+)[^)]*\)", text)
    named = set(_FILE.findall(re.sub(r"\]\([^)]*\)", "]", text)))
    assert named - known == OTHERS.get(name, set())
    absent = {folder for folder in _FOLDER.findall(text) if not (ROOT / folder).exists()}
    assert absent == {*_FOLDER.findall(text)} & OTHERS.get(name, set())
    for link in links:
        if "://" not in link:
            assert (ROOT / Path(name).parent / link).exists(), link


def test_the_documents_name_files() -> None:
    assert len(_FILE.findall((ROOT / "docs" / "architecture.md").read_text("utf-8"))) > 40
