"""How far a check is: what it asks now, and the share of the time that is over."""

from __future__ import annotations

from collections.abc import Callable, Sequence

from mxref.cases.records import VectorFile
from mxref.operations.registry import LAYOUT_OPERATIONS, PRODUCT_OPERATIONS

__all__ = ["Progress", "Tell", "untold", "within"]

#: Called with what is asked now, and the share of the whole that is done, 0 to 1.
Tell = Callable[[str, float], None]

#: part -> parts of the time that a file of its operation takes there, as it was measured of mxref's
#: own functions: of numbers and blocks, of layouts and calls, of products and layers.
_TIMES: dict[str, tuple[int, int, int]] = {
    "the vectors": (15, 15, 15),
    "the vectors again, in other calls": (90, 0, 0),
    "layouts and integers in many sizes": (0, 230, 0),
    "products and layers in many shapes": (0, 0, 1700),
    "calls that follow others": (35, 35, 35),
    "every input of a kind": (5, 5, 5),
    "calls drawn like tensors": (40, 0, 0),
    "a search": (8, 8, 8),
}
#: The same for every input of a kind at level 2, which takes minutes.
_LEVEL_TWO = (2000, 500, 0)


class Progress:
    """The parts of a check in their order, and what is to be told of them.

    A part that is never begun is over when a later one begins.

    >>> told = []
    >>> progress = Progress(lambda what, share: told.append((what, round(share, 2))), [])
    >>> progress.begin("the vectors")(0.5)
    >>> told
    [('the vectors', 0.0), ('the vectors', 0.0)]
    """

    def __init__(
        self,
        tell: Tell,
        files: Sequence[VectorFile],
        *,
        level: int = 1,
        again: bool = True,
        search: bool = True,
    ) -> None:
        """Set the times of all parts.

        Args:
            tell: is told what is asked.
            files: the files that the target covers.
            level: 2 if all inputs are asked.
            again: whether other calls are asked beside the vectors.
            search: whether there is a search.
        """
        self._tell = tell
        counts = [0, 0, 0]
        for file in files:
            calls = file.op in LAYOUT_OPERATIONS or file.row.own_choices
            counts[2 if file.op in PRODUCT_OPERATIONS else 1 if calls else 0] += 1
        self._times: dict[str, int] = {}
        for part, times in _TIMES.items():
            every = part == "every input of a kind"
            asked = part == "the vectors" or (search if part == "a search" else again)
            some = _LEVEL_TWO if every and level == 2 else times if asked else (0, 0, 0)
            self._times[part] = sum(n * time for n, time in zip(counts, some, strict=True))

    def begin(self, part: str) -> Callable[[float], None]:
        """Tell that a part begins; returns what is called with the share of it that is done."""
        order = [*_TIMES]
        whole = max(sum(self._times.values()), 1)
        before = sum(self._times[one] for one in order[: order.index(part)])

        def tell(share: float) -> None:
            self._tell(part, (before + share * self._times[part]) / whole)

        tell(0.0)
        return tell


def untold(share: float) -> None:
    """What is called with the share that is done where nobody wants to know."""


def within(tell: Callable[[float], None], start: float, end: float) -> Callable[[float], None]:
    """What tells the share of a piece of a part, which begins and ends at two shares of that.

    >>> within(print, 0.5, 1)(0.5)
    0.75
    """
    return lambda share: tell(start + share * (end - start))
