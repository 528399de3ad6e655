"""The kernels of tools/fastpath/cuda as nvcc compiles them, and their arguments."""

from __future__ import annotations

import itertools
from collections.abc import Iterator
from pathlib import Path

__all__ = [
    "ELEMENTS",
    "FLAGS",
    "FLOATS",
    "KERNELS",
    "Row",
    "bits_of",
    "declaration",
    "kernel_name",
    "mangled",
    "shape_of",
]

CUDA = Path(__file__).resolve().parents[2] / "fastpath" / "cuda"
#: The types of the kernels' templates by the names of the vectors; bits, and numbers of a block.
ELEMENTS = {
    "mxfp8_e5m2": ("E5M2", 8, 32), "mxfp8_e4m3": ("E4M3", 8, 32), "mxfp6_e3m2": ("E3M2", 6, 32),
    "mxfp6_e2m3": ("E2M3", 6, 32), "mxfp4_e2m1": ("E2M1", 4, 32), "mxint8": ("Int8", 8, 32),
    "nvfp4": ("NVFP4", 4, 16),
}  # fmt: skip
FLOATS = {"f32": "uint32_t", "bf16": "uint16_t", "f16": "mx::Half"}
#: Kind, format, float, encoder, and whether codes are packed.
Row = tuple[str, str, str, str, bool]
#: What nvcc is asked for, by the name in the table.
FLAGS = {
    "sm_80": ("-arch=sm_80",),
    "sm_89": ("-arch=sm_89",),
    "sm_90a": ("-arch=sm_90a",),
    "sm_100a": ("-arch=sm_100a",),
    "sm_120a": ("-arch=sm_120a",),
    "sm_100a -use_fast_math": ("-arch=sm_100a", "-use_fast_math"),
}


def kernel_name(row: Row) -> str:
    """A kernel as C++ writes it, without its namespace."""
    kind, format, float, encoder, packed = row
    parts = [f"mx::{ELEMENTS[format][0]}", FLOATS[float], *([f"mx::{encoder}"] if encoder else [])]
    return f"{kind}_kernel<{', '.join(parts)}, {str(packed).lower()}>"


def _every() -> Iterator[Row]:
    for format, float in itertools.product(ELEMENTS, FLOATS):
        for packed in (False, True)[: 2 if ELEMENTS[format][1] < 8 else 1]:
            encoders = ["Hardware", "Integers<true>"]
            encoders += ["Integers<false>"] * format.startswith("mxfp8")
            for encoder in encoders:
                yield "quantize", format, float, encoder, packed
                yield "quantize_both", format, float, encoder, packed
            if format != "nvfp4":
                yield "quantize_stochastic", format, float, "", packed
            yield "dequantize", format, float, "", packed


#: All kernels.
KERNELS = tuple(_every())


def declaration(row: Row) -> str:
    """What instantiates a kernel."""
    kind, _, float, *_ = row
    numbers, ends = FLOATS[float], "mx::Recipe, uint8_t *, uint8_t *"
    arguments = {
        "quantize": f"const {numbers} *, mx::Tensor, {ends}",
        "quantize_both": f"const {numbers} *, mx::Tensor, mx::Tensor, {ends}, uint8_t *, uint8_t *",
        "quantize_stochastic": f"const {numbers} *, mx::Tensor, mx::Recipe, uint64_t, int, "
        "uint8_t *, uint8_t *",
        "dequantize": f"const uint8_t *, const uint8_t *, mx::Tensor, mx::Recipe, {numbers} *",
    }[kind]
    return f"template __global__ void mx::{kernel_name(row)}({arguments});"


def mangled(name: str) -> str:
    """How the mangled name of a kernel begins, up to the end of its template arguments."""
    kind, *arguments = name.replace("mx::", "").replace(">", "").replace(",", "<").split("<")
    text = f"_ZN2mx{len(kind)}{kind}I"
    words = {"uint32_t": "j", "uint16_t": "t", "true": "Lb1E", "false": "Lb0E"}
    for i, argument in enumerate(map(str.strip, arguments)):
        text += words.get(argument) or f"NS_{len(argument)}{argument}"
        if argument not in words:
            text += "I" if argument == "Integers" else "E"
        elif i and arguments[i - 1].strip() == "Integers":
            text += "EE"
    return text


def shape_of(
    lines: int, chunks: int, threads: int = 128
) -> tuple[tuple[int, int, int], tuple[int, int, int]]:
    """Grid and block for so many chunks in each line.

    Threads have more than one line where there are many: the loops of the kernels go round.
    """
    x = 2
    while x < threads and x < chunks:
        x *= 2
    y = threads // x
    return (-(-chunks // x), max(1, -(-lines // (2 * y))), 1), (x, y, 1)


def bits_of(format: str, *, packed: bool) -> tuple[int, int, int]:
    """Bits of a code in memory, numbers of a thread, and of a block."""
    _, bits, size = ELEMENTS[format]
    width = bits if packed else 8
    return width, 32 if width == 6 else 16, size
