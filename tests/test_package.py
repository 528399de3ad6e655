"""The package itself: its names, and what importing it costs."""

from __future__ import annotations

import importlib
import subprocess
import sys
import textwrap

import pytest

import mxref
from mxref import _public


def run(code: str) -> str:
    command = [sys.executable, "-c", textwrap.dedent(code)]
    return subprocess.run(command, capture_output=True, text=True, check=True).stdout


def test_every_public_name_is_there_in_a_fresh_interpreter() -> None:
    code = "import mxref; [print(getattr(getattr(mxref, n), '__module__', None)) for n in NAMES]"
    homes = [getattr(getattr(mxref, name), "__module__", None) for name in mxref.__all__]
    assert run(code.replace("NAMES", repr(mxref.__all__))).split() == list(map(str, homes))


def test_the_names_are_those_of_the_rooms() -> None:
    eager = {"__version__", "VECTORS_VERSION"}
    names = {name for name in vars(_public) if name[0].isalpha()} - {"annotations"}
    assert names == set(mxref.__all__) - eager
    assert all(getattr(mxref, name) is getattr(_public, name) for name in names)
    assert set(mxref.__all__) <= set(dir(mxref))


def test_importing_the_package_imports_no_numpy() -> None:
    assert run("import sys, mxref.pytest_plugin; print('numpy' in sys.modules)") == "False\n"


def test_rooms_are_imported_when_they_are_asked_for() -> None:
    assert run("import mxref; print(mxref.exact.encode(0x3F800000, 'f32', 'e2m1'))") == "2\n"
    # Each room may be the first one.
    assert run("import mxref.blocks; print(mxref.blocks.Blocks is mxref.Blocks)") == "True\n"


def test_other_names_are_refused(monkeypatch: pytest.MonkeyPatch) -> None:
    for name in ("encodee", "__wrapped__"):
        with pytest.raises(AttributeError, match=f"^module 'mxref' has no attribute '{name}'$"):
            getattr(mxref, name)

    def lacking(name: str) -> None:
        raise ModuleNotFoundError("No module named 'numpy'", name="numpy")

    monkeypatch.setattr(importlib, "import_module", lacking)
    with pytest.raises(ModuleNotFoundError, match="No module named 'numpy'"):
        mxref.room  # noqa: B018
