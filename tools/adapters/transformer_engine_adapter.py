"""Transformer Engine (2.20.0.dev0), MXFP8: the arithmetic of its kernels, compiled for the host.

`MXREF_TRANSFORMER_ENGINE` names the checkout. float_to_e8m0, exp2f_rcp and exp2f are taken from its
headers as they stand there; the casts are those of NVIDIA's headers. What stands between them in
quantize_mxfp8.cuh is written here for one block, since its kernels run on Blackwell only.
"""

import ctypes
import re
from typing import Any

import ml_dtypes
import numpy as np
from _peer import checkout, compiled
from cuda_adapter import INCLUDE
from numpy.typing import NDArray

__all__ = ["FLOATS", "FORMATS", "POLICY", "dequantize", "quantize", "shared_scale"]
PROFILE = "transformer_engine_mxfp8"
POLICY = "ocp+scale_rule=rceil_reciprocal+block_nan=ignore+block_inf=largest_scale"
FORMATS = ["e5m2", "e4m3", "mxfp8_e5m2", "mxfp8_e4m3"]
FLOATS = ["f32", "f16", "bf16"]
_LARGEST = {"e4m3": 448.0, "e5m2": 57344.0}
_FUNCTIONS = ["e8m0_t float_to_e8m0(", "float exp2f_rcp<float>(", "float exp2f("]
_BLOCKS = """
// Quantized_Limits<OType>::max_norm_rcp is `static constexpr float max_norm_rcp = 1.0 / max_norm`.
// The GPU's fmaxf leaves NaN out; that of a host does not leave out a signalling one.
extern "C" void quantize(const float *in, B *scales, B *codes, long n, int size, float largest,
                         int kind) {
  const float max_norm_rcp = 1.0 / largest;
  for (long block = 0; block < n; block++, in += size, codes += size) {
    float amax = 0.0f;
    for (int i = 0; i < size; i++) amax = fabsf(in[i]) > amax ? fabsf(in[i]) : amax;
    const e8m0_t biased_exponent = float_to_e8m0(amax * max_norm_rcp);
    const float block_scale_inverse = exp2f_rcp<float>(biased_exponent);
    scales[block] = biased_exponent;
    for (int i = 0; i < size; i++)
      codes[i] = __nv_cvt_float_to_fp8(in[i] * block_scale_inverse, __NV_SATFINITE,
                                       (__nv_fp8_interpretation_t)kind);
  }
}
extern "C" void scale(const B *scales, float *out, long n) {
  for (long i = 0; i < n; i++) out[i] = exp2f(scales[i]);
}
"""


def _source() -> str:
    """The functions of the checkout's headers, and the loop around them."""
    root = checkout("MXREF_TRANSFORMER_ENGINE", "github.com/NVIDIA/TransformerEngine at d0067d0da")
    folder = root / "transformer_engine" / "common" / "util"
    headers = "".join((folder / f"{name}.cuh").read_text() for name in ("ptx", "ptx_arch_spec"))
    text = "#include <cmath>\n#include <cstdint>\n#include <cstring>\n#include <cuda_fp8.h>\n"
    text += "using B = unsigned char; using e8m0_t = B; using std::isnan; using std::isinf;\n"
    text += "#define ARCH_BLACKWELL_FAMILY false\nconstexpr uint32_t FP32_MANTISSA_BITS = 23;\n"
    text += "float __int_as_float(int x) { float y; memcpy(&y, &x, 4); return y; }\n"
    text += "template <typename T> T exp2f_rcp(e8m0_t);\n"
    for name in _FUNCTIONS:
        found = re.search(r"(template <>\n)?[^\n]*" + re.escape(name) + r".*?\n}\n", headers, re.S)
        if found is None:
            raise ImportError(f"MXREF_TRANSFORMER_ENGINE must have {name}...) in common/util")
        text += found[0]
    return text + _BLOCKS


_LIBRARY = compiled(_source(), INCLUDE)


def _pointers(*arrays: NDArray[Any]) -> list[ctypes.c_void_p]:
    return [ctypes.c_void_p(array.ctypes.data) for array in arrays]


def quantize(values: NDArray[Any], block_format: str) -> tuple[NDArray[Any], NDArray[Any]]:
    """The steps 1 to 3 of quantize_mxfp8_kernel; 16-bit floats become float32, which is exact."""
    values, name = np.ascontiguousarray(values, np.float32), block_format.split("_")[-1]
    scales, codes = np.empty(len(values), np.uint8), np.empty(values.shape, np.uint8)
    counts = ctypes.c_long(len(values)), ctypes.c_int(values.shape[1])
    largest, kind = ctypes.c_float(_LARGEST[name]), int(name == "e5m2")
    _LIBRARY.quantize(*_pointers(values, scales, codes), *counts, largest, kind)
    return scales, codes


def shared_scale(amax: NDArray[Any], format: str) -> NDArray[Any]:
    """The scale of blocks of one element."""
    return quantize(amax[:, None], format)[0]


def dequantize(
    scale_codes: NDArray[Any], codes: NDArray[Any], block_format: str, dtype: Any
) -> NDArray[Any]:
    """dequantize_mxfp8_kernel: the product in float32, then the cast; ml_dtypes reads the codes."""
    elements = {"mxfp8_e4m3": ml_dtypes.float8_e4m3fn, "mxfp8_e5m2": ml_dtypes.float8_e5m2}
    scales = np.empty(len(scale_codes), np.float32)
    scale_codes = np.ascontiguousarray(scale_codes)
    _LIBRARY.scale(*_pointers(scale_codes, scales), ctypes.c_long(len(scales)))
    with np.errstate(over="ignore", invalid="ignore"):
        product = codes.view(elements[block_format]).astype(np.float32) * scales[:, None]
        numbers: NDArray[Any] = product.astype(dtype)
    return numbers
