"""Casts of single numbers, and ExecuTorch's blocks: policies with at most one replaced stage.

Source: each profile's `source`; SPEC_NOTES, stages of profiles.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence

import numpy as np

from mxref.bits.float32 import F64Array, rounded
from mxref.bits.floats import F16, F32, F64, I64, U8
from mxref.policy.policy import Policy
from mxref.profiles.definition import Profile
from mxref.profiles.stages import Rows, Stages, element_by_policy, float32_bits

__all__ = ["PROFILES"]

_ALL = ("e5m2", "e4m3", "e3m2", "e2m3", "e2m1")
_FP8 = ("e5m2", "e4m3")
_FNUZ = ("e5m2fnuz", "e4m3fnuz")
_SCALES = {"encode_scale": ("e8m0",), "decode_scale": ("e8m0",)}


def _casts(formats: Sequence[str]) -> dict[str, tuple[str, ...]]:
    return {"encode": tuple(formats), "decode": tuple(formats)}


_HEADER = "NVIDIA CUDA headers, cuda_fp8.hpp, cuda_fp6.hpp, cuda_fp4.hpp, their host path: "
_CUDA = "13.5.37"


def _cuda() -> Iterator[Profile]:
    """The constructors of the header's types (`cuda`) and the conversions that they call."""
    yield Profile(
        "cuda",
        Policy.parse("ocp+nan=signed+scale_rounding=toward_positive+scale_of_inf=largest"),
        _HEADER + "the constructors: __NV_SATFINITE, to the nearest; E8M0 cudaRoundPosInf",
        _CUDA,
        checked="tools/adapters/cuda_adapter.py:CONSTRUCTORS",
        formats={**_casts(_ALL), **_SCALES},
        stages=Stages(element=cuda_element),
    )
    for name, policy in (("satfinite", "ocp"), ("nosat", "ocp+overflow=nonsaturating")):
        yield Profile(
            f"cuda_{name}",
            Policy.parse(f"{policy}+nan=signed"),
            f"{_HEADER}__nv_cvt_float_to_fp8 and its like with __NV_{name.upper()}",
            _CUDA,
            checked=f"tools/adapters/cuda_adapter.py:{name.upper()}",
            formats=_casts(_ALL),
            stages=Stages(element=cuda_element),
        )
    for mode, rounding, name in (
        ("rn", "+scale_rounding=ties_to_away", "cudaRoundNearest"),
        ("rz", "", "cudaRoundZero"),
        ("rp", "+scale_rounding=toward_positive", "cudaRoundPosInf"),
    ):
        # Rounding toward zero never overflows: a finite number beyond 2**127 gives FE.
        for tail, policy in (
            ("", "+scale_of_inf=largest"),
            ("_nosat", "" if mode == "rz" else "+scale_overflow=nan"),
        ):
            saturation = "NOSAT" if tail else "SATFINITE"
            yield Profile(
                f"cuda_e8m0_{mode}{tail}",
                Policy.parse(f"ocp{rounding}{policy}"),
                f"{_HEADER}__nv_cvt_float_to_e8m0 with {name} and __NV_{saturation}",
                _CUDA,
                checked=f"tools/adapters/cuda_adapter.py:E8M0_{mode.upper()}{tail.upper()}",
                formats=_SCALES,
                floats=("f32", "bf16", "f64"),
            )


def onnx_packed(codes: U8, format: str, policy: Policy) -> U8:
    """Packed bytes: FP6 takes no more of them than its bits fill."""
    from mxref.packing.elements import pack

    bits = {"e3m2": 6, "e2m3": 6, "e2m1": 4}[format] * codes.shape[-1]
    return pack(codes, format, policy)[..., : -(-bits // 8)]


_ONNX_FP = "ocp{}+nan=signed_quiet+nan_to_finite=opposite_zero+pre_rounding=float32"
_ONNX_UP = "+scale_rounding=toward_positive{}+tiny_scale=always_up"
_NEAREST = "+scale_rounding=ties_to_away{}+tiny_scale=as_if_zero"
_ONNX_SOURCE = "onnx/onnx, the reference evaluator's Cast (onnx/reference/ops/op_cast.py)"


def _onnx() -> Iterator[Profile]:
    packs = {"pack": ("e3m2", "e2m3", "e2m1"), "unpack": ("e3m2", "e2m3", "e2m1")}
    for name, policy, said, formats in (
        (
            "onnx",
            _ONNX_FP.format("") + _ONNX_UP.format(""),
            "",
            {**_casts((*_ALL, *_FNUZ)), **_SCALES, **packs},
        ),
        (
            "onnx_nosat",
            _ONNX_FP.format("+overflow=nonsaturating") + _ONNX_UP.format("+scale_overflow=nan"),
            ", saturate=0",
            {"encode": (*_ALL, *_FNUZ), "encode_scale": ("e8m0",)},
        ),
        ("onnx_down", "ocp+pre_rounding=float32", ", round_mode=down", {"encode_scale": ("e8m0",)}),
        (
            "onnx_nearest",
            "ocp+pre_rounding=float32" + _NEAREST.format(""),
            ", round_mode=nearest",
            {"encode_scale": ("e8m0",)},
        ),
    ):
        yield Profile(
            name,
            Policy.parse(policy),
            _ONNX_SOURCE + said,
            "1.23.2",
            checked="tools/adapters/onnx_adapter.py" + name[4:].upper().replace("_", ":"),
            formats=formats,
            stages=Stages(pack=onnx_packed),
        )


def cuda_element(x: F64Array, rows: Rows) -> I64:
    """NaN has no sign; that of a double keeps its sign, and in E5M2 a bit of its payload."""
    codes, fmt = element_by_policy(x, rows), rows.format
    if fmt.nan_code is None:
        return codes
    nan = np.full(codes.shape, fmt.nan_code)
    if rows.layout is F64:
        bits = x.view(np.int64)
        nan = codes if fmt.inf_code is None else bits >> 56 & 0x80 | 0x7E | bits >> 50 & 1
    return np.where(np.isnan(x), nan, codes)


def apytypes_element(x: F64Array, rows: Rows) -> I64:
    """Codes by policy; the code of NaN has the smallest payload."""
    codes = element_by_policy(x, rows)
    return np.where(np.isnan(x), codes & 0x80 | 0x7D, codes)


def openvino_element(x: F64Array, rows: Rows) -> I64:
    """Codes of the numbers rounded to float16; E5M2 is the upper byte of that, for NaN too.

    Below the normal numbers of float16, those that are rounded up to a power of two are doubled.
    """
    bits = float32_bits(x)
    carry = ((bits & 0x7F_FFFF) + 0x1000 >> 23 == 1) & (bits >> 23 & 0xFF < F32.bias - F16.bias)
    codes = element_by_policy(rounded(np.where(carry, 2 * x, x), F16), rows)
    if rows.format.inf_code is None:
        return codes
    return np.where(np.isnan(x), bits >> 24 & 0x80 | 0x7C | bits >> 21 & 3, codes)


_OPENVINO = "openvinotoolkit/openvino, src/core/src/type: Convert on the CPU"
_TORCH = "ocp{}+nan=signed+pre_rounding=float32"
_OTHERS = (
    Profile(
        "torch",
        Policy.parse(_TORCH.format("") + _NEAREST.format("+scale_overflow=nan")),
        "pytorch/pytorch, casts of Tensor.to: c10/util/Float8_e4m3fn.h and Float8_e8m0fnu.h",
        "2.13.0",
        checked="tools/adapters/torch_adapter.py",
        formats={**_casts(("e4m3",)), **_SCALES},
    ),
    Profile(
        "torch_2_12",
        Policy.parse(_TORCH.format("+overflow=nonsaturating")),
        "pytorch/pytorch, casts of Tensor.to before pytorch/pytorch#178817, which saturates since "
        "2.13: overflow and infinity are NaN; torch/headeronly/util/Float8_e4m3fn.h",
        "2.12.0",
        checked="that header, compiled by g++, on all 2**32 float32 patterns",
        formats=_casts(("e4m3",)),
    ),
    Profile(
        "torch_e5m2",
        Policy.parse(_TORCH.format("+overflow=nonsaturating")),
        "pytorch/pytorch, casts of Tensor.to: c10/util/Float8_e5m2.h, which overflows to infinity",
        "2.13.0",
        checked="tools/adapters/torch_adapter.py:E5M2",
        formats=_casts(("e5m2",)),
    ),
    Profile(
        "openvino",
        Policy.parse(
            "ocp+nan_to_finite=signed_max+scale_rounding=ties_to_even+scale_of_negative=code_00"
            "+scale_of_inf=largest"
        ),
        _OPENVINO,
        "2026.4.1",
        checked="tools/adapters/openvino_adapter.py",
        formats={**_casts(("e2m1",)), **_SCALES},
        floats=("f32", "f16", "bf16"),
    ),
    Profile(
        "openvino_fp8",
        Policy.parse("ocp+overflow=nonsaturating+nan=signed"),
        _OPENVINO + " (float8_e5m2.cpp, float16.cpp)",
        "2026.4.1",
        checked="tools/adapters/openvino_adapter.py:FP8",
        formats=_casts(_FP8),
        floats=("f32", "f16", "bf16"),
        stages=Stages(element=openvino_element),
    ),
    Profile(
        "apytypes",
        Policy.parse("ocp+overflow=nonsaturating+nan=signed"),
        "apytypes/apytypes, APyFloatArray of 5 exponent and 2 mantissa bits, which is E5M2",
        "0.5.1",
        checked="tools/adapters/apytypes_adapter.py",
        formats=_casts(("e5m2",)),
        stages=Stages(element=apytypes_element),
    ),
    Profile(
        "executorch",
        Policy(),
        "pytorch/executorch, extension/llm/export/mx.py: mx_dequantize",
        "1.5.1, torch 2.13.0",
        checked="tools/adapters/executorch_adapter.py",
        formats={"dequantize": ("mxfp8_e5m2", "mxfp8_e4m3")},
        floats=("f32", "bf16"),
    ),
)

PROFILES: tuple[Profile, ...] = (*_cuda(), *_onnx(), *_OTHERS)
