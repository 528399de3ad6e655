"""``.safetensors``: a header in JSON, then the bytes of the tensors.

The format is 8 bytes (the length of the header, little-endian), the header, and the bytes without
gaps. It is read and written here because the package safetensors has no NumPy types for BF16, F8,
F6 and F4, does not write F6, and holds all tensors in memory. Shapes in the header count elements;
elements of 4 and 6 bits are packed into whole bytes. The format leaves their order open: here it is
that of torch's float4_e2m1fn_x2, first element in the low nibble, and for 6 bits first element in
the lowest bits.
"""

from __future__ import annotations

import json
import math
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import ml_dtypes
import numpy as np
from numpy.typing import NDArray

from mxref.bits.floats import U8
from mxref.blocks.container import Blocks
from mxref.blocks.two_level import TensorScaleKind
from mxref.files.stored import Entry, brief, chunks, describe, described
from mxref.formats.catalog import BlockFormat, CodeFormat, element_format
from mxref.numbers.codes import view_codes
from mxref.numbers.scale import decode_scale
from mxref.packing.elements import pack, packed_size, unpack
from mxref.support.mapped import Mapped
from mxref.support.whole_file import whole_file

_DTYPES: Mapping[str, Any] = {
    "BOOL": np.bool_,
    "U8": np.uint8,
    "I8": np.int8,
    "U16": "<u2",
    "I16": "<i2",
    "F16": "<f2",
    "BF16": "<u2",
    "U32": "<u4",
    "I32": "<i4",
    "F32": "<f4",
    "U64": "<u8",
    "I64": "<i8",
    "F64": "<f8",
    "C64": "<c8",
}
#: Types of the file format for formats of 8 bits or fewer. A UE4M3 scale is written as F8_E4M3; a
#: format that is missing here is written as codes in U8.
_SMALL = {
    "F4": "e2m1",
    "F6_E2M3": "e2m3",
    "F6_E3M2": "e3m2",
    "F8_E4M3": "e4m3",
    "F8_E5M2": "e5m2",
    "F8_E4M3FNUZ": "e4m3fnuz",
    "F8_E5M2FNUZ": "e5m2fnuz",
    "F8_E8M0": "e8m0",
}
_NATIVE = {
    **{fmt: kind for kind, fmt in _SMALL.items()},
    "ue4m3": "F8_E4M3",
    "int8": "I8",
    "f32": "F32",
}
#: Suffix and shape of the scale of a tensor by kind, as ModelOpt, compressed-tensors and
#: Transformer Engine store it.
_TENSOR_SCALES: Mapping[str, tuple[str, list[int]]] = {
    TensorScaleKind.FACTOR.value: ("_scale_2", []),
    TensorScaleKind.DIVISOR.value: ("_global_scale", [1]),
    TensorScaleKind.AMAX.value: ("_amax", [1]),
    TensorScaleKind.AMAX_256.value: ("_amax", [1]),
}
_LONGEST_HEADER = 100_000_000  # the limit of the package safetensors
#: Limits of NumPy's arrays, where an axis of length 0 counts as 1.
_MOST_AXES, _MOST_ITEMS = 64, np.iinfo(np.intp).max // 16

_DAMAGE = (ValueError, TypeError, KeyError, AttributeError, IndexError, OverflowError)


@dataclass(frozen=True)
class _Field:
    """A tensor's name, type, shape and bytes."""

    name: str
    kind: str
    shape: tuple[int, ...]
    data: U8

    def codes(self, fmt: CodeFormat, shape: tuple[int, ...]) -> U8:
        """The codes of a format and shape, unpacked.

        Raises:
            ValueError: the field holds other codes.
        """
        self.refuse_other(*_stored(fmt, shape))
        if not self.data.size:
            return np.zeros(shape, np.uint8)
        if _bits(self.kind) == 8:
            return self.data.reshape(shape)
        return unpack(self.data.reshape(*shape[:-1], -1), fmt.name, shape[-1])

    def refuse_other(self, kind: str, shape: Sequence[int]) -> None:
        """Refuse a field of another type or shape."""
        if (self.kind, self.shape) != (kind, tuple(shape)):
            got = f"it is {self.kind} of shape {self.shape}"
            raise ValueError(f"{self.name!r} must be {kind} of shape {tuple(shape)}, {got}")


def entries(path: Path) -> Iterator[Entry]:
    """The tensors of a file; blocks that mxref wrote are returned as blocks.

    Raises:
        ValueError: the file is cut or damaged.
    """
    fields, about, parts = _read(path)
    for name, field in fields.items():
        if name in about:
            load = _blocks_loader(path, name, about[name], fields)
            yield Entry(name, about[name]["format"], tuple(about[name]["shape"]), load)
        elif name not in parts:
            yield Entry(name, field.kind, field.shape, _loader(field), field.kind in _SMALL)


def _read(path: Path) -> tuple[dict[str, _Field], dict[str, dict[str, Any]], set[str]]:
    """The tensors, mxref's metadata of blocks, and the names of the scales of these blocks."""
    size = path.stat().st_size
    with path.open("rb") as file:
        length = int.from_bytes(file.read(8), "little")
        if size < 8 or length > min(size - 8, _LONGEST_HEADER):
            raise _damaged(path, "its header goes beyond its end")
        text = file.read(length)
    raw = np.memmap(path, np.uint8, "r")[8 + length :]
    try:
        header = json.loads(text.decode("utf-8"), object_pairs_hook=_unique)
        metadata = header.pop("__metadata__", {})
        about = json.loads(metadata.get("mxref", "{}"))["tensors"] if "mxref" in metadata else {}
        spans = {name: _span(entry) for name, entry in header.items()}
        scales = {f"{name}_scale" for name in about}
        for name, blocks in about.items():
            blocks["shape"], blocks["format"] = list(blocks["shape"]), str(blocks["format"])
            if blocks["tensor_scale"] is not None:
                scales.add(name + _TENSOR_SCALES[blocks["tensor_scale"]][0])
        missing = (set(about) | scales) - set(spans)
        if missing:
            raise ValueError(f"there is no tensor {min(missing)!r}")
    except (*_DAMAGE, RecursionError) as error:
        own = isinstance(error, ValueError | KeyError)
        why = brief(error) if own else "JSON of other types, or nested too deep"
        raise _damaged(path, f"its header is none: {why}") from None
    end = 0
    for name, (_, _, start, stop) in sorted(spans.items(), key=lambda item: item[1][2:]):
        if start != end:
            raise _damaged(path, f"tensor {name!r} begins at byte {start}, not at {end}")
        end = stop
    if end != raw.size:
        raise _damaged(path, f"its tensors have {end} bytes, {raw.size} are there")
    fields = {
        name: _Field(name, kind, shape, raw[start:stop])
        for name, (kind, shape, start, stop) in spans.items()
    }
    return fields, about, scales


def _span(entry: Mapping[str, Any]) -> tuple[str, tuple[int, ...], int, int]:
    kind, shape = str(entry["dtype"]), tuple(entry["shape"])
    start, stop = entry["data_offsets"]
    if kind not in _DTYPES and kind not in _SMALL:
        raise ValueError(f"unknown type {kind!r}")
    if not all(type(n) is int and n >= 0 for n in (*shape, start, stop)):
        raise ValueError(f"shape {shape} from {start!r} to {stop!r}")
    if len(shape) > _MOST_AXES or math.prod(n or 1 for n in shape) > _MOST_ITEMS:
        raise ValueError(f"NumPy has no arrays of {len(shape)} axes and shape {shape}")
    bits = math.prod(shape) * _bits(kind)
    if bits % 8 or bits // 8 != stop - start:
        raise ValueError(f"{kind} of shape {shape} in {stop - start} bytes")
    return kind, shape, start, stop


def _bits(kind: str) -> int:
    if kind in _SMALL:
        return 8 if kind == "F8_E8M0" else element_format(_SMALL[kind]).bits
    return 8 * int(np.dtype(_DTYPES[kind]).itemsize)


def _unique(pairs: list[tuple[str, Any]]) -> dict[str, Any]:
    result = dict(pairs)
    if len(result) < len(pairs):
        raise ValueError("a name stands there twice")
    return result


def _damaged(path: Path, why: str) -> ValueError:
    return ValueError(f"{path} must be a whole .safetensors file, {why}")


def _loader(field: _Field) -> Callable[[], NDArray[Any]]:
    def load() -> NDArray[Any]:
        if field.kind == "F8_E8M0":
            return decode_scale(field.data.reshape(field.shape))
        if field.kind in _SMALL:
            fmt = element_format(_SMALL[field.kind])
            codes = unpack(field.data, fmt, math.prod(field.shape))
            return view_codes(codes, fmt).reshape(field.shape)
        if field.kind == "BF16":  # ml_dtypes has only the processor's byte order
            pairs = field.data.view("<u2").astype(np.uint16, copy=False)
            numbers: NDArray[Any] = pairs.view(ml_dtypes.bfloat16)
        else:
            numbers = field.data.view(_DTYPES[field.kind])
        return numbers.reshape(field.shape)

    return load


def _blocks_loader(
    path: Path, name: str, about: Mapping[str, Any], fields: Mapping[str, _Field]
) -> Callable[[], Blocks]:
    def codes(fmt: BlockFormat, shape: tuple[int, ...]) -> U8:
        # Blocks checks the shape of the scales.
        scales.refuse_other(_NATIVE.get(fmt.scale.name, "U8"), scales.shape)
        return fields[name].codes(fmt.element, shape)

    def tensor_bits(kind: str) -> NDArray[np.uint32]:
        suffix, shape = _TENSOR_SCALES[kind]
        field = fields[name + suffix]
        of_rows = field.kind == "F32" and math.prod(field.shape) != 1
        field.refuse_other("F32", field.shape if of_rows else shape)
        bits: NDArray[np.uint32] = field.data.view("<u4").astype(np.uint32).reshape(field.shape)
        return bits

    scales = fields[f"{name}_scale"]

    def scale_codes() -> U8:
        found: Any = scales.data
        if scales.kind == "F32":
            found = found.view("<u4").astype(np.uint32)
        codes: U8 = found.reshape(scales.shape)
        return codes

    def load() -> Blocks:
        try:
            return described(about, codes, scale_codes, tensor_bits)
        except _DAMAGE as error:
            raise _damaged(path, f"{name!r} is no blocks: {brief(error)}") from None

    return load


def write(path: Path, tensors: Mapping[str, Blocks], policy: str) -> None:
    """Write blocks: elements as NAME, scales as NAME_scale.

    Raises:
        ValueError: two tensors of one name, or a format without a name.
    """
    about = {name: describe(blocks) for name, blocks in tensors.items()}
    parts: list[tuple[str, str, list[int], int, Callable[[], Iterator[U8]]]] = []
    for name, blocks in tensors.items():
        parts += _parts(name, blocks)
    names = [part[0] for part in parts]
    twice = {name for name in names if names.count(name) > 1} | {"__metadata__"} & set(names)
    if twice:
        raise ValueError(
            f"tensors must have names that are free with _scale behind them, too, "
            f"got {min(twice)!r}: rename it"
        )
    parts.sort(key=lambda part: part[1] != "F32")  # tensors that need alignment first
    metadata = {"format": "mxref", "mxref": json.dumps({"policy": policy, "tensors": about})}
    header: dict[str, Any] = {"__metadata__": metadata}
    end = 0
    for name, kind, shape, size, _ in parts:
        header[name] = {"dtype": kind, "shape": shape, "data_offsets": [end, end + size]}
        end += size
    text = json.dumps(header, separators=(",", ":")).encode()
    text += b" " * (-len(text) % 8)
    with whole_file(path) as temporary, temporary.open("wb") as file:
        file.write(len(text).to_bytes(8, "little") + text)
        for part in parts:
            for data in part[4]():
                file.write(data.tobytes())


def _parts(
    name: str, blocks: Blocks
) -> Iterator[tuple[str, str, list[int], int, Callable[[], Iterator[U8]]]]:
    """Name, type, shape, size and data of each tensor in the file."""
    for suffix, codes, fmt in (
        ("", blocks.codes, blocks.format.element),
        ("_scale", blocks.scale_codes, blocks.format.scale),
    ):
        kind, shape = _stored(fmt, codes.shape)
        bits = _bits(kind)
        yield name + suffix, kind, shape, math.prod(shape) * bits // 8, _data(codes, fmt, bits)
    if blocks.tensor_scale is not None:
        suffix, shape = _TENSOR_SCALES[blocks.tensor_scale.kind.value]
        numbers = np.asarray(blocks.tensor_scale.bits, "<u4")
        data = np.ravel(numbers).view(np.uint8)
        yield name + suffix, "F32", [*numbers.shape] or shape, data.size, lambda: iter([data])


def _stored(fmt: CodeFormat, shape: tuple[int, ...]) -> tuple[str, list[int]]:
    """Type and shape of codes in the file."""
    kind = _NATIVE.get(fmt.name, "U8")
    bits = _bits(kind)
    size = packed_size(shape[-1], fmt.name) * 8 // bits if bits < 8 else shape[-1]
    return kind, [*shape[:-1], size]


def _data(codes: U8, fmt: CodeFormat, bits: int) -> Callable[[], Iterator[U8]]:
    def data() -> Iterator[U8]:
        mapped = Mapped(codes)
        for part in chunks(codes):
            yield pack(part, fmt.name) if bits < 8 else part
            mapped.use(part.nbytes)

    return data
