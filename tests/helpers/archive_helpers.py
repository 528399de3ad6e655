"""The archives of `mxref regen --archive`, made once a run, each also unpacked."""

from __future__ import annotations

import zipfile
from pathlib import Path

import pytest
from made_once import texts_once

from mxref._version import VECTORS_VERSION
from mxref.cli import main


def archives_made(factory: pytest.TempPathFactory) -> Path:
    """The folder of the archives."""
    return Path(texts_once(factory, "archives", _make)["folder"])


def unpacked(made: Path, name: str) -> Path:
    """The folder of an unpacked archive."""
    return made / f"mxref-vectors-{VECTORS_VERSION}-{name}"


def _make(folder: Path) -> dict[str, str]:
    assert main(["regen", "--archive", str(folder)]) == 0
    for path in folder.glob("*.zip"):
        with zipfile.ZipFile(path) as archive:
            archive.extractall(folder)
    return {"folder": str(folder)}
