"""Folders of exported vectors, made from the canonical files alone, with an index."""

from __future__ import annotations

import hashlib
import json
from collections.abc import Iterator, Mapping, Sequence
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

from mxref._version import VECTORS_VERSION
from mxref.cases.names import NAMES, names_of, refuse_unknown_names
from mxref.cases.read import VectorError, by_stem, read_manifest, read_vectors
from mxref.cases.records import VectorFile
from mxref.golden.contract import holds
from mxref.golden.export.arrays import (
    Array,
    c_header,
    little_endian,
    npy,
    read_npy,
    readmemh,
    safetensors,
)
from mxref.support.text import damage, refuse_unknown, unknown_name
from mxref.support.whole_file import read_file, write_file

__all__ = ["check", "files", "write"]

#: Ways to write vectors -> their file endings.
VECTOR_KINDS = {
    "npy": "npy",
    "bin": "bin",
    "readmemh": "hex",
    "c": "h",
    "safetensors": "safetensors",
}
#: What the index says of all arrays.
_ROWS = (
    "each row of an array is a case, whose words `holds` names: patterns of floats, codes, bytes; "
    "a case of fewer words is filled up with ones in every bit; `mxref explain COLUMN` says what a "
    "policy is; vectors/README.md says all"
)
#: The selectors of an export.
SELECTORS = (*NAMES, "column")


class SelectionError(ValueError):
    """A selection of vectors that do not exist."""


def files(vectors: Path, kind: str, selection: Mapping[str, Sequence[str]]) -> dict[str, bytes]:
    """Every file of an export by its path, `index.json` last.

    Args:
        vectors: folder of the golden vectors.
        kind: `npy`, `bin`, `readmemh`, `c` or `safetensors`.
        selection: values of `op`, `format`, `float` and `column` to export; all if absent.

    Raises:
        VectorError: the vectors are damaged.
        ValueError: unknown kind or selection; `safetensors` is not installed.
    """
    if kind not in VECTOR_KINDS:
        raise SelectionError(unknown_name("--as", str(kind), VECTOR_KINDS))
    asked = {name: sorted(set(selection.get(name, ()))) for name in SELECTORS}
    listed = by_stem(read_manifest(vectors))
    refuse_unknown_names(asked, sorted(map(names_of, listed)), SelectionError)

    def wanted(stem: str) -> bool:
        pairs = zip(NAMES, names_of(stem), strict=True)
        return all(not asked[name] or part in asked[name] for name, part in pairs)

    sources = read_vectors(vectors, wanted)
    columns = sorted({column for source in sources for column in source.columns})
    refuse_unknown("--column", asked["column"], columns, SelectionError)
    made: dict[str, bytes] = {}
    entries: list[dict[str, Any]] = []
    for source in sources:
        chosen = [c for c in source.columns if not asked["column"] or c in asked["column"]]
        if not chosen:
            continue
        digest = listed[source.stem]["sha256"]
        for path, data, arrays in _export(source, digest, kind, chosen):
            made[path] = data
            entries += _entries(path, data, arrays, source, digest)
    index: dict[str, Any] = {"mxref_vectors": VECTORS_VERSION, "as": kind, **asked, "rows": _ROWS}
    index["arrays"] = entries
    made["index.json"] = (json.dumps(index, indent=1) + "\n").encode("ascii")
    return made


def write(folder: Path, made: Mapping[str, bytes]) -> None:
    """Write an export, each file whole or not at all, the index after all others.

    Raises:
        ValueError: the folder is a file, or holds something else.
    """
    if folder.exists() and not folder.is_dir():
        raise ValueError(f"--out must be a folder, {folder} is a file")
    for stray in _strays(folder, made):
        raise ValueError(
            f"--out must be a folder of this export alone, {folder} holds {stray}: remove it"
        )
    for path, data in made.items():
        write_file(folder / path, data)


def check(folder: Path, vectors: Path) -> list[str]:
    """The differences between a folder and the same export made now, one sentence each.

    Raises:
        VectorError: the golden vectors are damaged.
    """
    try:
        index = json.loads(read_file(folder / "index.json"))
        selection = {name: [str(one) for one in index[name]] for name in SELECTORS}
        made = files(vectors, index["as"], selection)
        shapes = {array["file"]: tuple(array["shape"]) for array in index["arrays"]}
    except OSError as error:
        return [f"index.json cannot be read: {error.strerror}"]
    except (json.JSONDecodeError, UnicodeDecodeError, KeyError, TypeError, RecursionError) as error:
        return [f"index.json is no index of an export: {damage(error)}"]
    except SelectionError as error:
        return [f"index.json asks for what there is not: {error}"]
    problems = []
    for path, data in made.items():
        try:
            content = read_file(folder / path)
        except OSError as error:
            problems.append(f"{path} cannot be read: {error.strerror}")
            continue
        if content != data:
            problems.append(_difference(folder / path, path, content, data, shapes))
    return problems + [f"{stray} is no file of this export" for stray in _strays(folder, made)]


def _difference(
    file: Path, path: str, got: bytes, want: bytes, shapes: Mapping[str, tuple[int, ...]]
) -> str:
    if path.endswith(".npy"):
        try:
            read_npy(file, shapes.get(path))
        except VectorError as error:
            return str(error)
    pairs = enumerate(zip(got, want, strict=False))
    first = next((i for i, (a, b) in pairs if a != b), min(len(got), len(want)))
    return f"{path} differs, first at byte {first}; it has {len(got)} bytes of {len(want)}"


def _export(
    source: VectorFile, digest: str, kind: str, columns: Sequence[str]
) -> Iterator[tuple[str, bytes, dict[str, Array]]]:
    """Path, content and arrays of each file of one source."""
    arrays = {"in": _array(source.input_words(), source.in_digits)}
    for column in columns:
        answers = source.outputs(source.columns.index(column))
        arrays[column] = _array(answers, source.out_digits)
    about = {"source": f"{source.stem}.jsonl", "source_sha256": digest}
    path = f"{source.stem}.{VECTOR_KINDS[kind]}"
    if kind == "c":
        name = f"mxref_{source.op}_{source.format}_{source.float}"
        yield path, c_header(name, arrays, f"{about['source']} sha256 {digest}"), arrays
    elif kind == "safetensors":
        # One entry only, since the package writes several in any order.
        words = {name: array for name, (array, _) in arrays.items()}
        yield path, safetensors(words, {"mxref": json.dumps(about)}), arrays
    else:
        for name, (array, digits) in arrays.items():
            if kind == "npy":
                data = npy(array)
            elif kind == "bin":
                data = little_endian(array).tobytes()
            else:
                data = readmemh(array, digits, f"{about['source']} sha256 {digest} {name}")
            one = f"{source.stem}/{name}.{VECTOR_KINDS[kind]}"
            yield one, data, {name: (array, digits)}


def _array(words: NDArray[np.uint64], digits: int) -> Array:
    """Words in the smallest type: a row for each block, or one word for each number."""
    narrow = words.astype(f"u{digits // 2}")
    return (narrow[:, 0] if narrow.shape[1] == 1 else narrow), digits


def _entries(
    path: str, data: bytes, arrays: Mapping[str, Array], source: VectorFile, digest: str
) -> Iterator[dict[str, Any]]:
    """The index entries of a file's arrays."""
    for column, (array, digits) in arrays.items():
        yield {
            "file": path,
            "sha256": hashlib.sha256(data).hexdigest(),
            "source": f"{source.stem}.jsonl",
            "source_sha256": digest,
            "op": source.op,
            "format": source.format,
            "float": source.float,
            "column": column,
            "holds": holds(source.op, source.format, column),
            "shape": list(array.shape),
            "digits": digits,
        }


def _strays(folder: Path, made: Mapping[str, bytes]) -> list[str]:
    """Files below a folder that do not belong to an export."""
    found = (path.relative_to(folder).as_posix() for path in folder.rglob("*") if path.is_file())
    return sorted(set(found) - set(made))
