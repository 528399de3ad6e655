"""The counts of the CUDA kernels as a table, and the shares of a copy's speed that they predict."""

from __future__ import annotations

import re
from dataclasses import dataclass

from sass_kernels import KERNELS, Counts, Watched

__all__ = ["GPUS", "LEAST_SHARES", "TURNS", "Gpu", "predicted_share", "table"]


@dataclass(frozen=True, slots=True)
class Gpu:
    """A GPU: its architecture, multiprocessors, clocks a second, and bytes a second of a copy."""

    target: str
    multiprocessors: int
    clocks: float
    copied: float

    @property
    def bytes_a_clock(self) -> float:
        """The bytes that a multiprocessor copies in a clock."""
        return self.copied / self.multiprocessors / self.clocks


#: What shares are predicted for: a copy has nine tenths of what memory can do by its data sheet.
GPUS = {
    "H100": Gpu("sm_90", 132, 1.7e9, 3.0e12),
    "H200": Gpu("sm_90", 132, 1.7e9, 4.3e12),
    "B200": Gpu("sm_100a", 148, 1.85e9, 7.2e12),
}


#: Turns of a thread where a matrix is large, as `mx_check bench` has them.
TURNS = 4


def predicted_share(watched: Watched, counts: Counts, gpu: Gpu) -> float:
    """The share of a copy's speed that instructions leave a kernel on a GPU, at most 1.

    While a multiprocessor moves the bytes of one element as fast as a copy does, its four
    schedulers issue so many instructions for a thread (each one, for 32 threads, a clock), and its
    integer pipe has half as many slots; a kernel that needs more is slower by as much.
    """
    issued, slots = (
        counts[name] + (counts[f"{name}_once"] - counts[name]) / TURNS
        for name in ("issued", "slots")
    )
    clocks = watched.bytes / gpu.bytes_a_clock
    return min(1.0, clocks / max(issued / 128, slots / 64))


#: The least predicted share of a kernel on a GPU, where one is asked.
LEAST_SHARES = {
    ("quantize nvfp4 packed bf16 conversions sm_100a", "B200"): 0.75,
    ("both nvfp4 packed bf16 conversions sm_100a", "B200"): 0.5,
}


def table(found: dict[str, Counts]) -> str:
    """The counts as a table in Markdown, with the predicted shares of a copy's speed.

    Beside them the share that an H100 has to show: of MXFP8 by conversions, of others what is
    predicted.
    """
    columns = list(next(iter(found.values())))
    lines = [
        "| kernel | " + " | ".join(columns) + " | " + " | ".join(GPUS) + " | target |",
        "|---|" + "--:|" * (len(columns) + len(GPUS) + 1),
    ]
    for kernel in KERNELS:
        if kernel.name in found:
            counts = found[kernel.name]
            cells = [f"{counts[column]:.1f}" for column in columns[:7]]
            cells += [f"{counts[column]:g}" for column in columns[7:]]
            shares = [
                f"{100 * predicted_share(kernel, counts, gpu):.0f} %"
                if kernel.target == gpu.target
                else ""
                for gpu in GPUS.values()
            ]
            is_mxfp8 = re.search(r"e[45]m[23] \w+ conversions", kernel.name) is not None
            target = ("75 %" if kernel.name.startswith("both") else "85 %") if is_mxfp8 else None
            target = (target or shares[0]) if kernel.target == "sm_90" else ""
            lines.append(f"| {kernel.name} | " + " | ".join([*cells, *shares, target]) + " |")
    return "\n".join(lines)
