"""``.gguf``: float tensors, and MXFP4 in blocks of 17 bytes, through the package gguf.

A block is its scale byte, then 16 bytes: byte j holds element j in the low nibble and element
j + 16 in the high nibble. Readers of the format have no NaN and no -0: they read scale FF as 2**128
and code 8 as 0.
Source: ggml-common.h, block_mxfp4; SPEC_NOTES N32.
"""

from __future__ import annotations

import importlib
import json
import math
import os
from collections.abc import Callable, Iterator, Mapping
from pathlib import Path
from typing import TYPE_CHECKING, Any, BinaryIO, Literal

import ml_dtypes
import numpy as np
from numpy.typing import NDArray

from mxref.bits.floats import U8
from mxref.blocks.container import Blocks
from mxref.files.stored import Entry, brief, chunks, describe, dtype_named, owned
from mxref.formats.catalog import BlockFormat, block_format
from mxref.packing.elements import pack_blocks, unpack_blocks
from mxref.support.mapped import Mapped
from mxref.support.whole_file import whole_file

if TYPE_CHECKING:
    from mxref.policy.keywords import PackBlocksChoices

_SIZE, _BYTES = 32, 17
_LAYOUT: PackBlocksChoices = {"scale_place": "before", "fp4_packing": "halves"}
_KEY = "mxref.tensors"
_LONGEST_NAME = 63  # GGML_MAX_NAME less the zero byte
_MOST_AXES = 4  # GGML_MAX_DIMS
#: Bytes of the values in a header, by type; those with a length; the longest list that is read.
_WIDTHS = {0: 1, 1: 1, 2: 2, 3: 2, 4: 4, 5: 4, 6: 4, 7: 1, 10: 8, 11: 8, 12: 8}
_STRING, _LIST, _LONGEST_LIST = 8, 9, 1 << 22


def package(path: Path) -> Any:
    """The package gguf.

    Raises:
        ValueError: the package is not installed.
    """
    try:
        return importlib.import_module("gguf")
    except ImportError:
        raise ValueError(
            f"{path} needs the package gguf, which is not installed: pip install 'mxref[io]'"
        ) from None


def entries(path: Path) -> Iterator[Entry]:
    """The tensors of a file; MXFP4 as blocks, other quantized types as bytes.

    Raises:
        ValueError: the file is cut or damaged, or the package is not installed.
    """
    gguf = package(path)
    if not path.stat().st_size:
        raise ValueError(f"{path} must be a whole .gguf file, it is empty")
    try:
        with path.open("rb") as file:
            _read_header(file, path.stat().st_size)
        reader = gguf.GGUFReader(path)
        field = reader.get_field(_KEY)
        about = {} if field is None else json.loads(field.contents())["tensors"]
        dtypes = {name: dtype_named(fields["dtype"]) for name, fields in about.items()}
    except OSError:
        raise
    except Exception as error:  # the package has no error of its own for damage
        why = f"it is cut or damaged: {brief(error)}"
        raise ValueError(f"{path} must be a whole .gguf file, {why}") from None
    for tensor in reader.tensors:
        shape = tuple(map(int, reversed(tensor.shape.tolist())))
        kind = tensor.tensor_type.name
        dtype = dtypes.get(tensor.name, np.dtype(np.float32))
        load = _loader(kind, tensor.data, shape, dtype, reader.byte_order)
        yield Entry(tensor.name, kind, shape, load)


def _read_header(file: BinaryIO, size: int) -> None:
    """Read a header to its end, which the package does without looking at lengths.

    Raises:
        ValueError: it goes beyond the end of the file, or has a list of too many items.
    """
    order: Literal["little", "big"] = "little"

    def number(width: int) -> int:
        read = file.read(width)
        if len(read) < width:
            raise ValueError("its header goes beyond its end")
        return int.from_bytes(read, order)

    def skip(width: int) -> None:
        if width > size - file.tell():
            raise ValueError("its header goes beyond its end")
        file.seek(width, os.SEEK_CUR)

    def skip_value(kind: int) -> None:
        if kind in _WIDTHS:
            skip(_WIDTHS[kind])
        elif kind == _STRING:
            skip(number(8))
        elif kind == _LIST:
            kind, count = number(4), number(8)
            if count > _LONGEST_LIST:
                raise ValueError(f"a list in its header has {count:,} items")
            for _ in range(count):
                skip_value(kind)
        else:
            raise ValueError(f"its header has a value of the unknown type {kind}")

    if file.read(4) != b"GGUF":
        raise ValueError("it does not begin as one")
    if not number(4) & 0xFFFF:  # the version, of the other byte order
        order = "big"
    tensors, values = number(8), number(8)
    for _ in range(values):
        skip(number(8))
        skip_value(number(4))
    for _ in range(tensors):
        skip(number(8))
        skip(8 * number(4) + 12)  # dimensions, type and offset


def _loader(
    kind: str, data: NDArray[Any], shape: tuple[int, ...], dtype: np.dtype[Any], byte_order: Any
) -> Callable[[], NDArray[Any] | Blocks]:
    def load() -> NDArray[Any] | Blocks:
        if kind == "BF16":  # ml_dtypes has only the processor's byte order
            pairs = data.view(np.dtype(np.uint16).newbyteorder(byte_order))
            numbers: NDArray[Any] = pairs.astype(np.uint16, copy=False).view(ml_dtypes.bfloat16)
            return numbers.reshape(shape)
        if kind != "MXFP4":
            return data
        rows = data.reshape(*shape[:-1], shape[-1] // _SIZE, _BYTES)
        scales, codes = unpack_blocks(rows, "mxfp4_e2m1", **_LAYOUT)
        fmt = block_format("mxfp4_e2m1")
        return Blocks(owned(codes.reshape(shape)), owned(scales), fmt, len(shape) - 1, shape, dtype)

    return load


def refuse(
    name: str, fmt: BlockFormat, axis: int | tuple[int, ...], shape: tuple[int, ...]
) -> None:
    """Refuse blocks that the file format cannot hold.

    Raises:
        ValueError: another format than MXFP4 in blocks of 32 along the last axis, a row length that
            is no multiple of 32, too many axes or too long a name.
    """
    if fmt != block_format("mxfp4_e2m1"):
        got = f"{fmt.name} in blocks of {fmt.block_size}"
        raise ValueError(f".gguf must get mxfp4_e2m1 in blocks of {_SIZE}, got {got} for {name!r}")
    if axis != len(shape) - 1 or shape[-1] % _SIZE or not math.prod(shape):
        raise ValueError(
            f".gguf must get blocks along a last axis of a multiple of {_SIZE}, "
            f"got axis {axis} of shape {shape} for {name!r}"
        )
    if len(shape) > _MOST_AXES or not 0 < len(name.encode()) <= _LONGEST_NAME:
        raise ValueError(
            f".gguf must get tensors of at most {_MOST_AXES} axes with names of 1 to "
            f"{_LONGEST_NAME} bytes, got {name!r} with {len(shape)}"
        )


def write(path: Path, tensors: Mapping[str, Blocks], policy: str) -> None:
    """Write blocks as MXFP4 tensors.

    Raises:
        ValueError: blocks that the file format cannot hold, such as NaN blocks; the package is not
            installed.
    """
    gguf = package(path)
    for name, blocks in tensors.items():
        refuse(name, blocks.format, blocks.axis, blocks.shape)
        if int(blocks.scale_codes.max()) == 0xFF:
            raise ValueError(
                f".gguf must get no NaN block, whose scale its readers take for 2**128, "
                f"got one in {name!r}"
            )
    about = {name: describe(blocks) for name, blocks in tensors.items()}
    kind = gguf.GGMLQuantizationType.MXFP4
    with whole_file(path) as temporary:
        writer = gguf.GGUFWriter(temporary, "mxref")
        try:
            writer.add_string(_KEY, json.dumps({"policy": policy, "tensors": about}))
            for name, blocks in tensors.items():
                size = blocks.scale_codes.size * _BYTES
                writer.add_tensor_info(name, blocks.shape, np.dtype(np.float32), size, kind)
            writer.write_header_to_file()
            writer.write_kv_data_to_file()
            writer.write_ti_data_to_file()
            (file,) = writer.fout
            writer.write_padding(file, file.tell())
            for blocks in tensors.values():
                for data in _data(blocks):
                    file.write(data.tobytes())
                writer.write_padding(file, file.tell())
        finally:
            writer.close()


def _data(blocks: Blocks) -> Iterator[U8]:
    mapped = Mapped(blocks.codes)
    scales, done = blocks.scale_codes.reshape(-1), 0
    for part in chunks(blocks.codes):
        codes = part.reshape(-1, _SIZE)
        some = scales[done : done + len(codes), np.newaxis]
        rows = pack_blocks(some, codes, "mxfp4_e2m1", **_LAYOUT)
        done += len(codes)
        yield rows
        mapped.use(part.nbytes)
