"""Arrays of words as files, the same bytes everywhere, and a strict reader of .npy."""

from __future__ import annotations

import re
from collections.abc import Mapping
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

from mxref.cases.read import VectorError
from mxref.support.extras import missing_packages
from mxref.support.whole_file import read_file

__all__ = ["read_npy"]

Words = NDArray[np.unsignedinteger[Any]]
#: Words, and the hex digits of each.
Array = tuple[Words, int]

_MAGIC = b"\x93NUMPY\x01\x00"
_HEADER = re.compile(
    r"\{'descr': '([^']*)', 'fortran_order': (False|True), "
    r"'shape': (\((?:\d+,|\d+(?:, \d+)+)\)), \} *\n",
    re.ASCII,
)


def npy(array: Words) -> bytes:
    """The array as .npy, format 1.0, in a header of 128 bytes.

    Not `numpy.save`, whose header depends on the version of NumPy.

    >>> npy(np.zeros((2, 3), np.uint8))[10:70].decode().strip()
    "{'descr': '|u1', 'fortran_order': False, 'shape': (2, 3), }"
    """
    array = little_endian(array)
    header = f"{{'descr': '{array.dtype.str}', 'fortran_order': False, 'shape': {array.shape}, }}"
    size = 128 - len(_MAGIC) - 2
    text = f"{header:<{size - 1}}\n".encode("ascii")
    return _MAGIC + size.to_bytes(2, "little") + text + array.tobytes()


def read_npy(path: str | Path, shape: tuple[int, ...] | None = None) -> Words:
    """The array of a .npy file of words, which must be complete; pickles are refused.

    Args:
        path: a file of unsigned integers, little-endian, in C order, such as `export` writes.
        shape: the shape that it must have, if known.

    Raises:
        VectorError: the file is missing, cut off, too long, holds anything else, or has another
            shape; the message names file and reason.
    """
    try:
        data = read_file(Path(path))
    except OSError as error:
        raise VectorError(f"{path} cannot be read: {error.strerror}") from None
    if not data.startswith(_MAGIC):
        raise VectorError(f"{path} must be a .npy file of format 1.0, it does not begin as one")
    start = len(_MAGIC) + 2
    end = start + int.from_bytes(data[len(_MAGIC) : start], "little")
    if len(data) < end or end == start:
        raise VectorError(f"{path} is cut off in its header, after {len(data)} bytes")
    match = _HEADER.fullmatch(data[start:end].decode("latin-1"))
    if match is None:
        raise VectorError(f"{path} must have a header of descr, fortran_order and shape alone")
    descr, fortran, dims = match.groups()
    if "O" in descr:
        raise VectorError(f"{path} must hold numbers, it holds pickled Python objects")
    if descr not in ("|u1", "<u2", "<u4", "<u8") or fortran == "True":
        raise VectorError(
            f"{path} must hold little-endian unsigned integers in C order, got {descr!r}, "
            f"fortran_order {fortran}"
        )
    got = tuple(int(size) for size in re.findall(r"\d+", dims))
    if shape is not None and got != shape:
        raise VectorError(f"{path} must have the shape {shape}, got {got}")
    dtype, count = np.dtype(descr), 1
    for size in got:
        count *= size
    if len(data) - end != count * dtype.itemsize:
        raise VectorError(
            f"{path} must have {count * dtype.itemsize} bytes of data for the shape {got}, "
            f"got {len(data) - end}"
        )
    return np.frombuffer(data, dtype, count, end).reshape(got).astype(dtype.newbyteorder("="))


def little_endian(array: Words) -> Words:
    """The array in C order and little-endian, on every machine."""
    return np.ascontiguousarray(array, array.dtype.newbyteorder("<"))


def readmemh(array: Words, digits: int, comment: str) -> bytes:
    """A comment, then one hex word a line, for Verilog's $readmemh.

    >>> readmemh(np.array([7, 255], np.uint8), 2, "two words").decode().splitlines()
    ['// two words', '07', 'ff']
    """
    words = (f"{value:0{digits}x}" for value in array.reshape(-1).tolist())
    return "\n".join([f"// {comment}", *words, ""]).encode("ascii")


def c_words(array: Words, digits: int) -> str:
    r"""The initialiser of a C array without outer braces, with an inner pair for each row.

    >>> c_words(np.array([[1, 2], [3, 4]], np.uint8), 2)
    '{0x01,0x02},\n{0x03,0x04}'
    """
    if array.ndim > 1:
        return ",\n".join(f"{{{c_words(row, digits)}}}" for row in array)
    suffix = {8: "u", 16: "ull"}.get(digits, "")
    words = [f"0x{value:0{digits}x}{suffix}" for value in array.tolist()]
    return ",\n".join(",".join(words[i : i + 16]) for i in range(0, len(words), 16))


def c_header(name: str, arrays: Mapping[str, Array], comment: str) -> bytes:
    """A C header of arrays, each named `name` and its key."""
    guard = f"{name.upper()}_H"
    lines = [f"/* {comment} */", f"#ifndef {guard}", f"#define {guard}", "#include <stdint.h>"]
    for key, (array, digits) in arrays.items():
        size = "".join(f"[{length}]" for length in array.shape)
        label = re.sub(r"\W", "_", key)
        lines.append(f"static const uint{4 * digits}_t {name}_{label}{size} = {{")
        lines += [c_words(array, digits), "};"]
    return "\n".join([*lines, "#endif", ""]).encode("ascii")


def safetensors(arrays: Mapping[str, Words], metadata: Mapping[str, str]) -> bytes:
    """The arrays as a .safetensors file.

    Raises:
        ValueError: the package is not installed.
    """
    try:
        from safetensors.numpy import save
    except ImportError:
        raise ValueError(missing_packages("--as safetensors", "io", "safetensors")) from None
    data: bytes = save({name: little_endian(a) for name, a in arrays.items()}, dict(metadata))
    return data
