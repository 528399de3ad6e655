"""The vectors as small zip archives by subject, for projects that copy them into their tests."""

from __future__ import annotations

import hashlib
import io
import json
import re
import zipfile
from collections.abc import Callable, Iterable, Mapping
from pathlib import Path
from types import MappingProxyType
from typing import Any, NamedTuple

from mxref._version import VECTORS_VERSION
from mxref.cases.read import VectorError, file_bytes, read_manifest
from mxref.golden.archive_page import SUBJECTS, Subject, page
from mxref.golden.store import manifest_bytes
from mxref.support.whole_file import write_file

__all__ = ["Extra", "archives", "members", "read_all", "write_archives"]

#: The date of every file in an archive: the first that a zip file can have.
_DATE = (1980, 1, 1, 0, 0, 0)
#: What is said above the licence.
_COPY = (
    "These vectors are made to be copied into the tests of other projects, whole or in part, "
    "under the licence below.\n\n"
)
_SUMS = "SHA256SUMS"


class Extra(NamedTuple):
    """A file that archives have beside those of the vectors: bytes, lines, names of columns."""

    data: bytes
    cases: int
    columns: tuple[str, ...]


def archives(
    files: Mapping[str, bytes],
    licence: str,
    contract: str,
    choices: Callable[[Mapping[str, bytes]], str],
    extras: Mapping[str, Extra] = MappingProxyType({}),
) -> Iterable[tuple[str, bytes]]:
    """Each archive by its name, and last the checksums of all.

    Dates, order and permissions in an archive are fixed. So the same vectors give the same bytes
    in each run with the same zlib; the files inside are the same everywhere.

    Args:
        files: all vectors by their names, with the manifest: `read_all`.
        licence: the text of the licence.
        contract: the text of ``vectors/README.md``.
        choices: makes the page of operations and choices of some files.
        extras: the files of profiles, for every archive but that of everything.
    """
    sums = {}
    for subject in SUBJECTS:
        name = f"mxref-vectors-{VECTORS_VERSION}-{subject.name}"
        more = {} if subject.whole else extras
        data = _zipped(name, members(subject, files, licence, contract, choices, more))
        sums[f"{name}.zip"] = data
        yield f"{name}.zip", data
    yield _SUMS, _sums(sums)


def write_archives(folder: Path, found: Iterable[tuple[str, bytes]]) -> list[tuple[str, int]]:
    """Write archives into a folder, each whole; returns names and numbers of bytes.

    Raises:
        OSError: a file cannot be written.
    """
    written = []
    for name, data in found:
        write_file(folder / name, data)
        written.append((name, len(data)))
    return written


def members(
    subject: Subject,
    files: Mapping[str, bytes],
    licence: str,
    contract: str,
    choices: Callable[[Mapping[str, bytes]], str],
    extras: Mapping[str, Extra],
) -> dict[str, bytes]:
    """The files of an archive by their names, checksums last.

    Args:
        subject: what the archive is about.
        files: all vectors by their names, with the manifest.
        licence: the text of the licence.
        contract: the text of ``vectors/README.md``.
        choices: makes the page of operations and choices of some files.
        extras: the files of profiles of all subjects.
    """
    manifest = json.loads(files["manifest.json"])
    own = _manifest_of(subject, manifest)
    added = _own_extras(subject, extras)
    own["files"] = [*own["files"], *(_entry(name, *added[name]) for name in added)]
    own["columns"] |= {name: [*one.columns] for name, one in added.items() if one.columns}
    files = {**files, **{name: one.data for name, one in added.items()}}
    listed = {entry["file"]: files[entry["file"]] for entry in own["files"]}
    text = page(subject, own, listed, contract)
    found = {
        "CHOICES.md": choices(listed).encode("utf-8"),
        "CONTRACT.md": re.sub(r"\[([^]]+)\]\(\.\.?/[^)]*\)", r"\1", contract).encode("utf-8"),
        "LICENSE": (_COPY + licence).encode("utf-8"),
        "README.md": text.encode("ascii"),
        "VERSION": f"{VECTORS_VERSION}\n".encode("ascii"),
        "manifest.json": manifest_bytes(own),
        **listed,
    }
    return {**found, _SUMS: _sums(found)}


def _own_extras(subject: Subject, extras: Mapping[str, Extra]) -> dict[str, Extra]:
    """The files of profiles that a subject has, and what is known of these profiles."""
    own = {
        name: one
        for name, one in extras.items()
        if one.columns and subject.has("/".join(name.split("/")[3:]))
    }
    names = {f"known/{name}.txt" for one in own.values() for name in one.columns}
    return {**own, **{name: one for name, one in extras.items() if name in names}}


def _entry(name: str, data: bytes, cases: int, _: tuple[str, ...]) -> dict[str, Any]:
    """The entry of a file in a manifest."""
    return {"file": name, "sha256": hashlib.sha256(data).hexdigest(), "cases": cases}


def _manifest_of(subject: Subject, manifest: dict[str, Any]) -> dict[str, Any]:
    """The part of a manifest that a subject has."""
    kept = [entry for entry in manifest["files"] if subject.has(entry["file"])]
    names = {entry["file"] for entry in kept}
    level2 = [
        one
        for one in manifest.get("level2", ())
        if subject.whole or f"{one['op']}/{one['format']}.{one['float']}.jsonl" in names
    ]
    columns = {file: some for file, some in manifest["columns"].items() if file in names}
    return {**manifest, "files": kept, "columns": columns, "level2": level2}


def read_all(folder: Path) -> dict[str, bytes]:
    """Every file of a folder of vectors that its manifest lists, and the manifest.

    Raises:
        VectorError: a file is missing or not what the manifest says, or of another version.
    """
    files = {}
    for entry in read_manifest(folder):
        name = entry["file"]
        try:
            files[name] = file_bytes(folder, name)
        except OSError as error:
            raise VectorError(f"{folder / name} cannot be read: {error.strerror}") from None
        if hashlib.sha256(files[name]).hexdigest() != entry["sha256"]:
            raise VectorError(
                f"{folder / name} must have the sha256 of the manifest, it has another: run "
                "`mxref regen`"
            )
    files["manifest.json"] = file_bytes(folder, "manifest.json")
    version = json.loads(files["manifest.json"])["mxref_vectors"]
    if version != VECTORS_VERSION:
        raise VectorError(
            f"{folder} must have vectors of version {VECTORS_VERSION}, got {version}: run "
            "`mxref regen`"
        )
    return files


def _zipped(top: str, files: Mapping[str, bytes]) -> bytes:
    whole = io.BytesIO()
    with zipfile.ZipFile(whole, "w") as archive:
        for name, data in files.items():
            one = zipfile.ZipInfo(f"{top}/{name}", _DATE)
            one.create_system = 3  # Unix, whose permissions these are
            one.external_attr = 0o100644 << 16
            archive.writestr(one, data, zipfile.ZIP_DEFLATED, 8)
    return whole.getvalue()


def _sums(files: Mapping[str, bytes]) -> bytes:
    """Lines for `sha256sum -c`."""
    lines = [f"{hashlib.sha256(data).hexdigest()}  {name}\n" for name, data in files.items()]
    return "".join(lines).encode("ascii")
