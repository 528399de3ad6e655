"""``.npy`` tensors, and ``.npz`` archives of arrays and of blocks."""

from __future__ import annotations

import contextlib
import functools
import itertools
import re
import tokenize
import unicodedata
import zipfile
import zlib
from collections import Counter
from collections.abc import Iterable, Iterator, Mapping
from pathlib import Path
from typing import IO, Any

import ml_dtypes
import numpy as np
from numpy.typing import NDArray

from mxref.bits.floats import U8
from mxref.blocks.container import Blocks
from mxref.files.stored import Entry, brief, chunks, describe, described, kind_of
from mxref.formats.catalog import CodeFormat, block_format
from mxref.numbers.codes import word_of
from mxref.support.mapped import Mapped
from mxref.support.whole_file import whole_file

_LONGEST_NAME = 0xFFFF
#: Control characters, and characters that separate folders or drives on some system.
_UNSAFE = re.compile(r"[\x00-\x1f\x7f-\x9f\\:]")
_NUMPY_ERRORS = (ValueError, EOFError, OverflowError, SyntaxError, tokenize.TokenError)
_ARCHIVE_ERRORS = (
    zipfile.BadZipFile,
    zlib.error,
    NotImplementedError,  # another compression
    RuntimeError,  # a password
    MemoryError,
    KeyError,
    TypeError,
)
#: The arrays of a tensor of blocks.
_KEYS = (
    *("codes", "scale_codes", "shape", "axis", "block_size", "format", "dtype", "name"),
    *("tensor_scale_bits", "tensor_scale_kind"),
)


def read_npy(path: Path, *, bfloat16: bool = False) -> NDArray[Any]:
    """The tensor of a ``.npy`` file, mapped to memory.

    Raises:
        ValueError: the file is cut or damaged, holds no numbers, or no two-byte items although
            `bfloat16` is given.
    """
    with path.open("rb") as file:
        if file.read(6) != b"\x93NUMPY":
            raise ValueError(f"{path} must be a whole .npy file, it does not begin as one")
    try:
        with np.errstate(over="ignore"):  # of the size of a damaged shape
            values: NDArray[Any] = np.load(path, mmap_mode="r", allow_pickle=False)
    except (*_NUMPY_ERRORS, TypeError) as error:  # TypeError: a shape of bool
        objects = "Python objects" in str(error)
        why = "it holds Python objects" if objects else "it is cut or damaged"
        raise ValueError(f"{path} must be a whole .npy file of numbers, {why}") from None
    except MemoryError:
        raise ValueError(f"{path} must be a whole .npy file that fits into memory") from None
    if bfloat16:
        if values.dtype.kind not in "uV" or values.dtype.itemsize != 2:
            raise ValueError(f"--bfloat16 needs uint16 or untyped pairs, {path} has {values.dtype}")
        bits = values if values.dtype.kind == "V" else values.astype(np.uint16, copy=False)
        return bits.view(ml_dtypes.bfloat16)
    if values.dtype == np.dtype("V2"):
        raise ValueError(f"{path} has items of two bytes without a type: is it --bfloat16?")
    return values


def write(path: Path, tensors: Mapping[str, Blocks], policy: str) -> None:
    """Write blocks as arrays NAME/codes, NAME/scale_codes and so on; an empty NAME has no slash.

    Where a name is no path below the archive's folder, such as ../x, or another name's but for case
    or the normal form of its characters, another stands in its place, and NAME/name holds the UTF-8
    bytes of its own.

    Raises:
        ValueError: a format without a name, or a name that an archive cannot hold.
    """
    del policy  # archives do not record it
    prefixes = _prefixes(tensors)
    for name, blocks in tensors.items():
        describe(blocks)  # refuses formats that no reader knows
        for key in _arrays(blocks):
            file = f"{prefixes[name]}{key}.npy"
            if (
                "\0" in name
                or zipfile.ZipInfo(file).filename != file
                or len(file.encode()) > _LONGEST_NAME
            ):
                raise ValueError(
                    f".npz must get names without zero bytes, of at most {_LONGEST_NAME} bytes "
                    f"with {key!r} behind them, got {name[:50]!r} of {len(name.encode())} bytes"
                )
    with (
        whole_file(path) as temporary,
        zipfile.ZipFile(temporary, "w", zipfile.ZIP_STORED) as archive,
    ):
        for name, blocks in tensors.items():
            arrays = _arrays(blocks)
            if prefixes[name] != _prefix(name):
                arrays["name"] = np.frombuffer(name.encode(), np.uint8)
            for key, array in arrays.items():
                _write_array(archive, prefixes[name] + key, array)


def _prefix(name: str) -> str:
    return f"{name}/" if name else ""


def _prefixes(names: Iterable[str]) -> dict[str, str]:
    """The prefix of each tensor's arrays: its name, or a safe path where the name is none.

    Two prefixes differ in more than case and normal form: an archive is unpacked everywhere.
    """
    safe = {name: _safe(name) for name in names}
    taken: set[str] = set()
    for name, path in sorted(safe.items(), key=lambda pair: pair[0] != pair[1]):
        numbered = (f"{path}_{number}" for number in itertools.count(2))
        free = (one for one in itertools.chain([path], numbered) if _folded(one) not in taken)
        safe[name] = next(free)
        taken.add(_folded(safe[name]))
    return {name: _prefix(path) for name, path in safe.items()}


def _folded(path: str) -> str:
    """What file systems that ignore case and the normal form of characters make of a path."""
    return unicodedata.normalize("NFC", unicodedata.normalize("NFC", path).casefold())


def _safe(name: str) -> str:
    """A name as a path that stays below its folder; most names are one."""
    parts = _UNSAFE.sub("_", name).split("/")
    return "/".join("_" if part in ("", ".", "..") else part for part in parts) if name else ""


def _arrays(blocks: Blocks) -> dict[str, NDArray[Any]]:
    arrays: dict[str, NDArray[Any]] = {
        "codes": blocks.codes,
        "scale_codes": blocks.scale_codes,
        "shape": np.array(blocks.shape, np.int64),
        "axis": np.array(blocks.axis, np.int64),
        "block_size": np.array(blocks.block_size, np.int64),
        "format": np.array(blocks.format.name),
    }
    if blocks.dtype != np.float32:
        arrays["dtype"] = np.array(str(blocks.dtype))
    if blocks.tensor_scale is not None:
        arrays["tensor_scale_bits"] = np.array(blocks.tensor_scale.bits, np.uint32)
        arrays["tensor_scale_kind"] = np.array(blocks.tensor_scale.kind.value)
    return arrays


def _write_array(archive: zipfile.ZipFile, key: str, array: NDArray[Any]) -> None:
    # ZipInfo has a fixed date: the same blocks give the same bytes.
    place = zipfile.ZipInfo(f"{key}.npy")
    with archive.open(place, "w", force_zip64=True) as file:
        if array.dtype != np.uint8:
            np.lib.format.write_array(file, array, allow_pickle=False)
            return
        # Part by part: NumPy's function would keep the pages of a mapped file in memory.
        header = np.lib.format.header_data_from_array_1_0(np.ascontiguousarray(array[:0]))
        np.lib.format.write_array_header_1_0(file, {**header, "shape": array.shape})
        mapped = Mapped(array)
        for part in chunks(array):
            file.write(part.tobytes())
            mapped.use(part.nbytes)


def entries(path: Path) -> Iterator[Entry]:
    """The tensors of an archive: first the blocks that `write` wrote, then other arrays.

    Raises:
        ValueError: the file is cut or damaged.
    """
    with (
        _whole(path),
        path.open("rb") as file,
        np.load(file, allow_pickle=False) as archive,
    ):
        if not isinstance(archive, np.lib.npyio.NpzFile):
            raise ValueError("it does not begin as one")
        of_blocks: set[str] = set()
        plain: Any = archive.zip  # open, and so no None
        members = plain.namelist()
        twice = next((one for one, count in Counter(members).items() if count > 1), None)
        if twice is not None:
            raise ValueError(f"it has two members {twice!r}")
        for key in archive.files:
            name, _, last = key.rpartition("/")
            if last == "codes":
                prefix = _prefix(name)
                of_blocks |= {prefix + one for one in _KEYS}
                if f"{prefix}name" in archive:
                    name = archive[f"{prefix}name"].tobytes().decode()
                blocks = _blocks(archive, prefix)
                yield Entry(name, blocks.format.name, blocks.shape, lambda blocks=blocks: blocks)  # type: ignore[misc]
        for member in members:
            key = member.removesuffix(".npy")
            if key != member and key not in of_blocks:
                with plain.open(member) as array:
                    dtype, shape = _header(array)
                kind = kind_of(dtype)
                yield Entry(key, kind, shape, functools.partial(_array, path, member))


@contextlib.contextmanager
def _whole(path: Path) -> Iterator[None]:
    """Errors of reading an archive as a sentence that names it."""
    try:
        yield
    except (*_NUMPY_ERRORS, *_ARCHIVE_ERRORS) as error:
        raise ValueError(f"{path} must be a whole .npz file, {brief(error)}") from None


def _header(file: IO[bytes]) -> tuple[np.dtype[Any], tuple[int, ...]]:
    """The type and shape of an array whose bytes follow."""
    version = np.lib.format.read_magic(file)
    if version == (1, 0):
        shape, _, dtype = np.lib.format.read_array_header_1_0(file)
    elif version == (2, 0):
        shape, _, dtype = np.lib.format.read_array_header_2_0(file)
    else:  # of structures, whose fields have names of Unicode text
        return np.dtype(np.void), ()
    return dtype, shape


def _array(path: Path, member: str) -> NDArray[Any]:
    """An array of an archive, read-only as mapped ones are."""
    with _whole(path), zipfile.ZipFile(path) as archive, archive.open(member) as file:
        values: NDArray[Any] = np.lib.format.read_array(file, allow_pickle=False)
    values.flags.writeable = False
    return values


def _blocks(archive: Mapping[str, NDArray[Any]], prefix: str) -> Blocks:
    def codes(key: str, fmt: CodeFormat) -> U8:
        array: U8 = archive[prefix + key]
        if array.dtype != word_of(fmt):
            wanted = np.dtype(word_of(fmt))
            raise ValueError(f"{prefix}{key} must be {wanted}, it has {array.dtype}")
        return array

    fmt = block_format(str(archive[f"{prefix}format"]))
    dtype = archive.get(f"{prefix}dtype")
    kind = archive.get(f"{prefix}tensor_scale_kind")
    about = {
        "format": fmt.name,
        "element": fmt.element.name,
        "scale": fmt.scale.name,
        "block_size": archive[f"{prefix}block_size"].tolist(),
        "axis": archive[f"{prefix}axis"].tolist(),
        "shape": archive[f"{prefix}shape"].tolist(),
        "codes_shape": (),
        "dtype": "float32" if dtype is None else str(dtype),
        "tensor_scale": None if kind is None else str(kind),
    }
    return described(
        about,
        lambda _, __: codes("codes", fmt.element),
        lambda: codes("scale_codes", fmt.scale),
        lambda _: archive[f"{prefix}tensor_scale_bits"],
    )
