"""What the kernels of tools/fastpath/cuda cost, counted in their machine code without a GPU.

    python tools/gpu/sass_counts.py            # the table, against the counts that are committed
    python tools/gpu/sass_counts.py --write    # after a change that is meant

nvcc compiles each kernel, and nvdisasm (of CUDA, or of the package nvidia-cuda-nvdisasm) prints it.
Counted is the path that a block takes whose addresses are aligned, whose scale is not below
2^-110 and which has no NaN: one turn of the kernel's loop over lines. The exit status is 1 if a
kernel spills or a count has grown by more than a tenth, 2 if nvcc or nvdisasm is missing.
"""

from __future__ import annotations

import argparse
import json
import os
import re
import shutil
import subprocess
import sys
import sysconfig
import tempfile
from dataclasses import dataclass
from itertools import product
from pathlib import Path
from typing import Any

sys.path.insert(0, str(Path(__file__).resolve().parent))

from sass_path import cheapest_path, counted, kernels

__all__ = [
    "BYTES_A_CLOCK",
    "COUNTS",
    "KERNELS",
    "MOST_SLOTS",
    "Counts",
    "Watched",
    "count",
    "disassembled",
    "grown",
    "missing",
    "table",
    "with_stacks",
]

CUDA = Path(__file__).resolve().parents[1] / "fastpath" / "cuda"
COUNTS = CUDA / "counts.json"
#: What is counted of a kernel, by the names of `counts.json`.
Counts = dict[str, float]
#: What nvcc says of a kernel: its name, bytes of its stack, stored and loaded; registers.
_PROPERTIES = re.compile(
    r"properties for (\S+)\n *(\d+) bytes stack frame, (\d+) bytes spill stores, "
    r"(\d+) bytes spill loads\n.*?Used (\d+) registers"
)
_TYPES = {"f32": "uint32_t", "bf16": "uint16_t", "f16": "mx::Half"}


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
    """

    name: str
    target: str
    template: str
    arguments: str
    elements: int
    loads: tuple[int, int]
    stores: tuple[int, int]


def _quantize(
    element: str, float: str, encoder: str, target: str = "sm_90", *, packed: bool = False
) -> Watched:
    kind = _TYPES[float]
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
    )


def _both(element: str, float: str, encoder: str, target: str = "sm_90", **how: bool) -> Watched:
    """The kernel of both directions: 16 numbers, whose codes are stored twice."""
    one = _quantize(element, float, encoder, target, **how)
    kind = _TYPES[float]
    return Watched(
        one.name.replace("quantize", "both"),
        target,
        one.template.replace("quantize", "quantize_both"),
        f"const {kind} *, mx::Tensor, mx::Tensor, mx::Recipe, "
        "uint8_t *, uint8_t *, uint8_t *, uint8_t *",
        one.elements,
        one.loads,
        (2 * one.stores[0], one.stores[1]),
    )


def _dequantize(element: str, float: str, *, packed: bool = False) -> Watched:
    kind = _TYPES[float]
    one = _quantize(element, float, "Integers<true>", packed=packed)
    stores = (one.elements * (4 if float == "f32" else 2) // 16, 128)
    return Watched(
        f"dequantize {element.lower()}{' packed' if packed else ''} {float} sm_90",
        "sm_90",
        f"dequantize_kernel<mx::{element}, {kind}, {str(packed).lower()}>",
        f"const uint8_t *, const uint8_t *, mx::Tensor, mx::Recipe, {kind} *",
        one.elements,
        one.stores,
        stores,
    )


KERNELS = (
    *(_quantize("E4M3", x, "Hardware") for x in _TYPES),
    _quantize("E5M2", "bf16", "Hardware"),
    *(_quantize("E4M3", x, "Integers<true>") for x in _TYPES),
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
    *(_quantize("NVFP4", x, "Hardware", "sm_100a", packed=True) for x in _TYPES),
    _both("NVFP4", "bf16", "Hardware", "sm_100a", packed=True),
    *(_dequantize("NVFP4", x, packed=True) for x in _TYPES),
)


def _tool(name: str) -> str | None:
    """The path of a tool: from PATH, CUDA's folder, or the package nvidia-cuda-nvdisasm."""
    package = Path(sysconfig.get_path("purelib")) / "nvidia" / "cu13" / "bin"
    places = [os.environ.get("PATH", ""), "/usr/local/cuda/bin", str(package)]
    return shutil.which(name, path=os.pathsep.join(places))


def missing() -> str | None:
    """The first tool of nvcc, nvdisasm and c++filt that is missing; None if all are there."""
    return next((name for name in ("nvcc", "nvdisasm", "c++filt") if _tool(name) is None), None)


def _ran(name: str, *words: object, text: str | None = None) -> tuple[str, str]:
    """What a tool writes to its standard output and error.

    Raises:
        RuntimeError: it fails.
    """
    command = [_tool(name) or name, *map(str, words)]
    done = subprocess.run(command, input=text, capture_output=True, text=True, check=False)
    if done.returncode:
        raise RuntimeError(f"{name} failed: {done.stderr.strip()[-2000:]}")
    return done.stdout, done.stderr


def count(watched: tuple[Watched, ...] = KERNELS) -> dict[str, Counts]:
    """The counts of kernels by their names.

    Args:
        watched: the kernels.

    Returns:
        For each kernel slots and instructions for an element (`slots`, `conversion`, `multiplier`,
        `memory`, `constants`, `uniform`), the same slots of the whole kernel with one turn
        (`slots_once`), and `branches` of a turn, `registers`, and `spills`: bytes of its
            stack, stored and loaded.

    Raises:
        RuntimeError: nvcc or nvdisasm fails.
        ValueError: a kernel has no such loop.
    """
    found: dict[str, Counts] = {}
    for target in dict.fromkeys(kernel.target for kernel in watched):
        some = [kernel for kernel in watched if kernel.target == target]
        found |= _of_target(target, some)
    return {kernel.name: found[kernel.name] for kernel in watched}


def disassembled(target: str, watched: list[Watched], *flags: str) -> tuple[str, str]:
    """Kernels of one target as nvdisasm prints them, and what nvcc says of them.

    Args:
        target: the architecture.
        watched: the kernels.
        flags: further options of nvcc.

    Raises:
        RuntimeError: nvcc or nvdisasm fails.
    """
    lines = [f"template __global__ void mx::{w.template}({w.arguments});" for w in watched]
    with tempfile.TemporaryDirectory() as folder:
        source, binary = Path(folder) / "counted.cu", Path(folder) / "counted.cubin"
        source.write_text("\n".join(['#include "mx_kernels.cuh"', *lines, ""]))
        options = ["-std=c++17", f"-arch={target}", "-cubin", "-Xptxas", "-v", "-I", CUDA, *flags]
        _, said = _ran("nvcc", *options, source, "-o", binary)
        return _ran("nvdisasm", "-c", binary)[0], said


def with_stacks(element: str, target: str) -> tuple[int, list[str]]:
    """How many kernels a format has, and the names of those that have a stack or spill.

    Args:
        element: the format's type in the header.
        target: the architecture.

    Raises:
        RuntimeError: nvcc fails.
    """
    packed = ("false", "true") if element in ("E3M2", "E2M3", "E2M1", "NVFP4") else ("false",)
    lines = [f"using F = {element};"]
    for number, way in product(_TYPES.values(), packed):
        kind, read = f"<F, {number}, {way}>", f"const {number}*, Tensor"
        made, both = "uint8_t*, uint8_t*", "uint8_t*, uint8_t*, uint8_t*, uint8_t*"
        for encoder in ("Hardware", "Integers<true>"):
            how = f"<F, {number}, {encoder}, {way}>"
            lines.append(f"quantize_kernel{how}({read}, Recipe, {made});")
            lines.append(f"quantize_both_kernel{how}({read}, Tensor, Recipe, {both});")
        codes = "const uint8_t*, const uint8_t*"
        lines.append(f"dequantize_kernel{kind}({codes}, Tensor, Recipe, {number}*);")
        if element != "NVFP4":
            seed = "uint64_t, int"
            lines.append(f"quantize_stochastic_kernel{kind}({read}, Recipe, {seed}, {made});")
    with tempfile.TemporaryDirectory() as folder:
        source = Path(folder) / "all.cu"
        each = [lines[0], *(f"template __global__ void {line}" for line in lines[1:])]
        text = ['#include "mx_kernels.cuh"', "namespace mx {", *each, "}"]
        source.write_text("\n".join(text))
        options = ["-std=c++17", f"-arch={target}", "-cubin", "-Xptxas", "-v", "-I", CUDA]
        _, said = _ran("nvcc", *options, source, "-o", Path(folder) / "all.cubin")
    found = _PROPERTIES.findall(said)
    return len(found), [_demangled(name) for name, *bytes, _ in found if any(map(int, bytes))]


def _of_target(target: str, watched: list[Watched]) -> dict[str, Counts]:
    text, said = disassembled(target, watched)
    code = {_demangled(kernel.name): kernel for kernel in kernels(text)}
    used = {
        _demangled(name): {"registers": int(registers), "spills": sum(map(int, bytes))}
        for name, *bytes, registers in _PROPERTIES.findall(said)
    }
    found: dict[str, Counts] = {}
    for w in watched:
        name = _plain(w.template)
        turn = cheapest_path(code[name], w.loads, w.stores)
        once = cheapest_path(code[name], w.loads, w.stores, whole=True)
        slots_once = counted(once, w.elements)["slots"]
        found[w.name] = {**counted(turn, w.elements), "slots_once": slots_once, **used[name]}
    return found


def _demangled(name: str) -> str:
    """A kernel's name as `Watched.template` writes it."""
    text, _ = _ran("c++filt", name)
    inside = text.partition("void mx::")[2]
    depth = 0
    for at, sign in enumerate(inside):
        depth += (sign == "<") - (sign == ">")
        if sign == ">" and depth == 0:
            return _plain(inside[: at + 1])
    return _plain(text)


def _plain(name: str) -> str:
    for long, short in (("unsigned int", "uint32_t"), ("unsigned short", "uint16_t")):
        name = name.replace(long, short)
    return name.replace(" ", "")


def grown(now: dict[str, Counts], before: dict[str, Counts]) -> list[str]:
    """Sentences on what has grown by more than a tenth, spills, or is not in both.

    Args:
        now: counts by kernel.
        before: the counts that are committed.
    """
    said = [f"{name} is not in both" for name in sorted(now.keys() ^ before.keys())]
    for name in now.keys() & before.keys():
        said += [
            f"{name}: {what} has grown from {before[name].get(what, 0)} to {value}"
            for what, value in now[name].items()
            if value > before[name].get(what, 0) * 1.1
        ]
        if now[name]["spills"]:
            said.append(f"{name} spills {now[name]['spills']:g} bytes")
    return sorted(said)


def predicted_share(watched: Watched, counts: Counts) -> float:
    """The share of a copy's speed that a kernel's integer slots leave it on an H100, at most 1.

    While a multiprocessor moves the bytes of one element as fast as a copy does, it has so many
    slots; a kernel that needs more is slower by as much.
    """
    bits = watched.loads[0] * watched.loads[1] + watched.stores[0] * watched.stores[1]
    clocks = (bits / 8 / watched.elements + 1 / 32) / BYTES_A_CLOCK
    return min(1.0, 64 * clocks / counts["slots_once"])


#: Bytes a clock and multiprocessor: a copy by 3.0 TB/s, 132 of them at 1.7 GHz.
BYTES_A_CLOCK = 3.0e12 / 132 / 1.7e9
#: Slots that a number may need in one turn of a kernel that quantizes float32 or 16 bits, by
#: conversions or by integers.
MOST_SLOTS = {
    ("float32", "conversions"): 10,
    ("16 bits", "conversions"): 9,
    ("float32", "integers"): 28,
    ("16 bits", "integers"): 26,
}


def table(found: dict[str, Counts]) -> str:
    """The counts as a table in Markdown, with the predicted share of a copy's speed on sm_90.

    Beside it the share that a GPU has to show: of MXFP8 by conversions, of others the prediction.
    """
    columns = list(next(iter(found.values())))
    lines = [
        "| kernel | " + " | ".join(columns) + " | predicted share | target |",
        "|---|" + "--:|" * (len(columns) + 2),
    ]
    for kernel in KERNELS:
        if kernel.name in found:
            counts = found[kernel.name]
            cells = [f"{counts[column]:.1f}" for column in columns[:6]]
            cells += [f"{counts[column]:g}" for column in columns[6:]]
            share = f"{100 * predicted_share(kernel, counts):.0f} %"
            is_mxfp8 = re.search(r"e[45]m[23] \w+ conversions", kernel.name) is not None
            target = ("75 %" if kernel.name.startswith("both") else "85 %") if is_mxfp8 else share
            cells += [share, target] if kernel.target == "sm_90" else ["", ""]
            lines.append(f"| {kernel.name} | " + " | ".join(cells) + " |")
    return "\n".join(lines)


def main() -> int:
    """Count, print, and return the exit status."""
    parser = argparse.ArgumentParser(description=(__doc__ or "").splitlines()[0])
    parser.add_argument("--write", action="store_true", help=f"write {COUNTS.name}")
    options = parser.parse_args()
    if (tool := missing()) is not None:
        print(f"{tool} is not installed", file=sys.stderr)
        return 2
    found = count()
    print(table(found))
    if options.write:
        new = COUNTS.with_suffix(".new")
        new.write_text(json.dumps(found, indent=1) + "\n")
        new.replace(COUNTS)
        return 0
    before: dict[str, Any] = json.loads(COUNTS.read_text())
    said = grown(found, before)
    print("\n".join(said))
    return 1 if said else 0


if __name__ == "__main__":
    sys.exit(main())
