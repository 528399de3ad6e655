"""Which elements amax may see."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from functools import partial

import numpy as np
from numpy.typing import NDArray

from mxref.bits.floats import Bool, FloatLayout
from mxref.conformance.verdict.cause.evidence import Words
from mxref.conformance.verdict.cause.hypotheses import told
from mxref.conformance.verdict.stages.steps import View


def _signed(words: Words, layout: FloatLayout) -> Words:
    sign = np.uint64(layout.sign_bit)
    return np.where((words & sign != 0) & ~_is_nan(words, layout), sign, words)


def _negative(words: Words, layout: FloatLayout) -> Words:
    sign = np.uint64(layout.sign_bit)
    return np.where((words & sign != 0) | _is_nan(words, layout), words, np.uint64(0))


def _is_nan(words: Words, layout: FloatLayout) -> Bool:
    return np.asarray(_magnitudes(words, layout) > layout.inf_bits)


def _magnitudes(words: Words, layout: FloatLayout) -> Words:
    return words & np.uint64(layout.sign_bit - 1)


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


def _rows(step: int) -> _Seen:
    """The elements of another block of the call."""
    return lambda words, _: np.roll(words, step, axis=0)


def _larger(count: int, *, apart: bool = False) -> _Seen:
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


#: The blocks as amax sees them, from their words; of the last five, the first steps of a reduction
#: compare signed numbers.
_Seen = Callable[[Words, FloatLayout], Words]
_SEEN: dict[str, _Seen] = {
    "signed": _signed,
    "negative_only": _negative,
    "second_largest": _second,
    "of_two_blocks": _pair,
    "block_before": _rows(1),
    "block_after": _rows(-1),
    "signed_in_two": _larger(2),
    "signed_in_four": _larger(4),
    "signed_in_eight": _larger(8),
    "signed_in_two_apart": _larger(2, apart=True),
    "signed_in_four_apart": _larger(4, apart=True),
}
_OF_OTHERS = ("of_two_blocks", "block_before", "block_after")
VIEWS = tuple(View(*one, mixes=one[0] in _OF_OTHERS) for one in told("view", _SEEN))


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


def _apart(some: Words, layout: FloatLayout, sees: _Seen, least: int, *, hidden: bool) -> Words:
    """The blocks as `sees` has them, but with all infinities and NaN from `least` on; see below."""
    kept = _magnitudes(some, layout) >= np.uint64(layout.inf_bits + least)
    return np.where(kept, some, sees(np.where(kept & hidden, np.uint64(0), some), layout))


#: How infinities and NaN are seen in a variant of a view: its name and words; the first magnitude
#: from infinity's on that is seen all the same; and whether the view itself does not see these.
_VARIANTS = (
    ("numbers", " where these are numbers", 0, True),
    ("specials", ", but infinities and NaN all the same", 0, False),
    ("nan", ", but NaN all the same", 1, False),
)


def variants(view: View) -> Iterator[View]:
    """A view, and others in which NaN, or NaN and infinities, are seen all the same.

    Of a view of other blocks one in which theirs are not seen.
    """
    yield view
    if view.words is None:
        return
    for name, text, least, hidden in _VARIANTS:
        if view.mixes or not hidden:
            words = partial(_apart, sees=view.words, least=least, hidden=hidden)
            yield View(f"{view.name}_{name}", f"{view.text}{text}", words, mixes=view.mixes)
