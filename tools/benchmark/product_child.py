"""Print how many times as long `matmul` takes as NumPy's product of the dequantized operands.

A process of its own, as the threads of NumPy's BLAS are fixed when it is imported:

    OPENBLAS_NUM_THREADS=1 python tools/benchmark/product_child.py mxfp8_e4m3 1.0
"""

from __future__ import annotations

import statistics
import sys
import time

import numpy as np

import mxref
from benchmark.measure import in_turns

M, K, N = 256, 2048, 256


def main() -> None:
    """Measure the format of the first argument for the seconds of the second."""
    draws = np.random.default_rng(1)
    x, w = draws.standard_normal((M, K)), draws.standard_normal((N, K))
    a, b = (mxref.quantize(side, sys.argv[1], axis=1) for side in (x, w))
    left, right = a.dequantize(np.float64), b.T.dequantize(np.float64)
    exact = mxref.matmul(a, b.T, np.float64)
    if not np.allclose(exact, left @ right, rtol=0, atol=1e-9):
        raise ValueError("both products must be of the same matrices")
    timing = in_turns(
        lambda: mxref.matmul(a, b.T),
        lambda: left @ right,
        float(sys.argv[2]),
        time.process_time,
    )
    print(1 / statistics.median(timing.ratios))


if __name__ == "__main__":
    main()
