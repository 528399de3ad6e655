"""Sides of libraries that compute with torch; `peers` lists the libraries."""

from __future__ import annotations

import importlib
import inspect
import os
import sys
from collections.abc import Callable
from types import ModuleType
from typing import Any

import numpy as np
from numpy.typing import NDArray

import mxref
from benchmark.jobs import (
    Job,
    Side,
    bits_of_array,
    block_bits,
    blocks_of,
    codes_of_job,
    values_of,
)
from mxref.support.host_arrays import host_array
from mxref.targets.array_libraries import library_of

__all__ = [
    "with_compressed_tensors",
    "with_microxcaling",
    "with_torch",
    "with_torchao",
    "with_torchao_compiled",
    "with_torchmx",
]

Array = NDArray[Any]


def with_torch(job: Job) -> Side:
    """Casts with `to`."""
    torch, tensor = _tensors(job)
    small = getattr(torch, job.small)
    if job.op == "encode":
        x = tensor(values_of(job))
        return Side(lambda: x.to(small), _bits)
    codes, wide = tensor(codes_of_job(job)).view(small), getattr(torch, job.dtype.name)
    return Side(lambda: codes.to(wide), _bits)


def _tensors(job: Job) -> tuple[ModuleType, Callable[[Array], Any]]:
    """Torch with the threads of a job, and a function that makes its tensors."""
    torch = importlib.import_module("torch")
    torch.set_num_threads(job.threads)
    return torch, lambda array: library_of("torch").array(np.array(array))  # a writable copy


def _bits(result: Any) -> Array:
    return bits_of_array(host_array(result))


def with_torchao(job: Job, *, compiled: bool = False) -> Side:
    """`to_mx` and `to_dtype` of prototype/mx_formats, `pack_uint4` and `unpack_uint4`."""
    torch, tensor = _tensors(job)
    mx = importlib.import_module("torchao.prototype.mx_formats.mx_tensor")
    kernels = importlib.import_module("torchao.prototype.mx_formats.kernels")
    config = importlib.import_module("torchao.prototype.mx_formats.config")
    fp4 = job.element == "e2m1"

    def ready(function: Callable[..., Any]) -> Callable[..., Any]:
        if not compiled:
            return function
        torch._dynamo.reset()  # torch limits how often it compiles a function
        return torch.compile(function, fullgraph=True, dynamic=False)  # type: ignore[no-any-return]

    if job.op in ("pack", "unpack"):
        codes = tensor(codes_of_job(job))
        pack, unpack = ready(kernels.pack_uint4), ready(kernels.unpack_uint4)
        if job.op == "pack":
            return Side(lambda: pack(codes), _bits)
        packed = kernels.pack_uint4(codes)
        return Side(lambda: unpack(packed), _bits)
    small = {
        "e2m3": mx.DTYPE_FP6_E2M3,
        "e3m2": mx.DTYPE_FP6_E3M2,
        "e2m1": getattr(torch, "float4_e2m1fn_x2", None),
    }.get(job.element) or getattr(torch, job.small)
    if job.op == "quantize":
        mode = config.ScaleCalculationMode[job.choices.get("scale_rule", "floor").upper()]
        to_mx, x = ready(_without_e8m0(mx) if compiled else mx.to_mx), tensor(values_of(job))

        def answer(result: Any) -> Array:
            codes = kernels.unpack_uint4(result[1]) if fp4 else result[1]
            return block_bits(host_array(result[0]), host_array(codes))

        return Side(lambda: to_mx(x, small, 32, mode), answer)
    blocks, wide = blocks_of(job), getattr(torch, job.dtype.name)
    elements = tensor(blocks.codes)
    if fp4:
        elements = kernels.pack_uint4(elements)
    elif job.element in ("e4m3", "e5m2"):
        elements = elements.view(small)
    scales, to_dtype = tensor(blocks.scale_codes), ready(mx.to_dtype)
    if not compiled:
        scales = scales.view(torch.float8_e8m0fnu)
    return Side(lambda: to_dtype(elements, scales, small, 32, wide), _bits)


def with_torchao_compiled(job: Job) -> Side:
    """Torchao compiled by torch, which needs a C++ compiler and half a minute.

    torch 2.13's compiler for CPUs does not know E8M0: scales stay uint8. E5M2 results differ:
    compiled torchao omits the clamp before the cast, and overflow gives infinity.
    """
    return with_torchao(job, compiled=True)


def _without_e8m0(mx: ModuleType) -> Callable[..., Any]:
    """`to_mx` without its last step, a view of the scale codes as E8M0."""
    source, step = inspect.getsource(mx.to_mx), ".view(torch.float8_e8m0fnu)"
    if source.count(step) != 1:
        raise ValueError(f"to_mx of another torchao: {source.count(step)} steps {step}")
    names = dict(vars(mx))
    exec(compile(source.replace(step, ""), str(mx.__file__), "exec"), names)
    return names["to_mx"]  # type: ignore[no-any-return]


def with_torchmx(job: Job) -> Side:
    """`quantize_mx` and `dequantize_mx`."""
    torch, tensor = _tensors(job)
    mx = importlib.import_module("torchmx.mx_tensor")
    name = f"float{ {'e4m3': 8, 'e2m1': 4}.get(job.element, 6) }_{job.element}"
    if job.op == "quantize":
        x = tensor(values_of(job))

        def answer(result: Any) -> Array:
            codes = host_array(result[1]).view(np.uint8)
            if job.element == "e2m1":
                codes = mxref.unpack(codes, "e2m1", job.shape[-1], fp4_packing="high_nibble_first")
            return block_bits(host_array(result[0]), codes)

        return Side(lambda: mx.quantize_mx(x, name, 32), answer)
    blocks = blocks_of(job)
    codes = blocks.codes
    if job.element == "e2m1":
        codes = mxref.pack(codes, "e2m1", fp4_packing="high_nibble_first")
    elements, scales = tensor(codes), tensor(blocks.scale_codes)
    wide = getattr(torch, job.dtype.name)
    return Side(lambda: mx.dequantize_mx(elements, scales, name, 32, wide, -1), _bits)


def with_compressed_tensors(job: Job) -> Side:
    """`calculate_qparams`, then `compress`."""
    _, tensor = _tensors(job)
    settings = importlib.import_module("compressed_tensors.quantization")
    helpers = importlib.import_module("compressed_tensors.quantization.utils.helpers")
    number = {"e2m1": "4", "e2m3": "6", "e4m3": "8"}[job.element]
    room = importlib.import_module(f"compressed_tensors.compressors.mxfp{number}")
    kind = "Quantization" if number == "8" else "Packed"
    compress = getattr(room, f"MXFP{number}{kind}Compressor").compress
    uint8 = importlib.import_module("torch").uint8
    weights = settings.QuantizationArgs(
        num_bits=int(number), type="float", strategy="group", group_size=32,
        scale_dtype=uint8, zp_dtype=uint8,
    )  # fmt: skip
    scheme = settings.QuantizationScheme(targets=["Linear"], weights=weights)
    x = tensor(values_of(job).reshape(-1, job.shape[-1]))

    def quantize() -> Any:
        groups = x.unflatten(-1, (-1, 32))
        scales, _ = helpers.calculate_qparams(groups.amin(-1), groups.amax(-1), weights)
        return compress({"weight": x, "weight_scale": scales}, scheme)

    def answer(result: Any) -> Array:
        codes = host_array(result["weight" if number == "8" else "weight_packed"])
        if number != "8":
            codes = mxref.unpack(codes.view(np.uint8), job.element, job.shape[-1])
        return block_bits(host_array(result["weight_scale"]), codes)

    return Side(quantize, answer)


def with_microxcaling(job: Job) -> Side:
    """`_quantize_mx`, which returns rounded numbers in the type of the input."""
    _, tensor = _tensors(job)
    sys.path.insert(0, os.environ["MXREF_MICROXCALING"])
    mx = importlib.import_module("mx.mx_ops")
    names = {"int8": "int8", "e2m1": "fp4_e2m1"}
    name = names.get(job.element) or job.format.removeprefix("mx")
    x = tensor(values_of(job))
    return Side(
        lambda: mx._quantize_mx(x, 8, name, axes=[-1], block_size=32, round="even"), None, _bits
    )
