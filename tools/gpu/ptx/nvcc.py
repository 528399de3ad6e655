"""Kernels and functions of the headers as nvcc compiles them to PTX."""

from __future__ import annotations

import shutil
import subprocess
import tempfile
from collections.abc import Sequence
from pathlib import Path

from ptx.fastpath import CUDA, KERNELS, Row, declaration, kernel_name, mangled
from ptx.functions import FUNCTIONS, function_name, function_source
from ptx.parse import Kernel, parse

__all__ = ["compiled", "name_of"]


def compiled(
    flags: tuple[str, ...], folder: Path = CUDA, kernels: Sequence[Row] = KERNELS
) -> dict[Row, Kernel]:
    """Kernels, compiled by nvcc to PTX.

    Args:
        flags: options of nvcc.
        folder: that of the headers.
        kernels: some of `KERNELS` and `FUNCTIONS`.

    Raises:
        RuntimeError: nvcc fails.
    """
    lines = ['#include "mx_kernels.cuh"', '#include "elementwise.h"']
    lines += [function_source(one) if one in FUNCTIONS else declaration(one) for one in kernels]
    with tempfile.TemporaryDirectory() as work:
        source, out = Path(work) / "all.cu", Path(work) / "all.ptx"
        source.write_text("\n".join([*lines, ""]))
        nvcc = shutil.which("nvcc") or "nvcc"
        command = [
            nvcc,
            "-std=c++17",
            "-ptx",
            *flags,
            *(f"-I{one}" for one in (folder, CUDA)),
            str(source),
            "-o",
            str(out),
        ]
        done = subprocess.run(command, capture_output=True, text=True, check=False)
        if done.returncode:
            raise RuntimeError(f"nvcc failed: {done.stderr.strip()[-2000:]}")
        found = parse(out.read_text())
    plain = {name.partition("EEvP")[0]: kernel for name, kernel in found.items()}
    return {
        one: plain[name_of(one) if one in FUNCTIONS else mangled(name_of(one))] for one in kernels
    }


def name_of(row: Row) -> str:
    """The name of a kernel or function in C++."""
    return function_name(row) if row in FUNCTIONS else kernel_name(row)
