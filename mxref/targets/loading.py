"""Loading targets: from a Python file or a module, whole or one of its attributes."""

from __future__ import annotations

import importlib
import importlib.util
import os
import sys
from pathlib import Path
from types import ModuleType

from mxref.cases.words import OPERATIONS
from mxref.support.own_process import copies_end
from mxref.support.text import unknown_name
from mxref.targets.calls import is_fault, message
from mxref.targets.target import PythonTarget, TargetError, reading, target_of

__all__ = ["load_target", "split_spec"]


def load_target(spec: str) -> PythonTarget:
    """The target in a Python file (a path) or module (a dotted name), or in its attribute `:NAME`.

    Raises:
        TargetError: nothing there, an error while importing it, no operation in it, or a claim that
            is not known.
    """
    source, mode = split_spec(spec)
    module = _import(source)
    if not mode:
        return target_of(module, spec)
    with reading(spec):
        if hasattr(module, mode):
            return target_of(getattr(module, mode), spec)
        modes = _modes(module)
    has = unknown_name("mode", mode, modes) if modes else f"{source} has no modes"
    raise TargetError(f"target {spec}: {has}")


def split_spec(spec: str) -> tuple[str, str]:
    """The file or module that a target's spec names, and its attribute, empty if it names none.

    >>> split_spec("kernel.py:FLOOR"), split_spec("C:/kernel.py")
    (('kernel.py', 'FLOOR'), ('C:/kernel.py', ''))
    """
    source, _, mode = spec.rpartition(":")
    return (
        (source, mode)
        if source and mode.isidentifier() and not os.path.exists(spec)
        else (spec, "")
    )


def _modes(module: ModuleType) -> dict[str, object]:
    """The attributes of a module that are targets by themselves, imported classes left out."""
    return {
        name: value
        for name, value in vars(module).items()
        if not (name.startswith("_") or isinstance(value, ModuleType | str | bytes))
        and not (isinstance(value, type) and value.__module__ != module.__name__)
        and any(hasattr(value, op) for op in OPERATIONS)
    }


def _import(spec: str) -> ModuleType:
    path = Path(spec)
    is_path = path.suffix or path.exists() or len(path.parts) > 1
    hint = ""
    if path.suffix == ".py" and not path.exists():
        hint = ": there is no such file"
    elif path.suffix != ".py" and path.is_file():
        hint = ": a program is run by `mxref verify --cmd`"
    if is_path and not (path.suffix == ".py" and path.is_file()) and not _is_dotted(spec):
        raise TargetError(f"target {spec} must be a Python file (NAME.py) or a module name{hint}")
    folder = str(path.parent.resolve()) if path.suffix == ".py" else ""
    if folder not in sys.path:
        sys.path.insert(0, folder)  # what lies beside the target can be imported, as by `python`
    try:
        if path.suffix != ".py":
            with copies_end():
                return importlib.import_module(spec)
        loader = importlib.util.spec_from_file_location(f"mxref_target_{path.stem}", path)
        if loader is None or loader.loader is None:
            raise TargetError(f"target {spec} cannot be imported")
        module = importlib.util.module_from_spec(loader)
        sys.modules[loader.name] = module
        with copies_end():
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


def _elsewhere(path: Path, found: str | None) -> str:
    """The file of an error in words, if it is not the target itself."""
    return "" if found is None or Path(found).name == path.name else f" of {found}"


def _is_dotted(spec: str) -> bool:
    return all(part.isidentifier() for part in spec.split(".")) and not spec.endswith(".py")
