"""Files for tests: made from the description of a format or by the package of its name."""

from __future__ import annotations

import dataclasses
import json
import struct
from pathlib import Path
from typing import Any

import numpy as np
from needs import needs

import mxref
from mxref import formats
from mxref.blocks.container import Blocks


def numbers(shape: tuple[int, ...], dtype: Any = np.float32) -> np.ndarray:
    return np.random.default_rng(7).standard_normal(shape).astype(dtype)


def retyped(name: str, block_size: int) -> formats.BlockFormat:
    """A block format in blocks of another size."""
    return dataclasses.replace(formats.block_format(name), block_size=block_size)


def blocks_of(codes: Any, scales: Any, fmt: formats.BlockFormat, **more: Any) -> Blocks:
    codes = np.array(codes, np.uint8)
    return mxref.Blocks(codes, np.array(scales, np.uint8), fmt, codes.ndim - 1, codes.shape, **more)


def assert_same(got: Blocks, want: Blocks) -> None:
    for field in dataclasses.fields(want):
        a, b = getattr(got, field.name), getattr(want, field.name)
        if isinstance(b, np.ndarray):
            assert (a.dtype, a.shape, a.tobytes()) == (b.dtype, b.shape, b.tobytes()), field.name
        else:
            assert a == b, field.name


def raw_safetensors(
    path: Path,
    tensors: dict[str, tuple[str, list[int], bytes]],
    pad: int = 0,
    metadata: dict[str, str] | None = None,
) -> None:
    """A .safetensors file of types, shapes and bytes by name."""
    header: dict[str, Any] = {"__metadata__": metadata} if metadata else {}
    end = 0
    for name, (kind, shape, data) in tensors.items():
        header[name] = {"dtype": kind, "shape": shape, "data_offsets": [end, end + len(data)]}
        end += len(data)
    text = json.dumps(header).encode() + b" " * pad
    content = b"".join(data for _, _, data in tensors.values())
    path.write_bytes(struct.pack("<Q", len(text)) + text + content)


def gguf_file(path: Path, tensors: dict[str, tuple[np.ndarray, Any]], **fields: Any) -> None:
    """A .gguf file of arrays and their types by name, by the package; of fields, too."""
    package = needs("gguf")
    writer = package.GGUFWriter(
        path, "test", endianess=fields.pop("endian", package.GGUFEndian.LITTLE)
    )
    for name, value in fields.items():
        kind = {str: "string", bool: "bool", float: "float64", int: "uint8", list: "array"}
        getattr(writer, f"add_{kind[type(value)]}")(name, value)
    for name, (data, kind) in tensors.items():
        writer.add_tensor(name, data, raw_dtype=kind)
    writer.write_header_to_file()
    writer.write_kv_data_to_file()
    writer.write_tensors_to_file()
    writer.close()
