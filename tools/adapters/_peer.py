"""What adapters share: finding their library, and arrays to and from torch."""

import ctypes
import importlib
import os
import subprocess
import tempfile
from collections.abc import Callable
from pathlib import Path
from types import ModuleType
from typing import Any

import ml_dtypes
import numpy as np
from numpy.typing import NDArray

__all__ = ["array", "checkout", "compiled", "in_whole_vectors", "peer", "tensor"]

_BATCH = 1 << 14  # too few for two threads


def peer(module: str, requirement: str) -> ModuleType:
    """A module of the library; where it is absent, the sentence that names the pip command.

    Raises:
        ImportError: the module cannot be imported.
    """
    try:
        return importlib.import_module(module)
    except ImportError as error:
        raise ImportError(
            f"{module} must be installed ({error}): pip install {requirement}"
        ) from error


def checkout(variable: str, source: str) -> Path:
    """The folder that an environment variable names: of what no registry has.

    Raises:
        ImportError: it names none; the sentence says what to check out.
    """
    path = Path(os.environ.get(variable, ""))
    if not path.is_absolute() or not path.is_dir():
        raise ImportError(f"{variable} must name a checkout of {source}, as an absolute path")
    return path


def compiled(source: str, *includes: Path) -> ctypes.CDLL:
    """The library that g++ makes of C++."""
    with tempfile.TemporaryDirectory() as folder:
        library = Path(folder, "library.so")
        Path(folder, "library.cpp").write_text(source, "ascii")
        Path(folder, "curand_kernel.h").touch()
        flags = [word for path in (*includes, folder) for word in ("-I", str(path))]
        flags += ["-std=c++17", "-O1", "-w", "-shared", "-fPIC", "-ffp-contract=off"]
        command = ["g++", *flags, str(Path(folder, "library.cpp")), "-o", str(library)]
        subprocess.run(command, check=True)
        return ctypes.CDLL(str(library))


def tensor(values: NDArray[Any]) -> Any:
    """A torch tensor of an array's bits; torch does not know the bfloat16 of ml_dtypes."""
    torch = peer("torch", "torch==2.13.0")
    values = np.array(values, order="C")  # a copy that torch may write to
    if values.dtype == ml_dtypes.bfloat16:
        return torch.from_numpy(values.view(np.int16)).view(torch.bfloat16)
    return torch.from_numpy(values)


def array(result: Any) -> NDArray[Any]:
    """The array of a torch tensor's bits; 8-bit floats come as uint8."""
    torch = peer("torch", "torch==2.13.0")
    if result.dtype == torch.bfloat16:
        bits: NDArray[Any] = result.contiguous().view(torch.int16).numpy()
        return bits.view(ml_dtypes.bfloat16)
    if result.dtype.is_floating_point and result.dtype.itemsize == 1:
        result = result.contiguous().view(torch.uint8)
    codes: NDArray[Any] = result.numpy()
    return codes


def in_whole_vectors(
    quantize: Callable[[NDArray[Any]], tuple[NDArray[Any], NDArray[Any]]], values: NDArray[Any]
) -> tuple[NDArray[Any], NDArray[Any]]:
    """What a function gives for blocks, one a row, if torch computes scales by whole vectors.

    torch.pow(2, NaN) is ffffffff in vectors of 32 or 64, and 7fc00000 for what is left over at the
    end of a tensor or of a thread's share.
    """
    filled = np.pad(values, ((0, -len(values) % 64), (0, 0)))
    parts = np.split(filled, range(_BATCH, len(filled), _BATCH))
    scales, codes = zip(*(quantize(part) for part in parts), strict=True)
    return np.concatenate(scales)[: len(values)], np.concatenate(codes)[: len(values)]
