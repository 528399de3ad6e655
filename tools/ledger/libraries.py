"""The files of an adapter, and the libraries that it is about: what it pins, and what is here."""

from __future__ import annotations

import ast
import os
import re
import subprocess
from dataclasses import dataclass
from importlib import metadata
from pathlib import Path

__all__ = ["Pin", "files_of", "missing", "pins"]

#: `torch==2.13.0`, in what an adapter says that is to be installed.
_PINNED = re.compile(r"([\w-]+)==(\d[\w.]*\w)")
#: What all adapters share: it pins for those that call it.
_SHARED = "_peer.py"


@dataclass(frozen=True, slots=True)
class Pin:
    """A library in the version that an adapter is about.

    Args:
        name: of the package, or of the repository.
        version: of the package, or the first digits of the commit.
        variable: the environment variable that names the checkout, or empty for a package.
    """

    name: str
    version: str
    variable: str = ""

    def __str__(self) -> str:
        """Name and version."""
        return f"{self.name} {self.version}"

    @property
    def here(self) -> str:
        """The version that is here, without what follows a plus sign; empty if there is none."""
        if not self.variable:
            try:
                return metadata.version(self.name).partition("+")[0]
            except metadata.PackageNotFoundError:
                return ""
        folder = os.environ.get(self.variable)
        if not folder:
            return ""
        command = ["git", "-C", folder, "describe", "--always", "--abbrev=40", "--dirty"]
        ended = subprocess.run(
            [*command, "--exclude=*"], capture_output=True, text=True, check=False
        )
        return ended.stdout.strip()

    @property
    def is_here(self) -> bool:
        """Whether just this version is here."""
        here = self.here
        if not self.variable:
            return here == self.version
        return here.startswith(self.version) and not here.endswith("-dirty")


def files_of(adapter: Path) -> list[Path]:
    """The file of an adapter, and those beside it that it imports, directly or through others."""
    found, todo = [], [adapter]
    while todo:
        path = todo.pop(0)
        if path in found:
            continue
        found.append(path)
        for node in ast.walk(ast.parse(path.read_text("utf-8"))):
            names: list[str] = []
            if isinstance(node, ast.Import):
                names = [alias.name for alias in node.names]
            elif isinstance(node, ast.ImportFrom):
                names = [str(node.module)]
            others = (path.with_name(f"{name}.py") for name in names)
            todo += [other for other in others if other.exists()]
    return found


def pins(adapter: Path) -> list[Pin]:
    """What an adapter pins, by name; its own file comes before those that it imports.

    >>> [str(one) for one in pins(Path(__file__).parents[1] / "adapters" / "torchmx_adapter.py")]
    ['torch 2.13.0', 'torchao 0.6.1', 'torchmx 0.1.0']
    """
    found: dict[str, Pin] = {}
    for path in files_of(adapter):
        for node in ast.walk(ast.parse(path.read_text("utf-8"))) if path.name != _SHARED else ():
            if isinstance(node, ast.Constant) and isinstance(node.value, str):
                for name, version in _PINNED.findall(node.value):
                    found.setdefault(name, Pin(name, version))
            elif isinstance(node, ast.Call) and ast.unparse(node.func) == "checkout":
                variable, source = (ast.literal_eval(one) for one in node.args)
                name, _, commit = source.partition(" at ")
                found.setdefault(name, Pin(name, commit, variable))
    return [found[name] for name in sorted(found)]


def missing(adapter: Path) -> list[Pin]:
    """What an adapter pins and is not here in just this version."""
    return [one for one in pins(adapter) if not one.is_here]
