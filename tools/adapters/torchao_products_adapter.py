"""Products of torchao 0.18.0 on a CPU, where MX is emulated: dequantized, then torch's float32.

MATMUL is `torch.mm` of two `MXTensor`; FLOOR and RCEIL are linear layers by `mx_mm`, which
`MXFP8Linear` calls, in a scale mode.
"""

from types import SimpleNamespace
from typing import Any

from _layers import functions
from _peer import array, peer, tensor
from numpy.typing import NDArray

_PIN = "torch==2.13.0 torchao==0.18.0"
torch = peer("torch", _PIN)
_TRAINING = peer("torchao.prototype.moe_training.mxfp8_linear", _PIN)
from _torchao import kernels, mx  # noqa: E402

_EMULATED = _TRAINING.KernelPreference.EMULATED
_IN_FLOATS = False  # the product for the gradient of w, unless it is quantized too
_FP8 = {"mxfp8_e5m2": torch.float8_e5m2, "mxfp8_e4m3": torch.float8_e4m3fn}
_TYPES = {**_FP8, "mxfp6_e3m2": mx.DTYPE_FP6_E3M2, "mxfp6_e2m3": mx.DTYPE_FP6_E2M3,
          "mxfp4_e2m1": torch.float4_e2m1fn_x2}  # fmt: skip


def _operand(scales: NDArray[Any], codes: NDArray[Any], name: str, dtype: Any) -> Any:
    elements = tensor(codes)
    if name in _FP8:
        elements = elements.view(_FP8[name])
    elif name == "mxfp4_e2m1":
        elements = kernels.pack_uint4(elements)
    scale = tensor(scales).view(torch.float8_e8m0fnu)
    more = {"act_quant_kwargs": None, "is_swizzled_scales": False}
    return mx.MXTensor(elements, scale, _TYPES[name], 32, dtype, _EMULATED, **more)


def _matmul(
    scales_a: NDArray[Any], codes_a: NDArray[Any], scales_b: NDArray[Any], codes_b: NDArray[Any],
    format_a: str, format_b: str, dtype: Any,
) -> NDArray[Any]:  # fmt: skip
    type = torch.float32 if dtype == "float32" else torch.bfloat16
    a = _operand(scales_a, codes_a, format_a, type)
    return array(torch.mm(a, _operand(scales_b, codes_b, format_b, type).t()))


def _layers(mode: str) -> dict[str, Any]:
    def layer(x: Any, w: Any, bias: Any, name: str) -> Any:
        casts = _TRAINING.MXFP8Dim0CastKernelChoice.TORCH, _TRAINING.MXFP8Dim1CastKernelChoice.TORCH
        how = (*casts, _TRAINING.ScaleCalculationMode[mode], _IN_FLOATS)
        y = _TRAINING.mx_mm.apply(x, w, *[_FP8[name]] * 3, 32, _EMULATED, *how)
        return y if bias is None else y + bias  # as MXFP8Linear does

    return {"FORMATS": [*_FP8], "FLOATS": ["f32", "bf16"], **functions(layer, filled=True)}


MATMUL = SimpleNamespace(
    POLICY="ocp",
    FORMATS=[*_TYPES],
    FLOATS=["f32", "bf16"],
    MULTIPLES=(1, 2, 32),  # it refuses a single column of FP4
    matmul=_matmul,
)
FLOOR = SimpleNamespace(POLICY="ocp+nan=signed", **_layers("FLOOR"))
RCEIL = SimpleNamespace(POLICY="ocp+scale_rule=rceil+nan=signed", **_layers("RCEIL"))
