"""How bugs of the museum are planted in the Triton kernels: by rewriting their text.

Each old text stands once in `mx_kernels.py`. With the new text in its place the kernels are that
mutant of the museum: they give its answers on every case of level 1, the wrong ones included.
"""

from __future__ import annotations

from dataclasses import dataclass

__all__ = [
    *("INFINITE", "LIMITED", "SUM", "Bugs", "Planted", "Rewrites"),
    *("after", "before", "instead", "part"),
]

Rewrites = tuple[tuple[str, str], ...]
#: The museum's names of a bug, one for each operation that it spoils, and how it is planted.
Bugs = dict[str, Rewrites]
SUM = "code + (tl.maximum(above, 0) << K.FRACTION)"
#: Of `encoded`: saturation, and what an infinity is.
LIMITED = f"code = tl.minimum({SUM}, top)"
INFINITE = "magnitude == 0x7F800000"


@dataclass(frozen=True, slots=True)
class Planted:
    """A bug in the kernels.

    Args:
        ids: the museum's names of it, one for each operation that it spoils.
        rewrites: old and new texts.
        floats: the float types from which the kernels are then the mutant.
        same: whether all answers are the museum's; else the kernels are wrong in their own way.
    """

    ids: str
    rewrites: Rewrites
    floats: tuple[str, ...]
    same: bool


def instead(old: str, *new: str) -> Rewrites:
    """Lines instead of the text, which begins with its indentation unless that is four."""
    indent = old[: len(old) - len(old.lstrip())]
    lines = [line.lstrip() for line in new]
    return ((old, indent + f"\n{indent or '    '}".join(lines)),)


def before(old: str, *new: str) -> Rewrites:
    """Lines before it."""
    return instead(old, *new, old)


def after(old: str, *new: str) -> Rewrites:
    """Lines after it."""
    return instead(old, old, *new)


def part(old: str, piece: str, new: str) -> Rewrites:
    """A piece of it replaced."""
    assert piece in old
    return instead(old, old.replace(piece, new))
