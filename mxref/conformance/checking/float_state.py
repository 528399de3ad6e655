"""The state of floating-point arithmetic, which a call must leave as it is."""

from __future__ import annotations

import sys

import numpy as np

__all__ = ["float_state", "state_changed"]

#: What each part of the state is, in words.
_PARTS = (
    "the rounding mode of the processor",
    "whether the processor flushes subnormal numbers to zero",
    "how NumPy treats floating-point errors (`np.seterr`)",
)


def float_state() -> tuple[object, ...]:
    """The rounding mode, what becomes of subnormal numbers, and NumPy's treatment of errors.

    >>> float_state()[:2]  # ties_to_even; neither inputs nor results are flushed
    ((False, True, False), (False, False))
    """
    with np.errstate(all="ignore"):
        one, small, least = (np.float64(x) for x in (1.0, 2.0**-60, sys.float_info.min))
        # Upward, toward zero and downward differ from ties_to_even in these.
        rounding = bool(one + small > one), bool(one - small == one), bool(-one - small < -one)
        flushed = bool(least * np.float64(0.5) == 0), bool(np.float64(5e-324) * one == 0)
    return rounding, flushed, tuple(np.geterr().items())


def state_changed(before: tuple[object, ...], after: tuple[object, ...]) -> str:
    """What a call has changed of the state, in words; empty if nothing.

    >>> state_changed((1, 2, 3), (1, 0, 3))
    'changes whether the processor flushes subnormal numbers to zero, and leaves it so'
    """
    parts = zip(_PARTS, before, after, strict=True)
    changed = [part for part, was, now in parts if was != now]
    return f"changes {' and '.join(changed)}, and leaves it so" if changed else ""
