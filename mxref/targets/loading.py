"""Loading of targets: a Python file or a module, as a whole or one of its attributes."""

from __future__ import annotations

import os
import sys
from dataclasses import replace
from functools import partial
from types import ModuleType

from mxref.operations.registry import OPERATIONS
from mxref.support.text import unknown_name
from mxref.targets.imports import TargetError, imported
from mxref.targets.own_definitions import OwnDefinitions
from mxref.targets.target import PythonTarget, reading_attributes, target_of

__all__ = ["load_target", "split_spec"]


def load_target(spec: str) -> PythonTarget:
    """The target in a Python file (a path) or module (a dotted name), or in its attribute `:NAME`.

    Raises:
        TargetError: nothing there, an error while importing it, no operation in it, or a claim that
            is not known.
    """
    target = _loaded(spec)
    is_file = split_spec(spec)[0].endswith(".py")  # a module is imported once
    return replace(target, load=partial(_afresh, spec)) if is_file else target


def _afresh(spec: str) -> PythonTarget:
    """The target in a file that is run once more; the module of the first time stays known."""
    before = dict(sys.modules)
    try:
        return _loaded(spec)
    finally:
        sys.modules |= before


def _loaded(spec: str) -> PythonTarget:
    """The target that a spec names."""
    source, mode = split_spec(spec)
    module = imported(source)
    with reading_attributes(spec), OwnDefinitions.of(vars(module)).known():
        if mode and hasattr(module, mode):
            return target_of(getattr(module, mode), spec)
        modes = _modes(module)
        alone = any(hasattr(module, op) for op in OPERATIONS)
    if not mode and modes and not alone:
        one = " or ".join(f"{spec}:{name}" for name in modes)
        raise TargetError(
            f"target {spec} must have an operation, got objects that have: give {one}"
        )
    if not mode:
        return target_of(module, spec)
    has = unknown_name("mode", mode, modes) if modes else f"{source} has no modes"
    raise TargetError(f"target {spec}: {has}")


def split_spec(spec: str) -> tuple[str, str]:
    """The file or module in a target's spec, and the attribute; empty if the spec names none.

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
    """The attributes of a module that are targets themselves, except imported classes."""
    return {
        name: value
        for name, value in vars(module).items()
        if not (name.startswith("_") or isinstance(value, ModuleType | str | bytes))
        and not (isinstance(value, type) and value.__module__ != module.__name__)
        and any(hasattr(value, op) for op in OPERATIONS)
    }
