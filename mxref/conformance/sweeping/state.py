"""The state of a sweep in a file, from which it resumes after an interruption."""

from __future__ import annotations

import hashlib
import importlib.util
import json
import shutil
import time
from collections.abc import Iterable, Mapping
from pathlib import Path
from typing import Any

from mxref.conformance.sweeping.loaded import LoadedCode
from mxref.support.whole_file import read_file, write_file
from mxref.targets.loading import split_spec

__all__ = ["fingerprint", "read_state", "write_state"]

_VERSION = 4


def fingerprint(words: Iterable[str]) -> str:
    """A digest of the words of a command or of targets' names, and of the files that they name.

    A word may name a file, a program or a module. What they import is not included: `LoadedCode`
    has that of a Python target, and of a program nothing is known.
    """
    digest = hashlib.sha256()
    for word in words:
        data = _content(word)
        digest.update(f"{len(word.encode())} {len(data)} ".encode() + word.encode() + data)
    return digest.hexdigest()


def _content(word: str) -> bytes:
    word = split_spec(word)[0]
    places = [word, shutil.which(word)]
    if all(part.isidentifier() for part in word.split(".")):
        module = word.replace(".", "/")  # targets are imported from the working folder, too
        places += [f"{module}.py", f"{module}/__init__.py"]
        try:
            found = importlib.util.find_spec(word)
        except (ImportError, ValueError):
            found = None
        places.append(None if found is None else found.origin)
    for place in places:
        if place is not None and Path(place).is_file():
            return Path(place).read_bytes()
    return b""


def write_state(path: Path, identity: Mapping[str, Any], record: Mapping[str, Any]) -> None:
    """Write the state and today's date (UTC), whole or not at all.

    Raises:
        OSError: the file cannot be written.
    """
    date = time.strftime("%Y-%m-%d", time.gmtime())
    state = {"mxref_sweep": _VERSION, "date": date, "of": dict(identity), **record}
    write_file(path, json.dumps({**state, "sha256": _digest(state)}).encode("ascii"))


def _digest(state: Mapping[str, Any]) -> str:
    """The digest by which a changed state is recognised."""
    return hashlib.sha256(json.dumps(state).encode("ascii")).hexdigest()


def read_state(path: Path, identity: Mapping[str, Any], code: LoadedCode) -> dict[str, Any] | None:
    """The state in a file; None if there is no file.

    Args:
        path: the file.
        identity: what the sweep is of.
        code: what the target has loaded; what it had loaded then is added.

    Raises:
        ValueError: the file is no state, or of another sweep; the message names what differs.
    """
    try:
        data = read_file(path)
    except FileNotFoundError:
        return None
    try:
        state = json.loads(data)
        is_state = state.pop("sha256") == _digest(state) and state["mxref_sweep"] == _VERSION
    except (ValueError, KeyError, TypeError, AttributeError, RecursionError):
        is_state = False
    if not is_state:
        raise ValueError(f"state {path} must be a file that a sweep has written: give another name")
    for name, value in identity.items():
        found = state["of"].get(name)
        if found != value and name == "fingerprint":  # the target's name has been compared
            raise ValueError(
                f"state {path} is of a sweep before the target's file changed: "
                "remove it, or give another name"
            )
        if found != value:
            raise ValueError(
                f"state {path} is of a sweep with another {name}, {found!r} and not "
                f"{value!r}: remove it, or give another name"
            )
    what = code.resume(state["code"])
    if what:
        raise ValueError(
            f"state {path} is of a sweep before {what} changed: remove it, or give another name"
        )
    result: dict[str, Any] = state
    return result
