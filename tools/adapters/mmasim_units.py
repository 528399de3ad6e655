"""Matrix units of NVIDIA and AMD as MMA-Sim 2.1.1 models them: which of them is which adder."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any, NamedTuple

import numpy as np
from _peer import array, peer, tensor
from numpy.typing import NDArray

_PIN = "torch==2.13.0 mmasim==2.1.1"
torch = peer("torch", _PIN)
_NV = peer("mmasim.nv_ptx.sim", _PIN)
_AMD = peer("mmasim.amd.sim", _PIN)

_FP8 = ("e5m2", "e4m3")
_SMALL = (*_FP8, "e3m2", "e2m3", "e2m1")
_TYPES = {
    "e5m2": torch.float8_e5m2, "e4m3": torch.float8_e4m3fn,
    "e5m2fnuz": torch.float8_e5m2fnuz, "e4m3fnuz": torch.float8_e4m3fnuz,
    "f16": torch.float16, "bf16": torch.bfloat16, "tf32": torch.float32, "f32": torch.float32,
}  # fmt: skip
_AMD_NAMES = {"e4m3fnuz": "fp8", "e5m2fnuz": "bf8"}


class Unit(NamedTuple):
    """An instruction: the adder that it is, its formats, its products, and what makes it."""

    adder: str
    name: str
    formats: tuple[str, ...]
    k: int
    made: Callable[[str, str], Any]

    def run(
        self, a: NDArray[Any], b: NDArray[Any], c: NDArray[Any], formats: tuple[str, str]
    ) -> NDArray[Any]:
        """C + A·B for rows of a and rows of b, whose length is a multiple of `k`."""
        core = self.made(*formats)
        total = torch.from_numpy(np.array(c))
        for first in range(0, a.shape[1], self.k):
            some = slice(first, first + self.k)
            left, right = (_tensor(x[:, some], f) for x, f in zip((a, b), formats, strict=True))
            total = core(left, right.T, total)
        return array(total)


def _tensor(numbers: NDArray[Any], name: str) -> Any:
    """FP8 and wider by their types, FP6 in bits 5:0 and FP4 in bits 5:2 of a byte."""
    if name not in _TYPES:
        codes = np.ascontiguousarray(numbers).view(np.uint8)
        return tensor(codes << 2 if name == "e2m1" else codes)
    words = {1: np.uint8, 2: np.int16, 4: np.int32}[numbers.dtype.itemsize]
    return torch.from_numpy(np.array(numbers).view(words)).view(_TYPES[name])


def _mma(adder: str, arch: str, shape: str, *formats: str, kind: str = "") -> Unit:
    def made(a: str, b: str) -> Any:
        return _NV.MMA(arch, f"{shape}{kind}.{output}.{a}.{b}.{output}")

    output = "f16" if adder.endswith("_in_f16") else "f32"
    return Unit(adder, f"{arch} mma {shape}{kind} {output}", formats, _k(shape), made)


def _wide(adder: str, shape: str, *formats: str, kind: str = "") -> Unit:
    """`wgmma` of Hopper, `tcgen05.mma` of Blackwell, which have a kind."""

    def made(a: str, b: str) -> Any:
        types = f"{output}.{a}.{b}"
        if kind:
            return _NV.TCGen05MMA("Blackwell", f"{shape}{kind}.{types}")
        return _NV.WGMMA("Hopper", f"{shape}.{types}")

    output = "f16" if adder.endswith("_in_f16") else "f32"
    name = f"Blackwell tcgen05.mma {shape}{kind}" if kind else f"Hopper wgmma {shape}"
    return Unit(adder, f"{name} {output}", formats, _k(shape), made)


def _mfma(adder: str, arch: str, suffix: str, k: int, *formats: str) -> Unit:
    def made(a: str, b: str) -> Any:
        return _AMD.MFMA(arch, suffix.format(_AMD_NAMES.get(a, a), _AMD_NAMES.get(b, b)))

    return Unit(adder, f"{arch} mfma {suffix}", formats, k, made)


def _k(shape: str) -> int:
    return int(shape.rpartition("k")[2])


def _both(adder: str, one: Callable[..., Unit], *rest: str, **more: str) -> tuple[Unit, Unit]:
    """With sums in float32 and in float16, for which there is no bfloat16."""
    head = [part for part in rest if part != "bf16"]
    return one(adder, *rest, **more), one(f"{adder}_in_f16", *head, **more)


UNITS: tuple[Unit, ...] = (
    *_both("volta_f16", _mma, "Volta", "m8n8k4", "f16"),
    *_both("volta_f16", _mma, "Turing", "m8n8k4", "f16"),
    *_both("turing_f16", _mma, "Turing", "m16n8k8", "f16"),
    _mma("ampere_f16", "Ampere", "m16n8k16", "f16", "bf16"),
    _mma("turing_f16_in_f16", "Ampere", "m16n8k16", "f16"),
    _mma("ampere_f16", "Ada Lovelace", "m16n8k16", "f16", "bf16"),
    _mma("turing_f16_in_f16", "Ada Lovelace", "m16n8k16", "f16"),
    _mma("ampere_tf32", "Ampere", "m16n8k8", "tf32"),
    _mma("ampere_tf32", "Ada Lovelace", "m16n8k8", "tf32"),
    *_both("ada_fp8", _mma, "Ada Lovelace", "m16n8k32", *_FP8),
    *_both("hopper_f16", _mma, "Hopper", "m16n8k16", "f16", "bf16"),
    *_both("hopper_f16", _wide, "m64n8k16", "f16", "bf16"),
    *_both("hopper_f16", _mma, "Blackwell", "m16n8k16", "f16", "bf16"),
    *_both("hopper_f16", _wide, "m64n8k16", "f16", "bf16", kind=".kind::f16"),
    *_both("hopper_f16", _mma, "RTX Blackwell", "m16n8k16", "f16", "bf16"),
    _mma("hopper_tf32", "Hopper", "m16n8k8", "tf32"),
    _wide("hopper_tf32", "m64n8k8", "tf32"),
    _mma("hopper_tf32", "Blackwell", "m16n8k8", "tf32"),
    _wide("hopper_tf32", "m64n8k8", "tf32", kind=".kind::tf32"),
    _mma("hopper_tf32", "RTX Blackwell", "m16n8k8", "tf32"),
    *_both("hopper_fp8", _wide, "m64n8k32", *_FP8),
    *_both("blackwell_f8f6f4", _wide, "m64n8k32", *_SMALL, kind=".kind::f8f6f4"),
    *_both("blackwell_f8f6f4", _mma, "RTX Blackwell", "m16n8k32", *_SMALL, kind=".kind::f8f6f4"),
    *_both("blackwell_f8f6f4", _mma, "RTX Blackwell", "m16n8k32", *_FP8),
    _mfma("cdna1_f16", "CDNA1", "f32_32x32x8f16", 8, "f16"),
    _mfma("cdna1_bf16", "CDNA1", "f32_32x32x4bf16", 4, "bf16"),
    _mfma("cdna2_f16", "CDNA2", "f32_32x32x8f16", 8, "f16"),
    _mfma("cdna2_f16", "CDNA2", "f32_32x32x8bf16_1k", 8, "bf16"),
    _mfma("cdna2_bf16", "CDNA2", "f32_32x32x4bf16", 4, "bf16"),
    _mfma("cdna3_f16", "CDNA3", "f32_32x32x8_{}", 8, "f16", "bf16"),
    _mfma("cdna3_xf32", "CDNA3", "f32_16x16x8_xf32", 8, "tf32"),
    _mfma("cdna3_fp8", "CDNA3", "f32_16x16x32_{}_{}", 32, "e5m2fnuz", "e4m3fnuz"),
    _mfma("fma_f32", "CDNA1", "f32_16x16x4f32", 4, "f32"),
    _mfma("fma_f32", "CDNA2", "f32_16x16x4f32", 4, "f32"),
    _mfma("fma_f32", "CDNA3", "f32_16x16x4_f32", 4, "f32"),
)
