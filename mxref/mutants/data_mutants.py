"""Class U: functions that take another way for whole calls of ordinary data, and are wrong there.

The vectors mix specials into every call, so that they cannot catch them.
"""

from __future__ import annotations

from collections.abc import Callable
from functools import partial
from typing import Any

import numpy as np
from numpy.typing import NDArray

from mxref.mutants.mutant import Function
from mxref.mutants.use_mutants import UseMutant, where

__all__ = ["DATA_USES"]

Array = NDArray[Any]


def _spoil_thirds(patterns: Array) -> None:
    patterns.reshape(-1)[::3] ^= 1


def _where(holds: Callable[[Array], bool]) -> Callable[[Function], Function]:
    """A function whose last array has a wrong bit in every third place where a property holds."""

    def is_wrong(first: Any, *_: Any) -> bool:
        values = np.asarray(first)
        return bool(values.size) and holds(values.astype(np.float64))

    return where(is_wrong, _spoil_thirds)


_numbers = partial(UseMutant, kinds=frozenset({"data", "size"}), ops=("encode", "quantize"))
_scales = partial(UseMutant, kinds=frozenset({"data", "size"}), ops=("dequantize",))

DATA_USES: tuple[UseMutant, ...] = (
    _numbers(
        "U60",
        "all_finite",
        "is wrong in calls of finite numbers alone",
        spoil=_where(lambda x: bool(np.isfinite(x).all())),
    ),
    _numbers(
        "U61",
        "all_in_range",
        "is wrong in calls whose numbers are at most 6",
        spoil=_where(lambda x: bool((np.abs(x) <= 6).all())),
    ),
    _numbers(
        "U62",
        "all_positive",
        "is wrong in calls without a negative number or a zero",
        spoil=_where(lambda x: bool((x > 0).all() and x.size > 40)),
    ),
    _numbers(
        "U62b",
        "all_negative",
        "is wrong in calls of negative numbers",
        spoil=_where(lambda x: bool((x < 0).all() and x.size > 40)),
    ),
    _numbers(
        "U62c",
        "after_relu",
        "is wrong in calls of numbers from 0 on, of which more than a third are 0",
        spoil=_where(lambda x: bool((x >= 0).all() and np.mean(x == 0) > 1 / 3 and x.size > 40)),
    ),
    _numbers(
        "U63",
        "numbers_in_order",
        "is wrong in calls of sorted numbers",
        spoil=_where(lambda x: bool((np.diff(x.ravel()) >= 0).all() and x.size > 40)),
    ),
    _numbers(
        "U63b",
        "equal_numbers",
        "is wrong in calls of equal numbers other than 0",
        spoil=_where(lambda x: bool((x == x.flat[0]).all() and x.flat[0] and x.size > 40)),
    ),
    _numbers(
        "U64",
        "sparse_numbers",
        "is wrong in calls of which more than three quarters are zeros",
        spoil=_where(lambda x: bool(np.isfinite(x).all() and np.mean(x == 0) > 3 / 4)),
    ),
    _scales(
        "U65",
        "blocks_of_one_scale",
        "is wrong in calls of which all blocks have one scale",
        spoil=_where(lambda x: bool((x == x[0]).all() and len(x) > 4)),
    ),
    _scales(
        "U65b",
        "middle_scales",
        "is wrong in calls whose scale codes lie from 64 to 190",
        spoil=_where(lambda x: bool(((x >= 64) & (x <= 190)).all() and len(x) > 4)),
    ),
)
