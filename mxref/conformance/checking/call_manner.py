"""How the calls of some operations are asked and spoken of."""

from __future__ import annotations

from dataclasses import dataclass

__all__ = ["Manner", "in_shapes"]


@dataclass(frozen=True, slots=True)
class Manner:
    """How the calls of some operations are asked and spoken of.

    Args:
        calls: what they are, in the plural.
        size: what tells one call from another.
        unexplained: the kind of what is wrong if no rule says where.
        other_numbers: whether a call that is asked once more has other numbers then.
        threads: whether two threads ask at once.
        most: the share of calls beyond which a rule about wrong ones does not say that it is their
            size which decides.
    """

    calls: str = "calls"
    size: str = "size"
    unexplained: str = "size"
    other_numbers: bool = False
    threads: bool = True
    most: float = 1.0


def in_shapes(calls: str) -> Manner:
    """The manner of products and layers, which have one size for each of several axes."""
    return Manner(calls, "shape", "numbers", other_numbers=True, threads=False, most=0.8)
