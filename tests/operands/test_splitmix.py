"""Random orders: those of Python's sorting of the same words, of every number of them."""

from __future__ import annotations

import numpy as np
import pytest

from mxref.operands import splitmix
from mxref.operands.splitmix import drawn_order, splitmix64


def sorted_places(words: list[int], count: int) -> list[int]:
    return sorted(range(len(words)), key=words.__getitem__)[:count]


# 100,000 words have about one pair that is equal in its upper half.
@pytest.mark.parametrize("size", [1, 2, 100, 1764, 100_000])
@pytest.mark.parametrize("seed", [0, 9])
def test_an_order_is_that_of_sorted_words(seed: int, size: int) -> None:
    words = splitmix64(seed, size).tolist()
    for count in {0, 1, size // 50, size // 3, size}:
        assert drawn_order(seed, size, count).tolist() == sorted_places(words, count)


def test_words_with_equal_upper_halves_are_in_order(monkeypatch: pytest.MonkeyPatch) -> None:
    words = [7 << 32 | 5, 1, 7 << 32 | 9, 7 << 32, 6 << 48, 6 << 48 | 1 << 16, 0]
    monkeypatch.setattr(splitmix, "splitmix64", lambda seed, count: np.array(words, np.uint64))
    found = drawn_order.__wrapped__(0, len(words), len(words))
    assert found.tolist() == [6, 1, 3, 0, 2, 4, 5] == sorted_places(words, len(words))


def test_an_order_that_is_kept_cannot_be_changed() -> None:
    with pytest.raises(ValueError, match="read-only"):
        drawn_order(3, 10, 10)[0] = 1


@pytest.mark.parametrize("seed", [0, 7, 2**63, 2**64 - 1])
def test_one_word_is_that_among_others(seed: int) -> None:
    alone = [splitmix64(seed, 1, start).tolist() for start in range(50)]
    assert alone == [[word] for word in splitmix64(seed, 50).tolist()]
