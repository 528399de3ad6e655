"""Which elements amax sees where the first steps of its reduction compare signed numbers."""

from __future__ import annotations

from collections.abc import Callable

import numpy as np

from mxref.bits.floats import FloatLayout
from mxref.conformance.verdict.cause.evidence import Words
from mxref.conformance.verdict.stages.steps import View

__all__ = ["REDUCED"]


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


def _view(count: int, *, apart: bool) -> View:
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


REDUCED = (
    *(_view(count, apart=False) for count in (2, 4, 8)),
    *(_view(count, apart=True) for count in (2, 4)),
)
