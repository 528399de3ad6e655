"""Importing a target: a Python file, or a module by its dotted name."""

from __future__ import annotations

import importlib
import importlib.util
import sys
from pathlib import Path
from types import ModuleType

from mxref.support.own_names import names_kept
from mxref.support.own_process import copies_end
from mxref.targets.calls import is_fault, message

__all__ = ["TargetError", "imported", "is_of_library"]

#: Libraries of arrays, and modules of Python, that are imported before any target. Their functions
#: may have the name of an operation and are no target's: `numpy.matmul`, `struct.pack`,
#: `base64.encode`.
_LIBRARIES = frozenset(
    {"cupy", "jax", "ml_dtypes", "numpy", "scipy", "tensorflow", "torch"}
    | {"_codecs", "_operator", "_struct", "base64", "codecs", "operator", "struct"}
)


class TargetError(ValueError):
    """A target that cannot be loaded, or that claims something unknown."""


def imported(spec: str) -> ModuleType:
    """The module of a target; modules beside a target's file can be imported by it.

    Args:
        spec: a Python file or a dotted name.

    Raises:
        TargetError: there is none, or it raises when it is imported.
    """
    path = Path(spec)
    is_path = path.suffix or path.exists() or len(path.parts) > 1 or spec.startswith(".")
    hint = ""
    if path.suffix == ".py" and not path.exists():
        hint = ": there is no such file"
    elif path.suffix != ".py" and path.is_file():
        hint = ": a program is run by `mxref verify --cmd`"
    if is_path and not (path.suffix == ".py" and path.is_file()) and not _is_dotted(spec):
        raise TargetError(f"target {spec} must be a Python file (NAME.py) or a module name{hint}")
    folder = str(path.parent.resolve()) if path.suffix == ".py" else ""
    if folder not in sys.path:
        sys.path.insert(0, folder)  # modules beside the target can be imported, as by `python`
    try:
        if path.suffix != ".py":
            with copies_end(), names_kept():
                return importlib.import_module(spec)
        loader = importlib.util.spec_from_file_location(f"mxref_target_{path.stem}", path)
        if loader is None or loader.loader is None:
            raise TargetError(f"target {spec} cannot be imported")
        module = importlib.util.module_from_spec(loader)
        sys.modules[loader.name] = module
        with copies_end(), names_kept():
            loader.loader.exec_module(module)
    except SyntaxError as error:
        raise TargetError(
            f"target {spec} has a syntax error{f' in line {error.lineno}' if error.lineno else ''}"
            f"{_elsewhere(path, error.filename)}: {error.msg}"
        ) from error
    except BaseException as error:
        if not is_fault(error):
            raise
        raise TargetError(f"target {spec} cannot be imported: {message(error)}{hint}") from error
    return module


def is_of_library(value: object, name: str, owner: object) -> bool:
    """Whether an attribute of a target is a library's function, not one of the target's own.

    A wrapper that a library makes of the target's own function is the target's: `numpy.vectorize`,
    `functools.partial`, `torch.compile`.

    Args:
        value: the attribute.
        name: its name.
        owner: the target; if it is a module of a library, that library's functions count.

    >>> import operator
    >>> is_of_library(operator.matmul, "matmul", None), is_of_library(imported, "matmul", None)
    (True, False)
    """
    own = getattr(value, "__name__", name)
    libraries = _LIBRARIES - {_package(getattr(owner, "__name__", ""))}
    if _package(getattr(value, "__module__", None)) not in {"", *libraries}:
        return False
    spaces = (
        getattr(module, "__dict__", {})
        for path, module in list(sys.modules.items())
        if _package(path) in libraries
    )
    return any(space.get(one) is value for space in spaces for one in (name, str(own)))


def _package(path: object) -> str:
    """The outermost package in a module's dotted name; empty for anything that is no name."""
    return path.partition(".")[0] if isinstance(path, str) else ""


def _elsewhere(path: Path, found: str | None) -> str:
    """In which file an error was raised, in words; empty if in the target itself."""
    return "" if found is None or Path(found).name == path.name else f" of {found}"


def _is_dotted(spec: str) -> bool:
    return all(part.isidentifier() for part in spec.split(".")) and not spec.endswith(".py")
