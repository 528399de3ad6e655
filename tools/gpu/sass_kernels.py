"""The CUDA kernels that are counted, and what a turn of their loops loads and stores."""

from __future__ import annotations

from dataclasses import dataclass

__all__ = ["KERNELS", "TYPES", "Counts", "Watched"]

#: What is counted of a kernel, by the names of `counts.json`.
Counts = dict[str, float]
#: The types of the kernels' templates, by float.
TYPES = {"f32": "uint32_t", "bf16": "uint16_t", "f16": "mx::Half"}


@dataclass(frozen=True, slots=True)
class Watched:
    """A kernel that is watched.

    Args:
        name: name in the table.
        target: architecture, as nvcc takes it.
        template: the kernel with its template arguments.
        arguments: types of its arguments.
        elements: numbers that a turn of its loop has.
        loads: how many global loads a turn has, and of how many bits.
        stores: the same of global stores.
        scales: how many scales a turn stores.
    """

    name: str
    target: str
    template: str
    arguments: str
    elements: int
    loads: tuple[int, int]
    stores: tuple[int, int]
    scales: int

    @property
    def bytes(self) -> float:
        """Bytes of memory for an element: numbers, codes and scales, of both directions."""
        moved = self.loads[0] * self.loads[1] + self.stores[0] * self.stores[1]
        block = 16 if "NVFP4" in self.template else 32
        return moved / 8 / self.elements + max(self.scales, 1) / block


def _quantize(
    element: str, float: str, encoder: str, target: str = "sm_90", *, packed: bool = False
) -> Watched:
    kind = TYPES[float]
    bits = {"E5M2": 8, "E4M3": 8, "Int8": 8, "E3M2": 6, "E2M3": 6}.get(element, 4)
    width = bits if packed else 8
    elements = 32 if width == 6 else 16
    size = 4 if float == "f32" else 2
    stores = (elements * width // 128, 128) if width == 8 else (elements * width // 64, 64)
    how = {"Hardware": "conversions", "Integers<true>": "integers"}.get(encoder, "nonsaturating")
    return Watched(
        f"quantize {element.lower()}{' packed' if packed else ''} {float} {how} {target}",
        target,
        f"quantize_kernel<mx::{element}, {kind}, mx::{encoder}, {str(packed).lower()}>",
        f"const {kind} *, mx::Tensor, mx::Recipe, uint8_t *, uint8_t *",
        elements,
        (elements * size // 16, 128),
        stores,
        1,
    )


def _both(element: str, float: str, encoder: str, target: str = "sm_90", **how: bool) -> Watched:
    """The kernel of both directions: 16 numbers, whose codes are stored twice."""
    one = _quantize(element, float, encoder, target, **how)
    kind = TYPES[float]
    return Watched(
        one.name.replace("quantize", "both"),
        target,
        one.template.replace("quantize", "quantize_both"),
        f"const {kind} *, mx::Tensor, mx::Tensor, mx::Recipe, "
        "uint8_t *, uint8_t *, uint8_t *, uint8_t *",
        one.elements,
        one.loads,
        (2 * one.stores[0], one.stores[1]),
        2,
    )


def _dequantize(
    element: str, float: str, target: str = "sm_90", *, packed: bool = False
) -> Watched:
    kind = TYPES[float]
    one = _quantize(element, float, "Integers<true>", packed=packed)
    stores = (one.elements * (4 if float == "f32" else 2) // 16, 128)
    return Watched(
        f"dequantize {element.lower()}{' packed' if packed else ''} {float} {target}",
        target,
        f"dequantize_kernel<mx::{element}, {kind}, {str(packed).lower()}>",
        f"const uint8_t *, const uint8_t *, mx::Tensor, mx::Recipe, {kind} *",
        one.elements,
        one.stores,
        stores,
        0,
    )


KERNELS = (
    *(_quantize("E4M3", x, "Hardware") for x in TYPES),
    _quantize("E5M2", "bf16", "Hardware"),
    *(_quantize("E4M3", x, "Integers<true>") for x in TYPES),
    _quantize("E5M2", "f32", "Integers<false>"),
    *(_quantize("E2M3", x, "Integers<true>", packed=True) for x in ("f32", "bf16")),
    *(_quantize("E2M1", x, "Integers<true>", packed=True) for x in ("f32", "bf16")),
    *(_quantize("Int8", x, "Integers<true>") for x in ("f32", "bf16")),
    *(_both("E4M3", x, "Hardware") for x in ("f32", "bf16")),
    _both("E4M3", "bf16", "Integers<true>"),
    _both("E2M1", "bf16", "Hardware", "sm_100a", packed=True),
    *(_dequantize("E4M3", x) for x in ("f32", "bf16")),
    _dequantize("E4M3", "f16"),
    _dequantize("E5M2", "bf16"),
    *(_dequantize(name, "bf16", packed=True) for name in ("E2M3", "E2M1")),
    _dequantize("Int8", "bf16"),
    *(_quantize("E2M3", x, "Hardware", "sm_100a", packed=True) for x in ("f32", "bf16")),
    *(_quantize("E2M1", x, "Hardware", "sm_100a", packed=True) for x in ("f32", "bf16")),
    *(_quantize("NVFP4", x, "Integers<true>", packed=True) for x in ("f32", "bf16")),
    *(_quantize("NVFP4", x, "Hardware", "sm_100a", packed=True) for x in TYPES),
    _both("NVFP4", "bf16", "Hardware", "sm_100a", packed=True),
    *(_dequantize("NVFP4", x, packed=True) for x in TYPES),
    *(_quantize("E4M3", x, "Hardware", "sm_100a") for x in ("f32", "bf16")),
    _both("E4M3", "bf16", "Hardware", "sm_100a"),
    _dequantize("E4M3", "bf16", "sm_100a"),
    *(_dequantize(name, "bf16", "sm_100a", packed=True) for name in ("E2M1", "NVFP4")),
)
