"""Which elements amax may see."""

from __future__ import annotations

from collections.abc import Callable, Iterator

import numpy as np
from numpy.typing import NDArray

from mxref.bits.floats import Bool, FloatLayout
from mxref.conformance.verdict.cause.evidence import Words
from mxref.conformance.verdict.stages.steps import View


def _signed(words: Words, layout: FloatLayout) -> Words:
    sign = np.uint64(layout.sign_bit)
    return np.where((words & sign != 0) & ~_is_nan(words, layout), sign, words)


def _negative(words: Words, layout: FloatLayout) -> Words:
    sign = np.uint64(layout.sign_bit)
    return np.where((words & sign != 0) | _is_nan(words, layout), words, np.uint64(0))


def _is_nan(words: Words, layout: FloatLayout) -> Bool:
    found: Bool = _magnitudes(words, layout) > layout.inf_bits
    return found


def _magnitudes(words: Words, layout: FloatLayout) -> Words:
    return words & np.uint64(layout.sign_bit - 1)


def _rows(step: int) -> View:
    """The elements of another block of the call."""
    which = "before" if step > 0 else "after"
    return View(
        f"block_{which}",
        f"amax is that of the block {which} it",
        lambda words, _: np.roll(words, step, axis=0),
        mixes=True,
    )


def _second(words: Words, layout: FloatLayout) -> Words:
    """All but the largest magnitude."""
    magnitudes = _magnitudes(words, layout)
    found = words.copy()
    found[np.arange(len(words)), magnitudes.argmax(axis=1)] = 0
    return found


def _pair(words: Words, layout: FloatLayout) -> Words:
    """Each element, or that of the other block of a pair of blocks where it is larger."""
    magnitudes = _magnitudes(words, layout)
    found: Words = np.maximum(magnitudes, magnitudes[other_of_pair(len(words))])
    return found


def other_of_pair(count: int) -> NDArray[np.intp]:
    """For each of some blocks the other one of blocks 2i and 2i + 1; itself if there is none.

    >>> other_of_pair(5).tolist()
    [1, 0, 3, 2, 4]
    """
    own = np.arange(count)
    return np.where((own ^ 1) < count, own ^ 1, own)


def _of_numbers(view: View) -> View:
    """A view of other blocks in which their infinities and NaN are not seen."""
    sees = view.words

    def words(some: Words, layout: FloatLayout) -> Words:
        special = _magnitudes(some, layout) >= np.uint64(layout.inf_bits)
        found = np.where(special, np.uint64(0), some)
        return np.where(special, some, found if sees is None else sees(found, layout))

    text = f"{view.text} where these are numbers"
    return View(f"{view.name}_numbers", text, words, mixes=True)


def _larger(count: int, *, apart: bool) -> Callable[[Words, FloatLayout], Words]:
    """The largest signed number of each few elements, NaN not counting, and 0 for the others."""

    def words(some: Words, layout: FloatLayout) -> Words:
        rows, lanes = some.shape
        grouped = some.reshape(rows, *((count, -1) if apart else (-1, count)))
        axis = 1 if apart else 2
        sign, low = np.uint64(layout.sign_bit), np.uint64(layout.sign_bit - 1)
        magnitude = (grouped & low).astype(np.int64)
        order = np.where(grouped & sign != 0, -magnitude, magnitude)
        order = np.where(magnitude > layout.inf_bits, np.iinfo(np.int64).min, order)
        kept = order == order.max(axis=axis, keepdims=True)
        return np.where(kept, grouped, np.uint64(0)).reshape(rows, lanes)

    return words


def _reduced(count: int, *, apart: bool) -> View:
    number = {2: "two", 4: "four", 8: "eight"}[count]
    where = f"lanes {count}i to {count}i + {count - 1}" if count > 2 else "lanes 2i and 2i + 1"
    which = f"{number} neighbouring elements ({where})"
    if apart:
        which = f"{number} elements a {'half' if count == 2 else 'quarter'} of a block apart"
    text = f"of each {which} amax sees the largest signed number alone"
    name = f"signed_in_{number}{'_apart' * apart}"
    return View(
        name, text.replace("largest", "larger") if count == 2 else text, _larger(count, apart=apart)
    )


VIEWS = (
    View("signed", "amax takes no magnitudes: a negative element does not count", _signed),
    View("negative_only", "amax sees negative elements alone", _negative),
    View("second_largest", "amax does not see the largest element, but the next", _second),
    View("of_two_blocks", "amax is that of blocks 2i and 2i + 1 together", _pair, mixes=True),
    _rows(1),
    _rows(-1),
    # The first steps of a reduction compare signed numbers.
    *(_reduced(count, apart=False) for count in (2, 4, 8)),
    *(_reduced(count, apart=True) for count in (2, 4)),
)


def without_lanes(unseen: Bool) -> View:
    """A view in which some lanes are not seen.

    >>> without_lanes(np.arange(32) == 31).text
    'amax does not see lane 31'
    """
    lanes = np.flatnonzero(unseen)
    mask = np.where(unseen, np.uint64(0), np.uint64((1 << 64) - 1))
    name = "unseen_" + "_".join(map(str, lanes))
    return View(name, f"amax does not see {lanes_in_words(unseen)}", lambda words, _: words & mask)


def lanes_in_words(some: Bool) -> str:
    """Lanes in words."""
    lanes = np.flatnonzero(some).tolist()
    if text := pattern_of(some):
        return text
    return f"lanes {', '.join(map(str, lanes[:-1]))} and {lanes[-1]}"


def pattern_of(some: Bool) -> str:
    """Lanes in words if they are all, one, one in a few, or follow each other; else empty."""
    lanes, others = np.flatnonzero(some).tolist(), np.flatnonzero(~some).tolist()
    if len(lanes) == 1:
        return f"lane {lanes[0]}"
    for text, where in _patterns(len(some)):
        if (where == some).all():
            return text
    if len(others) == 1:
        return f"other lanes than lane {others[0]}"
    whole = lanes == [*range(lanes[0], lanes[-1] + 1)]
    return f"lanes {lanes[0]} to {lanes[-1]}" if whole else ""


def _patterns(count: int) -> Iterator[tuple[str, Bool]]:
    lane = np.arange(count)
    yield "the even lanes", lane % 2 == 0
    yield "the odd lanes", lane % 2 == 1
    for n in (3, 4, 8, 16):
        for k in range(n):
            name = f"{n}n" + f" + {k}" * (k > 0)
            yield f"every lane {name}", lane % n == k
            yield f"other lanes than {name}", lane % n != k
    yield "the first half of the lanes", lane < count // 2
    yield "the second half of the lanes", lane >= count // 2


def variants(view: View) -> Iterator[View]:
    """A view, and others in which NaN, or NaN and infinities, are seen all the same.

    Of a view of other blocks one in which theirs are not seen.
    """
    yield view
    hides = view.words
    if hides is None:
        return
    if view.mixes:
        yield _of_numbers(view)
    for name, text, least in (("specials", "infinities and NaN", 0), ("nan", "NaN", 1)):

        def words(some: Words, layout: FloatLayout, least: int = least) -> Words:
            kept = _magnitudes(some, layout) >= np.uint64(layout.inf_bits + least)
            return np.where(kept, some, hides(some, layout))

        told = f"{view.text}, but {text} all the same"
        yield View(f"{view.name}_{name}", told, words, mixes=view.mixes)
