"""compressed-tensors 0.20.0 (vLLM): MXFP4 and MXFP6 (E2M3), stored.

The scale comes from `calculate_qparams` in the type of the values, the rest from the compressors'
`compress`. The mode MXFP8 has E4M3, READS has `decompress`.
"""

from types import SimpleNamespace
from typing import Any

import numpy as np
from _peer import array, peer, tensor
from numpy.typing import NDArray

import mxref

_PIN = "torch==2.13.0 compressed-tensors==0.20.0"
torch = peer("torch", _PIN)
_HELPERS = peer("compressed_tensors.quantization.utils.helpers", _PIN)
_QUANTIZATION = peer("compressed_tensors.quantization", _PIN)
_ROOM = "compressed_tensors.compressors"
_COMPRESSORS = {
    "e2m1": peer(f"{_ROOM}.mxfp4", _PIN).MXFP4PackedCompressor,
    "e2m3": peer(f"{_ROOM}.mxfp6", _PIN).MXFP6PackedCompressor,
    "e4m3": peer(f"{_ROOM}.mxfp8", _PIN).MXFP8QuantizationCompressor,
}
_BITS = {"e2m1": 4, "e2m3": 6, "e4m3": 8}

POLICY = "ocp+scale_rule=even"
PROFILE = "compressed_tensors"
FORMATS = ["e2m3", "e2m1", "mxfp6_e2m3", "mxfp4_e2m1"]
FLOATS = ["f32", "bf16", "f16"]


def _arguments(name: str) -> Any:
    return _QUANTIZATION.QuantizationArgs(
        num_bits=_BITS[name], type="float", strategy="group", group_size=32,
        scale_dtype=torch.uint8, zp_dtype=torch.uint8,
    )  # fmt: skip


def _compressed(values: Any, scales: Any, name: str) -> tuple[NDArray[Any], NDArray[Any]]:
    """Scale codes and element codes of rows of 32."""
    scheme = _QUANTIZATION.QuantizationScheme(targets=["Linear"], weights=_arguments(name))
    state = {"weight": values, "weight_scale": scales}
    state = _COMPRESSORS[name].compress(state, scheme)
    if name == "e4m3":
        return array(state["weight_scale"])[:, 0], array(state["weight"])
    packed = array(state["weight_packed"])
    return array(state["weight_scale"])[:, 0], mxref.unpack(packed, name, 32)


def _scales(values: Any, name: str) -> Any:
    """Scales of rows, as floats."""
    lowest, highest = values.amin(-1, keepdim=True), values.amax(-1, keepdim=True)
    return _HELPERS.calculate_qparams(lowest, highest, _arguments(name))[0]


def encode(values: NDArray[Any], format: str) -> NDArray[Any]:
    """`compress` under scales of 1, the last block filled up with zeros."""
    rows = tensor(np.pad(values, (0, -len(values) % 32)).reshape(-1, 32))
    ones = torch.ones(len(rows), 1, dtype=rows.dtype)
    return _compressed(rows, ones, format)[1].reshape(-1)[: len(values)]


def shared_scale(amax: NDArray[Any], format: str) -> NDArray[Any]:
    """`calculate_qparams`, its float scale stored by `compress`."""
    rows = tensor(amax[:, None].repeat(32, 1))
    return _compressed(rows, _scales(rows, format), format)[0]


def quantize(values: NDArray[Any], block_format: str) -> tuple[NDArray[Any], NDArray[Any]]:
    """`calculate_qparams`, then `compress`."""
    name, rows = block_format.split("_")[1], tensor(values)
    return _compressed(rows, _scales(rows, name), name)


def decompress(
    scale_codes: NDArray[Any], codes: NDArray[Any], block_format: str, dtype: Any
) -> NDArray[Any]:
    """`decompress`, which gives bfloat16."""
    name = block_format.split("_")[1]
    scheme = _QUANTIZATION.QuantizationScheme(targets=["Linear"], weights=_arguments(name))
    state = {"weight_scale": tensor(scale_codes)[:, None]}
    if name == "e4m3":
        state["weight"] = tensor(codes).view(torch.float8_e4m3fn)
    else:
        state["weight_packed"] = tensor(mxref.pack(codes, name))
    return array(_COMPRESSORS[name].decompress(state, scheme)["weight"])


#: `even` rounds amax to one mantissa bit here too, as for FP4, so the scale goes up from 448 on.
MXFP8 = SimpleNamespace(
    PROFILE="compressed_tensors",
    POLICY="ocp+scale_rule=rceil",
    FORMATS=["e4m3", "mxfp8_e4m3"],
    FLOATS=FLOATS,
    encode=encode,
    shared_scale=shared_scale,
    quantize=quantize,
)
READS = SimpleNamespace(
    PROFILE="compressed_tensors",
    POLICY="ocp+scale_ff=inf",
    FORMATS=["mxfp8_e4m3", "mxfp6_e2m3", "mxfp4_e2m1"],
    FLOATS=["bf16"],
    dequantize=decompress,
)
