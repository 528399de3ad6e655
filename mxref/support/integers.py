"""Integers among the arguments of a call."""

from __future__ import annotations

import operator
from typing import Any

import numpy as np


def integer(value: Any) -> int:
    """An integer of Python or NumPy as a Python integer.

    Raises:
        TypeError: another type; a bool, too, which Python counts as an integer.

    >>> integer(3)
    3
    """
    if isinstance(value, (bool, np.bool_)):
        raise TypeError("an integer is required, got bool")
    return operator.index(value)
