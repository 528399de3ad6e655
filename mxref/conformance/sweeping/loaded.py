"""The code that a target consists of: files that this process has loaded, and versions."""

from __future__ import annotations

import hashlib
import importlib.metadata
import os
import sys
import sysconfig
from collections.abc import Iterator, Mapping
from importlib.machinery import EXTENSION_SUFFIXES
from pathlib import Path
from typing import Any

__all__ = ["LoadedCode"]

#: Folders of what is installed; of such packages a version stands for the files.
_INSTALLED = ("site-packages", "dist-packages")
_STANDARD = tuple(
    os.path.realpath(sysconfig.get_path(name)) + os.sep for name in ("stdlib", "platstdlib")
)
_PYTHON = os.path.realpath(sys.base_prefix) + os.sep


class LoadedCode:
    """What a target has loaded so far.

    That is each loaded module outside of the standard library and of installed packages, installed
    ones of the target's own package, shared libraries below the folders of these, and the versions
    of installed packages that are compiled. A file is read when it is first noted. What only other
    processes load is not known.

    It is made before the target is loaded, to know what the target alone has loaded.
    """

    def __init__(self) -> None:
        self._before = frozenset(sys.modules)
        self._new: set[str] = set()
        self._files: dict[str, str] = {}
        self._versions = {"python": sys.version}

    def note(self, own: str) -> None:
        """Add what was loaded since.

        Args:
            own: the target's own package, of the top level.
        """
        for name, file in _modules():
            package, is_installed = name.partition(".")[0], _is_installed(file)
            if package == "mxref" != own:
                continue
            if name not in self._before and package != "mxref":  # which loads what it needs
                self._new.add(file)
            if file.startswith(_STANDARD) and not is_installed:
                continue
            if package == own or not is_installed:
                self._add(file)
            elif package not in self._versions and file.endswith(tuple(EXTENSION_SUFFIXES)):
                version = _version(package)
                if version:
                    self._versions[package] = version
                else:
                    self._add(file)
        folders = tuple({os.path.dirname(file) + os.sep for file in self._files})
        for file in _libraries():
            if file.startswith(folders) and not (file.startswith(_PYTHON) or _is_installed(file)):
                self._add(file)

    def _add(self, file: str) -> None:
        if file not in self._files:
            self._files[file] = _digest(file)

    def record(self) -> dict[str, Any]:
        """It as plain data."""
        return {"files": dict(self._files), "versions": dict(self._versions)}

    def resume(self, record: Mapping[str, Any]) -> str:
        """Add a record, if all of it is as it was; else a file or a version that has changed.

        A module that the target has loaded now, and had not loaded then, is a change, too.
        """
        files = {file: self._files.get(file) or _digest(file) for file in record["files"]}
        files |= {file: self._files[file] for file in self._files if file in self._new}
        for file, digest in files.items():
            if record["files"].get(file) != digest:
                return str(file)
        for package, version in record["versions"].items():
            if version != (sys.version if package == "python" else _version(package)):
                return f"the version of {package}"
        self._files |= record["files"]
        self._versions |= record["versions"]
        return ""


def _modules() -> Iterator[tuple[str, str]]:
    """The names and files of loaded modules, but for the command itself."""
    for name, module in list(sys.modules.items()):
        file = getattr(module, "__file__", None)
        if name != "__main__" and isinstance(file, str) and os.path.isfile(file):
            yield name, os.path.realpath(file)


def _libraries() -> Iterator[str]:
    """The files of shared libraries in this process, where the system tells them."""
    try:
        lines = Path("/proc/self/maps").read_text("utf-8", "surrogateescape").splitlines()
    except OSError:
        return
    files = {line.partition("/")[2] for line in lines if ".so" in line}
    yield from sorted(f"/{file}" for file in files if file and not file.endswith(" (deleted)"))


def _is_installed(file: str) -> bool:
    return any(f"{os.sep}{folder}{os.sep}" in file for folder in _INSTALLED)


def _version(package: str) -> str:
    """The version of an installed package; empty where none of this name is."""
    try:
        return importlib.metadata.version(package)
    except importlib.metadata.PackageNotFoundError:
        return ""


def _digest(file: str) -> str:
    """The SHA-256 of a file, empty if there is none."""
    try:
        return hashlib.sha256(Path(file).read_bytes()).hexdigest()
    except OSError:
        return ""
