"""Parts of `gpu_check.py` that time the casts of torchao and Transformer Engine beside a copy."""

from __future__ import annotations

import importlib
from collections.abc import Callable, Iterator
from functools import partial
from pathlib import Path
from typing import Any

from gpu_common import Found, NotRunError

__all__ = ["rates", "torchao_speed", "transformer_engine_speed"]

_LINES, _LENGTH = 1 << 14, 1 << 13
_DIRECTIONS = ((True, False), (False, True), (True, True))
#: Calls by name, and how often each writes codes and scales of all numbers.
Calls = Iterator[tuple[str, int, Callable[[], object]]]


def rates(calls: Calls, size: int, copied: float, seconds: Callable[[Any], float]) -> Found:
    """The bandwidth of each call as a share of a copy's; a call that fails is not run.

    Where the library itself lacks what the calls need, those that are left are not run.

    Args:
        calls: the calls.
        size: number of bfloat16 numbers that each reads.
        copied: seconds that a copy of them takes.
        seconds: measures a call.

    Raises:
        NotRunError: no call ran.
    """
    rows: list[dict[str, Any]] = []
    failed: list[str] = []

    def fail(name: str, error: Exception) -> None:
        failed.append(f"{name}: {(str(error) or type(error).__name__).splitlines()[0]}")
        print("--", failed[-1])

    while True:
        try:
            name, directions, call = next(calls)
        except StopIteration:
            break
        except Exception as error:  # of a library that has other names, or no GPU
            fail("calls", error)
            break
        try:
            took = seconds(call)
        except Exception as error:  # what another library raises where it has no such kernel
            fail(name, error)
            continue
        moved = 2 * size + directions * (size + size // 32)
        share = moved / took / (4 * size / copied)
        print(f"{name}: {moved / took / 1e9:.0f} GB/s, {share:.0%} of a copy")
        rows.append({"name": name, "rate": moved / took, "share_of_copy": share})
    if not rows:
        raise NotRunError("; ".join(failed))
    return {"rows": rows, "not_run_calls": failed, "measured": True, "passed": True}


def _measured(calls: Callable[[Any, Any], Calls]) -> Found:
    torch: Any = importlib.import_module("torch")
    if not torch.cuda.is_available():
        raise NotRunError(f"torch {torch.__version__} sees no GPU")
    bench = importlib.import_module("triton.testing").do_bench
    x = torch.randn(_LINES, _LENGTH, device="cuda", dtype=torch.bfloat16)
    y = torch.empty_like(x)
    copied = 1e-3 * bench(lambda: y.copy_(x))
    found = rates(calls(torch, x), x.numel(), copied, lambda call: 1e-3 * float(bench(call)))
    return {**found, "device": torch.cuda.get_device_name()}


def torchao_speed(_: Path) -> Found:
    """MXFP8 by torchao's Triton and CUDA kernels, and by its compiled `to_mx`."""

    def calls(torch: Any, x: Any) -> Calls:
        folder = "torchao.prototype.mx_formats"
        kernels: Any = importlib.import_module(f"{folder}.kernels")

        def by_cuda(*, rows: bool, columns: bool) -> object:
            return kernels.mxfp8_quantize_cuda(x, rowwise=rows, colwise=columns)

        yield "triton_to_mxfp8_dim0", 1, lambda: kernels.triton_to_mxfp8_dim0(x)
        yield "triton_to_mxfp8_dim1", 1, lambda: kernels.triton_to_mxfp8_dim1(x)
        for rows, columns in _DIRECTIONS:
            name = f"mxfp8_quantize_cuda rows {rows} columns {columns}"
            yield name, rows + columns, partial(by_cuda, rows=rows, columns=columns)
        tensors: Any = importlib.import_module(f"{folder}.mx_tensor")
        mode = tensors.ScaleCalculationMode.RCEIL
        to_mx = torch.compile(tensors.to_mx)
        yield "to_mx, compiled", 1, lambda: to_mx(x, torch.float8_e4m3fn, 32, scaling_mode=mode)

    return _measured(calls)


def transformer_engine_speed(_: Path) -> Found:
    """MXFP8 by Transformer Engine's quantizer: rows, columns, and both."""

    def calls(_: Any, x: Any) -> Calls:
        # First the package, which loads the libraries that the extension needs.
        tensors: Any = importlib.import_module("transformer_engine.pytorch.tensor.mxfp8_tensor")
        engine: Any = importlib.import_module("transformer_engine_torch")
        for rows, columns in _DIRECTIONS:
            quantizer = tensors.MXFP8Quantizer(
                engine.DType.kFloat8E4M3, rowwise=rows, columnwise=columns
            )
            name = f"MXFP8Quantizer rows {rows} columns {columns}"
            yield name, rows + columns, partial(quantizer, x)

    return _measured(calls)
