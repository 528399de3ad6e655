"""Which adapters claim a profile, and a digest of all that can change an adapter's result."""

from __future__ import annotations

import ast
import hashlib
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from mxref.profiles import registry

__all__ = [
    "ADAPTERS",
    "Adapter",
    "claiming",
    "claiming_integers",
    "claiming_products",
    "digest",
    "meaning",
]

ROOT = Path(__file__).resolve().parents[2]
ADAPTERS = ROOT / "tools" / "adapters"
PROFILES = ROOT / "mxref" / "profiles"
#: What asks, counts and records; the other modules of this folder only read records.
ENGINE = ("asks", "examine", "question_kinds", "reasons", "recording", "tally")
#: The same for products.
PRODUCTS = ("products",)
#: The same for integer operations.
INTEGERS = ("integers",)


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


def digest(adapter: Adapter, share: int) -> str:
    """A digest of everything that a result depends on: adapter, profile, ledger, and the share."""
    engine = ENGINE if adapter.profile else INTEGERS if adapter.integers else PRODUCTS
    paths = {Path(__file__).with_name(f"{name}.py") for name in engine}
    paths |= _with_imports(adapter.path, "")
    if adapter.profile:
        paths |= _with_imports(PROFILES / f"{_family(adapter.profile)}.py", "mxref.profiles.")
    hashed = hashlib.sha256(f"{share} {adapter.mode}".encode())
    for path in sorted(paths):
        hashed.update(f"{path.name} {meaning(path.read_text('utf-8'))}\n".encode())
    return hashed.hexdigest()[:16]


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


def _family(profile: str) -> str:
    """The module of mxref.profiles that has a profile."""
    for family in registry.FAMILIES:
        if any(one.name == profile for one in family.PROFILES):
            return family.__name__.rpartition(".")[2]
    return "registry"


def _with_imports(path: Path, package: str) -> set[Path]:
    """A module and those that it imports from its folder, directly or through others.

    Args:
        path: the module.
        package: what stands before a module's name in an import, `mxref.profiles.` for instance.
    """
    found, todo = set[Path](), [path]
    while todo:
        found.add(todo[-1])
        for node in ast.walk(ast.parse(todo.pop().read_text("utf-8"))):
            names: list[str] = []
            if isinstance(node, ast.Import):
                names = [alias.name for alias in node.names]
            elif isinstance(node, ast.ImportFrom):
                names = [str(node.module)]
                names += [f"{node.module}.{alias.name}" for alias in node.names]
            for name in names:
                other = path.with_name(f"{name.removeprefix(package)}.py")
                if name.startswith(package) and other not in found and other.exists():
                    todo.append(other)
    return found
