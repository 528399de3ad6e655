"""Tensors in files, which are read on demand, and the description of blocks as JSON."""

from __future__ import annotations

import dataclasses
import math
from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass
from typing import Any

import ml_dtypes
import numpy as np
from numpy.typing import NDArray

from mxref import formats
from mxref.bits.floats import U8
from mxref.blocks.container import Blocks
from mxref.blocks.two_level import TensorScaleKind, one_or_rows
from mxref.formats.catalog import BlockFormat
from mxref.support.integers import shape_of
from mxref.support.text import printable

#: Number of codes that are in memory at a time while a file is written.
STEP = 1 << 20
_FLOATS = ("F64", "F32", "F16", "BF16")
_NUMPY = [
    (order + kind, np.dtype(order + kind))
    for kind in ("f8", "f4", "f2", *(f"{kind}{size}" for kind in "iu" for size in (1, 2, 4, 8)))
    for order in "<>"
]
_FLOAT8 = ("e3m4", "e4m3", "e4m3b11fnuz", "e4m3fn", "e4m3fnuz", "e5m2", "e5m2fnuz", "e8m0fnu")
_NARROW = ("float4_e2m1fn", "float6_e2m3fn", "float6_e3m2fn")
#: Types that a tensor may have had before it was quantized, by their names in files.
_DTYPES: Mapping[str, np.dtype[Any]] = {
    **dict(_NUMPY),
    **{str(dtype): dtype for _, dtype in _NUMPY},
    **{name: np.dtype(getattr(ml_dtypes, name)) for name in ("bfloat16", *_NARROW)},
    **{f"float8_{name}": np.dtype(getattr(ml_dtypes, f"float8_{name}")) for name in _FLOAT8},
}


@dataclass(frozen=True)
class Entry:
    """A tensor in a file.

    Args:
        name: name of the tensor.
        kind: its type as the file names it, such as BF16.
        shape: shape of the tensor.
        load: reads the tensor: returns `Blocks`, or an array, mapped to the file if its bytes need
            no conversion.
        small: whether the tensor holds floats of 8 bits or fewer.
    """

    name: str
    kind: str
    shape: tuple[int, ...]
    load: Callable[[], NDArray[Any] | Blocks]
    small: bool = False

    @property
    def is_float(self) -> bool:
        """Whether the tensor holds floats of 16 bits or more."""
        return self.kind in _FLOATS


def kind_of(dtype: np.dtype[Any]) -> str:
    """The type of an array as other files name it, such as F32; NumPy's name if it is no float.

    >>> kind_of(np.dtype(">f4")), kind_of(np.dtype(np.int64))
    ('F32', 'int64')
    """
    float_ = dtype.kind == "f" and dtype.itemsize <= 8
    return f"F{8 * dtype.itemsize}" if float_ else str(dtype)


def dtype_named(name: str) -> np.dtype[Any]:
    """The NumPy or ml_dtypes type of a name.

    Raises:
        ValueError: no float or integer type has this name.
    """
    if name not in _DTYPES:
        raise ValueError(f"dtype must be that of floats or integers, got {name}")
    return _DTYPES[name]


def describe(blocks: Blocks) -> dict[str, Any]:
    """Format, shape and dtype of blocks, as JSON has them.

    Raises:
        ValueError: a format that no reader could find by its name, or a dtype that readers refuse.
    """
    fmt = blocks.format
    dtype_named(str(blocks.dtype))
    known = _format(fmt.name, fmt.element.name, fmt.scale.name, fmt.block_size)
    if known != fmt:
        got = f"{fmt.name} of {fmt.element.name} and {fmt.scale.name}"
        raise ValueError(
            f"format must be one of mxref's by name, with any block size, to be written to a file, "
            f"got {got}"
        )
    tensor = blocks.tensor_scale
    return {
        "format": fmt.name,
        "element": fmt.element.name,
        "scale": fmt.scale.name,
        "block_size": fmt.block_size,
        "axis": blocks.axis,
        "shape": list(blocks.shape),
        "codes_shape": list(blocks.codes.shape),
        "dtype": str(blocks.dtype),
        "tensor_scale": None if tensor is None else tensor.kind.value,
    }


def described(
    about: Mapping[str, Any],
    codes: Callable[[BlockFormat, tuple[int, ...]], U8],
    scales: Callable[[], U8],
    tensor_bits: Callable[[str], NDArray[np.uint32]],
) -> Blocks:
    """Blocks from a description and functions that read their codes, scales and tensor scale.

    Raises:
        ValueError, TypeError, KeyError: the description is damaged.
    """
    fmt = _format(about["format"], about["element"], about["scale"], _size(about["block_size"]))
    if fmt is None:
        raise ValueError(f"it has an unknown format, {about['format']}")
    kind = about["tensor_scale"]
    tensor = None if kind is None else one_or_rows(tensor_bits(kind), TensorScaleKind(kind))
    shape, axis = shape_of(about["shape"]), _size(about["axis"])
    dtype = dtype_named(about["dtype"])
    elements = owned(codes(fmt, shape_of(about["codes_shape"])))
    return Blocks(elements, owned(scales()), fmt, axis, shape, dtype, tensor)


def brief(error: Exception) -> str:
    """The text of an error as part of a sentence."""
    lines = str(error).splitlines()
    text = printable(lines[0].rstrip(".")[:200]) if lines else type(error).__name__
    return f"it lacks {text}" if isinstance(error, KeyError) else text


def owned(codes: U8) -> U8:
    """Codes made read-only, which `Blocks` need not copy."""
    array: Any = codes
    while isinstance(array, np.ndarray):
        array.flags.writeable = False
        array = array.base
    return codes


def chunks(codes: U8) -> Iterator[U8]:
    """Codes in order, about `STEP` at a time: parts of one row, or whole rows."""
    rows = codes.reshape(math.prod(codes.shape[:-1]), codes.shape[-1])
    length = rows.shape[1]
    if length > STEP:
        for row in rows:
            for start in range(0, length, STEP):
                yield row[start : start + STEP]
    elif length:
        step = STEP // length
        for start in range(0, len(rows), step):
            yield rows[start : start + step]


def _size(value: Any) -> Any:
    return tuple(value) if isinstance(value, list) else value


def _format(name: str, element: str, scale: str, block_size: Any) -> BlockFormat | None:
    known = {**formats.BLOCK_FORMATS, **formats.OTHER_BLOCK_FORMATS}
    if name in known:
        fmt = dataclasses.replace(known[name], block_size=block_size)
        return fmt if (fmt.element.name, fmt.scale.name) == (element, scale) else None
    return None
