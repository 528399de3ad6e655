"""Codes of numbers that are on the grid of a format: for libraries that give numbers, not codes."""

from typing import Any

import numpy as np
from numpy.typing import NDArray

import mxref

__all__ = ["block_codes", "element_codes", "scale_codes"]


def element_codes(values: NDArray[Any], format: str) -> NDArray[Any]:
    """The codes of elements.

    What has no code gets that of the policy: NaN and infinity as `overflow=nonsaturating` has them,
    numbers beyond the largest, which some libraries give, too.

    Raises:
        ValueError: a number between those of the format.
    """
    codes = mxref.encode(values, format, overflow="nonsaturating", int8_range="full")
    back = mxref.decode(codes, format)
    wrong = (back != values) & (np.abs(values) < mxref.formats.element_format(format).max_normal)
    if wrong.any():
        raise ValueError(f"elements must be numbers of {format}, got {values[wrong][0]}")
    return codes


def scale_codes(scales: NDArray[Any]) -> NDArray[Any]:
    """The codes of scales; NaN is FF.

    Raises:
        ValueError: a number that is no power of two of E8M0.
    """
    codes = mxref.encode_scale(scales)
    if not np.array_equal(mxref.decode_scale(codes), scales, equal_nan=True):
        raise ValueError(f"scales must be powers of two from 2**-127 to 2**127, got {scales}")
    return codes


def block_codes(
    scales: NDArray[Any], elements: NDArray[Any], format: str
) -> tuple[NDArray[Any], NDArray[Any]]:
    """Codes of scales (n,) and elements (n, k); where a scale is NaN, elements need none.

    Raises:
        ValueError: a number that has no code.
    """
    elements = np.where(np.isnan(scales)[:, np.newaxis], 0, elements)
    return scale_codes(scales), element_codes(elements, format)
