"""``.gguf``: float tensors, MXFP4 and NVFP4, through the package gguf.

MXFP4: 17 bytes for a block, its scale byte, then 16: byte j holds element j in the low nibble and
element j + 16 in the high nibble. NVFP4: 36 bytes for four blocks of 16, their scale bytes, then 8
for each block: byte j holds its elements j and j + 8. The float32 scale of an NVFP4 tensor, a
factor, is a tensor of its own, named NAME.scale without the .weight of NAME.

Readers of the format have no NaN and no -0: they read scale FF of MXFP4 as 2**128, scale 7F of
NVFP4 as 0, and code 8 as 0.
Source: ggml-common.h, block_mxfp4 and block_nvfp4; ggml-org/llama.cpp#19769; SPEC_NOTES N32.
"""

from __future__ import annotations

import importlib
import json
import math
import os
from collections.abc import Callable, Iterable, Iterator, Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Any, BinaryIO, Literal

import ml_dtypes
import numpy as np
from numpy.typing import NDArray

from mxref.bits.floats import F32, U8
from mxref.blocks.container import Blocks
from mxref.blocks.two_level import RowScales, TensorScale, TensorScaleKind
from mxref.files.stored import Entry, brief, chunks, describe, dtype_named, owned
from mxref.formats.catalog import BlockFormat, block_format
from mxref.packing.elements import pack, pack_blocks, unpack, unpack_blocks
from mxref.support.extras import missing_packages
from mxref.support.mapped import Mapped
from mxref.support.whole_file import whole_file

if TYPE_CHECKING:
    from mxref.policy.keywords import PackBlocksChoices


@dataclass(frozen=True, slots=True)
class _Kind:
    """A type of blocks in the file: format, elements and bytes of a unit, and its NaN scale."""

    format: BlockFormat
    size: int
    bytes: int
    nan: int
    read_as: str


_MXFP4 = _Kind(block_format("mxfp4_e2m1"), 32, 17, 0xFF, "2**128")
#: The block format is the one without a tensor scale, which is in another tensor if at all.
_NVFP4 = _Kind(block_format("fp4_ue4m3"), 64, 36, 0x7F, "0")
_KINDS = {"MXFP4": _MXFP4, "NVFP4": _NVFP4}
_WITH_TENSOR_SCALE = block_format("nvfp4")
_LAYOUT: PackBlocksChoices = {"scale_place": "before", "fp4_packing": "halves"}
_KEY = "mxref.tensors"
_LONGEST_NAME = 63  # GGML_MAX_NAME less the zero byte
_MOST_AXES = 4  # GGML_MAX_DIMS
#: Bytes of the values in a header, by type: those of fixed length, then the types with a length,
#: and the longest list that is read.
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
        raise ValueError(missing_packages(str(path), "io", "gguf")) from None


def entries(path: Path) -> Iterator[Entry]:
    """The tensors of a file; MXFP4 and NVFP4 as blocks, other quantized types as bytes.

    NVFP4 with a positive float32 factor beside it is ``nvfp4``, without one ``fp4_ue4m3``.

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
    factors = _factors(reader.tensors)
    for tensor in reader.tensors:
        if tensor.name in {scale for scale, _ in factors.values()}:
            continue
        shape = tuple(map(int, reversed(tensor.shape.tolist())))
        kind = tensor.tensor_type.name
        dtype = dtypes.get(tensor.name, np.dtype(np.float32))
        _, factor = factors.get(tensor.name, ("", None))
        load = _loader(kind, tensor.data, shape, dtype, reader.byte_order, factor)
        yield Entry(tensor.name, kind, shape, load)


def _read_header(file: BinaryIO, size: int) -> None:
    """Read a header to its end and check its lengths, which the package does not do.

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


def _scale_name(name: str) -> str:
    """The name of the tensor that holds the factor of an NVFP4 tensor."""
    return f"{name.removesuffix('.weight')}.scale"


def _factors(tensors: Iterable[Any]) -> dict[str, tuple[str, TensorScale]]:
    """Name of an NVFP4 tensor -> the name of its factor's tensor, and the factor."""
    tensors = list(tensors)
    single = {
        tensor.name: int(np.asarray(tensor.data, np.float32).view(np.uint32).reshape(-1)[0])
        for tensor in tensors
        if tensor.tensor_type.name == "F32" and tensor.data.size == 1
    }
    return {
        tensor.name: (scale, TensorScale(single[scale]))
        for tensor in tensors
        if tensor.tensor_type.name == "NVFP4"
        and 0 < single.get(scale := _scale_name(tensor.name), 0) < F32.inf_bits
    }


def _loader(
    kind: str,
    data: NDArray[Any],
    shape: tuple[int, ...],
    dtype: np.dtype[Any],
    byte_order: Any,
    factor: TensorScale | None,
) -> Callable[[], NDArray[Any] | Blocks]:
    def load() -> NDArray[Any] | Blocks:
        if kind == "BF16":  # ml_dtypes has only the processor's byte order
            pairs = data.view(np.dtype(np.uint16).newbyteorder(byte_order))
            numbers: NDArray[Any] = pairs.astype(np.uint16, copy=False).view(ml_dtypes.bfloat16)
            return numbers.reshape(shape)
        if kind not in _KINDS:
            return data
        fmt = _KINDS[kind].format if factor is None else _WITH_TENSOR_SCALE
        rows = data.reshape(*shape[:-1], shape[-1] // _KINDS[kind].size, _KINDS[kind].bytes)
        scales, codes = _unpacked(rows, _KINDS[kind])
        scales = scales.reshape(*shape[:-1], shape[-1] // fmt.elements_per_block)
        axis = len(shape) - 1
        return Blocks(owned(codes.reshape(shape)), owned(scales), fmt, axis, shape, dtype, factor)

    return load


def _unpacked(rows: U8, kind: _Kind) -> tuple[U8, U8]:
    """The scale codes and codes of rows of bytes."""
    if kind is _MXFP4:
        return unpack_blocks(rows, kind.format, **_LAYOUT)
    packed = np.ascontiguousarray(rows[..., 4:])
    codes = unpack(packed, kind.format.element, kind.size, fp4_packing="halves", block_size=16)
    return np.ascontiguousarray(rows[..., :4]), codes


def _packed(scales: U8, codes: U8, kind: _Kind) -> U8:
    """The rows of bytes of scale codes (rows, blocks) and codes (rows, size)."""
    if kind is _MXFP4:
        return pack_blocks(scales, codes, kind.format, **_LAYOUT)
    packed = pack(codes, kind.format.element, fp4_packing="halves", block_size=16)
    return np.hstack([scales, packed])


def refuse(
    name: str, fmt: BlockFormat, axis: int | tuple[int, ...], shape: tuple[int, ...]
) -> None:
    """Refuse blocks that the file format cannot hold.

    Raises:
        ValueError: another format than MXFP4 in blocks of 32 or NVFP4 in blocks of 16 along the
            last axis, a row length that is no multiple of 32 or 64, too many axes or too long a
            name.
    """
    known = [_MXFP4.format, _NVFP4.format, _WITH_TENSOR_SCALE]
    if fmt not in known:
        got = f"{fmt.name} in blocks of {fmt.block_size}"
        legal = ", ".join(f"{one.name} in blocks of {one.block_size}" for one in known)
        raise ValueError(f".gguf must get one of {legal}, got {got} for {name!r}")
    size = _kind_of(fmt).size
    if axis != len(shape) - 1 or shape[-1] % size or not math.prod(shape):
        raise ValueError(
            f".gguf must get blocks along a last axis of a multiple of {size}, "
            f"got axis {axis} of shape {shape} for {name!r}"
        )
    longest = _scale_name(name) if fmt.tensor_scale else name
    length = max(len(one.encode()) for one in (name, longest))
    if len(shape) > _MOST_AXES or not name or length > _LONGEST_NAME:
        raise ValueError(
            f".gguf must get tensors of at most {_MOST_AXES} axes with names of 1 to "
            f"{_LONGEST_NAME} bytes, got {longest!r} with {len(shape)}"
        )


def _kind_of(fmt: BlockFormat) -> _Kind:
    return _MXFP4 if fmt == _MXFP4.format else _NVFP4


def write(path: Path, tensors: Mapping[str, Blocks], policy: str) -> None:
    """Write blocks as MXFP4 and NVFP4 tensors.

    Raises:
        ValueError: blocks that the file format cannot hold, such as NaN blocks; the package is not
            installed.
    """
    gguf = package(path)
    for name, blocks in tensors.items():
        refuse(name, blocks.format, blocks.axis, blocks.shape)
        kind = _kind_of(blocks.format)
        if int(blocks.scale_codes.max()) == kind.nan:
            raise ValueError(
                f".gguf must get no NaN block, whose scale its readers take for {kind.read_as}, "
                f"got one in {name!r}"
            )
        tensor = blocks.tensor_scale
        if isinstance(tensor, RowScales):
            raise ValueError(f".gguf must get one tensor scale, got {tensor} for {name!r}")
        if tensor is not None and tensor.kind is not TensorScaleKind.FACTOR:
            raise ValueError(
                f".gguf must get a tensor scale that is a factor, got kind {tensor.kind.value} "
                f"for {name!r}"
            )
        if tensor is not None and _scale_name(name) in tensors:
            raise ValueError(
                f".gguf must get no tensor named {_scale_name(name)!r} beside {name!r}, "
                "whose tensor scale has that name"
            )
    about = {name: describe(blocks) for name, blocks in tensors.items()}
    kinds = gguf.GGMLQuantizationType
    with whole_file(path) as temporary:
        writer = gguf.GGUFWriter(temporary, "mxref")
        try:
            writer.add_string(_KEY, json.dumps({"policy": policy, "tensors": about}))
            for name, blocks in tensors.items():
                kind = _kind_of(blocks.format)
                size = blocks.codes.size // kind.size * kind.bytes
                dtype = np.dtype(np.float32)
                writer.add_tensor_info(
                    name, blocks.shape, dtype, size, kinds.MXFP4 if kind is _MXFP4 else kinds.NVFP4
                )
                if blocks.tensor_scale is not None:
                    writer.add_tensor_info(_scale_name(name), (1,), dtype, 4)
            writer.write_header_to_file()
            writer.write_kv_data_to_file()
            writer.write_ti_data_to_file()
            (file,) = writer.fout
            writer.write_padding(file, file.tell())
            for blocks in tensors.values():
                for data in _data(blocks):
                    file.write(data.tobytes())
                writer.write_padding(file, file.tell())
                if isinstance(blocks.tensor_scale, TensorScale):
                    file.write(blocks.tensor_scale.bits.to_bytes(4, "little"))
                    writer.write_padding(file, file.tell())
        finally:
            writer.close()


def _data(blocks: Blocks) -> Iterator[U8]:
    mapped, kind = Mapped(blocks.codes), _kind_of(blocks.format)
    together = kind.size // blocks.format.elements_per_block
    scales, done = blocks.scale_codes.reshape(-1, together), 0
    for part in chunks(blocks.codes):
        codes = part.reshape(-1, kind.size)
        some = scales[done : done + len(codes)]
        rows = _packed(some, codes, kind)
        done += len(codes)
        yield rows
        mapped.use(part.nbytes)
