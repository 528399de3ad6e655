"""MX and NVFP4 as operators of PyTorch, right to the last bit: the CUDA header behind torch.

    import mx_torch

    scales, codes = mx_torch.quantize(x, "mxfp4_e2m1", "rceil", packed=True, tiled=True)
    y = mx_torch.dequantize(scales, codes, "mxfp4_e2m1", torch.bfloat16, packed=True, tiled=True)

The operators are `torch.ops.mx.quantize`, `quantize_both`, `dequantize` and `fake_quantize`. They
have fake tensors, so that torch.compile takes them without a graph break, and `fake_quantize` has a
straight-through gradient. The header of tools/fastpath/cuda is compiled at the first call of each
format (`library`): for tensors on a GPU by nvcc, and where there is none the Triton kernels are
called instead; for those on a processor by the C++ compiler.
"""

from __future__ import annotations

import contextlib
import ctypes
import functools
import hashlib
import importlib
import os
import shutil
import subprocess
import sys
import tempfile
from pathlib import Path
from typing import Any, NamedTuple

import torch
from torch import Tensor

__all__ = [
    *("FORMATS", "RULES", "dequantize", "fake_quantize", "library"),
    *("quantize", "quantize_both", "tensor_scale"),
]

_HERE = Path(__file__).resolve().parent
_CUDA, _TRITON = _HERE.parent / "cuda", _HERE.parent / "triton"


class Format(NamedTuple):
    """A block format: its type in the header, its name in the Triton file, bits, block size."""

    header: str
    triton: str
    bits: int
    size: int = 32


#: Every block format by the name that mxref gives it.
FORMATS = {
    "mxfp8_e5m2": Format("E5M2", "e5m2", 8),
    "mxfp8_e4m3": Format("E4M3", "e4m3", 8),
    "mxfp6_e3m2": Format("E3M2", "e3m2", 6),
    "mxfp6_e2m3": Format("E2M3", "e2m3", 6),
    "mxfp4_e2m1": Format("E2M1", "e2m1", 4),
    "mxint8": Format("Int8", "int8", 8),
    "nvfp4": Format("NVFP4", "nvfp4", 4, 16),
}
#: The rules of E8M0 scales, in the order of mx::Rule; NVFP4 has none.
RULES = ("floor", "ceil", "rceil", "even", "rceil_reciprocal")
_TYPES = {torch.float32: 0, torch.bfloat16: 1, torch.float16: 2}


class _How(ctypes.Structure):
    """MxHow of mx_torch.cu."""

    _fields_ = [(name, ctypes.c_int) for name in ("type", "rule", "packed", "tiles")] + [
        ("tensor", ctypes.c_float)
    ]


class _Tensor(ctypes.Structure):
    """mx::Tensor: lines, length, and of values, codes and scales line and step."""

    _fields_ = [(f"size_{i}", ctypes.c_size_t) for i in range(8)]


def _compiler(device: torch.device) -> list[str] | None:
    """The command that compiles for a device, without format and files; None if there is none."""
    if device.type != "cuda":
        compiler = os.environ.get("CXX") or shutil.which("g++") or shutil.which("c++")
        if compiler is None:
            raise RuntimeError(
                "a C++ compiler must be found as $CXX, g++ or c++ for tensors on a CPU"
            )
        return [compiler, "-std=c++17", "-O2", "-shared", "-fPIC", "-fopenmp", "-x", "c++"]
    compiler = os.environ.get("NVCC") or shutil.which("nvcc")
    major, minor = torch.cuda.get_device_capability(device)
    # From 10.0 on a family has the conversions to FP6 and FP4, its first architecture alone not.
    architecture = f"{major}{minor}f" if major >= 10 else f"{major}{minor}"
    gencode = f"arch=compute_{architecture},code=sm_{architecture}"
    options = ["-std=c++17", "-O2", "-shared", "-Xcompiler", "-fPIC", "-gencode", gencode]
    return None if compiler is None else [compiler, *options]


@functools.cache
def library(format: str, device: torch.device) -> ctypes.CDLL | None:
    """The compiled kernels of a format; None where a GPU's compiler is not found.

    They are kept in the folder that MX_TORCH_CACHE names, else in ~/.cache/mx_torch, under the
    digest of the sources and the command.
    """
    command = _compiler(device)
    if command is None:
        return None
    command += [f"-DMX_FORMAT={FORMATS[format].header}", f"-I{_CUDA}"]
    sources = [_HERE / "mx_torch.cu", *sorted(_CUDA.glob("*.cuh"))]
    parts = [*(path.read_bytes() for path in sources), *(part.encode() for part in command)]
    digest = hashlib.sha256(b"\0".join(parts)).hexdigest()[:16]
    folder = Path(os.environ.get("MX_TORCH_CACHE") or Path.home() / ".cache" / "mx_torch")
    path = folder / f"mx_{format}_{device.type}_{digest}.so"
    if not path.exists():
        folder.mkdir(parents=True, exist_ok=True)
        with tempfile.TemporaryDirectory(dir=folder) as staging:
            made = Path(staging) / path.name
            build = [*command, str(sources[0]), "-o", str(made)]
            run = subprocess.run(build, capture_output=True, text=True, check=False)
            if run.returncode:
                raise RuntimeError(f"{' '.join(build)} failed:\n{run.stderr}")
            made.replace(path)
    found = ctypes.CDLL(str(path))
    found.mx_error.restype = ctypes.c_char_p
    return found


@functools.cache
def _triton() -> Any:
    """The Triton file, for GPUs without nvcc."""
    sys.path.append(str(_TRITON))
    return importlib.import_module("mx_kernels")


class _Way(NamedTuple):
    """What is made: a format, whether codes are packed, whether scales lie in tiles."""

    format: str
    packed: bool = False
    tiled: bool = False

    def code_bytes(self, count: int) -> int:
        """The bytes of so many codes of whole blocks."""
        return count * FORMATS[self.format].bits // 8 if self.packed else count

    def sizes(self, shape: Any) -> tuple[list[int], list[int]]:
        """The shapes of scales and codes of blocks along the last axis of a shape."""
        *over, length = shape
        size, lines = FORMATS[self.format].size, 1
        blocks = (length + size - 1) // size
        for count in over:
            lines = lines * count
        tiles = (lines + 127) // 128 * ((blocks + 3) // 4) * 512
        return [tiles] if self.tiled else [*over, blocks], [*over, self.code_bytes(blocks * size)]

    def made(self, x: Tensor, shape: Any) -> tuple[Tensor, Tensor]:
        """Room for scales (bytes of tiles beyond the matrix are 00) and codes."""
        scales, codes = self.sizes(shape)
        new_scales = x.new_zeros if self.tiled else x.new_empty
        return new_scales(scales, dtype=torch.uint8), x.new_empty(codes, dtype=torch.uint8)

    def read(self, scales: Tensor, codes: Tensor, dtype: torch.dtype, length: int | None) -> Tensor:
        """Room for the numbers of codes that fit their scales."""
        if scales.dtype != torch.uint8 or codes.dtype != torch.uint8 or codes.dim() < 1:
            raise TypeError(f"scales and codes must be bytes, got {scales.dtype}, {codes.dtype}")
        size = FORMATS[self.format].size
        length = codes.shape[-1] // self.code_bytes(size) * size if length is None else length
        x = codes.new_empty((*codes.shape[:-1], length), dtype=dtype)
        wanted = self.sizes(x.shape)
        if [*scales.shape] != wanted[0] or [*codes.shape] != wanted[1]:
            shapes = f"{[*scales.shape]} and {[*codes.shape]}"
            raise ValueError(f"scales and codes must be {wanted[0]}, {wanted[1]}, got {shapes}")
        return x

    def how(self, x: Tensor, rule: str, tensor_scale: Tensor | None) -> Any:
        """MxHow of values such as x."""
        if self.format != "nvfp4" and tensor_scale is not None:
            raise ValueError(f"tensor_scale must be None but for nvfp4, got {tensor_scale}")
        unit = 1.0 if tensor_scale is None else float(tensor_scale)
        if not 0 < unit < float("inf"):
            raise ValueError(f"tensor_scale must be positive and finite, got {unit}")
        kind, number = _TYPES[x.dtype], RULES.index(rule)
        return ctypes.byref(_How(kind, number, self.packed, self.tiled, unit))

    def placed(self, matrix: Tensor, codes: Tensor) -> Any:
        """mx::Tensor of a matrix of lines and the codes of each."""
        lines, length = matrix.shape
        blocks = -(-length // FORMATS[self.format].size)
        strides = *matrix.stride(), codes.shape[-1], 1, blocks, 1
        return ctypes.byref(_Tensor(lines, length, *strides))

    def call(self, name: str, device: torch.device, *arguments: Any) -> None:
        """Call a function of the library, on the current stream of a GPU."""
        found: Any = library(self.format, device)
        stream, guard = None, contextlib.nullcontext()
        if device.type == "cuda":
            stream = ctypes.c_void_p(torch.cuda.current_stream(device).cuda_stream)
            guard = torch.cuda.device(device)
        given = [ctypes.c_void_p(a.data_ptr()) if isinstance(a, Tensor) else a for a in arguments]
        with guard:
            status = getattr(found, name)(*given, stream)
        if status:
            raise RuntimeError(f"{name}: {found.mx_error(status).decode()}")


def _checked(
    x: Tensor, format: str, rule: str, *, packed: bool = False, tiled: bool = False, axes: int = 1
) -> _Way:
    """How a tensor is quantized; refuses what no kernel takes, of real and of fake tensors."""
    if rule not in RULES:
        raise ValueError(f"rule must be one of {', '.join(RULES)}, got {rule!r}")
    if x.dtype not in _TYPES:
        raise TypeError(f"x must be float32, bfloat16 or float16, got {x.dtype}")
    if x.dim() < 1 or (axes == 2 and x.dim() != 2):
        what = "be a matrix" if axes == 2 else "have an axis along which blocks run"
        raise ValueError(f"x must {what}, got {x.dim()} axes")
    return _way(format, packed=packed, tiled=tiled)


def _way(format: str, *, packed: bool, tiled: bool) -> _Way:
    if format not in FORMATS:
        raise ValueError(f"format must be one of {', '.join(FORMATS)}, got {format!r}")
    return _Way(format, packed, tiled)


def _lines(x: Tensor) -> Tensor:
    """A matrix of all lines of x, a view if there is one."""
    return x.reshape(x.shape[:-1].numel(), x.shape[-1])


@torch.library.custom_op("mx::quantize", mutates_args=())
def quantize(
    x: Tensor,
    format: str,
    rule: str = "floor",
    tensor_scale: Tensor | None = None,
    *,
    packed: bool = False,
    tiled: bool = False,
) -> tuple[Tensor, Tensor]:
    """Scales and codes, bytes, of blocks along the last axis; a tail is filled up with zeros.

    Args:
        x: float32, bfloat16 or float16 (..., n), with any strides.
        format: a name of FORMATS.
        rule: a name of RULES, for E8M0 scales; NVFP4 rounds amax / (6 * tensor_scale) to UE4M3.
        packed: two FP4 codes in a byte, four FP6 codes in three, instead of one in each.
        tiled: the scales in tiles of 128 x 4, as cuBLAS reads them, instead of (..., blocks).
        tensor_scale: of NVFP4: a positive finite number, see `tensor_scale`; it is read back from a
            GPU, which waits for it. None is 1.

    Raises:
        ValueError, TypeError: another format, rule, dtype or tensor scale.
    """
    way = _checked(x, format, rule, packed=packed, tiled=tiled)
    how = way.how(x, rule, tensor_scale)
    if x.is_cuda and library(format, x.device) is None:
        return _by_triton(x, way, rule, tensor_scale)
    scales, codes = way.made(x, x.shape)
    if x.numel():
        lines = _lines(x)
        way.call("mx_quantize", x.device, how, way.placed(lines, codes), lines, scales, codes)
    return scales, codes


@torch.library.custom_op("mx::quantize_both", mutates_args=())
def quantize_both(
    x: Tensor,
    format: str,
    rule: str = "floor",
    tensor_scale: Tensor | None = None,
    *,
    packed: bool = False,
    tiled: bool = False,
) -> tuple[Tensor, Tensor, Tensor, Tensor]:
    """`quantize` of a matrix and of its transpose: on a GPU from one read of it."""
    way = _checked(x, format, rule, packed=packed, tiled=tiled, axes=2)
    how = way.how(x, rule, tensor_scale)
    if x.is_cuda and library(format, x.device) is None:
        across, down = (_by_triton(m, way, rule, tensor_scale) for m in (x, x.T))
        return (*across, *down)
    across, down = way.made(x, x.shape), way.made(x, x.shape[::-1])
    if x.numel():
        places = way.placed(x, across[1]), way.placed(x.T, down[1])
        way.call("mx_quantize_both", x.device, how, *places, x, *across, *down)
    return (*across, *down)


@torch.library.custom_op("mx::dequantize", mutates_args=())
def dequantize(
    scales: Tensor,
    codes: Tensor,
    format: str,
    dtype: torch.dtype = torch.float32,
    tensor_scale: Tensor | None = None,
    *,
    packed: bool = False,
    tiled: bool = False,
    length: int | None = None,
) -> Tensor:
    """The numbers of what `quantize` gives, rounded once to float32, bfloat16 or float16.

    Args:
        scales: bytes, as `quantize` gives them.
        codes: likewise.
        format: as there, like packed, tiled and tensor_scale.
        dtype: of the numbers.
        packed: as there.
        tiled: as there.
        tensor_scale: as there.
        length: of the lines; whole blocks if None.

    Raises:
        ValueError, TypeError: another format or dtype, or scales and codes that do not fit.
    """
    way = _way(format, packed=packed, tiled=tiled)
    x = way.read(scales, codes, dtype, length)
    how = _checked(x, format, RULES[0], packed=packed, tiled=tiled).how(x, RULES[0], tensor_scale)
    if x.is_cuda and library(format, x.device) is None:
        more = {"tensor_scale": tensor_scale, "packed": packed, "tiled": tiled}
        whole = _triton().dequantize(scales, codes, FORMATS[format].triton, dtype, **more)
        return whole[..., : x.shape[-1]].contiguous()
    if x.numel():
        lines, codes, scales = _lines(x), codes.contiguous(), scales.contiguous()
        way.call("mx_dequantize", x.device, how, way.placed(lines, codes), scales, codes, lines)
    return x


@torch.library.custom_op("mx::fake_quantize", mutates_args=())
def fake_quantize(
    x: Tensor, format: str, rule: str = "floor", tensor_scale: Tensor | None = None
) -> Tensor:
    """The numbers of x's codes, in x's dtype; the gradient goes straight through."""
    scales, codes = quantize(x, format, rule, tensor_scale)
    return dequantize(scales, codes, format, x.dtype, tensor_scale, length=x.shape[-1])


def tensor_scale(x: Tensor) -> Tensor:
    """NVFP4's scale of a tensor: amax / 2688 as float32; 1 for zeros, never 0, infinite or NaN."""
    amax = x.abs().amax().float() if x.numel() else x.new_zeros((), dtype=torch.float32)
    found = (amax / 2688).clamp(2.0**-149, torch.finfo(torch.float32).max)
    return torch.where(amax == 0, torch.ones_like(found), found)


def _by_triton(
    x: Tensor, way: _Way, rule: str, tensor_scale: Tensor | None
) -> tuple[Tensor, Tensor]:
    kind = FORMATS[way.format]
    filled = torch.nn.functional.pad(x, (0, -x.shape[-1] % kind.size))
    more = {"tensor_scale": tensor_scale, "packed": way.packed, "tiled": way.tiled}
    scales, codes = _triton().quantize(filled, kind.triton, rule, **more)
    return scales, codes


@quantize.register_fake
def _(
    x: Tensor, format: str, rule: str = "floor", tensor_scale: Tensor | None = None, *,
    packed: bool = False, tiled: bool = False,
) -> tuple[Tensor, Tensor]:  # fmt: skip
    return _checked(x, format, rule, packed=packed, tiled=tiled).made(x, x.shape)


@quantize_both.register_fake
def _(
    x: Tensor, format: str, rule: str = "floor", tensor_scale: Tensor | None = None, *,
    packed: bool = False, tiled: bool = False,
) -> tuple[Tensor, Tensor, Tensor, Tensor]:  # fmt: skip
    way = _checked(x, format, rule, packed=packed, tiled=tiled, axes=2)
    return (*way.made(x, x.shape), *way.made(x, x.shape[::-1]))


@dequantize.register_fake
def _(
    scales: Tensor, codes: Tensor, format: str, dtype: torch.dtype = torch.float32,
    tensor_scale: Tensor | None = None, *, packed: bool = False, tiled: bool = False,
    length: int | None = None,
) -> Tensor:  # fmt: skip
    return _way(format, packed=packed, tiled=tiled).read(scales, codes, dtype, length)


@fake_quantize.register_fake
def _(x: Tensor, format: str, rule: str = "floor", tensor_scale: Tensor | None = None) -> Tensor:
    _checked(x, format, rule)
    return torch.empty_like(x, memory_format=torch.contiguous_format)


fake_quantize.register_autograd(lambda context, gradient: (gradient, None, None, None))
