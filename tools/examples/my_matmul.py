"""A matrix product to check: FP8 E4M3, each block added in float32 and then scaled."""

from typing import Any

import ml_dtypes
import numpy as np
from numpy.typing import NDArray

FORMATS = ["mxfp8_e4m3"]
MULTIPLES = (1, 1, 32)  # of rows, columns and elements of a row; the rest is filled with zeros


def matmul(
    scales_a: NDArray[Any], codes_a: NDArray[Any], scales_b: NDArray[Any], codes_b: NDArray[Any],
    format_a: str, format_b: str,
) -> NDArray[Any]:  # fmt: skip
    """The product (m, n) of codes (m, k) and (n, k), in float32."""
    a, b = (codes.view(ml_dtypes.float8_e4m3fn).astype(np.float32) for codes in (codes_a, codes_b))
    total = np.zeros((len(a), len(b)), np.float32)
    for block in range(scales_a.shape[1]):
        some = slice(32 * block, 32 * block + 32)
        exponents = np.add.outer(scales_a[:, block].astype(int), scales_b[:, block].astype(int))
        total += np.ldexp(a[:, some] @ b[:, some].T, exponents - 254)
    nan = np.logical_or.outer((scales_a == 255).any(axis=1), (scales_b == 255).any(axis=1))
    return np.where(nan, np.float32(np.nan), total)
