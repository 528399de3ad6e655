"""Print how long a named adder takes, in nanoseconds a product, and how many times as long MMA-Sim.

A process of its own, as threads of libraries are fixed when they are imported. 128 x 128 outputs of
1,024 products, both on one core, in turns and in processor time:

    python tools/benchmark/adder_child.py hopper_fp8 1.0
"""

from __future__ import annotations

import statistics
import sys
import time
from pathlib import Path
from typing import Any

import ml_dtypes
import numpy as np
from numpy.typing import NDArray

import mxref
from benchmark.measure import in_turns

SIDE, K = 128, 1024
_TYPES = {
    "e5m2": ml_dtypes.float8_e5m2,
    "e5m2fnuz": ml_dtypes.float8_e5m2fnuz,
    "f16": np.float16,
    "bf16": ml_dtypes.bfloat16,
    "tf32": np.float32,
    "f32": np.float32,
}


def main() -> None:
    """Measure the adder of the first argument for the seconds of the second."""
    sys.path.insert(0, str(Path(__file__).parents[1] / "adapters"))
    import torch
    from mmasim_units import UNITS

    torch.set_num_threads(1)
    name, draws = sys.argv[1], np.random.default_rng(1)
    unit = next(one for one in UNITS if one.adder == name)
    format, adder = unit.formats[0], mxref.ADDERS[name]
    a, b = (draws.standard_normal((SIDE, K)).astype(_TYPES[format]) for _ in range(2))
    c: NDArray[Any] = np.zeros((SIDE, SIDE), np.float16 if adder.output == "f16" else np.float32)

    def mine() -> NDArray[Any]:
        return mxref.mma(a, b.T, c, adder=name)

    def theirs() -> NDArray[Any]:
        found: NDArray[Any] = unit.run(a, b, c, (format, format))
        return found

    if not np.array_equal(mine(), theirs()):
        raise ValueError("both products must have the same numbers")
    timing = in_turns(mine, theirs, float(sys.argv[2]), time.process_time)
    print(statistics.median(timing.mine) / (SIDE * SIDE * K) * 1e9, timing.ratio)


if __name__ == "__main__":
    main()
