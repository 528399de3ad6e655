"""How wrong kernels are planted: texts of data files become modules, functions and patched files.

A kernel is a text of its own, a function in the place of a right one, or old and new lines of a
right kernel. Of the patches of data/triton a bug of the museum is the names of its mutants, one for
each operation that it spoils. With its patch the kernels are these mutants: they give their answers
on every case of level 1, the wrong ones included.
"""

from __future__ import annotations

import tomllib
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any

__all__ = [
    "Planted",
    "Rewrites",
    "function_of",
    "kernel_texts",
    "patches",
    "rewritten",
    "written",
]

Rewrites = tuple[tuple[str, str], ...]


def kernel_texts(path: Path) -> dict[str, str]:
    """The text of each kernel of a file; beside it, in a table of the kernel, is what it does."""
    found = tomllib.loads(path.read_text("utf-8"))
    return {name: one if isinstance(one, str) else one["code"] for name, one in found.items()}


def written(path: Path, folder: Path, *beside: Path) -> Path:
    """The folder, with a module for each kernel of a file, and modules that these import."""
    texts = kernel_texts(path) | {one.stem: one.read_text("utf-8") for one in beside}
    for name, text in texts.items():
        (folder / f"{name}.py").write_bytes(text.encode())
    return folder


def function_of(name: str, text: str, space: Mapping[str, Any]) -> Callable[..., Any]:
    """The function of a name that a text defines, which sees what `space` has."""
    seen = dict(space)
    exec(text, seen)
    function: Callable[..., Any] = seen[name]
    return function


def rewritten(text: str, rewrites: Rewrites) -> str:
    """A text with new texts in place of old ones, each of which it has once."""
    for old, new in rewrites:
        assert text.count(old) == 1, old
        text = text.replace(old, new)
    return text


@dataclass(frozen=True, slots=True)
class Planted:
    """A bug in the kernels.

    Args:
        ids: the museum's names of it, one for each operation that it spoils.
        rewrites: old and new texts, each old one once in `mx_kernels.py`.
        floats: the float types from which the kernels are then the mutant.
        same: whether all answers are the museum's; else the kernels are wrong in their own way.
    """

    ids: str
    rewrites: Rewrites
    floats: tuple[str, ...]
    same: bool


def patches(name: str) -> dict[str, Rewrites]:
    """The bugs of a file: a name and lines as of a patch for each, with @@ between two places."""
    text = (Path(__file__).parent / "data" / "triton" / f"{name}.diff").read_text("utf-8")
    bugs = [bug.split("\n", 1) for bug in text.rstrip("\n").split("\n\n")[1:]]  # after a comment
    return {name: tuple(map(_rewrite, patch.split("\n@@\n"))) for name, patch in bugs}


def _rewrite(patch: str) -> tuple[str, str]:
    """Whole lines before and after."""
    sides = [[line[1:] for line in patch.split("\n") if line[0] in kept] for kept in (" -", " +")]
    old, new = ("\n".join(["", *side, ""]) for side in sides)
    return old, new
