"""Writing the golden vectors: both references must agree; a file appears whole or not at all."""

from __future__ import annotations

import contextlib
import hashlib
import json
import os
import re
from collections.abc import Iterable, Iterator
from pathlib import Path, PurePosixPath

import numpy as np

from mxref._version import VECTORS_VERSION
from mxref.golden.answers import fast_answers
from mxref.golden.cases import vector_files
from mxref.golden.read import VectorError, read_manifest
from mxref.golden.records import SPEC, VectorFile
from mxref.golden.schema import schema_lines
from mxref.policy import Policy

__all__ = ["build", "check", "write", "write_file"]


def build() -> dict[str, bytes]:
    """Every file of `vectors/` by its path, the manifest last.

    Raises:
        RuntimeError: the fast path and the slow twin disagree on a case.
    """
    texts: dict[str, bytes] = {}
    entries: list[dict[str, object]] = []
    header: list[str] = []

    def add(path: str, lines: Iterable[str], cases: int) -> None:
        data = ("\n".join(lines) + "\n").encode("ascii")
        texts[path] = data
        digest = hashlib.sha256(data).hexdigest()
        entries.append({"file": path, "sha256": digest, "cases": cases})

    add("schema.json", schema_lines(), 0)
    for file in vector_files():
        _compare_references(file)
        add(f"{file.stem}.jsonl", file.lines(), len(file.cases))
        add(f"plain/{file.stem}.txt", file.plain_lines(), len(file.cases))
        if file.op == "encode" and file.float == "f32":
            header.extend(_c_array(file))
    add("plain/encode.h", _c_header(header), sum("{0x" in line for line in header))
    manifest = {"mxref_vectors": VECTORS_VERSION, "spec": SPEC, "files": entries}
    texts["manifest.json"] = (json.dumps(manifest, indent=1) + "\n").encode("ascii")
    return texts


def write(folder: Path, texts: dict[str, bytes]) -> int:
    """Bring a folder to these files; returns how many had to be written or removed.

    Each file goes to a temporary name first and is then renamed, the manifest after all others.
    Files that the folder's old manifest lists and the new one does not are removed.
    """
    stale = _listed(folder) - set(texts)
    changed = [path for path, data in texts.items() if _content(folder / path) != data]
    for path in changed:
        write_file(folder / path, texts[path])
    for path in stale:
        (folder / path).unlink(missing_ok=True)
    for found in filter(_is_left_over, folder.rglob(".*.tmp")):
        found.unlink(missing_ok=True)
    return len(changed) + len(stale)


def check(folder: Path, texts: dict[str, bytes]) -> list[str]:
    """What differs between a folder and these files, one sentence each; empty if nothing does."""
    problems = []
    for path, data in texts.items():
        content = _content(folder / path)
        if content is None:
            problems.append(f"{path} is missing")
        elif content != data:
            problems.append(f"{path} differs, first in line {_first_difference(content, data)}")
    known = {PurePosixPath(path) for path in texts}
    for found in sorted(folder.rglob("*")):
        name = PurePosixPath(found.relative_to(folder).as_posix())
        ours = name in known or name.name == "README.md" or name.suffix == ".tmp"
        if found.is_file() and not ours:
            problems.append(f"{name} is not a vector file")
    return problems


def write_file(path: Path, data: bytes) -> None:
    """Write a file whole: to a temporary name beside it, then renamed over it.

    Raises:
        OSError: the file cannot be written; nothing is left behind.
    """
    path = Path(os.path.realpath(path))  # a link stays a link
    temporary = path.with_name(f".{path.name}.{os.getpid()}.tmp")
    try:
        path.parent.mkdir(parents=True, exist_ok=True)
        temporary.write_bytes(data)
        temporary.replace(path)
    except OSError as error:
        raise type(error)(error.errno, error.strerror, str(path)) from None
    finally:
        with contextlib.suppress(OSError):
            temporary.unlink(missing_ok=True)


def _is_left_over(path: Path) -> bool:
    """Whether a file is what a killed `regen` left behind."""
    match = re.fullmatch(r"\..*\.(\d+)\.tmp", path.name)
    if match is None:
        return False
    try:
        os.kill(int(match[1]), 0)
    except ProcessLookupError:
        return True
    except OSError:
        pass  # it runs, as somebody else
    return False


def _compare_references(file: VectorFile) -> None:
    inputs = file.input_words()
    for index, column in enumerate(file.columns):
        wanted = file.outputs(index)
        got = fast_answers(file.op, file.format, file.float, inputs, Policy.parse(column))
        wrong = np.flatnonzero((got.astype(np.uint64) != wanted).any(axis=-1))
        if wrong.size:
            case = file.cases[wrong[0]]
            raise RuntimeError(
                f"the two references disagree on {case.id} under {column}: "
                f"slow {wanted[wrong[0]].tolist()}, fast {got[wrong[0]].tolist()}"
            )


def _listed(folder: Path) -> set[str]:
    try:
        return {entry["file"] for entry in read_manifest(folder)}
    except VectorError:
        return set()


def _content(path: Path) -> bytes | None:
    try:
        return path.read_bytes()
    except (FileNotFoundError, NotADirectoryError):
        return None


def _first_difference(got: bytes, want: bytes) -> int:
    pairs = zip(got.split(b"\n"), want.split(b"\n"), strict=False)
    different = (number for number, (a, b) in enumerate(pairs, 1) if a != b)
    return next(different, min(got.count(b"\n"), want.count(b"\n")) + 1)


def _c_header(arrays: list[str]) -> Iterator[str]:
    yield "/* Golden cases of float32 to MX element codes. Generated by `mxref regen`. */"
    yield "#ifndef MXREF_ENCODE_H"
    yield "#define MXREF_ENCODE_H"
    yield "#include <stdint.h>"
    yield "/* float32 bits; the code when saturating; the code when not. */"
    yield "typedef struct { uint32_t in; uint8_t sat, nonsat; } mxref_encode_case;"
    yield from arrays
    yield "#endif"


def _c_array(file: VectorFile) -> Iterator[str]:
    yield f"static const mxref_encode_case mxref_encode_{file.format}[{len(file.cases)}] = {{"
    for case in file.cases:
        sat, nonsat = case.output(0)[0], case.output(file.plain - 1)[0]
        yield f"{{0x{case.inputs[0]:08x}u,0x{sat:02x},0x{nonsat:02x}}},"
    yield "};"
