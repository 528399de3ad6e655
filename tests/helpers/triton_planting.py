"""How bugs are planted in the Triton kernels: by the patches of data/triton.

A bug of the museum is the names of its mutants, one for each operation that it spoils. With its
patch the kernels are these mutants: they give their answers on every case of level 1, the wrong
ones included.
"""

from __future__ import annotations

from dataclasses import dataclass
from pathlib import Path

__all__ = ["Planted", "Rewrites", "patches"]

Rewrites = tuple[tuple[str, str], ...]


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
