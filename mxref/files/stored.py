"""What files hold: tensors that are read when they are asked for, and how blocks are described."""

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
from mxref.blocks.tiles import shape_of
from mxref.blocks.two_level import TensorScale, TensorScaleKind
from mxref.formats.catalog import BlockFormat

#: Codes that are in memory at a time while a file is written.
STEP = 1 << 20
_FLOATS = ("F64", "F32", "F16", "BF16")
_NUMPY = [
    (order + kind, np.dtype(order + kind))
    for kind in ("f8", "f4", "f2", *(f"{kind}{size}" for kind in "iu" for size in (1, 2, 4, 8)))
    for order in "<>"
]
_SMALL = (
    *("float4_e2m1fn", "float6_e2m3fn", "float6_e3m2fn", "float8_e3m4", "float8_e4m3"),
    *("float8_e4m3b11fnuz", "float8_e4m3fn", "float8_e4m3fnuz", "float8_e5m2", "float8_e5m2fnuz"),
    "float8_e8m0fnu",
)
#: The types that tensors in blocks may have had, by the names that files give them.
_DTYPES: Mapping[str, np.dtype[Any]] = {
    **dict(_NUMPY),
    **{str(dtype): dtype for _, dtype in _NUMPY},
    **{name: np.dtype(getattr(ml_dtypes, name)) for name in ("bfloat16", *_SMALL)},
}


@dataclass(frozen=True)
class Entry:
    """A tensor in a file.

    Args:
        name: its name.
        kind: its type in the file's own words, such as BF16.
        shape: its shape.
        load: reads it: an array, mapped to the file where its bytes can be used as they are; or
            `Blocks`.
        small: whether it holds floats of 8 bits or fewer.
    """

    name: str
    kind: str
    shape: tuple[int, ...]
    load: Callable[[], NDArray[Any] | Blocks]
    small: bool = False

    @property
    def is_float(self) -> bool:
        """Whether it holds floats of 16 bits or more."""
        return self.kind in _FLOATS


def dtype_named(name: str) -> np.dtype[Any]:
    """The NumPy or ml_dtypes type of that name.

    Raises:
        ValueError: no float or integer type has it.
    """
    if name not in _DTYPES:
        raise ValueError(f"dtype must be that of floats or integers, got {name}")
    return _DTYPES[name]


def describe(blocks: Blocks) -> dict[str, Any]:
    """What is needed to read codes, in words that JSON holds.

    Raises:
        ValueError: a format that is known here by no name, so that no reader could find it, or
            another thing that readers refuse.
    """
    fmt = blocks.format
    dtype_named(str(blocks.dtype))
    known = _format(fmt.name, fmt.element.name, fmt.scale.name, fmt.block_size)
    if known != fmt:
        raise ValueError(
            f"format must consist of formats known by name to be written to a file, got {fmt.name} "
            f"of {fmt.element.name} and {fmt.scale.name}"
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
    tensor_bits: Callable[[str], int],
) -> Blocks:
    """The blocks that a description and the codes below it make.

    Raises:
        ValueError, TypeError, KeyError: a description that is none.
    """
    fmt = _format(about["format"], about["element"], about["scale"], _size(about["block_size"]))
    if fmt is None:
        raise ValueError(f"it has an unknown format, {about['format']}")
    kind = about["tensor_scale"]
    tensor = None if kind is None else TensorScale(tensor_bits(kind), TensorScaleKind(kind))
    shape, axis = shape_of(about["shape"]), _size(about["axis"])
    return Blocks(
        owned(codes(fmt, shape_of(about["codes_shape"]))),
        owned(scales()),
        fmt,
        axis,
        shape,
        dtype_named(about["dtype"]),
        tensor,
    )


def brief(error: Exception) -> str:
    """An error's words in a part of a sentence."""
    lines = str(error).splitlines()
    text = lines[0].rstrip(".")[:200] if lines else type(error).__name__
    return f"it lacks {text}" if isinstance(error, KeyError) else text


def owned(codes: U8) -> U8:
    """Codes that nobody writes to any more, which `Blocks` need not copy."""
    array: Any = codes
    while isinstance(array, np.ndarray):
        array.flags.writeable = False
        array = array.base
    return codes


def chunks(codes: U8) -> Iterator[U8]:
    """Codes in their order, about `STEP` at a time: parts of one row, or whole rows."""
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
