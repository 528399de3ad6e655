"""Sampling of integer images at integer coordinates, exact."""

from __future__ import annotations

from fractions import Fraction
from typing import Any

import numpy as np
from numpy.typing import ArrayLike, NDArray

from mxref.integer.affine import QParams
from mxref.integer.integer_choices import Mode, Padding, Ties, chosen
from mxref.integer.nearest import nearest_integers
from mxref.integer.sampled_images import EXACT_PIXEL, Image
from mxref.support.integers import integer

__all__ = ["grid_sample"]


def grid_sample(
    q: ArrayLike,
    grid: ArrayLike,
    *,
    align_corners: bool,
    padding: str | Padding = "zeros",
    mode: str | Mode = "bilinear",
    zero_point: int = 0,
    ties: str | Ties = "even_code",
    channels_last: bool = False,
    scale: float | None = None,
    output: QParams | None = None,
) -> NDArray[Any]:
    """Samples of an image at SNORM16 coordinates: the exact mean of four pixels, rounded once.

    Args:
        q: codes (C, H, W) or a batch (N, C, H, W), int8, uint8, int16 or uint16; the result has
            their scale, unless another is given.
        grid: int16 codes (h, w, 2), or (N, h, w, 2) beside a batch, x first; -32767 and 32767 are
            the ends of the image.
        align_corners: whether the ends are the centres of the outer pixels, or their outer edges.
        padding: outside is the zero point (`zeros`), the nearest pixel (`border`) or the image
            mirrored at its ends (`reflection`).
        mode: `bilinear`, or `nearest`: the pixel at the coordinates rounded to even.
        zero_point: the code of 0.
        ties: `even_code`, or `even_step`, as dequantizing, sampling and quantizing have it.
        channels_last: whether images and result are (H, W, C), with N before.
        scale: of the image, read as float32; with `output`.
        output: another scale, zero point, range and dtype of the result.

    Returns:
        Codes (C, h, w) of q's dtype; with a batch (N, C, h, w).

    Raises:
        TypeError: codes or a grid of another dtype.
        ValueError: another shape, an empty image, a zero point that is no code, an unknown choice,
            one of `scale` and `output` alone, more than one output scale.

    Source: SPEC_NOTES Q13; torch 2.13 `grid_sample`.

    >>> grid_sample(np.int8([[[1, 2], [3, 4]]]), np.int16([[[0, 0]]]), align_corners=True).item()
    2
    >>> image, centre = np.int8([[[4, 5]]]), np.int16([[[0, 0]]])
    >>> for ties in ("even_code", "even_step"):  # 4.5 is 1.5 steps above the zero point
    ...     grid_sample(image, centre, align_corners=True, zero_point=3, ties=ties).item()
    4
    5
    >>> finer = QParams(0.25, zero_point=1)  # 4.5 * 0.5 are 9 steps of 0.25
    >>> grid_sample(image, centre, align_corners=True, scale=0.5, output=finer).item()
    10
    """
    zero_point = integer(zero_point, "zero_point")
    step = chosen(Ties, ties, "ties") is Ties.EVEN_STEP
    layout = {"align_corners": align_corners, "channels_last": channels_last}
    image = Image.of(q, grid, padding, mode, **layout)
    dtype = image.pixels.dtype
    if not np.iinfo(dtype).min <= zero_point <= np.iinfo(dtype).max:
        raise ValueError(f"zero_point must be a value of {dtype}, got {zero_point}")
    if (scale is None) != (output is None):
        raise ValueError("scale and output must be given together: the image's and the result's")
    total = image.totals(zero_point)
    if scale is None or output is None:
        whole, rest = np.divmod(total, EXACT_PIXEL)
        odd = whole + (0 if step else zero_point) & 1 == 1
        whole += (2 * rest > EXACT_PIXEL) | ((2 * rest == EXACT_PIXEL) & odd)
        return image.laid((whole + zero_point).astype(dtype))
    if not isinstance(output, QParams):
        raise TypeError(f"output must be QParams, got {type(output).__name__}")
    if output.axis is not None:
        raise ValueError(f"output must have one scale, got axis={output.axis}")
    source, shift = QParams(scale).single.item(), int(output.zero_point)
    steps = _rounded(total, source, output.single.item(), 0 if step else shift)
    codes = np.clip(steps + shift, output.quant_min, output.quant_max)
    return image.laid(codes.astype(output.dtype))


def _rounded(
    total: NDArray[np.int64], source: float, target: float, origin: int
) -> NDArray[np.int64]:
    """Totals times source/target as integers; a tie makes the sum with the origin even.

    A product and two quotients are off by less than 2**-50 of the number.
    """
    ratio = Fraction(source) / Fraction(target) / EXACT_PIXEL
    number = total.astype(np.float64) * (source / EXACT_PIXEL) / target + origin
    error = (np.abs(number) + 2 * abs(origin)) * 2.0**-50
    return nearest_integers(number, error, lambda i: int(total.flat[i]) * ratio + origin) - origin
