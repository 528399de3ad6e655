"""What a test needs besides mxref.

A tool or a package that is absent fails the test where MXREF_REQUIRE_TOOLS is set, as CI does;
elsewhere the test is skipped. What no package brings is skipped everywhere, and named at the end of
a run: `not run: microxcaling (MXREF_MICROXCALING): 30 tests`.
"""

from __future__ import annotations

import importlib
import os
import warnings
from collections import Counter
from collections.abc import Iterable
from pathlib import Path
from typing import Any, NoReturn

import pytest

_NOT_RUN = "not run: "


def absent(text: str) -> NoReturn:
    """Say that something is not here, in a sentence that says how to get it."""
    if os.environ.get("MXREF_REQUIRE_TOOLS"):
        pytest.fail(f"MXREF_REQUIRE_TOOLS is set, and {text}", pytrace=False)
    pytest.skip(text, allow_module_level=True)


def needs(module: str, requirement: str = "-e '.[test]'") -> Any:
    """A module of a package, which may warn when it is imported."""
    try:
        with warnings.catch_warnings(action="ignore"):
            return importlib.import_module(module)
    except ImportError as error:
        absent(f"{module} must be installed ({error}): pip install {requirement}")


def checkout(variable: str) -> Path:
    """The folder that an environment variable names."""
    if variable not in os.environ:
        name = variable.removeprefix("MXREF_").lower().replace("_", " ")
        not_run(f"{name} ({variable})")
    return Path(os.environ[variable])


def not_run(what: str) -> NoReturn:
    """Skip a test of what no package brings."""
    pytest.skip(_NOT_RUN + what)


def line_of_not_run(reasons: Iterable[str]) -> str:
    """The line at the end of a run, from the reasons of skipped tests; empty if nothing is."""
    names = Counter(one.partition(_NOT_RUN)[2] for one in reasons if _NOT_RUN in one)
    tests = [f"{name}: {count} test{'s'[: count > 1]}" for name, count in sorted(names.items())]
    return _NOT_RUN + ", ".join(tests) if tests else ""
