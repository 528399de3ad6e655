"""Formats and profiles of a user's files, known by their names while a verb runs."""

from __future__ import annotations

import argparse
import contextlib
import re
import sys
from collections.abc import Iterator
from typing import Any

__all__ = ["add_formats_argument", "own_names"]

#: Arguments that name profiles: options, the sides of `diff`, the question of `explain`.
_PROFILES = ("profile", "a", "b", "words")
#: What names an object in a file, where else a profile is named.
_IN_FILE = re.compile(r".+\.py:\w+")


def add_formats_argument(parser: argparse.ArgumentParser) -> None:
    """Add the option that names a file of formats of a user."""
    about = "a Python file with formats of your own in FORMATS, which are known by their names then"
    parser.add_argument("--formats", metavar="FILE", help=about)


@contextlib.contextmanager
def own_names(options: argparse.Namespace) -> Iterator[None]:
    """Let a verb know the formats of ``--formats FILE``, and profiles given as ``FILE.py:NAME``.

    These are replaced by their names.

    Raises:
        ValueError: a file that cannot be imported, or no format or profile in it.
    """
    file: str | None = getattr(options, "formats", None)
    with contextlib.ExitStack() as scope:
        if file is not None:
            known = _formats_of(_imported(file))
            if not known.formats:
                raise ValueError(f"--formats must be a file with formats in FORMATS, got {file}")
            scope.enter_context(known.known())
        for option in _PROFILES:
            given = getattr(options, option, None)
            if isinstance(given, str):
                setattr(options, option, _name_of(given, scope))
            elif isinstance(given, list):
                setattr(options, option, [_name_of(one, scope) for one in given])
        yield


def _name_of(given: str, scope: contextlib.ExitStack) -> str:
    """The name of a profile, which is registered if it is given by its file."""
    if not _IN_FILE.fullmatch(given):
        return given
    from mxref.profiles import Profile, registered

    file, _, name = given.rpartition(":")
    module = _imported(file)
    found = getattr(module, name, None)
    if not isinstance(found, Profile):
        raise ValueError(f"profile must be a Profile of a file, got {given}: none has that name")
    scope.enter_context(_formats_of(module).known())
    scope.enter_context(registered(found))
    return found.name


def _formats_of(module: object) -> Any:
    from mxref.targets.own_formats import OwnFormats

    return OwnFormats.of(vars(module))


def _imported(file: str) -> object:
    from mxref.targets.imports import imported

    with contextlib.redirect_stdout(sys.stderr):  # the report owns stdout
        return imported(file)
