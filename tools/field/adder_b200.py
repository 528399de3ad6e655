"""A product that keeps 25 bits of each sum, as Blackwell's tensor core (DeepGEMM#176)."""

from typing import Any

from numpy.typing import NDArray

import mxref
from mxref.formats import block_format

FORMATS = ["mxfp8_e4m3"]


def matmul(
    scales_a: NDArray[Any], codes_a: NDArray[Any], scales_b: NDArray[Any], codes_b: NDArray[Any],
    format_a: str, format_b: str,
) -> NDArray[Any]:  # fmt: skip
    """The product (m, n), a stand-in for the device's."""
    a = mxref.Blocks(codes_a, scales_a, block_format(format_a), 1, codes_a.shape)
    b = mxref.Blocks(codes_b, scales_b, block_format(format_b), 1, codes_b.shape)
    return mxref.matmul(a, b.T, accumulation="aligned_25")
