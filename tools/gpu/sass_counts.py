"""What the kernels of tools/fastpath/cuda cost, counted in their machine code without a GPU.

    python tools/gpu/sass_counts.py            # the table, against the counts that are committed
    python tools/gpu/sass_counts.py --write    # after a change that is meant

nvcc compiles each kernel, and nvdisasm (of CUDA, or of the package nvidia-cuda-nvdisasm) prints it.
Counted is the path that a warp takes whose addresses are aligned, whose scales are not below
2^-110 and lie in tiles, and whose blocks have no NaN: one turn of the kernel's loop over lines.
The exit status is 1 if a kernel spills or a count has grown by more than a tenth, 2 if nvcc or
nvdisasm is missing.
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
from itertools import product
from pathlib import Path
from typing import Any

sys.path.insert(0, str(Path(__file__).resolve().parent))

from sass_kernels import KERNELS, TYPES, Counts, Watched
from sass_path import cheapest_path, counted, kernels
from sass_table import table

__all__ = ["COUNTS", "MOST_SLOTS", "count", "disassembled", "grown", "missing", "with_stacks"]

CUDA = Path(__file__).resolve().parents[1] / "fastpath" / "cuda"
COUNTS = CUDA / "counts.json"
#: What nvcc says of a kernel: its name, bytes of its stack, stored and loaded; registers.
_PROPERTIES = re.compile(
    r"properties for (\S+)\n *(\d+) bytes stack frame, (\d+) bytes spill stores, "
    r"(\d+) bytes spill loads\n.*?Used (\d+) registers"
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
        For each kernel what it does for an element (`issued`, `slots`, `conversion`, `multiplier`,
        `memory`, `constants`, `uniform`), the first two of the whole kernel with one turn
        (`issued_once`, `slots_once`), and `branches` of a turn, `registers`, and `spills`: bytes
            of its stack, stored and loaded.

    Raises:
        RuntimeError: nvcc or nvdisasm fails.
        ValueError: a kernel has no such loop.
    """
    found: dict[str, Counts] = {}
    for target in dict.fromkeys(kernel.target for kernel in watched):
        some = [kernel for kernel in watched if kernel.target == target]
        found |= _of_target(target, some)
    return {kernel.name: found[kernel.name] for kernel in watched}


#: Where the header asks how scales lie: what is counted is compiled for tiles, as GEMMs need them.
_ASKED, _TILED = "recipe.tiles ? tiled_offset(", "true ? tiled_offset("


def disassembled(target: str, watched: list[Watched], *flags: str) -> tuple[str, str]:
    """Kernels of one target, scales in tiles, as nvdisasm prints them, and what nvcc says of them.

    Args:
        target: the architecture.
        watched: the kernels.
        flags: further options of nvcc.

    Raises:
        RuntimeError: nvcc or nvdisasm fails.
        ValueError: the header does not ask once whether scales lie in tiles.
    """
    header = (CUDA / "mx_fastpath.cuh").read_text()
    if header.count(_ASKED) != 1:
        raise ValueError(f"mx_fastpath.cuh must have {_ASKED!r} once")
    lines = [f"template __global__ void mx::{w.template}({w.arguments});" for w in watched]
    with tempfile.TemporaryDirectory() as folder:
        source, binary = Path(folder) / "counted.cu", Path(folder) / "counted.cubin"
        (Path(folder) / "mx_fastpath.cuh").write_text(header.replace(_ASKED, _TILED))
        shutil.copy(CUDA / "mx_kernels.cuh", folder)
        source.write_text("\n".join(['#include "mx_kernels.cuh"', *lines, ""]))
        options = ["-std=c++17", f"-arch={target}", "-cubin", "-Xptxas", "-v", *flags]
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
    for number, way in product(TYPES.values(), packed):
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
        ways = (w.loads, w.stores, w.scales)
        turn, once = (cheapest_path(code[name], *ways, whole=whole) for whole in (False, True))
        all = counted(once, w.elements)
        more = {"issued_once": all["issued"], "slots_once": all["slots"]}
        found[w.name] = {**counted(turn, w.elements), **more, **used[name]}
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


#: Slots that a number may need in one turn of a kernel that quantizes float32 or 16 bits, by
#: conversions or by integers.
MOST_SLOTS = {
    ("float32", "conversions"): 10,
    ("16 bits", "conversions"): 9,
    ("float32", "integers"): 28,
    ("16 bits", "integers"): 27,
}


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
