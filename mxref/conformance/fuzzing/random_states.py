"""The random numbers that a target draws: hypothesis must not set their generators back."""

from __future__ import annotations

import contextlib
import random
from collections.abc import Iterator
from typing import Any

import numpy as np

__all__ = ["RandomStates"]


class RandomStates:
    """A target's own states of `random` and `numpy.random`.

    Hypothesis seeds both generators with 0 for each example, so that a kernel which draws from them
    would draw the same numbers in every call. Inside `of_target` they go on from where the target
    left them, as they do without hypothesis; outside they are those of hypothesis. The first call
    of the target finds the states in which an instance of this class was made.

    >>> states = RandomStates()
    >>> def draw():
    ...     random.seed(0)
    ...     with states.of_target():
    ...         return random.random()
    >>> draw() == draw()
    False
    """

    def __init__(self) -> None:
        self._kept = _current()

    @contextlib.contextmanager
    def of_target(self) -> Iterator[None]:
        """Exchanges the states while the target is asked."""
        outside = _current()
        _set(self._kept)
        try:
            yield
        finally:
            self._kept = _current()
            _set(outside)


def _current() -> tuple[Any, Any]:
    return random.getstate(), np.random.get_state(legacy=False)  # noqa: NPY002 - that of targets


def _set(states: tuple[Any, Any]) -> None:
    random.setstate(states[0])
    np.random.set_state(states[1])  # noqa: NPY002 - that of targets
