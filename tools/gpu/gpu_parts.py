"""The parts of `gpu_check.py` and their requirements.

Each part runs in its own process, so that a crash of one does not end the others. It prints its
findings, and returns them with the name of the device.
"""

from __future__ import annotations

import argparse
import importlib.util
import json
import sys
from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path

from gpu_casts import torchao_speed, transformer_engine_speed
from gpu_common import RULES, VECTORS, Found, NotRunError, gpu_line
from gpu_program import CUDA, as_ptx, by_lines, level_2, nvcc, of_program
from gpu_python import (
    adapter,
    streams,
    triton_float32,
    triton_level_1,
    triton_level_2,
    triton_matrices,
    triton_speed,
)

__all__ = ["PARTS", "Part", "missing"]


@dataclass(frozen=True, slots=True)
class Part:
    """One check on a GPU.

    Args:
        name: name of the part in reports.
        needs: requirements: `gpu`, `nvcc`, or names of Python packages.
        run: runs the part, given a folder for compiled programs; prints and returns its findings.
        own: whether a difference is a failure, as for the fast paths; for other libraries it is a
            finding.
    """

    name: str
    needs: tuple[str, ...]
    run: Callable[[Path], Found]
    own: bool = True


def missing(part: Part) -> str:
    """The first requirement of a part that is missing, as a sentence; empty if none is."""
    for need in part.needs:
        if need == "gpu":
            try:
                gpu_line()
            except NotRunError as error:
                return str(error)
        elif need == "nvcc":
            if nvcc() is None:
                return "nvcc is not on the PATH"
            if not (CUDA / "mx_check.cpp").is_file():
                return f"{CUDA / 'mx_check.cpp'} is not there"
        elif importlib.util.find_spec(need) is None:
            return f"{need} is not installed: pip install {need}"
    return ""


_PLAIN, _STEPS = str(VECTORS / "plain"), str(VECTORS / "thresholds")
_GPU_TORCH, _GPU_TRITON = ("gpu", "torch"), ("gpu", "torch", "triton")
_GPU_NVCC, _GPU_TORCHAO = ("gpu", "nvcc"), ("gpu", "torch", "torchao")
_NVIDIA = ("-DMX_INTRINSICS",)
PARTS = (
    *(Part(f"triton level 1 {rule}", _GPU_TRITON, triton_level_1(rule)) for rule in RULES),
    Part("triton level 2", _GPU_TRITON, triton_level_2),
    Part("triton float32", _GPU_TRITON, triton_float32),
    Part("triton matrices", _GPU_TRITON, triton_matrices),
    Part("triton speed", _GPU_TRITON, triton_speed),
    Part("cuda level 1", _GPU_NVCC, of_program(("vectors", _PLAIN), ())),
    *(Part(f"cuda level 1 {rule}", _GPU_NVCC, by_lines(rule)) for rule in RULES),
    Part("cuda level 2", _GPU_NVCC, level_2()),
    Part(
        "cuda level 2 by conversions",
        _GPU_NVCC,
        level_2("--conversions", only="quantize."),
    ),
    Part("cuda both directions", _GPU_NVCC, of_program(("both",), ())),
    Part("cuda as its PTX", _GPU_NVCC, as_ptx),
    Part("cuda nvfp4", _GPU_NVCC, of_program(("nvfp4",), ())),
    Part("cuda float32", _GPU_NVCC, of_program(("sweep", _STEPS), ())),
    Part("cuda speed", _GPU_NVCC, of_program(("bench",), ())),
    Part("intrinsics level 1", _GPU_NVCC, of_program(("vectors", _PLAIN), _NVIDIA), own=False),
    Part("intrinsics float32", _GPU_NVCC, of_program(("sweep", _STEPS), _NVIDIA), own=False),
    Part("streams", _GPU_TORCH, streams),
    *(
        Part(f"torch {name}", _GPU_TORCH, adapter(f"torch_adapter.py{mode}"), own=False)
        for name, mode in (("adapter", ""), ("e5m2", ":E5M2"))
    ),
    *(
        Part(
            f"torchao {name}",
            _GPU_TORCHAO,
            adapter(f"torchao_adapter.py:{name.upper()}"),
            own=False,
        )
        for name in ("casts", "floor", "ceil", "rceil", "even")
    ),
    Part("torchao speed", (*_GPU_TORCHAO, "triton"), torchao_speed, own=False),
    Part(
        "transformer_engine speed",
        (*_GPU_TRITON, "transformer_engine"),
        transformer_engine_speed,
        own=False,
    ),
)


def main() -> int:
    """Run one part and write its findings to a file."""
    parser = argparse.ArgumentParser(description="one part of gpu_check.py, in its own process")
    parser.add_argument("name", choices=[part.name for part in PARTS])
    parser.add_argument("result", type=Path)
    parser.add_argument("build", type=Path)
    options = parser.parse_args()
    (part,) = (part for part in PARTS if part.name == options.name)
    try:
        found = part.run(options.build)
    except NotRunError as error:
        found = {"not_run": str(error)}
    options.result.write_text(json.dumps(found), "utf-8")
    return 0


if __name__ == "__main__":
    sys.exit(main())
