"""Triton's kernels as they are compiled: launches that are run by the interpreter of PTX, or read.

No GPU takes part. A call of `mx_kernels.py` with tensors of a CPU compiles what it would compile
for a GPU; `interpreted` runs the PTX on the tensors, `compiled` keeps the machine code.
"""

from __future__ import annotations

import contextlib
import re
from collections.abc import Callable, Iterator
from typing import Any

import numpy as np
import torch
import triton
from numpy.typing import NDArray
from ptx import Kernel, Launch, Memory, parse
from ptx.machine import Machine
from ptx.parse import Variable
from triton.backends.compiler import GPUTarget
from triton.backends.nvidia.compiler import CUDABackend
from triton.runtime import driver

__all__ = ["Run", "compiled", "interpreted"]

#: What is done with a compiled kernel: it, its grid, and its arguments by name.
Run = Callable[[Any, tuple[int, ...], dict[str, Any]], None]
#: What a launch writes; all else it only reads.
RESULTS = {
    "quantize_kernel": {"scales", "codes", "scales_down", "codes_down"},
    "dequantize_kernel": {"x"},
}
#: Bytes of a storage of which only the lines of a tensor are laid out.
HUGE = 1 << 28
_SIZES = {"i8": 1, "i16": 2, "i32": 4, "i64": 8}


@contextlib.contextmanager
def compiled(architecture: int, run: Run) -> Iterator[None]:
    """Within it, a launch compiles for an architecture, and `run` takes what becomes of it.

    Args:
        architecture: 80, 90, 100 and so on.
        run: called for each launch.
    """

    class Driver:
        get_current_target = staticmethod(lambda: GPUTarget("cuda", architecture, 32))
        get_current_device = staticmethod(lambda: architecture)  # which has a cache of its own
        get_current_stream = staticmethod(lambda _: 0)
        get_benchmarker = staticmethod(lambda: lambda call, quantiles: (call(), [1.0] * 3)[1])

    before = triton.JITFunction.run

    def launch(function: Any, *args: Any, grid: Any, warmup: bool, **options: Any) -> Any:
        kernel = before(function, *args, grid=grid, warmup=True, **options)
        given = dict(zip(function.arg_names, args, strict=False)) | options
        counts = grid(given) if callable(grid) else grid
        run(kernel, (*counts, 1, 1)[:3], given)
        return kernel

    driver.set_active(Driver())
    triton.JITFunction.run = launch
    try:
        yield
    finally:
        triton.JITFunction.run = before


@contextlib.contextmanager
def interpreted(architecture: int) -> Iterator[list[Kernel]]:
    """Within it, a launch runs the PTX of an architecture on tensors of the CPU.

    No machine code is made. The list has the kernels, in the order of their first launches.

    Raises:
        ptx.FaultError: a kernel does what it must not do.
    """
    kernels: list[Kernel] = []
    machines: dict[int, Machine] = {}
    assemble = CUDABackend.make_cubin
    CUDABackend.make_cubin = lambda *_: b"none"

    def run(kernel: Any, grid: tuple[int, ...], given: dict[str, Any]) -> None:
        if id(kernel) not in machines:
            kernels.append(_parsed(kernel))
            machines[id(kernel)] = Machine(kernels[-1])
        machine = machines[id(kernel)]
        arguments, storages = _arguments(kernel, given)
        memory = Memory()
        for at, data, known in storages:
            memory.add(data, at=at, known=known)
        threads = kernel.metadata.num_warps * 32
        machine.run([Launch((grid[0], grid[1], grid[2]), (threads, 1, 1), arguments)], memory)
        for at, data, known in storages:
            if not known:
                data[:] = memory.read(at)

    try:
        with compiled(architecture, run):
            yield kernels
    finally:
        CUDABackend.make_cubin = assemble


def _parsed(kernel: Any) -> Kernel:
    """The one entry of a module, with the shared memory that a launch gives it."""
    text = re.sub(r"^\s*\.(loc|file)\b.*", "", kernel.asm["ptx"], flags=re.MULTILINE)
    (found,) = parse(text.partition("\t.section")[0]).values()
    for name in found.shared:
        found.shared[name] = Variable(0, kernel.metadata.shared)
    return found


def _windows(x: torch.Tensor) -> Iterator[tuple[int, NDArray[np.uint8]]]:
    """The storage of a tensor: its address and bytes; of a huge one what its lines have of it."""
    room = x.untyped_storage()
    if room.nbytes() <= HUGE:
        yield room.data_ptr(), torch.empty(0, dtype=torch.uint8).set_(room).numpy()
        return
    for line in x if x.stride(0) > x.stride(1) else x.T:
        bytes = line.view(torch.uint8)  # whose neighbours lie side by side
        yield line.data_ptr(), bytes.numpy()


def _arguments(
    kernel: Any, given: dict[str, Any]
) -> tuple[list[bytes], list[tuple[int, NDArray[np.uint8], bool]]]:
    """The bytes of the parameters, and the memory of tensors: address, bytes, whether it is read.

    A tensor that the launch writes has unknown bytes before; storage is known else.
    """
    words: list[bytes] = []
    storages: dict[int, tuple[int, NDArray[np.uint8], bool]] = {}
    for name, type in kernel.src.signature.items():
        value = given.get(name)
        if type == "constexpr":
            continue
        if isinstance(value, torch.Tensor):
            words.append(value.data_ptr().to_bytes(8, "little"))
            known = name not in RESULTS[kernel.src.fn.__name__]
            storages |= {at: (at, data, known) for at, data in _windows(value)}
        else:
            words.append(int(value or 0).to_bytes(_SIZES[type.replace("u", "i")], "little"))
    # Behind them Triton gives two addresses of memory that these kernels do not ask for.
    return [*words, bytes(8), bytes(8)], [*storages.values()]
