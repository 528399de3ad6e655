"""A folder of vector files that changes from one whole set to another, even if interrupted.

New files are written into a folder of their own, ``.next.PID.tmp``. One rename to ``.next`` makes
them the set that counts: `mxref.cases.read` prefers a file there to the one of the same name in
its place. Then each is moved to its place, the manifest last. A process that is killed before the
rename has changed nothing; one killed after it leaves the rest to the next `regen`.

Limits: this covers killed processes, not power cuts (nothing is synced to the disk). Between the
rename and the last move a reader without mxref sees files of both sets under the old manifest,
whose digests tell them apart; `check` reports it as an interrupted `regen`.
"""

from __future__ import annotations

import contextlib
import json
import os
import re
import shutil
from collections.abc import Iterator, Sequence
from pathlib import Path, PurePosixPath
from typing import Any

from mxref.cases.read import PLAIN, STAGED, VectorError, file_bytes, read_manifest
from mxref.support.whole_file import write_file

__all__ = [
    "check",
    "finish",
    "locked",
    "manifest_bytes",
    "read_level2",
    "read_manifest",
    "write",
    "write_level2",
]

_MANIFEST = "manifest.json"


def manifest_bytes(manifest: dict[str, Any]) -> bytes:
    """The canonical text of a manifest."""
    return (json.dumps(manifest, indent=1) + "\n").encode("ascii")


def write(folder: Path, texts: dict[str, bytes]) -> int:
    """Make a folder hold these files; returns how many were written or removed.

    Files that only the old manifest lists are removed, all other files stay. The manifest keeps its
    digests of level 2.

    Raises:
        OSError: a file cannot be written, or another `regen` is at work in the folder.
    """
    finish(folder)
    for found in filter(_is_left_over, list(folder.rglob(".*.tmp"))):
        shutil.rmtree(found) if found.is_dir() else found.unlink(missing_ok=True)
    texts = _with_level2(folder, texts)
    stale = _listed(folder) - set(texts)
    changed = [path for path, data in texts.items() if _content(folder, path) != data]
    if changed:
        staging = folder / f"{STAGED}.{os.getpid()}.tmp"
        shutil.rmtree(staging, ignore_errors=True)  # of a killed process of the same number
        path = STAGED
        try:
            for path in changed:
                (staging / path).parent.mkdir(parents=True, exist_ok=True)
                (staging / path).write_bytes(texts[path])
            staging.rename(folder / STAGED)
        except OSError as error:
            shutil.rmtree(staging, ignore_errors=True)
            raise type(error)(error.errno, error.strerror, str(folder / path)) from None
        finish(folder)
    return len(changed) + len(stale)


@contextlib.contextmanager
def locked(folder: Path) -> Iterator[None]:
    """Lock a folder, which is created if needed, for one `regen` until it ends or is killed.

    Raises:
        ValueError: another `regen` holds it.
        OSError: the folder cannot be made.
    """
    folder.mkdir(parents=True, exist_ok=True)
    if os.name != "posix":  # a folder has no lock there; the last rename decides
        yield
        return
    import fcntl

    held = os.open(folder, os.O_RDONLY)
    try:
        fcntl.flock(held, fcntl.LOCK_EX | fcntl.LOCK_NB)
    except BlockingIOError:
        os.close(held)
        raise ValueError(
            f"{folder} must be written by one regen at a time, another one is at work there: "
            "wait for its end"
        ) from None
    try:
        yield
    finally:
        os.close(held)


def finish(folder: Path) -> None:
    """Move the files of a staged set to their places, if there is one."""
    staged = folder / STAGED
    files = [path for path in staged.rglob("*") if path.is_file()]
    if staged / _MANIFEST in files:  # the manifest in its place is still the old one
        new = _listed(folder)  # empty if it cannot be read, as that of a later version: files stay
        for old in _listed(folder, staged=False) - new if new else ():
            (folder / old).unlink(missing_ok=True)
    for path in sorted(files, key=lambda path: path == staged / _MANIFEST):  # the manifest last
        place = folder / path.relative_to(staged)
        place.parent.mkdir(parents=True, exist_ok=True)
        with contextlib.suppress(FileNotFoundError):  # moved by another process
            path.replace(place)
    # Only folders are left; rmdir removes no file that was added in the meantime.
    for found in sorted((path for path in staged.rglob("*") if path.is_dir()), reverse=True):
        found.rmdir()
    with contextlib.suppress(FileNotFoundError):
        staged.rmdir()


def check(folder: Path, texts: dict[str, bytes]) -> list[str]:
    """The differences between a folder and these files, one sentence each.

    Digests of level 2 are not compared.
    """
    problems = []
    texts = _with_level2(folder, texts)
    for path, data in texts.items():
        content = _content(folder, path)
        if content is None:
            problems.append(f"{path} is missing")
        elif content != data:
            problems.append(f"{path} differs, first in line {_first_difference(content, data)}")
    if (folder / STAGED).exists():
        problems.append(f"{STAGED} is what a killed `mxref regen` left: run it again")
    known = {PurePosixPath(path) for path in texts}
    for found in sorted(folder.rglob("*")):
        name = PurePosixPath(found.relative_to(folder).as_posix())
        ours = name in known or name.name in ("README.md", PLAIN) or name.suffix == ".tmp"
        staged = name.parts[0].startswith(f"{STAGED}.") or name.parts[0] == STAGED
        if found.is_file() and not ours and not staged:
            problems.append(f"{name} is not a vector file")
    return problems


def files_there(folder: Path, texts: dict[str, bytes]) -> str:
    """How many of these files a folder has, in words: those of a wheel are partly in an archive.

    >>> files_there(Path("no/such/folder"), {"a": b""})
    '0 files'
    """
    there = sum((folder / path).is_file() for path in texts)
    packed = sum(_content(folder, path) is not None for path in texts) - there
    text = f"{there} file{'s' * (there != 1)}"
    return f"{text} and {packed} in {PLAIN}" if packed else text


def read_level2(folder: Path) -> list[dict[str, Any]]:
    """The digests of level 2 in a folder's manifest; none without a manifest."""
    try:
        found = json.loads(file_bytes(folder, _MANIFEST)).get("level2", [])
    except (OSError, ValueError, AttributeError, RecursionError):
        return []
    return found if isinstance(found, list) else []


def write_level2(folder: Path, entries: Sequence[dict[str, Any]]) -> bool:
    """Write the digests of level 2 into a folder's manifest; returns whether it changed.

    Raises:
        VectorError: the folder has no readable manifest.
    """
    finish(folder)
    read_manifest(folder)
    old = file_bytes(folder, _MANIFEST)
    new = manifest_bytes({**json.loads(old), "level2": list(entries)})
    if new != old:
        write_file(folder / _MANIFEST, new)
    return new != old


def _with_level2(folder: Path, texts: dict[str, bytes]) -> dict[str, bytes]:
    entries = read_level2(folder)
    if not entries:
        return texts
    manifest = {**json.loads(texts[_MANIFEST]), "level2": entries}
    return {**texts, _MANIFEST: manifest_bytes(manifest)}


def _is_left_over(path: Path) -> bool:
    """Whether a file or folder was left by a killed `regen`."""
    match = re.fullmatch(r"\..*\.(\d+)\.tmp", path.name)
    if match is None:
        return False
    try:
        os.kill(int(match[1]), 0)
    except ProcessLookupError:
        return True
    except OSError:
        pass  # the process exists, under another user
    return False


def _listed(folder: Path, *, staged: bool = True) -> set[str]:
    try:
        return {entry["file"] for entry in read_manifest(folder, staged=staged)}
    except VectorError:
        return set()


def _content(folder: Path, path: str) -> bytes | None:
    try:
        return file_bytes(folder, path)
    except (FileNotFoundError, NotADirectoryError):
        return None


def _first_difference(got: bytes, want: bytes) -> int:
    pairs = zip(got.split(b"\n"), want.split(b"\n"), strict=False)
    different = (number for number, (a, b) in enumerate(pairs, 1) if a != b)
    return next(different, min(got.count(b"\n"), want.count(b"\n")) + 1)
