"""The conversions of NVIDIA's CUDA headers (13.5), their host path compiled with g++.

No GPU is needed. The modes SATFINITE and NOSAT are the element casts, E8M0_RN and the like the
casts to E8M0, and CONSTRUCTORS is what `__nv_fp8_e4m3(x)` and the other constructors call.
"""

import ctypes
from collections.abc import Callable
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import numpy as np
from _peer import compiled, peer
from numpy.typing import NDArray

PIN = "nvidia-cuda-runtime==13.5.37 nvidia-cuda-crt==13.5.37 nvidia-cuda-cccl==13.3.5.0.6"
FORMATS = ["e5m2", "e4m3", "e3m2", "e2m3", "e2m1"]
_KINDS = {"e5m2": "8(v, sat, __NV_E5M2)", "e4m3": "8(v, sat, __NV_E4M3)",
          "e3m2": "6(v, __NV_E3M2, cudaRoundNearest)", "e2m3": "6(v, __NV_E2M3, cudaRoundNearest)",
          "e2m1": "4(v, __NV_E2M1, cudaRoundNearest)"}  # fmt: skip
_C_TYPES = {"float": "float", "double": "double", "halfraw": "__half_raw",
            "bfloat16raw": "__nv_bfloat16_raw"}  # fmt: skip


def _source() -> str:
    """A loop for each type and format around the header's function."""
    text = "".join(f"#include <cuda_fp{bits}.h>\n" for bits in (4, 6, 8))
    text += "using B = unsigned char;\n"
    loop = 'extern "C" void %s(const %s *in, %s *out, long n, __nv_saturation_t sat, int rounding) '
    loop += "{ for (long i = 0; i < n; i++) { %s v = in[i]; out[i] = %s; } }\n"
    for name, c_type in _C_TYPES.items():
        for format, call in _KINDS.items():
            call = f"__nv_cvt_{name}_to_fp{call}"
            text += loop % (f"{format}_{name}", c_type, "B", c_type, call)
        if name != "halfraw":
            call = f"__nv_cvt_{name}_to_e8m0(v, sat, (cudaRoundMode)rounding)"
            text += loop % (f"e8m0_{name}", c_type, "B", c_type, call)
    for format, call in _KINDS.items():
        call = f"__nv_cvt_fp{call[0]}_to_halfraw(v, __NV_{format.upper()})"
        text += loop % (f"{format}_decode", "B", "__half_raw", "B", call)
    return text + loop % (
        "e8m0_decode",
        "B",
        "__nv_bfloat16_raw",
        "B",
        "__nv_cvt_e8m0_to_bf16raw(v)",
    )


INCLUDE = Path(peer("nvidia.cu13", PIN).__path__[0], "include")
_LIBRARY = compiled(_source(), INCLUDE)
_NAMES = {"float32": "float", "float64": "double", "float16": "halfraw", "bfloat16": "bfloat16raw"}


def _run(name: str, values: NDArray[Any], out: str, sat: int, rounding: int) -> NDArray[Any]:
    values = np.ascontiguousarray(values)
    result = np.empty(len(values), out)
    pointers = (ctypes.c_void_p(array.ctypes.data) for array in (values, result))
    getattr(_LIBRARY, name)(*pointers, ctypes.c_long(len(values)), sat, rounding)
    return result


def encoder(sat: int) -> Callable[..., Any]:
    """`__nv_cvt_float_to_fp8` and its like; FP6 and FP4 always saturate.

    Args:
        sat: 0 for __NV_NOSAT, 1 for __NV_SATFINITE.
    """
    return lambda x, format: _run(f"{format}_{_NAMES[x.dtype.name]}", x, "u1", sat, 0)


def scale_encoder(sat: int, rounding: int) -> Callable[..., Any]:
    """`__nv_cvt_float_to_e8m0` and its like; rounding: cudaRoundNearest 0, Zero 1, PosInf 2."""
    return lambda x: _run(f"e8m0_{_NAMES[x.dtype.name]}", x, "u1", sat, rounding)


def decode(codes: NDArray[Any], format: str) -> NDArray[Any]:
    """`__nv_cvt_fp8_to_halfraw` and its like."""
    return _run(f"{format}_decode", codes, "f2", 0, 0).astype(np.float32)


def decode_scale(codes: NDArray[Any]) -> NDArray[Any]:
    """`__nv_cvt_e8m0_to_bf16raw`."""
    bits = _run("e8m0_decode", codes, "u2", 0, 0)
    return (bits.astype(np.uint32) << np.uint32(16)).view(np.float32)


def _constructor_of_scales(values: NDArray[Any]) -> NDArray[Any]:
    """`__nv_fp8_e8m0(x)`, which converts __half by way of float."""
    exact = values.astype(np.float32) if values.dtype == np.float16 else values
    result: NDArray[Any] = scale_encoder(1, 2)(exact)
    return result


def _elements(sat: int) -> dict[str, Any]:
    return {"FORMATS": FORMATS, "encode": encoder(sat), "decode": decode}


def _scales(sat: int, rounding: int) -> dict[str, Any]:
    return {
        "FORMATS": ["e8m0"],
        "FLOATS": ["f32", "bf16", "f64"],
        "encode_scale": scale_encoder(sat, rounding),
        "decode_scale": decode_scale,
    }


CONSTRUCTORS = SimpleNamespace(
    PROFILE="cuda",
    POLICY="ocp+scale_rounding=toward_positive+scale_of_inf=largest",
    **_elements(1),
    encode_scale=_constructor_of_scales,
    decode_scale=decode_scale,
)
SATFINITE = SimpleNamespace(PROFILE="cuda_satfinite", **_elements(1))
#: FP6 and FP4 saturate with __NV_NOSAT as well.
NOSAT = SimpleNamespace(PROFILE="cuda_nosat", POLICY="ocp+overflow=nonsaturating", **_elements(0))
E8M0_RN = SimpleNamespace(
    PROFILE="cuda_e8m0_rn",
    POLICY="ocp+scale_rounding=ties_to_away+scale_of_inf=largest",
    **_scales(1, 0),
)
E8M0_RN_NOSAT = SimpleNamespace(
    PROFILE="cuda_e8m0_rn_nosat",
    POLICY="ocp+scale_rounding=ties_to_away+scale_overflow=nan",
    **_scales(0, 0),
)
E8M0_RZ = SimpleNamespace(
    PROFILE="cuda_e8m0_rz", POLICY="ocp+scale_of_inf=largest", **_scales(1, 1)
)
E8M0_RZ_NOSAT = SimpleNamespace(PROFILE="cuda_e8m0_rz_nosat", POLICY="ocp", **_scales(0, 1))
E8M0_RP = SimpleNamespace(
    PROFILE="cuda_e8m0_rp",
    POLICY="ocp+scale_rounding=toward_positive+scale_of_inf=largest",
    **_scales(1, 2),
)
E8M0_RP_NOSAT = SimpleNamespace(
    PROFILE="cuda_e8m0_rp_nosat",
    POLICY="ocp+scale_rounding=toward_positive+scale_overflow=nan",
    **_scales(0, 2),
)
