"""The state of floating-point arithmetic, which a call must leave as it is."""

from __future__ import annotations

import sys
from typing import NamedTuple

import numpy as np

__all__ = ["FloatState", "float_state", "state_changed"]


class FloatState(NamedTuple):
    """How the processor rounds and what becomes of subnormal numbers, each as seen in results."""

    rounding: tuple[bool, bool, bool]
    flushed: tuple[bool, bool]


def float_state() -> FloatState:
    """The state now.

    >>> float_state()  # ties_to_even; neither results nor inputs are flushed
    FloatState(rounding=(False, True, False), flushed=(False, False))
    """
    with np.errstate(all="ignore"):
        one, small, least = (np.float64(x) for x in (1.0, 2.0**-60, sys.float_info.min))
        # Upward, toward zero and downward differ from ties_to_even in these.
        rounding = bool(one + small > one), bool(one - small == one), bool(-one - small < -one)
        flushed = bool(least * np.float64(0.5) == 0), bool(np.float64(5e-324) * one == 0)
    return FloatState(rounding, flushed)


def state_changed(before: FloatState, after: FloatState, seterr: bool) -> str:  # noqa: FBT001
    """What calls have changed of the state, in words; empty if nothing.

    Args:
        before: the state before the first of them.
        after: the state now.
        seterr: whether NumPy treats floating-point errors otherwise than before the last call.

    >>> usual = float_state()
    >>> state_changed(usual, usual._replace(flushed=(True, True)), False)
    'leaves the processor flushing subnormal numbers to zero, or no longer so'
    """
    if before.rounding != after.rounding:
        return "leaves the processor in another rounding mode"
    if before.flushed != after.flushed:
        return "leaves the processor flushing subnormal numbers to zero, or no longer so"
    return "leaves NumPy treating floating-point errors otherwise (`np.seterr`)" if seterr else ""
