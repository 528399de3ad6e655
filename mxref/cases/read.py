"""Vector files and manifests of a folder, read strictly: a damaged file is refused."""

from __future__ import annotations

import contextlib
import functools
import hashlib
import json
import os
import re
from collections.abc import Callable, Iterable
from pathlib import Path
from typing import Any

from mxref._version import VECTORS_VERSION
from mxref.cases.folder import vectors_folder
from mxref.cases.parse import VectorError, check_keys, parse, unique_keys
from mxref.cases.records import VectorFile
from mxref.support.collector import no_collection
from mxref.support.text import damage
from mxref.support.whole_file import read_file

__all__ = [
    "PLAIN",
    "STAGED",
    "VectorError",
    "by_stem",
    "file_bytes",
    "parse",
    "read_listed",
    "read_manifest",
    "read_vectors",
    "vectors_folder",
]

#: Folder of a newer set whose files have not been moved to their places; see `mxref.golden.store`.
STAGED = ".next"

#: The plain files of a package, which come in one archive: a wheel of files would be too large.
PLAIN = "plain.tar.xz"

_ENTRY = {"file": str, "sha256": str, "cases": int}
#: A file's path below its folder.
_NAME = re.compile(r"[\w.-]+(/[\w.-]+)*", re.ASCII)
_ENDINGS = (".jsonl", ".txt", ".h", ".json")


def read_vectors(
    folder: Path,
    wanted: Callable[[str], bool] | None = None,
    entries: list[dict[str, Any]] | None = None,
) -> list[VectorFile]:
    """Every vector file that a folder's manifest lists, checked.

    Args:
        folder: where the manifest is.
        wanted: whether to read a file, by its path below the folder without the ending; None
            reads all vector files and checks the digests of all other files.
        entries: those of the manifest if they were read before.

    Raises:
        VectorError: no manifest, or a file that is missing, damaged, not canonical or not listed;
            the message names file, line and reason.
    """
    entries = read_manifest(folder) if entries is None else entries
    listed = {"manifest.json", *(entry["file"] for entry in entries)}
    if wanted is not None:
        entries = [entry for stem, entry in by_stem(entries).items() if wanted(stem)]
    with no_collection():
        files = [read_listed(folder, entry) for entry in entries]
    if (folder / STAGED).exists():  # files of the older set may be left
        with contextlib.suppress(VectorError):
            listed |= {old["file"] for old in read_manifest(folder, staged=False)}
    if others := _files(folder) - listed:
        path = min(folder / other for other in others)
        raise VectorError(f"{path} is not listed in the manifest of its folder")
    return [file for file in files if file is not None]


def _files(folder: Path) -> set[str]:
    """The files of a folder with an ending of the vectors, staged ones left out."""
    found: set[str] = set()
    for at, folders, names in os.walk(folder):
        inside = os.path.relpath(at, folder).replace(os.sep, "/")
        start = "" if inside == "." else f"{inside}/"
        some = (f"{start}{name}" for name in (*folders, *names) if name.endswith(_ENDINGS))
        found.update(one for one in some if not one.startswith((f"{STAGED}/", f"{STAGED}.")))
    return found


def file_bytes(folder: Path, path: str) -> bytes:
    """A file of a folder's set, which an interrupted `regen` may have left in STAGED."""
    with contextlib.suppress(FileNotFoundError, NotADirectoryError):
        return read_file(folder / STAGED / path)
    try:
        return read_file(folder / path)
    except FileNotFoundError:
        brought = _members(folder / PLAIN) if (folder / PLAIN).is_file() else {}
        if path not in brought:
            raise
        return brought[path]


@functools.cache
def _members(archive: Path) -> dict[str, bytes]:
    """The files in an archive by their names.

    Raises:
        ValueError: it is damaged.
    """
    import lzma
    import tarfile

    try:
        with tarfile.open(archive) as tar:
            return {one.name: file.read() for one in tar if (file := tar.extractfile(one))}
    except (tarfile.TarError, lzma.LZMAError, EOFError):
        raise ValueError(f"{archive} must be a tar.xz archive, it is damaged") from None


def read_manifest(folder: Path, *, staged: bool = True) -> list[dict[str, Any]]:
    """The entries of a folder's manifest: file, sha256 and number of cases.

    Args:
        folder: the folder.
        staged: prefer a newer manifest that has not been moved to its place yet.
    """
    path = folder / "manifest.json"
    try:
        data = file_bytes(folder, path.name) if staged else read_file(path)
        manifest = json.loads(data.decode("ascii"), object_pairs_hook=unique_keys)
        entries = manifest["files"]
        version = manifest["mxref_vectors"]
    except FileNotFoundError:
        raise VectorError(
            f"no vectors in {folder.absolute()}: pass --vectors DIR, or make them there with "
            "`mxref regen --out DIR` (15 MB, half a minute)"
        ) from None
    except (OSError, ValueError, KeyError, TypeError, RecursionError) as error:
        raise VectorError(f"{path} cannot be read: {damage(error)}") from None
    if not isinstance(version, str) or version.split(".")[0] != VECTORS_VERSION.split(".")[0]:
        raise VectorError(f"{path} has vectors version {version!r}, this is {VECTORS_VERSION}")
    if not isinstance(entries, list) or not isinstance(version, str):
        raise VectorError(f"{path} must hold a version and a list of files")
    seen: set[str] = set()
    for entry in entries:
        check_keys(entry, _ENTRY, str(path))
        if entry["file"] in seen:
            raise VectorError(f"{path} lists {entry['file']!r} twice")
        seen.add(entry["file"])
        plain = _NAME.fullmatch(entry["file"]) and ".." not in entry["file"].split("/")
        if not plain or not entry["file"].endswith(_ENDINGS):
            raise VectorError(f"{path} lists {entry['file']!r}, which is no file of its folder")
    if not entries:
        raise VectorError(f"{path} lists no files")
    return list(entries)


def by_stem(entries: Iterable[dict[str, Any]]) -> dict[str, dict[str, Any]]:
    """The entries of vector files in a manifest, by path without the ending.

    >>> by_stem([{"file": "encode/e4m3.f32.jsonl"}, {"file": "plain/encode/e4m3.f32.txt"}])
    {'encode/e4m3.f32': {'file': 'encode/e4m3.f32.jsonl'}}
    """
    return {
        entry["file"].removesuffix(".jsonl"): entry
        for entry in entries
        if entry["file"].endswith(".jsonl")
    }


def read_listed(folder: Path, entry: dict[str, Any]) -> VectorFile | None:
    """A vector file; None for another kind of file, whose digest alone is checked."""
    path = folder / entry["file"]
    text = _ascii(folder, entry["file"])
    file = None
    if path.suffix == ".jsonl":
        # A damaged line explains more than a wrong digest does, so the text is parsed first.
        file = parse(text, str(path))
        if len(file.cases) != entry["cases"] or f"{file.stem}.jsonl" != entry["file"]:
            raise VectorError(
                f"{path} must hold the {entry['cases']} cases that the manifest says, "
                f"got {len(file.cases)} of {file.stem}"
            )
    if hashlib.sha256(text.encode("ascii")).hexdigest() != entry["sha256"]:
        raise VectorError(f"{path} does not have the sha256 that the manifest lists")
    return file


def _ascii(folder: Path, file: str) -> str:
    path = folder / file
    try:
        return file_bytes(folder, file).decode("ascii")
    except OSError as error:
        raise VectorError(f"{path} cannot be read: {error.strerror}") from None
    except UnicodeDecodeError as error:
        raise VectorError(f"{path} is not ASCII text at byte {error.start}") from None
    except ValueError as error:  # no regular file
        raise VectorError(str(error)) from None
