"""What the kernels of tools/fastpath/triton cost, counted in their machine code without a GPU.

    python tools/gpu/triton_counts.py            # the table, against the counts that are committed
    python tools/gpu/triton_counts.py --write    # after a change that is meant

Triton, which needs torch, compiles each kernel as a call does, for tensors whose rows lie at
multiples of 16 bytes; its own nvdisasm prints it. The kernels have no loop: counted is all code,
with the masks of tiles at an edge. The exit status is 1 if a kernel spills, has a stack or needs
more instructions than its budget, or a count has grown by more than a tenth.
"""

from __future__ import annotations

import argparse
import importlib
import json
import re
import subprocess
import sys
import tempfile
from collections.abc import Iterable
from dataclasses import dataclass
from functools import partial
from pathlib import Path
from typing import Any

sys.path.insert(0, str(Path(__file__).resolve().parent))

from sass_counts import grown
from sass_kernels import Counts
from sass_path import counted, kernels

__all__ = ["BUDGETS", "COUNTS", "KERNELS", "TILE", "Watched", "count", "over", "table"]

FOLDER = Path(__file__).resolve().parents[1] / "fastpath" / "triton"
COUNTS = FOLDER / "counts.json"


@dataclass(frozen=True, slots=True)
class Watched:
    """A kernel that is watched: what a call does, a format, a float, and an architecture."""

    call: str
    format: str
    float: str
    architecture: int

    @property
    def name(self) -> str:
        """Its name in the table."""
        return f"{self.call} {self.format} {self.float} sm_{self.architecture}"

    @property
    def converts(self) -> bool:
        """Whether the GPU converts to the format by itself."""
        least = 89 if self.format in ("e4m3", "e5m2") else 100
        has = self.format not in ("int8", "nvfp4") and self.architecture >= least
        return has and self.call != "dequantize"


#: Instructions that an element may need: by the call, and whether the GPU converts; both directions
#: are twice the work.
BUDGETS = {
    ("quantize", True): 12, ("both", True): 26, ("quantize", False): 40, ("both", False): 80,
    ("dequantize", False): 42,
}  # fmt: skip
#: The same of NVFP4, whose scales are no powers of two.
BUDGETS_NVFP4 = {"quantize": 52, "both": 105, "dequantize": 60}

KERNELS = (
    *(Watched("quantize", "e4m3", x, 90) for x in ("f32", "bf16", "f16")),
    *(Watched("quantize", "e5m2", x, 90) for x in ("f32", "bf16")),
    *(Watched("quantize", "e4m3", x, 80) for x in ("f32", "bf16")),
    *(Watched("quantize", "e2m3", x, 90) for x in ("f32", "bf16")),
    *(Watched("quantize", "e2m1", x, 90) for x in ("f32", "bf16")),
    Watched("quantize", "int8", "bf16", 90),
    *(Watched("quantize", "nvfp4", x, 90) for x in ("f32", "bf16")),
    *(Watched("both", "e4m3", x, 90) for x in ("f32", "bf16")),
    Watched("both", "e4m3", "bf16", 80),
    *(Watched("both", "nvfp4", x, 90) for x in ("f32", "bf16", "f16")),
    *(Watched("dequantize", x, "bf16", 90) for x in ("e4m3", "e2m3", "e2m1", "nvfp4")),
    *(Watched("quantize", "e4m3", x, 100) for x in ("f32", "bf16")),
    *(Watched("quantize", "e2m3", x, 100) for x in ("f32", "bf16")),
    *(Watched("quantize", "e2m1", x, 100) for x in ("f32", "bf16", "f16")),
    *(Watched("both", x, "bf16", 100) for x in ("e4m3", "e2m1", "nvfp4")),
)
#: Rows, columns and warps of the tile that is counted: one of those that a GPU tries.
TILE = (64, 128, 4)
SMALL_TILE = (64, 64, 4)


def _tool(name: str) -> str:
    import triton

    return str(Path(triton.__file__).parent / "backends" / "nvidia" / "bin" / name)


def _ran(name: str, *words: object) -> str:
    """What a tool of Triton writes.

    Raises:
        RuntimeError: it fails.
    """
    command = [_tool(name), *map(str, words)]
    done = subprocess.run(command, capture_output=True, text=True, check=False)
    if done.returncode:
        raise RuntimeError(f"{name} failed: {done.stderr.strip()[-2000:]}")
    return done.stdout


def count(watched: Iterable[Watched] = KERNELS, tile: tuple[int, int, int] | None = None) -> Any:
    """The counts of kernels by their names.

    Args:
        watched: the kernels.
        tile: rows, columns and warps; None is TILE, or SMALL_TILE where a number needs much.

    Returns:
        For each kernel what it does for an element (`issued`, `slots`, `conversion`, `multiplier`,
        `memory`, `constants`, `uniform`), its `branches`, `registers`, and `spills`: bytes of its
        stack, and instructions that load and store there.

    Raises:
        RuntimeError: nvdisasm or cuobjdump fails.
    """
    import torch
    import triton

    sys.path[:0] = [str(FOLDER), str(FOLDER.parents[2])]
    mx: Any = importlib.import_module("mx_kernels")
    from gpu_matrices import only
    from triton_ptx import compiled

    dtypes = {"f32": torch.float32, "bf16": torch.bfloat16, "f16": torch.float16}
    found: dict[str, Counts] = {}
    for one in watched:
        is_large = one.format == "nvfp4" or one.call == "both"
        rows, columns, warps = tile or (SMALL_TILE if is_large else TILE)
        built: list[Any] = []
        keep = partial(_keep, built)
        x = torch.empty(0, 4096, dtype=dtypes[one.float])
        stored = mx.quantize(x, one.format, packed=True)
        scales, codes = (part.new_zeros(512, part.shape[1]) for part in stored)
        x, how = x.new_zeros(512, 4096), {"packed": True, "tiled": True}
        config = triton.Config({"ROWS": rows, "COLUMNS": columns}, num_warps=warps)
        with compiled(one.architecture, keep), only(mx, config):
            if one.call == "dequantize":
                mx.dequantize(scales, codes, one.format, x.dtype, packed=True)
            else:
                mx.quantize(x, one.format, **how, both=one.call == "both")
        found[one.name] = _counts(built[-1].asm["cubin"], rows * columns // (32 * warps))
    return found


def _keep(built: list[Any], kernel: Any, *_: object) -> None:
    built.append(kernel)


def _counts(binary: bytes, elements: int) -> Counts:
    with tempfile.TemporaryDirectory() as folder:
        path = Path(folder) / "kernel.cubin"
        path.write_bytes(binary)
        (kernel,) = kernels(_ran("nvdisasm", "-c", path))
        used = _ran("cuobjdump", "--dump-resource-usage", path)
    code = [one for one in kernel.code if one.name != "NOP"]
    registers, stack = (int(re.findall(rf"{name}:(\d+)", used)[-1]) for name in ("REG", "STACK"))
    spilled = sum(one.name in ("LDL", "STL") for one in code)
    return {**counted(code, elements), "registers": registers, "spills": stack + spilled}


def over(found: dict[str, Counts]) -> list[str]:
    """Sentences on kernels that need more instructions for an element than their budget."""
    said = []
    for one in KERNELS:
        if one.name in found:
            most = BUDGETS.get((one.call, one.converts), 0)
            most = BUDGETS_NVFP4[one.call] if one.format == "nvfp4" else most
            if (issued := found[one.name]["issued"]) > most:
                said.append(f"{one.name} needs {issued:.1f} instructions, more than {most}")
    return said


def table(found: dict[str, Counts]) -> str:
    """The counts as a table in Markdown."""
    columns = list(next(iter(found.values())))
    lines = ["| kernel | " + " | ".join(columns) + " |", "|---|" + "--:|" * len(columns)]
    for name, counts in found.items():
        cells = [f"{counts[column]:.1f}" for column in columns[:-3]]
        cells += [f"{counts[column]:g}" for column in columns[-3:]]
        lines.append(f"| {name} | " + " | ".join(cells) + " |")
    return "\n".join(lines)


def main() -> int:
    """Count, print, and return the exit status."""
    parser = argparse.ArgumentParser(description=(__doc__ or "").splitlines()[0])
    parser.add_argument("--write", action="store_true", help=f"write {COUNTS.name}")
    options = parser.parse_args()
    found = count()
    print(table(found))
    if options.write:
        new = COUNTS.with_suffix(".new")
        new.write_text(json.dumps(found, indent=1) + "\n")
        new.replace(COUNTS)
    said = over(found) + grown(found, json.loads(COUNTS.read_text()))
    print("\n".join(said))
    return 1 if said else 0


if __name__ == "__main__":
    sys.exit(main())
