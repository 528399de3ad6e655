"""Tensor cores of NVIDIA as MMA-Sim 2.1.1 models them, which runs on a CPU.

ALIGNED_25 is kind::mxf8f6f4 of Blackwell and ALIGNED_35 its kind::mxf4, both with block scales.
ALIGNED_13 is FP8 on Hopper, which has none: a block's sum comes from the core, and is scaled and
added to the others by NumPy's float32, as software MX does there.
"""

from types import SimpleNamespace
from typing import Any

import numpy as np
from _peer import array, peer, tensor
from numpy.typing import NDArray

import mxref

_PIN = "torch==2.13.0 mmasim==2.1.1"
torch = peer("torch", _PIN)
_SIM = peer("mmasim.nv_ptx.sim", _PIN)
_FP8 = {"e5m2": torch.float8_e5m2, "e4m3": torch.float8_e4m3fn}
U8 = NDArray[np.uint8]


def _element(block_format: str) -> str:
    return block_format.partition("_")[2]


def _operand(codes: U8, name: str) -> Any:
    """FP8 by its type, FP6 in bits 5:0 and FP4 in bits 5:2 of a byte."""
    if name in _FP8:
        return tensor(codes).view(_FP8[name])
    return tensor(codes << 2 if name == "e2m1" else codes)


def _scales(scales: U8) -> Any:
    return tensor(scales).view(torch.float8_e8m0fnu)


def _matmul_25(
    scales_a: U8, codes_a: U8, scales_b: U8, codes_b: U8, format_a: str, format_b: str
) -> NDArray[Any]:
    names = [_element(name) for name in (format_a, format_b)]
    kind = f"kind::mxf8f6f4.block32.f32.{'.'.join(names)}.f32.ue8m0"
    core = _SIM.MMABlockScale("RTX Blackwell", f"m16n8k32.{kind}")
    total = torch.zeros(len(codes_a), len(codes_b))
    for i in range(scales_a.shape[1]):
        some = slice(32 * i, 32 * i + 32)
        a, b = _operand(codes_a[:, some], names[0]), _operand(codes_b[:, some], names[1])
        total = core(a, b.T, total, _scales(scales_a[:, [i]]), _scales(scales_b[:, [i]]).T)
    return array(total)


def _matmul_35(
    scales_a: U8, codes_a: U8, scales_b: U8, codes_b: U8, format_a: str, format_b: str
) -> NDArray[Any]:
    kind = "kind::mxf4.block32.f32.e2m1.e2m1.f32.ue8m0"
    core = _SIM.MMABlockScale("RTX Blackwell", f"m16n8k64.{kind}")
    total = torch.zeros(len(codes_a), len(codes_b))
    a, b = (mxref.pack(codes, "e2m1", fp4_packing="high_nibble_first")
            for codes in (codes_a, codes_b))  # fmt: skip
    for i in range(0, scales_a.shape[1], 2):
        some, both = slice(16 * i, 16 * i + 32), slice(i, i + 2)
        scales = _scales(scales_a[:, both]), _scales(scales_b[:, both]).T
        total = core(tensor(a[:, some]), tensor(b[:, some]).T, total, *scales)
    return array(total)


def _matmul_13(
    scales_a: U8, codes_a: U8, scales_b: U8, codes_b: U8, format_a: str, format_b: str
) -> NDArray[Any]:
    names = [_element(name) for name in (format_a, format_b)]
    core = _SIM.WGMMA("Hopper", f"m64n8k32.f32.{'.'.join(names)}")
    zero = torch.zeros(len(codes_a), len(codes_b))
    total = np.zeros(zero.shape, np.float32)
    powers_a, powers_b = (mxref.decode_scale(s).astype(np.float64) for s in (scales_a, scales_b))
    for i in range(scales_a.shape[1]):
        some = slice(32 * i, 32 * i + 32)
        a, b = _operand(codes_a[:, some], names[0]), _operand(codes_b[:, some], names[1])
        block = array(core(a, b.T, zero)).astype(np.float64)
        with np.errstate(over="ignore", under="ignore", invalid="ignore"):
            scaled = block * np.multiply.outer(powers_a[:, i], powers_b[:, i])
            total = total + scaled.astype(np.float32)
    return total


ALIGNED_25 = SimpleNamespace(
    POLICY="ocp+accumulation=aligned_25",
    FORMATS=["mxfp8_e5m2", "mxfp8_e4m3", "mxfp6_e3m2", "mxfp6_e2m3", "mxfp4_e2m1"],
    matmul=_matmul_25,
)
ALIGNED_35 = SimpleNamespace(
    POLICY="ocp+accumulation=aligned_35",
    FORMATS=["mxfp4_e2m1"],
    MULTIPLES=(1, 1, 64),
    matmul=_matmul_35,
)
ALIGNED_13 = SimpleNamespace(
    POLICY="ocp+accumulation=aligned_13",
    FORMATS=["mxfp8_e5m2", "mxfp8_e4m3"],
    matmul=_matmul_13,
)
