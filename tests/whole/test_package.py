"""The package itself: its names, and what importing it costs."""

from __future__ import annotations

import importlib
import subprocess
import sys
import textwrap
from inspect import isfunction
from typing import get_type_hints

import pytest

import mxref
from mxref import _public, golden


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


def test_dir_lists_public_names_only() -> None:
    mxref.encode(1.0, "e2m1")  # rooms are imported by then
    assert dir(mxref) == sorted(mxref.__all__)
    assert not any(name.startswith("_") for name in dir(mxref) if name != "__version__")


@pytest.mark.parametrize("name", [n for n in mxref.__all__ if isfunction(getattr(mxref, n))])
def test_annotations_of_functions_can_be_evaluated(name: str) -> None:
    assert get_type_hints(getattr(mxref, name)).keys() >= {"return"}


def test_importing_the_package_imports_no_numpy() -> None:
    assert run("import sys, mxref.pytest_plugin; print('numpy' in sys.modules)") == "False\n"


def test_rooms_are_imported_when_they_are_asked_for() -> None:
    assert run("import mxref; print(mxref.exact.encode(0x3F800000, 'f32', 'e2m1'))") == "2\n"
    # Each room may be the first one.
    assert run("import mxref.blocks; print(mxref.blocks.Blocks is mxref.Blocks)") == "True\n"


@pytest.mark.parametrize("room", ["golden", "conformance"])
def test_the_names_of_a_room_are_there(room: str) -> None:
    module = importlib.import_module(f"mxref.{room}")
    code = f"from mxref import {room} as r; print(*(getattr(r, n).__name__ for n in r.__all__))"
    assert run(code).split() == module.__all__
    assert set(module.__all__) <= set(dir(module))


def test_a_name_that_a_room_has_not_is_refused() -> None:
    with pytest.raises(AttributeError, match=r"^module 'mxref.golden' has no attribute 'buildd'$"):
        golden.buildd  # noqa: B018


def test_other_names_are_refused(monkeypatch: pytest.MonkeyPatch) -> None:
    for name in ("encodee", "__wrapped__"):
        with pytest.raises(AttributeError, match=f"^module 'mxref' has no attribute '{name}'$"):
            getattr(mxref, name)
    with pytest.raises(AttributeError, match=r"^module 'mxref' has no attribute '__main__'$"):
        vars(mxref)["__getattr__"]("__main__")  # which would run the command line

    def lacking(name: str) -> None:
        raise ModuleNotFoundError("No module named 'numpy'", name="numpy")

    monkeypatch.setattr(importlib, "import_module", lacking)
    with pytest.raises(ModuleNotFoundError, match="No module named 'numpy'"):
        mxref.room  # noqa: B018
