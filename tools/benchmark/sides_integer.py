"""The measurements of integer operations: `quantize_affine` beside torch's eager operator."""

from __future__ import annotations

import importlib
import importlib.util
import statistics
import time

import numpy as np

from benchmark.measure import in_turns
from mxref import integer

__all__ = ["exact_linear", "quantize_affine"]


def quantize_affine(elements: int, seconds: float, dtype: str) -> float | str:
    """How many times as fast as torch's `quantize_per_tensor`, on one core and the same array."""
    if importlib.util.find_spec("torch") is None:
        return "pip install torch==2.13.0"
    torch = importlib.import_module("torch")
    importlib.import_module("torch.ao.quantization.fx._decomposed")
    torch.set_num_threads(1)
    x = np.random.default_rng(0).standard_normal(elements, np.float32)
    info = np.iinfo(dtype)
    scale, zero_point, ends = float(np.float32(0.013)), 3, (int(info.min), int(info.max))
    qparams = integer.QParams(scale, zero_point, *ends, dtype)
    tensor, kind = torch.from_numpy(x), getattr(torch, dtype)
    operator = torch.ops.quantized_decomposed.quantize_per_tensor
    if not np.array_equal(
        integer.quantize_affine(x, qparams),
        operator(tensor, scale, zero_point, *ends, kind).numpy(),
    ):
        return "the codes differ"
    timing = in_turns(
        lambda: integer.quantize_affine(x, qparams),
        lambda: operator(tensor, scale, zero_point, *ends, kind),
        seconds,
        time.process_time,
    )
    return statistics.median(timing.ratios)


def exact_linear() -> float:
    """Seconds of the exact `linear_qcs8w` of 512 x 4096 inputs and 512 x 4096 weights."""
    drawn = np.random.default_rng(0)
    x = drawn.standard_normal((512, 4096), np.float32)
    w = drawn.integers(-128, 128, (512, 4096)).astype(np.int8)
    begin = time.perf_counter()
    integer.linear_qcs8w(x, w, drawn.uniform(0.001, 0.1, 512).astype(np.float32))
    return time.perf_counter() - begin
