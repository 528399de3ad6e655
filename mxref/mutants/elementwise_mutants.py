"""Class I: sums and products of codes gone wrong."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np
from numpy.typing import NDArray

from mxref.mutants.mutant import Function, Mutant, Mutants, wrong

__all__ = ["ELEMENTWISE"]

Array = NDArray[Any]
_BYTES = ("bytes",)


def _both(
    *,
    multiplied: bool = False,
    tie: Callable[[Array], Array] = np.rint,
    kind: Any = np.int64,
    divided: bool = False,
    one_scale: bool = False,
    zeros: tuple[int, int, int] = (1, 1, 1),
    first_code: bool = False,
    clamped: bool = True,
    ends: str = "",
) -> Function:
    """A `qlinear_add`, or `qlinear_mul`, right but for what is given and for near ties."""

    def run(
        a: Array, sa: float, za: int, b: Array, sb: float, zb: int, sy: float, zy: int
    ) -> Array:
        first, second, third = map(np.float32, (sa, sa if one_scale else sb, sy))
        x = a.astype(kind) - kind(za * zeros[0])
        w = (b[:, :1] if first_code else b).astype(kind) - kind(zb * zeros[1])
        zero = np.float32(zy * zeros[2])
        with np.errstate(over="ignore"):
            if multiplied:
                factor = first * (second / third) if divided else first * second / third
                y = (x * w).astype(np.float32) * factor + zero
            else:
                ratios = np.float64(first / third), np.float64(second / third)
                y = (x * ratios[0] + w * ratios[1] + zero).astype(np.float32)
            found = tie(y)
        info = np.iinfo(ends or a.dtype)
        ended: Array = np.clip(found, info.min, info.max) if clamped else found
        return ended.astype(np.int64).astype(a.dtype)

    return run


def _adds(run: Function, formats: tuple[str, ...] = ("int8", "uint8")) -> Mutant:
    return wrong(run, op="qlinear_add", formats=formats, floats=_BYTES, model="M27")


def _times(run: Function, formats: tuple[str, ...] = ("int8", "uint8")) -> Mutant:
    return wrong(run, op="qlinear_mul", formats=formats, floats=_BYTES, model="M28")


def _half_up(y: Array) -> Array:
    found: Array = np.floor(y + 0.5)
    return found


ELEMENTWISE: Mutants = {
    "I25 sum_tie_up: rounds a tie up": _adds(_both(tie=_half_up)),
    "I25b sum_truncated: cuts the quotient off": _adds(_both(tie=np.trunc)),
    "I25c sum_in_double: adds the terms in float64": _adds(_both()),
    "I25d zero_point_of_second_ignored: leaves the zero point of b out": _adds(
        _both(zeros=(1, 0, 1))
    ),
    "I25e scale_of_first: takes the scale of a for both": _adds(_both(one_scale=True)),
    "I25f first_code_of_row: adds the first code of a row of b to all": _adds(
        _both(first_code=True)
    ),
    "I25g sum_wraps: cuts the sum to 8 bits": _adds(_both(clamped=False)),
    "I25h signed_ends_of_sums: saturates at the ends of int8": _adds(
        _both(ends="int8"), ("uint8",)
    ),
    "I26 product_of_codes_tie_up: rounds a tie up": _times(_both(multiplied=True, tie=_half_up)),
    "I26b product_of_codes_truncated: cuts the quotient off": _times(
        _both(multiplied=True, tie=np.trunc)
    ),
    "I26c product_in_16_bits: multiplies codes in 16 bits": _times(
        _both(multiplied=True, kind=np.int16)
    ),
    "I26d quotient_first: divides the scale of b before it multiplies": _times(
        _both(multiplied=True, divided=True)
    ),
    "I26e zero_point_of_result_ignored: leaves the zero point of the result out": _times(
        _both(multiplied=True, zeros=(1, 1, 0))
    ),
    "I26f first_code_of_row_times: multiplies all by the first code of a row of b": _times(
        _both(multiplied=True, first_code=True)
    ),
    "I26g signed_ends_of_products: saturates at the ends of int8": _times(
        _both(multiplied=True, ends="int8"), ("uint8",)
    ),
}
