"""Which adapters claim a profile, products or integers, and what their code means."""

from __future__ import annotations

import ast
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import Any

__all__ = [
    "ADAPTERS",
    "Adapter",
    "claiming",
    "claiming_integers",
    "claiming_products",
    "meaning",
]

ROOT = Path(__file__).resolve().parents[2]
ADAPTERS = ROOT / "tools" / "adapters"


@dataclass(frozen=True, slots=True)
class Adapter:
    """A target that claims a profile, products by a policy, or choices of integer operations.

    Args:
        path: its file.
        mode: the attribute of the file that it is, or empty.
        profile: the profile that it claims, or empty.
        integers: the choices of integer operations that it claims, or empty.
    """

    path: Path
    mode: str
    profile: str
    integers: str = ""

    @property
    def name(self) -> str:
        """The name of its record: `torch`, or `torchao.FLOOR` for a mode."""
        stem = self.path.stem.removesuffix("_adapter")
        return f"{stem}.{self.mode}" if self.mode else stem

    @property
    def spec(self) -> str:
        """What `load_target` takes."""
        return f"{self.path}:{self.mode}" if self.mode else str(self.path)


def claiming() -> dict[str, Adapter]:
    """The adapters that claim a profile by their names; no library is imported."""
    found = [one for path in ADAPTERS.glob("*_adapter.py") for one in _claims(path)]
    return {one.name: one for one in sorted(found, key=lambda one: one.name)}


def claiming_products() -> dict[str, Adapter]:
    """The adapters of products by their names: those that claim a policy and no profile."""
    found = [one for path in ADAPTERS.glob("*_adapter.py") for one in _claims(path, "POLICY")]
    profiles = {one.path for one in claiming().values()}
    return {
        one.name: Adapter(one.path, one.mode, "")
        for one in sorted(found, key=lambda one: one.name)
        if one.path not in profiles
    }


def claiming_integers() -> dict[str, Adapter]:
    """The adapters of integer operations by their names: those that claim INTEGERS."""
    found = [one for path in ADAPTERS.glob("*_adapter.py") for one in _claims(path, "INTEGERS")]
    return {
        one.name: Adapter(one.path, one.mode, "", one.profile)
        for one in sorted(found, key=lambda one: one.name)
    }


def _claims(path: Path, claim: str = "PROFILE") -> Iterator[Adapter]:
    """`PROFILE = "name"` for a whole file, `MODE = SimpleNamespace(PROFILE="name", ...)`.

    Or another claim, whose name is given.
    """
    for statement in ast.parse(path.read_text("utf-8")).body:
        if not isinstance(statement, ast.Assign) or not isinstance(statement.targets[0], ast.Name):
            continue
        name, value = statement.targets[0].id, statement.value
        if name == claim and isinstance(value, ast.Constant):
            yield Adapter(path, "", str(value.value))
        for word in value.keywords if isinstance(value, ast.Call) else ():
            if word.arg == claim and isinstance(word.value, ast.Constant):
                yield Adapter(path, name, str(word.value.value))


def meaning(source: str) -> str:
    """Python code without comments, docstrings and imports, the same in every version of Python.

    What an import brings from the same folder has a meaning of its own.

    >>> [meaning(code) == meaning("x = 1") for code in ("x = 1  # 1", "import os; x = 1", "x = 2")]
    [True, True, False]
    """
    return repr(_shape(ast.parse(source)))


def _shape(node: Any) -> Any:
    if isinstance(node, list):
        return [_shape(one) for one in node if not isinstance(one, ast.Import | ast.ImportFrom)]
    if not isinstance(node, ast.AST):
        return node
    fields = dict(ast.iter_fields(node))
    documented = ast.Module | ast.ClassDef | ast.FunctionDef | ast.AsyncFunctionDef
    if isinstance(node, documented) and ast.get_docstring(node, clean=False) is not None:
        fields["body"] = fields["body"][1:]
    shapes = {name: _shape(value) for name, value in fields.items()}
    # Fields that a newer Python adds are empty where the code does not use them.
    return type(node).__name__, {k: v for k, v in shapes.items() if v is not None and v != []}
