"""microxcaling (7bc41952), its C++: mx/cpp/mx.cuh compiled for the host.

`MXREF_MICROXCALING` names the checkout. The kernel quantize_mx_by_tile_cuda_kernel runs block by
block, in float32, as on a GPU that keeps subnormals; its rounding modes are NEAREST (ties away from
zero), EVEN and FLOOR. It gives numbers; those of a finite block are codes times the scale, exactly.
For bfloat16 it is asked before the result is rounded to bfloat16.
"""

import ctypes
from types import SimpleNamespace
from typing import Any

import numpy as np
from _peer import checkout, compiled
from _values import block_codes, scale_codes
from cuda_adapter import INCLUDE
from numpy.typing import NDArray

from mxref.formats.catalog import element_format

FORMATS = [
    "e5m2", "e4m3", "e3m2", "e2m3", "e2m1", "int8",
    "mxfp8_e5m2", "mxfp8_e4m3", "mxfp6_e3m2", "mxfp6_e2m3", "mxfp4_e2m1", "mxint8",
]  # fmt: skip
FLOATS = ["f32", "bf16"]
# Exponent bits, and significand bits with the sign: mx/formats.py.
_BITS = {"e5m2": (5, 4), "e4m3": (4, 5), "e3m2": (3, 4), "e2m3": (2, 5), "e2m1": (2, 3),
         "int8": (0, 8)}  # fmt: skip
_MODES = {"nearest": 0, "floor": 1, "even": 2}  # RoundingMode of mx/formats.py
_ROUNDINGS = {"nearest": "+rounding=ties_to_away", "even": "", "floor": "+rounding=toward_zero"}
_SOURCE = """
#include <cmath>
#include <cuda_runtime.h>
using std::abs; using std::isnan;
struct Index { long x = 0; } blockDim, blockIdx, threadIdx;  // blocks of one thread
float __shfl_xor_sync(unsigned, float x, int) { return x; }  // of a kernel that is not called
namespace torch { struct Tensor { int dim() const; const long *sizes() const; }; }
namespace at {  // its 16-bit floats, which are not used
struct Half { unsigned short x; operator float() const { return x; } };
struct BFloat16 : Half {};
}
#include "mx.cuh"
extern "C" void quantize(const float *in, float *out, float *scales, long n, int size, int exponent,
                         int significand, float largest, int mode) {
  blockDim.x = 1;
  for (blockIdx.x = 0; blockIdx.x < n; blockIdx.x++) {
    quantize_mx_by_tile_cuda_kernel<float>(in, 8, exponent, significand, largest, n, size, 1, size,
                                           1, false, (RoundingMode)mode, out);
    float amax = 0;
    for (int i = 0; i < size; i++) {
      float x = fabsf(in[blockIdx.x * size + i]);
      amax = x > amax || isnan(x) ? x : amax;
    }
    scales[blockIdx.x] = mx_get_shared_scale(get_biased_exponent(amax), 8, largest);
  }
}
"""
_ROOT = checkout("MXREF_MICROXCALING", "github.com/microsoft/microxcaling at 7bc41952")
_LIBRARY = compiled(_SOURCE, _ROOT / "mx" / "cpp", INCLUDE)


def _blocks(values: NDArray[Any], format: str, mode: str) -> tuple[NDArray[Any], NDArray[Any]]:
    """Numbers and scales of the blocks (n, k)."""
    values = np.ascontiguousarray(values, np.float32)
    numbers, scales = np.empty_like(values), np.empty(len(values), np.float32)
    pointers = [ctypes.c_void_p(array.ctypes.data) for array in (values, numbers, scales)]
    counts = [ctypes.c_long(len(values)), values.shape[1], *_BITS[format]]
    largest = ctypes.c_float(element_format(format).max_normal)
    _LIBRARY.quantize(*pointers, *counts, largest, _MODES[mode])
    return numbers, scales


def shared_scale(amax: NDArray[Any], format: str) -> NDArray[Any]:
    """`mx_get_shared_scale`."""
    return scale_codes(_blocks(amax[:, None], format, "even")[1])


def _rounding(mode: str) -> dict[str, Any]:
    """The functions and claims of a rounding mode, but for the profile."""

    def quantize(values: NDArray[Any], block_format: str) -> tuple[NDArray[Any], NDArray[Any]]:
        name = block_format.split("_")[-1].removeprefix("mx")
        numbers, scales = _blocks(values, name, mode)
        elements = numbers.astype(np.float64) / scales.astype(np.float64)[:, None]
        return block_codes(scales, elements, name)

    return {
        "POLICY": f"ocp{_ROUNDINGS[mode]}+zero_sign=dropped+underflow_sign=dropped",
        "FORMATS": FORMATS,
        "FLOATS": FLOATS,
        "quantize": quantize,
        "shared_scale": shared_scale,
    }


NEAREST = SimpleNamespace(PROFILE="microxcaling_cuda", **_rounding("nearest"))
EVEN = SimpleNamespace(PROFILE="microxcaling_cuda_even", **_rounding("even"))
FLOOR = SimpleNamespace(PROFILE="microxcaling_cuda_floor", **_rounding("floor"))
