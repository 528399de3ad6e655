"""Output arrays: new ones, or the checked `out` of the caller."""

from __future__ import annotations

from typing import Any

import numpy as np
from numpy.typing import DTypeLike, NDArray

from mxref.bits.floats import U8, FloatLayout, Floats
from mxref.support.host_arrays import refuse_masked


def codes_out(
    out: tuple[U8, U8] | None,
    codes: tuple[int, ...],
    scales: tuple[int, ...],
    *inputs: NDArray[Any],
    blank: bool = False,
    scale_dtype: DTypeLike = np.uint8,
) -> tuple[U8, NDArray[Any]]:
    """Arrays for codes and scale codes: new ones, or those of `out`, which may overlap nothing.

    New codes are zeros if `blank`.
    """
    if out is None:
        return (np.zeros if blank else np.empty)(codes, np.uint8), np.empty(scales, scale_dtype)
    if not isinstance(out, tuple) or len(out) != 2:
        raise TypeError(f"out must be a tuple of codes and scale codes, got {type(out).__name__}")
    for name, array, shape, dtype in (
        ("codes", out[0], codes, np.dtype(np.uint8)),
        ("scale_codes", out[1], scales, np.dtype(scale_dtype)),
    ):
        refuse_masked(array, "out")  # not all of its memory would be written
        wanted = f"out must hold {name} as a writable {dtype} array of shape {shape}"
        if not isinstance(array, np.ndarray) or array.dtype != dtype:
            raise TypeError(f"{wanted}, got {getattr(array, 'dtype', type(array).__name__)}")
        if array.shape != shape or not array.flags.writeable:
            state = "" if array.flags.writeable else ", read-only"
            raise ValueError(f"{wanted}, got shape {array.shape}{state}")
        _refuse_overlap(array, *inputs)
    _refuse_overlap(out[0], out[1])
    return np.asarray(out[0]), np.asarray(out[1])  # no subclasses


def floats_out(
    out: Floats | None, shape: tuple[int, ...], layout: FloatLayout, *inputs: NDArray[Any]
) -> NDArray[Any]:
    """Patterns to write: new ones, or those of `out`, which may overlap nothing."""
    return array_out(out, layout.dtype, shape, *inputs).view(layout.uint)


def array_out(
    out: NDArray[Any] | None, dtype: np.dtype[Any], shape: tuple[int, ...], *inputs: NDArray[Any]
) -> NDArray[Any]:
    """An array to write: a new one, or `out`, which may overlap nothing."""
    if out is None:
        return np.empty(shape, dtype)
    refuse_masked(out, "out")
    wanted = f"a writable C-contiguous {dtype} array of shape {shape}"
    if not isinstance(out, np.ndarray):
        raise TypeError(f"out must be {wanted}, got {type(out).__name__}")
    if out.shape != shape or out.dtype != dtype:
        raise ValueError(f"out must be {wanted}, got {out.dtype} of shape {out.shape}")
    if not out.flags.c_contiguous:
        raise ValueError(f"out must be {wanted}, got one with strides {out.strides}")
    if not out.flags.writeable:
        raise ValueError(f"out must be {wanted}, got a read-only one")
    _refuse_overlap(out, *inputs)
    return np.asarray(out)


def _refuse_overlap(array: NDArray[Any], *others: NDArray[Any]) -> None:
    """Refuse an array whose elements share memory, with one another or with another array's."""
    if _overlaps_itself(array) or any(np.may_share_memory(array, other) for other in others):
        raise ValueError(
            "out must share no memory with the input, with its other array or with itself: "
            "give arrays of their own"
        )


def _overlaps_itself(array: NDArray[Any]) -> bool:
    """Whether some stride is shorter than what the axes with smaller strides span."""
    spanned = array.itemsize
    for step, count in sorted(zip(map(abs, array.strides), array.shape, strict=True)):
        if count > 1 and step < spanned:
            return array.size > 0
        spanned += (count - 1) * step
    return False
