"""What a whole call has or has not: properties of its words that a kernel may look for."""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from mxref.blocks.arithmetics import numbers as numbers_of
from mxref.cases.ordinary import sorts_of
from mxref.cases.records import VectorFile
from mxref.formats.catalog import CodeFormat

__all__ = ["features_of"]

#: Each property with its name where it holds and where it does not.
_NAMES = {
    "finite": ("finite numbers alone", "NaN or infinity"),
    "not negative": ("no negative number", "negative numbers"),
    "negative": ("negative numbers alone", "other numbers than negative ones"),
    "normal": ("no subnormal number", "subnormal numbers"),
    "nonzero": ("no zero", "zeros"),
    "in range": ("numbers in the format's range alone", "numbers beyond the format's range"),
    "float16": ("numbers in the range of float16", "numbers beyond the range of float16"),
    "many zeros": ("more zeros than a third", "fewer zeros than a third"),
    "sparse": ("more zeros than three quarters", "fewer zeros than three quarters"),
    "sorted": ("sorted numbers", "unsorted numbers"),
    "equal": ("equal numbers", "different numbers"),
    "NaN codes": ("no NaN code", "NaN codes"),
    "positive codes": ("no negative code", "negative codes"),
    "normal codes": ("normal codes and zeros alone", "subnormal codes"),
    "nonzero codes": ("no zero code", "zero codes"),
    "sparse codes": ("more zero codes than three quarters", "fewer zero codes than three quarters"),
    "sorted codes": ("sorted codes", "unsorted codes"),
    "equal codes": ("equal codes", "different codes"),
    "scales": ("equal scales", "different scales"),
    "middle scales": ("scale codes from 64 to 190", "scale codes below 64 or above 190"),
    "NaN scales": ("no scale code ff", "the scale code ff"),
}


def features_of(file: VectorFile, words: NDArray[np.uint64]) -> dict[str, str]:
    """The properties of a call in words, by their names; of each the one that holds.

    Args:
        file: the operation, format and float type.
        words: the words of the call, one case a row.
    """
    sorts = sorts_of(file)
    found: dict[str, bool] = {}
    layout = sorts.layout
    if sorts.numbers.stop:
        bits = words[:, sorts.numbers].astype(layout.uint)
        numbers = np.ascontiguousarray(bits).view(layout.dtype).astype(np.float64)
        magnitude = np.abs(numbers)
        finite = np.isfinite(numbers)
        negative = (bits & layout.uint.type(layout.sign_bit)) != 0
        least = 2.0 ** (1 - layout.bias)
        found = {
            "finite": bool(finite.all()),
            "not negative": not negative.any(),
            "negative": bool((numbers < 0).all()),
            "normal": not ((magnitude > 0) & (magnitude < least)).any(),
            "nonzero": bool((magnitude != 0).all()),
            "float16": bool((magnitude < 65_520).all()),
            "equal": bool((bits == bits[0, 0]).all()),
            "many zeros": bool(3 * (magnitude == 0).sum() > magnitude.size),
            "sparse": bool(4 * (magnitude == 0).sum() > 3 * magnitude.size),
            "sorted": bool((np.diff(numbers.ravel()) >= 0).all()),
        }
        if sorts.element is not None and numbers.shape[1] == 1:
            limit = float(np.max(np.abs(_finite_values(sorts.element))))
            found["in range"] = bool((magnitude[finite] <= limit).all() and finite.all())
    if sorts.codes.stop and sorts.element is not None:
        codes = words[:, sorts.codes]
        values = numbers_of(sorts.element)[codes.astype(np.int64)]
        least = sorts.element.min_normal
        found |= {
            "NaN codes": not np.isnan(values).any(),
            "positive codes": not np.signbit(values).any(),
            "normal codes": not ((np.abs(values) > 0) & (np.abs(values) < least)).any(),
            "nonzero codes": bool((values != 0).all()),
            "sparse codes": bool(4 * (values == 0).sum() > 3 * values.size),
            "equal codes": bool((codes == codes[0, 0]).all()),
            "sorted codes": bool((np.diff(values.ravel()) >= 0).all()),
        }
    if sorts.scales.stop:
        scales = words[:, sorts.scales]
        found["scales"] = bool((scales == scales[0, 0]).all())
        if sorts.scale is None:
            found["middle scales"] = bool(((scales >= 64) & (scales <= 190)).all())
            found["NaN scales"] = not (scales == 0xFF).any()
    return {name: _NAMES[name][not holds] for name, holds in found.items()}


def _finite_values(fmt: CodeFormat) -> NDArray[np.float64]:
    values = numbers_of(fmt)
    return values[np.isfinite(values)]
