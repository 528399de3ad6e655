"""The notebook docs/tutorial.ipynb prints what is stored in it; .ci/run executes it in Jupyter."""

from __future__ import annotations

import contextlib
import io
import json
from pathlib import Path
from typing import Any

import pytest
from helpers import ROOT

NOTEBOOK: dict[str, Any] = json.loads((ROOT / "docs" / "tutorial.ipynb").read_text("utf-8"))


def test_every_cell_prints_what_is_stored(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)  # a cell changes it
    monkeypatch.setattr("tempfile.tempdir", str(tmp_path))
    names: dict[str, Any] = {}
    cells = [cell for cell in NOTEBOOK["cells"] if cell["cell_type"] == "code"]
    assert len(cells) >= 5
    for cell in cells:
        with contextlib.redirect_stdout(io.StringIO()) as out:
            exec("".join(cell["source"]), names)
        stored = ["".join(output["text"]) for output in cell["outputs"]]
        assert [out.getvalue()] == stored
