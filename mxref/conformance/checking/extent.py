"""How much a check asks beside the vectors."""

from __future__ import annotations

from dataclasses import dataclass

__all__ = ["Extent"]


@dataclass(frozen=True, slots=True)
class Extent:
    """How much is asked beside the vectors.

    Args:
        elements: the largest number of elements in a call; by the target's speed if None, nothing
            is asked again if 0.
        search: whether there is a search.
        seed: the seed of its questions.
        level: 2 to ask every exhaustive family.
        unfiled: whether formats and float types that no vector file has are asked, too.
        listing: whether all failures are going to be listed as known, so that the search compares
            with the policy itself also where the vectors fail.
    """

    elements: int | None = None
    search: bool = True
    seed: int = 0
    level: int = 1
    unfiled: bool = False
    listing: bool = False
